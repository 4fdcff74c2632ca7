#!/usr/bin/env python3
"""Figure 8: upserts and lookups by the size of the index.

    bench/paper/fig8_index_size.py <builddir> [--json FILE] [--quick]
"""
import sys

import common
import shared_index
from common import Row, median_of, over, points_of
from plot_panels import OURS, PEER, SECOND, LinePanel, figure
from shared_index import LOOK_UPS, UPSERTS

NAME = "fig8_index_size"
TITLE = "Figure 8: upserts and lookups by the size of the index"
PROGRAMS = (shared_index.PROGRAM,)
PAPER = """Indexes of 16 million to 2 billion keys on the Intel and AMD machines, to 32 billion on the SGI machine. On the smallest
machine the shared index is ahead while the index is small, as routing costs something; with more NumaNodes and larger indexes ERIS is:
1.6 times the lookups on AMD (1 billion keys), 3.5 times on SGI (16 billion keys); upserts behave alike (4.2.1, Figure 8)."""

COLOURS = {"ERIS": OURS, "shared": PEER, "shared, batched": SECOND}


def measure(lab):
    points, scale, sizes = [], lab.scale, []
    for keys in scale.index_sizes:
        points += shared_index.measured(lab, keys, keys, lab.cores, scale.index_rounds, scale.index_size_s)
        sizes.append(keys)
    return {"protocol": {**shared_index.protocol(lab, scale.index_size_s), "threads": lab.cores, "keys": sizes}, "points": points}


def draw(report):
    panels = []
    for panel, title in (UPSERTS, "Upserts, M keys/s"), (LOOK_UPS, "Lookups, M keys/s"):
        lines = [{"name": name, "colour": colour,
                  "points": [(one["x"], one["median"], one["min"], one["max"]) for one in points_of(report, panel, name)]}
                 for name, colour in COLOURS.items() if points_of(report, panel, name)]
        panels.append(LinePanel(title, lines, "by keys", name=lambda keys: f"{keys >> 20} M" if keys >= 1 << 20 else f"{keys >> 10}k"))
    return figure(panels, "Throughput by the size of the index",
                  f"{report['protocol']['threads']} AEUs or threads; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    return shared_index.described(did, f"{did['keys'][0] / 1e6:.3g} to {did['keys'][-1] / 1e6:.3g} M") + f" {did['threads']} threads."


def compare(report):
    smallest, largest = (end(report["protocol"]["keys"]) for end in (min, max))
    rows = []
    for panel in LOOK_UPS, UPSERTS:
        for peer in "shared", "shared, batched":
            for keys in smallest, largest:
                rows.append(Row(f"{panel}, {keys / 1e6:.3g} M keys: ERIS over {peer}", over(median_of(report, panel, "ERIS", keys),
                                                                                        median_of(report, panel, peer, keys))))
    at = over(median_of(report, LOOK_UPS, "ERIS", largest), median_of(report, LOOK_UPS, "shared", largest))
    for paper, where in (1.6, "4.2.1, AMD, 1 billion keys"), (3.5, "4.2.1, SGI, 16 billion keys"):
        rows.append(Row(f"the largest index, {LOOK_UPS}: ERIS over shared", at, paper, where))
    return rows


def gap(report):
    words = f"The largest index has {max(report['protocol']['keys']) / 1e6:.3g} M keys, the paper's have billions. "
    if report["machine"]["numa_nodes"] == 1:
        words += ("One NumaNode and one last-level cache for all cores: neither remote memory nor copies of lines in several caches, which "
                  "are what slows the paper's shared index down.")
    return words


if __name__ == "__main__":
    common.main(sys.modules[__name__])
