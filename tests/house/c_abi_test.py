#!/usr/bin/env python3
"""Shows that c_abi.py finds what would break programs: in copies of the headers with one change each."""
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import c_abi

ROOT = pathlib.Path(__file__).resolve().parents[2]
# (file, text, its replacement, what is found in it); nothing found: a change that programs do not notice.
CHANGES = [
    ("base.h", "ERIS_ABORTED = 10", "ERIS_ABORTED = 20", "ERIS_ABORTED"),
    ("engine.h", "eris_drop(eris_engine* engine, const char* name", "eris_drop(eris_engine* engine, char* name", "eris_drop("),
    ("base.h", "ERIS_API void eris_error_free(eris_error* error);", "", "eris_error_free"),
    ("engine.h", "  uint32_t network_cores;\n", "", "network_cores"),
    ("engine.h", "  uint32_t network_cores;\n", "  uint64_t network_cores;\n", "network_cores"),
    ("engine.h", "  const char* topology;", "  int32_t first;\n  const char* topology;", "topology"),
    ("base.h", "  int32_t open_end;\n", "  int32_t open_end;\n  int32_t more;\n", "eris_range.more at 36, 4 bytes: this structure has no struct_size"),
    ("scan.h", "  int32_t backward;\n", "  int32_t backward;\n  int32_t more;\n", "eris_query.more at 60, 4 bytes: older programs have padding there"),
    ("engine.h", "  uint32_t scan_slice_us;", "  uint32_t scan_slice_us;  // a comment", None),
]


def main():
    failed = 0
    for name, text, replacement, expected in CHANGES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(ROOT / "include", root / "include")
            (root / "capi").mkdir()
            shutil.copy(ROOT / "capi/abi.txt", root / "capi/abi.txt")
            header = root / "include/eris/c" / name
            before = header.read_text()
            assert text in before, f"{name} has no {text!r}: change this test"
            header.write_text(before.replace(text, replacement, 1))
            wrong, _ = c_abi.differences(root, None, "cc")
            if bool(wrong) != bool(expected) or (expected and not any(expected in line for line in wrong)):
                print(f"{name}, {replacement!r} for {text!r}: expected {expected}, found {wrong}")
                failed += 1
    print(f"{len(CHANGES)} changes, {failed} judged wrongly")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
