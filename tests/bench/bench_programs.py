#!/usr/bin/env python3
"""Runs every program and every script of bench/ in sizes of seconds: it must end well, and print its figures.

    tests/bench/bench_programs.py --build build/dev [--only programs|scripts] [name...]

A figure may be anything but missing: programs check their own answers, and end with an error when one is wrong. A program
that is built and has no line here fails, and so does a line whose program is not built: nothing rots in silence. The goals,
the paper's figures and the study have tiny runs of their own (tools/goals.py --tiny, bench/paper/run.py --scale tiny,
bench/study/run.py --tiny), so their scripts are not run here. Exit code 77: all is well, but a package is missing.
"""
import argparse
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
SECONDS_MAX = 120  # of one program; a few are usual
SCRIPT_SECONDS_MAX = 300

LOOKUP = "lookup 256 uniform 2"
SIDES = ("build random 256", LOOKUP, "lookup 1024 zipf 2", "replace 256 uniform 2")


class Wrong(Exception):
    """A program's output is not what it should be."""


@dataclasses.dataclass(frozen=True)
class Call:
    """Once with these arguments; {work} is an empty folder. `check` gets what it has printed."""
    arguments: str
    check: object
    asked: tuple = ()  # lines of standard input


# --- what must have been printed -------------------------------------------------------------------


def figures(found, names):
    """Fails unless each name is a finite number of the object; a/b is a member of a member, and a * is all of them."""
    def members(value, path):
        if not path:
            yield value
        elif path[0] == "*":
            inner = value if isinstance(value, list) else value.values()
            if not inner:
                raise Wrong(f"{path} is empty")
            for one in inner:
                yield from members(one, path[1:])
        else:
            yield from members(value[path[0]], path[1:])

    for name in names:
        try:
            values = list(members(found, name.split("/")))
        except (KeyError, TypeError, AttributeError) as error:
            raise Wrong(f"there is no {name} in {str(found)[:300]}") from error
        for value in values:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise Wrong(f"{name} is {value!r}, no figure")


def parsed(text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise Wrong(f"no JSON: {text[:200]!r}") from error


def one_object(*names):
    return lambda text: figures(parsed(text), names)


def second_object(*names):
    """In the second line: the first one answers the command that builds."""
    return lambda text: figures(parsed(text.splitlines()[1]), names)


def objects(count, *names):
    """`count` lines of JSON, each with the figures."""
    def check(text):
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) != count:
            raise Wrong(f"{len(lines)} lines for {count}: {text[:300]!r}")
        for line in lines:
            figures(parsed(line), names)
    return check


def google_benchmarks(count):
    """`count` of them at least."""
    def check(text):
        found = parsed(text)["benchmarks"]
        if len(found) < count:
            raise Wrong(f"{len(found)} benchmarks for {count}")
        for one in found:
            if "error_occurred" in one:
                raise Wrong(f"{one['name']}: {one.get('error_message')}")
            figures(one, ("real_time", "cpu_time"))
    return check


def lines_like(pattern, count):
    """At least `count` lines that match, whose numbers are numbers."""
    def check(text):
        found = [line for line in text.splitlines() if re.search(pattern, line)]
        if len(found) < count:
            raise Wrong(f"{len(found)} lines like {pattern!r} for {count}: {text[:300]!r}")
        if bad := [line for line in found if re.search(r"\b(nan|inf)\b", line)]:
            raise Wrong(f"no figure: {bad[0]}")
    return check


# --- the programs ----------------------------------------------------------------------------------

