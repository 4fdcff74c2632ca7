"""page_leap, Figure 5: small pages that are written while they migrate."""
from leap import leap_runs, writes

NAME = "leap_fig5_small_pages"
TITLE = "Figure 5: small pages, written meanwhile"
PROGRAMS = (leap_runs.PROGRAM,)
PAPER = """Random writes on 4 GB of small pages at 10 K, 100 K and 10 M a second, and skewed. In areas of many sizes page_leap takes less time
than move_pages and AutoNUMA; areas of 16 MB are best at 10 K and 100 K, areas of 512 KB at 10 M. Up to 100 K all methods keep the rate of the
writes. AutoNUMA leaves most of the pages behind after 10 s (6, Figure 5, no numbers in the text)."""

draw, here, compare, details, gap = writes.draw, writes.here, writes.compare, writes.details, writes.gap


def measure(lab):
    return writes.measure(lab, "small")
