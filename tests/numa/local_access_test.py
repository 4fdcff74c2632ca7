#!/usr/bin/env python3
"""The data path touches its own NumaNode's memory, and the count can tell: memory that is placed without
regard to NumaNodes does not pass. Usage: local_access_test.py --build DIR. Ends with 77 where the
counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import local_access  # noqa: E402
from local_access import BLIND, GOAL, INTERLEAVED, LOCAL, counting  # noqa: E402

# The program's own pages, its constants and the clock's lie on one NumaNode.
MISSES_MIN = 0.99
BLIND_MAX = 0.5  # a quarter of the memory is local by chance


def problems(result):
    for name, phase in LOCAL.items():
        for what, least in (("accesses", GOAL), ("misses", MISSES_MIN)):
            ratio = result.local_ratio([phase], what)
            if ratio < least:
                yield f"{name}: {ratio:.4f} of the {what} are local, expected {least} or more (--explain tells which are not)"
    # Misses alone where the AEUs' stacks stay local.
    for kind, phases, what in (("interleaved", INTERLEAVED, "misses"), ("blindly placed", BLIND, "accesses")):
        for name, phase in phases.items():
            ratio = result.local_ratio([phase], what)
            if ratio > BLIND_MAX:
                yield f"{name} in {kind} memory: {ratio:.4f} of the {what} are local, which cannot be"


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "--build":
        sys.exit(__doc__)
    try:
        result = local_access.measure(sys.argv[2])
    except counting.CANNOT_COUNT as error:
        print(error)
        return local_access.SKIPPED
    print(*local_access.describe(result), sep="\n")
    found = list(problems(result))
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
