#!/usr/bin/env python3
"""Energy: what an engine costs that has nothing, or little, to do.

    bench/paper/energy.py <builddir> [--json FILE] [--quick]
"""
import sys

import common
from common import Row, median_of, over, points_of
from plot_panels import Panel, figure

NAME = "energy"
TITLE = "Energy: an idle and a half-loaded engine"
PROGRAM = "bench/paper/engine_energy"
PROGRAMS = (PROGRAM,)
PAPER = """It has no figure on energy. Its AEUs run a loop of grouping, processing and routing commands (3.1, Figure 3), and nothing is said of what
an AEU does that finds no command: one that goes on looking takes a whole core."""

CPUS, WAKE_UPS, WATTS, RATE = "cpus", "wake-ups", "watts", "throughput"
STATES = {"idle": "idle", "half": "half-loaded", "full": "loaded"}
WHOLE, AEUS = "whole process", "AEUs"
# Panel, series, unit, the program's figure.
FIELDS = ((CPUS, WHOLE, "cpus", "cpus"), (CPUS, AEUS, "cpus", "aeu_cpus"), (WAKE_UPS, WHOLE, "1/s", "wakeups_s"),
          (WAKE_UPS, AEUS, "1/s", "aeu_wakeups_s"), (RATE, WHOLE, "batches/s", "batches_s"), (WATTS, "packages", "W", "watts"))


def measure(lab):
    found = lab.json(PROGRAM, "--aeus", lab.cores, "--keys", lab.scale.energy_keys, "--rounds", lab.scale.energy_rounds,
                     "--seconds", lab.scale.energy_s, "--seed", common.SEED)
    points = [common.point(panel, f"{series}, {state}", x, unit, found["states"][key][field])
              for x, (key, state) in enumerate(STATES.items()) for panel, series, unit, field in FIELDS if panel != WATTS or found["packages"]]
    missing = [] if found["packages"] else [{"what": "joules", "why": "the system shows no package's counter in /sys/class/powercap"}]
    return {"protocol": {name: found[name] for name in ("aeus", "keys", "rounds", "seconds", "batch", "packages")}, "points": points, "missing": missing}


def of(report, panel, series, state):
    return median_of(report, panel, f"{series}, {state}")


def bars(report, panel, title, form, series):
    rows = []
    for state in STATES.values():
        found = [one for name in series for one in points_of(report, panel, f"{name}, {state}")]
        rows.append({"name": f"eris {state}".replace("half-loaded", "half"), "values": [one["median"] for one in found], "low": found[0]["min"],
                     "high": found[0]["max"]})
    return Panel(title, rows, form, "pale: the AEUs' threads alone" if len(series) > 1 else "", height=60 + 24 * len(rows), right=90)


def draw(report):
    panels = [bars(report, CPUS, "CPU seconds per second, the whole process", ".2f", (WHOLE, AEUS)),
              bars(report, WAKE_UPS, "Voluntary context switches per second", ",.0f", (WHOLE, AEUS))]
    if points_of(report, WATTS):
        panels.append(bars(report, WATTS, "Watts of all packages, other programs included", ".1f", ("packages",)))
    return figure(panels, "An idle, a half-loaded and a loaded engine",
                  f"{report['protocol']['aeus']} AEUs; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    return (f"An engine of {common.count(did['aeus'], 'AEU')}, one per core, with {did['keys'] / 1e6:.3g} M sparse keys, {did['rounds']} rounds. In each it is "
            f"watched for {did['seconds']:g} s idle, for as long with as many clients as AEUs, one batch of {did['batch']} random keys after the other, "
            "and for as long with the same clients at half of that round's pace; every answer is checked. CPU seconds are the whole process's, clients "
            "included; a wake-up is a voluntary context switch of a thread, as the kernel counts it. "
            + ("Watts are those of the packages' counters, whoever used them. " if did["packages"] else "")
            + "`./dev goals server` has the CPU time of an idle server.")


def compare(report):
    busy = report["protocol"]["aeus"]
    rows = [Row("idle: CPU seconds per second", of(report, CPUS, WHOLE, "idle")),
            Row("idle: the same over AEUs that never sleep, a core each", over(of(report, CPUS, WHOLE, "idle"), busy)),
            Row("idle: wake-ups of AEUs, 1/s", of(report, WAKE_UPS, AEUS, "idle")),
            Row("idle: wake-ups of all threads, 1/s", of(report, WAKE_UPS, WHOLE, "idle")),
            Row("half-loaded: lookups over loaded", over(of(report, RATE, WHOLE, "half-loaded"), of(report, RATE, WHOLE, "loaded"))),
            Row("half-loaded: CPU time over loaded", over(of(report, CPUS, WHOLE, "half-loaded"), of(report, CPUS, WHOLE, "loaded"))),
            Row("half-loaded: wake-ups of AEUs per batch", over(of(report, WAKE_UPS, AEUS, "half-loaded"), of(report, RATE, WHOLE, "half-loaded"))),
            Row("loaded: wake-ups of AEUs per batch", over(of(report, WAKE_UPS, AEUS, "loaded"), of(report, RATE, WHOLE, "loaded")))]
    for state in STATES.values():
        rows.append(Row(f"{state}: watts of all packages", median_of(report, WATTS, f"packages, {state}")))
    return rows


def gap(report):
    words = "The paper has nothing to compare with. Clients run in the engine's process and on its cores, so a loaded engine's time has theirs in it. "
    if not report["protocol"]["packages"]:
        words += "No joule was measured: CPU time and wake-ups, which keep a core from its deeper sleep, stand for them. "
    return words


if __name__ == "__main__":
    common.main(sys.modules[__name__])
