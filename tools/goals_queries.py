"""The goals of queries over several tables: TPC-H's 22 compared with DuckDB, while ranges move, with lookups and several clients at
the same time; their memory, and how soon a cancelled one is gone. Part of tools/goals.py."""
import functools
import os

from goals_run import NotPossible, Part, Step, at_least, at_most
from goals_tables import AEUS, words_of

DRIVER = "bench/queries/run.py"
QUERIES_ALL = 22
GEOMEAN = {1: 0.8, 2: 0.7}  # at most as much of DuckDB's time
GONE_MS = 5  # after a query is cancelled
SIDE_AEUS = 2  # of the goals that are not for each number of AEUs


def measured(run, part, aeus):
    """One part of the driver's report, and the scale factor. Errors: NotPossible (there are fewer cpus)."""
    if len(os.sched_getaffinity(0)) < aeus:
        raise NotPossible(f"this process may use fewer than {aeus} cpus")
    report = run.script(DRIVER, "--parts", part, "--aeus", str(aeus))
    return report["aeus"][str(aeus)][part], report["scale"]


def unequal(run, found):
    """In words, for a note. A tiny run must have right answers, so it ends with ValueError if there are others."""
    if run.tiny and found["unequal"]:
        raise ValueError(f"wrong answers: {found['unequal']}")
    if not found["unequal"]:
        return "every row as DuckDB's"
    first = next(iter(found["unequal"].values()))
    return f"other answers, or none: {', '.join(found['unequal'])}; {first[:200]}"


def times(run, aeus):
    found, scale = measured(run, "times", aeus)
    name, queries = AEUS[aeus], found["queries"]
    run.goal(f"queries.equal_{name}", found["equal"], f"scale {scale}, doubles to 1e-12: {unequal(run, found)}")
    if len(queries) < QUERIES_ALL:
        raise ValueError(f"only {len(queries)} queries have a time: {unequal(run, found)}")
    eris, duckdb = (sum(query[side]["median"] for query in queries.values()) for side in ("eris", "duckdb"))
    run.goal(f"queries.geomean_over_duckdb_{name}", found["geomean"],
             f"scale {scale}, DuckDB {found['duckdb_version']}, medians; all together {eris:.0f} vs. {duckdb:.0f} ms; "
             + ", ".join(f"Q{number} {query['over_duckdb']:.2f}" for number, query in queries.items()))
    slowest = max(queries, key=lambda number: queries[number]["over_duckdb"])
    run.goal(f"queries.slowest_over_duckdb_{name}", queries[slowest]["over_duckdb"],
             f"query {slowest}: {words_of(queries[slowest]['eris'], 'ms')} vs. {words_of(queries[slowest]['duckdb'], 'ms')}")
    if aeus == SIDE_AEUS:
        faults = found["faults"]
        run.goal("queries.page_faults_second_over_first", faults["second"] / max(faults["first"], 1),
                 f"minor ones of all 22: {faults['first']} in the first run after loading, {faults['second']} in the second")


def moving(run):
    found, scale = measured(run, "moving", SIDE_AEUS)
    run.goal("queries.equal_while_ranges_move", found["equal"],
             f"scale {scale}, {found['rounds']} rounds; {found['moves']} ranges and {found['rows_moved']} rows moved meanwhile: {unequal(run, found)}")


def lookups(run, aeus):
    found, scale = measured(run, "lookups", aeus)
    run.goal(f"queries.lookup_p99_more_us_{AEUS[aeus]}", found["p99_more_us"]["median"],
             f"single lookups: p99 {found['with_queries']['p99_us']['median']:.0f} us while the queries of scale {scale} run in a loop, "
             f"{found['alone']['p99_us']['median']:.0f} alone")


def clients(run):
    found, scale = measured(run, "clients", SIDE_AEUS)
    if found["refused"]:  # the others had the machine for themselves
        raise ValueError(f"{found['refused']} queries were refused, the last one: {found['why']}")
    run.goal("queries.four_clients_over_one", found["four_over_one"]["median"],
             f"scale {scale}, all 22 in an order of each client: {words_of(found['four_queries_s'], 'queries/s')} vs. "
             f"{words_of(found['one_queries_s'], 'queries/s')}")


def memory(run):
    found, scale = measured(run, "memory", SIDE_AEUS)
    run.goal("queries.resident_spread", found["most_over_least"] - 1,
             f"scale {scale}, after each of {found['rounds']} times all 22 in {found['seconds']} s: {found['least_bytes'] / 2 ** 20:.0f} to "
             f"{found['most_bytes'] / 2 ** 20:.0f} MiB, {found['first_bytes'] / 2 ** 20:.0f} first, {found['last_bytes'] / 2 ** 20:.0f} last")


def cancel(run):
    found, scale = measured(run, "cancel", SIDE_AEUS)
    slowest = found["slowest"]
    run.goal("queries.cancelled_gone_ms", found["max_ms"],
             f"scale {scale}, the longest of {found['cancelled']} random moments; p50 {found['p50_ms']:.2g}, p99 {found['p99_ms']:.2g} ms; the "
             f"longest was query {slowest['query']} after {slowest['after_ms']:.0f} of {slowest['whole_ms']:.0f} ms; above {GONE_MS} ms: "
             + (", ".join(f"Q{number} {ms:.0f}" for number, ms in enumerate(found["longest_ms"], 1) if ms > GONE_MS) or "none"))


def goals_of(aeus):
    name = AEUS[aeus]
    return {f"queries.equal_{name}": at_least(QUERIES_ALL), f"queries.geomean_over_duckdb_{name}": at_most(GEOMEAN[aeus]),
            f"queries.slowest_over_duckdb_{name}": at_most(2),
            **({"queries.page_faults_second_over_first": at_most(0.01)} if aeus == SIDE_AEUS else {})}


QUERIES = Part(15, (
    *(Step(functools.partial(times, aeus=aeus), goals_of(aeus)) for aeus in AEUS),
    Step(moving, {"queries.equal_while_ranges_move": at_least(QUERIES_ALL)}),
    *(Step(functools.partial(lookups, aeus=aeus), {f"queries.lookup_p99_more_us_{AEUS[aeus]}": at_most(100)}) for aeus in AEUS),
    Step(clients, {"queries.four_clients_over_one": at_least(0.95)}),
    Step(memory, {"queries.resident_spread": at_most(0.02)}),
    Step(cancel, {"queries.cancelled_gone_ms": at_most(GONE_MS)})))
