#!/usr/bin/env python3
"""The balancer's benchmark: a changing load, on real AEUs and on many stepped ones, copies during lookups, and transfers
alone.

    bench/balancer/run.py <builddir> [--parts shifting,copy,leap,...] [--rounds 3]
                          [--keys 16777216] [--phase-s 4] [--period-ms 500] [--json out.json] [--tiny]

  shifting  lookups on two AEUs, one per core: all keys, the lower half, then that half moved up four times by a
            64th; off and one-shot. Once, Zipf's law and 100 hot keys that move. Throughput by time, the time until
            it is back, its minimum from the first transfer on, p99.9 of the batches
  copy      a quarter of the data is copied to and fro during lookups at a steady pace
  leap      the same between two synthetic NumaNodes, by leap until all is at home, and by copy
  turns     whole turns of two stepped AEUs while a part of an object of each kind is copied to and fro: their CPU time
  scan_begins  the delay before a scan of a table starts while an eighth of its rows moves all the time
  stepped   8 and 64 AEUs of synthetic topologies, stepped in turn: the load of the most loaded AEU over the mean, per
            cycle, when the load moves to the middle half of the keys, for one-shot, ma(8), ma(1); and one-shot for
            Zipf and 100 hot keys
  transfer  a link of ten million keys; copies compared with a plain flatten-and-rebuild

Figures of several rounds are medians, with minimum and maximum. On two AEUs every moving average is one-shot. The whole
run takes seven minutes on two cores. --tiny: only checks that it runs, in seconds; the figures mean nothing.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..")]
from lab_process import machine, spread  # noqa: E402

PARTS = ("shifting", "copy", "leap", "turns", "scan_begins", "stepped", "transfer")
WINDOW_S = 0.1  # window in which a dip is searched
# Values without a flag: phases after the even one, of a copy and its rest, of a stepped run; `transfer`: millions of
# keys.
SIZES = {"phases_max": 5, "copies": 3, "steady_s": 1, "cycles_max": 1000, "stepped_keys": 1 << 20, "asked": 1 << 18, "transfer": 10, "turns_share": 1, "turns": 200, "begins": 2000}
TINY = {"rounds": 1, "keys": 1 << 16, "phase_s": 0.4, "period_ms": 50, "phases_max": 1, "copies": 1, "steady_s": 0.1, "cycles_max": 3,
        "stepped_keys": 1 << 14, "asked": 1 << 12, "transfer": 0.1,
        "turns_share": 50, "turns": 5, "begins": 50}


def run(command):
    return json.loads(subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout)


class Throughput:
    """Keys per second of a run of shifting_load, in windows."""

    def __init__(self, report):
        self.step = report["window_ms"] / 1000
        self.keys = report["keys"]
        self.span = round(WINDOW_S / self.step)

    def at(self, second):
        """For the window of 100 ms that begins there."""
        first = int(second / self.step)
        return sum(self.keys[first:first + self.span]) / WINDOW_S

    def between(self, begin, end):
        """For each window of 100 ms inside; one begins every 10 ms."""
        first, last = int(begin / self.step + 0.999), int(end / self.step)
        return [sum(self.keys[i:i + self.span]) / WINDOW_S for i in range(first, last - self.span + 1)]

    def mean(self, begin, end):
        first, last = int(begin / self.step), int(end / self.step)
        return sum(self.keys[first:last]) / ((last - first) * self.step)


def figures_of_phase(report, number, balanced):
    """How the run recovered from its `number`-th phase; `balanced`: keys/s of the even load."""
    speed = Throughput(report)
    begin, end = number * report["phase_s"], (number + 1) * report["phase_s"]
    windows = speed.between(begin, end)
    ahead = round(1 / speed.step)  # one second: it has recovered if it stays there
    back = next((i for i in range(len(windows)) if windows[i] >= 0.95 * balanced
                 and statistics.median(windows[i:i + ahead]) >= 0.95 * balanced), None)
    moved = [one for one in report["transfers"] if begin <= one["begin_s"] < end]
    found = {"name": report["phases"][number]["name"], "batch_p999_us": report["phases"][number]["batch_p999_us"],
             "first_over_balanced": statistics.median(windows[:round(0.3 / speed.step)]) / balanced,
             "last_over_balanced": speed.mean(end - 1, end) / balanced, "transfers": len(moved),
             "rows_moved": sum(one["rows"] for one in moved),
             "back_after_s": None if back is None else back * speed.step,
             "back_after_cycles": None if back is None else back * speed.step / (report["period_ms"] / 1000)}
    if moved:
        first, last = moved[0]["begin_s"], max(one["begin_s"] + one["seconds"] for one in moved)
        before = speed.mean(max(begin, first - 0.3), first) if first - begin > 0.02 else speed.at(begin)
        around = speed.between(first - WINDOW_S / 2, min(end, last + 2 * WINDOW_S))
        if around:  # a phase may end as the transfer begins
            found["dip"] = max(0.0, 1 - min(around) / before)
    return found


def shifting(options, found):
    program = [f"{options.build}/bench/balancer/shifting_load", "--keys", str(options.keys), "--phase-s", str(options.phase_s),
               "--period-ms", str(options.period_ms)]
    for load, phases in ("shift", 5), ("zipf", 2), ("narrow", 2):
        for algorithm in "off", "one_shot":
            rounds = [run([*program, "--algorithm", algorithm, "--load", load, "--phases", str(min(phases, options.phases_max))])
                      for _ in range(options.rounds if (load, algorithm) == ("shift", "one_shot") else 1)]
            figures = []
            for report in rounds:
                # All keys, evenly: the second half of the first phase.
                balanced = Throughput(report).mean(report["phase_s"] / 2, report["phase_s"])
                figures.append({"balanced_mkeys_s": balanced / 1e6,
                                "phases": [figures_of_phase(report, number, balanced)
                                           for number in range(1, len(report["phases"]))]})
            found.setdefault(load, {})[algorithm] = {"figures": figures, "timeline": timeline(rounds[-1])}


def timeline(report):
    """For the plot: M keys/s per tenth of a second, each AEU's part of the keys, the transfers."""
    speed = Throughput(report)
    tenths = [speed.mean(i / 10, (i + 1) / 10) / 1e6 for i in range(int(len(speed.keys) * speed.step * 10))]
    return {"mkeys_s": [round(one, 3) for one in tenths], "phase_s": report["phase_s"],
            "phases": [one["name"] for one in report["phases"]], "transfers": report["transfers"],
            "keys_by_aeu": report["keys_by_aeu"]}


