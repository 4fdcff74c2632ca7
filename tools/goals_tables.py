"""The goals of tables: scans compared with the machine's read and the peers, queries of TPC-H, shared passes, the import. Part of
tools/goals.py."""
import functools
import os

from goals_run import NotPossible, Part, Step, at_least, at_most

DRIVER = "bench/scan/run.py"
AEUS = {1: "1_aeu", 2: "2_aeus"}
SLICE_US = 100  # the default of scan_slice_us: a lookup waits for a slice at most


def words_of(found, unit):
    return f"{found['median']:.3g} ({found['min']:.3g} .. {found['max']:.3g}) {unit}"


def scans(run, aeus):
    """For a table with as many AEUs. Errors: NotPossible (there are fewer cpus)."""
    if len(os.sched_getaffinity(0)) < aeus:
        raise NotPossible(f"this process may use fewer than {aeus} cpus")
    name = AEUS[aeus]
    found, = run.script(DRIVER, "--parts", "columns,shared,tpch,lookups", "--aeus", str(aeus))["tables"].values()
    for query, words in ("sum_a", "sum(u64)"), ("count_a", "filter 10 % + count, u64"):
        one = found[query]
        run.goal(f"tables.{query}_over_sequential_read_{name}", one["of_limit"]["median"],
                 f"{words}: {words_of(one['gb_s']['eris'], 'GB/s')} vs. {words_of(one['limit_gb_s'], 'GB/s')}; "
                 + ", ".join(f"{peer} {speed['median']:.3g}" for peer, speed in one["gb_s"].items() if peer != "eris"))
    for query, words in ("sum_b_where_a", "u64 by u64"), ("sum_b_where_c", "u64 by i32"):
        one = found[query]
        for peer in "duckdb", "polars":
            run.goal(f"tables.{query}_over_{peer}_{name}", one["over"][peer]["median"],
                     f"filter 10 % + sum of {words}: {words_of(one['gb_s']['eris'], 'GB/s')} vs. "
                     f"{words_of(one['gb_s'][peer], 'GB/s')}; of the sequential read {one['of_limit']['median']:.2f}")
    tpch = found["tpch"]
    for query in "q6", "q1":
        ms = tpch[query]["ms"]
        run.goal(f"tables.tpch_{query}_over_duckdb_{name}", tpch[query]["over_duckdb"]["median"],
                 f"scale {tpch['scale']}: {words_of(ms['eris'], 'ms')} vs. {words_of(ms['duckdb'], 'ms')}")
    shared = found["shared"]
    run.goal(f"tables.shared_8_over_1_{name}", shared["eight_over_one"]["median"],
             f"8 scans with different predicates {words_of(shared['eight_ms'], 'ms')}, one {words_of(shared['one_ms'], 'ms')}")
    if "lookups" not in found:
        return
    looked = found["lookups"]
    if looked["slice_us"] != SLICE_US:
        raise ValueError(f"a slice has {looked['slice_us']} us, the goal is one of {SLICE_US}")
    run.goal("tables.lookup_p99_more_us_beside_scans", looked["p99_more_us"]["median"],
             f"single lookups, one AEU: p99 {looked['beside_scans']['p99_us']['median']:.0f} us during full scans, "
             f"{looked['alone']['p99_us']['median']:.0f} alone; a slice is {SLICE_US} us")


def lineitem(run):
    report = run.script(DRIVER, "--parts", "import")
    loaded = report["import"]
    run.goal("tables.import_lineitem_mb_s", loaded["mb_s"]["median"],
             f"{loaded['bytes'] / 1e6:.0f} MB of text through gRPC in {words_of(loaded['seconds'], 's')}, client, server and AEUs on "
             f"{report['machine']['cpus']} cpus")


def versions(run):
    upserts = run.script(DRIVER, "--parts", "upserts")["upserts"]
    run.goal("tables.upserts_versioned_over_bare", upserts["versioned_over_bare"],
             f"no snapshot held: {upserts['versioned_mkeys_s']:.1f} vs. {upserts['bare_mkeys_s']:.1f} M keys/s of a bare index "
             f"partition; with a snapshot that every write keeps old values for {upserts['held_mkeys_s']:.1f}")


def goals_of(aeus):
    wanted = {"sum_a_over_sequential_read": at_least(0.95), "count_a_over_sequential_read": at_least(0.95),
              "sum_b_where_a_over_duckdb": at_least(3), "sum_b_where_a_over_polars": at_least(1.5),
              "sum_b_where_c_over_duckdb": at_least(3), "sum_b_where_c_over_polars": at_least(1.5),
              "tpch_q6_over_duckdb": at_least(3), "tpch_q1_over_duckdb": at_least(6), "shared_8_over_1": at_most(2)}
    found = {f"tables.{name}_{AEUS[aeus]}": goal for name, goal in wanted.items()}
    return {**found, **({"tables.lookup_p99_more_us_beside_scans": at_most(SLICE_US)} if aeus == 1 else {})}


TABLES = Part(12, (
    *(Step(functools.partial(scans, aeus=aeus), goals_of(aeus)) for aeus in AEUS),
    Step(lineitem, {"tables.import_lineitem_mb_s": at_least(200)}),
    Step(versions, {"tables.upserts_versioned_over_bare": at_least(0.97)})))
