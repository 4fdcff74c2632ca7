#!/usr/bin/env python3
"""Draws run.py's JSON: the time of each of TPC-H's queries in ERIS and in DuckDB, for each number of AEUs.

    bench/queries/plot.py queries.json figure.svg

A bar is ERIS's time divided by DuckDB's. Standard library only.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from plot_panels import LINE, Panel, draw_file  # noqa: E402

ROW_MORE = 48  # a panel's height without its rows


def row_of(number, query):
    return {"name": f"eris Q{number}", "values": [query["over_duckdb"]],
            "label": f"{query['eris']['median']:.3g} / {query['duckdb']['median']:.3g} ms"}


def panels(report):
    found = []
    for aeus, parts in report["aeus"].items():
        if queries := parts.get("times", {}).get("queries"):
            words = f"{aeus} AEU" + "s" * (aeus != "1")
            found.append(Panel(f"ERIS / DuckDB, {words}: {parts['times']['geomean']:.2f} (geometric mean)",
                               [row_of(number, query) for number, query in queries.items()], ".2f",
                               note="bars: time as a multiple of DuckDB's", height=LINE * len(queries) + ROW_MORE, right=110))
    return found


def subtitle(report):
    machine = report["machine"]
    return (f"{machine['cpu']}, {machine['cpus']} cpus, {machine['date']}, scale factor {report['scale']}, "
            f"median of {report['rounds']} rounds; as many threads and cpus as AEUs")


if __name__ == "__main__":
    draw_file(__doc__, panels, "ERIS and DuckDB per query of TPC-H", subtitle)
