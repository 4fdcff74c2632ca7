#!/usr/bin/env python3
"""Whose memory TPC-H's 22 queries read: runs bench/queries/query_placement.cc in a guest of 4 NumaNodes with one AEU on
each, counted, with the memory that the engine places and with memory that is interleaved over all NumaNodes.

    ./dev numa tests/numa/query_placement.py [--scale 0.1] [--queries 1,3,18|all] [--explain]
    tests/numa/query_placement.py --build build/dev ...

Counted are the AEUs' cpus, from the arrival of a query's first command until the AEUs have freed all that they had of it.
Prints for each query how many cache lines that missed a simulated cache came from the reader's own NumaNode; how many came
from others, of the engine's pools, where rows are, and of anything else: plans, commands, the program; and the bytes of
rows and keys that AEUs have taken from each other, which are all on different NumaNodes. --explain adds where the remote accesses of the engine's own placement come from and go to. Exit code 77 where
qemu, the guest's kernel, the plugin's header or the tables cannot be had.
"""
import argparse
import bisect
import collections
import dataclasses
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "numa"), str(ROOT / "bench" / "queries"), str(ROOT / "bench")]

import local_access  # noqa: E402
from lab_process import environment  # noqa: E402
from local_access import SKIPPED, counting  # noqa: E402
from run import tables  # noqa: E402

# A cpu beside the AEU's on each NumaNode, for all other threads.
SHAPE = "4x2"
MEMORY = "1G"
CACHE = {"cache_kib": 256, "cache_ways": 8}
LINE_BYTES = 64
LOCAL, INTERLEAVED = "local", "interleaved"
GUEST_SECONDS = 1500
CROSSED = re.compile(r"crossed (\d+) rows, ([0-9.]+) (bytes|KiB)")


@dataclasses.dataclass(frozen=True)
class QueryCount:
    """What one query took in one placement."""
    placement: str
    query: int
    numa_nodes: int  # each with one AEU
    rows: int  # of the answer
    lines: int  # that missed the cache
    remote_lines: int  # of these: from another NumaNode
    remote_pool_lines: int  # of these: of the engine's pools. None where they have no address ranges of their own
    crossed_bytes: float  # of what AEUs have taken from each other
    seconds: float  # of the emulation, for three runs of it
    analysis: str

    @property
    def own(self):
        return 1 - self.remote_lines / self.lines

    @property
    def remote_over_crossed(self):
        """Remote lines for each line of what crossed."""
        return self.over_crossed(self.remote_lines)

    def over_crossed(self, lines):
        return lines * LINE_BYTES / self.crossed_bytes if self.crossed_bytes else float("inf")


def bytes_crossed(analysis):
    return sum(float(number) * (1024 if unit == "KiB" else 1) for _, number, unit in CROSSED.findall(analysis))


class Pools:
    """The address ranges of the engine's pools, which the program has told."""

    def __init__(self, output):
        told = [json.loads(line)["pools"] for line in output.splitlines() if line.startswith('{"pools"')]
        self.ranges = sorted(told[0]) if told else []

    def has(self, address):
        at = bisect.bisect(self.ranges, [address, 1 << 64]) - 1
        return at >= 0 and address < self.ranges[at][1]


def measure(build, placement, scale, queries="all", *arguments, **options):
    """QueryCounts, and the counter's result. Errors: counting.CANNOT_COUNT, counting.CountFailed."""
    if placement == LOCAL:
        options["sites"] = local_access.EXPLAINED_SITES
    program = pathlib.Path(build, "bench", "queries", "query_placement")
    data = tables(build, environment(build), scale)
    result = counting.count(
        build, SHAPE, program, "--data", "/data", "--plans", "/plans", "--placement", placement, "--queries", queries, *arguments,
        memory=MEMORY, seconds=GUEST_SECONDS, files=[f"{data}:/data", f"{ROOT}/tests/tpch/plans/datafusion:/plans"],
        **CACHE, **options)
    if result.sites_left_out:
        raise counting.CountFailed(f"{result.sites_left_out} remote accesses at places that were too many to tell")
    pools = Pools(result.output)
    remote_pool_lines = collections.Counter()
    for site in result.sites:
        if not site.local and pools.has(site.page):
            remote_pool_lines[site.phase] += site.misses
    counts = []
    for line in result.output.splitlines():
        if not line.startswith('{"a'):
            continue
        told = json.loads(line)
        of_query = [count for count in result.counts if count.phase == told["query"]]
        counts.append(QueryCount(
            placement=placement, query=told["query"], numa_nodes=told["aeus"], rows=told["rows"],
            lines=sum(count.misses for count in of_query),
            remote_lines=sum(count.misses for count in of_query if not count.local),
            remote_pool_lines=remote_pool_lines[told["query"]] if placement == LOCAL else None,
            crossed_bytes=bytes_crossed(told["analysis"]), seconds=told["seconds"], analysis=told["analysis"]))
    return counts, result


def added(counts):
    """All queries as one."""
    return dataclasses.replace(
        counts[0], query=0, analysis="",
        **{name: sum(getattr(count, name) for count in counts)
           for name in ("rows", "lines", "remote_lines", "remote_pool_lines", "crossed_bytes", "seconds")
           if getattr(counts[0], name) is not None})


def describe(local, interleaved):
    """A line for each query, then one for all."""
    yield "                          remote lines               remote lines / crossed lines"
    yield "query    lines     own    of pools   others  crossed bytes   all  of pools     interleaved: own"
    for one, other in zip([*local, added(local)], [*interleaved, added(interleaved)]):
        name = f"Q{one.query}" if one.query else "all"
        yield (f"{name:<5} {one.lines:>8} {one.own:>8.2%} {one.remote_pool_lines:>10} "
               f"{one.remote_lines - one.remote_pool_lines:>8} {one.crossed_bytes:>14.0f} {one.remote_over_crossed:>7.2f} "
               f"{one.over_crossed(one.remote_pool_lines):>8.2f} {other.own:>18.2%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--queries", default="all")
    parser.add_argument("--explain", action="store_true")
    args = parser.parse_args()
    wanted = (args.build, args.scale, args.queries)
    try:
        interleaved = measure(wanted[0], INTERLEAVED, *wanted[1:])[0]
        local, result = measure(wanted[0], LOCAL, *wanted[1:], *(["--maps"] if args.explain else []))
    except counting.CANNOT_COUNT as error:
        print(error)
        return SKIPPED
    print(*describe(local, interleaved), sep="\n")
    print(f"{sum(count.seconds for count in local):.0f} s of emulation for three runs of each query")
    if args.explain:
        print(*local_access.explain(result, {f"Q{count.query}": count.query for count in local}, ("misses",)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
