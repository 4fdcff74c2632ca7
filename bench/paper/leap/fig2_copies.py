"""page_leap, Figure 2: move_pages and memcpy."""
import common
from common import Row, median_of, over, points_of
from leap import leap_runs
from plot_panels import Panel, figure

NAME = "leap_fig2_copies"
TITLE = "Figure 2: move_pages and memcpy into fresh and into pooled memory"
PROGRAMS = (leap_runs.PROGRAM,)
PAPER = """4 GB from one NumaNode to the other. With small pages move_pages takes 18 % longer than memcpy into memory that nobody has
touched, and 82 % longer than memcpy into a pool whose pages are there. With huge pages it takes 46 % longer than memcpy into a pool, and
slightly less than memcpy into fresh memory (3, Figure 2)."""

POOL, FRESH, ASKED = "memcpy, pool", "memcpy, fresh", "move_pages"
AREA_KIB = 16384
# The time of memcpy into fresh memory over that of memcpy into a pool, from the paper's overheads.
PAPER_FRESH = {"small": (1.82 / 1.18, "3: 82 % and 18 %"), "huge": (1.46, "3: 46 %, and somewhat more")}


def measure(lab):
    points = []
    for pages, panel in leap_runs.PAGES.items():
        found = leap_runs.run(lab, "kernel", pages, AREA_KIB, "--fresh")
        for series, field in (POOL, "memcpy_ms"), (FRESH, "fresh_memcpy_ms"), (ASKED, "ms"):
            points.append(common.point(panel, series, AREA_KIB, "ms", leap_runs.rounds_of(found, field)))
    missing = [leap_runs.NO_MOVE_PAGES] if common.numa_nodes() == 1 else []
    return {"protocol": leap_runs.protocol(lab), "points": points, "missing": missing}


def draw(report):
    panels = [Panel(f"{panel.capitalize()}, ms", [{"name": one["series"], "values": [one["median"]], "low": one["min"], "high": one["max"]}
                                                for one in points_of(report, panel)], ".0f", height=60 + 24 * 3)
              for panel in leap_runs.PAGES.values()]
    return figure(panels, "Copies of a range", f"{report['protocol']['mib']} MiB; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    return (f"{did['mib']} MiB in pieces of {leap_runs.size(AREA_KIB)}, medians of {did['rounds']} rounds: memcpy into a pool, memcpy into "
            "memory that nobody has touched, and move_pages.")


def compare(report):
    rows = []
    for pages, panel in leap_runs.PAGES.items():
        pool = median_of(report, panel, POOL)
        paper, source = PAPER_FRESH[pages]
        rows.append(Row(f"{panel}: memcpy into a pool, GB/s", over(report["protocol"]["mib"] * 1.048576 / 1e3, pool and pool / 1e3)))
        rows.append(Row(f"{panel}: memcpy into fresh memory over memcpy into a pool", over(median_of(report, panel, FRESH), pool), paper,
                        source))
        rows.append(Row(f"{panel}: move_pages over memcpy into a pool", over(median_of(report, panel, ASKED), pool)))
    return rows


def gap(report):
    if report["machine"]["numa_nodes"] == 1:
        return ("One NumaNode: move_pages finds all pages where they should be. Its time is that of asking for each page, without a copy, so "
                "it is not to be compared with the paper's. What a pool saves is the first touch of each page, which in a virtual machine "
                "may also have to get the page from the host.")
    return leap_runs.UNBOUND
