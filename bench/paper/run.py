#!/usr/bin/env python3
"""Measures every figure of the paper that is possible on this machine, and writes docs/lab/experiments.md.

    bench/paper/run.py <builddir> [figure...] [--quick] [--assemble]

Prints a line per figure: seconds, and done, not possible here with the reason, or failed with the program. The text is
written once every figure has a report, of this run or of an earlier one; --assemble writes text and pictures from the
reports alone. Exit code 1: a program failed, or there was nothing to assemble.
"""
import argparse
import json
import sys

import common
import experiments
import fig1_scaling
import fig5_buffer_size
import fig8_index_size
import fig9_scan_bandwidth
import fig10_12_traffic
import fig13_dynamic
import table2_nodes

# In the paper's order.
FIGURES = (fig1_scaling, table2_nodes, fig5_buffer_size, fig8_index_size, fig9_scan_bandwidth, fig10_12_traffic, fig13_dynamic)


def chosen(names):
    """The figures; those whose names, or beginnings of names, were given. Errors: ValueError."""
    found = []
    for name in names:
        those = [figure for figure in FIGURES if figure.NAME == name or figure.NAME.startswith(f"{name}_")]
        if len(those) != 1:
            raise ValueError(f"no figure '{name}': {', '.join(figure.NAME for figure in FIGURES)}")
        found += those
    return found or list(FIGURES)


def load(places):
    """The saved reports by name."""
    found = {}
    for figure in FIGURES:
        path = places.report(figure)
        if path.is_file():
            found[figure.NAME] = json.loads(path.read_text(encoding="utf-8"))
    return found


def assemble(places):
    """Writes the text; returns what is missing for it, if anything."""
    reports = load(places)
    missing = [figure.NAME for figure in FIGURES if figure.NAME not in reports]
    if not missing:
        common.write(places.docs / "experiments.md", experiments.text(FIGURES, reports))
    return missing


def main():
    parser = common.parser_of(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="figure", help=", ".join(figure.NAME for figure in FIGURES))
    parser.add_argument("--assemble", action="store_true", help="no measuring")
    parser.add_argument("--programs", action="store_true", help="print what the figures run, as paths in the build")
    options = parser.parse_intermixed_args()  # allows figures after flags
    try:
        figures = chosen(options.figures)
    except ValueError as error:
        parser.error(str(error))
    if options.programs:
        print(*sorted({program for figure in figures for program in figure.PROGRAMS}), sep="\n")
        return 0
    places = common.Places.of(options.scale, options.results, options.docs)
    failed = 0
    if options.assemble:
        for name, report in load(places).items():
            figure = next(one for one in FIGURES if one.NAME == name)
            if report["outcome"] == common.DONE:
                common.write(places.picture(figure), figure.draw(report))
    else:
        for figure in figures:
            report = common.make(figure, options.build, options.scale, places)
            failed += report["outcome"] == common.FAILED
            print(common.outcome_line(report), flush=True)
    missing = assemble(places)
    print(f"not assembled: no report yet of {', '.join(missing)}" if missing else f"written: {places.docs / 'experiments.md'}")
    return 1 if failed or (options.assemble and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
