"""What the guest is to do, and the form in which init.cc reads it."""
import dataclasses
import os
import shutil

from lab import closure
from lab.archive import Archive
from lab.errors import BadInput

SEPARATOR = "++"
ENVIRONMENT = {"PATH": "/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}


@dataclasses.dataclass
class Program:
    path: str
    arguments: list
    environment: dict


def find_program(name):
    path = os.path.abspath(name) if "/" in name else shutil.which(name) or os.path.abspath(name)
    if not os.path.isfile(path):
        raise BadInput(f"no program {name}")
    if not os.access(path, os.X_OK):
        raise BadInput(f"{name} is not executable")
    return path


def parse_programs(words, environment):
    """Splits "a 1 ++ b 2" into programs. A word NAME=VALUE before a program is for that one."""
    groups, group = [], []
    for word in words + [SEPARATOR]:
        if word != SEPARATOR:
            group.append(word)
            continue
        if not group:
            raise BadInput(f"no program before or after '{SEPARATOR}'" if groups or len(words) else "no program; --help tells more")
        groups.append(group)
        group = []
    programs = []
    for group in groups:
        own = dict(environment)
        while group and "=" in group[0] and "/" not in group[0].split("=")[0]:
            name, _, value = group.pop(0).partition("=")
            own[name] = value
        if not group:
            raise BadInput(f"variables without a program: {own}")
        programs.append(Program(find_program(group[0]), group[1:], own))
    return programs


def encode(programs, huge_pages, watch_s):
    strings = [f"H{i} {pages}" for i, pages in enumerate(huge_pages) if pages] + [f"W{watch_s:g}"]
    for program in programs:
        strings += [f"E{name}={value}" for name, value in {**ENVIRONMENT, **program.environment}.items()]
        strings += [f"A{word}" for word in (program.path, *program.arguments)] + ["R"]
    return b"".join(string.encode() + b"\0" for string in strings)


def build_archive(init, programs, files, huge_pages, watch_s):
    """The root file system. `files`: pairs of a path here and one in the guest. `watch_s`: when init says what all threads do."""
    archive = Archive()
    archive.add_device("/dev/console", 5, 1)
    with open(init, "rb") as file:
        archive.add_file("/init", file.read())
    archive.add_file("/etc/passwd", b"root:x:0:0:root:/tmp:/bin/sh\n", 0o644)
    archive.add_file("/etc/group", b"root:x:0:\n", 0o644)
    archive.add_file("/etc/hosts", b"127.0.0.1 localhost\n", 0o644)
    archive.add_file("/etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files\n", 0o644)
    for program in programs:
        closure.add_program(archive, program.path)
    for source, where in files:
        closure.add_tree(archive, source, where)
    archive.add_file("/plan", encode(programs, huge_pages, watch_s), 0o644)
    return archive


def parse_file(text):
    """SOURCE or SOURCE:WHERE."""
    source, _, where = text.partition(":")
    if not os.path.exists(source):
        raise BadInput(f"--file: no file or folder {source}")
    where = where or os.path.abspath(source)
    if not where.startswith("/"):
        raise BadInput(f"--file: {where} in the guest is no absolute path")
    return os.path.abspath(source), where
