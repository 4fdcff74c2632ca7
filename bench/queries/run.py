#!/usr/bin/env python3
"""The query benchmark: TPC-H's 22 queries in an engine compared with DuckDB, in one run.

    bench/queries/run.py <builddir> [--aeus 1,2] [--rounds 5] [--scale 1] [--parts times,moving,...] [--json out.json] [--tiny]

tpchgen-cli writes the tables; both sides load them, ERIS as `eris import` does. ERIS runs the committed plans of DataFusion
(tests/tpch/plans), DuckDB the queries' text, with as many threads as there are AEUs, and both on as many cpus. Peers come
from PyPI into a virtual environment under the build directory (bench/scan/requirements.txt). Rounds are interleaved, in
rotating order, after one that is not counted; a figure is the median, with minimum and maximum. Every answer of every round
is compared with DuckDB's, doubles to 1e-12 of their value.

  times     ms by query, page faults of the first and the second run, which queries have other answers
  moving    answers while ranges of the tables move all the time
  lookups   single lookups in an index, alone and while the queries run in a loop
  clients   queries/s of four clients and of one
  memory    resident bytes while the queries run in a loop
  cancel    how soon queries are gone that are cancelled at random moments

--tiny: only checks that it runs, in seconds; the figures mean nothing. Exit code 77: the peers cannot be installed.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests" / "tpch")]
from answer_check import check_answer  # noqa: E402
from lab_process import LabProcess, environment, machine, rotated, spread  # noqa: E402
from make_plans import TABLES, queries  # noqa: E402

NUMBERS = range(1, 23)
RELATIVE = 1e-12
# Values without a flag: rounds while ranges move, milliseconds of lookups and how often, seconds of the loop, how many are
# cancelled.
SIZES = {"moving_rounds": 3, "lookups_ms": 5000, "lookups_rounds": 3, "loop_s": 60, "cancelled": 1000}
TINY = {"rounds": 1, "scale": 0.01, "moving_rounds": 1, "lookups_ms": 100, "lookups_rounds": 1, "loop_s": 0.2, "cancelled": 30}


def tables(build, python, scale):
    """The folder of the .tbl files; made once."""
    home = os.path.join(build, f"tpch-tables-{scale}")
    done = os.path.join(home, "done")
    if not os.path.exists(done):
        os.makedirs(home, exist_ok=True)
        subprocess.run([os.path.join(os.path.dirname(python), "tpchgen-cli"), "-s", scale, "--output-dir", home, "--overwrite",
                        "--quiet"], check=True, stdout=subprocess.DEVNULL)
        with open(done, "w", encoding="utf-8") as file:  # at the end: all is there
            file.write(" ".join(TABLES))
    return home


class Sides:
    """The processes of a run, loaded."""

    def __init__(self, options):
        self.options, self.labs = options, {}
        self.texts = dict(queries())
        self.answers = {}  # of DuckDB, by query
        self.load_ms, self.version = {}, ""

    def eris(self, aeus, cpus=0):
        command = [f"{self.options.build}/bench/queries/query_bench", "--aeus", str(aeus), "--data", self.options.data, "--plans",
                   str(ROOT / "tests" / "tpch" / "plans" / "datafusion"), *(["--cpus", str(cpus)] if cpus else [])]
        return self.load("eris", LabProcess(command, {}, "query_bench"))

    def duckdb(self, threads):
        command = [self.options.python, "-B", str(HERE / "duckdb_side.py"), "--threads", str(threads), "--data", self.options.data]
        return self.load("duckdb", LabProcess(command, {}, "duckdb"))

    def load(self, side, lab):
        self.labs[side] = lab
        told = lab.ask("load")
        self.load_ms[side] = told["ms"]
        self.version = told.get("version", self.version)
        return lab

    def ask_answers(self):
        """Also ends DuckDB: its threads would take cpus."""
        for number in NUMBERS:
            self.answers[number] = self.labs["duckdb"].ask(f"run {number}")
        self.labs.pop("duckdb").stop()

    def complaint(self, number, answer):
        """Why the answer is not DuckDB's; empty: it is."""
        if "error" in answer:
            return f"query {number}: {answer['error']}"
        try:
            check_answer(answer["rows"], self.answers[number], self.texts[number], f"query {number}", RELATIVE)
        except AssertionError as error:
            return str(error)[:500]
        return ""

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for lab in self.labs.values():
            if kind is None:
                lab.stop()
            else:
                lab.process.kill()


def told(complaints):
    """By query: the first complaint of each that has one."""
    return {"equal": len(NUMBERS) - len(complaints), "unequal": {str(number): words for number, words in sorted(complaints.items())}}


