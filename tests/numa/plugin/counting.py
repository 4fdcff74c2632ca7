"""Runs a marked program in the lab's guest with the access counter, and reads what it counted.

The counter must say by itself that it tells the NumaNodes apart: a program begins by reading a page of
each that it knows (ReadKnownPages in node_memory.h), and counts of a run in which one of them came out
wrong, or was left out, or in which any access went to no NumaNode's memory, are not used.
"""
import collections
import dataclasses
import fcntl
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
sys.path.insert(0, str(ROOT / "tests" / "numa"))

from fetch_qemu_plugin_header import CannotFetch, fetch  # noqa: E402
from lab import kernel, machine  # noqa: E402
from lab.errors import CannotRun  # noqa: E402

CANNOT_COUNT = (CannotFetch, CannotRun)  # their text is what a skipped test prints
GUEST_SECONDS = 200
TARGET = "numa_access_counter"


class CountFailed(Exception):
    """The guest or the counter did not do as told; nothing that was counted is to be believed."""


@dataclasses.dataclass(frozen=True)
class Count:
    """One line "count": accesses of one cpu to one NumaNode's memory in one phase."""
    phase: int
    cpu: int
    cpu_numa_node: int
    memory_numa_node: int
    loads: int
    stores: int
    load_misses: int
    store_misses: int

    @property
    def accesses(self):
        return self.loads + self.stores

    @property
    def misses(self):
        return self.load_misses + self.store_misses

    @property
    def local(self):
        return self.cpu_numa_node == self.memory_numa_node


@dataclasses.dataclass(frozen=True)
class Transfers:
    """One line "transfers": what one cpu's accesses to one NumaNode's memory in one phase took from elsewhere
    (line_directory.h). An access counts in one of the figures at most."""
    phase: int
    cpu: int
    cpu_numa_node: int
    memory_numa_node: int
    near: int  # lines from a cache of the own NumaNode
    far_cache: int  # lines that were dirty in a cache of another NumaNode
    far_memory: int  # lines from another NumaNode's memory
    upgrades_near: int  # stores to a copy of its own that took those of cpus of the own NumaNode
    upgrades_far: int  # the same: of another NumaNode
    claims_far: int  # stores without a copy of their own to a line at hand, that took those of another NumaNode

    @property
    def far_lines(self):
        """Lines from another NumaNode."""
        return self.far_cache + self.far_memory

    @property
    def far_invalidations(self):
        """Stores that took copies, but no line, from another NumaNode."""
        return self.upgrades_far + self.claims_far

    @property
    def far(self):
        """All accesses that had to wait for another NumaNode."""
        return self.far_lines + self.far_invalidations


@dataclasses.dataclass(frozen=True)
class Site:
    """One line "site": accesses by one instruction to one page that are remote, or need something of another NumaNode's
    caches."""
    phase: int
    cpu: int
    cpu_numa_node: int
    memory_numa_node: int
    instruction: int
    page: int
    accesses: int
    misses: int
    far: int

    @property
    def local(self):
        return self.cpu_numa_node == self.memory_numa_node


@dataclasses.dataclass(frozen=True)
class FalseSharing:
    """One line "false_sharing": lines that one instruction's accesses to one page took from another cpu's cache for nothing
    (false_sharing.h)."""
    phase: int
    cpu: int
    instruction: int
    page: int
    lines: int


@dataclasses.dataclass
class Result:
    counts: list
    transfers: list
    false_sharing: list  # None: not followed
    sites: list
    checked: dict  # NumaNode -> reads of known pages
    sites_left_out: int  # accesses in no site: there were more places than asked for
    coherence: bool  # transfers have been counted
    output: str  # of the program

    def local_ratio(self, phases, what="accesses"):
        """Local ones among all, of "accesses" or "misses"."""
        counted = [count for count in self.counts if count.phase in phases]
        every = sum(getattr(count, what) for count in counted)
        if not every:
            raise CountFailed(f"no {what} counted in phases {phases}")
        return sum(getattr(count, what) for count in counted if count.local) / every

    def total(self, phases, what="accesses"):
        return sum(getattr(count, what) for count in self.counts if count.phase in phases)

    def transferred(self, phases, what="far"):
        """A figure of Transfers, of all cpus. Errors: CountFailed (nothing was counted in these phases, or no transfers)."""
        if not self.coherence:
            raise CountFailed("the counter was not told to follow copies of lines (coherence=1)")
        if not self.total(phases):
            raise CountFailed(f"nothing counted in phases {phases}")
        return sum(getattr(one, what) for one in self.transfers if one.phase in phases)

    def taken_for_nothing(self, phases):
        """Lines, of all cpus. Errors: CountFailed (nothing was counted in these phases, or no false sharing)."""
        if self.false_sharing is None:
            raise CountFailed("the counter was not told to follow false sharing (false_sharing=1)")
        if not self.total(phases):
            raise CountFailed(f"nothing counted in phases {phases}")
        return sum(one.lines for one in self.false_sharing if one.phase in phases)


