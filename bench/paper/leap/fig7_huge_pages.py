"""page_leap, Figure 7: huge pages that are written while they migrate."""
from leap import leap_runs, writes

NAME = "leap_fig7_huge_pages"
TITLE = "Figure 7: huge pages, written meanwhile"
PROGRAMS = (leap_runs.PROGRAM,)
PAPER = """As Figure 5 with huge pages, the highest rate being 100 M a second. Areas of 16 MB are up to twice as fast as move_pages at 10 K and
100 K and with skew; at 100 M move_pages is less disturbed, but lets fewer writes through. AutoNUMA moves all pages, some of them after the
writes have ended (6, Figure 7)."""

draw, here, compare, details, gap = writes.draw, writes.here, writes.compare, writes.details, writes.gap


def measure(lab):
    return writes.measure(lab, "huge")
