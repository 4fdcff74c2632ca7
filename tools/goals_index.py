"""The goals of the index: lookups, writes, scans and memory compared with the machine's limits and the peers. Part of
tools/goals.py."""
import sys

from goals_run import ROOT, Part, Step, at_least, at_most

sys.path.insert(0, str(ROOT / "bench" / "index"))
from index_figures import figure, huge_share, per_key, ratio  # noqa: E402

DRIVER = "bench/index/run.py"
BATCHES = (256, 1024, 16384)
LOADS = ("limits", "loads", "mloads_s")
RADIX = ("radix", "lookup 1024 uniform", "mkeys_s")
BTREE = ("btree", "lookup 1 uniform", "mkeys_s")


def words_of(found, unit):
    return f"{found['median']:.3g} ({found['min']:.3g} .. {found['max']:.3g}) {unit}"


def judge(run, report, name, reached, note, side="eris"):
    """Without a figure: why the side was left out. Where nothing says so, the figure is missing, which Run tells."""
    left = [words for cell in report["cells"].values() for words in cell["left_out"] if words.startswith(side)]
    if reached is not None:
        run.goal(name, reached, note())
    elif left:
        run.no_goal(name, "; ".join(left))


def lookups(report, cell, other):
    """The least of the batch sizes' ratios: the goal is one of every batch from 256 keys on."""
    found = [(ratio(report, cell, ("eris", f"lookup {batch} uniform", "mkeys_s"), other), batch) for batch in BATCHES]
    return min(found)[0] if all(one[0] is not None for one in found) else None


def lookups_note(report, cell, other, words):
    rates = ", ".join(f"{batch}: {figure(report, cell, 'eris', f'lookup {batch} uniform')['median']:.1f}" for batch in BATCHES)
    pages = ", ".join(f"{side} {huge_share(report, cell, side):.0%}" for side in report["cells"][cell]["sides"] if side != "limits")
    return (f"the worst of batches of {rates} M keys/s, vs. {words_of(figure(report, cell, *other), words)}; "
            f"on huge pages: {pages}, the loads' area {report['area']['huge'] / report['area']['anonymous']:.0%}")


def judge_lookups(run, report):
    loads = "M random loads/s with 16 in flight"
    for keys, size in ("sparse", 16), ("sparse", 64), ("dense", 16), ("dense", 64):
        cell = f"{size}-{keys}"
        judge(run, report, f"index.lookup_{keys}_{size}m_over_random_loads", lookups(report, cell, LOADS),
              lambda: lookups_note(report, cell, LOADS, loads))
        if keys == "sparse":
            judge(run, report, f"index.lookup_{keys}_{size}m_over_btree", lookups(report, cell, BTREE),
                  lambda: lookups_note(report, cell, BTREE, "M keys/s of absl::btree_map"), "btree")
        if cell == "16-sparse":
            judge(run, report, f"index.lookup_{keys}_{size}m_over_simple_radix", lookups(report, cell, RADIX),
                  lambda: lookups_note(report, cell, RADIX, "M keys/s of a simple radix tree in batches of 1024"), "radix")


def judge_changes_and_scans(run, report):
    cell = "16-sparse"
    fill, replace, rows = ("fill", "mkeys_s"), ("replace", "mkeys_s"), ("scan", "kscans_s")
    judge(run, report, "index.insert_sparse_16m_over_btree", ratio(report, cell, ("eris", *fill), ("btree", *fill)),
          lambda: f"in random order from empty, batches of {report['batch']}: {words_of(figure(report, cell, 'eris', *fill), 'M keys/s')} vs. "
                  f"{words_of(figure(report, cell, 'btree', *fill), 'of absl::btree_map')}; page faults included")
    lookup = f"lookup {report['batch']} uniform", "mkeys_s"
    judge(run, report, "index.upsert_existing_over_lookup", ratio(report, cell, ("eris", *replace), ("eris", *lookup)),
          lambda: f"sparse 16 M, batches of {report['batch']}: {words_of(figure(report, cell, 'eris', *replace), 'M keys/s')} vs. "
                  f"{words_of(figure(report, cell, 'eris', *lookup), 'looked up')}")
    judge(run, report, "index.scan_100_rows_over_btree", ratio(report, cell, ("eris", *rows), ("btree", *rows)),
          lambda: f"sparse 16 M, from random keys: {words_of(figure(report, cell, 'eris', *rows), '1000 scans/s')} vs. "
                  f"{words_of(figure(report, cell, 'btree', *rows), 'of absl::btree_map')}")
    whole, read = ("eris", "scan_all", "gb_s"), ("limits", "read", "gb_s")
    judge(run, report, "index.full_scan_over_sequential_read", ratio(report, cell, whole, read),
          lambda: f"keys and values of sparse 16 M, after random inserts: {words_of(figure(report, cell, *whole), 'GB/s')} vs. "
                  f"{words_of(figure(report, cell, *read), 'GB/s')}")