def parse_count(line):
    return Count(*(int(word) for word in line.split("\t")[1:]))


def parse_transfers(line):
    return Transfers(*(int(word) for word in line.split("\t")[1:]))


def parse_false_sharing(line):
    return FalseSharing(*(int(word, 0) for word in line.split("\t")[1:]))


def parse(text, output=""):
    """Errors: CountFailed (the file is cut off, or a known page came out wrong)."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    if not lines or lines[-1] != "end":
        raise CountFailed("the counter wrote no result")
    result = Result([], [], None, [], collections.Counter(), 0, False, output)
    false_sharing = []
    for line in lines[:-1]:
        kind, *words = line.split("\t")
        if kind == "count":
            result.counts.append(parse_count(line))
        elif kind == "transfers":
            result.transfers.append(parse_transfers(line))
        elif kind == "coherence":
            result.coherence = words[0] == "1"
        elif kind == "false_sharing":
            false_sharing.append(parse_false_sharing(line))
        elif kind == "followed_false_sharing":
            result.false_sharing = false_sharing if words[0] == "1" else None
        elif kind == "site":
            result.sites.append(Site(*(int(word, 0) for word in words)))
        elif kind == "checked":
            result.checked[int(words[0])] += int(words[1])
        elif kind == "wrong":
            raise CountFailed(f"self test: {words[1]} reads of known pages came out wrong; on cpu {words[0]} one of "
                              f"NumaNode {words[2]} had the address {words[3]} (ram_map.h)")
        elif kind == "outside":
            raise CountFailed(f"self test: {words[1]} accesses of cpu {words[0]} went to no NumaNode's memory (ram_map.h)")
        elif kind == "sites_left_out":
            result.sites_left_out += int(words[1])
        else:
            raise CountFailed(f"the counter's result has a line '{line}'")
    return result


def build_plugin(build):
    """The plugin's file. Errors: CANNOT_COUNT, CountFailed."""
    machine.require_qemu()
    kernel.find()
    with open(pathlib.Path(build, "access_counter.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run at the same time
        fetch()
        done = subprocess.run(["cmake", "--build", build, "--target", TARGET], capture_output=True, text=True)
    if done.returncode != 0:
        raise CountFailed(f"{TARGET} does not build:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return pathlib.Path(build, "tests", "numa", "plugin", "access_counter.so").resolve()


def count(build, shape, program, *arguments, memory="512M", believed_memory=None, cpus=None, files=(), seconds=GUEST_SECONDS,
          **options):
    """Boots a guest of `shape` and runs the program with the counter. `options`: the plugin's own.
    `believed_memory`: what the counter is told instead of the truth (tests). `files`: guest.py's --file.
    Errors: as build_plugin, and CountFailed where the program fails."""
    plugin = build_plugin(build)
    told = machine.Machine.parse(shape, cpus, believed_memory or memory)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "counts")
        words = [str(plugin), f"out={out}", "cpus=" + ":".join(map(str, told.cpus)),
                 "memory=" + ":".join(map(str, told.memory_mib)),
                 *(f"{name}={value}" for name, value in options.items())]
        done = subprocess.run(
            [sys.executable, "-B", str(ROOT / "tests" / "numa" / "guest.py"), "--memory", memory,
             *(["--cpus", cpus] if cpus else []), "--timeout", str(seconds), *(f"--file={file}" for file in files),
             "--init", str(pathlib.Path(build, "tests", "numa", "numa_guest_init")),
             f"--qemu=-plugin {','.join(words)}", shape, str(program), *arguments],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise CountFailed(f"{program} ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
        result = parse(out.read_text() if out.exists() else "", done.stdout)
    real = machine.Machine.parse(shape, cpus, memory)
    unchecked = [node for node, mib in enumerate(real.memory_mib) if mib and not result.checked[node]]
    if unchecked:
        raise CountFailed(f"self test: no known page read on NumaNodes {unchecked}")
    return result
