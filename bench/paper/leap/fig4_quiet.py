"""page_leap, Figure 4: migration without writers, by the area's size."""
import common
from common import Row, median_of, points_of
from leap import leap_runs
from plot_panels import figure

NAME = "leap_fig4_quiet"
TITLE = "Figure 4: migration without writers, by the area's size"
PROGRAMS = (leap_runs.PROGRAM,)
PAPER = """4 GB without accesses, in areas of 4 KB to 256 MB. Only with areas of 4 KB page_leap is slower than move_pages; from 64 KB (small
pages) and 16 MB (huge pages) on it takes half as long or less. At 16 MB it is as fast as memcpy with both kinds of pages (5, Figure
4)."""

METHODS = ("owner", "hold")
OVER = "over memcpy"  # behind the panel's name
BESIDE = "a reader beside it"
PAPER_KIB = 16384


def measure(lab):
    points, scale = [], lab.scale
    for pages, panel in leap_runs.PAGES.items():
        for kib in leap_runs.areas(scale, pages):
            for method in METHODS:
                found = leap_runs.run(lab, method, pages, kib)
                points.append(common.point(panel, method, kib, "ms", leap_runs.rounds_of(found, "ms")))
                points.append(common.point(f"{panel}, {OVER}", method, kib, "ratio", leap_runs.rounds_of(found, "over_memcpy")))
                if method == METHODS[-1]:
                    points.append(common.point(panel, leap_runs.MEMCPY, kib, "ms", leap_runs.rounds_of(found, "memcpy_ms")))
        for kib in leap_runs.RECOMMENDED_KIB[pages]:
            points.append(beside(lab, pages, kib))
    missing = [leap_runs.NO_MOVE_PAGES] if common.numa_nodes() == 1 else []
    return {"protocol": leap_runs.protocol(lab), "points": points, "missing": missing}


def beside(lab, pages, kib):
    """What a thread reads that sums up the range meanwhile."""
    found = leap_runs.run(lab, "hold", pages, kib, "--reader", "--alone-ms", leap_runs.ALONE_MS)
    median = lambda of: leap_runs.rounds_of(found, of)["median"]  # noqa: E731
    return common.point(BESIDE, pages, kib, "GB/s", leap_runs.rounds_of(found, "read_gb_s"), alone=median("alone_read_gb_s"),
                        longest_us=median("longest_read_us"), over_memcpy=median("over_memcpy"))


def draw(report):
    panels = [leap_runs.lines_by_area(report, panel, f"{panel.capitalize()}, no writers") for panel in leap_runs.PAGES.values()]
    return figure(panels, "Migration without writers", f"{report['protocol']['mib']} MiB; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    return (f"{did['mib']} MiB in areas of {leap_runs.size(did['areas_kib'][0])} to {leap_runs.size(did['areas_kib'][-1])} (huge pages: from "
            f"{leap_runs.size(leap_runs.HUGE_KIB)} on), medians of {leap_runs.rounds_in_words(did)}, each over memcpy of the same pieces into the same "
            "pool in the same round. Owner: nobody else writes; hold: anybody may. Then a second thread sums up the range meanwhile.")


def compare(report):
    return [Row(f"{panel}, areas of {leap_runs.size(kib)}: {method} over memcpy", found, 1 if kib == PAPER_KIB else None,
                "5: at 16 MB the optimum" if kib == PAPER_KIB else "")
            for pages, panel in leap_runs.PAGES.items() for kib in (4, *leap_runs.RECOMMENDED_KIB[pages]) for method in METHODS
            if (found := median_of(report, f"{panel}, {OVER}", method, kib)) is not None]


def details(report):
    rows = [[one["series"], leap_runs.size(one["x"]), f"{one['over_memcpy']:.2f}", f"{one['alone']:.1f}", f"{one['median']:.1f}",
             f"{one['longest_us'] / 1e3:.2f}"] for one in points_of(report, BESIDE)]
    return ["With a reader on the other core, by hold:", "",
            *leap_runs.markdown(["pages", "area", "over memcpy", "reader before, GB/s", "meanwhile", "longest read of 16 KiB, ms"], rows)]


def gap(report):
    words = ("A change of the mapping costs some microseconds, so areas of 4 KiB take far longer than the copy, as in the paper. With small "
             "pages hold stays above memcpy also for large areas: the kernel protects, moves and frees the entries of the page table one by "
             "one. A reader and the copy share the memory's bandwidth; after the remap the reader's next access to each page is a fault of the page "
             "table or of the TLB.")
    return words if report["machine"]["numa_nodes"] == 1 else f"{words} {leap_runs.UNBOUND}"
