#!/usr/bin/env python3
"""The scan benchmark: tables of an engine compared with the machine's sequential read, DuckDB, Polars and NumPy, in one
run.

    bench/scan/run.py <builddir> [--aeus 1,2] [--rounds 7] [--rows 67108864] [--parts columns,shared,...]
                      [--scale 1] [--peers duckdb,polars,numpy] [--json out.json] [--tiny]

Columns of uniformly random values, larger than the last-level cache, uncompressed on all sides; nothing can be pruned.
Peers come from PyPI into a virtual environment under the build directory (bench/scan/requirements.txt), with as many
threads as there are AEUs. Rounds are interleaved, in rotating order; a figure is the median, with minimum and maximum;
a ratio is the median of the rounds' ratios. Every answer is compared with the others.

  columns     sum, filter + count, filter + sum over u64 and i32, in GB/s of the columns read
  shared      1 and 8 scans at once, with different predicates
  placements  GB/s of each AEU and together, by where the column lies (on one NumaNode: local alone)
  tpch        queries 1 and 6 over lineitem of the scale factor, written by tpchgen-cli
  lookups     single lookups in an index, alone and during full scans, of one AEU
  import      lineitem as text, loaded by the command line through gRPC into a server on the same cpus
  upserts     of an index: the cost of keeping versions, without a snapshot and with one

--tiny: only checks that it runs, in seconds; the figures mean nothing. Exit code 77: the peers cannot be installed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..")]
from lab_process import LabProcess, environment, machine, rotated, spread  # noqa: E402

PARTS = ("columns", "shared", "placements", "tpch", "lookups", "import", "upserts")
PEERS = ("duckdb", "polars", "numpy")
# Bytes per row that the query reads, and whether Polars' and NumPy's sum is the last 64 bits of the exact one.
QUERIES = {"sum_a": (8, True), "sum_c": (4, False), "count_a": (8, False), "sum_b_where_a": (16, True),
           "sum_b_where_c": (12, True)}


# Values without a flag: of the lookups, of the import, of the upserts.
SIZES = {"lookups_ms": 1000, "imports": 5, "upserts": []}
TINY = {"rounds": 1, "rows": 1 << 16, "scale": 0.001, "lookups_ms": 50, "imports": 1, "upserts": ["65536", "1"]}


def lineitem(build, python, scale):
    """lineitem as text, and the directory of its columns; made once."""
    home = os.path.join(build, f"tpch-{scale}")
    table = os.path.join(home, "lineitem.tbl")
    if not os.path.exists(os.path.join(home, "l_tax")):
        os.makedirs(home, exist_ok=True)
        subprocess.run([os.path.join(os.path.dirname(python), "tpchgen-cli"), "-s", str(scale), "--tables", "lineitem",
                        "--output-dir", home], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([python, os.path.join(HERE, "peers.py"), "prepare", table, home], check=True)
    return table, home


def same(name, answers):
    """Ends the run if two sides disagree. Sums of u64 that wrap are compared modulo 2^64."""
    wraps = name in QUERIES and QUERIES[name][1]
    seen = {side: [[str(int(cell) % 2 ** 64) if wraps else cell for cell in row] for row in answer["rows"]]
            for side, answer in answers.items() if "rows" in answer}
    if len({json.dumps(rows) for rows in seen.values()}) > 1:
        sys.exit(f"run.py: {name}: the sides do not agree: {json.dumps(seen)}")


class Rounds:
    """name -> side -> figures of the rounds."""

    def __init__(self):
        self.ms = {}

    def add(self, name, side, ms):
        self.ms.setdefault(name, {}).setdefault(side, []).append(ms)

    def ratio(self, name, side, other):
        """How many times as fast `side` was: the median of the rounds' ratios."""
        pairs = zip(self.ms[name][side], self.ms[name][other])
        return spread([theirs / ours for ours, theirs in pairs])


def measure(labs, names, rounds, take, warm=1):
    for number in range(-warm, rounds):
        for name in names:
            answers = {}
            for side in rotated(list(labs), number % len(labs)):
                answers[side] = labs[side].ask("read" if side == "limit" else f"run {name}")
                if number >= 0:
                    take.add(name, side, answers[side]["ms"])
            same(name, answers)


def columns(options, python, aeus, found):
    lab = [f"{options.build}/bench/scan/scan_lab", "--aeus", str(aeus), "--rows", str(options.rows), "--side"]
    labs = {side: LabProcess([*lab, side], {}, f"scan_lab of {side}") for side in ("limit", "eris")}
    for peer in options.peers:
        if peer != "numpy" or aeus == 1:
            labs[peer] = LabProcess([python, os.path.join(HERE, "peers.py"), peer, "--threads", str(aeus), "--rows",
                                     str(options.rows)], {}, peer)
    for side, one in labs.items():
        if side != "limit":
            one.ask("columns")
    rounds = Rounds()
    if "columns" in options.parts:
        measure(labs, QUERIES, options.rounds, rounds)
    rows = options.rows // aeus // 64 * 64 * aeus
    for name, sides in rounds.ms.items():
        width = QUERIES[name][0]
        found[name] = {"gb_s": {side: spread([options.rows * width / one / 1e6 for one in ms]) for side, ms in sides.items()
                                if side != "limit"},
                       "limit_gb_s": spread([rows * 8 / one / 1e6 for one in sides["limit"]]),
                       # Relative to the read limit, by bytes: the limit reads 8 bytes per row.
                       "of_limit": spread([width / 8 * limit / ours
                                           for ours, limit in zip(sides["eris"], sides["limit"])]),
                       "over": {peer: rounds.ratio(name, "eris", peer) for peer in sides if peer in options.peers}}
    if "shared" in options.parts:
        one, eight = [], []
        for number in range(-1, options.rounds):
            few, many = labs["eris"].ask("shared 1"), labs["eris"].ask("shared 8")
            if sum(int(count) for count in many["rows"]) != options.rows or few["rows"][0] != many["rows"][0]:
                sys.exit(f"run.py: shared scans count {many['rows']}, alone {few['rows']}")
            if number >= 0:
                one.append(few["ms"])
                eight.append(many["ms"])
        found["shared"] = {"one_ms": spread(one), "eight_ms": spread(eight),
                           "eight_over_one": spread([many / few for few, many in zip(one, eight)])}
    if "lookups" in options.parts and aeus == 1:
        alone, beside = [], []
        for _ in range(min(options.rounds, 5)):
            alone.append(labs["eris"].ask(f"lookups {options.lookups_ms} 0"))
            beside.append(labs["eris"].ask(f"lookups {options.lookups_ms} 1"))
        found["lookups"] = {name: {figure: spread([one[figure] for one in some]) for figure in
                                   ("lookups", "p50_us", "p99_us", "p999_us", "scans")}
                            for name, some in (("alone", alone), ("beside_scans", beside))}
        found["lookups"]["slice_us"] = alone[0]["slice_us"]
        found["lookups"]["p99_more_us"] = spread([two["p99_us"] - one["p99_us"] for one, two in zip(alone, beside)])
    for one in labs.values():
        one.stop()


