#!/usr/bin/env python3
"""AEUs scan their own NumaNode's memory, and the count can tell: a column that is interleaved, or lies on one NumaNode,
does not pass for one that the engine has placed. Usage: scan_placement_test.py --build DIR. Ends with 77 where the
counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import scan_placement  # noqa: E402
from judged import judge  # noqa: E402
from scan_placement import INTERLEAVED, LOCAL, ONE  # noqa: E402

OWN_LINES_MIN = 0.99
# The table is small, so the AEU's own objects, the plan and the clock's page have a larger share than usual.
OWN_ACCESSES_MIN = 0.95
MARGIN = 0.03  # of all lines: pages, and what is not the column


def not_the_column(scan):
    """Whether what was counted is the column, once."""
    if not 0.98 * scan.column_lines <= scan.lines <= 1.03 * scan.column_lines:
        yield f"{scan.lines} lines were read, the column has {scan.column_lines}"


def not_local(scan):
    for what, ratio, least in (("lines", scan.local_lines, OWN_LINES_MIN),
                               ("accesses", scan.local_accesses, OWN_ACCESSES_MIN)):
        if ratio < least:
            yield f"{ratio:.4f} of the {what} are local, expected {least} or more (--explain tells which are not)"
    yield from not_evenly_given(scan)


def not_interleaved(scan):
    yield from not_a_share_of_one(scan)
    yield from not_evenly_given(scan)


def not_on_one(scan):
    yield from not_a_share_of_one(scan)
    if max(scan.lines_of) < OWN_LINES_MIN * scan.lines:
        yield f"no NumaNode gave {OWN_LINES_MIN} of the lines: {scan.lines_of}"


def not_a_share_of_one(scan):
    if abs(scan.local_lines - 1 / scan.numa_nodes) > MARGIN:
        yield f"{scan.local_lines:.4f} of the lines are local, expected one in {scan.numa_nodes}"


def not_evenly_given(scan):
    for numa_node, lines in enumerate(scan.lines_of):
        if abs(lines / scan.lines - 1 / scan.numa_nodes) > MARGIN:
            yield f"NumaNode {numa_node} gave {lines} of {scan.lines} lines, expected one in {scan.numa_nodes}"


# Groups take long to emulate; rows that are handed out go to the reader, who is elsewhere.
QUERIES = ("sum_a", "count_a")
RULES = {LOCAL: not_local, INTERLEAVED: not_interleaved, ONE: not_on_one}


def problems(scans):
    seen = sorted((scan.placement, scan.query) for scan in scans)
    if seen != sorted((placement, query) for placement in RULES for query in QUERIES):
        yield f"not each scan of each placement once: {seen}"
    for scan in scans:
        for rule in (not_the_column, RULES[scan.placement]):
            yield from (f"{scan.placement} {scan.query}: {problem}" for problem in rule(scan))
        # The rules themselves: each placement but its own is found out.
        for name, rule in RULES.items():
            if name != scan.placement and not list(rule(scan)):
                yield f"{scan.placement} {scan.query}: passes for {name}"


def measure(build):
    return scan_placement.measure(build, "--queries", ",".join(QUERIES))[0]


if __name__ == "__main__":
    sys.exit(judge(__doc__, measure, scan_placement.describe, problems))
