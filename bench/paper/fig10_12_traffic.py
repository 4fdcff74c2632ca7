#!/usr/bin/env python3
"""Figures 10 to 12: cache misses, and traffic to local and remote memory.

    bench/paper/fig10_12_traffic.py <builddir> [--json FILE] [--quick]

Uses hardware events if the machine has them (perf stat), and counts of the emulated machine if it can run.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common
import guest
import shared_index
from common import NotPossible, ProgramFailed, Row, median_of, over, points_of
from plot_panels import Panel, figure

NAME = "fig10_12_traffic"
TITLE = "Figures 10 to 12: cache misses and memory traffic"
PROGRAMS = (shared_index.PROGRAM, *guest.POINT_PROGRAMS, *guest.SHARED_PROGRAMS[1:])
PAPER = """Hardware counters: the shared index has the higher L3 miss ratio for smaller indexes (Figure 10, AMD, no numbers in the text);
79.3 % of its L3 hits are on lines that other caches hold too, 97 % of ERIS' on lines of its own (Figure 11, Intel). Over all links the
shared index moves 83.8 GB/s and ERIS 17.8, with more lookups; the shared scan 75.6 and ERIS 1.2. The memory controllers give the
shared index 41.6 GB/s and ERIS 73.0, the shared scan 33.8 and ERIS 122.9; of the shared setup's requests 1 in 8 is local (Figure 12, AMD)."""

MISS_RATIO, REMOTE_LOADS = "L3 miss ratio", "remote part of memory loads"
LOCAL_MISSES, REMOTE_MISSES = "local part of the misses", "remote misses"
LINKS = "lines over links per key"  # invalidations of copies on other NumaNodes included
LINKS_BATCH = 1024
# 17.8 of 83.8 GB/s, at 1.6 times the lookups.
PAPER_LINKS = 17.8 / 83.8 / 1.6
EVENTS = ("LLC-loads", "LLC-load-misses", "node-loads", "node-load-misses")
PLACEMENTS = {"local": guest.local_access.LOCAL, "interleaved": guest.local_access.INTERLEAVED, "blind": guest.local_access.BLIND}
SHOWN = {"local": "eris", "interleaved": "interleaved", "blind": "blind"}


def read_events(text):
    """Event -> count, of perf stat's lines. Errors: NotPossible (one is not counted here)."""
    found = {}
    for line in text.splitlines():
        words = line.split(",")
        if len(words) > 2 and words[2].split(":")[0] in EVENTS:
            if not words[0].isdigit():
                raise NotPossible(f"hardware event {words[2]}: {words[0].strip('<>')}")
            found[words[2].split(":")[0]] = int(words[0])
    if missing := [event for event in EVENTS if event not in found]:
        raise NotPossible(f"hardware events {', '.join(missing)}: perf tells nothing")
    return found


def perf(lab, *command):
    """Counts of all events while a program runs, or without one while idle. Errors: NotPossible, ProgramFailed."""
    if not shutil.which("perf"):
        raise NotPossible("hardware events: perf is not installed")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "events")
        prefix = ("perf", "stat", "-x", ",", "-o", str(out), "-e", ",".join(EVENTS), "--")
        if command:
            lab.run(*command, prefix=prefix)
        elif subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
            raise NotPossible("hardware events: perf may not open them")
        return read_events(out.read_text())


def hardware(lab):
    """For ERIS and the shared index, by its size: the whole run, upserts and lookups."""
    perf(lab)  # before minutes are spent
    points = []
    for keys in lab.scale.index_sizes:
        for structure in "eris", "shared":
            found = perf(lab, shared_index.PROGRAM, *shared_index.arguments(keys, lab.cores, 1, lab.scale.index_size_s, [structure]))
            for panel, part, whole in (MISS_RATIO, "LLC-load-misses", "LLC-loads"), (REMOTE_LOADS, "node-load-misses", "node-loads"):
                if found[whole]:
                    points.append(common.point(panel, structure, keys, "part", [found[part] / found[whole]]))
    return points


def emulated(lab):
    result, points = guest.point_accesses(lab), []
    for placement, phases in PLACEMENTS.items():
        for operation, phase in phases.items():
            misses = result.total([phase], "misses")
            local = result.local_ratio([phase], "misses")
            points.append(common.point(LOCAL_MISSES, f"{placement} {operation}", 4, "part of the misses", [local]))
            points.append(common.point(REMOTE_MISSES, f"{placement} {operation}", 4, "misses", [round((1 - local) * misses)]))
    return points


def links(lab):
    found = guest.shared_transfers(lab)
    return [common.point(LINKS, f"{name} {operation}", 4, "lines", [one.far])
            for (operation, batch), job in found.jobs.items() if batch == LINKS_BATCH for name, one in job.items()]


def measure(lab):
    missing = []
    points = common.attempt(missing, "miss ratios and traffic by hardware events", hardware, lab) or []
    points += common.attempt(missing, "whose memory is missed in, counted in the emulated machine", emulated, lab) or []
    points += common.attempt(missing, "lines over links, counted in the emulated machine", links, lab) or []
    missing.append({"what": "states of cache lines, bytes over links", "why": "no events of processors that go by one name everywhere"})
    if not points:
        raise NotPossible("; ".join(one["why"] for one in missing))
    return {"protocol": {"events": list(EVENTS), "guest": guest.local_access.SHAPE, **guest.local_access.CACHE}, "points": points,
            "missing": missing}


