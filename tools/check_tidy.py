#!/usr/bin/env python3
"""Checks what compilers do not: leftover marks, stale paths, dead tests, files in no target, width of texts, promises in headers, and the size
of files, functions and folders.

Usage: check_tidy.py [--root DIR] [--build DIR]. Looks at the files git knows (outside a checkout: at
all files). Prints each finding as file:line; exit status 1 if there is one.
"""
import argparse
import ast
import collections
import json
import pathlib
import re
import subprocess
import sys

LINES_MAX = 700
SOURCE_LINES_MAX = 500  # of what is no test, as the next two
FUNCTION_LINES_MAX = 60
FOLDER_FILES_MAX = 30  # subfolders and what they hold left out
DOC_COLUMNS_MAX = 160  # of Markdown; a row of a table is one line however long it is
LAYERS = ("base", "topology", "memory", "leap", "tasks", "storage", "routing", "aeu", "balancer", "engine")
FOLDERS = LAYERS + ("include", "wire", "text", "capi", "server", "clients", "proto", "examples", "bench", "tests", "docs", "cmake", "tools")
SOURCE = (".h", ".cc", ".py")
CODE = SOURCE + (".proto", ".sh", ".cmake")
TEXT = CODE + (".md", ".txt", ".json", ".toml", ".yml", "")  # "": scripts without a suffix
# Split, so that this file does not find itself.
MARK = re.compile(r"\b(" + "|".join(("FIX" "ME", "TO" "DO", "XX" "X")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.])(/(?:root|home|work|Users)/\w+|\.\./shared\b)")
DEAD_TEST = re.compile(r"^\s*(?://|/\*)\s*(?:TYPED_)?TEST(?:_[FP])?\s*\(|\bTEST\w*\(.*\bDIS" r"ABLED_|^\s*#\s*if\s+0\b")
BARE_SKIP = re.compile(r"GTEST_SKIP\(\)\s*;")
# A path into the tree: it names a file with a suffix, or a folder by a slash at its end.
PATH = re.compile(r"(?<![\w/.<>{}$*-])((?:%s)/(?:[\w+-][\w.+-]*/)*(?:[\w+-]+(?:\.[\w]+)+)?)(?![\w<{*$])"
                  % "|".join(FOLDERS + ("eris", r"\.ci")))
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
THIRD_PARTY = ("proto/substrait/",)  # others' files, unchanged
HISTORY = ("docs/internals/DECISIONS.md", "CHANGELOG.md")  # they tell what was, so their paths may be gone
# A header says what there is, not what is going to be.
PROMISE = re.compile(r"\b(yet|will stand here)\b", re.IGNORECASE)
# What strangers stumble over: a sentence begins with its subject, and one word names one thing.
STUMBLE = re.compile(r"^\s*(?://+|#) (Of) |\b([Ll]ook" r"-ups?)\b")
# A function ends so, or a block in it; a type ends with "};", a namespace with "}  // namespace".
BODY_END = re.compile(r" *\}( catch \(.*\) \{)?")
NOT_SEEN_BY_TSAN = re.compile(r'#\s*include\s*"absl/synchronization/')


def files_of(root):
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
        if listed.returncode == 0:
            return sorted(p for p in listed.stdout.split("\0") if p and (root / p).is_file())
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*")
                  if p.is_file() and not {"build", ".git", "__pycache__"} & set(p.relative_to(root).parts))


def comment_of(path, line):
    """The part of the line that is comment or prose: all of a text, what follows // or # in code."""
    if path.endswith(".md"):
        return line
    if path.endswith((".h", ".cc", ".proto")):
        return line[line.find("//"):] if "//" in line else line if line.lstrip().startswith("*") else ""
    return line[line.find("# "):] if "# " in line else ""


def stale_paths(root, path, text):
    for name in PATH.findall(comment_of(path, text)):
        if name.endswith((".pb.h", ".pb.cc")):
            continue  # generated
        if not any((base / name).exists() for base in (root, root / "include", root / "proto")):
            yield f"{name} does not exist"
    if path.endswith(".md"):
        for name in LINK.findall(text):
            if not ((root / path).parent / name).exists():
                yield f"link to {name}, which does not exist"


