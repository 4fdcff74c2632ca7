#!/usr/bin/env python3
"""DuckDB in memory with TPC-H's tables as its own, for the query benchmark.

    duckdb_side.py --threads N --data DIR

Takes query_bench's commands a line (load, run N) and answers each with a JSON object. Needs the packages of
bench/scan/requirements.txt. `ms` is until the rows are there: no way to get them was faster, not as Arrow columns either.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import duckdb

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "tpch"))
from make_plans import SQL_TYPES, TABLES, columns_of, queries  # noqa: E402


def cell(value):
    """Doubles are numbers, all else is text."""
    return value if value is None or isinstance(value, float) else str(value)


class DuckDb:
    def __init__(self, options):
        self.data = options.data
        self.queries = dict(queries())
        self.connection = duckdb.connect(config={"threads": options.threads})
        self.connection.execute("set enable_progress_bar = false")  # it would be in the output

    def load(self):
        begin = time.perf_counter()
        rows = 0
        for table in TABLES:
            columns = ", ".join(f"{name} {SQL_TYPES[kind]} not null" for name, kind in columns_of(table))
            self.connection.execute(f"create table {table} ({columns})")
            self.connection.execute(f"copy {table} from '{self.data}/{table}.tbl' (delimiter '|', header false)")
            rows += self.connection.execute(f"select count(*) from {table}").fetchone()[0]
        return {"ms": (time.perf_counter() - begin) * 1e3, "rows": rows, "version": duckdb.__version__}

    def run(self, number):
        begin = time.perf_counter()
        done = self.connection.execute(self.queries[int(number)])
        rows = done.fetchall()
        ms = (time.perf_counter() - begin) * 1e3
        return {"ms": ms, "columns": [column[0] for column in done.description], "rows": [[cell(value) for value in row] for row in rows]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--data", required=True)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    peer = DuckDb(options)
    for line in sys.stdin:
        words = line.split()
        if words:
            print(json.dumps(getattr(peer, words[0])(*words[1:])), flush=True)


if __name__ == "__main__":
    main()
