"""Makes the eight tables of TPC-H in the build directory, once for each scale factor, and what DuckDB answers to the 22
queries over them, and to those of sql_queries.

tpchgen-cli and DuckDB come from PyPI into a virtual environment of the tests' own, at pinned versions. The scale factor
is 0.01, or that of the environment variable ERIS_TPCH_SF.
"""
import json
import os
import pathlib
import subprocess
import sys

import harness
import sql_queries
import sql_statements
from lineitem_data import DUCKDB
from orders_data import TPCHGEN, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCALE = os.environ.pop("ERIS_TPCH_SF", "0.01")  # eris refuses variables that it does not know
sys.path.append(str(ROOT / "tests" / "tpch"))
import make_plans  # noqa: E402
from answer_check import check_answer  # noqa: E402, F401
from make_plans import SQL_TYPES, TABLES, columns_of, queries  # noqa: E402

# Run by the environment's Python: standard input is {"tables": {name: columns}, "queries": {name: SQL}}, standard output
# {name: {"columns": names, "rows": rows of texts; doubles are numbers}}.
ASK = """
import json, sys
import duckdb
asked = json.load(sys.stdin)
connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")  # it would be in the output
for table, columns in asked["tables"].items():
    connection.execute(f"create table {table} ({columns})")
    connection.execute(f"copy {table} from '{sys.argv[1]}/{table}.tbl' (delimiter '|', header false)")
def text(value):
    if isinstance(value, bool):
        return str(int(value))
    return value if value is None or isinstance(value, float) else str(value)
answers = {}
for name, query in asked["queries"].items():
    done = connection.execute(query)
    answers[name] = {"columns": [column[0] for column in done.description],
                     "rows": [[text(value) for value in row] for row in done.fetchall()]}
json.dump(answers, sys.stdout)
"""


def folder(build):
    return os.path.join(os.path.abspath(build), "tests", "e2e", "tpch", SCALE)


def all_answers(build):
    """{name: {"columns": names, "rows": rows}}; skips where they could not be made."""
    path = os.path.join(folder(build), "answers.json")
    if not os.path.exists(path):
        harness.skip(f"{TPCHGEN}, {DUCKDB} (PyPI)", f"{path} is not there; see the test e2e_tpch_data")
    with open(path) as file:
        return json.load(file)


def answers(build):
    """Those of the 22 queries, by number."""
    return {int(name): answer for name, answer in all_answers(build).items() if name.isdigit()}


def sql_answers(build):
    """Those of sql_queries, by name, and of sql_statements, by their text."""
    return {name: answer for name, answer in all_answers(build).items() if not name.isdigit()}


def main():
    args = harness.parse_args()
    target = folder(args.build)
    asked = {"tables": {table: ", ".join(f"{name} {SQL_TYPES[kind]} not null" for name, kind in columns_of(table))
                        for table in TABLES},
             "queries": {**dict(queries()),
                         **{name: sql_queries.of_duckdb(query) for name, query in sql_queries.QUERIES.items()},
                         **{text: text for _, text, missing in sql_statements.all_statements() if missing is None}}}
    asked = json.dumps(asked)
    done = os.path.join(target, "asked.json")
    if os.path.exists(done) and open(done).read() == asked:
        print(f"{target} is there")
        return
    os.makedirs(target, exist_ok=True)
    venv = os.path.join(os.path.dirname(target), "venv")
    run([sys.executable, "-m", "venv", "--clear", venv], "python3-venv")
    run([os.path.join(venv, "bin", "pip"), "install", "--quiet", TPCHGEN, DUCKDB], f"{TPCHGEN}, {DUCKDB} (PyPI)")
    subprocess.run([os.path.join(venv, "bin", "tpchgen-cli"), "-s", SCALE, "--output-dir", target, "--overwrite", "--quiet"],
                   check=True)
    answer = subprocess.run([os.path.join(venv, "bin", "python"), "-c", ASK, target], input=asked, text=True,
                            stdout=subprocess.PIPE, check=True).stdout
    with open(os.path.join(target, "answers.json"), "w") as file:
        file.write(answer)
    with open(done, "w") as file:  # at the end: all is there
        file.write(asked)
    print(f"{target}: {len(TABLES)} tables at scale factor {SCALE}")


if __name__ == "__main__":
    main()
