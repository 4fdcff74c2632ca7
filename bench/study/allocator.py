"""The allocator axis: the same program with each allocator preloaded."""
import common
import study
from common import Row, describe_machine, median_of, point, points_of
from plot_panels import Panel, figure
from study import BLIND, MEASURED, NO_NUMBER, QUERIES, Config, Way, cell, name_of, one_point, ratios, table

NAME = "allocator"
TITLE = "Allocator"
PROGRAMS = (BLIND,)
PAPER = """Seven allocators override the system's (III-A, IV-D). With tbbmalloc, and memory interleaved, W1 takes up to 62 %, 83 % and
72 % less time than with the default on machines A, B and C, W3 70 %, 94 % and 92 %, W2 44 %, 27 % and 28 %, this almost entirely by the
interleaving (Figure 6). W4 gains less, as its index is there before; for ART, jemalloc and tbbmalloc are best (Figure 7). tbbmalloc is
the fastest on all three data sets (Figure 6j). The text gives no numbers of memory; jemalloc needs little, tbbmalloc more (III-A8)."""

BASE = "glibc"
HELD_MB_MIN = 1  # less: what the process grows by is not the query's
HEAVY, LIGHT = ("w1", "w3"), ("w2", "w4")  # allocates much, or little, while it is measured
HEAVY_PANEL, HEAVY_OVER_LIGHT = "heavy", "heavy over light"
DATA = ("moving-cluster", "sequential", "zipf")  # of W1
# Ratios of the time with tbbmalloc to that with the default, on machines A, B and C.
PAPER_RATIOS = {"w1": (0.38, 0.17, 0.28), "w2": (0.56, 0.73, 0.72), "w3": (0.30, 0.06, 0.08)}


def seconds(query):
    return f"{query} seconds"


def over_base(query):
    return f"{query} over {BASE}"


def measure(lab):
    points = []
    found = lab.interleaved([Config(name, allocator=name) for name in lab.allocators], QUERIES, lab.scale.rounds)
    for (name, query), runs in found.items():
        base = study.seconds_of(found[BASE, query])
        points += [point(seconds(query), name, 0, "s", study.seconds_of(runs)),
                   point(over_base(query), name, 0, "", ratios(study.seconds_of(runs), base)),
                   point(f"{query} whole over {BASE}", name, 0, "", ratios(study.whole_of(runs), study.whole_of(found[BASE, query]))),
                   point(f"{query} cpu seconds", name, 0, "s", [run["cpu_seconds"] for run in runs]),
                   point(f"{query} held over live", name, 0, "", study.held_over_live(runs)),
                   point(f"{query} faults", name, 0, "", [run["minor_faults"] for run in runs]),
                   point(f"{query} left MB", name, 0, "MB", [(run["resident_after"] - run["resident_before"]) / 1e6 for run in runs])]
    points += measure_data(lab)
    for name in lab.allocators:
        heavy, light, groups = (study.mean_over(found, [name], queries, lambda _: BASE) for queries in (HEAVY, LIGHT, HEAVY + ("w2",)))
        points += [study.gain_point(HEAVY_PANEL, name, heavy), study.gain_point("light", name, light), study.gain_point("w1 to w3", name, groups),
                   study.gain_point(HEAVY_OVER_LIGHT, name, [one / other for one, other in zip(heavy, light)])]
    requested = {query: found[BASE, query][0]["live_bytes"] for query in QUERIES}
    return {"protocol": {"data": lab.scale.data, "rounds": lab.scale.rounds, "threads": lab.cores, "held_bytes": requested}, "points": points,
            "missing": lab.missing_allocators}


def measure_data(lab):
    """W1 on the other data sets, as in Figure 6j."""
    configs = [Config(f"{name}, {data}", allocator=name, more=("--data", data)) for data in DATA for name in lab.allocators]
    points = []
    for data in DATA:
        found = lab.interleaved([one for one in configs if one.name.endswith(data)], ("w1",), lab.scale.rounds)
        base = study.seconds_of(found[f"{BASE}, {data}", "w1"])
        points += [point(f"w1 on {data} over {BASE}", name, 0, "", ratios(study.seconds_of(found[f"{name}, {data}", "w1"]), base))
                   for name in lab.allocators]
    return points


