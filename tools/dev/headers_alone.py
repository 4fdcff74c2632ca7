#!/usr/bin/env python3
"""Checks that each header of the engine, the server and the clients compiles alone. The objects are thrown away; the compiler cache keeps them.

Usage: headers_alone.py BUILD [--root DIR] [--public] [header...]. A header is checked with the flags of its folder's sources in
BUILD/compile_commands.json, without sanitizers. A header that is the first include of its own source has been checked
by compiling that source. --public: only what programs of others include. Prints each failure; exit status 1 if there is one.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("include", "base", "topology", "memory", "leap", "tasks", "storage", "routing", "aeu", "balancer", "engine", "text", "capi", "server", "clients")
PUBLIC = ("include",)
# Folders without sources use the flags of a folder that includes them.
FLAGS_OF = {"include": "engine", "base": "engine"}
FIRST_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def headers_of(root, folders=FOLDERS):
    """Headers of the folders that are not the first include of their own source, relative to the root."""
    for folder in folders:
        for header in sorted((root / folder).rglob("*.h")):
            name = header.relative_to(root).as_posix()
            source = header.with_suffix(".cc")
            first = FIRST_INCLUDE.search(source.read_text()) if source.exists() else None
            if not first or first.group(1) != name:
                yield name


def flags_by_folder(build):
    """The compiler and its flags for each folder that has sources in the build."""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1] if "-o" in words else ""
        folder = output.split("/CMakeFiles/")[0]
        compiler = next((i for i, word in enumerate(words) if re.search(r"(clang\+\+|g\+\+|c\+\+)[-\d.]*$", word)), None)
        if compiler is None:
            continue
        kept, skip = [], False
        for word in words[compiler:]:
            if skip or word in ("-o", "-c", "-MF", "-MT", "-MD"):
                skip = word in ("-o", "-c", "-MF", "-MT")
                continue
            if not word.startswith(("-fsanitize", "-fno-sanitize")):
                kept.append(word)
        if len(kept) > len(flags.get(folder, [])):  # if there are several targets, the one with the most flags
            flags[folder] = kept
    return flags


def flags_for(header, flags):
    top = header.split("/")[0]
    folder = FLAGS_OF.get(top, header.rsplit("/", 1)[0])
    while folder not in flags and "/" in folder:
        folder = folder.rsplit("/", 1)[0]
    return flags[folder]


def check(header, root, build, flags, out):
    """The compiler's complaints; empty if there are none. `out`: a folder."""
    cache = [ccache] if (ccache := shutil.which("ccache")) else []
    done = subprocess.run([*cache, *flags_for(header, flags), "-O0", "-g0", "-Wno-pragma-once-outside-header", "-Werror", "-x", "c++",
                           "-c", root / header, "-o", pathlib.Path(out, header.replace("/", "_") + ".o")],
                          cwd=build, capture_output=True, text=True, env={**os.environ, "CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1"})
    return "" if done.returncode == 0 else done.stderr or f"the compiler ended with {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--public", action="store_true")
    parser.add_argument("headers", nargs="*")
    args = parser.parse_args()
    build, root = args.build.resolve(), args.root.resolve()
    flags = flags_by_folder(build)
    headers = args.headers or list(headers_of(root, PUBLIC if args.public else FOLDERS))
    with tempfile.TemporaryDirectory() as out, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        complaints = list(pool.map(lambda header: check(header, root, build, flags, out), headers))
    bad = [(header, text) for header, text in zip(headers, complaints) if text]
    for header, text in bad:
        print(f"{header} does not compile alone:\n{text}")
    print(f"headers: {len(headers)} checked, {len(bad)} do not compile alone")
    return 1 if bad or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
