"""The main of a test that judges accesses that have been counted."""
import sys

from local_access import SKIPPED, counting


def judge(usage, measure, describe, problems):
    """Measures with `--build DIR`, prints what came out and what is wrong with it; the exit code."""
    if len(sys.argv) != 3 or sys.argv[1] != "--build":
        sys.exit(usage)
    try:
        found = measure(sys.argv[2])
    except counting.CANNOT_COUNT as error:
        print(error)
        return SKIPPED
    print(*describe(found), sep="\n")
    wrong = list(problems(found))
    print(*wrong, sep="\n")
    return 1 if wrong else 0
