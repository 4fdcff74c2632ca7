"""The arrival axis: queries that arrive at random at one process, with each allocator."""
import statistics

import common
import study
from common import Row, describe_machine, median_of, point, points_of
from linear_panel import LinearPanel
from plot_panels import Panel, figure
from study import BLIND, MEASURED, Way, cell, one_point, table

NAME = "arrival"
TITLE = "Queries that arrive at random"
PROGRAMS = (BLIND,)
PAPER = """Another paper (*On the impact of memory allocation on high-performance query processing*, DaMoN 2019, 5): TPC-DS queries arrive
with exponential gaps, at most ten are under way at once. jemalloc has the shortest latencies, then TBBmalloc; both hardly let a query
wait, while glibc and TCMalloc are dominated by waiting (5.1, Figure 4, no number in the text). jemalloc has 4.0, TBBmalloc 5.2 and
TCMalloc 1.5 times the page faults of glibc 2.28 (Table 1). On average TCMalloc has 53.7 GB resident, glibc 42.5, TBBmalloc 27.9, jemalloc
24.7 (Table 2)."""

BASE = "glibc"
LOAD = 0.7  # of the rate at which glibc answers when all queries are there at once
CALIBRATION_QUERIES = 40
PAPER_FAULTS = {"jemalloc": 4.00, "tbbmalloc": 5.16, "tcmalloc": 1.53}
PAPER_MEAN_GB = {"glibc": 42.5, "jemalloc": 24.7, "tbbmalloc": 27.9, "tcmalloc": 53.7}
COLOURS = {"glibc": "#222222", "jemalloc": "#c0392b", "mimalloc": "#1e8449", "tbbmalloc": "#2471a3", "tcmalloc": "#b7950b"}
MB = 1e-6


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def figures_of(found):
    """Of one run: what is told of it, by name."""
    before = found["resident_before"]
    return {"latency ms, median": percentile(found["latency_s"], 0.5) * 1e3, "latency ms, 95 %": percentile(found["latency_s"], 0.95) * 1e3,
            "wait ms, mean": statistics.mean(found["wait_s"]) * 1e3, "wait ms, 95 %": percentile(found["wait_s"], 0.95) * 1e3,
            "faults": found["minor_faults"],
            "peak MB": (found["resident_peak"] - before) * MB, "mean MB": (found["resident_mean"] - before) * MB,
            "after MB": (found["resident_after"] - before) * MB, "later MB": (found["resident_later"] - before) * MB,
            "later, without lazily freed MB": (found["resident_later"] - found["lazily_freed"] - before) * MB}


def measure(lab):
    scale = lab.scale

    def arrive(allocator, queries, rate, idle_s):
        return lab.blind(allocator, "--arrivals", queries, "--rate", rate, "--idle-s", idle_s, "--scale", scale.arrival_data, "--seed", common.SEED)

    at_once = CALIBRATION_QUERIES / arrive(BASE, CALIBRATION_QUERIES, 0, 0)["seconds"]
    rate = LOAD * at_once
    queries = max(3, round(rate * scale.arrival_s))
    found = {name: [] for name in lab.allocators}
    for turn in range(scale.arrival_rounds):
        for name in study.rotated(lab.allocators, turn):
            found[name].append(arrive(name, queries, rate, scale.idle_s))
    if len({one["checksum"] for runs in found.values() for one in runs}) != 1:
        raise common.ProgramFailed("the queries have different answers")
    points = []
    for name, runs in found.items():
        figures = [figures_of(one) for one in runs]
        points += [point(what, name, 0, "", [one[what] for one in figures]) for what in figures[0]]
    memory = {name: [[at, (resident - runs[0]["resident_before"]) * MB] for at, resident in runs[0]["memory"]] for name, runs in found.items()}
    return {"protocol": {"data": scale.arrival_data, "rounds": scale.arrival_rounds, "queries": queries, "rate": rate, "idle_s": scale.idle_s,
                         "at_once": at_once, "seconds": found[BASE][0]["seconds"], "memory": memory}, "points": points,
            "missing": lab.missing_allocators}


def ways(_report):
    return [Way("latency, waiting, memory over time, memory given back", MEASURED)]


def draw(report):
    panels = []
    for what, note in (("latency ms, 95 %", "from a query's arrival to its answer"), ("later MB", f"{report['protocol']['idle_s']:g} s after the last answer")):
        rows = [{"name": one["series"], "values": [one["median"]], "low": one["min"], "high": one["max"]} for one in points_of(report, what)]
        panels.append(Panel(what, rows, ".1f", note, height=60 + 24 * len(rows)))
    lines = [{"name": name, "colour": COLOURS.get(name, "#666666"), "points": points} for name, points in report["protocol"]["memory"].items()]
    panels.append(LinearPanel("Resident MB over seconds", lines, "beyond the data; the first round; the dashed line: the last answer",
                            mark=report["protocol"]["seconds"]))
    return figure(panels, "Queries that arrive at random, with each allocator", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"{did['queries']} queries, W1, W2 and W3 at {did['data']:g} of the paper's sizes, arrive with exponential gaps, {did['rate']:.3g} a second: "
            f"{LOAD:.0%} of the rate at which {BASE} answers if all are there at once. At most ten are under way, each by one thread; the ten threads "
            f"stay. The same arrivals for each allocator, {common.count(did['rounds'], 'round')} in a rotating order. Memory is what the process has "
            "beyond its data, sampled every 50 ms, and asked once more after the last answer, when nothing has been done for "
            f"{did['idle_s']:g} s.")


def compare(report):
    rows = []
    for name, paper in PAPER_FAULTS.items():
        rows.append(Row(f"page faults, {name} over {BASE}", common.over(median_of(report, "faults", name), median_of(report, "faults", BASE)), paper,
                        "Table 1"))
    for name in PAPER_FAULTS:
        rows.append(Row(f"mean resident memory, {name} over {BASE}", common.over(median_of(report, "mean MB", name), median_of(report, "mean MB", BASE)),
                        PAPER_MEAN_GB[name] / PAPER_MEAN_GB[BASE], "Table 2, with the data"))
    for name in PAPER_FAULTS:
        rows.append(Row(f"latency, 95 %, {name} over {BASE}",
                        common.over(median_of(report, "latency ms, 95 %", name), median_of(report, "latency ms, 95 %", BASE)),
                        source="Figure 4; the paper's text gives no number"))
    return rows


def details(report):
    names = [one["series"] for one in points_of(report, "faults")]
    latency = ("latency ms, median", "latency ms, 95 %", "wait ms, mean", "wait ms, 95 %")
    memory = ("peak MB", "mean MB", "after MB", "later MB", "later, without lazily freed MB")
    return [*table(("allocator", *latency), [[name, *(cell(one_point(report, what, name), ",.1f") for what in latency)] for name in names]), "",
            *table(("allocator", *memory), [[name, *(cell(one_point(report, what, name), ".1f") for what in memory)] for name in names])]


def gap(_report):
    return ("The queries are those of the other paper's operators, joins and groups, not TPC-DS, and some megabytes each. Two cores serve them: ten "
            "threads wait for a core more than for a lock. jemalloc gives memory back 10 s after it was freed, by its own setting, and only when a "
            "thread calls it again: that is later than what is asked here.")
