#!/usr/bin/env python3
"""The allocator benchmark: the engine's own memory against glibc, jemalloc, mimalloc, tbbmalloc and tcmalloc, in one run.

    bench/memory/run.py <builddir> [--parts trace,small,foreign,memory,paper,tree] [--rounds 7]
                        [--json out.json] [--tiny]

Peers are Debian's libraries (group bench of tools/dev/packages), preloaded into processes of one program,
allocator_lab, each with its own settings for huge pages; where those gave fewer than half of the memory huge pages, it
runs once more with its memory collapsed onto huge pages from outside, which is more than it can do itself: shown, but
its own settings count. Every way of calling an allocator is measured; its best one counts.
Rounds are interleaved, in rotating order; a figure is the median, with minimum and maximum.

  trace    tree_trace's record of the engine's prefix tree, replayed; net: without the floor, the replay alone
  small    pairs of allocate and free, and a small working set
  foreign  one thread allocates, another one frees
  memory   resident bytes over live bytes, and what is left after most, then all, is freed
  paper    the micro-benchmark of the allocators' paper, from 1 thread up
  tree     tree_memory: the real prefix tree, 100 million upserts and erases, then erased, then dropped

A peer whose library is not installed is left out and reported. --tiny: only checks that it runs, in seconds; the
figures mean nothing.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import allocators  # noqa: E402
from lab_process import LabProcess, machine, rotated, spread  # noqa: E402

HOME = os.path.dirname(os.path.abspath(__file__))
PARTS = ("trace", "small", "foreign", "memory", "paper", "tree")
# Each with its settings for huge pages, and its ways of being called.
WAYS = {"glibc": ["malloc"], "jemalloc": ["malloc", "sdallocx"], "mimalloc": ["malloc", "mi_sized"],
        "tbbmalloc": ["malloc", "scalable"], "tcmalloc": ["malloc", "tc_sized"]}
ALLOCATORS = {"floor": ({}, ["none"]), "eris": ({}, ["cache"]),
              **{name: (one.environment(huge_pages=True), WAYS[name]) for name, one in allocators.ALLOCATORS.items()}}
TREE_RUNS = [("8000000", "100000000"), *((keys, "50000000") for keys in ("1000000", "2000000", "4000000"))]
TINY = {"rounds": 1, "operations": 10_000, "trace": ["--keys", "20000,5000,2000", "--records", "20000"], "lab": ["--tiny"],
        "trees": [("20000", "100000"), ("10000", "50000")], "tree": ["--watch-s", "0.1"]}
FULL = {"trace": [], "lab": [], "trees": TREE_RUNS, "tree": []}
PEERS = list(allocators.ALLOCATORS)


class Lab(LabProcess):
    """A process of allocator_lab."""

    def __init__(self, options, trace, name, way, collapsed=False):
        super().__init__([f"{options.build}/bench/memory/allocator_lab", *options.lab, "--trace", trace, "--way", way], ALLOCATORS[name][0],
                         f"allocator_lab of {name} ({way})")
        self.name, self.way, self.collapsed = name, way, collapsed
        self.built = self.ask("build")
        self.rounds = []
        if collapsed:
            self.built = {**self.built, **self.ask("collapse")}

    def label_of_way(self):
        return f"{self.way}, collapsed" if self.collapsed else self.way

    def huge_share(self):
        return self.built["huge"] / max(1, self.built["anonymous"])


def start_labs(options, trace, names):
    labs = []
    for name in names:
        for way in ALLOCATORS[name][1]:
            lab = Lab(options, trace, name, way)
            labs.append(lab)
            if name in PEERS and lab.huge_share() < 0.5:
                labs.append(Lab(options, trace, name, way, collapsed=True))
    return labs


def part_trace(labs, rounds, report):
    # The first section is a warm-up; each later one is replayed by all before the next one begins.
    for section in range(rounds + 1):
        for lab in rotated(labs, section):
            answer = lab.ask(f"round {section}")
            if section > 0:
                lab.rounds.append(answer["ns"])
    floor = next(lab for lab in labs if lab.name == "floor").rounds
    ours = best_lab(labs, "eris").rounds
    rows = {}
    for lab in labs:
        net = [mine - least for mine, least in zip(lab.rounds, floor)]
        rows.setdefault(lab.name, []).append({
            "way": lab.label_of_way(), "collapsed": lab.collapsed, "gross_ns": spread(lab.rounds), "net_ns": spread(net), "build_ns": lab.built["ns"],
            "huge_share": lab.huge_share(),
            "gross_over_ours": statistics.median(mine / one for mine, one in zip(lab.rounds, ours)),
            "net_over_ours": statistics.median(
                (mine - least) / (one - least) for mine, one, least in zip(lab.rounds, ours, floor))})
    fastest = lambda ways: min(ways, key=lambda row: row["gross_ns"]["median"])
    report["trace"] = {name: fastest([row for row in ways if not row["collapsed"]]) for name, ways in rows.items()}
    report["trace_collapsed"] = {name: fastest([row for row in ways if row["collapsed"]])
                                 for name, ways in rows.items() if any(row["collapsed"] for row in ways)}
    report["trace_ways"] = rows


def best_lab(labs, name):
    """The fastest way of calling it according to the trace, or the first one without a trace."""
    return min((lab for lab in labs if lab.name == name),
               key=lambda lab: statistics.median(lab.rounds) if lab.rounds else 0)


def part_small(labs, rounds, report):
    rows = {}
    for turn in range(rounds):
        for lab in rotated(labs, turn):
            one = rows.setdefault(lab.name, {}).setdefault(lab.label_of_way(), {"random": [], "pairs": []})
            one["random"].append(lab.ask("random")["ns"])
            if turn < 3:
                one["pairs"].append(lab.ask("pairs")["ns"])
    report["small"] = {
        name: min(({"way": way, "random_ns": spread(one["random"]),
                    "pair_ns_by_class": [statistics.median(ns) for ns in zip(*one["pairs"])]}
                   for way, one in ways.items()), key=lambda row: row["random_ns"]["median"])
        for name, ways in rows.items()}


def part_foreign(labs, rounds, report):
    rows = {}
    for turn in range(min(rounds, 5)):
        for lab in rotated(labs, turn):
            answer = lab.ask("foreign")
            if answer.pop("possible"):
                rows.setdefault(lab.name, {}).setdefault(lab.label_of_way(), []).append(answer)
    report["foreign"] = {}
    for name, ways in rows.items():
        for way, answers in ways.items():
            ns = {key: statistics.median(one[key] for one in answers) for key in answers[0]}
            local = ns["local_free"] + ns["local_collect"]
            foreign = ns["foreign_free"] + ns["foreign_collect"]
            row = {"way": way, **ns, "over_local": foreign / local,
                   "cycle_over_local": (foreign + ns["foreign_allocate"]) / (local + ns["local_allocate"])}
            kept = report["foreign"].get(name)
            if kept is None or foreign < kept["foreign_free"] + kept["foreign_collect"]:
                report["foreign"][name] = row


def part_memory(labs, report):
    chosen = [best_lab(labs, name) for name in dict.fromkeys(lab.name for lab in labs) if name != "floor"]
    erased = together(chosen, "erase 10")
    dropped = together(chosen, "drop")
    report["memory"] = {}
    for lab, erase, drop in zip(chosen, erased, dropped):
        before = erase["before"]["anonymous"]
        report["memory"][lab.name] = {
            "way": lab.label_of_way(), "live_bytes": erase["live_before"], "resident_bytes": before,
            "resident_over_live": before / erase["live_before"],
            "huge_share": erase["before"]["huge"] / before,
            "erased_live_bytes": erase["live"],
            "resident_after_erase": erase["now"]["anonymous"], "resident_after_erase_5s": erase["later"]["anonymous"],
            "resident_after_drop": drop["now"]["anonymous"], "resident_after_drop_5s": drop["later"]["anonymous"]}


def together(labs, command):
    """The command's waits overlap."""
    for lab in labs:
        lab.send(command)
    return [lab.answer() for lab in labs]


