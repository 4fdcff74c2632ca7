#!/usr/bin/env python3
"""Checks that a folder includes only what lies below it, and a room of a folder only rooms below it: the
layering of docs/internals/ARCHITECTURE.md.

Usage: check_layers.py [--root DIR]. Prints each violation as file:line; exit status 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

LAYERS = ["base", "topology", "memory", "storage", "routing", "aeu", "balancer", "engine"]
# What each folder may include of ours, as prefixes. Tests may include everything.
ALLOWED = {"include": ["eris/"]}
for position, layer in enumerate(LAYERS):
    ALLOWED[layer] = ["eris/"] + [f"{below}/" for below in LAYERS[: position + 1]]
# Customers of the engine: they see its interface and the wire, and themselves.
ALLOWED["wire"] = ["eris/", "wire/", "base/"]
ALLOWED["server"] = ["eris/", "server/", "wire/", "base/"]  # base knows no domain word: no way past the interface
ALLOWED["clients"] = ["eris/", "clients/", "wire/"]
# `eris serve` is the one customer of the server in process: its door, and what the door takes.
ALLOWED["clients/cli"] = ["eris/", "clients/", "server/serve.h", "server/state/config.h"]
ALLOWED["examples"] = ["eris/"]
# The rooms of a folder, lowest first; of those in one string none includes another. ".": the folder's own files.
ROOMS = {
    "storage": [".", "tree", "index hash", "table"],
    "engine": ["objects", "core", "reads", "sessions moving", "."],
    "server": ["guard", "state", "calls", "data", "admin", "."],
    "clients/cli": ["text", "files", "."],
}
# Generated from proto/: for server and clients only.
WIRE = re.compile(r"(?:eris/v1/|.*\.pb\.h$|grpc|google/protobuf)")
WIRE_USERS = ("wire", "server", "clients", "examples")
OURS = tuple(f"{name}/" for name in [*LAYERS, "wire", "server", "clients", "eris", "bench", "tests", "examples"])
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def rule_of(path):
    """The longest entry of ALLOWED that covers `path`, or None (no rule)."""
    return max((k for k in ALLOWED if path.startswith(k + "/")), key=len, default=None)


def room_of(path):
    """(folder with rooms, room) of a file or an include, or None."""
    for folder in ROOMS:
        if path.startswith(f"{folder}/"):
            room, _, rest = path[len(folder) + 1 :].partition("/")
            return folder, room if rest else "."
    return None


def floor_of(folder, room):
    """How high the room lies; -1: it has no place in the order."""
    return next((at for at, rooms in enumerate(ROOMS[folder]) if room in rooms.split()), -1)


def breach_of_rooms(path, name):
    """What is wrong with the include of `name`, if the file and `name` are of one folder with rooms, or None."""
    user, used = room_of(path), room_of(name)
    if user is None or used is None or user[0] != used[0] or user == used:
        return None
    folder = user[0]
    floors = [floor_of(folder, room) for _, room in (user, used)]
    if -1 in floors:
        return f"{folder}/ has no order for its room {(user, used)[floors.index(-1)][1]}"
    return None if floors[1] < floors[0] else f"the rooms of {folder}/, lowest first: {', '.join(ROOMS[folder])}"


def violations(root):
    for file in sorted(p for top in {k.split("/")[0] for k in ALLOWED} for p in (root / top).rglob("*")):
        if file.suffix not in (".h", ".cc") or "build" in file.relative_to(root).parts:
            continue
        path = file.relative_to(root).as_posix()
        rule = rule_of(path)
        if rule is None:
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match.group(1)
            if WIRE.match(name):
                if not rule.startswith(WIRE_USERS):
                    yield f"{path}:{number}: includes {name}: the wire format is for server and clients only"
            elif breach := breach_of_rooms(path, name):
                yield f"{path}:{number}: includes {name}: {breach}"
            elif name.startswith(OURS) and not name.startswith(tuple(ALLOWED[rule])):
                yield f"{path}:{number}: includes {name}: {rule}/ may include only {' '.join(ALLOWED[rule])}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    found = list(violations(parser.parse_args().root))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"layers: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
