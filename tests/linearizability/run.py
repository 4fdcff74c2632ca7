#!/usr/bin/env python3
"""Rounds of reads and writes of a few keys while ranges change hands, each judged by porcupine.

A server of four AEUs on two NumaNodes, and in each round an object of another kind. In the first half
of a round linearizability_load moves ranges by link and by copy, one after another, under its clients;
in the second the balancer does, every 10 ms. It notes what the clients did and were told; checker/ says
whether that can have been so. Some writes have so little time that nobody knows whether they were done:
how many is the machine's luck, one at least in all rounds. A round in which too little has moved, or
which was too short, does not count and fails; so does one in which rows that nobody changes were others
than before.

  run.py --build build/dev --rounds 200 --json out.json
  run.py --build build/dev --planted sent_twice  # a server with a fault, which has to be found
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
# Shared by all build directories.
MODULES = os.path.join(HERE, "..", "..", "build", "go-modules")
AEUS = 4
AEUS_PER_NUMA_NODE = 2
# The kind of a round's object, in turn, and whether its ranges move by link and by leap.
KINDS = {"index": True, "hash": False, "bytes": True, "two_part": True, "table": False, "int64": True}
# More rounds of a kind, each twice as long, after one with too few moves, as on a busy machine.
AGAIN_MAX = 3
COLUMNS = ("round", "kind", "operations", "streamed", "doubled", "links", "copies", "leaps", "balanced", "refused",
           "unanswered", "wrong rows", "illegal", "unknown", "seconds", "checked in")


def arguments(parser):
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds-min", type=int, default=3)
    parser.add_argument("--transfers-min", type=int, default=50, help="by hand, of each kind, in each round")
    parser.add_argument("--balanced-min", type=int, default=5, help="transfers by the balancer, in each round")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS), help="of objects, in turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--planted", choices=("early_table", "sent_twice"),
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
    with harness.locked(build, "linearizability_checker"):
        subprocess.run([go, "build", "-o", program + ".new", "."], cwd=CHECKER, env=env, check=True)
        os.replace(program + ".new", program)  # another test may be running it
    return program


def judge(checker, history):
    done = subprocess.run([checker, history], capture_output=True, text=True)
    harness.check(done.returncode in (0, 1, 3), f"checker: {done.returncode}\n{done.stderr}")
    verdict = json.loads(done.stdout)
    harness.check_equal(done.returncode, 1 if verdict["illegal"] else 3 if verdict["unknown"] else 0,
                        f"exit code of the checker, which says {verdict}")
    return verdict


def run_round(args, programs, server, checker, number, seconds_min):
    history = os.path.join(server.directory.name, f"history-{number}")
    load = os.path.join(programs.build, "tests", "linearizability", "linearizability_load")
    kind = args.kinds[(number - 1) % len(args.kinds)]
    options = {"object": f"round-{number}", "kind": kind, "history": history, "clients": args.clients,
               "operations": args.operations, "seconds-min": seconds_min, "aeus": AEUS,
               "aeus-per-numa-node": AEUS_PER_NUMA_NODE, "seed": args.seed * 10_000 + number}
    done = server.run(load, *(f"--{name}={value}" for name, value in options.items()))
    print(done.stderr, end="", flush=True)
    result = {"round": number, "kind": kind, **json.loads(done.stdout)}
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
    links_min = args.transfers_min if KINDS[result["kind"]] else 0
    return (result["operations"] == args.operations and result["seconds"] >= args.seconds_min and
            min(result["links"], result["leaps"]) >= links_min and result["copies"] >= args.transfers_min and
            result["balanced"] >= args.balanced_min)


def run_rounds(args, programs, checker):
    results = []
    with harness.Server(programs, "--topology", f"numa:2 core:{AEUS_PER_NUMA_NODE} pu:1", "--aeus",
                        str(AEUS), "--balancer-enabled", "false") as server:
        print(*(f"{name:>10}" for name in COLUMNS), flush=True)
        for number in range(1, args.rounds + 1):
            for again in range(AGAIN_MAX + 1):
                # A number of the same kind, a seed of its own, and twice the time.
                result = run_round(args, programs, server, checker, number + again * 1000 * len(args.kinds),
                                   args.seconds_min << again)
                results.append(result)
                print(*(f"{result[name.replace(' ', '_')]:>10}" for name in COLUMNS), flush=True)
                result["repeated"] = not (args.planted or counts(args, result)) and again < AGAIN_MAX
                if not result["repeated"]:
                    break
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
        programs.eris = os.path.join(programs.build, "tests", "linearizability", f"eris_planted_{args.planted}")
    checker = build_checker(args.build)
    begin = time.monotonic()
    results = run_rounds(args, programs, checker)
    summary = {
        "rounds": len(results),
        "operations": sum(one["operations"] for one in results),
        "kinds": sorted({one["kind"] for one in results}),
        "links_min": min((one["links"] for one in results if KINDS[one["kind"]]), default=0),
        "leaps_min": min((one["leaps"] for one in results if KINDS[one["kind"]]), default=0),
        "copies_min": min(one["copies"] for one in results),
        "balanced_min": min(one["balanced"] for one in results),
        "streamed": sum(one["streamed"] for one in results),
        "doubled": sum(one["doubled"] for one in results),
        "unanswered": sum(one["unanswered"] for one in results),
        "unanswered_min": min(one["unanswered"] for one in results),
        "checked_in_max": max(one["checked_in"] for one in results),
        "wrong_rows": sum(one["wrong_rows"] for one in results),
        "illegal_rounds": sum(one["illegal"] > 0 for one in results),
        "unknown_rounds": sum(one["unknown"] > 0 for one in results),
        "not_counting": [one["round"] for one in results if not (one["repeated"] or counts(args, one))],
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
    harness.check_equal((summary["illegal_rounds"], summary["unknown_rounds"], summary["wrong_rows"]), (0, 0, 0),
                        "rounds with an illegal, an unknown history; lookups of rows that have changed by themselves")
    harness.check(summary["unanswered"] > 0, "no write had an unknown outcome")


if __name__ == "__main__":
    main()
