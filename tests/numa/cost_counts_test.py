#!/usr/bin/env python3
"""The counts that the paper's cost model begins with (bench/paper/cost/counts.py), of two NumaNodes: what is interleaved comes from
the other one in half of the cases, what the engine places is its own, a column on one NumaNode comes from there.
Usage: cost_counts_test.py --build DIR. Ends with 77 where the counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
# The paper's folder first: both have a guest.py.
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "paper"), str(pathlib.Path(__file__).resolve().parent)]

import common  # noqa: E402, F401: says where the others are
from cost import counts  # noqa: E402
from judged import judge  # noqa: E402

NUMA_NODES = 2
KEYS = 1 << 18
MARGIN = 0.1  # of a half
ERIS_OTHER_MAX = 0.5  # of the shared tree's lines from the other NumaNode
COLUMN_LINES = (1, 1.2)  # that a line of the column takes: itself, and little more


def measure(build):
    return counts.point_works(build, NUMA_NODES, KEYS), counts.scan_works(build, NUMA_NODES)


def describe(found):
    for works in found:
        for name, work in works.items():
            yield f"{name}: {work}"


def is_half(part):
    return abs(part - 0.5) <= MARGIN


def problems(found):
    points, scans = found
    for operation in counts.OPERATIONS:
        eris, shared = points[operation, "eris"], points[operation, "shared"]
        if not is_half(shared.other / shared.lines):
            yield f"{operation}: {shared.other} of the shared tree's {shared.lines} lines come from the other NumaNode, which is no half"
        if eris.other > ERIS_OTHER_MAX * shared.other:
            yield f"{operation}: a key takes {eris.other} lines from the other NumaNode, in the shared tree {shared.other}"
    if points["lookups", "shared"].calls > 0.02 or points["upserts", "shared"].calls < 0.1:
        yield "the shared tree's lookups take copies away, or its upserts take none"
    for placement, work in scans.items():
        if not COLUMN_LINES[0] <= work.lines <= COLUMN_LINES[1]:
            yield f"scan, {placement}: {work.lines} lines for a line of the column"
        if is_half(work.other / work.lines) == (placement == "local"):
            yield f"scan, {placement}: {work.other} of {work.lines} lines come from the other NumaNode"
        if (work.busiest > 0.9) != (placement == "one"):
            yield f"scan, {placement}: the busiest memory gives {work.busiest} of the lines"


if __name__ == "__main__":
    sys.exit(judge(__doc__, measure, describe, problems))
