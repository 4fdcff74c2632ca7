"""The placement axis: where the system puts the pages of a program that does not ask."""
import common
import counted
import study
from common import Row, median_of, point, points_of
from counted import NUMA_NODES, Run
from plot_panels import Panel, figure
from study import COUNTED, IMPOSSIBLE, MEASURED, NO_NUMBER, SIMULATED, Config, Way, cell, ratios, table

NAME = "placement"
TITLE = "Memory placement"
PROGRAMS = counted.PROGRAMS
PAPER = """First touch, which is the default, interleaved, localalloc, and preferred (all on one NumaNode while it has room) (III-C).
Interleaved memory without AutoNUMA is the fastest for W1; first touch with AutoNUMA, as systems come, takes 86 % longer, although more of
its accesses are local: the share of local accesses does not predict the time (IV-C1, Figures 5a and 5b). With interleaving, and neither
AutoNUMA nor huge pages, W1 takes up to 46 %, 7 % and 21 % less time than by default on machines A, B and C (IV-C3)."""

QUERIES = ("w1", "w2", "w3", "w4")
# Name -> the program's options. `main`: one thread has loaded the data, and so touched it first.
PLACEMENTS = {"first touch": ("first-touch", "threads"), "first touch, one loader": ("first-touch", "main"),
              "interleaved": ("interleave", "threads"), "local": ("local", "threads"), "preferred": ("preferred", "threads")}
# Joins have 2.7 records for one of W1: less of them, for the guest's sake.
JOIN_PART = 0.25


def options(lab, query):
    part = JOIN_PART if query in ("w3", "w4") else 1
    return ("--query", query, "--scale", lab.scale.guest_data * part, "--affinity", "sparse")


def runs_in_guest(lab):
    return [Run(f"{query}: {name}", (*options(lab, query), "--placement", placement, "--load", load))
            for query in QUERIES for name, (placement, load) in PLACEMENTS.items()]


def measure_times(lab):
    """Only where NumaNodes differ."""
    configs = [Config(name, affinity="sparse", placement=placement, more=("--load", load)) for name, (placement, load) in PLACEMENTS.items()]
    found = lab.interleaved(configs, QUERIES, lab.scale.rounds)
    return [one for (name, query), runs in found.items()
            for one in (point(f"{query} seconds", name, 0, "s", study.seconds_of(runs)),
                        point(f"{query} over first touch", name, 0, "", ratios(study.seconds_of(runs), study.seconds_of(found["first touch", query]))))]


def measure(lab):
    missing, points = [], []
    if common.numa_nodes() > 1:
        points += measure_times(lab)
    else:
        missing.append({"what": "run time", "why": "one NumaNode: every placement is the same memory"})
    for name, (lines,) in (common.attempt(missing, "whose memory is read, counted in the emulated machine", counted.lines, lab, runs_in_guest(lab))
                           or {}).items():
        query, placement = name.split(": ")
        points += [point(f"{query} own share", placement, NUMA_NODES, "part of the lines", [lines.own_share]),
                   point(f"{query} busiest over mean", placement, NUMA_NODES, "", [lines.busiest_over_mean]),
                   point(f"{query} lines", placement, NUMA_NODES, "lines", [lines.lines])]
    return {"protocol": {"data": lab.scale.data, "guest_data": lab.scale.guest_data, "rounds": lab.scale.rounds}, "points": points, "missing": missing}


def ways(report):
    if report["machine"]["numa_nodes"] > 1:
        out = [Way("run time", MEASURED)]
    else:
        out = [Way("run time", IMPOSSIBLE, "one NumaNode: every placement is the same memory")]
    if points_of(report, "w1 own share"):
        return [*out, Way("share of lines from the own NumaNode, the busiest NumaNode's load", COUNTED),
                Way("which lines miss a cache", SIMULATED, "a cache of 256 KiB for each cpu of the guest")]
    return [*out, Way("share of lines from the own NumaNode", IMPOSSIBLE, "the emulated machine was not to be had")]


def draw(report):
    panels = []
    for query in QUERIES:
        rows = [{"name": one["series"].replace("first touch", "first t."), "values": [one["median"]]} for one in points_of(report, f"{query} own share")]
        for row in rows:
            row["name"] = row["name"].replace(", one loader", ", one")
        if rows:
            panels.append(Panel(f"{query.upper()}: lines from the own NumaNode, share", rows, ".2f", f"{NUMA_NODES} emulated NumaNodes, counted",
                                height=60 + 24 * len(rows)))
    return figure(panels, "Whose memory the blind program reads", "counted in the emulated machine; no times")


def here(report):
    did = report["protocol"]
    return (f"In the emulated machine of {NUMA_NODES} NumaNodes of 2 cpus, a thread on each: W1 and W2 at {did['guest_data']:g} of the paper's sizes, "
            f"W3 and W4 at {did['guest_data'] * JOIN_PART:g}. For each line that misses a simulated cache of 256 KiB for each cpu, the NumaNode of the "
            "memory and that of the cpu. Threads load the data, each its own share; with one loader, main loads all of it. localalloc and first touch "
            "are the same policy unless another one was set before.")


def compare(report):
    rows = []
    for query in QUERIES:
        for name in PLACEMENTS:
            source = NO_NUMBER
            if name == "interleaved":
                source = f"1 / NumaNodes is {1 / NUMA_NODES:g}"
            rows.append(Row(f"counted: share from the own NumaNode, {query.upper()}, {name}", median_of(report, f"{query} own share", name), source=source))
    rows.append(Row("W1: time by default (first touch, with AutoNUMA) over interleaved without", None, 1.86, "IV-C1"))
    for machine, less in (("A", 0.46), ("B", 0.07), ("C", 0.21)):
        rows.append(Row("W1: time interleaved, AutoNUMA and huge pages off, over the default", None, 1 - less, f"IV-C3, machine {machine}"))
    return rows


def details(report):
    out = []
    if points_of(report, "w1 own share"):
        rows = [[name, *(f"{median_of(report, f'{query} busiest over mean', name):.2f}" for query in QUERIES)] for name in PLACEMENTS]
        out += ["Counted: lines from the busiest NumaNode's memory over the mean of all; 1 is even, " f"{NUMA_NODES} is all on one.", "",
                *table(("placement", *(query.upper() for query in QUERIES)), rows)]
    if points_of(report, "w1 seconds"):
        rows = [[name, *(cell(common.points_of(report, f"{query} over first touch", name)[0]) for query in QUERIES)] for name in PLACEMENTS]
        out += ["", "Time over first touch:", "", *table(("placement", *(query.upper() for query in QUERIES)), rows)]
    return out or ["Nothing was counted."]


def gap(report):
    if report["machine"]["numa_nodes"] == 1:
        return ("No time: NumaNodes of the guest differ in place, not in speed. The paper's point, that an even load can be worth more than near "
                "memory, is only half visible: how even the load is, not what that is worth.")
    return "The guest's NumaNodes differ in place, not in speed; its counts are no times."


def evener(report):
    """Whether interleaving loads the NumaNodes more evenly than first touch by one loader, for each query: the two figures."""
    return {query: (median_of(report, f"{query} busiest over mean", "interleaved"), median_of(report, f"{query} busiest over mean", "first touch, one loader"))
            for query in QUERIES}
