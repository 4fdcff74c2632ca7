#!/usr/bin/env python3
"""Figure 13: lookups while the load shifts, with and without the balancer.

    bench/paper/fig13_dynamic.py <builddir> [--json FILE] [--quick]
"""
import statistics
import sys

import common
from common import Row, median_of, over, points_of
from lab_process import rotated

# By path: folders have files of the same names.
balancer = common.module("bench/balancer/run.py")
plot = common.module("bench/balancer/plot.py")

NAME = "fig13_dynamic"
TITLE = "Figure 13: lookups while the load shifts"
SHIFTING, STEPPED = "bench/balancer/shifting_load", "bench/balancer/stepped_load"
PROGRAMS = (SHIFTING, STEPPED)
PAPER = """Lookups of 512 M keys on the AMD machine: all keys for 10 s, then only the middle half, which moves four times by a 64th, every
20 s. Without the balancer, with One-Shot, and with moving averages over 1 and 8 neighbours. One-Shot drops deepest and recovers
fastest, MA1 drops least and takes longest, MA8 is between; with each the throughput comes back to its maximum (4.3, Figure 13,
which has no numbers in the text)."""

RATE, EVENNESS = "throughput", "evenness"
PERIOD_MS = 500
AEUS, TOPOLOGY = 64, "numa:8 core:8 pu:1"  # stepped in turn
CYCLES = {"one_shot": 16, "ma(8)": 64, "ma(1)": 1000}  # observed cycles, stepped
NAMES = {"off": "off", "one_shot": "one-shot", "ma(1)": "MA1", "ma(8)": "MA8"}
PROCESSES = "processes"  # no algorithm: one engine per core, in a process of its own
CURVES = {**NAMES, PROCESSES: "N processes"}


def algorithms(aeus):
    # A moving average over all AEUs is one-shot.
    return ["off", "one_shot"] + [f"ma({k})" for k in (1, 8) if 2 * k + 1 < aeus]


def curves(aeus):
    return [*algorithms(aeus), PROCESSES]


def in_turns(rounds, names, run):
    """Name -> the results of run(name, round)."""
    found = {name: [] for name in names}
    for number in range(rounds):
        for name in rotated(names, number):
            found[name].append(run(name, number))
    return found


def middle(runs):
    """At each step of the rounds' lines the median, the least and the largest. Rounds may differ by a step."""
    steps = list(zip(*runs))
    return tuple([round(pick(values), 3) for values in steps] for pick in (statistics.median, min, max))


def shifting(lab, aeus, timelines):
    """Points by curve: parts of the even load's throughput."""
    scale, points = lab.scale, []

    def run(curve, number):
        which = ("--processes", aeus) if curve == PROCESSES else ("--algorithm", curve, "--aeus", aeus)
        report = lab.json(SHIFTING, *which, "--load", "shift", "--keys", scale.dynamic_keys, "--phase-s", scale.dynamic_phase_s, "--phases", 5,
                          "--period-ms", PERIOD_MS, "--seed", common.SEED + number, *(["--dense"] if scale.dynamic_dense else []))
        even = balancer.Throughput(report).mean(report["phase_s"] / 2, report["phase_s"])
        return (even, [balancer.figures_of_phase(report, phase, even) for phase in range(1, len(report["phases"]))], balancer.timeline(report))

    for curve, runs in in_turns(scale.dynamic_rounds, curves(aeus), run).items():
        lines = [timeline for _, _, timeline in runs]
        median, low, high = middle([one["mkeys_s"] for one in lines])
        timelines[curve] = {"mkeys_s": median, "low": low, "high": high, "phase_s": lines[0]["phase_s"], "phases": lines[0]["phases"],
                            "transfers": [moved for one in lines for moved in one["transfers"]]}
        name = CURVES[curve]
        points.append(common.point(RATE, f"{name}: even load", 0, "M lookups/s", [even / 1e6 for even, _, _ in runs]))
        for phase in range(len(runs[0][1])):
            of_phase = [figures[phase] for _, figures, _ in runs]
            points.append(common.point(RATE, f"{name}: keys at the end", phase + 1, "M lookups/s",
                                       [even / 1e6 * figures[phase]["last_over_balanced"] for even, figures, _ in runs]))
            for series, key in ("first", "first_over_balanced"), ("last", "last_over_balanced"), ("dip", "dip"):
                values = [one[key] for one in of_phase if key in one]
                if values:
                    points.append(common.point(RATE, f"{name}: {series}", phase + 1, "part of the even load's", values))
            back = [one["back_after_cycles"] for one in of_phase]
            if None not in back:
                points.append(common.point(RATE, f"{name}: back after", phase + 1, "cycles", back))
    return points


