"""The scheduler axis: the same queries as plans in the engine, under each way to schedule free tasks, with DuckDB in turns."""
import subprocess
import tempfile

import common
import study
from common import NotPossible, ProgramFailed, Row, describe_machine, median_of, point, points_of
from lab_process import LabProcess, environment, rotated
from plot_panels import Panel, figure
from study import BLIND, MEASURED, ROOT, SIMULATED, Way, cell, ratios, table

NAME = "scheduler"
TITLE = "The engine's scheduler"
ENGINE = "bench/study/study_engine"
PROGRAMS = (ENGINE, BLIND)
PAPER = """LAS over NLS, alone and 16 queries at once, on a machine of 4 NumaNodes and 64 logical cores: up to 3.3 times as fast, and never slower;
on one of two processors without NUMA up to 10 % (locality-aware scheduling in Bobox, 6.2 and 6.3). Other queries, of SP2Bench."""

WAYS = ("own", "las", "nls")
DUCKDB = "DuckDB"
# What the engine runs; `skew`: W3 with Zipf's law, all probed rows at one AEU.
NAMES = {"w1": "W1, median per group", "w2": "W2, count per group", "w3": "W3, hash join", "skew": "W3, all probes at one AEU",
         "w4": "W4, prebuilt index"}
RULES = ("las_own_immediate", "las_group_immediate", "las_group_deferred", "las_other_deferred", "las_near_immediate")


def same(query, answer, right):
    """Errors: ProgramFailed."""
    mine, other = ((one["rows"], one["checksum"]) for one in (answer, right))
    if mine != other:
        raise ProgramFailed(f"{query}: {mine[0]} rows, checksum {mine[1]}; expected {other[0]}, {other[1]}")


def peer(lab, folder):
    """DuckDB over the records that the blind program writes; None where it cannot be installed."""
    try:
        python = environment(str(lab.build))
    except SystemExit:  # it has said why
        return None
    for query in ("w1", "w2", "w3"):
        lab.run(BLIND, "--query", query, "--scale", lab.scale.data, "--seed", common.SEED, "--write", f"{folder}/{query}")
    return LabProcess([python, "-B", str(ROOT / "bench" / "study" / "duckdb_side.py"), folder, str(lab.cores), "serve"], {}, DUCKDB)


def measure(lab):
    if lab.cores < 2:
        raise NotPossible("one core: nobody could take another one's tasks")
    with tempfile.TemporaryDirectory() as folder:
        duckdb = peer(lab, folder)
        engine = LabProcess([str(lab.path(ENGINE)), "--scale", str(lab.scale.data), "--aeus", str(lab.cores), "--seed", str(common.SEED)], {}, "engine")
        try:
            engine.ask("load")
            seconds, taken, wakes, version = rounds_of(lab, engine, duckdb)
        except (OSError, subprocess.SubprocessError) as error:
            raise ProgramFailed(str(error)) from error
        finally:
            for one in filter(None, (engine, duckdb)):
                one.process.kill()
    points = [point("seconds", f"{query} {way}", 0, "s", values) for (query, way), values in seconds.items()]
    for query in NAMES:
        base = seconds[query, "own"]
        for way in ("las", "nls"):
            points.append(point(f"{way} over own", query, 0, "", ratios(seconds[query, way], base)))
        points.append(point("las over nls", query, 0, "", ratios(seconds[query, "las"], seconds[query, "nls"])))
        if (query, DUCKDB) in seconds:
            points.append(point("las over DuckDB", query, 0, "", ratios(seconds[query, "las"], seconds[query, DUCKDB])))
    return {"protocol": {"data": lab.scale.data, "rounds": lab.scale.rounds, "aeus": lab.cores, "taken": taken, "wakes": wakes, "version": version},
            "points": points, "missing": [] if duckdb else [{"what": DUCKDB, "why": "it cannot be installed"}]}


def rounds_of(lab, engine, duckdb):
    """(query, way) -> seconds of each round, tasks by rule, wakes, DuckDB's version. Errors: OSError, ProgramFailed."""
    seconds = {(query, way): [] for query in NAMES for way in WAYS}
    version = None
    for turn in range(-1, lab.scale.rounds):  # the first one is not counted
        for query in NAMES:
            right = None
            for way in rotated([*WAYS, DUCKDB], turn % 4):
                if way == DUCKDB:
                    if duckdb is None or query == "skew":
                        continue
                    answer = duckdb.ask(f"run {'w3' if query == 'w4' else query}")
                    version = answer["version"]
                    seconds.setdefault((query, way), [])
                else:
                    engine.ask(f"tasks {way}")
                    answer = engine.ask(f"run {query}")
                right = right or answer
                same(query, answer, right)
                if turn >= 0:
                    seconds[query, way].append(answer["seconds"])
    counted = engine.ask("tasks own")
    return seconds, counted["taken"], counted["wakes"], version


def ways(_report):
    return [Way("time, tasks by rule, wakes", MEASURED),
            Way("bytes that cross NumaNodes, 64 cores in 8 NumaNodes", SIMULATED,
                "tests/unit/tasks: for 16 queries at once las may bring 0.3 of what nls does, at most")]


def draw(report):
    rows = [{"name": NAMES[query], "values": [median_of(report, "las over own", query), median_of(report, "nls over own", query)]} for query in NAMES]
    return figure([Panel("Time over that without help", rows, ".2f", "las; below, pale: nls", height=60 + 24 * len(rows), right=86)],
                  "Free tasks of the engine's queries", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    duckdb = f", DuckDB {did['version']} with as many threads in the same rounds" if did["version"] else ""
    return (f"W1 to W4 as plans in an engine of {did['aeus']} AEUs with its own memory, at {did['data']:g} of the paper's sizes, "
            f"{common.count(did['rounds'], 'round')} in a rotating order after one that is not counted{duckdb}. own: each AEU does its own; las and nls: "
            "the locality-aware scheduler and the blind one. All answers are equal, and those of DuckDB. Even data leaves nobody idle: there help can only "
            "cost, and the fourth row is where it gains.")


def compare(report):
    return [Row(f"{NAMES[query]}: las over nls", median_of(report, "las over nls", query), source=study.NO_NUMBER) for query in NAMES]


def details(report):
    rows = []
    for query, name in NAMES.items():
        cells = [cell(study.one_point(report, "seconds", f"{query} {way}"), factor=1000) for way in (*WAYS, DUCKDB)]
        rows.append([name, *cells, *(cell(study.one_point(report, panel, query)) for panel in ("las over own", "las over nls", "las over DuckDB"))])
    taken = report["protocol"]["taken"]
    words = ", ".join(f"{rule.removeprefix('las_').replace('_', ' ')} {taken.get(rule, 0)}" for rule in RULES)
    return [*table(("query, ms", *WAYS, DUCKDB, "las over own", "las over nls", "las over DuckDB"), rows), "",
            f"Tasks that las has taken, by its rules in order: {words}.", f"AEUs woken for tasks: {report['protocol']['wakes']}."]


def gap(_report):
    return ("Two cores that share a cache are one core group: of the five rules only the first three find anything, and no NumaNode is far. "
            "What the rules save between NumaNodes is counted, in the next section and in the simulation, and not shown as time.")
