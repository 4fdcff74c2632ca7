"""The pages axis: transparent huge pages never, where the program advises them, and always, with each allocator."""
import common
import study
from common import Row, describe_machine, median_of, point, points_of
from plot_panels import Panel, figure
from study import BLIND, MEASURED, Config, Way, cell, name_of, one_point, ratios, table

NAME = "pages"
TITLE = "Huge pages"
PROGRAMS = (BLIND,)
PAPER = """Transparent huge pages on, as systems come, or off (III-D1). For W1 the effect on the time is from detrimental in most cases to
negligible; tcmalloc, jemalloc and tbbmalloc do not handle them well, so that they are better off (IV-C2, Figure 5c; the text gives no
number)."""

BASE = "never"
KINDS = ("never", "advised", "always")
MEASURED_QUERIES = ("w1", "w3")
GAIN = "never over always"  # over all allocators and queries


def name(allocator, pages):
    return f"{allocator}, {pages}"


def over_base(query):
    return f"{query} over {BASE}"


def measure(lab):
    configs = [Config(name(allocator, pages), allocator=allocator, pages=pages) for allocator in lab.allocators for pages in KINDS]
    with study.system_huge_pages() as setting:
        system = setting.before
        found = lab.interleaved(configs, MEASURED_QUERIES, lab.scale.rounds, setting)
    points = []
    for query in MEASURED_QUERIES:
        for config in configs:
            runs, base = found[config.name, query], found[name(config.allocator, BASE), query]
            points += [point(f"{query} seconds", config.name, 0, "s", study.seconds_of(runs)),
                       point(over_base(query), config.name, 0, "", ratios(study.seconds_of(runs), study.seconds_of(base))),
                       point(f"{query} huge share", config.name, 0, "", [run["huge_bytes"] / run["resident"] for run in runs]),
                       point(f"{query} faults", config.name, 0, "", [run["minor_faults"] for run in runs]),
                       point(f"{query} held over live", config.name, 0, "", study.held_over_live(runs))]
    points.append(study.gain_point(GAIN, BASE, study.mean_over(found, [name(one, BASE) for one in lab.allocators], MEASURED_QUERIES,
                                                                     lambda mine: mine.replace(BASE, "always"))))
    return {"protocol": {"data": lab.scale.data, "rounds": lab.scale.rounds, "threads": lab.cores, "system": system,
                         "allocators": lab.allocators}, "points": points, "missing": lab.missing_allocators}


def ways(_report):
    return [Way("run time, page faults, share of memory on huge pages", MEASURED)]


def draw(report):
    panels = []
    for query in MEASURED_QUERIES:
        rows = [{"name": allocator, "values": [median_of(report, over_base(query), name(allocator, pages)) for pages in ("always", "advised")]}
                for allocator in report["protocol"]["allocators"]]
        panels.append(Panel(f"{name_of(query)}: time over that without huge pages", rows, ".2f", "always; below, pale: advised",
                            height=60 + 24 * len(rows), right=86))
    return figure(panels, "The blind program with huge pages", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"W1 and W3 at {did['data']:g} of the paper's sizes, {did['threads']} threads, {common.count(did['rounds'], 'round')} in a rotating order. "
            "never: by prctl, whatever the allocator asks for. advised: the system's policy is madvise, and the program advises its large arrays. always: "
            f"the system's policy is always. That policy (here: {did['system']}) is put back at the end, also if the driver is killed.")


def compare(report):
    return [Row(f"{name_of(query)}, {allocator}: time with always over never", median_of(report, over_base(query), name(allocator, "always")),
                source="Figure 5c, slower or no different; the paper's text gives no number")
            for query in MEASURED_QUERIES for allocator in report["protocol"]["allocators"]]


def details(report):
    out = []
    for query in MEASURED_QUERIES:
        rows = []
        for one in points_of(report, f"{query} seconds"):
            series = one["series"]
            rows.append([series, cell(one), cell(one_point(report, over_base(query), series)), f"{median_of(report, f'{query} huge share', series):.0%}",
                         f"{median_of(report, f'{query} faults', series):,.0f}", f"{median_of(report, f'{query} held over live', series):.3g}"])
        out += [f"**{name_of(query)}**", "",
                *table(("allocator, pages", "s", f"over {BASE}", "memory on huge pages", "page faults", "grown by over held"), rows), ""]
    return out[:-1]


def gap(_report):
    return ("The paper's kernels are 3.10 to 4.15, and its processors have 8 to 32 entries for huge pages in their first TLB, the Opterons none in "
            "the second. On one NumaNode a huge page cannot hold what belongs to two.")