def ways(_report):
    return [Way("run time, freeing, page faults, memory", MEASURED)]


def draw(report):
    panels = []
    for query in QUERIES:
        found = points_of(report, seconds(query))
        rows = [{"name": one["series"], "values": [one["median"]], "low": one["min"], "high": one["max"]} for one in found]
        panels.append(Panel(f"{name_of(query)}, s", rows, ".3f", "the query, without the freeing of its memory", height=60 + 24 * len(rows)))
    return figure(panels, "The blind program with each allocator", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"All four queries at {did['data']:g} of the paper's sizes, {did['threads']} threads, {common.count(did['rounds'], 'round')} in a rotating order, "
            "a process for each run. Each allocator as its package has it, without settings. W4's index is the shared tree of bench/shared, whose "
            "memory is the engine's: only what the join itself allocates is the allocator's.")


def compare(report):
    rows = []
    for query, papers in PAPER_RATIOS.items():
        for machine, paper in zip("ABC", papers):
            rows.append(Row(f"{name_of(query)}: time with tbbmalloc over {BASE}", median_of(report, over_base(query), "tbbmalloc"), paper,
                            f"Figure 6, machine {machine}, with interleaving"))
    rows.append(Row(f"{name_of('w4')}: time with tbbmalloc over {BASE}", median_of(report, over_base("w4"), "tbbmalloc"),
                    source=NO_NUMBER))
    for data in DATA:
        rows.append(Row(f"W1 on {data}: time with tbbmalloc over {BASE}", median_of(report, f"w1 on {data} over {BASE}", "tbbmalloc"),
                        source="the paper's text gives no number; tbbmalloc is the fastest"))
    return rows


def details(report):
    out = []
    for query in QUERIES:
        rows, held = [], report["protocol"]["held_bytes"][query] / 1e6
        for one in points_of(report, seconds(query)):
            name = one["series"]
            median = {what: median_of(report, f"{query} {what}", name) for what in (f"whole over {BASE}", "cpu seconds", "held over live", "faults",
                                                                                   "left MB")}
            rows.append([name, cell(one), cell(one_point(report, over_base(query), name)), f"{median[f'whole over {BASE}']:.3g}",
                         f"{median['cpu seconds']:.3g}", f"{median['held over live']:.3g}" if held >= HELD_MB_MIN else "–", f"{median['faults']:,.0f}",
                         f"{median['left MB']:.1f}"])
        out += [f"**{name_of(query)}**; at its end the query holds {held:,.1f} MB from its allocator.", "",
                *table(("allocator", "s", f"over {BASE}", "with freeing, over it", "cpu s", "grown by over held", "page faults", "MB left after freeing"),
                       rows), ""]
    data = [[one, *(cell(one_point(report, f"w1 on {name} over {BASE}", one)) for name in DATA)]
            for one in dict.fromkeys(point["series"] for point in points_of(report, seconds("w1")))]
    return [*out, f"**W1 by data set**, time over {BASE}'s.", "", *table(("allocator", *DATA), data)]


def gap(report):
    cpus = report["protocol"]["threads"]
    return (f"{cpus} threads for the paper's 16 to 64: the locks of an allocator are hardly fought for, and the paper's gains are of that fight. "
            "glibc is of 2022, with a cache for each thread, and the paper's of before 2020. Hoard, supermalloc and mcmalloc are not in "
            "Debian; mimalloc is not in the paper. The paper's ratios contain the gain by interleaved memory, which one NumaNode cannot show.")


def best_of_heavy(report):
    """The point of the allocator that is best for W1 and W3, the default left out."""
    return min((one for one in points_of(report, HEAVY_PANEL) if one["series"] != BASE), key=lambda one: one["median"])
