#!/usr/bin/env python3
"""Rounds of reads and writes on single keys while ranges change hands, each judged by porcupine.

A server of four AEUs on two NumaNodes, whose balancer moves nothing of itself. In each round
linearizability_load moves ranges by link and by copy, one after another, under its clients, and
notes what these did and were told; checker/ says whether that can have been so. Some writes have so
little time that nobody knows whether they were done: how many is the machine's luck, one at least in
all rounds. A round in which too little has moved, or which was too short, does not count and fails;
so does one after which rows that nobody wrote to are others than before.

  run.py --build build/dev --rounds 200 --json out.json
  run.py --build build/dev --planted          # a server with a fault, which has to be found
  run.py --build build/dev --test-checker     # the checker's own tests
  run.py --build build --fetch                # only what they need from the Go proxy (./dev deps)
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import harness  # noqa: E402

CHECKER = os.path.join(HERE, "checker")
# Of all build directories.
MODULES = os.path.join(HERE, "..", "..", "build", "go-modules")
AEUS = 4
AEUS_PER_NUMA_NODE = 2
COLUMNS = ("round", "operations", "links", "copies", "refused", "unanswered", "illegal", "unknown",
           "seconds", "checked in")


def arguments(parser):
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds-min", type=int, default=3)
    parser.add_argument("--transfers-min", type=int, default=100, help="of each kind, in each round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--planted", action="store_true",
                        help="a server with a planted fault: ends well once it is found")
    parser.add_argument("--test-checker", action="store_true", help="only its own tests")
    parser.add_argument("--fetch", action="store_true", help="only porcupine; nothing when it is there")


def fetch_porcupine(build):
    """Go and the environment in which it builds the checker, whose module is there; else skips."""
    go, env = harness.find_go(build)
    env["GOMODCACHE"] = os.path.realpath(MODULES)
    # Asks nobody when the module is there.
    done = subprocess.run([go, "mod", "download"], cwd=CHECKER, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        with open(os.path.join(CHECKER, "go.mod")) as file:
            module, version = re.search(r"^require (\S+) (\S+)$", file.read(), re.MULTILINE).groups()
        harness.skip(f"{module}@{version} (Go module)", done.stderr.strip()[-2000:])
    return go, env


def build_checker(build):
    go, env = fetch_porcupine(build)
    program = os.path.join(os.path.abspath(build), "tools", "linearizability_checker")
    subprocess.run([go, "build", "-o", program, "."], cwd=CHECKER, env=env, check=True)
    return program


def judge(checker, history):
    done = subprocess.run([checker, history], capture_output=True, text=True)
    harness.check(done.returncode in (0, 1, 3), f"checker: {done.returncode}\n{done.stderr}")
    verdict = json.loads(done.stdout)
    harness.check_equal(done.returncode, 1 if verdict["illegal"] else 3 if verdict["unknown"] else 0,
                        f"exit code of the checker, which says {verdict}")
    return verdict


def run_round(args, programs, server, checker, number):
    history = os.path.join(server.directory.name, f"history-{number}")
    load = os.path.join(programs.build, "tests", "linearizability", "linearizability_load")
    options = {"object": f"round-{number}", "history": history, "clients": args.clients,
               "operations": args.operations, "seconds-min": args.seconds_min, "aeus": AEUS,
               "aeus-per-numa-node": AEUS_PER_NUMA_NODE, "seed": args.seed * 10_000 + number}
    done = server.run(load, *(f"--{name}={value}" for name, value in options.items()))
    print(done.stderr, end="", flush=True)
    result = {"round": number, **json.loads(done.stdout)}
    verdict = judge(checker, history)
    harness.check_equal(verdict["operations"], result["operations"], "operations checked")
    result.update(illegal=verdict["illegal"], unknown=verdict["unknown"],
                  illegal_keys=verdict["illegal_keys"], checked_in=round(verdict["seconds"], 3))
    # The history of what was wrong stays for whoever wants to see it.
    if result["illegal"] or result["unknown"]:
        kind = "planted" if args.planted else "round"
        result["history"] = os.path.join(programs.build, f"linearizability-{kind}-{number}")
        shutil.move(history, result["history"])
    else:
        os.remove(history)
    return result


def counts(args, result):
    """Whether a round says anything: enough has moved, in enough time."""
    return (result["operations"] == args.operations and result["seconds"] >= args.seconds_min and
            min(result["links"], result["copies"]) >= args.transfers_min)


def run_rounds(args, programs, checker):
    results = []
    with harness.Server(programs, "--topology", f"numa:2 core:{AEUS_PER_NUMA_NODE} pu:1", "--aeus",
                        str(AEUS), "--balancer-enabled", "false") as server:
        print(*(f"{name:>10}" for name in COLUMNS), flush=True)
        for number in range(1, args.rounds + 1):
            result = run_round(args, programs, server, checker, number)
            results.append(result)
            print(*(f"{result[name.replace(' ', '_')]:>10}" for name in COLUMNS), flush=True)
            if args.planted and result["illegal"]:
                break
    return results


def main():
    args = harness.parse_args(arguments)
    if args.fetch or args.test_checker:
        go, env = fetch_porcupine(args.build)
        if args.fetch:
            return
        sys.exit(subprocess.run([go, "test", "-count=1", "-v", "."], cwd=CHECKER, env=env).returncode)
    programs = harness.Programs(args.build)
    if args.planted:
        programs.eris = os.path.join(programs.build, "tests", "linearizability", "eris_planted")
    checker = build_checker(args.build)
    begin = time.monotonic()
    results = run_rounds(args, programs, checker)
    summary = {
        "rounds": len(results),
        "operations": sum(one["operations"] for one in results),
        "links_min": min(one["links"] for one in results),
        "copies_min": min(one["copies"] for one in results),
        "unanswered": sum(one["unanswered"] for one in results),
        "unanswered_min": min(one["unanswered"] for one in results),
        "checked_in_max": max(one["checked_in"] for one in results),
        "illegal_rounds": sum(one["illegal"] > 0 for one in results),
        "unknown_rounds": sum(one["unknown"] > 0 for one in results),
        "not_counting": [one["round"] for one in results if not counts(args, one)],
        "seconds": round(time.monotonic() - begin, 1),
    }
    print(json.dumps(summary), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({**summary, "results": results}, file, indent=1)
    if args.planted:
        harness.check(summary["illegal_rounds"] > 0, "the planted fault was not found")
        return
    harness.check_equal(summary["not_counting"], [], "rounds that do not count")
    harness.check_equal((summary["illegal_rounds"], summary["unknown_rounds"]), (0, 0),
                        "rounds with an illegal, an unknown history")
    harness.check(summary["unanswered"] > 0, "no write had an unknown outcome")


if __name__ == "__main__":
    main()
