"""Writes the guest's root file system: a cpio archive in the "newc" format, which the kernel unpacks
into memory at boot. Its description is the kernel's "initramfs buffer format".
"""
import os
import stat

HEADER_BYTES = 110


class Archive:
    """An archive in memory. Folders above a file are made when the file is added."""

    def __init__(self):
        self._parts = []
        self._bytes = 0
        self._names = set()

    def __contains__(self, path):
        return self._name(path) in self._names

    def add_folder(self, path):
        name = self._name(path)
        if name and name not in self._names:
            self.add_folder(os.path.dirname(name))
            self._add(name, stat.S_IFDIR | 0o755, b"", links=2)

    def add_file(self, path, content, mode=0o755):
        self._add_below(path, stat.S_IFREG | mode, content)

    def add_link(self, path, target):
        self._add_below(path, stat.S_IFLNK | 0o777, target.encode())

    def add_device(self, path, major, minor):
        """A character device, for what must be there before /dev is mounted."""
        self._add_below(path, stat.S_IFCHR | 0o600, b"", device=(major, minor))

    @property
    def size(self):
        return self._bytes

    def write(self, file):
        """To a binary file; the archive takes nothing after that."""
        self._add("TRAILER!!!", 0, b"")
        for part in self._parts:
            file.write(part)

    @staticmethod
    def _name(path):
        return path.strip("/")

    def _add_below(self, path, mode, content, **more):
        name = self._name(path)
        if name in self._names:
            return
        self.add_folder(os.path.dirname(name))
        self._add(name, mode, content, **more)

    def _add(self, name, mode, content, links=1, device=(0, 0)):
        self._names.add(name)
        encoded = name.encode() + b"\0"
        fields = (len(self._names), mode, 0, 0, links, 0, len(content), 0, 0, *device, len(encoded), 0)
        self._put(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self._put(content)

    def _put(self, part):
        """Headers with their names, and contents, each fill up to a multiple of four bytes."""
        padding = b"\0" * (-len(part) % 4)
        self._parts += [part, padding] if padding else [part]
        self._bytes += len(part) + len(padding)
