"""The command `eris`: becomes the program of this wheel. Python is gone then, so signals and exit codes are the program's own.

The program is started by a loader that comes with it, since the C library of the system may be older than its own, or another one.
"""
import os
import pathlib
import signal
import sys
from typing import List

PROGRAM = pathlib.Path(__file__).resolve().parent / "program"


def command() -> List[str]:
    """The words that start the program, to which its arguments are added. Without the cache no library of the system is found by chance."""
    return [str(PROGRAM / "eris"), "--inhibit-cache", "--library-path", str(PROGRAM / "lib"), "--argv0", "eris", str(PROGRAM / "lib" / "eris.bin")]


def find_neighbours() -> None:
    """Puts the folder of this command into PATH: `eris sql`, `eris shell` and `eris demo` start programs that are installed there."""
    here = os.path.dirname(os.path.realpath(sys.argv[0]))
    os.environ["PATH"] = os.pathsep.join([here, os.environ.get("PATH", os.defpath)])


def main() -> None:
    if ":" in str(PROGRAM):
        sys.exit(f"eris: it cannot run in {PROGRAM}: a colon divides the folders of a library path. Install it into another folder")
    find_neighbours()
    os.environ["HWLOC_PLUGINS_PATH"] = str(PROGRAM / "none")  # those of the system are for its own hwloc
    words = command() + sys.argv[1:]
    for number in signal.SIGPIPE, signal.SIGXFSZ:  # Python ignores them, and the program would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(words[0], words)
    except OSError as error:
        sys.exit(f"eris: cannot start {words[0]}: {error.strerror}. The wheel is for Linux on x86-64, in a folder whose files may be executed")


def demo() -> None:
    """The command `eris-demo`, which `eris demo` starts."""
    if sys.version_info < (3, 11):
        sys.exit(f"eris demo: it needs Python 3.11, as the client eris-engine does, and this is {sys.version.split()[0]}. The server does not: eris serve")
    from eris_server.demo.main import main as show  # written for those versions

    find_neighbours()
    show()
