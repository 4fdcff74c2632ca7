#!/usr/bin/env python3
"""Figure 8: upserts and lookups by the size of the index.

    bench/paper/fig8_index_size.py <builddir> [--json FILE] [--quick]
"""
import sys

import common
import shared_index
from common import Row, median_of, over
from plot_panels import figure
from shared_index import ASK, LOOK_UPS, PROCESSES, UPSERTS, ZIPF

NAME = "fig8_index_size"
TITLE = "Figure 8: upserts and lookups by the size of the index"
PROGRAMS = (shared_index.PROGRAM,)
PAPER = """Indexes of 16 million to 2 billion keys on the Intel and AMD machines, to 32 billion on the SGI machine. On the smallest
machine the shared index is ahead while the index is small, as routing costs something; with more NumaNodes and larger indexes ERIS is:
1.6 times the lookups on AMD (1 billion keys), 3.5 times on SGI (16 billion keys); upserts behave alike (4.2.1, Figure 8)."""

UNITS = {UPSERTS: "Upserts, M keys/s", LOOK_UPS: "Lookups, M keys/s", ZIPF: "Lookups by Zipf's law, M keys/s"}


def measure(lab):
    points, scale, sizes = [], lab.scale, []
    for keys in scale.index_sizes:
        points += shared_index.measured(lab, keys, keys, lab.cores, scale.index_rounds, scale.index_size_s, scale.index_size_s)
        sizes.append(keys)
    return {"protocol": {**shared_index.protocol(lab, scale.index_size_s), "threads": lab.cores, "keys": sizes}, "points": points}


def draw(report):
    panels = [shared_index.panel_of(report, panel, title, "by keys", name=lambda keys: f"{keys >> 20} M" if keys >= 1 << 20 else f"{keys >> 10}k")
              for panel, title in UNITS.items()]
    return figure(panels, "Throughput by the size of the index",
                  f"{report['protocol']['threads']} AEUs or threads; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    sizes = " to ".join(f"{keys / 1e6:.3g}" for keys in sorted({min(did["keys"]), max(did["keys"])}))
    return (shared_index.described(did, f"{sizes} M")
            + f" {did['threads']} threads. Then, for as long, lookups by Zipf's law with parameter 0.99, the lowest key most often, so that the hot keys "
            f"are neighbours and one AEU's: the load that equal ranges fit worst. The balancer has {did['settle_s']:g} s of it before; the paper has uniform "
            "keys alone there (4.1). " + shared_index.asking_described() + " " + shared_index.processes_described(did["threads"]))


def compare(report):
    smallest, largest = (end(report["protocol"]["keys"]) for end in (min, max))
    rows = []
    for panel in LOOK_UPS, UPSERTS, ZIPF:
        for peer in "shared", "shared, batched", PROCESSES:
            for keys in sorted({smallest, largest}):
                rows.append(Row(f"{panel}, {keys / 1e6:.3g} M keys: ERIS over {peer}", over(median_of(report, panel, "ERIS", keys),
                                                                                        median_of(report, panel, peer, keys))))
    for keys in sorted({smallest, largest}):
        rows.append(Row(f"ERIS, {keys / 1e6:.3g} M keys: lookups by Zipf's law over uniform ones", over(median_of(report, ZIPF, "ERIS", keys),
                                                                                                    median_of(report, LOOK_UPS, "ERIS", keys))))
        for ours, peer in (ASK, "ERIS"), (ASK, "shared"), (ASK, "shared, batched"):
            rows.append(Row(f"{LOOK_UPS}, {keys / 1e6:.3g} M keys: {ours} over {peer}", over(median_of(report, LOOK_UPS, ours, keys),
                                                                                            median_of(report, LOOK_UPS, peer, keys))))
    for ours in "ERIS", ASK:
        at = over(median_of(report, LOOK_UPS, ours, largest), median_of(report, LOOK_UPS, "shared", largest))
        for paper, where in (1.6, "4.2.1, AMD, 1 billion keys"), (3.5, "4.2.1, SGI, 16 billion keys"):
            rows.append(Row(f"the largest index, {LOOK_UPS}: {ours} over shared", at, paper, where))
    return rows


def gap(report):
    words = f"The largest index has {max(report['protocol']['keys']) / 1e6:.3g} M keys, the paper's have billions. "
    if report["machine"]["numa_nodes"] == 1:
        words += ("One NumaNode and one last-level cache for all cores: neither remote memory nor copies of lines in several caches, which "
                  "are what slows the paper's shared index down.")
    return words


if __name__ == "__main__":
    common.main(sys.modules[__name__])
