#!/usr/bin/env python3
"""The locality-aware scheduler leaves even data where it is: with several queries at once its AEUs take far fewer lines from other
NumaNodes than those of the blind one. Usage: task_lines_test.py --build DIR. Ends with 77 where the counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "study")]

import study  # noqa: E402, F401: says where the others are
import task_lines  # noqa: E402
from judged import judge  # noqa: E402

READERS, SCALE = 8, 0.0005
MOST = 0.6  # of the blind one's lines; measured: 0.3 to 0.4


def measure(build):
    return task_lines.count(pathlib.Path(build).resolve(), "w3", SCALE, (READERS,), ("las", "nls"))


def describe(found):
    for (readers, way), (remote, lines) in found.items():
        yield f"{readers} readers, {way}: {remote} of {lines} lines from other NumaNodes"


def too_far(found):
    (las, _), (nls, _) = found[READERS, "las"], found[READERS, "nls"]
    return las > MOST * nls


def problems(found):
    if too_far(found):
        yield f"las takes more than {MOST} of nls' lines from other NumaNodes"
    blind = found[READERS, "nls"]
    if not too_far({(READERS, "las"): blind, (READERS, "nls"): blind}):  # the rule itself
        yield "the blind scheduler passes for the locality-aware one"


if __name__ == "__main__":
    sys.exit(judge(__doc__, measure, describe, problems))
