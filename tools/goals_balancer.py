"""The goals of load balancing: recovery and dips with a shifting load, copies under lookups, evenness on many AEUs,
transfers alone, linearizable histories. Part of tools/goals.py."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from goals_run import CANNOT_BE_HAD, ROOT, Absent, Part, Step, at_least, at_most, last_line

DRIVER = "bench/balancer/run.py"
HISTORIES = ROOT / "tests" / "linearizability" / "run.py"
ROUNDS = int(os.environ.get("ERIS_LINEARIZABLE_ROUNDS", "30"))
AEUS = {"8 AEUs": "8_aeus", "64 AEUs": "64_aeus"}
BATCHES = ("batch_1", "batch_256")
OBJECTS = ("index", "two_part", "hash", "bytes_2000", "bytes_1mib", "table_8_columns", "table_200_columns", "table_strings",
           "heap_8_columns", "heap_200_columns", "index_updated", "index_erased", "two_part_erased", "bytes_2000_erased")


def linearizable(run):
    """Rounds whose history is illegal or undecided, or that have failed otherwise."""
    name = "balancer.rounds_not_linearizable"
    rounds = 1 if run.tiny else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rounds")
        done = subprocess.run([sys.executable, "-B", HISTORIES, "--build", run.build, "--rounds", str(rounds), "--json", path],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = last_line(done.stdout)
        if not path.exists():
            if done.returncode == CANNOT_BE_HAD:
                raise Absent(said)
            raise OSError(f"{HISTORIES.relative_to(ROOT)} ended with {done.returncode}: {said}")
        report = json.loads(path.read_text(encoding="utf-8"))
    failed = report["illegal_rounds"] + report["unknown_rounds"] + len(report["not_counting"]) + (report["wrong_rows"] > 0)
    if run.tiny and report["illegal_rounds"]:
        raise ValueError(f"a history is not linearizable: {said}")
    run.goal(name, failed if report["unanswered"] > 0 else rounds,
             f"{report['operations']} operations in {report['rounds']} rounds, of which {report['unanswered']} with an unknown outcome; "
             f"at least {report['links_min']} links, {report['copies_min']} copies and {report['leaps_min']} leaps in each; illegal in {report['illegal_rounds']} rounds, "
             f"undecided in {report['unknown_rounds']}, too few transfers in {len(report['not_counting'])}; "
             f"{report['seconds']:.0f} s")


def part(run, name):
    """One part of the driver's report; kept in the build folder, for bench/balancer/plot.py."""
    report = run.script(DRIVER, "--parts", name)
    path = pathlib.Path(run.build, "balancer-tiny.json" if run.tiny else "balancer.json")
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**kept, **report}, indent=1) + "\n", encoding="utf-8")
    return report[name]


def shifting(run):
    loads = part(run, "shifting")["shift"]
    one_shot, off = loads["one_shot"]["figures"], loads["off"]["figures"][0]["phases"][0]
    big = [one["phases"][0] for one in one_shot]
    back = [one["back_after_cycles"] for one in big]
    words = (f"{statistics.median(one['balanced_mkeys_s'] for one in one_shot):.3g} M lookups/s of all keys; after the shift "
             f"{statistics.median(one['first_over_balanced'] for one in big):.2f} of it, at the end "
             f"{statistics.median(one['last_over_balanced'] for one in big):.2f}; off stays at {off['last_over_balanced']:.2f}")
    if None in back:
        run.no_goal("balancer.one_shot_back_after_cycles", f"not back at 95 % in {back.count(None)} of {len(back)} runs: {words}")
    else:
        run.goal("balancer.one_shot_back_after_cycles", statistics.median(back), words)
    dips = [phase["dip"] for one in one_shot for phase in one["phases"] if "dip" in phase]
    if dips:
        run.goal("balancer.deepest_dip", max(dips),
                 f"of 100 ms, the worst of {len(dips)} phases with transfers in {len(one_shot)} runs; median {statistics.median(dips):.2f}")
    else:
        run.no_goal("balancer.deepest_dip", "nothing was moved")


