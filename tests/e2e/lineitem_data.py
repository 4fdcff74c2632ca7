"""Makes the TPC-H table lineitem at scale factor 0.1 in the build directory, once, and what DuckDB answers to the
queries of lineitem_queries.py.

tpchgen-cli and DuckDB come from PyPI into a virtual environment of the tests' own, at pinned versions.
"""
import json
import os
import subprocess
import sys

import harness
from lineitem_queries import QUERIES, sql
from orders_data import TPCHGEN, run

DUCKDB = "duckdb==2.0.0"
ROWS = 600_572
# Run by the environment's Python: standard input is {name: SQL}, standard output {name: rows of texts}.
ASK = """
import decimal, json, sys
import duckdb
connection = duckdb.connect()
connection.execute(\"\"\"create table lineitem (
    l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber integer, l_quantity decimal(15, 2),
    l_extendedprice decimal(15, 2), l_discount decimal(15, 2), l_tax decimal(15, 2), l_returnflag varchar,
    l_linestatus varchar, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct varchar,
    l_shipmode varchar, l_comment varchar)\"\"\")
connection.execute(f"copy lineitem from '{sys.argv[1]}' (delimiter '|', header false)")
def text(value):
    return value if value is None or isinstance(value, float) else str(value)
json.dump({name: [[text(value) for value in row] for row in connection.execute(query).fetchall()]
           for name, query in json.load(sys.stdin).items()}, sys.stdout)
"""


def path(build):
    return os.path.join(os.path.abspath(build), "tests", "e2e", "lineitem", "lineitem.tbl")


def answers_path(build):
    return os.path.join(os.path.dirname(path(build)), "answers.json")


def main():
    args = harness.parse_args()
    target = path(args.build)
    queries = {name: sql(name) for name in QUERIES}
    asked = os.path.join(os.path.dirname(target), "queries.json")
    if os.path.exists(asked) and json.load(open(asked)) == queries:
        print(f"{target} is there")
        return
    directory = os.path.dirname(target)
    os.makedirs(directory, exist_ok=True)
    venv = os.path.join(directory, "venv")
    run([sys.executable, "-m", "venv", "--clear", venv], "python3-venv")
    run([os.path.join(venv, "bin", "pip"), "install", "--quiet", TPCHGEN, DUCKDB], f"{TPCHGEN}, {DUCKDB} (PyPI)")
    subprocess.run([os.path.join(venv, "bin", "tpchgen-cli"), "-s", "0.1", "--tables", "lineitem", "--output-dir",
                    directory, "--overwrite", "--quiet"], check=True)
    with open(target, "rb") as file:
        rows = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    harness.check_equal(rows, ROWS, "rows of lineitem at scale factor 0.1")
    done = subprocess.run([os.path.join(venv, "bin", "python"), "-c", ASK, target], input=json.dumps(queries), text=True,
                          stdout=subprocess.PIPE, check=True)
    with open(answers_path(args.build), "w") as file:
        file.write(done.stdout)
    with open(asked, "w") as file:  # at the end: all is there
        json.dump(queries, file)
    print(f"{target}: {rows} rows")


if __name__ == "__main__":
    main()
