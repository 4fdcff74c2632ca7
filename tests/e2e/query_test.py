"""TPC-H's 22 queries over all eight tables, through `eris query`: every row is compared with DuckDB's answer. The plans are
the committed ones of tests/tpch/plans: 22 of DataFusion and 15 of DuckDB. Also explained and analysed plans, and bad input.

Integers, decimals, strings and dates are compared exactly, doubles to 1e-9 of their value (tests/tpch/answer_check.py).
"""
import json
import os
import re
import tempfile

import harness
import tpch_data
from tpch_data import check_answer, make_plans

NOT_FOUND = 1
PLANS = tpch_data.ROOT / "tests" / "tpch" / "plans"
# DuckDB's producer writes "not like" as "not equal": its plan is not the query.
NOT_THE_QUERY = {("duckdb", 13)}
# DuckDB writes what it knows of the data into its plans ("c_custkey <= 1499"): they are for the data that it had.
PLANNED_SCALE = make_plans.SCALE
PLAN_BYTES_MAX = 1 << 20


class Case:
    def __init__(self, server, answers, directory):
        self.server = server
        self.answers = answers
        self.directory = directory
        self.queries = dict(tpch_data.queries())

    def rows(self, *arguments):
        """A list of cells for each row; a name may occur twice."""
        text = self.server.eris("query", *arguments, "--output", "json").stdout
        return json.loads(text, object_pairs_hook=lambda pairs: [cell for _, cell in pairs])

    def check_plan(self, producer, number):
        plan = PLANS / producer / f"q{number:02}.plan"
        check_answer(self.rows(str(plan)), self.answers[number], self.queries[number], f"{producer}'s query {number}")

    def check_plans(self, producer):
        failed, count = [], 0
        for plan in sorted((PLANS / producer).glob("q*.plan")):
            number = int(plan.stem[1:])
            if (producer, number) in NOT_THE_QUERY:
                continue
            count += 1
            try:
                self.check_plan(producer, number)
            except AssertionError as error:
                failed.append(number)
                print(f"{producer}'s query {number}: {str(error)[:1500]}", flush=True)
        print(f"{producer}: {count - len(failed)} of {count} queries answered as DuckDB does", flush=True)
        harness.check(not failed, f"{producer}'s queries {failed}")
        return count

    def write(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path


def test_plans_of_datafusion(case):
    harness.check_equal(case.check_plans("datafusion"), 22, "plans of DataFusion")


def test_plans_of_duckdb(case):
    if tpch_data.SCALE == PLANNED_SCALE:
        harness.check_equal(case.check_plans("duckdb"), 14, "plans of DuckDB")


def test_a_plan_from_standard_input(case):
    plan = PLANS / "datafusion" / "q06.plan"
    done = case.server.run("/bin/sh", "-c", '"$0" query - --format csv < "$1"', case.server.programs.eris, str(plan))
    header, row = done.stdout.splitlines()
    harness.check_equal((header, row), ("revenue", case.answers[6]["rows"][0][0]), "query 6 as csv")


def test_steps_are_explained(case):
    for number in case.queries:
        text = case.server.eris("query", "--explain", str(PLANS / "datafusion" / f"q{number:02}.plan")).stdout
        lines = text.splitlines()
        harness.check(lines and lines[-1].endswith("-> answer"), f"query {number}: {text}")
        harness.check_equal([line.split(":")[0] for line in lines], [f"step {i}" for i in range(len(lines))], "steps")
    text = case.server.eris("query", "--explain", str(PLANS / "datafusion" / "q03.plan")).stdout
    for part in ("scan customer", "c_mktsegment = 'BUILDING'", "inner join", "sort step", "first 10 rows"):
        harness.check(part in text, f"'{part}' is not in:\n{text}")
    # Query 18 has its semi join above all joins; few orders are left of it, so it comes first.
    text = case.server.eris("query", "--explain", str(PLANS / "datafusion" / "q18.plan")).stdout
    first = re.search(r"semi join, step (\d+) ", text).group(1)
    harness.check(f"step {first}: scan orders" in text, f"the semi join is not of orders:\n{text}")
    harness.check(re.search(r"~15000 rows|~\d{6,} rows", text), f"the rows of orders are not in:\n{text}")
    # An order's key determines the order, and its customer.
    for number, carried in ((3, 2), (10, 6), (18, 4)):
        text = case.server.eris("query", "--explain", str(PLANS / "datafusion" / f"q{number:02}.plan")).stdout
        found = re.search(r"; by f\d+, carrying ([f\d, ]+);", text)
        harness.check(found and len(found.group(1).split(", ")) == carried, f"{carried} keys are not carried in:\n{text}")


def test_steps_are_analysed(case):
    for number in case.queries:
        plan = str(PLANS / "datafusion" / f"q{number:02}.plan")
        explained = case.server.eris("query", "--explain", plan).stdout.splitlines()
        *lines, last = case.server.eris("query", "--analyze", plan).stdout.splitlines()
        harness.check_equal(lines[::2], explained, f"query {number}: the lines of --explain")
        for line in lines[1::2]:
            harness.check(re.match(r" {8}\d+ rows; .* ms.*; kept \d", line), f"query {number}: {line}")
        rows = len(case.answers[number]["rows"])
        harness.check(re.match(rf"answer: {rows} rows in \d+\.\d\d ms", last), f"query {number}: {last}")
    case.server.refused("query", plan, "--analyze", "--explain", said="--explain")
    harness.check_equal(case.server.eris_json("query", "--list"), [], "running queries")


def test_bad_plans_are_refused(case):
    whole = (PLANS / "datafusion" / "q05.plan").read_bytes()
    cut = case.write("cut.plan", whole[:len(whole) // 2])
    for more in ([], ["--explain"], ["--analyze"]):
        case.server.refused("query", cut, *more, said="no plan of Substrait")
        case.server.refused("query", case.write("empty.plan", b""), *more, said="has no relation")
        case.server.refused("query", case.write("large.plan", b"\0" * (2 * PLAN_BYTES_MAX)), *more,
                            said=f"must have at most {PLAN_BYTES_MAX}")
        other = (PLANS / "datafusion" / "q06.plan").read_bytes().replace(b"lineitem", b"lineitam")
        case.server.refused("query", case.write("other.plan", other), *more, code=NOT_FOUND,
                            said=("lineitam", "relations[0].root.input"))
    case.server.refused("query", os.path.join(case.directory, "none.plan"), said="cannot open")
    case.server.refused("query", said="a plan's file is missing")
    case.server.refused("query", cut, "--list", said="--list")
    harness.check_equal(case.server.eris_json("query", "--list"), [], "running queries")
    case.server.refused("query", "--cancel", "7", code=NOT_FOUND, said="no query 7 runs")


def load_tables(server, build):
    for table in tpch_data.TABLES:
        server.eris("import", table, os.path.join(tpch_data.folder(build), f"{table}.tbl"), "--schema", f"tpch:{table}")


def main():
    def extra(parser):
        parser.add_argument("--aeus", type=int, default=2)
    args = harness.parse_args(extra)
    answers = tpch_data.answers(args.build)
    with harness.Server(harness.Programs(args.build), "--aeus", str(args.aeus)) as server, \
            tempfile.TemporaryDirectory() as directory:
        load_tables(server, args.build)
        case = Case(server, answers, directory)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(case)
                print(f"{name}: ok", flush=True)
        server.wait_until_quiet()


if __name__ == "__main__":
    main()
