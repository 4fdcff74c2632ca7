#!/usr/bin/env python3
"""With 64 AEUs on 8 NumaNodes a key takes few lines from other NumaNodes.
Usage: many_aeus_access_test.py --build DIR. Ends with 77 where the counter cannot run.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import many_aeus_access  # noqa: E402
from judged import judge  # noqa: E402

# By batch: 1.10 to 1.15 and 0.63 to 0.65 are measured (docs/lab/measured_coherence.md).
FAR_MAX = {1024: 1.3, 4096: 0.75}
# A key and its answer go there and back: eight keys in a line, which is read, written and read again.
FAR_MIN = 3 / 8


def problems(found):
    for (operation, batch), far in found.items():
        if not FAR_MIN <= far <= FAR_MAX[batch]:
            yield (f"{operation} in batches of {batch}: {far:.3f} transfers between NumaNodes a key, expected {FAR_MIN:.3f} to "
                   f"{FAR_MAX[batch]}")


if __name__ == "__main__":
    sys.exit(judge(__doc__, many_aeus_access.measure, many_aeus_access.describe, problems))
