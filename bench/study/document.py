"""The text docs/study.md, made from the axes' reports: only the paper's statements are written by hand."""
import combination
import common
import flowchart
from common import DONE, FAILED
from experiments import anchor, table, wrapped
from study import COUNTED, IMPOSSIBLE, MEASURED, OTHERS_MAX, SIMULATED, Way

HEAD = """# The study of locality, from outside

What can be done for a program that knows of no NumaNode without changing it: another allocator, huge pages, binding of threads,
placement of memory, AutoNUMA. It is the study of Memarzia, Ray and Bhavsar, *The Art of Efficient In-memory Query Processing on NUMA
Systems: a Systematic Approach* (ICDE 2020), with a program of our own, `study_blind` (bench/study/blind), which runs the paper's W1 to W4 over
the paper's data sets. ERIS itself takes part only where a section says so.

**This file is generated** by `./dev study`; on another machine the same command writes it anew. `./dev study <axis>` measures one axis,
`./dev study --quick` all of them in short, into build/study/quick; `--scale x` sets the part of the paper's sizes.

A figure is the median of its rounds; in brackets are the least and the largest. Machines differ by some ten years: what is to be compared
are ratios. A dash: the paper's text gives no number, or it cannot be measured here. What is counted in the emulated machine (the guest)
has no time: the guest's NumaNodes differ in place and not in speed.
"""
ORDER = (MEASURED, COUNTED, SIMULATED, IMPOSSIBLE)
READINGS = """**The data sets**, as the paper's words are understood here. Moving cluster: keys are uniform in a window of 1,024 keys that slides
once over all groups (the paper gives no width). Sequential: a segment of equal length for each group, in the groups' order. Zipf: exponent
0.5, independent samples. Joins: each primary key once, in order, and 16 foreign keys for each, in the same order. Values are below 2^31.
W1 and W2 share one table of chains with a lock for each, where the paper has a cuckoo table; W3 allocates a node for each primary key; the
join's pairs are summed up, not stored."""


def load_lines(reports):
    """What is to be said of other programs."""
    most = max(one["cpus_taken_by_others"] for one in reports.values())
    if most <= OTHERS_MAX:
        return []
    return [wrapped(f"**Other programs took up to {most:.2f} cpus meanwhile** (each section has its own figure): times are longer than on an idle "
                    "machine, and spreads are wide. What is compared has run in turns, so ratios suffer less."), ""]


def ways_of(axis, report):
    if report["outcome"] != DONE:
        return [Way("all of it", IMPOSSIBLE if report["outcome"] != FAILED else FAILED, report["reason"])]
    return axis.ways(report)


def overview(axes, reports):
    """The first table: what is known of each axis, and by what."""
    lines = ["| axis | what | how it is known | why |", "|---|---|---|---|"]
    for axis in axes:
        report = reports.get(axis.NAME)
        ways = ways_of(axis, report) if report else [Way("all of it", IMPOSSIBLE, "not measured: the axis was left out")]
        for way in sorted(ways, key=lambda one: ORDER.index(one.how) if one.how in ORDER else 0):
            lines.append(f"| [{axis.TITLE}](#{anchor(axis.TITLE)}) | {way.what} | {way.how} | {way.why or '–'} |")
    return lines


def section(axis, report, pictures):
    out = [f"## {axis.TITLE}", "", wrapped(f"**The paper.** {axis.PAPER}"), ""]
    if report["outcome"] != DONE:
        return [*out, wrapped(f"**Here.** {'Failed' if report['outcome'] == FAILED else 'Not possible'}: {report['reason']}."), ""]
    out += [wrapped(f"**Here.** {axis.here(report)} `./dev study {axis.NAME}`, {report['seconds']:.0f} s, seed {report['seed']}, {report['date']}, commit "
                    f"{report['commit']}; other programs took {report['cpus_taken_by_others']:.2f} cpus meanwhile."), "",
            f"![{axis.TITLE}]({pictures}/study_{axis.NAME}.svg)", "", *table(axis.compare(report)), "", *axis.details(report), ""]
    told = "; ".join(f"{one['what']} ({one['why']})" for one in report["missing"])
    return [*out, wrapped(f"**The gap.** {axis.gap(report)}" + (f" Not possible here: {told}." if told else "")), ""]


def best_lines(reports):
    report = reports.get(combination.NAME)
    if not flowchart.done(report):
        return ["Not measured."]
    name, point = combination.best(report)
    return [wrapped(f"**{name}** (allocator, huge pages, affinity): W1 to W4 take {point['median']:.3g} ({point['min']:.3g} .. {point['max']:.3g}) of the "
                    f"default's time, geometric mean. [All of them](#{anchor(combination.TITLE)}).")]


def text(axes, reports, pictures):
    """`reports`: by name; an axis may have none. `pictures`: their folder, from the document."""
    machines = sorted({common.describe_machine(one["machine"]) for one in reports.values()})
    scales = sorted({one["scale"] for one in reports.values()})
    out = [HEAD, f"Machine: {'; '.join(machines)}." + ("" if scales == ["full"] else f" Scale: {', '.join(scales)}."), "", *load_lines(reports), READINGS, "",
           "## What is known, and how", "", *overview(axes, reports), "", "## The best combination found", "", *best_lines(reports), "",
           "## The paper's flowchart", "",
           wrapped("Figure 10 as IV-F describes it. Confirmed: the gain is there, more than 2 % by the median, and in three of four rounds. Refuted: "
                   "it is not. Not testable here: nothing that could be measured or counted decides; what was counted is told."), "",
           *flowchart.lines(reports), ""]
    for axis in axes:
        if axis.NAME in reports:
            out += section(axis, reports[axis.NAME], pictures)
    return "\n".join(out).rstrip() + "\n"
