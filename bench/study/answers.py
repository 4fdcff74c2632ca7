"""Not an axis: whether the blind program's answers are DuckDB's, over the same records."""
import json
import subprocess
import tempfile

import common
import study
from common import NotPossible, ProgramFailed, Row, describe_machine, median_of, point, points_of
from lab_process import environment, spread
from plot_panels import Panel, figure
from study import BLIND, MEASURED, QUERIES, ROOT, Config, Way, name_of

NAME = "answers"
TITLE = "The answers, and DuckDB's"
PROGRAMS = (BLIND,)
PAPER = "The paper compares its blind queries with no database; its W5 runs TPC-H on five of them (IV-E), which is not repeated here."
BLIND_NAME = "blind"
DATA_OF = {"w1": "w1", "w2": "w2", "w3": "w3", "w4": "w3"}  # whose records
SECONDS_MAX = 600


def duckdb_answers(lab, folder):
    """Query -> {"rows", "checksum", "seconds"}. Errors: NotPossible, ProgramFailed."""
    try:
        python = environment(str(lab.build))
    except SystemExit as error:  # it has said why
        raise NotPossible("DuckDB cannot be installed") from error
    done = subprocess.run([python, "-B", str(ROOT / "bench" / "study" / "duckdb_side.py"), folder, str(lab.cores), str(lab.scale.rounds)], text=True,
                          capture_output=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        raise ProgramFailed(f"DuckDB: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def measure(lab):
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for query in dict.fromkeys(DATA_OF.values()):
            lab.run(BLIND, "--query", query, "--scale", lab.scale.data, "--seed", common.SEED, "--write", f"{folder}/{query}")
        ours = lab.interleaved([Config(BLIND_NAME)], QUERIES, lab.scale.rounds)
        theirs = duckdb_answers(lab, folder)
    for (_, query), runs in ours.items():
        right = theirs["queries"][DATA_OF[query]]
        for run in runs:
            if (run["rows"], run["checksum"]) != (right["rows"], right["checksum"]):
                raise ProgramFailed(f"{query}: {run['rows']} rows, checksum {run['checksum']}; DuckDB has {right['rows']}, {right['checksum']}")
        points.append(point("seconds", f"{query} blind", 0, "s", study.seconds_of(runs)))
    points += [point("seconds", f"{query} DuckDB", 0, "s", spread(one["seconds"])) for query, one in theirs["queries"].items()]
    return {"protocol": {"data": lab.scale.data, "version": theirs["version"], "rounds": lab.scale.rounds, "threads": lab.cores}, "points": points,
            "missing": []}


def ways(_report):
    return [Way("whether W1 to W4 answer as DuckDB does", MEASURED)]


def draw(report):
    rows = [{"name": one["series"], "values": [one["median"]], "low": one["min"], "high": one["max"]} for one in points_of(report, "seconds")]
    return figure([Panel("Seconds of a query", rows, ".3f", "over the same records", height=60 + 24 * len(rows))], "The blind program and DuckDB",
                  describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"The program writes its records at {did['data']:g} of the paper's sizes, and DuckDB {did['version']} answers the same questions of them, "
            f"with {did['threads']} threads: numbers of rows, and sums over all rows, are equal for all four. The times are of "
            f"{common.count(did['rounds'], 'run')}, both over data in memory; DuckDB's are of a query that consumes each row in a sum, as the program does.")


def compare(report):
    return [Row(f"{name_of(query)}: blind (glibc) over DuckDB", common.over(median_of(report, "seconds", f"{query} blind"),
                                                                          median_of(report, "seconds", f"{DATA_OF[query]} DuckDB")))
            for query in QUERIES]


def details(report):
    return study.table(("", "s"), [[one["series"], study.cell(one)] for one in points_of(report, "seconds")])


def gap(_report):
    return "The paper has no such comparison; it is there so that a blind program that does too little would show."