def line_findings(root, path, text):
    if MARK.search(text):
        yield f"leftover mark {MARK.search(text).group(1)}"
    if MACHINE_PATH.search(text):
        yield f"a path of one machine: {MACHINE_PATH.search(text).group(1)}"
    if path not in HISTORY:
        yield from stale_paths(root, path, text)
    if path.endswith(".md") and len(text) > DOC_COLUMNS_MAX and not text.startswith("|") and " " in text.strip():
        yield f"{len(text)} columns, more than {DOC_COLUMNS_MAX}: wrap it"
    if path.endswith(".h") and PROMISE.search(comment_of(path, text)):
        yield f"\"{PROMISE.search(comment_of(path, text)).group(1)}\" in a header: say what there is"
    if path not in HISTORY and (stumble := STUMBLE.search(text)):
        yield f"\"{stumble.group(1) or stumble.group(2)}\": begin with the subject; write lookup"
    if path.endswith((".h", ".cc")):
        if DEAD_TEST.search(text):
            yield "a test or code that never runs: mend or delete it"
        if BARE_SKIP.search(text):
            yield "a skipped test says why"
        if path.split("/")[0] in LAYERS and NOT_SEEN_BY_TSAN.search(text):
            yield "absl/synchronization is invisible to the thread sanitizer here: use base/mutex.h"


def functions(path, lines):
    """(first line, last line) of each function; of C++ in the form that clang-format writes, where blocks inside count as well."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.end_lineno
        return
    for end, line in enumerate(lines):
        if not BODY_END.fullmatch(line):
            continue
        indent = line.index("}")
        begin = end - 1
        while begin > 0 and re.match(r" {%d}|#|$" % (indent + 1), lines[begin]):
            begin -= 1
        yield begin + 1, end + 1


def size_findings(path, lines):
    if path.startswith("tests/") or not path.endswith(SOURCE):
        if path.endswith(CODE) and len(lines) > LINES_MAX:
            yield len(lines), f"more than {LINES_MAX} lines"
        return
    if len(lines) > SOURCE_LINES_MAX:
        yield len(lines), f"more than {SOURCE_LINES_MAX} lines"
    for begin, end in functions(path, lines):
        if end - begin >= FUNCTION_LINES_MAX:
            yield begin, f"a function of {end - begin + 1} lines, more than {FUNCTION_LINES_MAX}"


def full_folders(paths):
    files = collections.Counter(pathlib.PurePosixPath(path).parent.as_posix() for path in paths)
    for folder, count in sorted(files.items()):
        if count > FOLDER_FILES_MAX and folder.split("/")[0] not in ("tests", "docs"):
            yield f"{folder}:1: {count} files, more than {FOLDER_FILES_MAX}: make rooms"


def in_a_target(root, path, compiled):
    """True if a build compiles the file, or the nearest CMakeLists.txt names it."""
    if (root / path).resolve().as_posix() in compiled:
        return True
    for folder in (root / path).parents:
        lists = folder / "CMakeLists.txt"
        if lists.exists():
            name = (root / path).relative_to(folder).as_posix()
            return re.search(r"(?<![\w.-])" + re.escape(name) + r"(?![\w.-])", lists.read_text()) is not None
        if folder == root:
            return False
    return False


def findings(root, build):
    compiled = set()
    if build and (build / "compile_commands.json").exists():
        commands = json.loads((build / "compile_commands.json").read_text())
        compiled = {pathlib.Path(c["directory"], c["file"]).resolve().as_posix() for c in commands}
    paths = files_of(root)
    yield from full_folders(paths)
    for path in paths:
        suffix = pathlib.PurePath(path).suffix
        if suffix not in TEXT or path == "LICENSE" or path.startswith(THIRD_PARTY):
            continue
        lines = (root / path).read_text(errors="replace").splitlines()
        for number, text in enumerate(lines, 1):
            for finding in line_findings(root, path, text):
                yield f"{path}:{number}: {finding}"
        for number, finding in size_findings(path, lines):
            yield f"{path}:{number}: {finding}"
        needs_target = suffix == ".cc" or suffix == ".h" and path.split("/")[0] in LAYERS + ("wire", "text", "capi", "server", "clients", "include")
        if needs_target and not in_a_target(root, path, compiled):
            yield f"{path}:1: in no CMake target"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=pathlib.Path, help="build tree whose compile_commands.json counts as targets")
    args = parser.parse_args()
    found = list(findings(args.root, args.build))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"tidy: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
