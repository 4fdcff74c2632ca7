#!/usr/bin/env python3
"""Compares the test cases of two commits, by their names in the sources.

    tools/dev/test_cases.py OLD [NEW]      commits; NEW: the working tree

A case is a TEST of C++ or a test_ method of Python, with the file it is in. A case that only moved to another file is
not reported. The amount of open-ended checks (seeds, rounds, seconds) is in docs/lab/soak.md, not here. Exit code 1 if
a case was removed.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CASE = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)", re.M)
METHOD = re.compile(r"^class (\w+)|^    def (test_\w+)", re.M)


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], text=True, stdout=subprocess.PIPE, check=True, errors="replace").stdout


def sources(commit):
    """Paths and texts of the tests of a commit, or of the working tree."""
    wanted = re.compile(r"^tests/.*\.(cc|h|py)$")
    if commit is None:
        for path in sorted((ROOT / "tests").rglob("*")):
            name = str(path.relative_to(ROOT))
            if wanted.match(name) and path.is_file():
                yield name, path.read_text(encoding="utf-8", errors="replace")
        return
    for name in git("ls-tree", "-r", "--name-only", commit, "tests").splitlines():
        if wanted.match(name):
            yield name, git("show", f"{commit}:{name}")


def cases(commit):
    found = collections.defaultdict(set)
    for name, text in sources(commit):
        if name.endswith(".py"):
            suite = ""
            for match in METHOD.finditer(text):
                suite = match[1] or suite
                if match[2]:
                    found[f"{suite}.{match[2]}"].add(name)
        else:
            for match in CASE.finditer(text):
                found[f"{match[1]}.{match[2]}"].add(name)
    return found


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    old, new = cases(sys.argv[1]), cases(sys.argv[2] if len(sys.argv) == 3 else None)
    gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    for words, names, where in ("gone", gone, old), ("new", come, new):
        for name in names:
            print(f"{words}: {name}  ({', '.join(sorted(where[name]))})")
    print(f"{len(old)} before, {len(new)} after: {len(gone)} gone, {len(come)} new")
    return 1 if gone else 0


sys.exit(main())
