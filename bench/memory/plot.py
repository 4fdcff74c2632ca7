#!/usr/bin/env python3
"""Draws run.py's JSON: the allocators on the tree's trace, in the paper's micro-benchmark, and their memory.

    bench/memory/plot.py memory.json figure.svg

Four panels of bars, ours first and red; a line spans from the fastest round to the slowest. Standard library only.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from plot_panels import Panel, draw_file  # noqa: E402


def panels(report):
    found = []
    if "trace" in report:
        trace = report["trace"]
        floor = trace["floor"]["gross_ns"]["median"]
        found.append(Panel("The tree's own trace, ns a call",
                           [{"name": name, "values": [row["net_ns"]["median"]], "low": max(0, row["net_ns"]["min"]),
                             "high": row["net_ns"]["max"]} for name, row in trace.items() if name != "floor"], ".2f",
                           f"allocate or free; the replay's own {floor:.1f} ns taken off"))
    if "foreign" in report:
        found.append(Panel("A block freed by another thread, ns",
                           [{"name": name, "values": [row["foreign_free"] + row["foreign_collect"],
                                                      row["local_free"] + row["local_collect"]]}
                            for name, row in report["foreign"].items()], ".1f",
                           "with the owner's collecting; below, pale: freed by its own thread"))
    if "paper" in report:
        rows = {}
        for row in report["paper"]:
            rows.setdefault(row["allocator"], []).append(row)
        counts = sorted({row["threads"] for row in report["paper"]})
        ends = sorted({counts[0], counts[-1]})
        found.append(Panel("The paper's micro-benchmark, s",
                           [{"name": name, "values": [row["seconds"]["median"] for row in some if row["threads"] in ends]}
                            for name, some in rows.items()], ".2f",
                           f"{report['paper'][0]['operations_per_thread'] / 1e6:g} M operations a thread; "
                           f"{ends[0]} thread, below {ends[-1]}"))
    if "memory" in report:
        found.append(Panel("Resident over live bytes",
                           [{"name": name, "values": [row["resident_over_live"]]}
                            for name, row in report["memory"].items()], ".2f", "after the trace"))
    if "memory" in report:
        found.append(Panel("MB resident after freeing",
                           [{"name": name, "values": [row["resident_after_drop_5s"] / 1e6,
                                                      row["resident_after_erase_5s"] / 1e6]}
                            for name, row in report["memory"].items()], ".0f",
                           "5 s after all was freed; below, pale: a tenth is left"))
    if "small" in report:
        found.append(Panel("Allocate and free at once, ns",
                           [{"name": name, "values": [sum(row["pair_ns_by_class"]) / len(row["pair_ns_by_class"])]}
                            for name, row in report["small"].items() if name != "floor"], ".1f",
                           "mean over the sizes of TreeNodes"))
    return found


def subtitle(report):
    return (f"{report['cpu']}, {report['cpus']} cpus, {report['date']}, median of {report['rounds']} "
            "rounds; each with its huge-page settings on")


if __name__ == "__main__":
    draw_file(__doc__, panels, "Memory of TreeNodes: the engine's own and five allocators", subtitle)
