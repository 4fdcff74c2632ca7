#!/usr/bin/env python3
"""What the locality study counts of its blind program is what the system was told: interleaved memory is even, preferred
memory is on one NumaNode, the kernel moves pages only where it may. Usage: study_counts_test.py --build DIR. Ends with 77
where the counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "study")]

import study  # noqa: E402, F401: says where the others are
import counted  # noqa: E402
from counted import NUMA_NODES, Run  # noqa: E402
from judged import judge  # noqa: E402

QUERY = ("--query", "w1", "--scale", "0.001", "--affinity", "sparse")
PREFERRED, INTERLEAVED, LOADED = "preferred", "interleaved", "loaded by one thread"
OFF, ON = "balancing off", "balancing on"
RUNS = (Run(PREFERRED, (*QUERY, "--placement", "preferred")), Run(INTERLEAVED, (*QUERY, "--placement", "interleave")),
        Run(LOADED, (*QUERY, "--load", "main")), Run(OFF, (*QUERY, "--load", "main"), repeats=3, autonuma="off"),
        Run(ON, (*QUERY, "--load", "main"), repeats=3, autonuma="on"))
EVEN = 1 / NUMA_NODES


def measure(build):
    return counted.measure(pathlib.Path(build).resolve(), RUNS)


def moved(repetitions):
    return sum(lines.told["balancing"]["numa_pages_migrated"] for lines in repetitions)


def describe(found):
    for name, repetitions in found.items():
        yield (f"{name}: own share {', '.join(f'{lines.own_share:.3f}' for lines in repetitions)}; busiest over mean "
               f"{', '.join(f'{lines.busiest_over_mean:.2f}' for lines in repetitions)}; {moved(repetitions)} pages moved")


def on_one(lines):
    return lines.busiest_over_mean > 0.9 * NUMA_NODES


def even(lines):
    return abs(lines.own_share - EVEN) < 0.05 and lines.busiest_over_mean < 1.2


def problems(found):
    (preferred,), (interleaved,), (loaded,) = (found[name] for name in (PREFERRED, INTERLEAVED, LOADED))
    if not on_one(preferred):
        yield "preferred memory is not on one NumaNode"
    if not even(interleaved):
        yield "interleaved memory is not even"
    if even(preferred) or on_one(interleaved):  # the rules themselves: each finds the other one out
        yield "one placement passes for another one"
    if not interleaved.busiest_over_mean < loaded.busiest_over_mean < preferred.busiest_over_mean:
        yield "memory that one thread has touched first is not between the two"
    if moved(found[OFF]) != 0:
        yield f"{moved(found[OFF])} pages were moved though balancing is off"
    if moved(found[ON]) == 0:
        yield "no page was moved though balancing is on"


if __name__ == "__main__":
    sys.exit(judge(__doc__, measure, describe, problems))