def part_paper(options, names, rounds, report):
    build, operations = options.build, options.operations
    names = [name for name in names if name != "floor"]
    cpus = len(os.sched_getaffinity(0))
    counts = sorted({1, cpus} | {2 ** i for i in range(1, 10) if 2 ** i <= cpus})
    found = {}
    for turn in range(rounds):
        for threads in counts:
            for name in rotated(names, turn):
                settings, ways = ALLOCATORS[name]
                done = subprocess.run(
                    [f"{build}/bench/memory/allocator_lab", "--paper", "--way", ways[0], "--threads", str(threads),
                     "--operations", str(operations), "--seed", str(turn + 1)],
                    env={**os.environ, **settings}, text=True, stdout=subprocess.PIPE, check=True)
                found.setdefault((name, threads), []).append(json.loads(done.stdout))
    report["paper"] = [
        {"allocator": name, "threads": threads, "operations_per_thread": operations,
         "seconds": spread([one["seconds"] for one in answers]),
         "peak_over_requested": statistics.median(one["peak"] / one["requested"] for one in answers)}
        for (name, threads), answers in found.items()]


def part_tree(options, report):
    # The number of keys determines the tree's kinds of TreeNodes, so several sizes are measured.
    report["tree"], *report["tree_other_sizes"] = (
        json.loads(subprocess.run([f"{options.build}/bench/memory/tree_memory", "--keys", keys, "--operations", operations, *options.tree],
                                  text=True, stdout=subprocess.PIPE, check=True).stdout) for keys, operations in options.trees)


# --- the table ---

def ns_of(one):
    return f"{one['median']:6.2f} ({one['min']:.2f} .. {one['max']:.2f})"


