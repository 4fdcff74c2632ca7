#!/usr/bin/env python3
"""Table 2: bandwidth and latency between NumaNodes.

    bench/paper/table2_nodes.py <builddir> [--json FILE] [--quick]
"""
import sys

import common
from common import Row, points_of
from plot_panels import Panel, figure

NAME = "table2_nodes"
TITLE = "Table 2: bandwidth and latency between NumaNodes"
PROGRAMS = ("bench/paper/node_matrix",)
PAPER = """Reads of each NumaNode's memory by each NumaNode's cores, sequential with all cores for the bandwidth, dependent
ones of one thread for the latency, on machines of 4, 8 and 64 NumaNodes (Table 2). Local memory: 26.7, 16.4 and 36.2 GB/s, 129, 85
and 81 ns. The farthest: 10.7, 1.8 and 6.5 GB/s, 193, 196 and 870 ns. So remote memory has down to 11 % of the local bandwidth,
and up to 10.7 times the latency (2.2)."""

ALL, ONE, LATENCY = "all cores", "one core", "latency"
PASSES_MAX = 600  # pairs times rounds: a machine with many NumaNodes gets fewer rounds


def kind(pair):
    """Pairs with equal distance are one line, as in the paper's table."""
    return "local" if pair["cpus_of"] == pair["memory_of"] else f"distance {pair['distance']}"


def measure(lab):
    rounds = max(1, min(lab.scale.rounds, PASSES_MAX // common.numa_nodes() ** 2))
    found = lab.json(PROGRAMS[0], "--mib", lab.scale.node_mib, "--rounds", rounds, "--seed", common.SEED)
    points, missing = [], []
    for pair in found["pairs"]:
        if pair["pages_there"] not in (None, 1):
            raise common.ProgramFailed(f"of the memory of NumaNode {pair['memory_of']} only {pair['pages_there']:.3f} lies there")
        more = {"cpus_of": pair["cpus_of"], "memory_of": pair["memory_of"], "cores": pair["cores"]}
        for panel, unit, key in (ALL, "GB/s", "all_cores_gb_s"), (ONE, "GB/s", "one_core_gb_s"), (LATENCY, "ns", "latency_ns"):
            points.append(common.point(panel, kind(pair), pair["distance"], unit, pair[key], **more))
    if found["numa_nodes"] == 1:
        missing.append({"what": "remote memory", "why": "one NumaNode"})
    return {"protocol": {"buffer_mib": found["buffer_mib"], "rounds": found["rounds"], "numa_nodes": found["numa_nodes"]},
            "points": points, "missing": missing}


def by_kind(report, panel):
    """kind -> its points, nearest first."""
    kinds = {}
    for one in sorted(points_of(report, panel), key=lambda one: (one["series"] != "local", one["x"])):
        kinds.setdefault(one["series"], []).append(one)
    return kinds


def middle(points):
    """For the pairs at one distance: the mean of their medians, and the spread of all."""
    return {"median": sum(one["median"] for one in points) / len(points), "min": min(one["min"] for one in points),
            "max": max(one["max"] for one in points)}


def draw(report):
    panels = []
    for panel, title, form in ((ALL, "Read bandwidth, all cores of a NumaNode, GB/s", ".1f"),
                               (ONE, "Read bandwidth, one core, GB/s", ".1f"), (LATENCY, "Read latency, ns", ".0f")):
        rows = [{"name": name, "values": [middle(points)["median"]], "low": middle(points)["min"], "high": middle(points)["max"]}
                for name, points in by_kind(report, panel).items()]
        panels.append(Panel(title, rows, form, height=60 + 24 * len(rows)))
    return figure(panels, "Bandwidth and latency between NumaNodes", common.describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"One buffer of {did['buffer_mib']} MiB bound to each NumaNode; the kernel is asked where its pages lie. {did['rounds']} "
            "rounds: one sequential pass by one thread on each core, one by one thread, and a chain through random lines, on "
            "huge pages where the system gives them. Medians of the rounds.")


def compare(report):
    rows = []
    for panel, unit, paper in (ALL, "GB/s", (26.7, 16.4, 36.2)), (LATENCY, "ns", (129, 85, 81)):
        kinds = by_kind(report, panel)
        local = middle(kinds["local"])["median"]
        for value, where in zip(paper, ("Intel", "AMD", "SGI")):
            rows.append(Row(f"local memory, {panel}, {unit}", local, value, f"Table 2, {where}"))
        remote = [middle(points)["median"] / local for name, points in kinds.items() if name != "local"]
        worst = (max if panel == LATENCY else min)(remote, default=None)
        for value, where in zip((193 / 129, 196 / 85, 870 / 81) if panel == LATENCY else (10.7 / 26.7, 1.8 / 16.4, 6.5 / 36.2),
                                ("Intel", "AMD", "SGI")):
            rows.append(Row(f"farthest over local memory, {panel}", worst, value, f"Table 2, {where}"))
    return rows


def gap(report):
    if report["machine"]["numa_nodes"] == 1:
        return "One NumaNode: there is no remote memory, so what matters most in the paper's table has no counterpart here."
    return (f"{report['machine']['numa_nodes']} NumaNodes; the paper's machines have 4, 8 and 64. Pairs are told apart by the distance "
            "that the firmware states, which says nothing of links that are split.")


if __name__ == "__main__":
    common.main(sys.modules[__name__])
