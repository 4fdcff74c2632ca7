#!/usr/bin/env python3
"""Checks that headers which take seconds to compile stay behind the few sources that need them.

Usage: check_headers.py [--root DIR]. Prints each violation as file:line, with the chain of includes that reaches the
header; exit status 1 if there is one.

Only one source each may include CLI11 and nlohmann/json, behind clients/cli/text/flags.h and clients/json.h. The client
library's sources may include gRPC and the generated messages, but not the library's users.
"""
import argparse
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
WIRE = re.compile(r"(?:grpc|google/protobuf|.*\.pb\.h$)")
# Folders that may reach CLI11 and nlohmann/json only through these files.
ONE_SOURCE = [
    (re.compile(r"CLI/"), "CLI11", "clients/cli/text/flags.cc"),
    (re.compile(r"nlohmann/"), "nlohmann/json", "clients/json.cc"),
]
FOLDERS = ("clients", "tests")
# The client library's public headers. Others of clients/ are for its own sources.
PUBLIC = [
    f"clients/{name}.h"
    for name in (
        "balancer_client", "batch_stream", "eris_client", "json", "rows", "scan_reader",
    )
]
# Files of this folder, and everything they include, must not include the wire.
NO_WIRE = "clients/cli"


class Tree:
    def __init__(self, root):
        self.root = root
        self.cache = {}

    def includes(self, path):
        """(line, name) of each include in a file of the tree."""
        if path not in self.cache:
            file = self.root / path
            lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
            matches = ((number, INCLUDE.match(line)) for number, line in enumerate(lines, 1))
            self.cache[path] = [(number, match.group(1)) for number, match in matches if match]
        return self.cache[path]

    def resolve(self, name):
        """The tree's own file of that name, or None."""
        for path in (name, f"include/{name}"):
            if (self.root / path).is_file():
                return path
        return None

    def way_to(self, path, pattern):
        """(line of `path`, [headers ...]) by which a matching header is reached, or None."""
        seen = {path}
        todo = [(number, [name]) for number, name in self.includes(path)]
        while todo:
            number, way = todo.pop(0)
            if pattern.match(way[-1]):
                return number, way
            own = self.resolve(way[-1])
            if own is None or own in seen:
                continue
            seen.add(own)
            todo += [(number, way + [name]) for _, name in self.includes(own)]
        return None


def violations(root):
    tree = Tree(root)
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cc"):
                continue
            path = file.relative_to(root).as_posix()
            for pattern, library, home in ONE_SOURCE:
                for number, name in tree.includes(path):
                    if pattern.match(name) and path != home:
                        yield f"{path}:{number}: includes {name}: {library} is for {home} alone"
    users = [f for f in sorted((root / NO_WIRE).rglob("*")) if f.suffix in (".h", ".cc")]
    for path in PUBLIC + [f.relative_to(root).as_posix() for f in users]:
        found = tree.way_to(path, WIRE)
        if found:
            number, way = found
            yield f"{path}:{number}: reaches {' -> '.join(way)}: the wire is for the client library's sources"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    found = list(violations(parser.parse_args().root))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"headers: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