def print_report(report):
    out = [f"{report['cpu']}, {report['cpus']} cpus; {report['date']}; seed {report['seed']}; "
           f"huge pages: {report['huge_pages']}"]
    out += [f"NOT MEASURED: {name}: its library cannot be preloaded" for name in report["absent"]]
    if "trace" in report:
        out.append("\nThe tree's trace: ns per allocation or free        gross                    net of the floor"
                   "     over ours: gross    net  build-up  huge pages")
        for name, ways in report["trace_ways"].items():
            for row in ways:
                out.append(f"  {name:10} {row['way']:22} {ns_of(row['gross_ns']):>26} {ns_of(row['net_ns']):>26}"
                           f" {row['gross_over_ours']:16.2f} {row['net_over_ours']:6.2f} {row['build_ns']:9.2f} {row['huge_share']:11.0%}")
    if "small" in report:
        out.append("\nIn the cache: ns             random, per call           a pair, by class")
        for name, row in report["small"].items():
            out.append(f"  {name:10} {row['way']:20} {ns_of(row['random_ns']):>20}   "
                       + " ".join(f"{ns:6.2f}" for ns in row["pair_ns_by_class"]))
    if "foreign" in report:
        out.append("\nForeign frees: ns     allocate  free  collect   | foreign: allocate  free  collect"
                   " | free over local, whole cycle")
        for name, row in report["foreign"].items():
            out.append(f"  {name:10} {row['way']:14} {row['local_allocate']:6.2f} {row['local_free']:6.2f} "
                       f"{row['local_collect']:6.2f}   |  {row['foreign_allocate']:12.2f} {row['foreign_free']:6.2f} "
                       f"{row['foreign_collect']:6.2f}  | {row['over_local']:6.2f} {row['cycle_over_local']:6.2f}")
    if "memory" in report:
        out.append("\nMemory, MB            live  resident  over live | a tenth left, then after 5 s | all freed, then after 5 s")
        for name, row in report["memory"].items():
            out.append(f"  {name:10} {row['live_bytes'] / 1e6:12.1f} {row['resident_bytes'] / 1e6:9.1f} "
                       f"{row['resident_over_live']:9.3f}  | {row['resident_after_erase'] / 1e6:9.1f} "
                       f"{row['resident_after_erase_5s'] / 1e6:9.1f}  | {row['resident_after_drop'] / 1e6:12.1f} "
                       f"{row['resident_after_drop_5s'] / 1e6:9.1f}")
    if "paper" in report:
        out.append("\nThe paper's micro-benchmark: threads, seconds, peak resident over requested bytes")
        for row in report["paper"]:
            out.append(f"  {row['allocator']:10} {row['threads']:3} {ns_of(row['seconds']):>26} "
                       f"{row['peak_over_requested']:8.3f}")
    if "tree" in report:
        out.append("\nThe real tree, MB  M keys  M operations, s     live  resident  over live | a tenth of the keys: live, "
                   "resident | dropped: 90 % after, s")
        for row in [report["tree"], *report["tree_other_sizes"]]:
            out.append(f"  {row['keys'] / 1e6:20.1f} {row['operations'] / 1e6:8.0f} {row['seconds']:8.1f} {row['live'] / 1e6:9.1f}"
                       f" {row['resident'] / 1e6:9.1f} {row['resident_over_live']:10.3f} | {row['erased_live'] / 1e6:15.1f} "
                       f"{row['erased_resident_5s'] / 1e6:14.1f} | {row['dropped_seconds']:8.2f}")
    return "\n".join(out) + "\n"


def measure(options):
    parts, rounds, missing = options.parts, options.rounds, allocators.absent()
    names = [name for name in ALLOCATORS if name not in missing]
    report = {**machine(), "rounds": rounds, "absent": missing,
              "settings": {name: settings for name, (settings, _) in ALLOCATORS.items()}}
    if {"trace", "small", "foreign", "memory"} & set(parts):
        with tempfile.TemporaryDirectory() as work:
            trace = os.path.join(work, "tree.trace")
            report["recorded"] = subprocess.run(
                [f"{options.build}/bench/memory/tree_trace", "--out", trace, "--sections", str(rounds + 1), *options.trace], text=True,
                stdout=subprocess.PIPE, check=True).stdout
            labs = start_labs(options, trace, names)
            report["seed"] = labs[0].built["seed"]
            if "trace" in parts:
                part_trace(labs, rounds, report)
            if "small" in parts:
                part_small(labs, rounds, report)
            if "foreign" in parts:
                part_foreign(labs, rounds, report)
            if "memory" in parts:
                part_memory(labs, report)
            for lab in labs:
                lab.stop()
    report.setdefault("seed", 1)
    if "paper" in parts:
        part_paper(options, names, min(rounds, 5), report)
    if "tree" in parts:
        part_tree(options, report)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--parts", type=lambda names: names.split(","), default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--operations", type=int, default=20_000_000, help="per thread, of the paper's micro-benchmark")
    parser.add_argument("--json", help="a file, or - for the JSON in place of the table")
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    arguments = parser.parse_args()
    vars(arguments).update(TINY if arguments.tiny else FULL)
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no parts {', '.join(sorted(unknown))}")
    report = measure(arguments)
    if arguments.json == "-":
        print(json.dumps(report))
        return
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    sys.stdout.write(print_report(report))


if __name__ == "__main__":
    main()
