"""The goals of an import's speed: a file whose types are found out from a sample goes in as fast as one whose schema is given. Part of
tools/goals.py, in `./dev goals imports`.
"""
import contextlib
import csv
import os
import re
import statistics
import tempfile
import time

from goals_run import Step, at_least
from goals_server import server

RUNS = 5  # of each, by turns, after one of each that is not counted
MEGABYTE = 1e6


def csv_of(table, path):
    """Writes TPC-H's lineitem of a .tbl file as CSV with a header."""
    names = [f"l_{name}" for name in ("orderkey", "partkey", "suppkey", "linenumber", "quantity", "extendedprice", "discount", "tax", "returnflag",
                                      "linestatus", "shipdate", "commitdate", "receiptdate", "shipinstruct", "shipmode", "comment")]
    with open(table, encoding="utf-8", newline="") as rows, open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(line[:-2].split("|") for line in rows)  # without the last | and the end of the line


def speed(run):
    eris = f"{run.build}/clients/cli/eris"
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        table, path = os.path.join(folder, "lineitem.tbl"), os.path.join(folder, "lineitem.csv")
        run.program([eris, "generate", "lineitem", table, "--scale", "0.001" if run.tiny else "1"])
        csv_of(table, path)
        schema = re.search("--schema '(.*)'", run.program([eris, "import", "lineitem", path, "--infer"]))[1]
        _, env = stack.enter_context(server(run))
        rows, seconds = {}, {"inferred": [], "given": []}
        for i in range(2 if run.tiny else RUNS + 1):
            for kind, flags in ("inferred", ()), ("given", ("--schema", schema)):
                began = time.monotonic()
                said = run.program([eris, "import", "lineitem", path, *flags], env)
                if i > 0:
                    seconds[kind].append(time.monotonic() - began)
                rows[kind] = re.search(r"(\d+) rows loaded", said)[1]
                run.program([eris, "drop", "lineitem"], env)
        if rows["inferred"] != rows["given"]:
            raise ValueError(f"rows loaded: {rows}")
        size = os.path.getsize(path) / MEGABYTE
    rate = {kind: size / statistics.median(found) for kind, found in seconds.items()}
    note = (f"{rows['given']} rows, {size:.0f} MB of text, {rate['inferred']:.0f} vs. {rate['given']:.0f} MB/s with a schema, medians of "
            f"{len(seconds['given'])} whole runs of the program")
    run.goal("imports.csv_inferred_mb_per_s", rate["inferred"], note)
    run.goal("imports.csv_inferred_over_given", rate["inferred"] / rate["given"], note)


IMPORT_SPEED = Step(speed, {"imports.csv_inferred_mb_per_s": at_least(300), "imports.csv_inferred_over_given": at_least(0.9)})