def stepped(lab, drawn):
    """Balancing cycles until the busiest of 64 AEUs is within 20 % of the optimum after the shift to the middle
    half.
    """
    def run(algorithm, number):
        return lab.json(STEPPED, "--topology", TOPOLOGY, "--aeus", AEUS, "--load", "middle", "--algorithm", algorithm, "--phases", 1,
                        "--cycles", min(CYCLES[algorithm], lab.scale.dynamic_cycles_max), "--asked", lab.scale.dynamic_asked,
                        "--seed", common.SEED + number)["phases"][1]

    points = []
    for algorithm, phases in in_turns(lab.scale.dynamic_rounds, list(CYCLES), run).items():
        median, low, high = middle([phase["max_over_mean"] for phase in phases])
        drawn[algorithm] = [{}, {"max_over_mean": median, "low": low, "high": high}]
        needed = [balancer.cycles_to(phase["max_over_mean"], 1.2 * phase["bound"]) for phase in phases]
        moved = [max(phase["rows_moved"], default=0) for phase in phases]
        points.append(common.point(EVENNESS, f"{NAMES[algorithm]}: rows moved in one cycle", AEUS, "rows, at most", moved))
        if None not in needed:
            points.append(common.point(EVENNESS, f"{NAMES[algorithm]}: cycles", AEUS, "cycles", needed))
    return points


def measure(lab):
    aeus, missing, timelines, drawn = max(2, lab.cores), [], {}, {}
    points = common.attempt(missing, "the shifting load", shifting, lab, aeus, timelines) or []
    if lab.scale.dynamic_asked:
        points += common.attempt(missing, "64 AEUs, stepped", stepped, lab, drawn) or []
    for algorithm in NAMES:
        if algorithm not in algorithms(aeus):
            missing.append({"what": f"{NAMES[algorithm]} on real AEUs", "why": f"with {aeus} AEUs it is one-shot"})
    return {"protocol": {"aeus": aeus, "keys": lab.scale.dynamic_keys, "phase_s": lab.scale.dynamic_phase_s, "period_ms": PERIOD_MS,
                         "time_scale": lab.scale.dynamic_phase_s / 20, "rounds": lab.scale.dynamic_rounds, "dense": lab.scale.dynamic_dense,
                         "stepped_cycles": {NAMES[algorithm]: cycles for algorithm, cycles in CYCLES.items()}},
            "timelines": timelines, "curves": drawn, "points": points, "missing": missing}


