#!/usr/bin/env python3
"""The index benchmark: ERIS's partitions and bare tree compared with std::map, absl::btree_map, absl::flat_hash_map,
oneTBB's hash map, unodb's ART (if it was built in), a simple radix tree with batches and the machine's limits, in one run.

    bench/index/run.py <builddir> [--cells 1-sparse,16-dense,...] [--sides eris,btree,...] [--rounds 5] [--ms 200]
                       [--parts points,bulk,two,engine] [--json out.json] [--large] [--goals] [--tiny]

A cell is a size in millions (of 2^20) and the keys: sparse over 64 bits, or dense; --large adds 256 million. A side is
a process of index_lab on one core, peers and ours with jemalloc on huge pages preloaded (ours does not take index
memory from it). Rounds are interleaved measurement by measurement, in rotating order; a figure is the median, with
minimum and maximum; a ratio is the median of the rounds' ratios. If memory does not hold all sides of a cell, peers
take turns with the limits and ERIS; what does not fit even then is left out and reported.

  points   lookups by batch size, writes, erases, a mix, scans, memory after random inserts
  bulk     memory, lookups and the ordered scan after a load of sorted runs
  two      lookups on two cores, one structure each
  engine   lookups through an engine of one AEU, bench/engine/routed_lookup

--goals measures what `./dev goals index` needs, and no more. --tiny: only checks that it runs, in seconds; a cell has a
256th of its keys, and the figures mean nothing.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
from index_figures import BATCHED, figure, huge_share, per_key, ratio  # noqa: E402
from lab_process import LabProcess, machine, read, rotated  # noqa: E402

MALLOC = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "thp:always,metadata_thp:always"}
BATCHES = (1, 16, 64, 256, 1024, 4096, 16384, 65536)
BATCH = 1024  # where the batch size is not measured: the size that a session sends
PARTS = ("points", "bulk", "two", "engine")
CELLS = [f"{size}-{keys}" for size in (1, 16, 64) for keys in ("sparse", "dense")]
LARGE = ["256-sparse", "256-dense"]
GOAL_CELLS = ["16-sparse", "16-dense", "64-sparse", "64-dense"]
TWO_CELLS = ("16-sparse",)
AREA_MIB = 4096  # for random loads
UNORDERED = ("flat_hash", "tbb_hash", "eris_hash", "eris_shared", "radix")
POINTS_ONLY = ("eris_shared", "radix")  # these have no erase
BULK = ("eris", "btree", "std_map")
# The most bytes per key of a side; decides what fits in memory at the same time.
BYTES_PER_KEY = {"eris": 55, "eris_tree": 55, "eris_hash": 45, "eris_shared": 55, "radix": 220, "btree": 26, "std_map": 66, "flat_hash": 40, "tbb_hash": 75,
                 "unodb": 72}
SIDE_BYTES = 400e6  # probes and columns
TINY = {"rounds": 1, "fills": 1, "ms": 5, "area": 16}
TINY_SHIFT = 8  # cells have a 256th of their keys
KEYS_MIN = 1 << 16  # index_lab takes no fewer
shift = 0


def count_of(cell):
    return max(KEYS_MIN, int(cell.split("-")[0]) << 20 >> shift)


class Lab(LabProcess):
    """A side in a separate process."""

    def __init__(self, build, side, cell, area_mib):
        self.side = side
        super().__init__([f"{build}/bench/index/index_lab", "--side", side, "--keys", str(count_of(cell)), "--keys-are",
                          cell.split("-")[1], "--area", str(area_mib)], MALLOC, f"index_lab of {side}, {cell}")


class Figures:
    """side -> measurement -> field -> a value for each round, None where the side was not measured in it."""

    def __init__(self):
        self.rounds = 0
        self.sides = {}

    def new_round(self):
        self.rounds += 1

    def add(self, side, name, answer):
        fields = self.sides.setdefault(side, {}).setdefault(name, {})
        for field, value in answer.items():
            values = fields.setdefault(field, [])
            values += [None] * (self.rounds - 1 - len(values)) + [value]


# --- measurements ---

def points_of(side, cell, goals):
    """name -> command; the order is that of a round."""
    ms, count = "{ms}", count_of(cell)
    if side == "limits":
        return {"loads": f"loads 16 {ms}", "read": f"read {ms}"} | ({} if goals else {"load": f"loads 1 {ms}"})
    found = {}
    if side in BATCHED:
        batches = BATCHES if not goals else (BATCH,) if side == "radix" else (1, 256, BATCH, 16384)
        if side == "eris_tree":
            batches = (1, 16, 64)
        found |= {f"lookup {batch} uniform": f"lookup {batch} uniform {ms}" for batch in batches}
    else:
        found["lookup 1 uniform"] = f"lookup 1 uniform {ms}"
    if side == "eris_tree":
        return found
    batch = BATCH if side in BATCHED else 1
    if not goals:
        found[f"lookup {batch} zipf"] = f"lookup {batch} zipf {ms}"
    if not goals and side not in POINTS_ONLY:
        found["mixed"] = f"mixed {BATCH} uniform {ms}"
        found["mixed zipf"] = f"mixed {BATCH} zipf {ms}"
        found["erase"] = f"erase {batch} {max(KEYS_MIN, min(1 << 20, count // 16))}"
    if not goals or side in BATCHED and side not in POINTS_ONLY:
        if side != "unodb":
            found["replace"] = f"replace {batch} uniform {ms}"
    if side not in UNORDERED:
        found["scan"] = f"scan 100 {ms}"
        if side in BATCHED or not goals:
            found["scan_all"] = "scan_all"
    return found


def goal_sides(cell):
    """The sides that the goals compare in a cell."""
    return {"16-sparse": ["eris", "btree", "flat_hash", "eris_hash", "radix", "unodb"], "64-sparse": ["eris", "btree"]}.get(cell, ["eris"])


def bytes_of(side, cell):
    return BYTES_PER_KEY[side] * count_of(cell) + SIDE_BYTES


def memory_free():
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def sittings(sides, cell, left_out):
    """Groups of sides that fit in memory at the same time, with the limits; ERIS is in each, for comparison."""
    room = memory_free() * 0.92
    groups = []

    def leave_out(side):
        left_out.append(f"{side} at {cell}: it may want {bytes_of(side, cell) / 1e9:.1f} GB, {max(0, room) / 1e9:.1f} GB "
                        "are free beside what is measured with it")

    ours = [side for side in sides if side == "eris"]
    for side in list(ours):
        if bytes_of(side, cell) > room:
            leave_out(side)
            ours.remove(side)
        else:
            room -= bytes_of(side, cell)
    for side in (side for side in sides if side != "eris"):
        if bytes_of(side, cell) > room:
            leave_out(side)
            continue
        fitting = [group for group in groups if sum(bytes_of(one, cell) for one in group) + bytes_of(side, cell) <= room]
        if fitting:
            fitting[0].append(side)
        else:
            groups.append([side])
    return [ours + group for group in groups] or ([ours] if ours else [])


class Cell:
    """All measurements of one size and kind of keys."""

    def __init__(self, options, cell, limits):
        self.options, self.cell, self.limits = options, cell, limits
        self.figures = Figures()
        self.left_out = []

    def start(self, side, how, batch):
        lab = Lab(self.options.build, side, self.cell, self.options.area)
        return lab, lab.ask(f"build {how} {batch}")

    def points(self, sides):
        for group in sittings(sides, self.cell, self.left_out):
            labs = {}
            first_sitting = self.figures.rounds == 0
            # A new process for each, so that none benefits from memory it has touched before. The last one stays.
            fills = self.options.fills if count_of(self.cell) <= 16 << 20 else 1
            for turn in range(fills):
                self.figures.new_round()
                for side in rotated(group, turn):
                    again = side != "eris" or first_sitting
                    if side in labs and again:
                        labs.pop(side).stop()
                    if side not in labs:
                        labs[side], built = self.start(side, "random", BATCH if side in BATCHED else 1)
                        self.figures.add(side, "fill", built)
            self.rounds({**labs, "limits": self.limits})
            if "two" in self.options.parts and first_sitting and self.cell in TWO_CELLS and "eris" in labs:
                self.two({"eris": labs["eris"], "limits": self.limits})
            for lab in labs.values():
                lab.stop()

    def rounds(self, labs):
        wanted = {side: points_of(side, self.cell, self.options.goals) for side in labs}
        names = list(dict.fromkeys(name for commands in wanted.values() for name in commands))
        for turn in range(self.options.rounds):
            self.figures.new_round()
            for name in names:
                for side in rotated(list(labs), turn):
                    if name in wanted[side]:
                        self.figures.add(side, name, labs[side].ask(wanted[side][name].format(ms=self.options.ms)))

    def two(self, labs):
        if self.options.cpus < 2:
            self.left_out.append("two cores: this machine has one cpu")
            return
        for turn in range(self.options.rounds):
            self.figures.new_round()
            for side in rotated(list(labs), turn):
                command = f"two {self.options.ms}" if side == "limits" else f"two {BATCH} {self.options.ms}"
                self.figures.add(side, "two", labs[side].ask(command))

    def bulk(self, sides):
        for side in [side for side in sides if side in BULK]:
            if bytes_of(side, self.cell) + 8 * count_of(self.cell) > memory_free():
                self.left_out.append(f"{side} at {self.cell}: no memory for a bulk load")
                continue
            lab, built = self.start(side, "bulk", BATCH)
            self.figures.new_round()
            self.figures.add(side, "bulk load", built)
            for turn in range(0 if self.options.goals else self.options.rounds):
                self.figures.new_round()
                self.figures.add(side, "bulk lookup", lab.ask(f"lookup {BATCH} uniform {self.options.ms}"))
                self.figures.add(side, "bulk scan_all", lab.ask("scan_all"))
            lab.stop()

    def report(self):
        return {"keys": count_of(self.cell), "sides": self.figures.sides, "left_out": self.left_out}


def measure(options):
    known = json.loads(subprocess.run([f"{options.build}/bench/index/index_lab", "--sides"], text=True,
                                      stdout=subprocess.PIPE, check=True).stdout)
    report = {**machine(), "build_type": known["build_type"], "rounds": options.rounds, "ms": options.ms,
              "batch": BATCH, "area_mib": options.area, "settings": MALLOC, "absent": known["absent"], "cells": {}}
    limits = None
    for name in options.cells if {"points", "bulk", "two"} & set(options.parts) else ():
        if limits is None:
            limits = Lab(options.build, "limits", "1-dense", options.area)
            report["area"] = limits.ask("build")
        chosen = options.sides or (goal_sides(name) if options.goals else [side for side in known["sides"] if side != "limits"])
        sides = [side for side in chosen if side in known["sides"]]
        cell = Cell(options, name, limits)
        progress(f"{name}: {', '.join(sides)}")
        if "points" in options.parts:
            cell.points(sides)
        if "bulk" in options.parts and not (options.goals and name != "16-dense"):
            cell.bulk(["eris"] if options.goals else sides)
        report["cells"][name] = cell.report()
    if limits is not None:
        limits.stop()
    if "engine" in options.parts:
        progress("engine")
        report["engine"] = json.loads(subprocess.run(
            [f"{options.build}/bench/engine/routed_lookup", str(count_of("16-sparse")), str(options.engine_s), str(min(5, options.rounds)),
             str(BATCH)],
            text=True, stdout=subprocess.PIPE, check=True).stdout)
    return report


def progress(words):
    print(f"index: {words}", file=sys.stderr, flush=True)


# --- the table ---

def show(found, form="7.2f", width=24):
    if found is None:
        return " " * (width - 1) + "-"
    numbers = f"{found['median']:{form}} ({found['min']:.3g} .. {found['max']:.3g})"
    return f"{numbers:>{width}}"


def number(value, form):
    return f"{value:{form}}" if value is not None else "-"


def table_of(report, cell):
    sides = [side for side in report["cells"][cell]["sides"] if side != "limits"]
    out = [f"\n== {cell}: {report['cells'][cell]['keys'] / 1e6:.1f} million keys"]
    loads, reads = (figure(report, cell, "limits", name, field) for name, field in (("loads", "mloads_s"), ("read", "gb_s")))
    if loads:
        out.append(f"limits: random loads, 16 in flight {show(loads, '.1f', 1)} M/s; sequential read {show(reads, '.2f', 1)} GB/s")
    out += [f"LEFT OUT: {words}" for words in report["cells"][cell]["left_out"]]
    if loads:
        out.append("lookups, M/s             uniform   of the loads  over btree |                   Zipf | page size: huge")
    for side in sides:
        for batch in BATCHES:
            name = f"lookup {batch} uniform"
            found = figure(report, cell, side, name)
            if found is None:
                continue
            label = f"{side} {batch}" if side in BATCHED else side
            zipf = figure(report, cell, side, f"lookup {batch} zipf")
            out.append(f"  {label:16}{show(found, '7.2f')} {ratio(report, cell, (side, name, 'mkeys_s'), ('limits', 'loads', 'mloads_s')):8.0%} "
                       f"{number(ratio(report, cell, (side, name, 'mkeys_s'), ('btree', 'lookup 1 uniform', 'mkeys_s')), '11.2f'):>11} |{show(zipf, '7.2f')}"
                       f" | {number(huge_share(report, cell, side), '.0%')}")
    rows = [("writes, M/s", "insert from empty", "fill", "mkeys_s"), ("", "upsert existing", "replace", "mkeys_s"),
            ("", "erase", "erase", "erase_mkeys_s"), ("", "insert erased", "erase", "insert_mkeys_s"),
            ("", "mixed", "mixed", "mops_s"), ("", "mixed, Zipf", "mixed zipf", "mops_s"),
            ("scans", "100 rows, k/s", "scan", "kscans_s"), ("", "all, GB/s", "scan_all", "gb_s"),
            ("bulk", "load, M/s", "bulk load", "mkeys_s"), ("", "lookup, M/s", "bulk lookup", "mkeys_s"),
            ("", "all, GB/s", "bulk scan_all", "gb_s"), ("2 cores", "both, M/s", "two", "two_mkeys_s")]
    measured = [side for side in sides if side != "eris_tree"]
    out.append(" " * 27 + "".join(f"{side:>27}" for side in measured))
    for head, label, name, field in rows:
        found = {side: figure(report, cell, side, name, field) for side in measured}
        if any(found.values()):
            out.append(f"{head:12}{label:18}" + "".join(f"{show(found[side], '.2f', 27)}" for side in measured))
    for label, name, field in (("used", "fill", "used"), ("committed", "fill", "committed"), ("resident", "fill", "anonymous"),
                               ("bulk used", "bulk load", "used"), ("bulk committed", "bulk load", "committed"),
                               ("bulk resident", "bulk load", "anonymous")):
        found = {side: per_key(report, cell, side, field, name) for side in measured}
        if any(found.values()):
            out.append(f"{'bytes a key' if label == 'used' else '':12}{label:18}"
                       + "".join(f"{number(found[side], '.2f'):>27}" for side in measured))
    two = ratio(report, cell, ("eris", "two", "two_mkeys_s"), ("eris", "two", "one_mkeys_s"))
    if two:
        limit = ratio(report, cell, ("limits", "two", "two_mloads_s"), ("limits", "two", "one_mloads_s"))
        out.append(f"two cores over one: ERIS {two:.2f}, random loads {limit:.2f}")
    return out


def print_report(report):
    out = [f"{report['cpu']}, {report['cpus']} cpus; {report['date']}; {report['build_type']}; {report['rounds']} rounds of "
           f"{report['ms']} ms; huge pages: {report['huge_pages']}"]
    if "area" in report:
        area = report["area"]
        out[0] += f"; random loads over {report['area_mib']} MiB, {area['huge'] / area['anonymous']:.0%} on huge pages"
    out += [f"NOT MEASURED: {words}" for words in report["absent"]]
    for cell in report["cells"]:
        out += table_of(report, cell)
    if "engine" in report:
        one = report["engine"]
        out.append(f"\nthrough the engine, one AEU, sparse {one['keys'] / 1e6:.1f} million, batches of {one['batch']}, 8 in flight: "
                   f"{one['routed_mkeys_s']:.1f} ({one['routed_min']:.1f} .. {one['routed_max']:.1f}) beside "
                   f"{one['bare_mkeys_s']:.1f} M keys/s of the bare partition, {one['routed_over_bare']:.2f}")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    lists = {"type": lambda names: names.split(",")}
    parser.add_argument("build")
    parser.add_argument("--cells", **lists)
    parser.add_argument("--sides", **lists)
    parser.add_argument("--parts", default=list(PARTS), **lists)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fills", type=int, default=3, help="inserts from empty of up to 16 million keys; larger: one")
    parser.add_argument("--ms", type=int, default=200, help="a measurement's length")
    parser.add_argument("--area", type=int, default=AREA_MIB, help="MiB of the random loads, a power of two")
    parser.add_argument("--large", action="store_true", help="256 million keys, too")
    parser.add_argument("--goals", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    parser.add_argument("--json", help="a file, or - for the JSON in place of the table")
    options = parser.parse_args()
    options.cells = options.cells or (GOAL_CELLS if options.goals else CELLS) + (LARGE if options.large else [])
    options.cpus = len(os.sched_getaffinity(0))
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no parts {', '.join(sorted(unknown))}")
    options.engine_s = 1
    if options.tiny:
        global shift
        shift, options.engine_s = TINY_SHIFT, 0.01
        vars(options).update(TINY)
    report = measure(options)
    if options.json == "-":
        print(json.dumps(report))
        return
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file)
    sys.stdout.write(print_report(report))


if __name__ == "__main__":
    main()
