#!/usr/bin/env python3
"""Figure 1: upserts, lookups and column scans by the number of AEUs.

    bench/paper/fig1_scaling.py <builddir> [--json FILE] [--quick]
"""
import sys

import common
import shared_index
from common import Row, median_of, over, points_of
from plot_panels import figure
from shared_index import ASK, LOOK_UPS, PROCESSES, UPSERTS

NAME = "fig1_scaling"
TITLE = "Figure 1: throughput by the number of AEUs"
SCAN, SHARED_SCAN = "bench/scan/scan_placement", "bench/paper/shared_scan"
PROGRAMS = (shared_index.PROGRAM, SCAN, SHARED_SCAN)
PAPER = """Lookups in an index of 1 billion keys and scans of a column on the SGI machine, up to 512 cores on 64 NumaNodes: the lookup
throughput grows more than linearly with the cores, the scans with the local bandwidth
(Figure 1, no numbers in the text). Against the shared structures the gain is up to 200 % for lookups and 660 % for scans (abstract)."""

SCANS = "scans"
UNITS = {UPSERTS: "Upserts, M keys/s", LOOK_UPS: "Lookups, M keys/s", SCANS: "Column scan, GB/s"}


def steps(cores):
    """1, 2, 4, ... and all."""
    return sorted({*(1 << i for i in range(cores.bit_length())), cores})


def scans(lab, aeus):
    scale = lab.scale
    ours = lab.lines(SCAN, "--queries", "sum_a", "--placements", "local", "--aeus", aeus, "--rows", scale.column_rows, "--rounds",
                     scale.rounds)
    return [common.point(SCANS, "ERIS", aeus, "GB/s", line["gb_s"]) for line in ours]


def shared_scans(lab, threads):
    placement = "interleaved" if common.numa_nodes() > 1 else "first_touch"
    theirs = lab.lines(SHARED_SCAN, "--threads", threads, "--placements", placement, "--rows", lab.scale.column_rows, "--rounds",
                       lab.scale.rounds, "--seed", common.SEED)
    return [common.point(SCANS, "shared", threads, "GB/s", line["gb_s"]) for line in theirs]


def index(lab, threads):
    scale = lab.scale
    return shared_index.measured(lab, threads, scale.index_keys, threads, scale.index_rounds, scale.index_s)


def measure(lab):
    missing, points = [], []
    parts = [("upserts and lookups", index), ("scans by ERIS", scans), ("scans of the shared column", shared_scans)]
    for aeus in steps(lab.cores):
        for name, part in list(parts):
            found = common.attempt(missing, name, part, lab, aeus)
            if found is None:
                parts.remove((name, part))
            points += found or []
    return {"protocol": {**shared_index.protocol(lab, lab.scale.index_s), "keys": lab.scale.index_keys, "rows": lab.scale.column_rows,
                         "scan_rounds": lab.scale.rounds, "aeus": steps(lab.cores)}, "points": points, "missing": missing}


def draw(report):
    panels = [shared_index.panel_of(report, panel, title, "by AEUs, or threads") for panel, title in UNITS.items()]
    return figure([panel for panel in panels if panel], "Throughput by the number of AEUs", common.describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    text = f"With {', '.join(map(str, did['aeus']))} AEUs or threads, one per core. "
    if points_of(report, LOOK_UPS):
        text += shared_index.described(did, f"{did['keys'] / 1e6:.3g} M") + f" {shared_index.asking_described()} "
        text += shared_index.processes_described("as many") + " "
    if points_of(report, SCANS):
        text += (f"Scans: the sum of {did['rows'] / 1e6:.0f} M random u64, {did['scan_rounds']} rounds; shared: one plain column, by morsels, "
                 "with the same kernel.")
    return text


def compare(report):
    most, rows = max(report["protocol"]["aeus"]), []
    for panel in UNITS:
        growth = over(median_of(report, panel, "ERIS", most), median_of(report, panel, "ERIS", 1))
        rows.append(Row(f"{panel}, ERIS: {most} AEUs over 1, divided by {most} (1: linear)", None if most == 1 else over(growth, most)))
    for panel, ours, peer in ((LOOK_UPS, ASK, "ERIS"), (LOOK_UPS, ASK, "shared"), (LOOK_UPS, ASK, "shared, batched"),
                              (UPSERTS, "ERIS", PROCESSES), (LOOK_UPS, "ERIS", PROCESSES), (LOOK_UPS, ASK, PROCESSES)):
        rows.append(Row(f"{panel}, {most} AEUs: {ours} over {peer}", over(median_of(report, panel, ours, most), median_of(report, panel, peer, most))))
    for panel, peer in (UPSERTS, "shared"), (UPSERTS, "shared, batched"), (LOOK_UPS, "shared"), (LOOK_UPS, "shared, batched"), (SCANS, "shared"):
        rows.append(Row(f"{panel}, {most} AEUs: ERIS over {peer}", over(median_of(report, panel, "ERIS", most),
                                                                       median_of(report, panel, peer, most))))
    return rows


def gap(report):
    words = (f"{report['machine']['cores']} cores for the paper's 512, {report['protocol']['keys'] / 1e6:.3g} M keys for 1 billion. "
             "In the paper the AEUs ask themselves; here client threads do, on the AEUs' cores, of which they take their part, but for the curve "
             f"{ASK}, whose keys are read from an index instead of made. ")
    if report["machine"]["numa_nodes"] == 1:
        words += "One NumaNode: no remote memory slows the shared structures down."
    return words


if __name__ == "__main__":
    common.main(sys.modules[__name__])
