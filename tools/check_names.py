#!/usr/bin/env python3
"""Checks that no two classes or enumerations of the product share a qualified name.

Usage: check_names.py [--root DIR]. Prints each violation as file:line; exit status 1 if there is one.

Two classes of one name in one program violate the one-definition rule: the linker keeps one of each pair
of equal symbols, and no compiler says so. Names in unnamed namespaces are left out, since the compiler
refuses two of them where sources are compiled as one, and so are two definitions in one file, which are
alternatives of the preprocessor. The checker reads text as clang-format writes it: the content of a namespace begins in
the first column.
"""
import argparse
import pathlib
import re
import sys

FOLDERS = ("base", "topology", "memory", "leap", "tasks", "storage", "routing", "aeu", "balancer", "engine", "wire", "text", "capi", "server", "clients", "include")
OPENS = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{(?!.*\})")
CLOSES = re.compile(r"\}\s*// namespace")
TYPE = re.compile(r"(?:class|struct|union|enum(?: class| struct)?)\s+((?:(?:alignas|ABSL_\w+)\b(?:\((?:[^()]|\([^()]*\))*\))?\s+|\[\[\w+\]\]\s+)*)(\w+(?:::\w+)*)")


def definitions(text):
    """(line number, qualified name) of each class or enumeration in a namespace."""
    spaces = []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if match := OPENS.match(line):
            spaces.append(match.group(1))
        elif CLOSES.match(line):
            spaces.pop()
        elif (match := TYPE.match(line)) and None not in spaces:
            # A definition has its brace before any semicolon; a forward declaration has none, and a
            # specialisation names its arguments.
            rest = " ".join([line[match.end():], *lines[number : number + 4]])
            if re.match(r"[^;(]*?\{", rest) and not rest.lstrip().startswith("<"):
                yield number, "::".join([*spaces, match.group(2)])


def violations(root):
    first = {}
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cc"):
                continue
            path = file.relative_to(root).as_posix()
            for number, name in definitions(file.read_text(errors="replace")):
                other, line = first.setdefault(name, (path, number))
                if other != path:
                    yield f"{path}:{number}: {name} is also defined at {other}:{line}: one of them needs another name"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    found = list(violations(parser.parse_args().root))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"names: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
