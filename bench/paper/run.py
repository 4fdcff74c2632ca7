#!/usr/bin/env python3
"""Measures every figure of a paper that is possible on this machine: of ERIS, and writes docs/lab/experiments.md; of page_leap, and writes
the generated part of docs/lab/page_leap.md.

    bench/paper/run.py <builddir> [leap] [figure...] [--quick] [--assemble]

Prints a line per figure: seconds, and done, not possible here with the reason, or failed with the program. The text is
written once every figure has a report, of this run or of an earlier one; --assemble writes text and pictures from the
reports alone. Exit code 1: a program failed, or there was nothing to assemble.
"""
import argparse
import dataclasses
import json
import sys
from collections.abc import Callable

import common
import energy
import experiments
import fig1_scaling
import fig5_buffer_size
import fig8_index_size
import fig9_scan_bandwidth
import fig10_12_traffic
import fig13_dynamic
import table2_nodes
from cost import cost_model
from leap import page_leap

# In the paper's order; behind them what a model makes of two of them, and what the paper has not measured.
FIGURES = (fig1_scaling, table2_nodes, fig5_buffer_size, fig8_index_size, fig9_scan_bandwidth, fig10_12_traffic, fig13_dynamic, cost_model, energy)


@dataclasses.dataclass(frozen=True)
class Paper:
    figures: tuple
    document: str
    text: Callable  # of the document as it is ("" if there is none) and all reports


def experiments_text(_page, reports):
    """With what was once measured at the paper's size, if these are whole reports."""
    whole = all(report["scale"] == "full" for report in reports.values())
    larger = load(ERIS, common.Places.of("paper-size")) if whole else {}
    return experiments.text([figure for figure in FIGURES if figure.NAME in reports], reports, larger)


ERIS = Paper(FIGURES, "experiments.md", experiments_text)
PAPERS = {common.LEAP: Paper(page_leap.FIGURES, "page_leap.md", page_leap.text)}  # by its word on the command line


def chosen(words):
    """The paper, and those of its figures whose names, or beginnings of names, were given. Errors: ValueError."""
    paper = PAPERS.get(words[0], ERIS) if words else ERIS
    found = []
    for word in words if paper is ERIS else words[1:]:
        those = [figure for figure in paper.figures if word == figure.NAME or f"{common.short_name(figure)}_".startswith(f"{word}_")]
        if len(those) != 1:
            raise ValueError(f"no figure '{word}': {', '.join(map(common.short_name, paper.figures))}")
        found += those
    return paper, found or list(paper.figures)


def load(paper, places):
    """The saved reports by name."""
    found = {}
    for figure in paper.figures:
        path = places.report(figure)
        if path.is_file():
            found[figure.NAME] = json.loads(path.read_text(encoding="utf-8"))
    return found


def assemble(paper, places, partly=False):
    """Writes the text; returns what is missing for it, if anything. `partly`: a text of the reports that are there."""
    reports, document = load(paper, places), places.docs / paper.document
    missing = [] if partly and reports else [figure.NAME for figure in paper.figures if figure.NAME not in reports]
    if not missing:
        common.write(document, paper.text(document.read_text(encoding="utf-8") if document.is_file() else "", reports))
    return missing


def main():
    parser = common.parser_of(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="figure",
                        help=f"{', '.join(figure.NAME for figure in FIGURES)}; leap: page_leap's, of which one may be named behind it: "
                             f"{', '.join(map(common.short_name, page_leap.FIGURES))}")
    parser.add_argument("--assemble", action="store_true", help="no measuring")
    parser.add_argument("--programs", action="store_true", help="print what the figures run, as paths in the build")
    options = parser.parse_intermixed_args()  # allows figures after flags
    try:
        paper, figures = chosen(options.figures)
    except ValueError as error:
        parser.error(str(error))
    if options.programs:
        print(*sorted({program for figure in figures for program in figure.PROGRAMS}), sep="\n")
        return 0
    places = common.Places.of(options.scale, options.results, options.docs)
    failed = 0
    if options.assemble:
        for name, report in load(paper, places).items():
            figure = next(one for one in paper.figures if one.NAME == name)
            if report["outcome"] == common.DONE:
                common.write(places.picture(figure), figure.draw(report))
    else:
        for figure in figures:
            report = common.make(figure, options.build, options.scale, places)
            failed += report["outcome"] == common.FAILED
            print(common.outcome_line(report), flush=True)
    missing = assemble(paper, places, partly=options.scale == "paper-size")
    print(f"not assembled: no report yet of {', '.join(missing)}" if missing else f"written: {places.docs / paper.document}")
    return 1 if failed or (options.assemble and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
