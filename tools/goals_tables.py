"""The goals of tables: scans beside the machine's read and the peers, queries of TPC-H, shared passes, the import. Part of tools/goals.py."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "bench", "scan")


def words_of(found, unit):
    return f"{found['median']:.3g} ({found['min']:.3g} .. {found['max']:.3g}) {unit}"


def tables(build, goal):
    """Each goal's figure of one run; `goal` is goals.py's."""
    report = json.loads(subprocess.run([sys.executable, os.path.join(BENCH, "run.py"), build, "--json", "-"], text=True,
                                       stdout=subprocess.PIPE, check=True).stdout)
    for aeus, found in report["tables"].items():
        name = aeus.replace(" ", "_").lower()
        for query, words in ("sum_a", "sum(u64)"), ("count_a", "filter 10 % + count, u64"):
            one = found[query]
            goal(f"tables.{query}_over_sequential_read_{name}", one["of_limit"]["median"], ">=", 0.95,
                 f"{words}: {words_of(one['gb_s']['eris'], 'GB/s')} beside {words_of(one['limit_gb_s'], 'GB/s')}; "
                 + ", ".join(f"{peer} {speed['median']:.3g}" for peer, speed in one["gb_s"].items() if peer != "eris"))
        for query, words in ("sum_b_where_a", "u64 by u64"), ("sum_b_where_c", "u64 by i32"):
            one = found[query]
            for peer, wanted in ("duckdb", 3), ("polars", 1.5):
                goal(f"tables.{query}_over_{peer}_{name}", one["over"][peer]["median"], ">=", wanted,
                     f"filter 10 % + sum of {words}: {words_of(one['gb_s']['eris'], 'GB/s')} beside "
                     f"{words_of(one['gb_s'][peer], 'GB/s')}; of the sequential read {one['of_limit']['median']:.2f}")
        tpch = found["tpch"]
        for query, wanted in ("q6", 2.5), ("q1", 1.5):
            ms = tpch[query]["ms"]
            goal(f"tables.tpch_{query}_over_duckdb_{name}", tpch[query]["over_duckdb"]["median"], ">=", wanted,
                 f"scale {tpch['scale']}: {words_of(ms['eris'], 'ms')} beside {words_of(ms['duckdb'], 'ms')}")
        shared = found["shared"]
        goal(f"tables.shared_8_over_1_{name}", shared["eight_over_one"]["median"], "<=", 2,
             f"8 scans with different predicates {words_of(shared['eight_ms'], 'ms')}, one {words_of(shared['one_ms'], 'ms')}")
        if "lookups" in found:
            looked = found["lookups"]
            slice_us = looked["slice_us"]
            goal("tables.lookup_p99_more_us_beside_scans", looked["p99_more_us"]["median"], "<=", slice_us,
                 f"single look-ups, one AEU: p99 {looked['beside_scans']['p99_us']['median']:.0f} us beside full scans, "
                 f"{looked['alone']['p99_us']['median']:.0f} alone; a slice is {slice_us} us")
    loaded = report["import"]
    goal("tables.import_lineitem_mb_s", loaded["mb_s"]["median"], ">=", 200,
         f"{loaded['bytes'] / 1e6:.0f} MB of text through gRPC in {words_of(loaded['seconds'], 's')}, client, server and AEUs on "
         f"{report['machine']['cpus']} cpus")
    upserts = report["upserts"]
    goal("tables.upserts_versioned_over_bare", upserts["versioned_over_bare"], ">=", 0.97,
         f"no snapshot held: {upserts['versioned_mkeys_s']:.1f} beside {upserts['bare_mkeys_s']:.1f} M keys/s of a bare index "
         f"partition; with a snapshot that every write keeps old values for {upserts['held_mkeys_s']:.1f}")
