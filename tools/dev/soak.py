#!/usr/bin/env python3
"""./dev soak [hours]: runs checks that take too long for ./dev test, in turn, from where the last soak stopped.

A piece of each kind takes a few minutes. docs/lab/soak.md has a line for each kind and soak, which is written after
every piece. The sum of the lines is where the next soak continues, on any machine.
"""
import argparse
import datetime
import pathlib
import signal
import subprocess
import sys
import time

from stages import ROOT, Stages, jobs

PAGE = ROOT / "docs/lab/soak.md"
SLICES = 8  # the whole of a tree runs in this many pieces
SEEDS = 40_000
ROUNDS = 10
FUZZ_S = 180
STRESS_S = 60
ORDER_BATCHES = 10_000_000  # 85 million operations
LEAP_WRITES = 10**9
TREES = {"dev": ("all",), "asan": ("tests/all", "eris"), "tsan": ()}  # with what is built in each
sys.path.insert(0, str(ROOT / "tests/models"))
from run_models import RUNS  # noqa: E402

MODELS = tuple(RUNS)
# Tests of times or resident memory are meaningless in a sanitizer's tree.
MEASURES = {"dev": [], "asan": ["-E", "idle|memory_limits|e2e_demo"], "tsan": []}
PYTHON = [sys.executable, "-B"]


def slice_of(tree, at):
    """The at-th of SLICES parts of a tree's tests, all labels but those with kinds of their own."""
    return ["ctest", "--test-dir", f"build/{tree}", "--output-on-failure", "-LE", "numa|model|bench",
            *MEASURES[tree], "-I", f"{at % SLICES + 1},,{SLICES}", "-j", "1"]