def copy(options, found):
    paced(options, found, "--moves", "copy")


def leap(options, found):
    for kind in "leap", "copy":
        paced(options, found.setdefault(kind, {}), "--moves", kind, "--topology", "numa:2 core:1 pu:1")


def paced(options, found, *moves):
    program = [f"{options.build}/bench/balancer/shifting_load", *moves, "--keys", str(options.keys), "--rounds", str(options.copies),
               "--steady-s", str(options.steady_s)]
    for batch, clients, rate in (1, 2, 4000), (256, 2, 1000):
        reports = [run([*program, "--batch", str(batch), "--clients", str(clients), "--rate", str(rate)])
                   for _ in range(options.rounds)]
        pauses = [one["longest_pause_us"] for report in reports for one in report["transfers"]]
        found[f"batch_{batch}"] = {
            "p999_over_steady": spread([one["moving"]["p999_us"] / one["steady"]["p999_us"] for one in reports]),
            "p999_steady_us": spread([one["steady"]["p999_us"] for one in reports]),
            "p999_moving_us": spread([one["moving"]["p999_us"] for one in reports]),
            "p50_steady_us": spread([one["steady"]["p50_us"] for one in reports]),
            "p50_moving_us": spread([one["moving"]["p50_us"] for one in reports]),
            "mb_s": spread([max(one["bytes"], one["home_bytes"]) / max(one["seconds"], one["home_seconds"]) / 1e6
                            for report in reports for one in report["transfers"]]),
            "longest_pause_us": max(pauses), "allowed_us": reports[0]["pause_us"],
            "longest_pause_wall_us": max(one["longest_pause_wall_us"] for report in reports for one in report["transfers"]),
            "rate": rate, "clients": clients}


# Objects of each kind for copy_turns: rows of many columns and long strings included.
# For indexes also ranges whose rows have all been written or erased while a snapshot is held.
TURNS = {"index": ("index", 1_000_000, 0, 0), "two_part": ("two_part", 1_000_000, 0, 0), "hash": ("hash", 1_000_000, 0, 0),
         "index_updated": ("index", 200_000, 0, 0, "updated"), "index_erased": ("index", 200_000, 0, 0, "erased"),
         "two_part_erased": ("two_part", 200_000, 0, 0, "erased"), "bytes_2000_erased": ("bytes", 30_000, 0, 2000, "erased"),
         "bytes_2000": ("bytes", 60_000, 0, 2000), "bytes_1mib": ("bytes", 256, 0, 1 << 20),
         "table_8_columns": ("table", 500_000, 8, 0), "table_200_columns": ("table", 30_000, 200, 0),
         "table_strings": ("table", 200_000, 4, 100), "heap_8_columns": ("heap", 500_000, 8, 0),
         "heap_200_columns": ("heap", 30_000, 200, 0)}