def times(options, aeus):
    complaints, faults = {}, []
    ms = {number: {"eris": [], "duckdb": []} for number in NUMBERS}
    with Sides(options) as sides:
        sides.eris(aeus, cpus=aeus)
        sides.duckdb(aeus)
        for turn in range(-1, options.rounds):
            faults.append({})
            for number in NUMBERS:
                found = {side: sides.labs[side].ask(f"run {number}") for side in rotated(list(sides.labs), turn % 2)}
                sides.answers[number] = found["duckdb"]
                if complaint := sides.complaint(number, found["eris"]):
                    complaints.setdefault(number, complaint)
                faults[-1][number] = found["eris"].get("faults", 0)
                for side, answer in found.items():
                    if turn >= 0 and "ms" in answer:
                        ms[number][side].append(answer["ms"])
    by_query = {str(number): {side: spread(values) for side, values in both.items()} for number, both in ms.items() if both["eris"]}
    ratios = {number: both["eris"]["median"] / both["duckdb"]["median"] for number, both in by_query.items()}
    for number, ratio in ratios.items():
        by_query[number]["over_duckdb"] = ratio
    first, second = (sum(one.values()) for one in faults[:2])
    return {**told(complaints), "queries": by_query, "load_ms": sides.load_ms, "duckdb_version": sides.version,
            "geomean": math.exp(statistics.fmean(map(math.log, ratios.values()))) if ratios else None,
            "faults": {"first": first, "second": second, "by_query": {str(n): [faults[0][n], faults[1][n]] for n in NUMBERS}}}


def moving(options, aeus):
    complaints = {}
    with Sides(options) as sides:
        sides.duckdb(aeus)
        sides.ask_answers()
        eris = sides.eris(aeus)
        eris.ask("moving 1")
        for _ in range(options.moving_rounds):
            for number in NUMBERS:
                if complaint := sides.complaint(number, eris.ask(f"run {number}")):
                    complaints.setdefault(number, complaint)
        moved = eris.ask("moving 0")
    if not moved["moves"] or not moved["rows_moved"]:
        sys.exit("run.py: no range has moved while the queries ran")
    return {**told(complaints), "rounds": options.moving_rounds, **moved}


def lookups(options, aeus):
    found = {"alone": [], "with_queries": []}
    with Sides(options) as sides:
        eris = sides.eris(aeus)
        for _ in range(options.lookups_rounds):
            for name, running in ("alone", 0), ("with_queries", 1):
                found[name].append(eris.ask(f"lookups {options.lookups_ms} {running}"))
    more = [two["p99_us"] - one["p99_us"] for one, two in zip(found["alone"], found["with_queries"])]
    return {**{name: {figure: spread([one[figure] for one in some]) for figure in some[0]} for name, some in found.items()},
            "p99_more_us": spread(more)}


def clients(options, aeus):
    told = {1: [], 4: []}
    with Sides(options) as sides:
        eris = sides.eris(aeus)
        eris.ask("clients 1 1")
        for _ in range(options.rounds):
            for count, some in told.items():
                some.append(eris.ask(f"clients {count} 1"))
    one, four = ([each["queries_s"] for each in some] for some in told.values())
    refused = [each for some in told.values() for each in some if each["refused"]]
    return {"one_queries_s": spread(one), "four_queries_s": spread(four), "four_over_one": spread([b / a for a, b in zip(one, four)]),
            "refused": sum(each["refused"] for each in refused), "why": refused[-1]["why"] if refused else ""}


def memory(options, aeus):
    with Sides(options) as sides:
        found = sides.eris(aeus).ask(f"loop {options.loop_s}")
    return {**found, "seconds": options.loop_s, "most_over_least": found["most_bytes"] / found["least_bytes"]}


def cancel(options, aeus):
    with Sides(options) as sides:
        return sides.eris(aeus).ask(f"cancel {options.cancelled} 1")


PARTS = {"times": times, "moving": moving, "lookups": lookups, "clients": clients, "memory": memory, "cancel": cancel}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--aeus", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", default="-")
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    options = parser.parse_args()
    vars(options).update(SIZES, **(TINY if options.tiny else {}))
    options.scale = f"{options.scale:g}"
    wanted = options.parts.split(",")
    if unknown := [part for part in wanted if part not in PARTS]:
        parser.error(f"no part '{unknown[0]}': {', '.join(PARTS)}")
    options.python = environment(options.build)
    options.data = tables(options.build, options.python, options.scale)
    report = {"machine": machine(), "scale": options.scale, "rounds": options.rounds, "aeus": {}}
    for aeus in map(int, options.aeus.split(",")):
        found = report["aeus"].setdefault(str(aeus), {})
        for part in wanted:
            if part != "moving" or aeus > 1:  # one AEU has nowhere to move a range
                found[part] = PARTS[part](options, aeus)
    text = json.dumps(report, indent=1)
    if options.json == "-":
        print(text)
    else:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
