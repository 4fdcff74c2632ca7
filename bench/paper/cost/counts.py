"""The lines that one lookup, one upsert and one line of a column take, counted in the emulated machine (tests/numa)."""
import collections

import common
import guest
from cost.model import Curve, Work

POINT_PROGRAMS, SCAN_PROGRAMS = guest.SHARED_PROGRAMS, guest.SCAN_PROGRAMS
PROGRAMS = (*POINT_PROGRAMS, *SCAN_PROGRAMS[1:])

OPERATIONS = ("lookups", "upserts")
# One cpu, with an AEU, on each NumaNode: its private cache stands for the NumaNode's last-level cache.
CACHE_KIB = 512
BYTES_PER_KEY = 20  # of the index in the guest, some
BATCH = 1024  # keys, so 128 for each of 8 AEUs: the paper's buffer between two AEUs (Figure 5)
MODEL_NODES = 8  # counts with as many NumaNodes go into the model; those with fewer show how lines grow with NumaNodes
POINT_RUNS = ((8, 1 << 15), (8, 1 << 18), (8, 1 << 21), (4, 1 << 18), (2, 1 << 18), (1, 1 << 18))  # NumaNodes, keys
SCAN_RUNS = (8, 4, 2)  # NumaNodes
SCAN_ROWS = 1 << 22
GUEST_MIB = 3072  # of all its NumaNodes
SCAN = "scan"
FIELDS = ("own", "other", "calls", "busiest")


def work_of(result, phases, count, numa_nodes):
    """A key's. `count`: of keys."""
    by_memory = collections.Counter()
    for one in result.counts:
        if one.phase in phases:
            by_memory[one.memory_numa_node] += one.misses
    own = sum(one.misses for one in result.counts if one.phase in phases and one.local)
    return Work(own / count, result.transferred(phases, "far_lines") / count, result.transferred(phases, "far_invalidations") / count,
                max(by_memory.values()) / by_memory.total(), numa_nodes)


def point_works(build, numa_nodes, keys):
    """(operation, structure) -> Work. Errors: as guest.shared_access.run."""
    result = guest.shared_access.run(build, "--brief", "--keys", str(keys), shape=f"{numa_nodes}x1", cache_kib=CACHE_KIB,
                                     memory=f"{GUEST_MIB // numa_nodes}M")
    did = guest.shared_access.keys_of(result)
    return {(operation, structure): work_of(result, phases, did[phases[0]], numa_nodes)
            for operation in OPERATIONS
            for structure, phases in guest.shared_access.JOBS[operation, BATCH].items() if phases[0] in did}


def scan_works(build, numa_nodes):
    """Placement -> Work of a line of the column. Errors: as guest.scan_placement.measure."""
    scans, _ = guest.scan_placement.measure(build, "--queries", "sum_a", "--rows", str(SCAN_ROWS), shape=f"{numa_nodes}x2")
    works = {}
    for scan in scans:
        lines = scan.lines / scan.column_lines
        works[scan.placement] = Work(lines * scan.local_lines, lines * (1 - scan.local_lines), 0, max(scan.lines_of) / scan.lines, numa_nodes)
    return works


def point(panel, series, x, work):
    return common.point(panel, series, x, "lines", [work.lines], numa_nodes=work.numa_nodes, **{name: getattr(work, name) for name in FIELDS})


def counted(lab):
    """Points of a report: for operations x is the number of keys, for scans the number of NumaNodes. Errors: NotPossible, ProgramFailed."""
    points = []
    for numa_nodes, keys in POINT_RUNS:
        found = guest.counted(lab, POINT_PROGRAMS, point_works, numa_nodes, keys)
        points += [point(operation, structure, keys, work) for (operation, structure), work in found.items()]
    for numa_nodes in SCAN_RUNS:
        found = guest.counted(lab, SCAN_PROGRAMS, scan_works, numa_nodes)
        points += [point(SCAN, placement, numa_nodes, work) for placement, work in found.items()]
    return points


def work(one):
    """Of a point."""
    return Work(*(one[name] for name in FIELDS), one["numa_nodes"])


def curve(points, operation, structure):
    """By pressure. Each NumaNode's cache sees all of the shared index, but only its own AEUs' part of the engine's."""
    parts = MODEL_NODES if structure == "eris" else 1
    return Curve([(pressure_of(one["x"] * BYTES_PER_KEY, CACHE_KIB << 10, parts), work(one)) for one in points
                  if one["panel"] == operation and one["series"] == structure and one["numa_nodes"] == MODEL_NODES])


def pressure_of(index_bytes, cache_bytes, parts):
    """Bytes of the index over bytes of a NumaNode's cache that sees one of `parts` of it."""
    return index_bytes / parts / cache_bytes


def scan(points, placement):
    return next(work(one) for one in points if one["panel"] == SCAN and one["series"] == placement and one["numa_nodes"] == MODEL_NODES)