BENCHMARK = "--benchmark_format=json --benchmark_min_time=0.001"
TREE = "--out {work}/trace --keys 20000,5000,2000 --records 20000 --sections 1"
# By path in the build's bench/. All share {work}: what one leaves there, those behind it may read.
PROGRAMS = {
    "balancer/hash_moves": [Call("--rows 80000 --alone 5 --moves 20 --stops 2",
                                 one_object("alone_ms/*", "beside_ms/*", "pause_ms/max", "deadline_overshoot_ms/max", "lives_per_s"))],
    "balancer/monitor_bench": [Call("--rounds=1 --rows=65536", lines_like(r"keys a command: lookup +[\d.]+ ns", 4))],
    "balancer/copy_turns": [Call("--kind table --rows 2000 --columns 8 --string 100", one_object("over_allowed", "turns")),
                              Call("--kind hash --rows 2000", one_object("over_allowed", "turns")),
                              Call("--kind index --rows 4000 --old erased --pause-us 20 --turns 20", one_object("over_allowed", "turns"))],
    "balancer/scan_begins": [Call("--rows 20000 --scans 50", one_object("p99_over_steady", "moving/p99_us"))],
    "balancer/shifting_load": [
        Call("--keys 65536 --phases 1 --phase-s 0.2 --period-ms 50 --load middle", one_object("keys/*", "phases/*/batch_p99_us")),
        Call("--processes 2 --keys 65536 --phases 1 --phase-s 0.2 --load shift --seed 2", one_object("keys/*", "phases/*/batch_p99_us")),
        Call("--moves copy --keys 65536 --rounds 1 --steady-s 0.05 --batch 256", one_object("steady/p99_us", "transfers/*/rows")),
        Call("--moves leap --topology='numa:2 core:1 pu:1' --keys 65536 --rounds 1 --steady-s 0.05 --batch 256",
             one_object("moving/p99_us", "transfers/*/home_bytes"))],
    "balancer/stepped_load": [Call("--keys 16384 --asked 4096 --cycles 2 --phases 1 --aeus 8 --algorithm ma(1) --seed 2",
                                   one_object("phases/*/bound", "phases/*/max_over_mean/*"))],
    "balancer/table_copies": [
        Call("--rows 20000 --columns 4 --string 16 --rounds 1", one_object("transfers/*/longest_pause_us", "transfers/*/rows")),
        Call("--rows 20000 --columns 4 --heap 1 --rounds 1", one_object("transfers/*/longest_pause_us"))],
    "balancer/segment_lab": [Call("--rows 0.05 --rounds 1", one_object("leap_over_copy", "copy_ns_row", "leap_home_ns_row"))],
    "balancer/transfer_lab": [Call("--keys 0.05 --rounds 1 --chunks 4096",
                                   one_object(*(f"{keys}/{what}" for keys in ("dense", "sparse") for what in ("link/us", "leap/home_ns_row", "copy/*/ratio"))))],
    "engine/index_join": [Call("20000 2 1", one_object("*"))],
    "doors/row_stream": [],  # SERVERS runs it
    "doors/session_lookup": [Call("20000 256 0.01", one_object("keys_per_second"))],
    "engine/routed_lookup": [Call("20000 0.01 1 256", one_object("routed_over_bare", "routed_mkeys_s", "bare_mkeys_s"))],
    "index/index_lab": [
        Call("--sides", lines_like(r'"eris".*"btree"', 1)),
        Call("--side limits --keys 65536 --area 4", objects(3, "*"), ("build", "loads 16 2", "read 2")),
        *(Call(f"--side {side} --keys 65536", objects(4, "*"), SIDES) for side in ("eris", "eris_hash")),
        *(Call(f"--side {side} --keys 65536", objects(3, "*"), ("build random 1", "lookup 1 uniform 2", "replace 1 uniform 2"))
          for side in ("btree", "flat_hash", "std_map", "radix")),
        Call("--side eris --keys 65536 --keys-are dense", objects(6, "*"),
             ("build bulk 256", "mixed 256 uniform 2", "erase 256 65536", "scan 100 2", "scan_all", "two 256 2"))],
    "leap/leap_lab": [Call(f"--method {method} --mib 8 --rounds 1 --area-kib 1024 {rest}", one_object("rounds/*/over_memcpy", "lost", "writes"))
                      for method, rest in (("hold", "--flat-out"), ("hold", "--writes-per-s 1000 --no-userfault"), ("owner", "--pages file"),
                                           ("retry", "--pages small --skewed --writes-per-s 100000"), ("kernel", "--pages small"))]
    + [Call("--method hold --mib 8 --rounds 1 --reader --alone-ms 10 --seconds 0.02", one_object("rounds/*/alone_read_gb_s", "rounds/*/read_gb_s", "lost")),
       Call("--method none --mib 8 --rounds 1 --writes-per-s 1000 --seconds 0.02", one_object("rounds/*/writes_s", "lost")),
       Call("--method kernel --mib 8 --rounds 1 --fresh --deadline-s 10", one_object("rounds/*/fresh_memcpy_ms", "rounds/*/left_bytes"))],
    "leap/leap_queries": [Call(f"--method {method} --rows 65536 --rounds 1 --area-kib 2048 {rest}",
                               one_object(*(f"queries/*/*/{name}_ms" for name in ("migration", "before", "during", "after", "five")), "lost"))
                          for method, rest in (("hold", "--written"), ("owner", ""), ("retry", "--pages small --written"), ("kernel", ""))],
    "memory/tree_trace": [Call(TREE, lines_like(r"of the records$", 11))],
    "memory/allocator_lab": [
        *(Call(f"--tiny --trace {{work}}/trace --way {way}", lines_like(r"\d", 6),
               ("build", "collapse", "round 0", "random", "erase 10", "drop")) for way in ("cache", "malloc")),
        Call("--tiny --trace {work}/trace --way cache", second_object("ns/*"), ("build", "pairs")),
        Call("--tiny --trace {work}/trace --way cache", second_object("foreign_free", "local_free"), ("build", "foreign")),
        Call("--tiny --trace {work}/trace --way none", objects(3, "ns"), ("build", "round 0", "random")),
        Call("--paper --way cache --threads 2 --operations 10000", one_object("seconds", "requested", "peak"))],
    "memory/tree_memory": [Call("--keys 20000 --operations 100000 --watch-s 0.1", one_object("*"))],
    "paper/engine_energy": [Call("--aeus 2 --keys 16384 --rounds 1 --seconds 0.1",
                                 one_object("states/*/cpus/median", "states/*/aeu_wakeups_s/median", "states/half/batches_s/median"))],
    "paper/node_matrix": [Call("--mib 4 --rounds 1", one_object("pairs/*/all_cores_gb_s/median", "pairs/*/latency_ns/median"))],
    "paper/shared_scan": [Call("--rows 65536 --rounds 1", lines_like(r'"gb_s": *\{', 1))],
    "queries/query_bench": [],  # queries/run.py brings its tables
    "queries/query_placement": [],  # tests/numa/query_placement_test.py
    "remote/metrics_cost": [Call("--objects=20 --rounds=1", lines_like(r"counting a call: [\d.]+ ns", 1)),
                            Call("--objects=20 --rounds=1", lines_like(r"a scrape of .* [\d.]+ ms, \d+ series", 1))],
    "remote/echo_server": [],  # SERVERS runs the two
    "remote/redis_load": [],
    "routing/range_table_bench": [Call(f"{BENCHMARK} --benchmark_filter=ranges:(64|1024)$", google_benchmarks(4))],
    "routing/raw_routing": [Call("--aeus 2,4 --modes plain,mixed --batches 1,256 --rounds 1 --ms 2 --turn 512 --json -",
                                 one_object("points/*/commands_s", "ratios/*"))],
    "routing/routed_keys": [Call("--keys 16000 --batches 64,4096 --rounds 1 --ms 2 --json -",
                                 one_object("points/*/routing_ns", "points/*/routed_ns", "points/*/bare_ns"))],
    "routing/split_bench": [Call(f"{BENCHMARK} --benchmark_filter=ranges:(1|32|512)/", google_benchmarks(14))],
    "routing/turn_bench": [Call(f"{BENCHMARK} --benchmark_filter=aeus:(2|512)$", google_benchmarks(6))],
    "routing/wake_bench": [Call("--rounds 100 --asleep 50 --json -", one_object("clock_ns", "latencies/*/flush_ns", "wakes/*/batches"))],
    "scan/scan_lab": [
        Call("--side eris --aeus 2 --rows 65536", objects(5, "ms"), ("columns", "run sum_a", "run sum_b_where_c", "run count_a", "shared 2")),
        Call("--side eris --rows 65536", second_object("p99_us", "scans"), ("columns", "lookups 20 1")),
        Call("--side limit --rows 65536", objects(1, "ms"), ("read",))],
    "scan/scan_placement": [Call("--rows 65536 --rounds 1", lines_like(r'"gb_s"', 4))],
    "scan/upsert_overhead": [Call("65536 1", one_object("versioned_over_bare", "held_mkeys_s"))],
    "shared/shared_index_lab": [Call("--keys 16384 --threads 2 --rounds 1 --rewrite-seconds 0.02 --lookup-seconds 0.02 --json -",
                                     one_object("structures/*/lookups_s/median", "ratios/*/median")),
                                *(Call(f"--keys 16384 --threads {threads} --structures eris,shared,processes --layout {layout} --rounds 1 --rewrite-seconds 0.02 "
                                       "--lookup-seconds 0.02 --zipf-seconds 0.02 --settle-seconds 0.02 --ask-seconds 0.02 --json -",
                                       one_object("structures/*/zipf_lookups_s/median", "structures/eris/asks_s/median"))
                                  for threads, layout in ((2, "dense"), (3, "sparse")))],
    "study/autonuma_setup": [],  # in the emulated machine alone: tests/numa/study_counts_test.py
    "study/blind/study_blind": [
        *(Call(f"--query {query} --scale 0.001 --check {rest}",
               one_object("runs/*/seconds", "runs/*/minor_faults", "runs/*/live_bytes", "runs/*/resident", "runs/*/rows", "resident_peak"))
          for query, rest in (("w1", "--affinity sparse --pages never"), ("w2", "--load main --repeat 2"), ("w3", "--placement local"),
                              ("w4", "--affinity dense --data zipf"))),
        Call("--arrivals 12 --rate 500 --idle-s 0.1 --scale 0.0005", one_object("latency_s/*", "wait_s/*", "resident_mean", "resident_later"))],
    "study/study_engine": [],  # study/run.py and its axis scheduler bring the commands
    "table/kernel_lab": [Call("--gib=0.002 --rounds=1", lines_like(r"\d", 10))],
}
PACKAGES = {"routing/raw_routing": "libconcurrentqueue-dev", "remote/redis_load": "libhiredis-dev"}


