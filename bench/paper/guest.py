"""Counts from the emulated machine (tests/numa): whose memory is read. They show the targets of accesses, but no
speeds.
"""
import sys

from common import ROOT, NotPossible, ProgramFailed

sys.path.insert(0, str(ROOT / "tests" / "numa"))

import local_access  # noqa: E402
import scan_placement  # noqa: E402
import shared_access  # noqa: E402
from local_access import counting  # noqa: E402

INIT = "tests/numa/numa_guest_init"
SCAN_PROGRAMS = (INIT, "bench/scan/scan_placement")
POINT_PROGRAMS = (INIT, "tests/numa/local_access")
SHARED_PROGRAMS = (INIT, "tests/numa/shared_access")


def counted(lab, programs, measure, *arguments, **options):
    """The result of `measure`. Errors: NotPossible (no emulator, no kernel, not built), ProgramFailed."""
    if not lab.scale.guest:
        raise NotPossible("left out at this scale")
    for program in programs:
        lab.path(program)
    print(f"  counting {programs[-1]} in the emulated machine", file=sys.stderr, flush=True)
    try:
        return measure(lab.build, *arguments, **options)
    except counting.CANNOT_COUNT as error:
        raise NotPossible(str(error).strip()) from error
    except counting.CountFailed as error:
        raise ProgramFailed(f"counting {programs[-1]}: {error}") from error


def scans(lab):
    """Scans of one query in each placement."""
    return counted(lab, SCAN_PROGRAMS, scan_placement.measure, "--queries", "sum_a")[0]


def point_accesses(lab):
    """The counter's result of upserts and lookups."""
    return counted(lab, POINT_PROGRAMS, local_access.measure)


def shared_transfers(lab):
    """shared_access.Found: transfers between NumaNodes through the engine, and in the tree that all threads share."""
    return counted(lab, SHARED_PROGRAMS, shared_access.measure)