def placements(options, aeus, found):
    done = subprocess.run([f"{options.build}/bench/scan/scan_placement", "--aeus", str(aeus), "--rows", str(options.rows),
                           "--rounds", str(options.rounds), "--queries", "sum_a,count_a"], text=True, stdout=subprocess.PIPE,
                          check=True)
    for one in map(json.loads, done.stdout.splitlines()):
        found.setdefault("placements", {}).setdefault(one["placement"], {})[one["query"]] = {
            "gb_s": one["gb_s"], "gb_s_of_aeus": one["gb_s_of_aeus"]}


def tpch(options, python, aeus, found):
    table, files = lineitem(options.build, python, options.scale)
    labs = {"eris": LabProcess([f"{options.build}/bench/scan/scan_lab", "--side", "eris", "--aeus", str(aeus)], {}, "scan_lab"),
            "duckdb": LabProcess([python, os.path.join(HERE, "peers.py"), "duckdb", "--threads", str(aeus)], {}, "duckdb")}
    load = labs["eris"].ask(f"lineitem {files}")
    labs["duckdb"].ask(f"lineitem {table}")
    rounds = Rounds()
    measure(labs, ("q1", "q6"), options.rounds, rounds, warm=2)
    for one in labs.values():
        one.stop()
    found["tpch"] = {"scale": options.scale, "rows": load["rows"], "load_ms": load["ms"],
                     **{query: {"ms": {side: spread(ms) for side, ms in sides.items()},
                                "over_duckdb": rounds.ratio(query, "eris", "duckdb")}
                        for query, sides in rounds.ms.items()}}


def imports(options, python):
    table, _ = lineitem(options.build, python, options.scale)
    eris = os.path.join(options.build, "clients", "cli", "eris")
    seconds = []
    with tempfile.TemporaryDirectory() as home:
        port = os.path.join(home, "port")
        server = subprocess.Popen([eris, "serve", "--listen", "127.0.0.1:0", "--port-file", port],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(port):
                if server.poll() is not None:
                    raise OSError(f"eris serve ended with {server.returncode}")
                time.sleep(0.05)
            with open(port, encoding="utf-8") as file:
                env = {**os.environ, "ERIS_SERVER": "127.0.0.1:" + file.read().strip()}
            for number in range(options.imports):
                begin = time.monotonic()
                subprocess.run([eris, "import", f"lineitem_{number}", table, "--schema", "tpch:lineitem", "--no-progress"],
                               env=env, check=True, stdout=subprocess.DEVNULL)
                seconds.append(time.monotonic() - begin)
                subprocess.run([eris, "drop", f"lineitem_{number}"], env=env, check=True, stdout=subprocess.DEVNULL)
        finally:
            server.terminate()
            server.wait(60)
    size = os.path.getsize(table)
    return {"bytes": size, "seconds": spread(seconds), "mb_s": spread([size / one / 1e6 for one in seconds])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--aeus", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=1 << 26)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--json", default="-")
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    options = parser.parse_args()
    vars(options).update(SIZES, **(TINY if options.tiny else {}))
    options.parts = options.parts.split(",")
    options.peers = [peer for peer in options.peers.split(",") if peer]
    options.scale = f"{options.scale:g}"
    # Not needed for parts without peers.
    python = environment(options.build) if set(options.parts) - {"placements", "upserts"} else None
    report = {"machine": machine(), "rows": options.rows, "rounds": options.rounds, "tables": {}}
    for aeus in (int(one) for one in options.aeus.split(",")):
        found = report["tables"].setdefault(f"{aeus} AEU" + "s" * (aeus > 1), {})
        if {"columns", "shared", "lookups"} & set(options.parts):
            columns(options, python, aeus, found)
        if "placements" in options.parts:
            placements(options, aeus, found)
        if "tpch" in options.parts:
            tpch(options, python, aeus, found)
    if "import" in options.parts:
        report["import"] = imports(options, python)
    if "upserts" in options.parts:
        done = subprocess.run([os.path.join(options.build, "bench", "scan", "upsert_overhead"), *options.upserts], text=True,
                              stdout=subprocess.PIPE, check=True)
        report["upserts"] = json.loads(done.stdout)
    text = json.dumps(report, indent=1)
    if options.json == "-":
        print(text)
    else:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
