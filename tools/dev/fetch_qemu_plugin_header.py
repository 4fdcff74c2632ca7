#!/usr/bin/env python3
"""Fetches qemu-plugin.h, the interface of qemu's plugins, into build/numa-guest/include.

    tools/dev/fetch_qemu_plugin_header.py [--folder FOLDER]

No package of Debian installs the header: it is only in qemu's source package. It is taken from this machine's package
sources, read as source packages, with separate package lists; the system is not changed and no rights are needed. Does
nothing if the header exists. The header is under GPL-2.0-or-later, so it is not part of this project. If it is not
available: exit code 77 and a line SKIPPED.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
NAME = "qemu-plugin.h"
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "numa-guest" / "include"
APT_SOURCES = pathlib.Path("/etc/apt")
BINARY_PACKAGE = "qemu-system-x86"
SOURCE_PACKAGE = "qemu"
CONNECT_SECONDS = 15


class CannotFetch(Exception):
    """In the form that tools/dev/count_tests.py expects of a skipped test."""

    def __init__(self, reason):
        super().__init__(f"SKIPPED: {NAME} cannot be installed: {reason}")


def as_source_entries(name, text):
    """An apt source file's text, for source packages instead of binary ones."""
    if name.endswith(".sources"):
        return re.sub(r"(?mi)^Types:.*$", "Types: deb-src", text)
    return "\n".join(re.sub(r"^deb\s", "deb-src ", line) for line in text.splitlines()
                     if re.match(r"deb\s", line)) + "\n"


def write_sources(into):
    found = [*APT_SOURCES.glob("sources.list"), *APT_SOURCES.glob("sources.list.d/*.list"),
             *APT_SOURCES.glob("sources.list.d/*.sources")]
    for number, path in enumerate(sorted(found)):
        (into / f"{number}-{path.name}").write_text(as_source_entries(path.name, path.read_text()))
    if not found:
        raise CannotFetch(f"no package sources in {APT_SOURCES}")


def installed_version():
    done = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}", BINARY_PACKAGE],
                          capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def download(folder):
    """qemu's source archive, of the installed version if the package sources have it."""
    for name in ("sources", "lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    write_sources(folder / "sources")
    apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=/dev/null",
           "-o", f"Dir::Etc::sourceparts={folder}/sources", "-o", f"Dir::State::lists={folder}/lists",
           "-o", f"Dir::Cache={folder}/cache", "-o", "APT::Sandbox::User=root",
           "-o", "Acquire::Languages=none", "-o", f"Acquire::http::Timeout={CONNECT_SECONDS}",
           "-o", f"Acquire::https::Timeout={CONNECT_SECONDS}"]
    update = subprocess.run([*apt, "update"], capture_output=True, text=True, cwd=folder)
    version = installed_version()
    reason = update.stderr
    for package in [f"{SOURCE_PACKAGE}={version}"] * bool(version) + [SOURCE_PACKAGE]:
        done = subprocess.run([*apt, "source", "--download-only", "--tar-only", package],
                              capture_output=True, text=True, cwd=folder)
        archives = sorted(folder.glob(f"{SOURCE_PACKAGE}_*.orig.tar.*"))
        if done.returncode == 0 and archives:
            return archives[0]
        reason += done.stderr
    raise CannotFetch(f"apt-get source {SOURCE_PACKAGE}: {' '.join(reason.split())[-400:]}")


def extract(archive):
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.endswith(f"/include/qemu/{NAME}"):
                return files.extractfile(member).read()
    raise CannotFetch(f"it is not in {archive.name}")


def fetch(folder=FOLDER):
    """The header's path. Errors: CannotFetch."""
    header = pathlib.Path(folder) / NAME
    if header.exists():
        return header
    for tool in ("apt-get", "dpkg-query"):
        if not shutil.which(tool):
            raise CannotFetch(f"no {tool} here")
    header.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=header.parent) as work:
        content = extract(download(pathlib.Path(work)))
        # Last, and atomically: an interrupted download leaves nothing that looks like a header.
        complete = pathlib.Path(work, NAME)
        complete.write_bytes(content)
        os.replace(complete, header)
    return header


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    try:
        print(fetch(parser.parse_args().folder))
    except CannotFetch as error:
        print(error)
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
