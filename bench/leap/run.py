#!/usr/bin/env python3
"""Migrations of a range to other memory, with writers and without, compared with memcpy of the same range in the same
pieces into the same pool, in the same run. On one NumaNode: what a migration costs, not what it gains.

    bench/leap/run.py <builddir> [--mib 1024] [--rounds 5] [--json out.json] [--goals] [--tiny]

Without --goals also areas from 4 KiB to 256 MiB, retry and move_pages. --tiny: only whether it runs, in seconds; the
figures mean nothing.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..")]
from lab_process import machine, spread  # noqa: E402

RATE = 100_000  # writes a second, the paper's high pressure
# name -> flags of leap_lab
GOALS = {
    **{f"{method}_quiet_{pages}": ["--method", method, "--pages", pages] for method in ("owner", "hold") for pages in ("huge", "file")},
    **{f"{method}_written_{pages}": ["--method", method, "--pages", pages, "--writes-per-s", RATE]
       for method in ("owner", "hold") for pages in ("huge", "file")},
    "hold_flat_out_huge": ["--method", "hold", "--pages", "huge", "--flat-out"],
    "hold_by_mprotect_huge": ["--method", "hold", "--pages", "huge", "--writes-per-s", RATE, "--no-userfault"],
}
AREAS_KIB = (4, 64, 512, 2048, 16384, 65536, 262144)
MORE = {
    "retry_written_huge": ["--method", "retry", "--pages", "huge", "--writes-per-s", RATE],
    "retry_written_small": ["--method", "retry", "--pages", "small", "--writes-per-s", RATE],
    "retry_skewed_huge": ["--method", "retry", "--pages", "huge", "--writes-per-s", RATE, "--skewed"],
    "retry_flat_out_huge": ["--method", "retry", "--pages", "huge", "--flat-out"],
    "hold_skewed_huge": ["--method", "hold", "--pages", "huge", "--writes-per-s", RATE, "--skewed"],
    "kernel_quiet_small": ["--method", "kernel", "--pages", "small"],
    **{f"hold_{pages}_{kib}_kib": ["--method", "hold", "--pages", pages, "--area-kib", kib]
       for pages in ("small", "huge") for kib in AREAS_KIB if pages == "small" or kib >= 2048},
}
TINY_MIB = 16


def measure(build, flags, mib, rounds):
    found = json.loads(subprocess.run([f"{build}/bench/leap/leap_lab", "--mib", str(mib), "--rounds", str(rounds), *map(str, flags)],
                                      text=True, stdout=subprocess.PIPE, check=True).stdout)
    each = found.pop("rounds")
    if wrong := [one["ended"] for one in each if one["ended"] != "OK" and found["method"] != "kernel"]:
        raise ValueError(f"{flags}: {wrong[0]}")
    for field in ("ms", "memcpy_ms", "over_memcpy", "area_copy_us", "copied_over_bytes", "splits", "longest_hold_us"):
        found[field] = spread([one[field] for one in each])
    return {**found, "how": each[0]["how"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="a file, or - for the JSON in place of the table")
    parser.add_argument("--goals", action="store_true", help="only what the goals need")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    if options.tiny:
        options.mib, options.rounds = TINY_MIB, 1
    report = {**machine(), "mib": options.mib, "rounds": options.rounds, "runs": {}}
    for name, flags in (GOALS if options.goals else {**GOALS, **MORE}).items():
        print(f"leap: {name}", file=sys.stderr, flush=True)
        report["runs"][name] = measure(options.build, flags, options.mib, options.rounds)
    if options.json == "-":
        print(json.dumps(report))
        return
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file)
    print(f"{report['cpu']}; {report['date']}; {options.mib} MiB, {options.rounds} rounds, areas of 16 MiB unless named; medians")
    print(f"{'':28}{'ms':>9}{'memcpy':>9}{'ratio':>7}{'copied':>8}{'splits':>8}{'hold us':>9}{'write us':>10}{'writes':>11}{'lost':>6}")
    for name, one in report["runs"].items():
        print(f"{name:28}{one['ms']['median']:9.1f}{one['memcpy_ms']['median']:9.1f}{one['over_memcpy']['median']:7.2f}"
              f"{one['copied_over_bytes']['median']:8.2f}{one['splits']['median']:8.0f}{one['longest_hold_us']['median']:9.0f}"
              f"{one['longest_write_us']:10.0f}{one['writes']:11}{one['lost']:6}  {one['how']}")


if __name__ == "__main__":
    main()
