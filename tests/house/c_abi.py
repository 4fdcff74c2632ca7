#!/usr/bin/env python3
"""Checks that the C interface is what programs were compiled against: capi/abi.txt has each function's declaration, each structure's members
with their places, and each constant. liberis.so has exactly these functions, and no other name.

Usage: c_abi.py --liberis liberis.so [--compiler cc] [--root DIR] [--write]. Prints each difference; exit status 1 if there is one. --write
adds what is new to capi/abi.txt, and changes nothing that is there: functions, constants and members are never taken away or moved, and a
structure with a struct_size grows at its end alone. Also says which function the test of bad arguments does not call.

Why a list and not abidiff: handles are opaque, so these declarations are all that a C program can see. The list is read in a review, needs no
debug information, and no library of an earlier version.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
FUNCTION = re.compile(r"^ERIS_API\s+([^;]+);", re.M)
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\} \w+;", re.S)
ENUM = re.compile(r"\benum \{(.*?)\};", re.S)
MEMBER = re.compile(r"(\w+)$")
PLACE = re.compile(r"member (\w+)\.\w+ at (\d+), (\d+) bytes")
HEADERS = "include/eris/c"


def declarations(root):
    """({name: declaration}, {structure: [members]}, [constants]) of the headers."""
    functions, structs, constants = {}, {}, []
    for header in sorted((root / HEADERS).glob("*.h")):
        text = COMMENT.sub("", header.read_text())
        for match in FUNCTION.finditer(text):
            line = re.sub(r"\s+", " ", match.group(1))
            functions[re.search(r"(\w+)\(", line).group(1)] = line
        for name, body in STRUCT.findall(text):
            structs[name] = [MEMBER.search(part.strip()).group(1) for part in body.split(";") if part.strip()]
        for body in ENUM.findall(text):
            constants += [part.split("=")[0].strip() for part in body.split(",") if part.strip()]
    return functions, structs, constants


def measured(root, compiler, structs, constants):
    """Lines with the places of members and the values of constants, by the compiler."""
    lines = ["#include <stdio.h>", '#include "eris/eris.h"', "int main(void) {"]
    for name, members in structs.items():
        for member in members:
            lines.append(f'printf("member {name}.{member} at %zu, %zu bytes\\n", offsetof({name}, {member}), sizeof((({name}*)0)->{member}));')
    lines += [f'printf("constant {name} = %d\\n", {name});' for name in constants]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi")
        source.write_text("\n".join([*lines, "return 0;", "}"]))
        subprocess.run([compiler, "-std=c99", "-I", root / "include", source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def exported(library):
    """The names that the library offers."""
    listed = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], check=True, capture_output=True, text=True)
    names = {line.split()[0].split("@")[0] for line in listed.stdout.splitlines()}
    return {name for name in names if not name.startswith("ERIS_")}  # the version's own symbol


def ends(lines):
    """{structure: where its last member ends, rounded up to its alignment}. Members are aligned to 8 bytes at most."""
    out = {}
    for line in lines:
        if match := PLACE.match(line):
            name, at, size = match.group(1), int(match.group(2)), int(match.group(3))
            out[name] = max(out.get(name, 0), -(-(at + size) // 8) * 8)
    return out


def differences(root, library, compiler):
    """(what is wrong, what is new) as texts."""
    functions, structs, constants = declarations(root)
    now = [f"function {line}" for _, line in sorted(functions.items())] + measured(root, compiler, structs, constants)
    file = root / "capi/abi.txt"
    known = [line for line in file.read_text().splitlines() if not line.startswith("#")] if file.exists() else []
    wrong = [f"{line}: is gone or has changed" for line in known if line not in now]
    new = [line for line in now if line not in known]
    names = exported(library) if library else set(functions)
    wrong += [f"{name}: exported, and no function of the headers" for name in sorted(names - set(functions))]
    wrong += [f"{name}: a function of the headers that the library does not have" for name in sorted(set(functions) - names)]
    # A structure without a size cannot grow: programs have arrays of it.
    fixed = {name for name, members in structs.items() if "struct_size" not in members}
    old = ends(known)
    for line in new:
        match = PLACE.match(line)
        if not match or match.group(1) not in old:
            continue
        if match.group(1) in fixed:
            wrong.append(f"{line}: this structure has no struct_size, so it cannot grow")
        elif int(match.group(2)) < old[match.group(1)]:
            wrong.append(f"{line}: older programs have padding there, with any bytes: the structure grows from {old[match.group(1)]} on")
    return wrong, new


def untested(root):
    """Functions with pointers that are not called with NULL."""
    tests = (root / "tests/unit/capi/bad_arguments_test.cc").read_text()
    functions, _, _ = declarations(root)
    for name, line in functions.items():
        if "*" in line.partition("(")[2] and not re.search(rf"\({name}\)", tests):
            yield f"{name}: tests/unit/capi/bad_arguments_test.cc does not call it with NULL"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--liberis", type=pathlib.Path)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    wrong, new = differences(args.root, args.liberis, args.compiler)
    if args.write and new and not wrong:
        with (args.root / "capi/abi.txt").open("a") as file:
            file.writelines(f"{line}\n" for line in new)
        new = []
    wrong += untested(args.root)
    wrong += [f"{line}: is new: c_abi.py --write adds it to capi/abi.txt" for line in new]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"C interface: {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