# kind: (unit, amount of a piece, command of the piece that begins at that amount). The order is the rotation.
KINDS = {
    "simulation": ("seeds", SEEDS, lambda at: ["build/dev/tests/sim/sim_run", "--from", str(10_001 + at), "--count", str(SEEDS)]),
    "linearizability": ("rounds", ROUNDS, lambda at: PYTHON + ["tests/linearizability/run.py", "--build", "build/dev",
                                                               "--rounds", str(ROUNDS), "--seed", str(1000 + at)]),
    # Each piece has its own seed: half of them have small buffers, half the balancer.
    "stress": ("seconds", STRESS_S, lambda at: ["build/dev/tests/stress/stress_run", "--seconds", str(STRESS_S), "--seed", str(at // STRESS_S)]),
    "order": ("batches", ORDER_BATCHES, lambda at: ["build/dev/tests/stress/stress_run", "--seconds", "0", "--batches", str(ORDER_BATCHES), "--seed",
                                                    str(1_000_000 + at // ORDER_BATCHES), "--sessions", "16", "--streams", "4", "--loads",
                                                    "pipelines,streams,moves"]),
    # Over the nine cases together. The same program plants the protocol that loses some.
    "leap writes": ("million writes", LEAP_WRITES // 10**6, lambda at: ["env", f"ERIS_LEAP_WRITES={LEAP_WRITES // 9 + 1}",
                                                                        "build/dev/tests/unit/leap/leap_tests", "--file=writers_test.cc"]),
    "models": ("models", 1, lambda at: PYTHON + ["tests/models/run_models.py", "--record", MODELS[at % len(MODELS)]]),
    "fuzz": ("seconds", FUZZ_S, lambda at: ["tests/fuzz/run_fuzz.sh", "build/asan", str(FUZZ_S)]),
    "fuzz request": ("seconds", FUZZ_S, lambda at: ["tests/fuzz/run_fuzz.sh", "build/asan", str(FUZZ_S), "request"]),
    "fuzz flight": ("seconds", FUZZ_S, lambda at: ["tests/fuzz/run_fuzz.sh", "build/asan", str(FUZZ_S), "flight"]),
    **{f"fuzz {kind}": ("seconds", FUZZ_S, lambda at, kind=kind: ["tests/fuzz/run_fuzz.sh", "build/asan", str(FUZZ_S), kind])
       for kind in ("config", "filter", "csv")},
    **{f"tree {tree}": ("eighths", 1, lambda at, tree=tree: slice_of(tree, at)) for tree in TREES},
    "NUMA shapes": ("runs", 1, lambda at: ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-L", "numa"]),
    "headers": ("runs", 1, lambda at: PYTHON + ["tools/dev/headers_alone.py", "build/asan"]),
    "goals of the doors": ("runs", 1, lambda at: ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-R", "^goals_tiny_doors$"]),
    "grpcurl": ("runs", 1, lambda at: ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-R", "grpcurl"]),
    "Spark": ("runs", 1, lambda at: ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-C", "soak", "-R", "^e2e_spark$"]),
    "packages": ("runs", 1, lambda at: ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-C", "soak", "-R", "^e2e_package$"]),
    "wheels": ("runs", 1, lambda at: ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-C", "soak", "-R", "^e2e_wheel$"]),
    "engines in C": ("thousands", 1, lambda at: ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-C", "soak", "-R", "^e2e_capi_often$"]),
}
HEAD = """# Soak

`./dev soak [hours]` runs searches and loads that are too long for `./dev test`. Each soak goes on where the last one stopped, so the amounts
of a kind add up. A tree's tests are run in eighths.

| what | `./dev test` | before | why less |
|---|---|---|---|
| seeds of the simulation | 3,000 | 10,000 | half of its time; each soak begins behind the seeds of the last |
| rounds of linearizability | 6 | 20 | 12 s a round |
| the stress of all kinds of objects | two runs of 3 s | – | 60 s a piece; an hour in one process: `stress_run --seconds 3600` |
| batches of pipelined sessions and streams | 20,000 | – | minutes for 10 million |
| models | those that have changed, or what they mirror | all | 300 s; a search finds the same until then |
| the weak-memory explorer under the address sanitizer | no | yes | clang 14 has no std::source_location; without a sanitizer it runs |
| loads of 512 MiB under the address sanitizer | no | no | they compare resident memory |
| shapes of the NUMA lab, and counts of accesses but for lookups and scans | three shapes, two counts | all | 5 to 60 s each, emulated |
| grpcurl, the tiny goals of the doors | no | yes | both compile: grpcurl in Go, the engine for a wheel |
| internal headers alone | no | yes | public ones are compiled alone in both; 250 compilations |
| what dev runs, too, with the address sanitizer: integration, simulation, stress, servers | if it begins within 50 minutes | yes | the limit of CI is 90 minutes |
| fuzzing | 10 s each of index, plans, Flight, requests | 20 s | 180 s a piece |

No other test has left `./dev test`. `tools/dev/test_cases.py 0dedaa8` lists the cases that are gone by name; all of them have a successor.

| date | commit | cpu | kind | amount | seconds | failed |
|---|---|---|---|---|---|---|
"""


def trees_of(kinds):
    """The trees whose programs the kinds run."""
    words = [word for kind in kinds for word in KINDS[kind][2](0)]
    return [tree for tree in TREES if any(word.startswith(f"build/{tree}") for word in words)]


def reached(text):
    """The amount of each kind that the page's lines add up to."""
    at = dict.fromkeys(KINDS, 0)
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 9 and cells[4] in at:
            at[cells[4]] += int(cells[5].split()[0].replace(",", ""))
    return at


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def commit():
    words = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"


def note(text, done, at_commit):
    """The page: the old one, with a line for each kind that has run."""
    today = datetime.date.today().isoformat()
    for kind, (amount, seconds, failed, skipped) in done.items():
        if skipped:
            failed = f"{failed}; skipped: {', '.join(sorted(skipped))}"
        text += f"| {today} | {at_commit} | {cpu_name()} | {kind} | {amount:,} {KINDS[kind][0]} | {seconds:.0f} | {failed} |\n"
    PAGE.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hours", type=float, nargs="?", default=1.0)
    parser.add_argument("--only", action="append", choices=KINDS, help="these kinds alone")
    args = parser.parse_args()
    kinds = args.only or list(KINDS)
    at_commit = commit()  # the page itself changes at the end
    stages = Stages()
    for tree in trees_of(kinds):
        if not stages.build(tree, *TREES[tree]):
            return 1
    text = PAGE.read_text() if PAGE.exists() else HEAD
    at = reached(text)
    until = time.monotonic() + args.hours * 3600
    done = {}
    for asked in signal.SIGINT, signal.SIGTERM:  # a shell's background job starts with SIGINT ignored
        signal.signal(asked, signal.default_int_handler)
    try:
        # First the kinds that are behind the others, in pieces.
        while time.monotonic() < until:
            kind = min(kinds, key=lambda kind: (at[kind] / KINDS[kind][1], kinds.index(kind)))
            _, amount, command = KINDS[kind]
            started = time.monotonic()
            well = stages.run(f"soak-{kind.replace(' ', '-')}", command(at[kind]))
            before = done.get(kind, (0, 0.0, 0, frozenset()))
            done[kind] = (before[0] + (0 if stages.none_ran else amount), before[1] + time.monotonic() - started, before[2] + (not well),
                          before[3].union(stages.skipped))
            at[kind] += amount  # also if it was skipped: the others' turn; the next soak tries it again
            note(text, done, at_commit)
    except KeyboardInterrupt:
        print("interrupted; the next soak goes on here")
    stages.summary()
    failed, skipped = sum(row[2] for row in done.values()), sorted(frozenset().union(*(row[3] for row in done.values())))
    print(f"{len(done)} kinds, {failed} pieces failed; skipped tests: {', '.join(skipped) or 'none'}; docs/lab/soak.md has a line for each kind")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
