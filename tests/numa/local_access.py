#!/usr/bin/env python3
"""Local accesses of the data path: runs local_access.cc in a guest of 4 NumaNodes x 2 cpus, counted.

    tests/numa/local_access.py --build build/release [--explain]

Prints for each part of the run how many of the loads and stores, and of the misses of a simulated
cache, went to memory of the cpu's own NumaNode, and how many lines a key took from other NumaNodes.
--explain adds where the remote accesses and the transfers come from and go to. Exit code 77 where qemu, the guest's kernel or the plugin's header cannot be had.
"""
import argparse
import bisect
import collections
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "plugin"))

import counting  # noqa: E402

SKIPPED = 77
SHAPE = "4x2"
# A cache that the partition of an AEU does not fit, as a real one has it with real data.
CACHE = {"cache_kib": 256, "cache_ways": 8}
# Follows which cpus have a copy of a line.
COHERENCE = {"coherence": 1}
# The phases of local_access.cc.
LOCAL = {"upserts": 1, "lookups": 2}
LEAPT = {"lookups after leaps": 7}
INTERLEAVED = {"upserts": 3, "lookups": 4}
BLIND = {"upserts": 5, "lookups": 6}
GOAL = 0.995
EXPLAINED_SITES = 1 << 19
EXPLAINED_LINES = 25


def measure(build, *arguments, **options):
    """Errors: counting.CANNOT_COUNT, counting.CountFailed."""
    program = pathlib.Path(build, "tests", "numa", "local_access")
    return counting.count(build, SHAPE, program, *arguments, **CACHE, **COHERENCE, **options)


def far_per_key(result, phase, what="far"):
    """A figure of counting.Transfers. Errors: counting.CountFailed."""
    told = re.search(rf"^did {phase} (\d+)$", result.output, re.MULTILINE)
    if told is None:
        raise counting.CountFailed(f"local_access told no number of keys of phase {phase}")
    return result.transferred([phase], what) / int(told[1])


def describe(result):
    """A line for each phase."""
    for placement, phases in (("local", LOCAL), ("local", LEAPT), ("interleaved", INTERLEAVED), ("blind", BLIND)):
        for name, phase in phases.items():
            yield (f"{placement} {name}: {result.total([phase]):>10} accesses, {result.local_ratio([phase]):.4f} local; "
                   f"{result.total([phase], 'misses'):>8} misses, {result.local_ratio([phase], 'misses'):.4f} local; "
                   f"{far_per_key(result, phase, 'far_lines'):.3f} lines from another NumaNode a key, "
                   f"{far_per_key(result, phase, 'upgrades_far'):.3f} far upgrades, {far_per_key(result, phase, 'claims_far'):.3f} far claims")


class Maps:
    """The program's /proc/self/maps, which it has printed."""

    def __init__(self, output):
        self.ranges = []  # begin, end, rights, offset in the file, file or kind
        self.base = {}  # file -> where its first byte would be
        for line in output.splitlines():
            if line.startswith("map\t"):
                addresses, rights, offset, _, _, *name = line[4:].split(None, 5)
                begin, end = (int(word, 16) for word in addresses.split("-"))
                name = name[0].strip() if name else f"anonymous, {(end - begin) >> 10} KiB"
                self.ranges.append((begin, end, rights, name))
                self.base.setdefault(name, begin - int(offset, 16))
        self.ranges.sort()

    def find(self, address):
        at = bisect.bisect(self.ranges, (address, 1 << 64)) - 1
        if at >= 0 and address < self.ranges[at][1]:
            return self.ranges[at][2:]
        return "", "unknown"

    def memory(self, address):
        rights, name = self.find(address)
        return f"{os.path.basename(name)} {rights}"

    def functions(self, addresses):
        """Address -> function, where the file is here, too."""
        by_file = collections.defaultdict(list)
        for address in addresses:
            by_file[self.find(address)[1]].append(address)
        names = {}
        for file, of_file in by_file.items():
            relative = [hex(address - self.base.get(file, 0)) for address in of_file]
            told = []
            if os.path.exists(file):
                done = subprocess.run(["addr2line", "-Cfe", file], input="\n".join(relative), capture_output=True, text=True)
                told = done.stdout.splitlines()[::2]
            for i, address in enumerate(of_file):
                known = i < len(told) and told[i] != "??"
                names[address] = told[i].split("(")[0] if known else f"{os.path.basename(file)}+{relative[i]}"
        return names


def explain(result, phases, kinds=("accesses", "misses")):
    """Lines: where the remote accesses of these phases, by name, come from and go to; "far": their transfers between
    NumaNodes; then lines that were taken for nothing, if they were followed. The program has printed its maps."""
    maps = Maps(result.output)
    taken = result.false_sharing or []
    functions = maps.functions({site.instruction for site in (*result.sites, *taken)})
    for name, phase in phases.items():
        of_name = [site for site in result.sites if site.phase in (phase if isinstance(phase, tuple) else (phase,))]
        for what in kinds:
            places = collections.Counter()
            for site in of_name:
                if what == "far" or not site.local:
                    places[maps.memory(site.page), functions[site.instruction]] += getattr(site, what)
            yield f"{name}: {sum(places.values())} " + ("transfers between NumaNodes" if what == "far" else f"remote {what}")
            memories, doers = collections.Counter(), collections.Counter()
            for (memory, function), count in places.items():
                memories[memory] += count
                doers[function] += count
            yield from (f"  {count:>10} to {memory}" for memory, count in memories.most_common(EXPLAINED_LINES) if count)
            yield from (f"  {count:>10} by {function}" for function, count in doers.most_common(EXPLAINED_LINES) if count)
            yield "  of these"
            yield from (f"  {count:>10} to {memory} by {function}"
                        for (memory, function), count in places.most_common(EXPLAINED_LINES) if count)
        if result.false_sharing is None:
            continue
        places = collections.Counter()
        for one in taken:
            if one.phase in (phase if isinstance(phase, tuple) else (phase,)):
                places[maps.memory(one.page), functions[one.instruction]] += one.lines
        yield f"{name}: {sum(places.values())} lines taken for nothing"
        yield from (f"  {count:>10} of {memory} by {function}" for (memory, function), count in places.most_common(EXPLAINED_LINES))
    if result.sites_left_out:
        yield f"{result.sites_left_out} more at places that were too many to tell"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--explain", action="store_true")
    args = parser.parse_args()
    try:
        if args.explain:
            result = measure(args.build, "--maps", sites=EXPLAINED_SITES)
            print(*describe(result), *explain(result, LOCAL, ("accesses", "misses", "far")), sep="\n")
        else:
            print(*describe(measure(args.build)), sep="\n")
    except counting.CANNOT_COUNT as error:
        print(error)
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
