"""The affinity axis: threads where the system puts them, dense and sparse."""
import common
import counted
import study
from common import Row, describe_machine, median_of, point, points_of
from counted import Run
from plot_panels import Panel, figure
from study import COUNTED, IMPOSSIBLE, MEASURED, NO_NUMBER, OTHERS_MAX, SIMULATED, Config, Way, cell, number, one_point, ratios, table

NAME = "affinity"
TITLE = "Thread placement"
PROGRAMS = counted.PROGRAMS
PAPER = """Threads are left to the system, or bound to cpus, dense (as few processors as possible) or sparse (spread over the
NumaNodes). Ten runs of W1 on machine A with 16 threads: the slowest run without binding takes orders of magnitude longer than bound, the
fastest still some 27 % longer (III-B, Figure 3). Bound sparse, thread migrations fall from 33,196 to 16, cache misses by 33 %, remote
accesses by 32 %, and the share of local accesses rises from 0.70 to 0.78 (Table III). Sparse is faster than dense while not all
hardware threads are used, and almost the same when they are (Figure 4; the text gives no number)."""

AFFINITIES = ("none", "dense", "sparse")
TIMED = ("w1", "w3")
COUNTED_QUERY = "w1"
GAIN = "w1, sparse over none"
HALF, FULL = counted.CPUS // 2, counted.CPUS


