"""The goals of load balancing: recovery and dips of a load that shifts, copies under look-ups, evenness on many AEUs, transfers alone, linearizable histories. Part of tools/goals.py."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "bench", "balancer")
HISTORIES = os.path.join(HERE, "..", "tests", "linearizability", "run.py")
ROUNDS = int(os.environ.get("ERIS_LINEARIZABLE_ROUNDS", "30"))


def linearizable(build, goal, no_goal):
    """Rounds whose history is illegal or undecided, or that have failed otherwise."""
    name = "balancer.rounds_not_linearizable"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rounds")
        done = subprocess.run([sys.executable, "-B", HISTORIES, "--build", build, "--rounds", str(ROUNDS), "--json", path],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if not os.path.exists(path):
            said = (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
            if done.returncode == 77:
                no_goal(name, "<=", 0, said)
            else:
                goal(name, ROUNDS, "<=", 0, f"it failed with exit code {done.returncode}: {said}")
            return
        with open(path) as file:
            report = json.load(file)
    words = (f"{report['operations']} operations in {report['rounds']} rounds, of which {report['unanswered']} with an unknown outcome; "
             f"at least {report['links_min']} links and {report['copies_min']} copies in each; illegal in {report['illegal_rounds']} rounds, "
             f"undecided in {report['unknown_rounds']}, too few transfers in {len(report['not_counting'])}; "
             f"{report['seconds']:.0f} s")
    failed = report["illegal_rounds"] + report["unknown_rounds"] + len(report["not_counting"])
    goal(name, failed if report["unanswered"] > 0 else ROUNDS, "<=", 0, words)


def balancer(build, goal, no_goal):
    """Each goal's figure of one run; `goal` and `no_goal` are goals.py's."""
    path = os.path.join(build, "balancer.json")  # stays, for bench/balancer/plot.py
    subprocess.run([sys.executable, os.path.join(BENCH, "run.py"), build, "--json", path], stdout=subprocess.DEVNULL, check=True)
    with open(path) as file:
        report = json.load(file)
    one_shot = report["shifting"]["shift"]["one_shot"]["figures"]
    off = report["shifting"]["shift"]["off"]["figures"][0]["phases"][0]
    big = [one["phases"][0] for one in one_shot]
    back = [one["back_after_cycles"] for one in big]
    words = (f"{statistics.median(one['balanced_mkeys_s'] for one in one_shot):.3g} M look-ups/s of all keys; after the shift "
             f"{statistics.median(one['first_over_balanced'] for one in big):.2f} of it, at the end "
             f"{statistics.median(one['last_over_balanced'] for one in big):.2f}; off stays at {off['last_over_balanced']:.2f}")
    if None in back:
        no_goal("balancer.one_shot_back_after_cycles", "<=", 2, f"not back at 95 % in {back.count(None)} of {len(back)} runs: {words}")
    else:
        goal("balancer.one_shot_back_after_cycles", statistics.median(back), "<=", 2, words)
    dips = [phase["dip"] for one in one_shot for phase in one["phases"] if "dip" in phase]
    if dips:
        goal("balancer.deepest_dip", max(dips), "<=", 0.2,
             f"of 100 ms, the worst of {len(dips)} phases with transfers in {len(one_shot)} runs; median {statistics.median(dips):.2f}")
    else:
        no_goal("balancer.deepest_dip", "<=", 0.2, "nothing was moved")
    for batch, found in report["copy"].items():
        goal(f"balancer.copy_p999_over_steady_{batch}", found["p999_over_steady"]["median"], "<=", 2,
             f"{found['p999_copying_us']['median']:.0f} beside {found['p999_steady_us']['median']:.0f} us; "
             f"{found['mb_s']['median']:.0f} MB/s copied, {found['clients']} clients with {found['rate']} batches/s each")
        goal(f"balancer.longest_pause_over_allowed_{batch}", found["longest_pause_us"] / found["allowed_us"], "<=", 1.2,
             f"{found['longest_pause_us']} us of CPU time in one turn, {found['longest_pause_wall_us']} by the clock; "
             f"allowed {found['allowed_us']}")
    for aeus, loads in report["stepped"].items():
        name = aeus.replace(" ", "_").lower()
        shift = {algorithm: phases[1] for algorithm, phases in loads["middle"].items()}
        words = "; ".join(f"{algorithm}: {'never' if one['cycles'] is None else one['cycles']} cycles, {one['rows_moved']} rows moved"
                          for algorithm, one in shift.items())
        order = [float("inf") if one["cycles"] is None else one["cycles"] for one in shift.values()]
        goal(f"balancer.converges_in_order_{name}", float(order == sorted(order)), ">=", 1, words)
        for load, wanted in ("zipf", 1.2), ("narrow", 2):
            phases = loads[load]["one_shot"][1:]
            worst = max(phases, key=lambda one: one["last"] / one["bound"])
            goal(f"balancer.max_over_mean_{load}_{name}", worst["last"] / worst["bound"], "<=", wanted,
                 f"most over mean {worst['last']:.2f} at the end of the worst of {len(phases)} places; one key alone has "
                 f"{worst['bound']:.2f}: a ratio to that")
    for keys in "dense", "sparse":
        found = report["transfer"][keys]
        link = found["link"]
        goal(f"balancer.link_us_{keys}", link["us"], "<=", 1000, f"a range of {link['keys']} keys; the longest {link['us_max']:.0f} us")
        chunk = max(found["copy"], key=lambda one: one["ratio"])
        goal(f"balancer.copy_over_rebuild_{keys}", chunk["ratio"], ">=", 0.4,
             f"chunks of {chunk['chunk_rows']} rows: {chunk['gb_s']:.2f} GB/s beside {chunk['rebuild_gb_s']:.2f} of one flatten-and-rebuild; "
             + ", ".join(f"{one['chunk_rows']} rows {one['ratio']:.2f}" for one in found["copy"] if one is not chunk))
    linearizable(build, goal, no_goal)
