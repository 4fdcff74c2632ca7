"""The AutoNUMA axis: the kernel moves pages, and threads, to each other."""
import common
import counted
from common import Row, median_of, point, points_of
from counted import NUMA_NODES, Run
from linear_panel import LinearPanel
from plot_panels import figure
from study import COUNTED, IMPOSSIBLE, NO_NUMBER, Way, table

NAME = "autonuma"
TITLE = "AutoNUMA"
PROGRAMS = counted.PROGRAMS
PAPER = """The kernel's NUMA balancing on, as systems come, or off (III-D2). On, W1 takes longer with first touch, interleaved and
localalloc; with first touch it takes 86 % longer than interleaved without, although more of its accesses are local (IV-C1, Figures 5a and
5b; the text gives no number of the share). It moves pages between NumaNodes that share them, and does not count what that costs."""

QUERY = "w1"
SWITCH = ("off", "on")
CASES = {"first touch": ("first-touch", "threads"), "first touch, one loader": ("first-touch", "main"), "interleaved": ("interleave", "threads")}
COUNTERS = {"numa_pages_migrated": "pages moved", "numa_hint_faults": "faults to learn by"}
PHASES_OF_BOOT = counted.PHASES_MAX
COLOURS = {"first touch": "#2471a3", "first touch, one loader": "#c0392b", "interleaved": "#1e8449"}


def runs_in_guest(lab, case):
    placement, load = CASES[case]
    return [Run(f"{case}: {switch}", ("--query", QUERY, "--scale", lab.scale.guest_data / 2, "--placement", placement, "--load", load),
                repeats=lab.scale.guest_repeats, autonuma=switch) for switch in SWITCH]


def measure(lab):
    missing, points = [], []
    for case in CASES:
        found = common.attempt(missing, f"pages moved, and whose memory is read: {case}", counted.lines, lab, runs_in_guest(lab, case)) or {}
        for name, repetitions in found.items():
            switch = name.split(": ")[1]
            for i, lines in enumerate(repetitions, 1):
                points += [point(f"own share, {switch}", case, i, "part of the lines", [lines.own_share]),
                           point(f"busiest over mean, {switch}", case, i, "", [lines.busiest_over_mean]),
                           *(point(f"{what}, {switch}", case, i, "", [lines.told["balancing"][counter]]) for counter, what in COUNTERS.items())]
    missing.append({"what": "run time", "why": "one NumaNode: there is nowhere to move to" if common.numa_nodes() == 1 else
                    "the study leaves the machine's own balancing alone"})
    return {"protocol": {"guest_data": lab.scale.guest_data / 2, "repeats": lab.scale.guest_repeats}, "points": points, "missing": missing}


def ways(report):
    out = [Way("run time", IMPOSSIBLE, report["missing"][-1]["why"] if report["missing"] else "")]
    if report["points"]:
        return [*out, Way("pages moved, share of lines from the own NumaNode over repetitions", COUNTED,
                          "the kernel's periods are a hundredth of its own")]
    return [*out, Way("pages moved, share of lines from the own NumaNode", IMPOSSIBLE, "the emulated machine was not to be had")]


def draw(report):
    panels, highest = [], max(one["max"] for one in report["points"] if one["panel"].startswith("own share"))
    for switch in SWITCH:
        lines = [{"name": case.replace("first touch, one loader", "one loader"), "colour": COLOURS[case],
                  "points": [(one["x"], one["median"]) for one in points_of(report, f"own share, {switch}", case)]}
                 for case in CASES if points_of(report, f"own share, {switch}", case)]
        if lines:
            panels.append(LinearPanel(f"AutoNUMA {switch}: lines from the own NumaNode, share", lines, f"by repetition of W1, {NUMA_NODES} emulated NumaNodes",
                                      form=".2f", highest=highest))
    return figure(panels, "Whose memory the blind program reads while the kernel balances", "counted in the emulated machine; no times")


def here(report):
    did = report["protocol"]
    return (f"In the emulated machine of {NUMA_NODES} NumaNodes of 2 cpus: W1 at {did['guest_data']:g} of the paper's sizes, {did['repeats']} times over "
            "the same records in one process, a thread for each cpu, not bound, so that the kernel may move threads as well. Its periods are set to 10 "
            "ms, and its delay to 1 ms, for its own second each: the emulated program would have ended before. Kernel 6.1; the switch is the guest's "
            "alone.")


def last_share(report, case, switch):
    found = points_of(report, f"own share, {switch}", case)
    half = found[len(found) // 2:]
    return sum(one["median"] for one in half) / len(half) if half else None


def total(report, what, case, switch):
    found = points_of(report, f"{what}, {switch}", case)
    return sum(one["median"] for one in found) if found else None


def compare(report):
    rows = [Row("W1: time with AutoNUMA and first touch over interleaved without", None, 1.86, "IV-C1")]
    for case in CASES:
        rows += [Row(f"counted: share from the own NumaNode in the later half, {case}, on over off",
                     common.over(last_share(report, case, "on"), last_share(report, case, "off")),
                     source="Figure 5b, higher; the paper's text gives no number"),
                 Row(f"counted: pages moved, {case}, on", total(report, "pages moved", case, "on"), source=NO_NUMBER)]
    return rows


def details(report):
    rows = []
    for case in CASES:
        for switch in SWITCH:
            shares = points_of(report, f"own share, {switch}", case)
            if shares:
                rows.append([f"{case}, {switch}", *(f"{median_of(report, f'own share, {switch}', case, x):.3f}" for x in (1, len(shares) // 2, len(shares))),
                             f"{median_of(report, f'busiest over mean, {switch}', case, len(shares)):.2f}",
                             *(f"{total(report, what, case, switch):,.0f}" for what in COUNTERS.values())])
    middle = report["protocol"]["repeats"] // 2
    return table(("placement, AutoNUMA", "own share, repetition 1", f"{middle}", f"{report['protocol']['repeats']}", "busiest over mean, last",
                  *COUNTERS.values()), rows) if rows else ["Nothing was counted."]


def gap(_report):
    return ("Only what the kernel moves is seen, not what it costs, and the cost is what the paper is about. The program's data is smaller than the "
            "paper's by a factor of hundreds, and the kernel's periods are a hundredth: how often it meets a page is not the paper's.")
