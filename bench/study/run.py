#!/usr/bin/env python3
"""The locality study from outside: what an allocator, huge pages, binding, placement and AutoNUMA do for a program that knows
of no NumaNode; writes docs/study.md.

    bench/study/run.py <builddir> [axis...] [--quick | --scale X] [--assemble]

Prints a line per axis: seconds, and done, not possible here with the reason, or failed with the program. The text is made of
all reports that there are, of this run or of earlier ones; --assemble writes text and pictures from the reports alone. Exit
code 1: a program failed, or there was nothing to assemble.
"""
import argparse
import dataclasses
import os
import pathlib
import signal
import sys
import time

import study  # noqa: I001: it says where the others are
import affinity
import allocator
import answers
import arrival
import autonuma
import bobox
import bystanders
import combination
import common
import document
import engine_memory
import pages
import placement
import scheduler
import task_lines

# In the document's order.
AXES = (allocator, pages, affinity, placement, autonuma, scheduler, task_lines, bobox, bystanders, engine_memory, arrival, combination, answers)
DOCUMENT, PICTURES = "study.md", "lab/figures"


@dataclasses.dataclass(frozen=True)
class Places:
    """Where results go. Only the whole study, at its own scale, writes into docs."""
    results: pathlib.Path
    docs: pathlib.Path

    @staticmethod
    def of(name, results, docs):
        folder = study.ROOT / "build" / "study"
        if name != "full":
            folder = folder / name
        return Places(pathlib.Path(results or folder), pathlib.Path(docs or (study.ROOT / "docs" if name == "full" else folder)))

    def report(self, axis):
        return self.results / f"{axis.NAME}.json"

    def picture(self, axis):
        return self.docs / PICTURES / f"study_{axis.NAME}.svg"

    def reports(self):
        return {axis.NAME: study.load(self.report(axis)) for axis in AXES if self.report(axis).is_file()}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="builddir", help="e.g. build/release")
    parser.add_argument("axes", nargs="*", metavar="axis", help=f"{', '.join(axis.NAME for axis in AXES)} (default: all)")
    parser.add_argument("--quick", action="store_const", dest="size", const="quick", default="full", help="less of everything; leaves docs alone")
    parser.add_argument("--tiny", action="store_const", dest="size", const="tiny", help=argparse.SUPPRESS)
    parser.add_argument("--scale", type=float, metavar="X", help="of the paper's records (default: 0.1); leaves docs alone")
    parser.add_argument("--assemble", action="store_true", help="no measuring")
    parser.add_argument("--programs", action="store_true", help="print what the axes run, as paths in the build")
    parser.add_argument("--json", choices=["-"], help="print the reports instead of writing anything")
    parser.add_argument("--results", help="folder of the reports (default: build/study)")
    parser.add_argument("--docs", help="folder of text and pictures (default: docs; a folder of build/study with --quick or --scale)")
    options = parser.parse_intermixed_args()  # allows axes after flags
    known = {axis.NAME: axis for axis in AXES}
    if unknown := [name for name in options.axes if name not in known]:
        parser.error(f"no axis '{unknown[0]}': {', '.join(known)}")
    if options.scale is not None and not 0 < options.scale <= 1:
        parser.error(f"--scale: {options.scale:g}; it must be more than 0, and at most 1")
    options.axes = [known[name] for name in options.axes] or list(AXES)
    return options


def measure_all(options, name, places):
    """How many failed."""
    scale = study.SCALES[options.size]
    if options.scale is not None:
        scale = dataclasses.replace(scale, data=options.scale)
    lab, failed, began, reports = study.StudyLab(options.build, scale), 0, time.monotonic(), {}
    for axis in options.axes:
        report = common.measured(axis, lab, name)
        if options.json:
            reports[axis.NAME] = report
            continue
        common.write(places.report(axis), study.json.dumps(report, indent=1) + "\n")
        failed += report["outcome"] == common.FAILED
        print(common.outcome_line(report), flush=True)
    if options.json:
        print(study.json.dumps(reports))
        return failed
    print(f"{len(options.axes)} axes in {time.monotonic() - began:.0f} s", flush=True)
    return failed


def assemble(places):
    """Whether there was anything."""
    reports = places.reports()
    for axis in AXES:
        report = reports.get(axis.NAME)
        if report and report["outcome"] == common.DONE:
            common.write(places.picture(axis), axis.draw(report))
    if reports:
        common.write(places.docs / DOCUMENT, document.text(AXES, reports, PICTURES))
    return bool(reports)


def main():
    options = parse()
    if options.programs:
        print(*sorted({program for axis in options.axes for program in axis.PROGRAMS}), sep="\n")
        return 0
    # So that settings of the system are put back at once (system_setting.py).
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    name = options.size if options.scale is None else f"scale-{options.scale:g}" + ("" if options.size == "full" else f"-{options.size}")
    places = Places.of(name, options.results, options.docs)
    failed = 0 if options.assemble else measure_all(options, name, places)
    if options.json:
        return 1 if failed else 0
    there = assemble(places)
    print(f"written: {os.path.relpath(places.docs / DOCUMENT)}" if there else "no report: nothing to assemble")
    return 1 if failed or not there else 0


if __name__ == "__main__":
    sys.exit(main())