def judge_memory(run, report):
    cell = "16-sparse"
    judge(run, report, "index.bytes_per_key_sparse_16m", per_key(report, cell, "eris", "committed"),
          lambda: f"committed after random inserts, of it used {per_key(report, cell, 'eris', 'used'):.2f}; resident: "
                  + ", ".join(f"{side} {per_key(report, cell, side, 'anonymous'):.1f}" for side in report["cells"][cell]["sides"] if side != "limits"))
    judge(run, report, "index.bytes_per_key_dense_16m_bulk", per_key(report, "16-dense", "eris", "committed", "bulk load"),
          lambda: f"committed after a load of sorted runs, of it used {per_key(report, '16-dense', 'eris', 'used', 'bulk load'):.2f}; "
                  f"after random inserts {per_key(report, '16-dense', 'eris', 'committed'):.2f}")


def judge_other_structures(run, report):
    cell = "16-sparse"
    lookup = f"lookup {report['batch']} uniform", "mkeys_s"
    judge(run, report, "index.hash_over_flat_hash", ratio(report, cell, ("eris_hash", *lookup), ("flat_hash", "lookup 1 uniform", "mkeys_s")),
          lambda: f"sparse 16 M, batches of {report['batch']}: {words_of(figure(report, cell, 'eris_hash', *lookup), 'M keys/s')} vs. "
                  f"{words_of(figure(report, cell, 'flat_hash', 'lookup 1 uniform'), 'of absl::flat_hash_map')}",
          "eris_hash")
    one = "lookup 1 uniform", "mkeys_s"
    unodb = ratio(report, cell, ("unodb", *one), BTREE)
    judge(run, report, "index.single_lookup_over_btree", ratio(report, cell, ("eris", *one), BTREE),
          lambda: f"sparse 16 M, batches of 1: {words_of(figure(report, cell, 'eris', *one), 'M keys/s')} vs. "
                  f"{words_of(figure(report, cell, *BTREE), 'of absl::btree_map')}; unodb "
                  + (f"{unodb:.2f} times it in this run" if unodb else "not in this run: "
                     + next((words for words in report["absent"] if words.startswith("unodb")), "left out")))
    both = ratio(report, cell, ("eris", "two", "two_mkeys_s"), ("eris", "two", "one_mkeys_s"))
    judge(run, report, "index.two_cores_over_one", both,
          lambda: f"two partitions of sparse 16 M: {words_of(figure(report, cell, 'eris', 'two', 'two_mkeys_s'), 'M keys/s')}; random loads "
                  f"{ratio(report, cell, ('limits', 'two', 'two_mloads_s'), ('limits', 'two', 'one_mloads_s')):.2f}",
          "two cores")


def index(run):
    report = run.script(DRIVER, "--goals", "--parts", "points,bulk,two")
    judge_lookups(run, report)
    judge_changes_and_scans(run, report)
    judge_memory(run, report)
    judge_other_structures(run, report)


def through_the_engine(run):
    engine = run.script(DRIVER, "--goals", "--parts", "engine")["engine"]
    run.goal("index.through_the_engine_over_bare", engine["routed_over_bare"],
             f"{engine['keys'] / 1e6:.3g} M sparse keys, one AEU, batches of {engine['batch']}, 8 in flight: {engine['routed_mkeys_s']:.1f} "
             f"({engine['routed_min']:.1f} .. {engine['routed_max']:.1f}) vs. {engine['bare_mkeys_s']:.1f} M keys/s")


INDEX = Part(6, (Step(index, {
    **{f"index.lookup_{keys}_{size}m_over_random_loads": at_least(wanted)
       for keys, size, wanted in (("sparse", 16, 0.5), ("sparse", 64, 0.45), ("dense", 16, 1), ("dense", 64, 0.65))},
    "index.lookup_sparse_16m_over_simple_radix": at_least(2),
    "index.lookup_sparse_16m_over_btree": at_least(9), "index.lookup_sparse_64m_over_btree": at_least(10),
    "index.insert_sparse_16m_over_btree": at_least(3.5), "index.upsert_existing_over_lookup": at_least(0.8),
    "index.scan_100_rows_over_btree": at_least(1.5), "index.full_scan_over_sequential_read": at_least(0.4),
    "index.bytes_per_key_sparse_16m": at_most(20), "index.bytes_per_key_dense_16m_bulk": at_most(12),
    "index.hash_over_flat_hash": at_least(2.7), "index.single_lookup_over_btree": at_least(3),
    "index.two_cores_over_one": at_least(1.85)}),
    Step(through_the_engine, {"index.through_the_engine_over_bare": at_least(0.7)})))
