#!/usr/bin/env python3
"""A setting of the whole system, a file in /sys or /proc, that is put back in any case.

    with SystemSetting("/sys/kernel/mm/transparent_hugepage/enabled") as setting:
        setting.write("always")

A child process, in a session of its own, knows the value to put back. It waits for the end of a pipe, which comes when this
process leaves the block, and also when it ends in whatever way, SIGKILL included. The child ignores signals that end programs;
only SIGKILL to the child itself, or the machine's end, keeps it from its work.

    system_setting.py --put-back FILE VALUE      is that child
"""
import pathlib
import signal
import subprocess
import sys


class CannotSet(Exception):
    """The system does not allow it, or has no such setting."""


def current(text):
    """Of a file that lists its choices, the one in brackets."""
    chosen = [word for word in text.split() if word.startswith("[")]
    return chosen[0].strip("[]") if chosen else text.strip()


class SystemSetting:
    """Errors: CannotSet, when entered: the file is not there or may not be written."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.before, self.child = None, None

    def __enter__(self):
        try:
            self.before = current(self.path.read_text(encoding="utf-8"))
            self.path.write_text(self.before, encoding="utf-8")
        except OSError as error:
            raise CannotSet(f"{self.path}: {error.strerror}") from error
        self.child = subprocess.Popen([sys.executable, "-B", __file__, "--put-back", str(self.path), self.before], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, start_new_session=True)
        self.child.stdout.readline()  # from here it ignores signals
        return self

    def write(self, value):
        """Errors: CannotSet."""
        try:
            self.path.write_text(value, encoding="utf-8")
        except OSError as error:
            raise CannotSet(f"{self.path}: {error.strerror}") from error

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait(30)


def put_back(path, value):
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(one, signal.SIG_IGN)
    print("ready", flush=True)
    sys.stdin.buffer.read()
    pathlib.Path(path).write_text(value, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "--put-back":
        sys.exit(__doc__)
    put_back(*sys.argv[2:])
