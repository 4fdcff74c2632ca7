#!/usr/bin/env python3
"""The project's performance contract: each goal, measured now, as a ratio to a limit or a peer of the same run.

    tools/goals.py <builddir> [part...] [--tiny]

One line per goal:  GOAL <id> reached=<x> goal=<op><y> held|short|NOT-MEASURED|FAILED  # how it was measured A short
goal is a figure to work on, not an error. NOT-MEASURED: this machine cannot measure it; FAILED: its measurement ended
with an error, or without the figure. Exit code 1 for either of the two. Reports are kept in <builddir>/goals; all
existing ones make the table <builddir>/goals.md, and docs/lab/goals.md has a copy of it.

--tiny: every part in sizes of seconds, for tests. The figures mean nothing; exit code 1 only for FAILED, 77 when a
package is
missing.
"""
import argparse
import sys

import goals_run
from goals_balancer import BALANCER
from goals_doors import DOORS
from goals_imports import IMPORTS
from goals_index import INDEX
from goals_leap import LEAP
from goals_memory import MEMORY
from goals_order import ORDER
from goals_queries import QUERIES
from goals_remote import REMOTE
from goals_routing import ENGINE, ROUTING
from goals_run import FAILED, NOT_MEASURED, common
from goals_server import SERVER
from goals_study import STUDY
from goals_tables import TABLES

PARTS = {"index": INDEX, "tables": TABLES, "queries": QUERIES, "doors": DOORS, "balancer": BALANCER, "remote": REMOTE, "memory": MEMORY, "leap": LEAP,
         "routing": ROUTING, "engine": ENGINE, "server": SERVER, "imports": IMPORTS, "order": ORDER, "study": STUDY}


def tell(words):
    print(f"goals: {words}", flush=True)


def forecast(names):
    return (f"{', '.join(names)}: some {sum(PARTS[name].minutes for name in names):.0f} minutes on two cores that do nothing else ("
            + ", ".join(f"{name} {PARTS[name].minutes:g}" for name in names) + ")")


def summary(reports):
    """A line for each part, and one for all."""
    rows = [(report["part"], report["goals"], report["seconds"]) for report in reports]
    rows.append(("together", [one for _, goals, _ in rows for one in goals], sum(seconds for _, _, seconds in rows)))
    for name, goals, seconds in rows:
        tell(f"{name:<10} {goals_run.counted(goals):<50} {seconds:>5} s")
    for outcome, words in ("short", "short"), (NOT_MEASURED, "not measured"), (FAILED, "FAILED"):
        if found := [one["name"] for one in rows[-1][1] if one["outcome"] == outcome]:
            tell(f"{words}: {', '.join(found)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="builddir")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    parser.add_argument("--forecast", action="store_true", help="only say how long it would take")
    options = parser.parse_intermixed_args()
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"no part '{unknown[0]}': {', '.join(PARTS)}")
    names = options.parts or list(PARTS)
    if not options.tiny:
        tell(forecast(names))
    if options.forecast:
        return 0
    reports, absent = [], []
    for name in names:
        report, missing = goals_run.measure(name, PARTS[name], options.build, options.tiny)
        reports.append(report)
        absent += missing
    summary(reports)
    if not options.tiny:
        path = goals_run.folder(options.build, options.tiny).with_suffix(".md")
        common.write(path, goals_run.markdown(goals_run.saved(options.build, options.tiny, PARTS)))
        tell(f"written: {path}")
    outcomes = {one["outcome"] for report in reports for one in report["goals"]}
    for words in dict.fromkeys(absent):
        print(f"SKIPPED: {words}", flush=True)
    if options.tiny:
        return 1 if FAILED in outcomes else goals_run.CANNOT_BE_HAD if absent else 0
    return 1 if outcomes & {FAILED, NOT_MEASURED} else 0


if __name__ == "__main__":
    sys.exit(main())
