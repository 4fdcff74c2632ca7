"""The paper's decision flowchart (Figure 10, in the words of IV-F) with what this machine says of each branch.

A branch is confirmed if the gain that it promises is there, by the median and in three of four rounds; refuted if it is not;
not testable here if nothing that was measured or counted can tell. Rules read the reports, so another machine may say
something else.
"""
import dataclasses

import affinity
import allocator
import arrival
import autonuma
import combination
import common
import pages
import placement
from common import median_of
from study import cell, number, one_point

CONFIRMED, REFUTED, NOT_TESTABLE = "confirmed", "refuted", "not testable here"
NOTHING = 0.02  # a ratio that is nearer to 1 is no gain
ROUNDS_WITH_GAIN = 0.75  # in that part of the rounds at least


@dataclasses.dataclass(frozen=True)
class Branch:
    advice: str
    mark: str
    reason: str


def done(report):
    return report is not None and report["outcome"] == common.DONE


def judged(gains, reason):
    return (CONFIRMED if gains else REFUTED), reason


def judged_ratio(point, reason):
    """By the time with the advice over that without (study.gain_point)."""
    gains = point["median"] < 1 - NOTHING and point["below"] >= ROUNDS_WITH_GAIN
    return judged(gains, f"{reason}: {cell(point)}, less than 1 in {point['below']:.0%} of the rounds")


def bind(reports):
    report = reports.get(affinity.NAME)
    if not done(report):
        return NOT_TESTABLE, "not measured"
    none, sparse = (one_point(report, "w1 seconds", name) for name in ("none", "sparse"))
    moved = [one_point(report, "w1 migrations", name) for name in ("none", "sparse")]
    text = f"slowest over fastest run {none['max'] / none['min']:.3g} and bound {sparse['max'] / sparse['min']:.3g}"
    if all(moved):
        text += f"; migrations {moved[0]['median']:.0f} and bound {moved[1]['median']:.0f}"
    return judged_ratio(one_point(report, affinity.GAIN, "sparse"), f"W1: {text}; time bound over not bound")


def sparse_over_dense(reports):
    report = reports.get(affinity.NAME)
    dense, sparse = ([median_of(report, panel, name, affinity.HALF) for panel in ("busiest over mean", "own share")] if done(report) else [None, None]
                     for name in ("dense", "sparse"))
    if None in (*dense, *sparse):
        return NOT_TESTABLE, "one NumaNode, and no emulated machine"
    return NOT_TESTABLE, (f"no time on one NumaNode. Counted for W1 on half of the guest's cpus: the busiest NumaNode has {dense[0]:.2f} times the mean dense, "
                          f"{sparse[0]:.2f} sparse; {dense[1]:.2f} and {sparse[1]:.2f} of the lines are from the own NumaNode")


def autonuma_off(reports):
    report = reports.get(autonuma.NAME)
    if not done(report):
        return NOT_TESTABLE, "one NumaNode, and no emulated machine"
    told = "; ".join(f"{case}: {autonuma.total(report, 'pages moved', case, 'on'):,.0f} pages moved, own share "
                     f"{autonuma.last_share(report, case, 'off'):.2f} off, {autonuma.last_share(report, case, 'on'):.2f} on"
                     for case in autonuma.CASES if autonuma.last_share(report, case, "on") is not None)
    return NOT_TESTABLE, f"no time on one NumaNode. Counted for W1: {told}"


def huge_pages_off(reports):
    report = reports.get(pages.NAME)
    if not done(report):
        return NOT_TESTABLE, report["reason"] if report else "not measured"
    return judged_ratio(one_point(report, pages.GAIN, pages.BASE), "W1 and W3, mean over the allocators: time with never over always")


def interleave(reports):
    report = reports.get(placement.NAME)
    if not done(report):
        return NOT_TESTABLE, "one NumaNode, and no emulated machine"
    found = placement.evener(report)
    told = ", ".join(f"{query.upper()} {number(even, '.2f')} for {number(one, '.2f')}" for query, (even, one) in found.items())
    return NOT_TESTABLE, f"no time on one NumaNode. Counted, the busiest NumaNode over the mean, interleaved for first touch by one loader: {told}"


def override(reports):
    report = reports.get(allocator.NAME)
    if not done(report):
        return NOT_TESTABLE, "not measured"
    best = allocator.best_of_heavy(report)
    return judged_ratio(best, f"W1 and W3, mean: time with {best['series']}, the best for them, over {allocator.BASE}")


def heavy_gains_more(reports):
    report = reports.get(allocator.NAME)
    if not done(report):
        return NOT_TESTABLE, "not measured"
    name = allocator.best_of_heavy(report)["series"]
    return judged_ratio(one_point(report, allocator.HEAVY_OVER_LIGHT, name),
                        f"{name} over {allocator.BASE}: the ratio of W1 and W3, divided by that of W2 and W4")


def tbbmalloc(reports):
    report = reports.get(allocator.NAME)
    if not done(report) or one_point(report, "w1 to w3", "tbbmalloc") is None:
        return NOT_TESTABLE, "not measured"
    fastest_first = sorted(common.points_of(report, "w1 to w3"), key=lambda one: one["median"])
    told = ", ".join(f"{one['series']} {one['median']:.3g}" for one in fastest_first)
    mine = one_point(report, "w1 to w3", "tbbmalloc")["median"]
    return judged(mine < fastest_first[0]["median"] * (1 + NOTHING), f"W1 to W3, mean of the time over {allocator.BASE}'s: {told}")


def try_others(reports):
    report = reports.get(combination.NAME)
    if not done(report):
        return NOT_TESTABLE, "not measured"
    name, best = combination.best(report)
    over = one_point(report, combination.OVER_PAPERS, name)
    if over is None:
        return NOT_TESTABLE, "tbbmalloc cannot be preloaded"
    return judged_ratio(over, f"best here: {name}, {best['median']:.3g} of the default's time; over the paper's advice")


def memory_counts(reports):
    report = reports.get(arrival.NAME)
    if not done(report):
        return NOT_TESTABLE, "not measured"
    later = {one["series"]: one["median"] for one in common.points_of(report, "later MB")}
    least, most = min(later, key=later.get), max(later, key=later.get)
    return judged(later[most] > 1.5 * max(1, later[least]), f"5 s after the last query {least} has {later[least]:.0f} MB resident, {most} {later[most]:.0f} MB")


BRANCHES = (
    ("1. Threads: the system moves them. Bind them to cpus.", bind),
    ("1. Threads: if memory bandwidth is the limit, place them sparse.", sparse_over_dense),
    ("2. System, with superuser's rights: switch AutoNUMA off.", autonuma_off),
    ("2. System, with superuser's rights: switch transparent huge pages off.", huge_pages_off),
    ("2. System, without these rights: interleave memory, which mostly makes up for both.", interleave),
    ("3. Allocator: if the workload allocates much, replace the default one.", override),
    ("3. Allocator: a workload that allocates much gains more than one that does not.", heavy_gains_more),
    ("3. Allocator: begin with tbbmalloc.", tbbmalloc),
    ("3. Allocator: try newer ones before choosing.", try_others),
    ("3. Allocator: they differ in the memory that they need.", memory_counts),
)


def branches(reports):
    return [Branch(advice, *judge(reports)) for advice, judge in BRANCHES]


def lines(reports):
    """Markdown."""
    return ["| branch | here | why |", "|---|---|---|", *(f"| {one.advice} | **{one.mark}** | {one.reason} |" for one in branches(reports))]
