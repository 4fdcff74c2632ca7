"""The goals of the engine's own memory: compared with five allocators on its tree's trace, and its cost for the system.
Part of tools/goals.py."""
import json
import pathlib
import subprocess
import tempfile

from goals_local_access import LOCAL_ACCESS
from goals_run import Absent, Part, Step, at_least, at_most

DRIVER = "bench/memory/run.py"
PACKAGES = {"jemalloc": "libjemalloc2", "mimalloc": "libmimalloc2.0", "tbbmalloc": "libtbbmalloc2", "tcmalloc": "libtcmalloc-minimal4"}
ACCOUNTING_TEST = "tests/unit/memory/memory_tests"


def allocators(run):
    report = run.script(DRIVER, "--parts", "trace,small,foreign,memory")
    if report["absent"]:
        raise Absent(f"{PACKAGES[report['absent'][0]]} cannot be installed: {', '.join(report['absent'])} cannot be preloaded")
    small = report["small"]
    floor = small["floor"]["random_ns"]["median"]
    both = {name: 2 * (row["random_ns"]["median"] - floor) for name, row in small.items() if name != "floor"}
    pairs = {name: max(row["pair_ns_by_class"]) for name, row in small.items() if name != "floor"}
    run.goal("memory.treenode_alloc_free_ns", both["eris"],
             f"an allocate and its free among 65536 random TreeNodes, {floor:.1f} ns of the replay itself taken off each; "
             f"at once, slowest class: {pairs['eris']:.1f}; the peers: "
             + ", ".join(f"{name} {both[name]:.1f}, {pairs[name]:.1f}" for name in both if name != "eris"))
    trace = report["trace"]
    ours, floor = trace["eris"], trace["floor"]["gross_ns"]["median"]
    peers = {name: row for name, row in trace.items() if name not in ("eris", "floor")}
    best = min(peers, key=lambda name: peers[name]["gross_ns"]["median"])
    run.goal("memory.trace_over_best_peer", peers[best]["net_over_ours"],
             f"{ours['net_ns']['median']:.2f} vs. {peers[best]['net_ns']['median']:.2f} ns a call of {best} "
             f"({peers[best]['way']}), the replay's own {floor:.2f} ns taken off; with them {peers[best]['gross_over_ours']:.2f}; the others, over ours: "
             + ", ".join(f"{name} {row['net_over_ours']:.2f}" for name, row in peers.items() if name != best)
             + "; put onto huge pages from outside: "
             + ", ".join(f"{name} {row['net_over_ours']:.2f}" for name, row in report["trace_collapsed"].items()))
    foreign = report["foreign"]
    ours = foreign["eris"]
    run.goal("memory.foreign_free_over_local", ours["over_local"],
             f"{ours['foreign_free']:.1f} ns and {ours['foreign_collect']:.1f} to collect, vs. {ours['local_free']:.1f}; "
             f"with the next allocation {ours['cycle_over_local']:.2f}; the peers: "
             + ", ".join(f"{name} {row['over_local']:.2f}, {row['cycle_over_local']:.2f}"
                         for name, row in foreign.items() if name != "eris")
             + "; resident over live memory after the trace: "
             + ", ".join(f"{name} {row['resident_over_live']:.2f}" for name, row in report["memory"].items()))


def tree(run):
    report = run.script(DRIVER, "--parts", "tree")
    one = report["tree"]
    run.goal("memory.rss_over_live", one["resident_over_live"],
             f"{one['operations'] / 1e6:.0f} M operations on {one['keys'] / 1e6:.1f} M keys, {one['seconds']:.0f} s; with "
             + ", ".join(f"{row['keys'] / 1e6:.0f} M keys {row['resident_over_live']:.2f}" for row in report["tree_other_sizes"]))
    run.goal("memory.returned_after_drop", one["returned_after_drop"],
             f"after {one['dropped_seconds']:.1f} s; with a tenth of the keys left {one['erased_resident_5s'] / 1e6:.0f} MB "
             f"for {one['erased_live'] / 1e6:.0f} MB live")


def accounting(run):
    """Drift is a failed test, and also a figure here."""
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, "cases.json")
        subprocess.run([f"{run.build}/{ACCOUNTING_TEST}", "--gtest_filter=*MemoryAccountingTest.*", f"--gtest_output=json:{path}"],
                       stdout=subprocess.DEVNULL)
        suites = json.loads(path.read_text(encoding="utf-8"))["testsuites"]
    cases = [case for suite in suites for case in suite["testsuite"] if "drift_bytes" in case]
    if not cases:
        raise LookupError(f"{ACCOUNTING_TEST} told no drift")
    run.goal("memory.accounting_drift_bytes", sum(int(case["drift_bytes"]) for case in cases),
             ", ".join(f"{int(case['operations']) / 1e6:.0f} M operations, {case['refused']} refused at some level"
                       for case in cases))


MEMORY = Part(6, (
    Step(allocators, {"memory.treenode_alloc_free_ns": at_most(10), "memory.trace_over_best_peer": at_least(1.5),
                      "memory.foreign_free_over_local": at_most(2)}),
    Step(tree, {"memory.rss_over_live": at_most(1.15), "memory.returned_after_drop": at_least(0.9)}),
    LOCAL_ACCESS,
    Step(accounting, {"memory.accounting_drift_bytes": at_most(0)}, test="tests/unit/memory/memory_accounting_test.cc")))