def draw(report):
    drawn = {"shifting": {"shift": {name: {"timeline": one} for name, one in report["timelines"].items()}},
             "stepped": {f"{AEUS} AEUs": {"middle": report["curves"]}}}
    parts = []
    if report["timelines"]:
        parts.append(lambda top: plot.shifting(drawn, "shift", top, "Half of the keys, then that half moved up four times; bands: least and most; "
                                                  "bars: transfers"))
    if report["curves"]:
        parts.append(lambda top: plot.stepped(drawn, f"{AEUS} AEUs", top))
    did = report["protocol"]
    return plot.picture(parts, f"{did['keys'] / 1e6:.3g} M keys, {did['aeus']} AEUs with the clients, a balancing cycle each {PERIOD_MS} ms; "
                        + common.describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    kind = "dense" if did["dense"] else "sparse"
    text = (f"Lookups by 4 clients, on the same cores as {did['aeus']} AEUs, {did['keys'] / 1e6:.3g} M {kind} keys: all keys, then the lower "
            f"half (the middle one would leave two AEUs balanced), moved up four times by a 64th, a phase of {did['phase_s']:g} s for the "
            f"paper's 20 s, a balancing cycle each {PERIOD_MS} ms. "
            + (f"{did['rounds']} rounds in turns, each with other random keys; lines are the rounds' medians at each tenth of a second, bands their "
               "least and most." if did["rounds"] > 1 else "One round.") + f" *{CURVES[PROCESSES]}*: "
            f"{did['aeus']} processes bound to a core each, each an engine of one AEU with an equal range of the keys, as one would start "
            "a server per NumaNode; the same clients cut each batch by ranges and hand the pieces over in shared "
            "memory, which Figures 1 and 8 leave out. No range can change hands there.")
    if report["curves"]:
        text += (f" The algorithms apart: {AEUS} AEUs of a synthetic machine of 8 NumaNodes, stepped one after the other, the middle half as "
                 "in the paper; counted are balancing cycles, not seconds; as many rounds.")
    return text


def of_all_phases(report, series, pick=statistics.median):
    found = [one["median"] for one in points_of(report, RATE, series)]
    return pick(found) if found else None


def not_back(report):
    """Phases in which a round of one-shot has not recovered to 95 % of the even load, and all phases."""
    phases = {one["x"] for one in points_of(report, RATE, "one-shot: last")}
    return phases - {one["x"] for one in points_of(report, RATE, "one-shot: back after")}, phases


def never_even(report):
    """Name -> the cycles in which a stepped algorithm has not come within 20 % of even."""
    return {name: cycles for name, cycles in report["protocol"]["stepped_cycles"].items()
            if points_of(report, EVENNESS, f"{name}: rows moved in one cycle") and not points_of(report, EVENNESS, f"{name}: cycles")}


def compare(report):
    rows, (late, phases), never = [], not_back(report), never_even(report)
    for curve in report["timelines"]:
        balanced = curve not in ("off", PROCESSES)
        rows.append(Row(f"{CURVES[curve]}: end of a phase over the even load, the worst phase", of_all_phases(report, f"{CURVES[curve]}: last", min),
                        1 if balanced else None, "Figure 13, its maximum again" if balanced else ""))
    for words, series in ("even load", "even load"), ("end of a phase, the median phase", "keys at the end"):
        rows.append(Row(f"one-shot over {CURVES[PROCESSES]}, lookups/s: {words}",
                        over(*(of_all_phases(report, f"{name}: {series}") for name in ("one-shot", CURVES[PROCESSES])))))
    rows += [Row("one-shot over off: end of a phase, the median phase",
                 over(of_all_phases(report, "one-shot: last"), of_all_phases(report, "off: last"))),
             Row("one-shot: back at 95 % after, cycles, the slowest phase",
                 None if late else of_all_phases(report, "one-shot: back after", max),
                 instead=f"not back in {len(late)} of {len(phases)} phases" if late else ""),
             Row("one-shot: deepest fall while it moves ranges", of_all_phases(report, "one-shot: dip", max),
                 instead="it moved nothing" if phases else "")]
    for name in ("one-shot", "MA8", "MA1"):
        rows.append(Row(f"{AEUS} stepped AEUs, {name}: cycles until even within 20 %", median_of(report, EVENNESS, f"{name}: cycles"),
                        instead=f"not even within {never[name]} cycles" if name in never else ""))
    for name in ("one-shot", "MA8", "MA1"):
        rows.append(Row(f"{AEUS} stepped AEUs, {name}: most rows moved in one cycle",
                        median_of(report, EVENNESS, f"{name}: rows moved in one cycle")))
    return rows


def gap(report):
    did, (late, phases) = report["protocol"], not_back(report)
    words = f"{did['aeus']} AEUs for the paper's 64, {did['keys'] / 1e6:.3g} M keys for 512 M. "
    if report["machine"]["cores"] < 3:
        words += ("Clients share the cores with the AEUs and use what an idle AEU leaves, so a load on one AEU alone costs less throughput "
                  "than it would on a machine of many cores. ")
    if report["machine"]["numa_nodes"] == 1:
        words += "One NumaNode: ranges move by link alone; copies are in docs/lab/measured_balancer.md. "
    if late:
        words += (f"One-shot did not come back to 95 % of the even load in {len(late)} of {len(phases)} phases, in one of its rounds at "
                  "least; in the paper it comes back with each algorithm. ")
    for name, cycles in never_even(report).items():
        words += f"{AEUS} stepped AEUs were not even within {cycles} cycles of {name}. "
    return words


if __name__ == "__main__":
    common.main(sys.modules[__name__])
