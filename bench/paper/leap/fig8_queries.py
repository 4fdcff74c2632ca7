"""page_leap, Figure 8: queries over a table that migrates meanwhile."""
import common
from common import Row, points_of
from leap import leap_runs
from plot_panels import Panel, figure

NAME = "leap_fig8_queries"
TITLE = "Figure 8: TPC-H queries 1 and 6 while lineitem migrates"
PROGRAM = "bench/leap/leap_queries"
PROGRAMS = (PROGRAM,)
PAPER = """1 GB of lineitem on the other NumaNode; the migration is begun, and query 1 or 6 is run five times, with and without a thread that
writes 10 M times at random into L_ORDERKEY. With the recommended areas page_leap pays off against move_pages from the second query on (7, Figure
8, no numbers in the text)."""

QUERIES = {"q1": "query 1", "q6": "query 6"}
AREA_KIB = 16384
QUIET, WRITTEN = "no writes", "written"
CASES = [(pages, method, load) for pages in leap_runs.PAGES for load, methods in ((QUIET, ("owner", "hold", "retry")), (WRITTEN, ("hold", "retry")))
         for method in methods]


def measure(lab):
    points, table = [], {}
    for pages, method, load in CASES:
        found = lab.json(PROGRAM, "--method", method, "--pages", pages, "--rows", lab.scale.leap_rows, "--area-kib", AREA_KIB, "--rounds",
                         lab.scale.leap_rounds, *(("--written",) if load == WRITTEN else ()))
        if found["lost"]:
            raise common.ProgramFailed(f"{PROGRAM} by {method} lost increments of {found['lost']} words")
        table = {"rows": found["rows"], "mib": found["mib"]}
        for query, rounds in found["queries"].items():
            spread = lambda of: common.lab_process.spread([of(one) for one in rounds])  # noqa: B023, E731
            median = lambda name: spread(lambda one: one[name])["median"]  # noqa: B023, E731
            points.append(common.point(f"{QUERIES[query]}, {load}", method, pages, "ms", spread(lambda one: one["during_ms"]),
                                       **{name: median(name) for name in ("before_ms", "after_ms", "migration_ms")},
                                       five=spread(lambda one: one["five_ms"] / (5 * one["before_ms"]))["median"]))
    missing = [leap_runs.NO_MOVE_PAGES, leap_runs.NO_BALANCING] if common.numa_nodes() == 1 else []
    return {"protocol": {**leap_runs.protocol(lab), **table}, "points": points, "missing": missing}


def draw(report):
    panels = []
    for query in QUERIES.values():
        for load in QUIET, WRITTEN:
            rows = [{"name": f"{one['series']}, {one['x']}", "values": [one["median"], one["before_ms"]], "low": one["min"], "high": one["max"]}
                    for one in points_of(report, f"{query}, {load}")]
            panels.append(Panel(f"{query.capitalize()}, {load}: ms", rows, ".0f", "while the columns migrate; pale: before", height=72 + 24 * len(rows)))
    return figure(panels, "A query over columns that migrate",
                  f"{report['protocol']['mib']} MiB; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    return (f"{did['rows'] / 1e6:.3g} M rows of lineitem, {did['mib']} MiB in all: the seven columns that the queries read, and L_ORDERKEY, as "
            "plain arrays. They are generated, with TPC-H's ranges of values and not by its generator. One thread runs a query in a loop, in "
            f"morsels of 65,536 rows; after three of them another thread migrates all columns in areas of {leap_runs.size(AREA_KIB)}. Written: a "
            f"third thread increments order keys at random, as fast as it can. Medians of {did['rounds']} rounds. The time during the migration "
            "is from the morsels that ended meanwhile. Every answer was the same, and no increment was lost.")


def compare(report):
    return [Row(f"{query}, {load}, {leap_runs.PAGES['huge']}: {one['series']}, five queries from the migration's begin over five before", one["five"])
            for query in QUERIES.values() for load in (QUIET, WRITTEN) for one in points_of(report, f"{query}, {load}", x="huge")]


def details(report):
    rows = [[query.removeprefix("query "), load, leap_runs.PAGES[one["x"]], one["series"], f"{one['migration_ms']:.0f}", f"{one['before_ms']:.1f}",
             f"{one['median']:.1f}", f"{one['after_ms']:.1f}", f"{one['five']:.2f}"]
            for query in QUERIES.values() for load in (QUIET, WRITTEN) for one in points_of(report, f"{query}, {load}")]
    return ["Time of a query in ms; in the last column, five queries from the migration's begin over five before it:", "",
            *leap_runs.markdown(["query", "writes", "pages", "method", "migration", "before", "during", "after", "five"], rows)]


def gap(report):
    words = "Five queries take longer than before by what the migration takes from them. "
    if report["machine"]["numa_nodes"] == 1:
        words += ("One NumaNode: queries are not faster afterwards, so nothing pays off here. Two cores: with the writer there are three threads, which "
                  "share them.")
    return words
