#!/usr/bin/env python3
"""The project's performance contract: each goal, measured now, beside the limit or peer it is a ratio to.

    tools/goals.py <builddir> [folder]

One line a goal:  GOAL <id> reached=<x> goal=<op><y> held|short|NOT-MEASURED
It reports and never fails: a short goal is a figure to work on, not an error. Exit code 1 only when
something could not be measured: such a goal says so in its line. Folders: index, tables, balancer, remote, memory, routing, engine, server.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from goals_balancer import balancer
from goals_index import index
from goals_local_access import memory_local_access
from goals_remote import cpu_seconds, remote_goals
from goals_tables import tables


def run(command, env=None):
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, env={**os.environ, **(env or {})}, text=True, stdout=subprocess.PIPE,
                          check=True)
    return done.stdout


def goal(name, reached, op, wanted, note=""):
    held = reached >= wanted if op == ">=" else reached <= wanted
    print(f"GOAL {name} reached={reached:.3g} goal={op}{wanted:g} {'held' if held else 'short'}"
          + (f"  # {note}" if note else ""), flush=True)


not_measured = []


def no_goal(name, op, wanted, why):
    """A goal that there is nothing to measure for, or whose measurement is missing."""
    not_measured.append(name)
    print(f"GOAL {name} reached=nothing goal={op}{wanted:g} NOT-MEASURED  # {why}", flush=True)


def routing(build):
    """Raw routing against moodycamel's queue and plain memcpys, AEUs that share cores, and the costs of a key and a turn."""
    # Whole turns: an outgoing buffer of 4096 commands fills within one. The peer with commands as its elements, and
    # with the smallest element that tells the same; the better of two block sizes each.
    whole, smallest = ["queue", "queue_512"], ["queue32", "queue32_512"]
    peers = whole + smallest
    raw = json.loads(run([f"{build}/bench/routing/raw_routing", "--aeus", "2,8", "--turn", "4096", "--rounds", "7",
                          "--batches", "256,1024,4096", "--modes", "plain", "--json", "-",
                          "--methods", ",".join(["port", *peers, "memcpy20"])]))
    best = {}
    for point in raw["points"]:
        name = point["method"], point["aeus"]
        best[name] = max(best.get(name, 0), point["commands_s"] / 1e6)
    ratios = raw["ratios"]
    others = f"other programs took {raw['cpus_taken_by_others']:.2f} cpus"
    for name, elements in ("", whole), ("_smallest_element", smallest):
        peer = min(elements, key=lambda name: ratios[f"port_over_{name}_2_plain"])
        goal(f"routing.raw_over_moodycamel{name}", ratios[f"port_over_{peer}_2_plain"], ">=", 3,
             f"{best['port', 2]:.0f} beside {best[peer, 2]:.0f} M commands/s of {peer}; {others}")
    goal("routing.raw_over_two_memcpys", ratios["port_over_memcpy20_bytes_2_plain"], ">=", 0.4,
         f"beside {best['memcpy20', 2]:.0f} M commands/s; {others}")
    goal("routing.aeus_8_over_2", ratios["port_8_plain_over_2_aeus"], ">=", 0.7,
         f"{best['port', 8]:.0f} M commands/s with 8 AEUs on {raw['cpus']} cores")
    keys = json.loads(run([f"{build}/bench/routing/routed_keys", "--batches", "256,1024,4096,16384", "--json", "-"]))
    worst = max(keys["points"], key=lambda point: point["routing_ns"])
    goal("routing.ns_per_routed_key", worst["routing_ns"], "<=", 6,
         f"worst: batches of {worst['batch']}, {worst['keys']} keys, {worst['routed_ns']:.1f} beside "
         f"{worst['bare_ns']:.1f} ns of the bare partition; other programs took {keys['cpus_taken_by_others']:.2f} cpus, "
         f"a line goes from core to core in {keys['cache_line_ns']:.0f} ns")
    report = json.loads(run([f"{build}/bench/routing/turn_bench", "--benchmark_filter=^turn/aeus:(2|512)$",
                             "--benchmark_format=json", "--benchmark_repetitions=7", "--benchmark_min_time=0.1",
                             "--benchmark_enable_random_interleaving=true"]))
    turns = {one["run_name"]: one["real_time"]
             for one in report["benchmarks"] if one.get("aggregate_name") == "median"}
    few, many = turns["turn/aeus:2"], turns["turn/aeus:512"]
    goal("routing.turn_512_over_2", many / few, "<=", 1.3,
         f"{many:.0f} beside {few:.0f} ns, a look-up of one key with 512 and with 2 AEUs, one addressed")


