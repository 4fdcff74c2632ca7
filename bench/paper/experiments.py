"""The text docs/lab/experiments.md, made from the figures' reports: only the paper's statements are written by hand."""
import textwrap

import common
import ratios
from common import DONE, FAILED

HEAD = """# The paper's experiments, here

Each figure and table of the evaluation in Kissinger et al., *ERIS: A NUMA-Aware In-Memory Storage Engine for Analytical Workloads*
(ADMS 2014), measured anew by one command, beside what the paper reports. **This file is generated** by `./dev paper`; on another
machine the same command writes it anew. `./dev paper <figure>` runs one, `./dev paper --quick` all of them in short, into
build/paper/quick.

A figure is the median of its rounds, with the least and the largest in the pictures and in the reports (build/paper). Machines
differ by more than ten years: what is to be compared are ratios and shapes; `here / paper` stands where both are given. A dash: the
paper gives no number, or none to compare with, or it cannot be measured here.

[study.md](../study.md) has another paper's experiments: what can be done for an unaware program from outside.
"""


def number(value):
    if value is None:
        return "–"
    if value != 0 and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(rows):
    lines = ["| | here | paper | here / paper | where |", "|---|---:|---:|---:|---|"]
    for row in rows:
        lines.append(f"| {row.what} | {number(row.ours) if row.ours is not None else row.instead or '–'} | {number(row.paper)} | {number(common.over(row.ours, row.paper))} | "
                     f"{row.source or '–'} |")
    return lines


def wrapped(text):
    return textwrap.fill(" ".join(text.split()), 140, break_long_words=False, break_on_hyphens=False)


def section(figure, report, level=2, command="./dev paper"):
    out = [f"{'#' * level} {figure.TITLE}", "", wrapped(f"**The paper.** {figure.PAPER}"), ""]
    if report["outcome"] != DONE:
        words = "Failed" if report["outcome"] == FAILED else "Not possible"
        return out + [wrapped(f"**Here.** {words}: {report['reason']}."), ""]
    out += [wrapped(f"**Here.** {figure.here(report)} `{command} {common.short_name(figure)}`, {report['seconds']:.0f} s, seed {report['seed']}; "
                    f"other programs took {report['cpus_taken_by_others']:.2f} cpus meanwhile."), "",
            f"![{figure.TITLE}](figures/paper_{figure.NAME}.svg)", "", *table(figure.compare(report)), ""]
    if hasattr(figure, "details"):
        out += [*figure.details(report), ""]
    told = "; ".join(f"{one['what']} ({one['why']})" for one in report["missing"])
    return out + [wrapped(f"**The gap.** {figure.gap(report)}" + (f" Not possible here: {told}." if told else "")), ""]


def overview(figures, reports):
    lines = ["| figure | outcome | commit | date |", "|---|---|---|---|"]
    for figure in figures:
        report = reports[figure.NAME]
        lines.append(f"| [{figure.TITLE}](#{anchor(figure.TITLE)}) | {report['outcome']} | {report['commit']} | {report['date']} |")
    return lines


def anchor(title):
    """As GitHub makes anchors of headings."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def at_the_papers_size(figures, reports):
    """What was measured with --paper-size, in short."""
    out = []
    for figure in figures:
        report = reports.get(figure.NAME)
        if report and report["outcome"] == DONE:
            rows = [row for row in figure.compare(report) if row.ours is not None or row.instead]
            out += [wrapped(f"**{figure.TITLE}.** {figure.here(report)} `./dev paper {common.short_name(figure)} --paper-size`, {report['seconds']:.0f} s, "
                            f"commit {report['commit']}, {report['date']}; other programs took {report['cpus_taken_by_others']:.2f} cpus meanwhile."),
                    "", *table(rows), ""]
    return ["## At the paper's size", "", *out] if out else []


def text(figures, reports, larger=None):
    """`reports`: by name, one for each figure; `larger`: those of the paper's size, if there are any."""
    machines = sorted({common.describe_machine(one["machine"]) for one in reports.values()})
    scales = sorted({one["scale"] for one in reports.values()})
    out = [HEAD, f"Machine: {'; '.join(machines)}." + ("" if scales == ["full"] else f" Scale: {', '.join(scales)}."), "",
           *overview(figures, reports), ""]
    if compared := ratios.table(reports):
        out += ["## ERIS over the shared index: why the ratios differ", "", wrapped(ratios.WHY), "", *compared, ""]
    for figure in figures:
        out += section(figure, reports[figure.NAME])
    out += at_the_papers_size(figures, larger or {})
    return "\n".join(out)
