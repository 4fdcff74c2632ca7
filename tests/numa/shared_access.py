#!/usr/bin/env python3
"""Remote accesses of a lookup, through the engine and in the tree that all threads share: runs shared_access.cc in a
guest of 4 NumaNodes x 2 cpus, counted.

    tests/numa/shared_access.py --build build/release

Prints for each how many of the loads and stores of a lookup, and of the misses of a simulated cache, went to another
NumaNode's memory, and the ratios. Of the engine sessions and AEUs count, of all cpus. Exit code 77 where qemu, the guest's kernel or the plugin's header cannot be had.
"""
import argparse
import dataclasses
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from local_access import CACHE, SHAPE, SKIPPED, counting  # noqa: E402

# The phases of shared_access.cc.
PHASES = {"eris": 1, "shared": 2, "shared_batched": 3}


@dataclasses.dataclass(frozen=True)
class PerLookup:
    """Of one structure, a lookup's."""
    accesses: float
    remote_accesses: float
    misses: float
    remote_misses: float


def measure(build):
    """By structure. Errors: counting.CANNOT_COUNT, counting.CountFailed."""
    result = counting.count(build, SHAPE, pathlib.Path(build, "tests", "numa", "shared_access"), **CACHE)
    told = re.search(r"^lookups (\d+)$", result.output, re.MULTILINE)
    if told is None:
        raise counting.CountFailed("shared_access told no number of lookups")
    lookups = int(told[1])
    found = {}
    for name, phase in PHASES.items():
        figures = []
        for what in ("accesses", "misses"):
            every = result.total([phase], what)
            figures += [every / lookups, every * (1 - result.local_ratio([phase], what)) / lookups]
        found[name] = PerLookup(*figures)
    return found


def describe(found):
    for name, one in found.items():
        yield (f"{name + ':':<16}{one.remote_accesses:7.2f} of {one.accesses:7.2f} accesses a lookup are remote, "
               f"{one.remote_misses:6.3f} of {one.misses:6.3f} misses")
    eris = found["eris"]
    for name in ("shared", "shared_batched"):
        yield (f"eris over {name}: {eris.remote_accesses / found[name].remote_accesses:.3f} of the remote accesses, "
               f"{eris.remote_misses / found[name].remote_misses:.3f} of the remote misses")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    try:
        print(*describe(measure(args.build)), sep="\n")
    except counting.CANNOT_COUNT as error:
        print(error)
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
