"""page_leap, Figure 6: writes a second over a whole run in which the range migrates once."""
import common
from common import Row, points_of
from leap import leap_runs
from plot_panels import OURS, OURS_SECOND, PEER, LinePanel, figure

NAME = "leap_fig6_throughput"
TITLE = "Figure 6: writes a second over a whole run"
PROGRAMS = (leap_runs.PROGRAM,)
PAPER = """The writer goes on for 10 s, whenever the migration ends; small pages. With page_leap 6 M writes a second are still made in full,
where AutoNUMA makes 65 % of them, because the writes are local sooner (6, Figure 6)."""

METHODS = {"none": PEER, "hold": OURS, "retry": OURS_SECOND}
RATES = (1_000_000, 6_000_000, 12_000_000, 24_000_000, 48_000_000)
PAPER_RATE = 6_000_000
AREA_KIB = 16384
PANEL = "writes made"
PART = "part of the writes made"


def measure(lab):
    points = []
    for rate in RATES:
        for method in METHODS:
            found = leap_runs.run(lab, method, "small", AREA_KIB, "--writes-per-s", rate, "--seconds", lab.scale.leap_s)
            points.append(common.point(PANEL, method, rate, "writes/s", leap_runs.rounds_of(found, "writes_s")))
            points.append(common.point(PART, method, rate, "part", leap_runs.rounds_of(found, lambda one: one["writes_s"] / rate),  # noqa: B023
                                       migration_ms=leap_runs.rounds_of(found, "ms")["median"]))
    missing = [leap_runs.NO_MOVE_PAGES, leap_runs.NO_BALANCING] if common.numa_nodes() == 1 else []
    return {"protocol": {**leap_runs.protocol(lab), "seconds": lab.scale.leap_s}, "points": points, "missing": missing}


def draw(report):
    lines = [{"name": name if name != "none" else "no migration", "colour": colour,
              "points": [(one["x"], *(one[key] / 1e6 for key in ("median", "min", "max"))) for one in points_of(report, PANEL, name)]}
             for name, colour in METHODS.items()]
    return figure([LinePanel("M writes/s made", lines, "by M writes/s asked for", name=lambda rate: f"{rate // 1_000_000}")],
                  "Writes of a whole run in which small pages migrate",
                  f"{report['protocol']['mib']} MiB, {report['protocol']['seconds']:g} s; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    return (f"{did['mib']} MiB of small pages in areas of {leap_runs.size(AREA_KIB)}; the writer goes on for {did['seconds']:g} s from the "
            f"migration's begin (the paper: 10 s), medians of {did['rounds']} rounds. Beside it the same writer without a migration.")


def compare(report):
    rows = []
    for rate in RATES:
        for method in METHODS:
            for one in points_of(report, PART, method, rate):
                paper = rate == PAPER_RATE and method == "retry"
                rows.append(Row(f"{rate / 1e6:.0f} M writes/s asked for, {method if method != 'none' else 'no migration'}: part that was made",
                                one["median"], 1 if paper else None, "6, Figure 6" if paper else ""))
    return rows


def gap(report):
    words = ("A writer that has waited makes up for it later, so a rate is kept as long as the core can do more than that. What is missing at "
             "the highest rates is missing without a migration, too, or was spent waiting for areas. ")
    if report["machine"]["numa_nodes"] == 1:
        words += "One NumaNode: there are no remote writes that a migration could end, which is what the paper's figure is about."
    return words
