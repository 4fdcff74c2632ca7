#!/usr/bin/env python3
"""Every stage of ./dev test, which installs packages first: builds, tests, header check, sanitizers.

The optimised tree runs tests that need speed or real servers; tests of single folders run in the sanitizers' trees.
Tests with the label `slow`, and longer checks, are in soak.py.
"""
import os
import shutil
import subprocess
import sys

from stages import LOGS, ROOT, Stages, jobs

DISK_GIB = 16  # what the trees and environments of all stages take

WHOLE_PROGRAMS = [f"tests/{folder}/all" for folder in ("explore", "heap", "integration", "sim", "stress", "numa", "e2e", "linearizability", "house")]

MORE_WITHIN_S = 50 * 60  # the limit of CI is 90 minutes, and a cold compiler cache on a slow machine takes 60 of them


def more_with_asan(stages, parallel, two):
    """What runs in dev, too, with the address sanitizer as well, if there is time; else the names of its stages."""
    names = ["build-asan-more", "ctest-asan-integration", "ctest-asan-e2e"]
    if stages.elapsed_s() > MORE_WITHIN_S:
        return names
    if stages.build("asan", "tests/all", "eris", name=names[0]):
        stages.ctest(names[1], "asan", "-LE", "unit|e2e|house", *parallel)
        # A real server too, but not tests that take minutes at this speed, or measure times or resident memory. TPC-H's
        # queries at one number of AEUs.
        stages.ctest(names[2], "asan", "-L", "e2e", "-E", "demo|orders|grpcurl|idle|memory_limits|python_|readme|real_files|sql|query_[17]", *two)
    return []


def main():
    shutil.rmtree(LOGS / "reports", ignore_errors=True)
    free = shutil.disk_usage(ROOT).free >> 30
    if free < DISK_GIB:
        print(f"disk: {free} GiB are free, all stages take some {DISK_GIB}: without them tests fail with 'No space left on device'", flush=True)
    stages = Stages()
    parallel = ["-j", jobs()]
    two = ["-j", str(min(2, int(jobs())))]  # tests that start processes with a thread for each cpu, and gigabytes
    if stages.build("dev", "eris", "eris_shared", "bench/all", "memory_tests", "last_descriptor_tests", "planted_listener_gives_up",
                    *WHOLE_PROGRAMS):
        stages.ctest("ctest-dev-house", "dev", "-L", "house", *parallel)
        stages.ctest("ctest-dev-explore", "dev", "-R", "^explore_", *parallel)
        stages.ctest("ctest-dev-sim", "dev", "-L", "sim", *parallel)
        stages.ctest("ctest-dev-model", "dev", "-L", "model", *parallel)
        stages.ctest("ctest-dev-integration", "dev", "-L", "integration", "-LE", "e2e")
        stages.ctest("ctest-dev-e2e", "dev", "-L", "e2e", "-LE", "slow", *two)
        stages.ctest("ctest-dev-numa", "dev", "-L", "numa", "-LE", "slow")
        stages.ctest("ctest-dev-bench", "dev", "-L", "bench", "-LE", "slow")
    if stages.build("tsan"):
        stages.ctest("ctest-tsan", "tsan", "-L", "threads", *parallel)
    left_out = []
    if stages.build("asan", *(f"tests/unit/{folder.name}/all" for folder in sorted((ROOT / "tests/unit").iterdir())), "tests/fuzz/all"):
        stages.check("headers-alone", [sys.executable, "-B", "tools/dev/headers_alone.py", "build/asan", "--public"])
        stages.ctest("ctest-asan", "asan", "-L", "unit", *parallel)
        for fuzzer in ("index", "plan", "flight", "request"):
            stages.check(f"fuzz-{fuzzer}", ["tests/fuzz/run_fuzz.sh", "build/asan", "10", fuzzer])
        left_out = more_with_asan(stages, parallel, two)
    stages.summary()
    if left_out:
        print(f"left out, since {MORE_WITHIN_S // 60} minutes had passed: {', '.join(left_out)}; ./dev soak runs them")
    return subprocess.run([sys.executable, "-B", "tools/dev/count_tests.py", "--extra-passed", str(stages.passed_checks),
                           "--extra-failed", str(stages.failed_builds), *(["--strict"] if os.environ.get("CI") else []),
                           LOGS / "reports"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
