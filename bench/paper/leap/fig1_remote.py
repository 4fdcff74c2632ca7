"""page_leap, Figure 1: local and remote accesses."""
import common
import table2_nodes
from common import Row, median_of, over

NAME = "leap_fig1_remote"
TITLE = "Figure 1: local and remote accesses"
PROGRAMS = table2_nodes.PROGRAMS
PAPER = """4 GB on the reader's own NumaNode or on the other one of two sockets, read and written in order and at random, with small
pages and huge ones: remote memory is markedly slower in each of the cases, and prefetching does not hide it (2, Figure 1, no numbers in the
text)."""


def measure(lab):
    if common.numa_nodes() == 1:
        raise common.NotPossible("one NumaNode, so there is no remote memory")
    return table2_nodes.measure(lab)


draw = table2_nodes.draw
here = table2_nodes.here


def compare(report):
    rows = []
    for panel in table2_nodes.ALL, table2_nodes.ONE, table2_nodes.LATENCY:
        local = median_of(report, panel, "local")
        rows.append(Row(f"local memory, {panel}", local))
        rows += [Row(f"{name} over local memory, {panel}", over(median_of(report, panel, name), local))
                 for name in sorted({one["series"] for one in common.points_of(report, panel)} - {"local"})]
    return rows


def gap(_report):
    return "Reads alone, on huge pages where the system gives them: the paper also writes, and compares small pages."