def draw(report):
    panels = []
    for operation in guest.local_access.LOCAL:
        rows = [{"name": SHOWN[placement], "values": [median_of(report, LOCAL_MISSES, f"{placement} {operation}")]}
                for placement in PLACEMENTS if points_of(report, LOCAL_MISSES, f"{placement} {operation}")]
        if rows:
            panels.append(Panel(f"Emulated, {operation}: local part of the misses", rows, ".4f", "4 NumaNodes, counted",
                                height=60 + 24 * len(rows)))
    rows = [{"name": one["series"].replace("_", ", "), "values": [one["median"]]} for one in points_of(report, LINKS)]
    if rows:
        panels.append(Panel("Emulated: lines over links per key", rows, ".3f", f"4 NumaNodes, counted, batches of {LINKS_BATCH}",
                            height=60 + 24 * len(rows)))
    for panel, title in (MISS_RATIO, "L3 load misses over loads"), (REMOTE_LOADS, "Remote part of the loads from memory"):
        rows = [{"name": f"{one['series']} {one['x'] / 1e6:.3g}M", "values": [one["median"]]} for one in points_of(report, panel)]
        if rows:
            panels.append(Panel(title, rows, ".4f", "hardware events", height=60 + 24 * len(rows)))
    return figure(panels, "Cache misses and whose memory they reach", common.describe_machine(report["machine"]))


def here(report):
    did, text = report["protocol"], []
    if points_of(report, MISS_RATIO):
        text.append(f"`perf stat` of whole runs, upserts and lookups together: {', '.join(did['events'])}, as the kernel defines them for "
                    "this processor.")
    if points_of(report, LOCAL_MISSES):
        text.append(f"In the emulated machine ({did['guest']}: NumaNodes x cpus) a counter sees every load and store and simulates a cache of "
                    f"{did['cache_kib']} KiB for each cpu. AEUs run the same batches of upserts and lookups on memory as the engine places "
                    "it (local), with the engine's memory interleaved, and in a process that knows of no NumaNodes (blind).")
    if points_of(report, LINKS):
        text.append("There the counter also knows which caches have copies of a line. Lines over links are those that come from another "
                    "NumaNode's caches or memory, and invalidations of copies there. For these, sessions on all cpus send batches of "
                    f"{LINKS_BATCH} random keys to all AEUs, and the whole way counts; the shared index is asked in batches of that size "
                    "(batched), and one key at a time.")
    return " ".join(text)


def compare(report):
    rows = []
    for operation in guest.local_access.LOCAL:
        rows.append(Row(f"emulated, {operation}: local part of the misses, ERIS", median_of(report, LOCAL_MISSES, f"local {operation}")))
        rows.append(Row(f"emulated, {operation}: local part of the misses, interleaved",
                        median_of(report, LOCAL_MISSES, f"interleaved {operation}"),
                        source=common.even_part(points_of(report, LOCAL_MISSES, f"interleaved {operation}"))))
        rows.append(Row(f"emulated, {operation}: remote misses, ERIS over interleaved",
                        over(median_of(report, REMOTE_MISSES, f"local {operation}"),
                             median_of(report, REMOTE_MISSES, f"interleaved {operation}"))))
    for operation in shared_index.LOOK_UPS, shared_index.UPSERTS:
        ours, shared = (median_of(report, LINKS, f"{name} {operation}") for name in ("eris", "shared_batched"))
        rows.append(Row(f"emulated, {operation}: lines over links per key, ERIS", ours))
        rows.append(Row(f"emulated, {operation}: lines over links per key, shared", shared))
        rows.append(Row(f"emulated, {operation}: lines over links per key, ERIS over shared", over(ours, shared),
                        *((PAPER_LINKS, "4.2.1 and 4.2.4, AMD: 17.8 of 83.8 GB/s at 1.6 times the lookups")
                          if operation == shared_index.LOOK_UPS else ())))
    for panel in MISS_RATIO, REMOTE_LOADS:
        rows.append(Row(f"{panel}, the largest index: ERIS over shared", over(median_of(report, panel, "eris"),
                                                                            median_of(report, panel, "shared"))))
    return rows


def gap(report):
    words = ""
    if not points_of(report, MISS_RATIO):
        words += "No hardware counter was read, so nothing is said of real caches and links. "
    if points_of(report, LOCAL_MISSES):
        words += ("The emulated counts are misses of a simulated cache, not GB/s; in those of local and remote misses an AEU's turn is "
                  "counted on batches that it has sent to itself, without routing. ")
    if points_of(report, LINKS):
        words += ("Lines over links have the routing in them, of 4 NumaNodes and an index of 5 MB; the paper's machine has 8, and its "
                  "figure is of bytes, whatever moved them. ")
    return words


if __name__ == "__main__":
    common.main(sys.modules[__name__])
