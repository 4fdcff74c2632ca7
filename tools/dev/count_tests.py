#!/usr/bin/env python3
"""Counts test cases over the stages of ./dev test and prints one final line.

Each stage left a folder: ctest.xml (ctest's JUnit report) and gtest/<test>.xml, one per GoogleTest
program that ended. A program's cases count one by one; a program that died before it could write
its report counts as one failure; any other ctest test counts as one. With --strict a skipped test
counts as failed, unless its reason names a package that cannot be installed here.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET


def read_gtest(path):
    """Yields (name, outcome, text) of each case."""
    for case in ET.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failures = case.findall("failure")
        skipped = case.find("skipped")
        if failures:
            yield name, "failed", failures[0].get("message", "")
        elif skipped is not None or case.get("result") == "skipped":
            yield name, "skipped", skipped.get("message", "") if skipped is not None else ""
        elif case.get("status") != "notrun":
            yield name, "passed", ""


FAILURE = re.compile(r"\b(?:FAILED|failed|[Ee]rror|ERROR|FAIL)\b")


def told(output):
    """The most informative output of a failed program: its lines about failure, else its end."""
    lines = [line.strip() for line in output.splitlines() if FAILURE.search(line)]
    return " ".join(lines) if lines else output[-300:]


def shortened(text):
    """Its beginning and its end: a sanitizer names the fault first, a script says what it comes to last."""
    return text if len(text) <= 500 else f"{text[:200]} ... {text[-300:]}"


def read_stage(folder):
    """Yields (name, outcome, text) of every case of one stage."""
    report = folder / "ctest.xml"
    if not report.exists():
        yield folder.name, "failed", "ctest left no report"
        return
    tests = list(ET.parse(report).iter("testcase"))
    if not tests:
        yield folder.name, "failed", "no test matched"
    for test in tests:
        name, status = test.get("name"), test.get("status")
        output = test.findtext("system-out") or ""
        cases_file = folder / "gtest" / f"{name}.xml"
        cases = []
        if cases_file.exists():
            try:
                cases = list(read_gtest(cases_file))
            except ET.ParseError:
                pass  # the program died while writing it: counted as one failure below
        if status == "fail" and not any(outcome == "failed" for _, outcome, _ in cases):
            # A sanitizer report at exit, a time-out, a crash: no single case shows it.
            cases.append((name, "failed", told(output)))
        elif not cases:
            outcome = {"run": "passed", "fail": "failed"}.get(status, "skipped")
            cases.append((name, outcome, output if outcome == "skipped" else told(output)))
        for case, outcome, text in cases:
            yield f"{folder.name}: {name}: {case}" if case != name else f"{folder.name}: {name}", outcome, text


# The output of a skipped test: "SKIPPED: tpchgen-cli==4.0.0 (PyPI) cannot be installed: ...", or in a GTEST_SKIP()
# "package: clang-14". A name with slashes is a Go program's; "(Go module)" after it means a library, which `go install`
# refuses.
NEEDS = re.compile(r"SKIPPED: (\S+)(?: \((PyPI|Go module)\))? cannot be installed|package: *([\w.+-]+)")


def cannot_install(reason):
    """True if the reason names a package of Debian, PyPI or the Go proxy that this machine cannot get."""
    match = NEEDS.search(reason)
    if not match:
        return False
    name = match.group(1) or match.group(3)
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ)
        if match.group(2) == "PyPI":
            commands = [[sys.executable, "-m", "venv", folder],
                        [f"{folder}/bin/pip", "install", "-q", name]]
        elif "/" in name:
            commands = [["go", *(("mod", "download") if match.group(2) else ("install",)), name]]
            env.update(GOBIN=folder, GOPATH=f"{folder}/gopath", GOFLAGS="-modcacherw")
        else:
            commands = [["apt-get", "install", "--simulate", "-q", name]]
        try:
            return any(subprocess.run(command, capture_output=True, timeout=300, env=env).returncode != 0
                       for command in commands)
        except (OSError, subprocess.TimeoutExpired):
            return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra-passed", type=int, default=0, help="checks that passed outside ctest")
    parser.add_argument("--extra-failed", type=int, default=0, help="stages that failed outside ctest")
    parser.add_argument("--strict", action="store_true", help="skipped counts as failed")
    parser.add_argument("reports", type=pathlib.Path)
    args = parser.parse_args()

    count = {"passed": args.extra_passed, "failed": args.extra_failed, "skipped": 0}
    for folder in sorted(p for p in args.reports.iterdir() if p.is_dir()):
        for name, outcome, text in read_stage(folder):
            shown = outcome
            if outcome == "skipped" and args.strict and not cannot_install(text):
                outcome, shown = "failed", "skipped, counts as failed"
            count[outcome] += 1
            if outcome != "passed":
                text = text[max(text.find("SKIPPED:"), 0):]
                print(f"{shown}: {name}: {shortened(' '.join(text.split()))}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
