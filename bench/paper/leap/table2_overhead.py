"""page_leap, Table 2: memory and time over memcpy at 100 k writes a second."""
import common
from common import Row, median_of, points_of
from leap import leap_runs
from plot_panels import Panel, figure

NAME = "leap_table2_overhead"
TITLE = "Table 2: memory and time over memcpy at 100 k writes a second"
PROGRAMS = (leap_runs.PROGRAM,)
PAPER = """How much more than the range is copied because areas are written meanwhile, and how much longer the migration takes than memcpy of as many
bytes in the same areas. With the recommended areas both stay at about half or below; with areas of 4 KB nothing is copied twice, and the system calls
take 6.6 times as long as the copy (6, Table 2)."""

METHODS = ("retry", "hold")
RATE = 100_000
COPIED, TIME = "bytes copied over the range's", "time over memcpy of as many bytes"
# (pages, area in KiB) -> overheads of memory and time in %, page_leap's.
PAPER_PERCENT = {("small", 4): (0, 659), ("small", 512): (0.13, 31.3), ("small", 2048): (1.02, 22.9), ("small", 16384): (52.5, 47.5),
                 ("small", 262144): (427.5, 27.5), ("huge", 2048): (1.61, 5.1), ("huge", 16384): (45, 28.4), ("huge", 262144): (420, 18.3)}


def measure(lab):
    points = []
    for pages, kib in PAPER_PERCENT:
        for method in METHODS:
            found = leap_runs.run(lab, method, pages, kib, "--writes-per-s", RATE)
            panel = leap_runs.PAGES[pages]
            points.append(common.point(f"{panel}: {COPIED}", method, kib, "ratio", leap_runs.rounds_of(found, "copied_over_bytes")))
            points.append(common.point(f"{panel}: {TIME}", method, kib, "ratio",
                                       leap_runs.rounds_of(found, lambda one: one["over_memcpy"] / one["copied_over_bytes"])))
    areas = sorted({kib for _, kib in PAPER_PERCENT})
    return {"protocol": {**leap_runs.protocol(lab), "areas_kib": areas}, "points": points, "missing": []}


def draw(report):
    panels = []
    for panel in leap_runs.PAGES.values():
        for what in COPIED, TIME:
            rows = [{"name": f"{one['series']} {leap_runs.short_size(one['x'])}", "values": [one["median"]], "low": one["min"], "high": one["max"]}
                    for one in sorted(points_of(report, f"{panel}: {what}"), key=lambda one: (one["series"], one["x"]))]
            panels.append(Panel(f"{panel}: {what}".capitalize(), rows, ".2f", height=60 + 24 * len(rows)))
    return figure(panels, "Memory and time over memcpy, 100 k writes a second",
                  f"{report['protocol']['mib']} MiB; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    return (f"{did['mib']} MiB, medians of {leap_runs.rounds_in_words(did)}, 100 k random increments a second. Retry is the paper's method; hold copies "
            "nothing twice, but a write waits. Overheads in %, as in the paper: 0 is the same as memcpy.")


def compare(report):
    rows = []
    for (pages, kib), paper in PAPER_PERCENT.items():
        panel = leap_runs.PAGES[pages]
        for method in METHODS:
            for what, unit, percent in zip((COPIED, TIME), ("memory", "time"), paper):
                found = median_of(report, f"{panel}: {what}", method, kib)
                rows.append(Row(f"{panel}, {leap_runs.size(kib)}: {method}, {unit} overhead, %", None if found is None else 100 * (found - 1),
                                percent if method == "retry" else None, "Table 2" if method == "retry" else ""))
    return rows


def gap(report):
    did = report["protocol"]
    words = (f"The range has {did['mib']} MiB for the paper's 4 GB, so an area of 256 MiB is a larger part of it. Memcpy within one NumaNode is "
             "faster than between two, so what system calls cost weighs more here, above all with small pages (Figure 4). The library changes "
             "mappings of anonymous memory with mremap, the paper's program maps parts of a memory file.")
    return words if report["machine"]["numa_nodes"] == 1 else f"{words} {leap_runs.UNBOUND}"
