"""The goals of page migration: what it costs over memcpy of the same range in the same pieces. Part of tools/goals.py."""
from goals_run import Part, Step, at_most

DRIVER = "bench/leap/run.py"
# The run and the most that it may take over memcpy.
OVER_MEMCPY = {"owner_quiet_huge": 1.06, "hold_quiet_huge": 1.06, "owner_quiet_file": 1.3, "hold_quiet_file": 1.3,
               "owner_written_huge": 1.1, "owner_written_file": 1.3, "hold_written_huge": 1.2, "hold_written_file": 1.5,
               "hold_flat_out_huge": 1.5}


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


LEAP = Part(1, (Step(migrations, {**{f"leap.{name}_over_memcpy": at_most(most) for name, most in OVER_MEMCPY.items()},
                                  "leap.longest_write_over_area_copy": at_most(1.5), "leap.bytes_copied_over_range": at_most(1),
                                  "leap.writes_lost": at_most(0)}),))
