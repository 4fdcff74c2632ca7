"""Whether this machine has the memory and the disk for a scale factor, before anything is made."""
import os
import pathlib
import re
import shutil

from eris_server.demo.refusal import Refusal

SCALE_MIN, SCALE_MAX = 0.01, 100.0
# Measured at scale factor 1: 956 MB of text. The server has 1.3 GB, 1.1 GB of them data; this process has 1.4 GB with DuckDB's tables.
DISK_BYTES = 0.97e9
MEMORY_BYTES = 2.5e9
DATA_BYTES = 1.15e9  # a part of it: what the server's limit must allow
BASE_BYTES = 0.4e9  # at any scale: the programs, and the keys of the load that moves


def gb(count: float) -> str:
    return f"{count / 1e9:,.1f} GB"


def memory_available() -> int:
    """What the kernel would give, or less if the control group allows less."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)
    available = int(found.group(1)) * 1024 if found else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    group = pathlib.Path("/sys/fs/cgroup")
    if (group / "memory.max").exists() and (limit := (group / "memory.max").read_text().strip()) != "max":
        files = re.search(r"^inactive_file (\d+)", (group / "memory.stat").read_text(), re.M)  # the kernel gives them back
        used = int((group / "memory.current").read_text()) - (int(files.group(1)) if files else 0)
        available = min(available, max(0, int(limit) - used))
    return available


def check_memory(scale: float) -> None:
    needed, available = BASE_BYTES + scale * MEMORY_BYTES, memory_available()
    if needed > available:
        raise Refusal(f"scale factor {scale:g} needs about {gb(needed)} of memory, and {gb(available)} are available: "
                      f"end other programs, or give a smaller --scale ({fitting(available, MEMORY_BYTES)})")


def check_server(scale: float, limit: int) -> None:
    """`limit`: what the server may take for data."""
    needed = BASE_BYTES + scale * DATA_BYTES
    if needed > limit:
        raise Refusal(f"scale factor {scale:g} needs about {gb(needed)} for data, and the server has at most {gb(limit)} for them on this machine: "
                      f"give a smaller --scale ({fitting(limit, DATA_BYTES)})")


def check_disk(scale: float, folder: pathlib.Path) -> None:
    """`folder` exists."""
    needed, free = scale * DISK_BYTES, shutil.disk_usage(folder).free
    if needed > free:
        raise Refusal(f"scale factor {scale:g} needs about {gb(needed)} of disk, and {folder} has {gb(free)} free: "
                      f"give another folder with --cache, or a smaller --scale")


def fitting(available: float, each: float) -> str:
    """Which scale factors fit."""
    most = int((available - BASE_BYTES) / each * 100) / 100  # rounded down
    return f"at most {most:g}" if most >= SCALE_MIN else "none fits"
