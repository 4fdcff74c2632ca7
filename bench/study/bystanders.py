"""The axis of what the scheduler costs others: single lookups while tasks are taken, and wake-ups of an engine that has nothing to do."""
import common
from common import NotPossible, Row, describe_machine, median_of, point, points_of
from engine_process import ENGINE, engines
from lab_process import rotated
from plot_panels import Panel, figure
from study import MEASURED, NO_NUMBER, Way, cell, number, one_point, ratios, table

NAME = "bystanders"
TITLE = "Lookups while tasks are taken"
PROGRAMS = (ENGINE,)
PAPER = """The scheduler causes no cost of its own, so that what gains nothing by it loses nothing (locality-aware scheduling in Bobox, 6.3). Lookups
at the same time are not in that paper."""

WAYS = ("own", "las")
FIGURES = ("p50_us", "p99_us", "p999_us")
IDLE = "sleeps of AEUs' threads a second"
IDLE_CPUS = "cpus that AEUs take idly"  # one that spins never sleeps


def measure(lab):
    if lab.cores < 2:
        raise NotPossible("one core: nobody could take another one's tasks")
    scale = lab.scale
    with engines(lab, scale.data, ("skew",), {"engine": ((), {})}) as found:
        engine = found["engine"]
        told = {way: [] for way in WAYS}
        engine.ask(f"lookups {scale.lookups_ms} skew")  # makes the index; not counted
        taken = engine.ask("tasks own")["taken"]
        for turn in range(scale.lookups_rounds):
            for way in rotated(list(WAYS), turn % 2):
                engine.ask(f"tasks {way}")
                told[way].append(engine.ask(f"lookups {scale.lookups_ms} skew"))
        stolen = sum(engine.ask("tasks las")["taken"].values()) - sum(taken.values())
        engine.ask(f"idle {min(1, scale.idle_s)}")  # what is left to tidy up
        idle = engine.ask(f"idle {scale.idle_s}")
    points = [point(figure_name, way, 0, "us", [one[figure_name] for one in ones]) for way, ones in told.items() for figure_name in FIGURES]
    points += [point("queries a second", way, 0, "", [one["loops"] * 1000 / scale.lookups_ms for one in ones]) for way, ones in told.items()]
    points += [point(f"{what} las over own", "las", 0, "", ratios(*([one[what] for one in told[way]] for way in ("las", "own")))) for what in FIGURES]
    points += [point(what, "las", 0, "", [idle[key] / scale.idle_s]) for what, key in ((IDLE, "switches"), (IDLE_CPUS, "cpu_s"))]
    return {"protocol": {"data": scale.data, "rounds": scale.lookups_rounds, "ms": scale.lookups_ms, "idle_s": scale.idle_s, "aeus": lab.cores,
                         "taken": stolen}, "points": points, "missing": []}


def ways(_report):
    return [Way("latency of single lookups while a skewed query runs, sleeps of an idle engine", MEASURED)]


def draw(report):
    rows = [{"name": way, "values": [median_of(report, "p99_us", way)], "low": one_point(report, "p99_us", way)["min"],
             "high": one_point(report, "p99_us", way)["max"]} for way in WAYS]
    return figure([Panel("Single lookups, p99 in us", rows, ".0f", "while W3 runs with all its probes at one AEU", height=60 + 24 * len(rows))],
                  "Lookups while tasks are taken", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"Single lookups in an index of 2^20 keys at all {did['aeus']} AEUs, for {did['ms'] / 1000:g} s at a time, while W3 at {did['data']:g} of the "
            f"paper's sizes, all of whose probed rows are at one AEU, runs over and over: {common.count(did['rounds'], 'round')} with own, where nobody "
            f"helps, and las in turns. The lookups' thread, the query's reader and the AEUs share {did['aeus']} cpus. Then nothing is asked for "
            f"{did['idle_s']:g} s, and the kernel's counts of AEUs' voluntary context switches and cpu time are read.")


def compare(report):
    rows = [Row(f"lookups, {what.removesuffix('_us')}: las over own", median_of(report, f"{what} las over own", "las"), source=NO_NUMBER)
            for what in FIGURES]
    return [*rows, *(Row(what, median_of(report, what, "las"), source=NO_NUMBER) for what in (IDLE, IDLE_CPUS))]


def details(report):
    rows = [[way, *(cell(one_point(report, what, way)) for what in FIGURES), cell(one_point(report, "queries a second", way))] for way in WAYS]
    return [*table(("", *(what.replace("_us", ", us") for what in FIGURES), "queries a second"), rows), "",
            f"Free tasks that were run with las meanwhile, an AEU's own among them: {number(report['protocol']['taken'], ',.0f')}."]


def gap(_report):
    return ("With own one of two AEUs has hardly anything to do, so the lookups' thread finds a free cpu; with las none is free. On two cpus the two cannot "
            "be told apart: a thief's turns, and a thread that waits for a cpu.")