def output(command, asked=(), seconds=SECONDS_MAX, accepted=(0,), env=None):
    """What it prints. Errors: Wrong."""
    try:
        done = subprocess.run(list(map(str, command)), input="".join(f"{line}\n" for line in asked), text=True, capture_output=True,
                              timeout=seconds, env={**os.environ, **(env or {})})
    except subprocess.TimeoutExpired as error:
        raise Wrong(f"has not ended within {seconds} s") from error
    if done.returncode not in accepted:
        how = f"ended with {done.returncode}" if done.returncode >= 0 else f"was ended by {signal.Signals(-done.returncode).name}"
        raise Wrong(f"{how}: {(done.stderr.strip() or done.stdout.strip())[-500:]}")
    return done.stdout


def run_program(build, name, calls, work):
    for call in calls:
        arguments = shlex.split(call.arguments.format(work=work))
        try:
            call.check(output([build / "bench" / name, *arguments], call.asked))
        except Wrong as error:
            raise Wrong(f"{name} {' '.join(arguments)}: {error}") from error


# --- servers and their clients ---------------------------------------------------------------------


@contextlib.contextmanager
def serving(command, port_of):
    """Errors: Wrong (it did not start, or did not end well)."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if (port := port_of()) or process.poll() is not None:
                break
            time.sleep(0.05)
        if not port:
            raise Wrong(f"{command[0]} did not start")
        yield port
    finally:
        process.terminate()
        code = process.wait(60)
    if code not in (0, -signal.SIGTERM):
        raise Wrong(f"{command[0]} ended with {code}")


def echo_server(build, work):
    """A lookup over it counts; what it answers is not what was loaded, which --verify must find."""
    port_file = work / "port"
    with serving([build / "bench/remote/echo_server", port_file],
                 lambda: port_file.exists() and port_file.read_text(encoding="utf-8").strip()) as port:
        asked = [build / "clients/cli/eris", "bench", "lookup", "--server", f"127.0.0.1:{port}", "--keys", 20000, "--batch", 256,
                 "--seconds", 0.1, "--output", "json"]
        figures(parsed(output(asked)), ("keys_per_second", "p99_us"))
        output([*asked, "--verify"], accepted=(1,))


def redis_load(build, work):
    if not shutil.which("redis-server"):
        return "redis-server cannot be installed: nothing is compared with Redis"
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]

    def answers():
        with socket.socket() as one:
            return port if one.connect_ex(("127.0.0.1", port)) == 0 else 0

    with serving(["redis-server", "--port", port, "--save", "", "--appendonly", "no", "--dir", work], answers):
        for operation, batch in ("load", 256), ("lookup", 256), ("upsert", 1):
            text = output([build / "bench/remote/redis_load", "--port", port, "--keys", 20000, "--batch", batch, "--seconds", 0.1,
                           "--operation", operation])
            figures(parsed(text), ("keys_per_second",))
    return None


def row_stream(build, work):
    port_file, eris = work / "eris_port", build / "clients/cli/eris"
    with serving([eris, "serve", "--aeus", "1", "--listen", "127.0.0.1:0", "--port-file", port_file],
                 lambda: port_file.exists() and port_file.read_text(encoding="utf-8").strip()) as port:
        server = f"127.0.0.1:{port}"
        output([eris, "create", "rows", "--server", server, "--schema", "k:uint64,a:uint64,b:uint64,c:uint64", "--key", "k"])
        figures(parsed(output([build / "bench/doors/row_stream", server, "rows", 20000, 4096])), ("rows_per_second",))


SERVERS = {"doors/row_stream": row_stream, "remote/echo_server": echo_server, "remote/redis_load": redis_load}


# --- the scripts -----------------------------------------------------------------------------------

# By path in bench/: the calls, in this order; what one writes into {work}, a later one reads.
SCRIPTS = {
    "balancer/run.py": ["{build} --tiny --json {work}/balancer.json"],
    "balancer/plot.py": ["{work}/balancer.json {work}/balancer.svg"],
    "index/run.py": ["{build} --tiny --json {work}/index.json --cells 16-sparse"],
    "index/plot.py": ["{work}/index.json {work}/index.svg"],
    "leap/run.py": ["{build} --tiny --json {work}/leap.json"],
    "memory/run.py": ["{build} --tiny --json {work}/memory.json"],
    "memory/plot.py": ["{work}/memory.json {work}/memory.svg"],
    "queries/run.py": ["{build} --tiny --parts times --json {work}/queries.json"],
    "queries/plot.py": ["{work}/queries.json {work}/queries.svg"],
    "scan/run.py": ["{build} --tiny --json {work}/scan.json"],
    "scan/plot.py": ["{work}/scan.json {work}/scan.svg"],
    "routing/plot.py": ["{work}/raw.json {work}/raw.svg"],
    "remote/breakdown.py": ["{build} --tiny --json {work}/breakdown.json"],
}
# Run by the others, or by the tiny run of the goals, of the paper's figures or of the study.
ELSEWHERE = ("doors/", "scan/peers.py", "queries/duckdb_side.py", "remote/page_cost.py", "remote/python_client.py", "paper/", "study/")
MADE_BY_PROGRAMS = {"routing/plot.py": ("routing/raw_routing", "--aeus 2 --modes plain --batches 1,256 --rounds 1 --ms 2 --json {work}/raw.json")}


def run_script(build, name, calls, work):
    """What is absent, if anything. Errors: Wrong."""
    where = {"build": build, "work": work}
    if name in MADE_BY_PROGRAMS:
        program, arguments = MADE_BY_PROGRAMS[name]
        if not (build / "bench" / program).exists():
            return f"{PACKAGES[program]} cannot be installed: {program} is not built"
        output([build / "bench" / program, *arguments.format(**where).split()])
    for call in calls:
        arguments = call.format(**where).split()
        try:
            said = output([sys.executable, "-B", ROOT / "bench" / name, *arguments], seconds=SCRIPT_SECONDS_MAX, accepted=(0, SKIPPED))
        except Wrong as error:
            raise Wrong(f"bench/{name} {' '.join(arguments)}: {error}") from error
        if said.startswith("SKIPPED: "):
            return said.splitlines()[0].removeprefix("SKIPPED: ")
        made = pathlib.Path([word for word in arguments if word.startswith(str(work))][-1])
        if not made.exists():
            raise Wrong(f"bench/{name} has not written {made.name}")
        if made.suffix == ".svg":
            xml.etree.ElementTree.parse(made)
    return None


# --- all of them -----------------------------------------------------------------------------------


def executables(build):
    """Paths below build/bench of what is built there."""
    folder = build / "bench"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.is_file() and os.access(path, os.X_OK) and "CMakeFiles" not in path.parts and path.suffix == "")


def scripts():
    """Paths below bench/ of what can be called."""
    folder = ROOT / "bench"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8"))


def not_run(built, known, elsewhere=()):
    """Those that nobody runs, and those that are run and do not exist."""
    return ([name for name in built if name not in known and not name.startswith(elsewhere or ("\0",))],
            [name for name in known if name not in built])


class Tally:
    def __init__(self):
        self.failed, self.absent = [], []

    def take(self, name, run):
        began = time.monotonic()
        try:
            absent = run()
        except Wrong as error:
            self.failed.append(name)
            print(f"{name}: FAILED: {error}", flush=True)
            return
        except Exception as error:  # an answer in another form: the others go on
            self.failed.append(name)
            print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
            return
        if absent:
            self.absent.append(absent)
        print(f"{name}: {'left out' if absent else 'ok'}, {time.monotonic() - began:.1f} s", flush=True)


def run_programs(build, wanted, work, tally):
    built = executables(build)
    unknown, unbuilt = not_run(built, PROGRAMS)
    for name in unknown if not wanted else ():
        tally.take(name, lambda: fail("a benchmark nobody runs: it has no line in tests/bench/bench_programs.py"))
    for name, calls in PROGRAMS.items():
        if wanted and name not in wanted:
            continue
        if name in unbuilt:
            tally.take(name, lambda: f"{PACKAGES[name]} cannot be installed: bench/{name} is not built" if name in PACKAGES  # noqa: B023
                       else fail("is not built"))
        elif name in SERVERS:
            tally.take(name, lambda: SERVERS[name](build, work))  # noqa: B023
        else:
            tally.take(name, lambda: run_program(build, name, calls, work))  # noqa: B023


def run_scripts(build, wanted, work, tally):
    unknown, gone = not_run(scripts(), SCRIPTS, ELSEWHERE)
    for name in [*unknown, *gone] if not wanted else ():
        tally.take(name, lambda: fail("a script nobody runs, or one that is gone: tests/bench/bench_programs.py"))
    for name, calls in SCRIPTS.items():
        if name not in gone and (not wanted or name in wanted):
            tally.take(name, lambda: run_script(build, name, calls, work))  # noqa: B023


def fail(words):
    raise Wrong(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--only", choices=("programs", "scripts"))
    parser.add_argument("names", nargs="*", help="paths below bench/ (default: all)")
    options = parser.parse_args()
    tally, build = Tally(), options.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "scripts":
            run_programs(build, options.names, pathlib.Path(folder), tally)
        if options.only != "programs":
            run_scripts(build, options.names, pathlib.Path(folder), tally)
    for words in dict.fromkeys(tally.absent):
        print(f"SKIPPED: {words}", flush=True)
    if tally.failed:
        print(f"failed: {', '.join(tally.failed)}")
        return 1
    return SKIPPED if tally.absent else 0


if __name__ == "__main__":
    sys.exit(main())
