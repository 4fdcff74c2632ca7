"""What has to be in the guest so that a program runs there: its file without debug information, the
libraries that ldd names, and whatever else was asked for.
"""
import os
import re
import subprocess
import tempfile

from lab.errors import BadInput

STRIP_FROM_BYTES = 4 << 20  # smaller files are not worth a process


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(path):
    """The shared libraries, by the path that the loader will look for them; none if static."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True)
    text = done.stdout
    missing = re.findall(r"(\S+) => not found", text)
    if missing:
        raise BadInput(f"{path} needs {', '.join(missing)}, which ldd does not find")
    return re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", text, re.MULTILINE)


def content(path):
    """The bytes of a file; of a big ELF file without debug information, which can be nine tenths."""
    if os.path.getsize(path) >= STRIP_FROM_BYTES and is_elf(path):
        with tempfile.NamedTemporaryFile() as stripped:
            done = subprocess.run(["strip", "--strip-debug", "-o", stripped.name, path],
                                  capture_output=True)
            if done.returncode == 0:
                with open(stripped.name, "rb") as file:
                    return file.read()
    with open(path, "rb") as file:
        return file.read()


def add_program(archive, path, where=None):
    """Puts the file, and its libraries if it is an ELF file, into the archive."""
    where = where or path
    if where in archive:
        return
    mode = os.stat(path).st_mode & 0o777
    archive.add_file(where, content(path), mode)
    if is_elf(path):
        for library in libraries(path):
            if library not in archive:
                archive.add_file(library, content(os.path.realpath(library)))


def add_tree(archive, source, where):
    """A file or a whole folder; links are followed."""
    if not os.path.isdir(source):
        add_program(archive, source, where)
        return
    archive.add_folder(where)
    for folder, _, names in os.walk(source, followlinks=True):
        below = os.path.join(where, os.path.relpath(folder, source))
        archive.add_folder(os.path.normpath(below))
        for name in names:
            add_program(archive, os.path.join(folder, name), os.path.normpath(os.path.join(below, name)))