def turns(options, found):
    for name, (kind, rows, columns, string, *old) in TURNS.items():
        found[name] = run([f"{options.build}/bench/balancer/copy_turns", "--kind", kind, "--rows", str(max(rows // options.turns_share, 64)),
                           "--columns", str(columns or 8), "--string", str(string), "--old", *(old or ["none"]),
                           "--turns", str(options.turns), "--rounds", str(options.rounds)])


def scan_begins(options, found):
    reports = [run([f"{options.build}/bench/balancer/scan_begins", "--rows", str(500_000 // options.turns_share), "--scans", str(options.begins)])
               for _ in range(options.rounds)]
    found["rows"] = reports[0]["rows"]
    found["p99_over_steady"] = spread([one["p99_over_steady"] for one in reports])
    for phase in "steady", "moving":
        for figure in "p50_us", "p99_us":
            found[f"{phase}_{figure}"] = spread([one[phase][figure] for one in reports])


def cycles_to(max_over_mean, limit):
    """The first cycle from which on it stays below the limit, by medians of five; None: there is none."""
    below = [statistics.median(max_over_mean[i:i + 5]) <= limit for i in range(len(max_over_mean))]
    return next((i for i, one in enumerate(max_over_mean) if one <= limit and all(below[i:])), None)


# Phases after the even one, and cycles of each. A moving average is observed for one shift until it has settled: the
# load spreads like heat, per cycle by 2/3 of an AEU squared with ma(1) and by 24 with ma(8).
STEPPED = {"one_shot": (5, 16), "ma(8)": (1, 64), "ma(1)": (1, 1000)}


def stepped(options, found):
    for aeus, topology in (8, "numa:4 core:2 pu:1"), (64, "numa:8 core:8 pu:1"):
        for load in "middle", "zipf", "narrow":
            for algorithm in STEPPED if load == "middle" else ("one_shot",):
                phases, cycles = STEPPED[algorithm]
                cycles = cycles * aeus // 64 if algorithm == "ma(1)" else cycles
                report = run([f"{options.build}/bench/balancer/stepped_load", "--topology", topology, "--aeus", str(aeus),
                              "--load", load, "--algorithm", algorithm, "--phases", str(min(phases, options.phases_max)),
                              "--cycles", str(min(cycles, options.cycles_max)), "--keys", str(options.stepped_keys), "--asked",
                              str(options.asked)])
                found.setdefault(f"{aeus} AEUs", {}).setdefault(load, {})[algorithm] = [
                    {"name": phase["name"], "max_over_mean": [round(one, 3) for one in phase["max_over_mean"]],
                     "bound": phase["bound"], "last": max(phase["max_over_mean"][-3:]),
                     "cycles": cycles_to(phase["max_over_mean"], 1.2 * phase["bound"]),
                     "transfers": {kind: sum(done) for kind, done in phase["transfers"].items()}, "rows_moved": sum(phase["rows_moved"]),
                     "bytes_copied": sum(phase["bytes_copied"])}
                    for phase in report["phases"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keys", type=int, default=1 << 24)
    parser.add_argument("--phase-s", type=float, default=4)
    parser.add_argument("--period-ms", type=int, default=500)
    parser.add_argument("--json", default="-")
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    options = parser.parse_args()
    vars(options).update(SIZES, **(TINY if options.tiny else {}))
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: {', '.join(PARTS)}")
    report = {"machine": machine(), "keys": options.keys, "period_ms": options.period_ms}
    for part in parts:
        if part == "transfer":
            report[part] = run([f"{options.build}/bench/balancer/transfer_lab", "--rounds", str(options.rounds),
                                "--chunks", "4096,16384,65536", "--keys", str(options.transfer)])
        else:
            {"shifting": shifting, "copy": copy, "leap": leap, "turns": turns, "scan_begins": scan_begins, "stepped": stepped}[part](options, report.setdefault(part, {}))
    text = json.dumps(report, indent=1)
    if options.json == "-":
        print(text)
    else:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
