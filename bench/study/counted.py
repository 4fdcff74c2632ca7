"""Runs of the blind program in the emulated machine (tests/numa), all in one boot, each counted in phases of its own. Whose
memory is read is counted; what misses a cache is simulated. Nothing here is a time or a speed.
"""
import collections
import dataclasses
import json

import common
import guest
from common import ProgramFailed
from guest import counting
from study import BLIND

SHAPE, NUMA_NODES, CPUS = "4x2", 4, 8
CACHE = {"cache_kib": 256, "cache_ways": 8}
SETUP = "bench/study/autonuma_setup"
PROGRAMS = (guest.INIT, BLIND, SETUP)
PHASES_MAX = 31
SECONDS_MAX = 1200


@dataclasses.dataclass(frozen=True)
class Run:
    """One start of the program; `autonuma`: on, off, or empty, as the boot before has left it (off)."""
    name: str
    arguments: tuple
    repeats: int = 1
    autonuma: str = ""


@dataclasses.dataclass(frozen=True)
class Lines:
    """Cache lines that missed the simulated cache, in one repetition, by all cpus."""
    lines: int
    own: int  # from memory of the reader's own NumaNode
    by_memory: tuple  # by the NumaNode of the memory
    told: dict  # what the program says of it

    @property
    def own_share(self):
        return self.own / self.lines

    @property
    def remote(self):
        return self.lines - self.own

    @property
    def busiest_over_mean(self):
        return max(self.by_memory) * NUMA_NODES / self.lines


def lines_of(result, phase, told):
    of_phase = [one for one in result.counts if one.phase == phase]
    by_memory = collections.Counter()
    for one in of_phase:
        by_memory[one.memory_numa_node] += one.misses
    lines = sum(by_memory.values())
    if not lines:
        raise ProgramFailed(f"the counter has counted nothing in phase {phase}")
    return Lines(lines, sum(one.misses for one in of_phase if one.local), tuple(by_memory[node] for node in range(NUMA_NODES)), told)


def measure(build, runs):
    """Name -> [Lines] of its repetitions."""
    program, setup = (str(build / path) for path in (BLIND, SETUP))
    words, phase, phases = [], 1, {}
    for run in runs:
        if run.autonuma:
            words += [setup, run.autonuma, "++"]
        words += [program, *map(str, run.arguments), "--seed", str(common.SEED), "--repeat", str(run.repeats), "--phase", str(phase), "++"]
        phases[run.name] = phase
        phase += run.repeats
    if phase - 1 > PHASES_MAX:
        raise ValueError(f"{phase - 1} phases; the counter has {PHASES_MAX}")
    result = counting.count(str(build), SHAPE, words[0], *words[1:-1], seconds=SECONDS_MAX, **CACHE)
    told = [one for one in map(json.loads, result.output.splitlines()) if "runs" in one]
    if len(told) != len(runs):
        raise ProgramFailed(f"{len(told)} answers of {len(runs)} runs in the guest")
    return {run.name: [lines_of(result, phases[run.name] + i, one["runs"][i]) for i in range(run.repeats)] for run, one in zip(runs, told)}


def lines(lab, runs):
    """As measure. Errors: NotPossible, ProgramFailed."""
    return guest.counted(lab, PROGRAMS, measure, runs)