def engine(build):
    """What routing, reply and completion leave of the bare partition's batched lookups."""
    one = json.loads(run([f"{build}/bench/engine/routed_lookup"]))
    goal("engine.routed_over_bare_lookup", one["routed_over_bare"], ">=", 0.7,
         f"{one['routed_mkeys_s']:.1f} beside {one['bare_mkeys_s']:.1f} M keys/s, one AEU, sparse 16 M")


class Server:
    """eris serve on a free loopback port."""

    def __init__(self, build):
        self.eris = f"{build}/clients/cli/eris"
        self.work = tempfile.TemporaryDirectory()
        port_file = os.path.join(self.work.name, "port")
        self.process = subprocess.Popen([self.eris, "serve", "--listen", "127.0.0.1:0", "--port-file", port_file],
                                        stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(300):
            if os.path.exists(port_file) and open(port_file).read().strip():
                break
            time.sleep(0.1)
        self.env = {"ERIS_SERVER": "127.0.0.1:" + open(port_file).read().strip()}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.work.cleanup()


def server(build):
    """A loaded server: processor time when idle, and how evenly its AEUs share real keys."""
    one = Server(build)
    try:
        run([one.eris, "bench", "load", "--keys", "2000000", "--batch", "16384", "--verify"], one.env)
        rows = [int(aeu["rows"]) for aeu in json.loads(run([one.eris, "stats", "--output", "json"], one.env))["aeus"]]
        time.sleep(1)
        before = cpu_seconds(one.process.pid)
        time.sleep(10)
        idle = (cpu_seconds(one.process.pid) - before) / 10 * 100
    finally:
        one.stop()
    goal("server.idle_percent_of_a_core", idle, "<=", 1, "2 M keys loaded, 10 s")
    goal("server.fullest_aeu_over_mean", max(rows) / statistics.mean(rows), "<=", 1.2, f"{len(rows)} AEUs")


def memory(build):
    """The engine's own memory against five allocators on its tree's trace, and what it costs the system."""
    here = os.path.dirname(os.path.abspath(__file__))
    report = json.loads(run([sys.executable, f"{here}/../bench/memory/run.py", build, "--json", "-",
                             "--parts", "trace,small,foreign,memory,tree"]))
    small = report["small"]
    floor = small["floor"]["random_ns"]["median"]
    both = {name: 2 * (row["random_ns"]["median"] - floor) for name, row in small.items() if name != "floor"}
    pairs = {name: max(row["pair_ns_by_class"]) for name, row in small.items() if name != "floor"}
    goal("memory.treenode_alloc_free_ns", both["eris"], "<=", 10,
         f"an allocate and its free among 65536 random TreeNodes, {floor:.1f} ns of the replay itself taken off each; "
         f"at once, slowest class: {pairs['eris']:.1f}; beside: "
         + ", ".join(f"{name} {both[name]:.1f}, {pairs[name]:.1f}" for name in both if name != "eris"))
    trace = report["trace"]
    ours, floor = trace["eris"], trace["floor"]["gross_ns"]["median"]
    peers = {name: row for name, row in trace.items() if name not in ("eris", "floor")}
    best = min(peers, key=lambda name: peers[name]["gross_ns"]["median"])
    goal("memory.trace_over_best_peer", peers[best]["net_over_ours"], ">=", 1.5,
         f"{ours['net_ns']['median']:.2f} beside {peers[best]['net_ns']['median']:.2f} ns a call of {best} "
         f"({peers[best]['way']}), the replay's own {floor:.2f} ns taken off; with them {peers[best]['gross_over_ours']:.2f}; the others, over ours: "
         + ", ".join(f"{name} {row['net_over_ours']:.2f}" for name, row in peers.items() if name != best)
         + "; put onto huge pages from outside: "
         + ", ".join(f"{name} {row['net_over_ours']:.2f}" for name, row in report["trace_collapsed"].items()))
    foreign = report["foreign"]
    ours = foreign["eris"]
    goal("memory.foreign_free_over_local", ours["over_local"], "<=", 2,
         f"{ours['foreign_free']:.1f} ns and {ours['foreign_collect']:.1f} to collect, beside {ours['local_free']:.1f}; "
         f"with the next allocation {ours['cycle_over_local']:.2f}; beside: "
         + ", ".join(f"{name} {row['over_local']:.2f}, {row['cycle_over_local']:.2f}"
                     for name, row in foreign.items() if name != "eris"))
    tree = report["tree"]
    goal("memory.rss_over_live", tree["resident_over_live"], "<=", 1.15,
         f"{tree['operations'] / 1e6:.0f} M operations on {tree['keys'] / 1e6:.1f} M keys, {tree['seconds']:.0f} s; "
         "with "
         + ", ".join(f"{row['keys'] / 1e6:.0f} M keys {row['resident_over_live']:.2f}" for row in report["tree_other_sizes"])
         + "; after the trace: " + ", ".join(f"{name} {row['resident_over_live']:.2f}"
                                         for name, row in report["memory"].items()))
    goal("memory.returned_after_drop", tree["returned_after_drop"], ">=", 0.9,
         f"after {tree['dropped_seconds']:.1f} s; with a tenth of the keys left {tree['erased_resident_5s'] / 1e6:.0f} MB "
         f"for {tree['erased_live'] / 1e6:.0f} MB live")
    memory_local_access(build, goal, no_goal)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([f"{build}/tests/unit/memory/memory_memory_accounting_test", f"--gtest_output=json:{file.name}"],
                       stdout=subprocess.DEVNULL)  # drift is a failed test, and a figure here
        cases = json.load(file)["testsuites"][0]["testsuite"]
    goal("memory.accounting_drift_bytes", sum(int(case["drift_bytes"]) for case in cases), "<=", 0,
         ", ".join(f"{int(case['operations']) / 1e6:.0f} M operations, {case['refused']} refused at some level"
                   for case in cases))


FOLDERS = {"index": lambda build: index(build, goal, no_goal), "tables": lambda build: tables(build, goal), "balancer": lambda build: balancer(build, goal, no_goal), "remote": lambda build: remote_goals(build, goal, no_goal), "memory": memory, "routing": routing, "engine": engine, "server": server}


# A program that fails or is missing, an answer in another form, or one with nothing in it to divide by: the other folders go on.
CANNOT_MEASURE = (subprocess.SubprocessError, OSError, LookupError, ValueError, ArithmeticError, TypeError)


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] not in FOLDERS):
        sys.exit(f"{__doc__}\nusage: tools/goals.py <builddir> [{'|'.join(FOLDERS)}]")
    status = 0
    for name in [sys.argv[2]] if len(sys.argv) == 3 else FOLDERS:
        try:
            FOLDERS[name](sys.argv[1])
        except CANNOT_MEASURE as error:
            print(f"goals: {name} could not be measured: {error!r}", file=sys.stderr)
            status = 1
    if not_measured:
        print(f"goals: not measured: {', '.join(not_measured)}", file=sys.stderr)
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
