#!/usr/bin/env python3
"""Figure 9: scan bandwidth of ERIS, and of one column that all threads share.

    bench/paper/fig9_scan_bandwidth.py <builddir> [--json FILE] [--quick]
"""
import sys

import common
import guest
from common import Row, median_of, over, points_of
from plot_panels import Panel, figure

NAME = "fig9_scan_bandwidth"
TITLE = "Figure 9: scan bandwidth by where the column lies"
ERIS, SHARED, NODES = "bench/scan/scan_placement", "bench/paper/shared_scan", "bench/paper/node_matrix"
PROGRAMS = (ERIS, SHARED, NODES, *guest.SCAN_PROGRAMS)
PAPER = """All threads scan a column of 8 billion entries on up to 61 NumaNodes (488 cores) of the SGI machine; its memory lies on one
NumaNode (single RAM), is interleaved, or local to the AEU that scans it (ERIS). ERIS has 6.6 times the bandwidth of interleaved
memory (4.2.2, Figure 9); on the AMD machine it reads at 93.6 % of the local bandwidth of all NumaNodes together (4.2.4)."""

BANDWIDTH, LINES = "bandwidth", "lines from the reader's own NumaNode"
RUNS = 3  # of each program, alternating; each has its own rounds
# Placement -> name: the engine's own placements, and those of the shared column.
OURS = {"local": "eris", "interleaved": "eris, interleaved", "one": "eris, on one"}
THEIRS = {"first_touch": "shared, first touch", "interleaved": "shared, interleaved", "single": "shared, on one"}
LIMIT = "plain read"
SHORT = {"eris, interleaved": "eris interl.", "shared, first touch": "shared", "shared, interleaved": "sh. interl.",
         "shared, on one": "sh. on one"}


def rounds_of(lab, missing):
    """Name -> GB/s of each run: (median, min, max)."""
    scale, rows, found = lab.scale, lab.scale.column_rows, {}

    def eris():
        for line in lab.lines(ERIS, "--queries", "sum_a", "--rows", rows, "--rounds", scale.rounds):
            found.setdefault(OURS[line["placement"]], []).append(line["gb_s"])

    def shared():
        for line in lab.lines(SHARED, "--rows", rows, "--rounds", scale.rounds, "--seed", common.SEED):
            found.setdefault(THEIRS[line["placement"]], []).append(line["gb_s"])

    def limit():
        nodes = lab.json(NODES, "--only", "bandwidth", "--mib", max(1, rows * 8 >> 20), "--rounds", scale.rounds)
        local = [pair["all_cores_gb_s"] for pair in nodes["pairs"] if pair["cpus_of"] == pair["memory_of"]]
        found.setdefault(LIMIT, []).append({key: sum(one[key] for one in local) for key in ("median", "min", "max")})

    parts = [("ERIS", eris), ("the shared column", shared), ("the machine's limit", limit)]
    for _ in range(RUNS):
        parts = [(name, part) for name, part in parts
                 if common.attempt(missing, name, lambda: (part(), True)) is not None]  # noqa: B023
    return found


def measure(lab):
    missing, points = [], []
    for name, runs in rounds_of(lab, missing).items():
        spread = common.lab_process.spread([one["median"] for one in runs])
        points.append(common.point(BANDWIDTH, name, lab.cores, "GB/s", {**spread, "min": min(one["min"] for one in runs),
                                                                     "max": max(one["max"] for one in runs)}))
    for scan in common.attempt(missing, "whose memory is read, counted in the emulated machine", guest.scans, lab) or ():
        points.append(common.point(LINES, OURS[scan.placement], scan.numa_nodes, "part of the lines", [scan.local_lines]))
    if common.numa_nodes() == 1:
        missing.append({"what": "interleaved memory and single RAM on the real machine", "why": "one NumaNode"})
    return {"protocol": {"rows": lab.scale.column_rows, "rounds": lab.scale.rounds, "runs": RUNS, "threads": lab.cores}, "points": points,
            "missing": missing}


def draw(report):
    panels = []
    for panel, title, note, form in ((BANDWIDTH, "Sum of a column, GB/s", f"{report['protocol']['threads']} AEUs or threads", ".1f"),
                                     (LINES, "Lines from the reader's own NumaNode", "4 emulated NumaNodes, counted", ".3f")):
        rows = [{"name": SHORT.get(one["series"], one["series"]), "values": [one["median"]], "low": one["min"], "high": one["max"]}
                for one in points_of(report, panel)]
        if rows:
            panels.append(Panel(title, rows, form, note, height=60 + 24 * len(rows)))
    return figure(panels, "Scan bandwidth by where the column lies", common.describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    text = (f"The sum of a column of {did['rows'] / 1e6:.0f} M random u64 (`sum_a`), {did['threads']} AEUs, one per core, through the "
            f"embedded engine, beside as many threads that take morsels of one plain column from a counter, with the same kernel, so that "
            f"only placement and sharing differ. {did['runs']} runs of each in turns, {did['rounds']} scans each. The plain read adds "
            "nothing up: all cores of each NumaNode read its own memory.")
    if points_of(report, LINES):
        text += (" In the emulated machine of 4 NumaNodes the counter says how many of the column's cache lines came from the reader's "
                 "own NumaNode, for the engine's placement, interleaved memory, and all on one.")
    return text


def compare(report):
    eris = median_of(report, BANDWIDTH, "eris")
    rows = [Row("ERIS over the shared column, interleaved", over(eris, median_of(report, BANDWIDTH, THEIRS["interleaved"])), 6.6, "Figure 9"),
            Row("ERIS over the shared column, on one NumaNode", over(eris, median_of(report, BANDWIDTH, THEIRS["single"]))),
            Row("ERIS over the shared column, first touch", over(eris, median_of(report, BANDWIDTH, THEIRS["first_touch"]))),
            Row("ERIS over the plain read of local memory", over(eris, median_of(report, BANDWIDTH, LIMIT)), 0.936, "4.2.4, AMD")]
    for name in "eris", "eris, interleaved", "eris, on one":
        source = common.even_part(points_of(report, LINES, name)) if name == "eris, interleaved" else ""
        rows.append(Row(f"counted: local part of the column's lines, {name.replace('eris', 'ERIS')}", median_of(report, LINES, name),
                        source=source))
    return rows


def gap(report):
    if report["machine"]["numa_nodes"] == 1:
        return ("One NumaNode: every placement is the same memory, so the bandwidths show what the engine costs beside a bare loop, and "
                "nothing of NUMA. Where lines come from is counted in an emulated machine, whose NumaNodes differ in place and not in "
                "speed.")
    return f"{report['machine']['numa_nodes']} NumaNodes; the paper's machine has 64, of which it used 61."


if __name__ == "__main__":
    common.main(sys.modules[__name__])
