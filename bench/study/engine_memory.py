"""The axis of the engine's memory: the same queries in the engine, their rows, groups and tables in the engine's own memory, or
from malloc with each allocator preloaded."""
import time

import common
import study
from allocators import ALLOCATORS
from common import Row, describe_machine, median_of, point, points_of
from engine_process import ENGINE, engines, same
from plot_panels import Panel, figure
from study import MEASURED, NO_NUMBER, Way, cell, number, one_point, ratios, table

NAME = "engine_memory"
TITLE = "The engine's own memory"
PROGRAMS = (ENGINE,)
PAPER = """TBBmalloc and jemalloc release most of their memory after the queries; both mallocs of glibc hold a level of memory that rises;
TCMalloc gives memory back in a way that resident memory does not show (*On the impact of memory allocation on high-performance query
processing*, DaMoN 2019, 5.1, Figure 3). For one query and the next, the least that was asked for over what was held is the paper's fairness
(5.4)."""

OWN = "eris"
QUERIES = ("w1", "w3")  # which allocate much
MB = 1e-6


def seconds(query):
    return f"{query} seconds"


def over_best(query):
    return f"{query} own over the best allocator"


def measure(lab):
    ways = {OWN: ((), {})}
    for name in lab.allocators:
        ways[name] = (("--query-memory", "malloc"), ALLOCATORS[name].environment())
    scale = lab.scale
    with engines(lab, scale.data, QUERIES, ways) as found:
        memory = memory_of(found, scale)
        times = times_of(found, scale.rounds)
    points = [point(seconds(query), name, 0, "s", values) for (query, name), values in times.items()]
    for name, passes in memory.items():
        points += [point(what, name, 0, "", [one[what] for one in passes]) for what in passes[0]]
    for query in QUERIES:
        best = best_of(points, query)
        points.append(point(over_best(query), best, 0, "", ratios(times[query, OWN], times[query, best])))
    return {"protocol": {"data": scale.data, "rounds": scale.rounds, "passes": scale.memory_passes, "idle_s": scale.idle_s, "aeus": lab.cores},
            "points": points, "missing": lab.missing_allocators}


def best_of(points, query):
    """The allocator that is fastest by the median."""
    return min((one for one in points if one["panel"] == seconds(query) and one["series"] != OWN), key=lambda one: one["median"])["series"]


def memory_of(found, scale):
    """Name -> figures of each pass. A process has been idle before its first query, so that nothing is left of the loading."""
    time.sleep(scale.idle_s)
    before = {name: engine.ask("memory")["resident"] for name, engine in found.items()}
    passes = {name: [] for name in found}
    for turn in range(scale.memory_passes):
        peaks, ended = {}, {}
        for name in study.rotated(list(found), turn):
            engine = found[name]
            engine.ask("memory")
            for query in QUERIES:
                engine.ask(f"run {query}")
            ended[name] = time.monotonic()
            peaks[name] = engine.ask("memory")
        for name, engine in sorted(found.items(), key=lambda one: ended[one[0]]):
            time.sleep(max(0.0, ended[name] + scale.idle_s - time.monotonic()))
            passes[name].append(figures_of(before[name], peaks[name], engine.ask("memory")))
    return passes


def figures_of(before, peak, later):
    """Of one pass. Memory that was given up lazily, and that the kernel has not needed, counts as given back."""
    taken = peak["resident_most"] - before
    left = later["resident"] - later["lazily_freed"] - before
    return {"asked MB": peak["asked_most"] * MB, "peak MB": taken * MB, "peak over asked": taken / peak["asked_most"], "later MB": left * MB,
            "given back": 1 - max(0, left) / max(1, taken)}


def times_of(found, rounds):
    """(query, name) -> seconds of each round, after one that is not counted."""
    times = {(query, name): [] for query in QUERIES for name in found}
    for turn in range(-1, rounds):
        for query in QUERIES:
            answers = {name: found[name].ask(f"run {query}") for name in study.rotated(list(found), turn)}
            same(query, answers.values())
            if turn >= 0:
                for name, one in answers.items():
                    times[query, name].append(one["seconds"])
    return times


def ways(_report):
    return [Way("time, memory over what was asked for, memory given back", MEASURED)]


def draw(report):
    panels = []
    for query in QUERIES:
        rows = [{"name": one["series"], "values": [one["median"]], "low": one["min"], "high": one["max"]} for one in points_of(report, seconds(query))]
        panels.append(Panel(f"{study.name_of(query)}, s", rows, ".3f", "temporaries of the engine's queries from there", height=60 + 24 * len(rows)))
    for what, note in (("peak over asked", "most resident memory over the most that was asked for"),
                       ("given back", f"of the peak, {report['protocol']['idle_s']:g} s after the last query")):
        rows = [{"name": one["series"], "values": [max(0, one["median"])]} for one in points_of(report, what)]
        if any(row["values"][0] for row in rows):
            panels.append(Panel(what.capitalize(), rows, ".2f", note, height=60 + 24 * len(rows)))
    return figure(panels, "The engine's queries with its own memory and with allocators", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"W1 and W3 as plans in engines of {did['aeus']} AEUs at {did['data']:g} of the paper's sizes, a process for each way, all of them in turns: "
            f"{common.count(did['rounds'], 'round')} in a rotating order after {common.count(did['passes'] + 1, 'run')} that are not counted. "
            "eris: rows between steps, groups and tables of joins are in the engine's own memory; else the same calls go to malloc, in blocks of whole "
            "cache lines, which is that allocator's. The data is in the engine's memory in either case. Memory is what the process has beyond what it "
            f"had before its first query: the most while W1 and then W3 run, and what is left {did['idle_s']:g} s later, without what has been freed "
            "lazily; asked for is what operators have not freed, at its most.")


def compare(report):
    rows = []
    for query in QUERIES:
        one = points_of(report, over_best(query))[0]
        rows.append(Row(f"{study.name_of(query)}: own memory over {one['series']}, the best allocator", one["median"], source=NO_NUMBER))
    rows += [Row("own memory: peak over what was asked for", median_of(report, "peak over asked", OWN), source=NO_NUMBER),
             Row("own memory: given back later, part of the peak", median_of(report, "given back", OWN), source=NO_NUMBER)]
    return rows


def details(report):
    memory = ("asked MB", "peak MB", "later MB")
    rows = [[one["series"], *(cell(one_point(report, seconds(query), one["series"]), factor=1000) for query in QUERIES),
             *(number(median_of(report, what, one["series"]), ".0f") for what in memory),
             cell(one_point(report, "peak over asked", one["series"])), cell(one_point(report, "given back", one["series"]))]
            for one in points_of(report, seconds(QUERIES[0]))]
    return table(("memory", *(f"{query.upper()}, ms" for query in QUERIES), *memory, "peak over asked", "given back"), rows)


def gap(_report):
    return ("Operators ask for blocks of up to 471 KiB, and keep rows in them: an allocator is asked a thousandth as often as by a program that allocates "
            "each node. Four blocks of 471 KiB are in a superblock of 2 MiB, whose first span has its header. On one "
            "NumaNode the engine's memory cannot show that it is near.")
