"""All axes of the real machine together: every combination once, the best of them once more, in rounds."""
import common
import study
from common import Row, describe_machine, median_of, point, points_of
from plot_panels import Panel, figure
from study import BLIND, MEASURED, NO_NUMBER, QUERIES, Config, Way, cell, geometric_mean, one_point, table

NAME = "combination"
TITLE = "The best combination"
PROGRAMS = (BLIND,)
PAPER = """Compared with systems as they come, the best is tbbmalloc, memory interleaved, AutoNUMA and huge pages off, threads sparse. For
the hash join on machine C another allocator alone makes it three times as fast, all of it 20 times (I)."""

DEFAULT, PAPERS = "default", "the paper's"
PAGES = ("never", "advised", "always")
AFFINITIES = ("none", "sparse")
OVER_PAPERS = "all over the paper's"
BEST = 5  # that are measured once more


def every_config(lab):
    return [Config(f"{allocator}, {pages}, {affinity}", allocator, pages, affinity) for allocator in lab.allocators for pages in PAGES
            for affinity in AFFINITIES]


def fixed_configs(lab):
    """What all is compared with: glibc on huge pages wherever the system can, which is how systems come; and the paper's
    advice, as far as one NumaNode has it.
    """
    papers = [Config(PAPERS, "tbbmalloc", "never", "sparse")] if "tbbmalloc" in lab.allocators else []
    return [Config(DEFAULT, "glibc", "always"), *papers]


def score(runs_of, config, base):
    """The geometric mean over the queries of the time over the base's."""
    return geometric_mean([runs_of[config.name, query][0]["seconds"] / runs_of[base.name, query][0]["seconds"] for query in QUERIES])


def measure(lab):
    fixed, every = fixed_configs(lab), every_config(lab)
    with study.system_huge_pages() as setting:
        first = lab.interleaved([*fixed, *every], QUERIES, 1, setting)
        best = sorted(every, key=lambda config: score(first, config, fixed[0]))[:BEST]
        found = lab.interleaved([*fixed, *best], QUERIES, lab.scale.combination_rounds, setting)
    points = []
    for config in (*fixed, *best):
        over = {query: [one / other for one, other in zip(study.seconds_of(found[config.name, query]), study.seconds_of(found[DEFAULT, query]))]
                for query in QUERIES}
        points += [point(f"{query} over {DEFAULT}", config.name, 0, "", values) for query, values in over.items()]
        points.append(point("all over default", config.name, 0, "", [geometric_mean(values) for values in zip(*over.values())]))
        if any(one.name == PAPERS for one in fixed):
            points.append(study.gain_point(OVER_PAPERS, config.name, study.mean_over(found, [config.name], QUERIES, lambda _: PAPERS)))
        points += [point(f"{query} seconds", config.name, 0, "s", study.seconds_of(found[config.name, query])) for query in QUERIES]
        points.append(point("w1 held over live", config.name, 0, "", study.held_over_live(found[config.name, "w1"])))
    return {"protocol": {"data": lab.scale.data, "rounds": lab.scale.combination_rounds, "tried": len(every), "threads": lab.cores}, "points": points,
            "missing": lab.missing_allocators}


def ways(report):
    out = [Way("run time of allocator x huge pages x affinity", MEASURED)]
    if report["machine"]["numa_nodes"] == 1:
        out.append(Way("run time with placement and AutoNUMA in it", study.IMPOSSIBLE, "one NumaNode"))
    return out


def draw(report):
    rows = [{"name": one["series"].replace(DEFAULT, "default"), "values": [one["median"]], "low": one["min"], "high": one["max"]}
            for one in points_of(report, "all over default")]
    for row in rows:
        row["label"] = f"{row['values'][0]:.2f} {row['name']}"
        row["name"] = ""
    return figure([Panel("Time over the default's, mean of W1 to W4", rows, ".2f", "geometric mean; the line: from the least round to the largest",
                         height=60 + 24 * len(rows), right=190)], "Combinations of settings", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    return (f"{did['tried']} combinations (allocator, huge pages, affinity), each query once; the {BEST} with the least geometric mean of their times "
            f"over the default's, the default (glibc, huge pages always, threads not bound) and the paper's advice (tbbmalloc, never, sparse) are then "
            f"measured in {common.count(did['rounds'], 'round')} in a rotating order, {did['threads']} threads, {did['data']:g} of the paper's sizes.")


def best(report):
    """The name and the point of the best one."""
    found = min((one for one in points_of(report, "all over default") if one["series"] not in (DEFAULT, PAPERS)), key=lambda one: one["median"])
    return found["series"], found


def compare(report):
    name, _ = best(report)
    return [Row(f"all queries: time of the best ({name}) over the default", median_of(report, "all over default", name),
                source=NO_NUMBER),
            Row("all queries: time of the paper's advice over the default", median_of(report, "all over default", PAPERS)),
            Row(f"W3: time of the best ({name}) over the default", median_of(report, f"w3 over {DEFAULT}", name), 1 / 20, "I, machine C, with placement")]


def details(report):
    rows = [[one["series"], cell(one), *(cell(one_point(report, f"{query} over {DEFAULT}", one["series"])) for query in QUERIES),
             f"{median_of(report, 'w1 held over live', one['series']):.3g}"] for one in points_of(report, "all over default")]
    return table(("allocator, huge pages, affinity", "all over default", *(query.upper() for query in QUERIES), "W1: grown by over held"), rows)


def gap(report):
    if report["machine"]["numa_nodes"] == 1:
        return "Placement and AutoNUMA are not among the settings: one NumaNode. Other data sets and sizes may have another best."
    return "Placement and AutoNUMA are not among the settings. Other data sets and sizes may have another best."
