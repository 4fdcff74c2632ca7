#!/usr/bin/env python3
"""Queries over several tables read their own NumaNode's memory, rows go to another one once, and the count can tell:
interleaved memory does not pass for memory that the engine has placed. Usage: query_placement_test.py --build DIR. Ends with
77 where the counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import query_placement  # noqa: E402
from judged import judge  # noqa: E402
from query_placement import INTERLEAVED, LOCAL  # noqa: E402

SCALE = "0.01"
# The least share of own lines. At this scale the plan and the commands have a larger share than usual; query 6 reads one
# table, 12 and 18 join tables that are cut alike, rows of 10 and 13 go to others.
OWN_MIN = {6: 0.93, 10: 0.9, 12: 0.95, 13: 0.9, 18: 0.96}
OWN_OF_INTERLEAVED_MAX = 0.5
# Remote lines of pools for each line of what crosses, in queries of which much does.
CROSSED_ONCE = (10, 13)
OVER_CROSSED_MIN, OVER_CROSSED_MAX = 0.8, 1.2


def not_local(count):
    if count.own < OWN_MIN[count.query]:
        yield f"{count.own:.4f} of the lines are local, expected {OWN_MIN[count.query]} or more (--explain tells which are not)"
    if count.query not in CROSSED_ONCE or count.remote_pool_lines is None:
        return
    over = count.over_crossed(count.remote_pool_lines)
    if not OVER_CROSSED_MIN <= over <= OVER_CROSSED_MAX:
        yield f"{over:.2f} remote lines of pools for each line that crosses, expected {OVER_CROSSED_MIN} to {OVER_CROSSED_MAX}"


def not_interleaved(count):
    if count.own > OWN_OF_INTERLEAVED_MAX:
        yield f"{count.own:.4f} of the lines are local, expected {OWN_OF_INTERLEAVED_MAX} at most"


RULES = {LOCAL: not_local, INTERLEAVED: not_interleaved}


def problems(counts):
    seen = sorted((count.placement, count.query) for count in counts)
    if seen != sorted((placement, query) for placement in RULES for query in OWN_MIN):
        yield f"not each query in each placement once: {seen}"
    rows = {}
    for count in counts:
        if rows.setdefault(count.query, count.rows) != count.rows:
            yield f"Q{count.query}: {count.rows} rows in one placement, {rows[count.query]} in another"
        for problem in RULES[count.placement](count):
            yield f"{count.placement} Q{count.query}: {problem}"
        # The rules themselves: the other placement is found out.
        for name, rule in RULES.items():
            if name != count.placement and not list(rule(count)):
                yield f"{count.placement} Q{count.query}: passes for {name}"


def measure(build):
    queries = ",".join(map(str, OWN_MIN))
    return [count for placement in RULES for count in query_placement.measure(build, placement, SCALE, queries)[0]]


def describe(counts):
    return query_placement.describe(*([count for count in counts if count.placement == placement] for placement in RULES))


if __name__ == "__main__":
    sys.exit(judge(__doc__, measure, describe, problems))