def copies(run):
    for batch, found in part(run, "copy").items():
        run.goal(f"balancer.copy_p999_over_steady_{batch}", found["p999_over_steady"]["median"],
                 f"{found['p999_moving_us']['median']:.0f} vs. {found['p999_steady_us']['median']:.0f} us; "
                 f"{found['mb_s']['median']:.0f} MB/s copied, {found['clients']} clients with {found['rate']} batches/s each")
        run.goal(f"balancer.longest_pause_over_allowed_{batch}", found["longest_pause_us"] / found["allowed_us"],
                 f"{found['longest_pause_us']} us of CPU time in one turn, {found['longest_pause_wall_us']} by the clock; "
                 f"allowed {found['allowed_us']}")


def turns(run):
    for name, found in part(run, "turns").items():
        run.goal(f"balancer.longest_turn_over_allowed_{name}", found["over_allowed"],
                 f"of {found['turns']} turns: median {found['median_us']:.0f}, p99 {found['p99_us']:.0f}, longest {found['longest_us']:.0f} us of "
                 f"CPU time; allowed {found['pause_us']}; {found['turns_over_allowed']} turns above it")


def scan_begins(run):
    found = part(run, "scan_begins")
    run.goal("balancer.scan_begin_p99_over_steady", found["p99_over_steady"]["median"],
             f"of a table of {found['rows']} rows, an eighth of which moves all the time: p99 {found['moving_p99_us']['median']:.0f} vs. "
             f"{found['steady_p99_us']['median']:.0f} us, median {found['moving_p50_us']['median']:.0f} vs. {found['steady_p50_us']['median']:.0f}")


def stepped(run):
    for aeus, loads in part(run, "stepped").items():
        name = AEUS[aeus]
        shift = {algorithm: phases[1] for algorithm, phases in loads["middle"].items()}
        words = "; ".join(f"{algorithm}: {'never' if one['cycles'] is None else one['cycles']} cycles, {one['rows_moved']} rows moved"
                          for algorithm, one in shift.items())
        order = [float("inf") if one["cycles"] is None else one["cycles"] for one in shift.values()]
        run.goal(f"balancer.converges_in_order_{name}", float(order == sorted(order)), words)
        for load in "zipf", "narrow":
            phases = loads[load]["one_shot"][1:]
            worst = max(phases, key=lambda one: one["last"] / one["bound"])
            run.goal(f"balancer.max_over_mean_{load}_{name}", worst["last"] / worst["bound"],
                     f"most over mean {worst['last']:.2f} at the end of the worst of {len(phases)} places; one key alone has "
                     f"{worst['bound']:.2f}: a ratio to that")


def transfers(run):
    report = part(run, "transfer")
    for keys in "dense", "sparse":
        found = report[keys]
        link = found["link"]
        run.goal(f"balancer.link_us_{keys}", link["us"], f"a range of {link['keys']} keys; the longest {link['us_max']:.0f} us")
        chunk = max(found["copy"], key=lambda one: one["ratio"])
        run.goal(f"balancer.copy_over_rebuild_{keys}", chunk["ratio"],
                 f"chunks of {chunk['chunk_rows']} rows: {chunk['gb_s']:.2f} GB/s vs. {chunk['rebuild_gb_s']:.2f} of one flatten-and-rebuild; "
                 + ", ".join(f"{one['chunk_rows']} rows {one['ratio']:.2f}" for one in found["copy"] if one is not chunk))


BALANCER = Part(11, (
    Step(shifting, {"balancer.one_shot_back_after_cycles": at_most(2), "balancer.deepest_dip": at_most(0.2)}),
    Step(copies, {f"balancer.{name}_{batch}": wanted for batch in BATCHES for name, wanted in
                  (("copy_p999_over_steady", at_most(2)), ("longest_pause_over_allowed", at_most(1.2)))}),
    Step(turns, {f"balancer.longest_turn_over_allowed_{name}": at_most(1.2) for name in OBJECTS}),
    Step(scan_begins, {"balancer.scan_begin_p99_over_steady": at_most(2)}),
    Step(stepped, {f"balancer.{name}_{aeus}": wanted for aeus in AEUS.values() for name, wanted in
                   (("converges_in_order", at_least(1)), ("max_over_mean_zipf", at_most(1.2)), ("max_over_mean_narrow", at_most(2)))}),
    Step(transfers, {f"balancer.{name}_{keys}": wanted for keys in ("dense", "sparse") for name, wanted in
                     (("link_us", at_most(1000)), ("copy_over_rebuild", at_least(0.4)))}),
    Step(linearizable, {"balancer.rounds_not_linearizable": at_most(0)})))
