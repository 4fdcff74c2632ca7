#!/usr/bin/env python3
"""Figure 9 of the paper by access counts: who reads whose memory when all AEUs scan a column that the engine has
placed, that is interleaved over all NumaNodes, or that lies on one. Runs bench/scan/scan_placement.cc in a guest of 4
NumaNodes with one AEU on each, counted.

    ./dev numa tests/numa/scan_placement.py [--explain]
    tests/numa/scan_placement.py --build build/dev [--explain]

Prints for each placement and query how many of the column's lines came from the memory of the reader's own NumaNode,
and how many each NumaNode's memory gave. --explain adds where the remote accesses of the engine's own placement come
from and go to. Exit code 77 where qemu, the guest's kernel or the plugin's header cannot be had.
"""
import argparse
import dataclasses
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import local_access  # noqa: E402
from local_access import SKIPPED, counting  # noqa: E402

# A cpu beside the AEU's on each NumaNode, for all other threads.
SHAPE = "4x2"
# What misses it is the column, which does not fit, and hardly anything else: all else is small.
CACHE = {"cache_kib": 256, "cache_ways": 8}
LINE_BYTES = 64
LOCAL, INTERLEAVED, ONE = "local", "interleaved", "one"


@dataclasses.dataclass(frozen=True)
class Scan:
    """One query over a column in one placement."""
    placement: str
    query: str
    phase: int
    numa_nodes: int  # each with one AEU
    column_lines: int  # and of the rows that are handed out
    lines: int  # that missed the cache
    local_lines: float  # their share from the reader's own NumaNode
    accesses: int  # of any kind, stacks and all
    local_accesses: float
    lines_of: tuple  # by NumaNode, whose memory gave them


def measure(build, *arguments, shape=SHAPE, **options):
    """Scans, and the counter's result. `shape`: as SHAPE, with other NumaNodes. Errors: counting.CANNOT_COUNT, counting.CountFailed."""
    program = pathlib.Path(build, "bench", "scan", "scan_placement")
    result = counting.count(build, shape, program, "--counted", *arguments, **CACHE, **options)
    scans = []
    for line in result.output.splitlines():
        if not line.startswith("{"):
            continue
        told = json.loads(line)
        counts = [count for count in result.counts if count.phase == told["phase"]]
        scans.append(Scan(
            placement=told["placement"], query=told["query"], phase=told["phase"], numa_nodes=told["aeus"],
            column_lines=told["bytes"] // LINE_BYTES,
            lines=sum(count.misses for count in counts), local_lines=result.local_ratio([told["phase"]], "misses"),
            accesses=sum(count.accesses for count in counts), local_accesses=result.local_ratio([told["phase"]]),
            lines_of=tuple(sum(count.misses for count in counts if count.memory_numa_node == numa_node)
                           for numa_node in range(told["aeus"]))))
    return scans, result


def describe(scans):
    """A line for each scan."""
    for scan in scans:
        yield (f"{scan.placement:<11} {scan.query:<7} {scan.local_lines:.4f} of {scan.lines} lines local "
               f"(the columns have {scan.column_lines}), {scan.local_accesses:.4f} of {scan.accesses} accesses; "
               f"lines of each NumaNode: {' '.join(map(str, scan.lines_of))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--explain", action="store_true")
    args = parser.parse_args()
    try:
        if args.explain:
            scans, result = measure(args.build, "--maps", sites=local_access.EXPLAINED_SITES)
            phases = {scan.query: scan.phase for scan in scans if scan.placement == LOCAL}
            print(*describe(scans), *local_access.explain(result, phases), sep="\n")
        else:
            print(*describe(measure(args.build)[0]), sep="\n")
    except counting.CANNOT_COUNT as error:
        print(error)
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
