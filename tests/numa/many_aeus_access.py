#!/usr/bin/env python3
"""Lines that a key takes from other NumaNodes where there are many AEUs: runs many_aeus_access.cc, whose AEUs are stepped by
hand, each on behalf of its NumaNode, in a guest of 2 cpus, counted.

    tests/numa/many_aeus_access.py --build build/release [--shape 8x8] [--shape 64x8] [--explain]

Prints for lookups and upserts in batches of 1024 and 4096 keys the transfers between NumaNodes a key. One session, on the
first NumaNode. No cache forgets a line there. Exit code 77 where qemu, the guest's kernel or the plugin's header cannot be had.
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import local_access  # noqa: E402
from local_access import SKIPPED, counting  # noqa: E402

GUEST = "1x2"
MEMORY = "3G"
SHAPES = ["8x8", "64x8"]  # NumaNodes x AEUs of each
JOBS = {("lookups", 1024): 1, ("lookups", 4096): 2, ("upserts", 1024): 3, ("upserts", 4096): 4}


def run(build, shape, *arguments, **options):
    """Errors: counting.CANNOT_COUNT, counting.CountFailed."""
    program = pathlib.Path(build, "tests", "numa", "many_aeus_access")
    return counting.count(build, GUEST, program, *shape.split("x"), *arguments, memory=MEMORY, acting=1, **options)


def evaluate(result):
    """(operation, batch) -> transfers between NumaNodes a key. Errors: counting.CountFailed."""
    did = {int(phase): int(count) for phase, count in re.findall(r"^did (\d+) (\d+)$", result.output, re.MULTILINE)}
    return {job: result.transferred([phase]) / did[phase] for job, phase in JOBS.items()}


def measure(build, shape=SHAPES[0]):
    return evaluate(run(build, shape))


def describe(found):
    for (operation, batch), far in found.items():
        yield f"{operation}, batches of {batch}: {far:.3f} transfers between NumaNodes a key"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--shape", action="append", help="NumaNodes x AEUs of each, by default 8x8 and 64x8")
    parser.add_argument("--explain", action="store_true", help="tell where the transfers come from")
    args = parser.parse_args()
    try:
        for shape in args.shape or SHAPES:
            result = run(args.build, shape, "--maps", sites=local_access.EXPLAINED_SITES) if args.explain else run(args.build, shape)
            print(f"{shape} AEUs", *describe(evaluate(result)), sep="\n")
            if args.explain:
                phases = {f"{operation} {batch}": phase for (operation, batch), phase in JOBS.items()}
                print(*local_access.explain(result, phases, ("far",)), sep="\n")
    except counting.CANNOT_COUNT as error:
        print(error)
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
