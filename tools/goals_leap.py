"""The goals of page migration: what it costs over memcpy of the same range in the same pieces. Part of tools/goals.py."""
from goals_run import Part, Step, at_least, at_most

DRIVER = "bench/leap/run.py"
# The run and the most that it may take over memcpy.
OVER_MEMCPY = {"owner_quiet_huge": 1.06, "hold_quiet_huge": 1.06, "owner_quiet_file": 1.3, "hold_quiet_file": 1.3,
               "owner_written_huge": 1.1, "owner_written_file": 1.3, "hold_written_huge": 1.2, "hold_written_file": 1.5,
               "hold_flat_out_huge": 1.5}
BATCHES = ("batch_1", "batch_256")


def migrations(run):
    report = run.script(DRIVER, "--goals")
    runs = report["runs"]
    for name in OVER_MEMCPY:
        one = runs[name]
        run.goal(f"leap.{name}_over_memcpy", one["over_memcpy"]["median"],
                 f"{report['mib']} MiB in areas of 16 MiB: {one['ms']['median']:.0f} vs. {one['memcpy_ms']['median']:.0f} ms"
                 + (f", by {one['how']}" if one["how"] else "") + (f"; {one['writes']} writes meanwhile" if one["writes"] else ""))
    held = runs["hold_written_huge"]
    run.goal("leap.longest_write_over_area_copy", held["longest_write_us"] / held["area_copy_us"]["median"],
             f"{held['longest_write_us']:.0f} vs. {held['area_copy_us']['median']:.0f} us for 16 MiB, 100,000 writes/s; by mprotect "
             f"{runs['hold_by_mprotect_huge']['longest_write_us']:.0f}")
    run.goal("leap.bytes_copied_over_range", max(one["copied_over_bytes"]["max"] for one in runs.values()), "owner and hold")
    run.goal("leap.writes_lost", sum(one["lost"] for one in runs.values()),
             f"words whose increments are not all there, of {sum(one['writes'] for one in runs.values()) / 1e6:.3g} M increments")


def leaps(run):
    """A leap of an index between two (synthetic) NumaNodes beside a copy of it, CPU time of both AEUs together."""
    report = run.json([f"{run.build}/bench/balancer/transfer_lab", "--rounds", "3", "--chunks", "16384", *(["--keys", "0.05"] if run.tiny else [])])
    for keys in ("dense", "sparse"):
        leap, copy = report[keys]["leap"], report[keys]["copy"][0]
        of_copy = copy["lend_ns_row"] + copy["ingest_ns_row"] + copy["forget_ns_row"]
        run.goal(f"leap.home_over_copy_{keys}", leap["home_ns_row"] / of_copy,
                 f"{report['keys'] / 1e6:.3g} M rows, block by block: {leap['home_ns_row']:.2f} vs. {of_copy:.2f} ns a row; the longest piece of 256 KiB "
                 f"{leap['piece_us_max']:.0f} us")
        half = report[keys]["leap_half"]
        run.goal(f"leap.half_home_over_copy_{keys}", half["home_ns_row"] / of_copy,
                 f"half of a range that was filled in key order: {half['home_ns_row']:.2f} vs. {of_copy:.2f} ns a row, the census {half['census_ns_row']:.2f}; "
                 f"the longest superblock {half['superblock_us_max']:.0f} us")
        run.goal(f"leap.half_by_superblock_{keys}", half["share_by_superblock"], "of the bytes that came home")
    run.goal("leap.owner_changed_us", max(report[keys]["leap"]["hand_over_us"] for keys in ("dense", "sparse")), "of the whole range")


def segments(run):
    """The same for a heap table, whose segments change hands whole: rows of twelve numbers and a string."""
    report = run.json([f"{run.build}/bench/balancer/segment_lab", "--rounds", "3", *(["--rows", "0.05"] if run.tiny else [])])
    run.goal("leap.segments_over_copy", report["leap_over_copy"],
             f"{report['rows'] / 1e6:.3g} M rows of {report['row_bytes']} bytes: {report['leap_home_ns_row']:.1f} vs. {report['copy_ns_row']:.1f} ns a row; "
             f"the owner changed after {report['leap_hand_over_us']:.0f} us; {100 * report['share_by_superblock']:.0f} % by superblock")


def paced(run):
    """Lookups at a steady pace while a quarter of an index goes to and fro between two (synthetic) NumaNodes."""
    report = run.script("bench/balancer/run.py", "--parts", "leap")["leap"]
    for batch in BATCHES:
        leap, copy = report["leap"][batch], report["copy"][batch]
        run.goal(f"leap.paced_p999_over_steady_{batch}", leap["p999_over_steady"]["median"],
                 f"until all is at home, {leap['p999_moving_us']['median']:.0f} vs. {leap['p999_steady_us']['median']:.0f} us, {leap['mb_s']['median']:.0f} MB/s; "
                 f"a copy {copy['p999_over_steady']['median']:.2f}, {copy['mb_s']['median']:.0f} MB/s")
        run.goal(f"leap.longest_pause_over_allowed_{batch}", leap["longest_pause_us"] / leap["allowed_us"],
                 f"{leap['longest_pause_us']} us of CPU time in one turn, allowed {leap['allowed_us']}; a copy {copy['longest_pause_us']}")


LEAP = Part(4, (Step(migrations, {**{f"leap.{name}_over_memcpy": at_most(most) for name, most in OVER_MEMCPY.items()},
                                  "leap.longest_write_over_area_copy": at_most(1.5), "leap.bytes_copied_over_range": at_most(1),
                                  "leap.writes_lost": at_most(0)}),
                Step(leaps, {"leap.home_over_copy_dense": at_most(0.7), "leap.home_over_copy_sparse": at_most(0.7),
                             "leap.half_home_over_copy_dense": at_most(0.3), "leap.half_home_over_copy_sparse": at_most(0.3),
                             "leap.half_by_superblock_dense": at_least(0.85), "leap.half_by_superblock_sparse": at_least(0.85),
                             "leap.owner_changed_us": at_most(1000)}),
                Step(segments, {"leap.segments_over_copy": at_most(0.15)}),
                Step(paced, {f"leap.{name}_{batch}": at_most(1.2) for batch in BATCHES for name in
                             ("paced_p999_over_steady", "longest_pause_over_allowed")})))