def measure_times(lab):
    points, threads = [], lab.cores
    counts = sorted({max(1, threads // 2), threads}) if common.numa_nodes() > 1 else [threads]
    for count in counts:
        configs = [Config(name, affinity=name, more=("--threads", count)) for name in AFFINITIES]
        found = lab.interleaved(configs, TIMED, lab.scale.affinity_rounds)
        for (name, query), runs in found.items():
            points += [point(f"{query} seconds", name, count, "s", study.seconds_of(runs)),
                       point(f"{query} over sparse", name, count, "", ratios(study.seconds_of(runs), study.seconds_of(found["sparse", query])))]
            if query == "w1" and name == "sparse" and count == threads:
                points.append(study.gain_point(GAIN, name, [one / other for one, other in zip(study.seconds_of(runs),
                                                                                               study.seconds_of(found["none", query]))]))
            if all(run["migrations"] is not None for run in runs):
                points.append(point(f"{query} migrations", name, count, "", [run["migrations"] for run in runs]))
    return points


def runs_in_guest(lab):
    return [Run(f"{name} {threads}", ("--query", COUNTED_QUERY, "--scale", lab.scale.guest_data, "--threads", threads, "--affinity", name))
            for threads in (HALF, FULL) for name in AFFINITIES]


def measure(lab):
    missing = []
    points = measure_times(lab)
    for name, (lines,) in (common.attempt(missing, "whose memory is read, counted in the emulated machine", counted.lines, lab, runs_in_guest(lab))
                           or {}).items():
        affinity, threads = name.split()
        points += [point("own share", affinity, int(threads), "part of the lines", [lines.own_share]),
                   point("busiest over mean", affinity, int(threads), "", [lines.busiest_over_mean]),
                   point("remote lines", affinity, int(threads), "lines", [lines.remote]),
                   point("lines", affinity, int(threads), "lines", [lines.lines])]
    if common.numa_nodes() == 1:
        missing.append({"what": "the time of dense against sparse", "why": "one NumaNode, and all its cores are used"})
    return {"protocol": {"data": lab.scale.data, "rounds": lab.scale.affinity_rounds, "guest_data": lab.scale.guest_data, "threads": lab.cores},
            "points": points, "missing": missing}


def ways(report):
    out = [Way("run time and migrations, bound against not bound", MEASURED)]
    if report["machine"]["numa_nodes"] > 1:
        out.append(Way("run time, dense against sparse", MEASURED))
    else:
        out.append(Way("run time, dense against sparse", IMPOSSIBLE, "one NumaNode"))
    if points_of(report, "own share"):
        out += [Way("share of lines from the own NumaNode, the busiest NumaNode's load", COUNTED),
                Way("cache misses", SIMULATED, "a cache of 256 KiB for each cpu of the guest")]
    else:
        out.append(Way("share of lines from the own NumaNode, cache misses", IMPOSSIBLE, "the emulated machine was not to be had"))
    return out


def draw(report):
    panels = []
    for query in TIMED:
        rows = [{"name": one["series"], "values": [one["median"]], "low": one["min"], "high": one["max"]} for one in points_of(report, f"{query} seconds")
                if one["x"] == report["protocol"]["threads"]]
        panels.append(Panel(f"{study.name_of(query)}, s", rows, ".3f", "the line: from the fastest run to the slowest", height=60 + 24 * len(rows)))
    for panel, title in (("own share", "Lines from the own NumaNode, share"), ("busiest over mean", "The busiest NumaNode's memory over the mean")):
        rows = [{"name": f"{one['series']}, {one['x']}", "values": [one["median"]]} for one in points_of(report, panel)]
        if rows:
            panels.append(Panel(title, rows, ".2f", "counted in the guest: W1, by the number of threads", height=60 + 24 * len(rows)))
    return figure(panels, "The blind program by the place of its threads", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    text = (f"W1 and W3 at {did['data']:g} of the paper's sizes, {did['threads']} threads on as many cores, "
            f"{common.count(did['rounds'], 'run')} of each in a rotating order.")
    if points_of(report, "own share"):
        text += (f" In the emulated machine of {counted.NUMA_NODES} NumaNodes of 2 cpus: W1 at {did['guest_data']:g} of the paper's sizes with {HALF} "
                 f"and {FULL} threads; lines are misses of a simulated cache of 256 KiB for each cpu.")
    return text


def slowest_over_fastest(report, query, name):
    one = one_point(report, f"{query} seconds", name)
    return one["max"] / one["min"] if one else None


def compare(report):
    threads = report["protocol"]["threads"]
    none, sparse = (common.points_of(report, "w1 seconds", name, threads)[0] for name in ("none", "sparse"))
    rows = [Row("W1: fastest run without binding over the median bound sparse", none["min"] / sparse["median"], 1.27, "III-B, Figure 3"),
            Row("W1: slowest run without binding over the median bound sparse", none["max"] / sparse["median"], source="Figure 3, orders of magnitude"),
            Row("W1: migrations, sparse over none", common.over(median_of(report, "w1 migrations", "sparse"), median_of(report, "w1 migrations", "none")),
                16 / 33196, "Table III", instead="hardly any in either")]
    for what, panel, paper in (("cache misses", "lines", 972 / 1450), ("remote accesses", "remote lines", 108 / 159)):
        rows.append(Row(f"counted: {what}, sparse over none, all cpus", common.over(*(median_of(report, panel, name, FULL) for name in ("sparse", "none"))),
                        paper, "Table III"))
    for name, paper in (("none", 0.70), ("sparse", 0.78)):
        rows.append(Row(f"counted: share of lines from the own NumaNode, {name}", median_of(report, "own share", name, FULL), paper, "Table III, of accesses"))
    for name in ("dense", "sparse"):
        rows.append(Row(f"counted: busiest NumaNode over the mean, {name}, half of the cpus", median_of(report, "busiest over mean", name, HALF),
                        source=NO_NUMBER))
    return rows


def details(report):
    rows = []
    for query in TIMED:
        for one in points_of(report, f"{query} seconds"):
            migrations = common.points_of(report, f"{query} migrations", one["series"], one["x"])
            rows.append([f"{query.upper()}, {one['series']}, {one['x']} threads", cell(one), number(slowest_over_fastest(report, query, one["series"])),
                         cell(migrations[0], ".0f") if migrations else "not told by the system"])
    out = table(("query, affinity", "s", "slowest over fastest", "migrations"), rows)
    counts = [[f"{one['series']}, {one['x']} threads", f"{one['median']:.3f}", *(f"{median_of(report, panel, one['series'], one['x']):{form}}"
               for panel, form in (("busiest over mean", ".2f"), ("remote lines", ",.0f"), ("lines", ",.0f")))] for one in points_of(report, "own share")]
    if counts:
        out += ["", "Counted in the guest, W1:", "",
                *table(("affinity", "share from the own NumaNode", "busiest over mean", "remote lines", "lines"), counts)]
    return out


def gap(report):
    others = report["cpus_taken_by_others"]
    load = f"{report['protocol']['threads']} cores, a thread for each: the system has hardly a reason to move one, so binding can gain little. "
    if others > OTHERS_MAX:
        load = (f"Other programs took {others:.2f} of the {report['protocol']['threads']} cores meanwhile: the system could give a thread the core that "
                "they left, unless it was bound. ")
    return load + "A thread that is bound moves once, to its cpu. In the guest nothing else runs."
