#!/usr/bin/env python3
"""Remote accesses of a key, and lines that it takes from other NumaNodes, through the engine and in the tree that all
threads share: runs shared_access.cc in a guest of 4 NumaNodes x 2 cpus, counted.

    tests/numa/shared_access.py --build build/release [--explain]

Prints for each how many of the loads and stores of a lookup, and of the misses of a simulated cache, went to another
NumaNode's memory; then, for lookups and upserts in batches of 1024 and 4096 keys, how many lines a key took from other
NumaNodes' caches and memory and how often it took copies from them, with the ratios, and how many lines it took from any
other cpu's cache for nothing (false sharing); and the same for a row of a scan, of a join and of a transfer of the engine.
For the engine sessions, AEUs and completions count, on all cpus. --explain adds where the engine's transfers between
NumaNodes, and lines taken for nothing, come from and go to. Exit code 77 where qemu, the guest's kernel or the plugin's
header cannot be had.
"""
import argparse
import dataclasses
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import local_access  # noqa: E402
from local_access import CACHE, COHERENCE, SHAPE, SKIPPED, counting  # noqa: E402

# The phases of shared_access.cc. Lookups in batches of 1024; of the engine without completions and answers, which make
# no accesses that are remote.
LOOKUPS = {"eris": 1, "shared": 2, "shared_batched": 3}
# Operation and batch -> structure -> the phases that belong to it, all that happens included.
BATCHES = (1024, 4096)
JOBS = {("lookups", 1024): {"eris": (1, 4), "shared": (2,), "shared_batched": (3,)},
        ("lookups", 4096): {"eris": (5,), "shared_batched": (8,)},
        ("upserts", 1024): {"eris": (6,), "shared": (11,), "shared_batched": (9,)},
        ("upserts", 4096): {"eris": (7,), "shared_batched": (10,)}}
# The engine's alone, by row.
ROWS = {"scan": (12,), "join": (13,), "transfer": (14,)}
PEER = "shared_batched"
TRANSFERS = ("far_lines", "far_cache", "upgrades_far", "claims_far", "near")  # of PerKey


@dataclasses.dataclass(frozen=True)
class PerLookup:
    """Of one structure, a lookup's."""
    accesses: float
    remote_accesses: float
    misses: float
    remote_misses: float


@dataclasses.dataclass(frozen=True)
class PerKey:
    """Of one structure and operation, a key's or row's: figures of counting.Transfers, and false sharing."""
    far_lines: float
    far_cache: float  # of these, from caches
    upgrades_far: float
    claims_far: float
    near: float
    for_nothing: float  # lines taken from another cpu's cache without need: false sharing

    @property
    def far(self):
        return self.far_lines + self.upgrades_far + self.claims_far


@dataclasses.dataclass(frozen=True)
class Found:
    lookups: dict  # structure -> PerLookup
    jobs: dict  # (operation, batch) -> structure -> PerKey
    rows: dict  # name -> PerKey

    def far_ratio(self, operation, batch):
        """Of the engine's transfers between NumaNodes, invalidations included, to the shared tree's."""
        job = self.jobs[operation, batch]
        return job["eris"].far / job[PEER].far


def run(build, *arguments, shape=SHAPE, **options):
    """`options`: the counter's, instead of the usual ones. Errors: counting.CANNOT_COUNT, counting.CountFailed."""
    return counting.count(build, shape, pathlib.Path(build, "tests", "numa", "shared_access"), *arguments,
                          **{**CACHE, **COHERENCE, "false_sharing": 1, **options})


def keys_of(result):
    """Phase -> how many keys or rows it had."""
    return {int(phase): int(count) for phase, count in re.findall(r"^did (\d+) (\d+)$", result.output, re.MULTILINE)}


def evaluate(result):
    """Errors: counting.CountFailed."""
    did = keys_of(result)

    def per_key(phases):
        if not did.get(phases[0]):
            raise counting.CountFailed(f"shared_access told no number of keys of phase {phases[0]}")
        return PerKey(*(result.transferred(phases, name) / did[phases[0]] for name in TRANSFERS),
                      for_nothing=result.taken_for_nothing(phases) / did[phases[0]])
    lookups = {}
    for name, phase in LOOKUPS.items():
        per_key([phase])  # knows the number
        figures = []
        for what in ("accesses", "misses"):
            every = result.total([phase], what)
            figures += [every / did[phase], every * (1 - result.local_ratio([phase], what)) / did[phase]]
        lookups[name] = PerLookup(*figures)
    return Found(lookups, {job: {name: per_key(phases) for name, phases in of_job.items()} for job, of_job in JOBS.items()},
                 {name: per_key(phases) for name, phases in ROWS.items()})


def measure(build):
    """Found. Errors: counting.CANNOT_COUNT, counting.CountFailed."""
    return evaluate(run(build))


def describe_key(name, one, of):
    return (f"{name + ':':<24}{one.far_lines:7.3f} lines from another NumaNode {of}, {one.far_cache:.3f} of them from caches; "
            f"{one.upgrades_far:.3f} far upgrades, {one.claims_far:.3f} far claims; {one.near:.3f} lines from the own NumaNode's caches; "
            f"{one.for_nothing:.4f} lines taken for nothing")


def describe(found):
    for name, one in found.lookups.items():
        yield (f"{name + ':':<16}{one.remote_accesses:7.2f} of {one.accesses:7.2f} accesses a lookup are remote, "
               f"{one.remote_misses:6.3f} of {one.misses:6.3f} misses")
    eris = found.lookups["eris"]
    for name in ("shared", "shared_batched"):
        yield (f"eris over {name}: {eris.remote_accesses / found.lookups[name].remote_accesses:.3f} of the remote accesses, "
               f"{eris.remote_misses / found.lookups[name].remote_misses:.3f} of the remote misses")
    for (operation, batch), structures in found.jobs.items():
        yield f"{operation}, batches of {batch}:"
        yield from (describe_key("  " + name, one, "a key") for name, one in structures.items())
        yield f"  eris over {PEER}: {found.far_ratio(operation, batch):.3f} of the transfers between NumaNodes"
    yield from (describe_key(name, one, "a row") for name, one in found.rows.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--explain", action="store_true")
    args = parser.parse_args()
    try:
        result = run(args.build, "--maps", sites=local_access.EXPLAINED_SITES) if args.explain else run(args.build)
    except counting.CANNOT_COUNT as error:
        print(error)
        return SKIPPED
    print(*describe(evaluate(result)), sep="\n")
    if args.explain:
        phases = {f"{operation} {batch}": structures["eris"] for (operation, batch), structures in JOBS.items()}
        print(*local_access.explain(result, {**phases, **ROWS}, ("far",)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
