#!/usr/bin/env python3
"""Draws run.py's JSON: scans of columns in GB/s compared with the machine's read and the peers, and TPC-H's queries.

    bench/scan/plot.py scan.json figure.svg

Ours first and red; a line spans from the slowest round to the fastest. Standard library only.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from plot_panels import Panel, draw_file  # noqa: E402

QUERIES = {"sum_a": "sum(u64)", "count_a": "u64 < 10 %: count", "sum_b_where_a": "u64 < 10 %: sum of a u64",
           "sum_b_where_c": "i32 < 10 %: sum of a u64"}
NAMES = {"limit": "read limit", "eris": "eris", "duckdb": "DuckDB", "polars": "Polars", "numpy": "NumPy"}


def bar(side, found):
    return {"name": NAMES[side], "values": [found["median"]], "low": found["min"], "high": found["max"]}


def panels(report):
    found = []
    for aeus, tables in report["tables"].items():
        for query, words in QUERIES.items():
            if query in tables:
                one = tables[query]
                speeds = {"eris": one["gb_s"]["eris"], "limit": one["limit_gb_s"], **one["gb_s"]}
                found.append(Panel(f"{words}, GB/s, {aeus}", [bar(side, speed) for side, speed in speeds.items()], ".1f"))
        if "tpch" in tables:
            for query in ("q1", "q6"):
                found.append(Panel(f"TPC-H {query.upper()}, scale {tables['tpch']['scale']}, ms, {aeus}",
                                   [bar(side, ms) for side, ms in tables["tpch"][query]["ms"].items()], ".1f"))
    return found


def subtitle(report):
    machine = report["machine"]
    return (f"{machine['cpu']}, {machine['cpus']} cpus, {machine['date']}, {report['rows'] >> 20} M rows, "
            f"median of {report['rounds']} rounds; as many threads as AEUs")


if __name__ == "__main__":
    draw_file(__doc__, panels, "Scans of tables beside the machine's read and other engines", subtitle)
