#!/usr/bin/env python3
"""The data path touches its own NumaNode's memory and takes no lines from others, and the count can tell: memory that is
placed without regard to NumaNodes does not pass. Usage: local_access_test.py --build DIR. Ends with 77 where the
counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import local_access  # noqa: E402
from judged import judge  # noqa: E402
from local_access import BLIND, GOAL, INTERLEAVED, LEAPT, LOCAL  # noqa: E402

# The program's own pages, its constants and the clock's lie on one NumaNode.
MISSES_MIN = 0.99
LEAPT_MIN = 0.995
BLIND_MAX = 0.5  # a quarter of the memory is local by chance
# Transfers between NumaNodes of a key: own keys, sent by the AEU itself, against one to two lines of a tree that lies anywhere.
FAR_MAX = 0.05
BLIND_FAR_MIN = 0.5


def problems(result):
    for name, phase in {**LOCAL, **LEAPT}.items():
        goal = LEAPT_MIN if name in LEAPT else GOAL
        for what, least in (("accesses", goal), ("misses", MISSES_MIN)):
            ratio = result.local_ratio([phase], what)
            if ratio < least:
                yield f"{name}: {ratio:.4f} of the {what} are local, expected {least} or more (--explain tells which are not)"
        if (far := local_access.far_per_key(result, phase)) > FAR_MAX:
            yield f"{name}: {far:.3f} transfers between NumaNodes a key, expected {FAR_MAX} or less"
    # Misses alone where the AEUs' stacks stay local.
    for kind, phases, what in (("interleaved", INTERLEAVED, "misses"), ("blindly placed", BLIND, "accesses")):
        for name, phase in phases.items():
            ratio = result.local_ratio([phase], what)
            if ratio > BLIND_MAX:
                yield f"{name} in {kind} memory: {ratio:.4f} of the {what} are local, which cannot be"
            if (far := local_access.far_per_key(result, phase)) < BLIND_FAR_MIN:
                yield f"{name} in {kind} memory: {far:.3f} transfers between NumaNodes a key, which cannot be"


if __name__ == "__main__":
    sys.exit(judge(__doc__, local_access.measure, local_access.describe, problems))
