#!/usr/bin/env python3
"""Draws run.py's JSON: lookups by batch size compared with the limit and the peers, other operations, memory.

    bench/index/plot.py index.json figure.svg [--cell 16-sparse]

The first panel shows the cell; the bars compare it with the peers, and below them, pale, the same number of dense keys.
A line spans from the slowest round to the fastest. Standard library only.
"""
import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
from index_figures import BATCHED, figure, huge_share, per_key  # noqa: E402
from plot_panels import LINE, LinePanel, Panel, figure as picture  # noqa: E402

BATCHES = (1, 16, 64, 256, 1024, 4096, 16384, 65536)
COLOURS = {"limits": "#555555", "eris": "#c0392b", "eris_tree": "#e67e22", "eris_hash": "#7d3c98", "btree": "#2471a3",
           "eris_shared": "#d68910", "radix": "#8e8e38",
           "std_map": "#145a32", "flat_hash": "#1e8449", "tbb_hash": "#5dade2", "unodb": "#b7950b"}


def line_of(report, cell, side, name_of, field="mkeys_s"):
    points = []
    for batch in BATCHES:
        found = figure(report, cell, side, name_of(batch), field)
        if found:
            points.append((batch, found["median"], found["min"], found["max"]))
    return points


def by_batch(report, cell):
    lines = []
    loads = figure(report, cell, "limits", "loads", "mloads_s")
    if loads:
        lines.append({"name": "random loads", "colour": COLOURS["limits"],
                      "points": [(1, loads["median"], loads["min"], loads["max"])]})
    for side in report["cells"][cell]["sides"]:
        points = line_of(report, cell, side, lambda batch: f"lookup {batch} uniform") if side != "limits" else []
        if points:
            lines.append({"name": side.replace("eris", "ERIS"), "colour": COLOURS[side], "points": points})
        zipf = line_of(report, cell, side, lambda batch: f"lookup {batch} zipf") if side == "eris" else []
        if zipf:
            lines.append({"name": "ERIS, Zipf", "colour": "#e6a097", "points": [zipf[0]]})
    return LinePanel(f"Lookups by batch size, M/s: {cell.replace('-', ' million, ')}", lines,
                     "keys in a batch; dashed: without batches, or one size only") if any(len(one["points"]) > 1 for one in lines) else None


def panel(title, rows, form, note):
    return Panel(title, rows, form, note, height=LINE * len(rows) + 60) if rows else None


def bars(report, cell, title, name, field, form, note=""):
    """A row for each measured side; the second value is for dense keys."""
    dense = cell.replace("sparse", "dense")
    rows = []
    for side in report["cells"][cell]["sides"]:
        found = figure(report, cell, side, name(side), field)
        second = figure(report, dense, side, name(side), field) if dense != cell else None
        if found and side not in ("limits", "eris_tree"):
            rows.append({"name": side, "values": [found["median"]] + ([second["median"]] if second else []),
                         "low": found["min"], "high": found["max"]})
    return panel(title, rows, form, note)


def sizes(report, keys):
    """Lookups by size: ours are batched."""
    lines = []
    cells = sorted((cell for cell in report["cells"] if cell.endswith(keys)), key=lambda cell: int(cell.split("-")[0]))
    sides = dict.fromkeys(side for cell in cells for side in report["cells"][cell]["sides"] if side != "eris_tree")
    for side in sides:
        name = {"limits": "loads"}.get(side, f"lookup {report['batch'] if side in BATCHED else 1} uniform")
        field = "mloads_s" if side == "limits" else "mkeys_s"
        points = []
        for cell in cells:
            found = figure(report, cell, side, name, field)
            if found:
                points.append((int(cell.split("-")[0]), found["median"], found["min"], found["max"]))
        if len(points) > 1:
            lines.append({"name": "random loads" if side == "limits" else side.replace("eris", "ERIS"),
                          "colour": COLOURS[side], "points": points})
    return LinePanel(f"Lookups by size, M/s: {keys} keys", lines,
                     f"million keys; ERIS and the radix tree in batches of {report['batch']}") if lines else None


def memory_bars(report, cell):
    rows = []
    for side in report["cells"][cell]["sides"]:
        found = per_key(report, cell, side, "committed") or per_key(report, cell, side, "anonymous")
        dense = per_key(report, cell.replace("sparse", "dense"), side, "committed") or \
            per_key(report, cell.replace("sparse", "dense"), side, "anonymous")
        if found and side not in ("limits", "eris_tree"):
            rows.append({"name": side, "values": [found] + ([dense] if dense else [])})
    return panel("Bytes a key after random inserts", rows, ".1f",
                 "ERIS: committed by its manager; peers: resident; below, pale: dense")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json")
    parser.add_argument("svg")
    parser.add_argument("--cell", default="16-sparse")
    arguments = parser.parse_args()
    with open(arguments.json, encoding="utf-8") as file:
        report = json.load(file)
    cell = arguments.cell
    if cell not in report["cells"]:
        sys.exit(f"plot.py: {arguments.json} has no cell {cell}")
    batch = lambda side: report["batch"] if side in BATCHED else 1
    both = "below, pale: dense keys"
    found = [
        by_batch(report, cell), sizes(report, cell.split("-")[1]),
        bars(report, cell, "Lookups, M/s", lambda side: f"lookup {batch(side)} uniform", "mkeys_s", ".1f",
             f"ERIS and the radix tree in batches of {report['batch']}; {both}"),
        bars(report, cell, "Single lookups, M/s", lambda side: "lookup 1 uniform", "mkeys_s", ".1f", both),
        bars(report, cell, "Inserts from empty, M/s", lambda side: "fill", "mkeys_s", ".1f", f"in random order; {both}"),
        bars(report, cell, "Upserts of existing keys, M/s", lambda side: "replace", "mkeys_s", ".1f", both),
        bars(report, cell, "Scans of 100 rows, 1000/s", lambda side: "scan", "kscans_s", ".0f", both),
        bars(report, cell, "Scan of everything, GB/s", lambda side: "scan_all", "gb_s", ".1f", both),
        bars(report, cell, "Mixed, M operations/s", lambda side: "mixed", "mops_s", ".1f",
             f"half lookups, a quarter erases, a quarter inserts; {both}"),
        memory_bars(report, cell)]
    found = [panel for panel in found if panel]
    if not found:
        sys.exit("plot.py: nothing to draw")
    shares = [share for side in report["cells"][cell]["sides"] if (share := huge_share(report, cell, side)) is not None]
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(picture(found, f"Indexes on one core: {cell.replace('-', ' million, ')} keys",
                           f"{report['cpu']}, {report['cpus']} cpus, {report['date']}, {report['build_type']}, median of "
                           f"{report['rounds']} rounds; {min(shares):.0%} or more on huge pages"))


if __name__ == "__main__":
    main()
