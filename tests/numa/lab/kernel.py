"""The guest's kernel: Debian's own cloud kernel, downloaded and unpacked, never installed."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from lab.errors import BadInput, CannotRun

META_PACKAGE = "linux-image-cloud-amd64"
ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "numa-guest"


def find(explicit=None):
    """The kernel's file. Errors: BadInput (the one named is not there), CannotRun (none is there)."""
    if explicit:
        if not os.path.isfile(explicit):
            raise BadInput(f"--kernel: no file {explicit}")
        return explicit
    kernels = sorted(FOLDER.glob("vmlinuz-*"), key=lambda path: path.stat().st_mtime)
    if not kernels:
        raise CannotRun(META_PACKAGE, f"no kernel in {FOLDER}; ./dev deps lab fetches it")
    return str(kernels[-1])


def _run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise CannotRun(META_PACKAGE, f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def real_package():
    """The package with the kernel itself: what the meta package of the day depends on."""
    depends = _run("apt-cache", "depends", META_PACKAGE)
    match = re.search(r"^\s*Depends: (linux-image-\S+)$", depends, re.MULTILINE)
    if not match:
        raise CannotRun(META_PACKAGE, "apt-cache knows no version of it; apt-get update")
    return match.group(1)


def _download(folder):
    """The newest kernel package into `folder`; returns its name. Package lists that are missing or
    name a version that is gone are renewed once, where this user may."""
    try:
        package = real_package()
        _run("apt-get", "download", "-q", package, cwd=folder)
    except CannotRun:
        as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        if as_root and not shutil.which("sudo"):
            raise
        subprocess.run([*as_root, "apt-get", "update", "-q"], capture_output=True)
        package = real_package()
        _run("apt-get", "download", "-q", package, cwd=folder)
    return package


def fetch():
    """Downloads the kernel unless one is there. Returns its path and whether it is new."""
    try:
        return find(), False
    except CannotRun:
        pass
    for tool in ("apt-get", "dpkg"):
        if not shutil.which(tool):
            raise CannotRun(META_PACKAGE, f"no {tool} here")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        package = _download(folder)
        archives = list(pathlib.Path(folder).glob("*.deb"))
        if len(archives) != 1:
            raise CannotRun(META_PACKAGE, f"apt-get download {package} left {len(archives)} files")
        _run("dpkg", "-x", str(archives[0]), f"{folder}/unpacked")
        images = list(pathlib.Path(folder, "unpacked", "boot").glob("vmlinuz-*"))
        if len(images) != 1:
            raise CannotRun(META_PACKAGE, f"{package} holds {len(images)} kernels")
        # Last, and at once: a download that was interrupted leaves nothing that looks like a kernel.
        os.replace(images[0], FOLDER / images[0].name)
    return str(FOLDER / images[0].name), True
