#!/usr/bin/env python3
"""Checks that a folder includes only folders below it, and a room of a folder only rooms below it: the layering of
docs/internals/ARCHITECTURE.md.

Usage: check_layers.py [--root DIR]. Prints each violation as file:line; exit status 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

LAYERS = ["base", "topology", "memory", "leap", "tasks", "storage", "routing", "aeu", "balancer", "engine"]
# What each folder may include of our headers, as prefixes. Tests may include everything.
ALLOWED = {"include": ["eris/"]}
for position, layer in enumerate(LAYERS):
    ALLOWED[layer] = ["eris/"] + [f"{below}/" for below in LAYERS[: position + 1]]
# Users of the engine: they see its interface and the wire, and themselves.
ALLOWED["wire"] = ["eris/", "wire/", "base/"]
# What both read as text, without any message.
ALLOWED["text"] = ["eris/", "text/", "base/"]
# The C interface.
ALLOWED["capi"] = ["eris/", "capi/", "text/", "base/"]
# base has no domain words, so it does not bypass the interface
ALLOWED["server"] = ["eris/", "server/", "wire/", "text/", "base/"]
ALLOWED["clients"] = ["eris/", "clients/", "wire/", "text/"]
# `eris serve` is the only in-process user of the server: its entry point, and the configuration that it takes.
# And `eris metrics` prints a table of the server, `eris token` writes the file of tokens that the server reads, and
# `eris config check` asks the server's own checks.
ALLOWED["clients/cli"] = ["eris/", "clients/", "text/", "server/serve.h", "server/state/config.h", "server/state/security_check.h", "server/access/token_file.h",
                          "server/access/token_hash.h", "server/metrics/metric_table.h"]
# The load generator measures with the same buckets as the server.
ALLOWED["clients/load"] = ALLOWED["clients"] + ["base/histogram.h"]
ALLOWED["examples"] = ["eris/"]
# The rooms of a folder, lowest first; rooms in one string must not include each other. ".": the folder's own files.
ROOMS = {
    "memory": ["system", "."],
    "storage": [".", "tree", "index hash", "table", "query"],
    "storage/query": ["rows", "plans", "operators", "."],
    "storage/table": ["rows", "kernels", "plan", "groups", "query", "."],
    "routing": ["ranges", "."],
    "aeu": ["state", "runners transfers", "."],
    "balancer": ["load", "."],
    "engine": ["objects completion", "core", "options reads", "query", "sessions moving", "."],
    "server": ["log overload", "metrics", "guard", "access", "state", "door", "calls", "substrait", "data queries", "admin flight", "http", "."],
    "clients/cli": ["text", "ndjson", "files access", "inference", "loading doctor settings results", ".", "watching queries"],
    "clients/load": [".", "figures"],
}
# Generated from proto/: for server and clients only, and of those Substrait's messages for one room.
WIRE = re.compile(r"(?:eris/v1/|arrow/|.*\.pb\.h$|grpc|google/protobuf)")
WIRE_USERS = ("wire", "server", "clients", "examples")
SUBSTRAIT = re.compile(r"substrait/.*\.pb\.h$")
SUBSTRAIT_USER = "server/substrait/"
OURS = tuple(f"{name}/" for name in [*LAYERS, "wire", "text", "capi", "server", "clients", "eris", "bench", "tests", "examples"])
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def rule_of(path):
    """The longest entry of ALLOWED that covers `path`, or None (no rule)."""
    return max((k for k in ALLOWED if path.startswith(k + "/")), key=len, default=None)


def room_of(folder, path):
    """The room of `folder` that contains a file or an include, or None if it is elsewhere."""
    if not path.startswith(f"{folder}/"):
        return None
    room, _, rest = path[len(folder) + 1 :].partition("/")
    return room if rest else "."


def floor_of(folder, room):
    """The level of the room; -1: it has no place in the order."""
    return next((at for at, rooms in enumerate(ROOMS[folder]) if room in rooms.split()), -1)


def breach_of_rooms(path, name):
    """The violation in the include of `name`, for a folder with rooms that contains both the file and `name`, or
    None.
    """
    for folder, order in ROOMS.items():
        rooms = room_of(folder, path), room_of(folder, name)
        if None in rooms or rooms[0] == rooms[1]:
            continue
        floors = [floor_of(folder, room) for room in rooms]
        if -1 in floors:
            return f"{folder}/ has no order for its room {rooms[floors.index(-1)]}"
        if floors[1] >= floors[0]:
            return f"the rooms of {folder}/, lowest first: {', '.join(order)}"
    return None


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
            if SUBSTRAIT.match(name) and not path.startswith(SUBSTRAIT_USER):
                yield f"{path}:{number}: includes {name}: Substrait's messages are for {SUBSTRAIT_USER} only"
            elif WIRE.match(name):
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
