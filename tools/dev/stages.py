"""Stages of a long run: each is a command with a log, a line with its costs, and the log's end if it failed.

Costs: seconds by the clock, CPU seconds of everything that the stage waited for, and objects built, with how many of
them came from the compiler cache.
"""
import os
import pathlib
import re
import resource
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / "build/logs"
TREES = ("dev", "tsan", "asan", "release")
HEAD = f"{'stage':<22} {'result':<7} {'seconds':>8} {'CPU s':>8} {'objects':>8} {'cached':>7}"


def children_cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def built_objects(tree):
    """(object, milliseconds) of each compilation that ninja has logged in the tree, oldest first."""
    log = ROOT / "build" / tree / ".ninja_log"
    if not log.exists():
        return []
    rows = (line.split("\t") for line in log.read_text(errors="replace").splitlines() if not line.startswith("#"))
    return [(row[3], int(row[1]) - int(row[0])) for row in rows if len(row) == 5 and row[3].endswith(".o")]


def skipped_tests(log):
    """The tests that ctest has skipped, and whether none of its tests ran."""
    text = log.read_text(errors="replace")
    names = re.findall(r"^\s+\d+ - (\S+) \(Skipped\)$", text, re.M)
    return names, bool(names) and f"tests failed out of {len(names)}\n" in text


class Stages:
    """Runs stages one after the other and records their costs."""

    def __init__(self):
        self.failed_builds = 0
        self.skipped, self.none_ran = [], False  # of the last stage, see skipped_tests
        self.passed_checks = 0
        self.objects = self.cached = 0
        self.dearest = []
        self.started = time.monotonic()
        self.started_cpu = children_cpu_s()
        LOGS.mkdir(parents=True, exist_ok=True)
        print(HEAD, flush=True)

    def run(self, name, command, env=None):
        """True if the command succeeded. Its output is in build/logs/<name>.log."""
        log = LOGS / f"{name}.log"
        cache = LOGS / f"{name}.ccache"
        cache.unlink(missing_ok=True)
        before = {tree: len(built_objects(tree)) for tree in TREES}
        started, cpu = time.monotonic(), children_cpu_s()
        with log.open("w") as out:
            status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT,
                                    env={**os.environ, "CCACHE_STATSLOG": str(cache), **(env or {})}).returncode
        seconds, cpu = time.monotonic() - started, children_cpu_s() - cpu
        built = [(f"{tree}: {name}", ms) for tree in TREES for name, ms in built_objects(tree)[before[tree]:]]
        hits = sum(line.endswith("_cache_hit") for line in cache.read_text().splitlines()) if cache.exists() else 0
        cache.unlink(missing_ok=True)
        self.objects += len(built)
        self.cached += hits
        self.dearest = sorted(self.dearest + built, key=lambda one: -one[1])[:10]
        counts = f" {len(built):>8} {hits:>7}" if built else ""
        self.skipped, self.none_ran = skipped_tests(log)
        result = "FAILED" if status else "skipped" if self.none_ran else "ok"
        print(f"{name:<22} {result:<7} {seconds:8.1f} {cpu:8.1f}{counts}", flush=True)
        if status:
            lines = log.read_text(errors="replace").splitlines()[-40:]
            print(f"--- the end of {log.relative_to(ROOT)}", *lines, "---", sep="\n", flush=True)
        return status == 0

    def build(self, preset, *targets, name=None):
        """Configures if needed and builds. Counts only if it fails: then its tests cannot run."""
        well = self.run(name or f"build-{preset}", ["./dev", "build", preset, *targets])
        self.failed_builds += not well
        return well

    def check(self, name, command):
        """A check without test cases counts as one."""
        well = self.run(name, command)
        self.passed_checks += well
        self.failed_builds += not well
        return well

    def ctest(self, name, preset, *arguments):
        """Its cases are counted from the reports afterwards (count_tests.py)."""
        report = LOGS / "reports" / name
        subprocess.run(["rm", "-rf", report], check=True)
        (report / "gtest").mkdir(parents=True)
        return self.run(name, ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", "--no-tests=error",
                               "--test-output-size-passed", "65536", "--test-output-size-failed", "65536",
                               "--output-junit", str(report / "ctest.xml"), *arguments],
                        {"GTEST_OUTPUT": f"xml:{report}/gtest/", "ERIS_TEST_REPORTS": f"{report}/gtest"})

    def elapsed_s(self):
        return time.monotonic() - self.started

    def summary(self):
        cpu = children_cpu_s() - self.started_cpu
        print(f"all stages: {self.elapsed_s():.0f} s, {cpu:.0f} CPU s, {self.objects} objects built, "
              f"{self.cached} of them from the compiler cache")
        if self.dearest:
            print("the dearest compilations, seconds:")
            for name, ms in self.dearest:
                print(f"  {ms / 1000:6.1f}  {name.replace('CMakeFiles/', '').replace('.dir', '')}")


def jobs():
    return os.environ.get("ERIS_JOBS") or str(len(os.sched_getaffinity(0)))
