"""How long a machine takes for work whose cache lines have been counted. Arithmetic, nothing else.

The work is a lookup, an upsert, or a line of a column. Its time on the whole machine is that of the slowest of the terms
below: all of them run at once, so they do not add up.
"""
import bisect
import dataclasses
import math

LINE = 64  # bytes

WAITING = "waiting"  # of threads for lines: latency of each line, divided by the lines that a thread waits for at a time
DISTANCE = "slowest distance"  # gives a NumaNode the lines that come over it, at Table 2's bandwidth
READING = "reading"  # instead of these, if the work goes from page to page: lines of all distances, one after another
MEMORY = "busiest memory"  # gives its lines at the local bandwidth, and no faster, whoever reads
OUT = "busiest way out"  # the links of the NumaNode with the busiest memory carry the lines that others read there
LINKS = "all links"  # carry each line over as many links as it has hops


@dataclasses.dataclass(frozen=True)
class Work:
    """What one piece of work takes on average, with `numa_nodes` NumaNodes."""
    own: float  # lines from memory of the own NumaNode
    other: float  # lines from other NumaNodes
    calls: float  # accesses that wait for another NumaNode, which gives up its copy, and get no line
    busiest: float  # part of the lines that the busiest NumaNode's memory gives
    numa_nodes: int

    @property
    def lines(self):
        return self.own + self.other

    def on(self, numa_nodes):
        """The same with another number of NumaNodes, 2 or more. Lines a piece of work do not change. What goes to other
        NumaNodes grows as 1 - 1/n does: that is the chance that something placed at random is elsewhere. The busiest memory's
        part is a power of n: 1/n where memory is even, 1 where all is on one NumaNode."""
        grows = (1 - 1 / numa_nodes) / (1 - 1 / self.numa_nodes)
        other = min(self.lines, self.other * grows)
        power = math.log(self.busiest) / math.log(self.numa_nodes)
        return Work(self.lines - other, other, self.calls * grows, numa_nodes ** power, numa_nodes)


class Curve:
    """Work by pressure: bytes of the data over bytes of the cache. Between two counted pressures by the logarithm; outside of
    them the nearest."""

    def __init__(self, points):
        self.points = sorted(points, key=lambda point: point[0])

    def at(self, pressure):
        pressures = [one for one, _ in self.points]
        above = bisect.bisect(pressures, pressure)
        if above in (0, len(pressures)):
            return self.points[min(above, len(pressures) - 1)][1]
        (low, less), (high, more) = self.points[above - 1:above + 1]
        part = math.log(pressure / low) / math.log(high / low)
        return Work(*(a + part * (b - a) for a, b in zip(dataclasses.astuple(less)[:-1], dataclasses.astuple(more)[:-1])), less.numa_nodes)


def waiting_ns(machine, work):
    """Of one thread that waits for one line after another."""
    return work.own * machine.ns + (work.other + work.calls) * machine.mean(lambda one: one.ns)


def terms(machine, work, outstanding=None):
    """ns of the whole machine, of work.numa_nodes NumaNodes, for one piece of work: by term. `outstanding`: lines that a thread
    waits for at a time; None: the work goes from page to page, and Table 2's bandwidths have the waiting in them."""
    nodes = work.numa_nodes
    found = {MEMORY: LINE * work.lines * work.busiest / machine.gb_s,
             OUT: LINE * work.other * work.busiest / machine.out_gb_s,
             LINKS: LINE * work.other * machine.mean(lambda one: one.hops) / (machine.links_gb_s * nodes / machine.numa_nodes)}
    if outstanding is None:
        found[READING] = LINE * (work.own / machine.gb_s + work.other * machine.mean(lambda one: 1 / one.gb_s)) / nodes
    else:
        found[WAITING] = waiting_ns(machine, work) / (outstanding * machine.threads * nodes)
        found[DISTANCE] = LINE * work.other / (nodes - 1) / min(one.gb_s for one in machine.distances) / nodes
    return found


def limit(found):
    """The name of the longest term."""
    return max(found, key=found.get)


def ns(machine, work, outstanding=None):
    return max(terms(machine, work, outstanding).values())


def gb_s(machine, work, outstanding=None):
    """Lines of the work in GB/s: what memories give."""
    return LINE * work.lines / ns(machine, work, outstanding)


def outstanding_for(machine, work, memory_gb_s):
    """How many lines a thread must wait for at a time, so that memories give that much."""
    return memory_gb_s * waiting_ns(machine, work) / (LINE * work.lines * machine.threads * work.numa_nodes)
