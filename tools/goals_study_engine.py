"""The locality study's goals of the engine beyond its scheduler's own axis: both schedulers with many queries, what they cost others, and
the engine's memory against preloaded allocators. Part of tools/goals.py."""
from goals_run import NotPossible, Step, at_least, at_most
from goals_tables import words_of

DRIVER = "bench/study/run.py"
OWN = "eris"  # the engine's own memory
OVER_ALLOCATOR = 0.9
PEAK_OVER_REQUESTED = 1.15
GIVEN_BACK = 0.9
NEVER_SLOWER = 1.03
LOOKUPS_SLOWER = 1.1
IDLE_A_SECOND = 0
IDLE_CPUS = 0.005  # in five seconds a tick of 10 ms for each of two AEUs, and the rounding of their sums; one that spins takes 1


def measured(run, axis):
    """The axis' report, and the point of a panel and a series. Errors: NotPossible."""
    report = run.script(DRIVER, axis)[axis]
    if report["outcome"] != "done":
        raise NotPossible(report["reason"])
    return report, lambda panel, series: next(one for one in report["points"] if panel == one["panel"] and series in (None, one["series"]))


def bobox(run):
    report, _ = measured(run, "bobox")
    found = [one for one in report["points"] if one["panel"].startswith("las over nls, ")]
    most = max(found, key=lambda one: one["median"])
    run.goal("study.bobox_las_over_nls_most", most["median"],
             f"{most['series']} {most['panel'].removeprefix('las over nls, ')}, of {len(found)} medians of ratios of the same rounds; TPC-H at scale "
             f"{report['protocol']['tpch']:g}" + "".join(f"; without {one['what']}: {one['why']}" for one in report["missing"]))


def bystanders(run):
    report, found = measured(run, "bystanders")
    run.goal("study.lookup_p99_las_over_own", found("p99_us las over own", "las")["median"],
             f"single lookups while W3 runs with all probes at one AEU, ratios of the same rounds: p99 {words_of(found('p99_us', 'las'), 'us')} vs. "
             f"{words_of(found('p99_us', 'own'), 'us')}")
    run.goal("study.idle_wakeups", found("sleeps of AEUs' threads a second", "las")["median"],
             f"a second, voluntary context switches of {report['protocol']['aeus']} AEUs in {report['protocol']['idle_s']:g} s")
    run.goal("study.idle_cpus", found("cpus that AEUs take idly", "las")["median"], "their cpu time meanwhile, in ticks of the kernel, over that time")


def memory(run):
    report, found = measured(run, "engine_memory")
    for query in ("w1", "w3"):
        over = found(f"{query} own over the best allocator", None)
        run.goal(f"study.engine_memory_{query}", over["median"],
                 f"{report['protocol']['data']:g} of the paper's sizes, ratios of the same rounds: {words_of(found(f'{query} seconds', OWN), 's')} vs. "
                 f"{over['series']}, the best: {words_of(found(f'{query} seconds', over['series']), 's')}")
    peak, back = found("peak over asked", OWN), found("given back", OWN)
    run.goal("study.peak_over_requested", peak["median"], f"W1, then W3: {found('peak MB', OWN)['median']:.0f} MB resident beyond the data, "
             f"{found('asked MB', OWN)['median']:.0f} asked for; the most of {report['protocol']['passes']} times {peak['max']:.3g}")
    run.goal("study.given_back", back["median"], f"{report['protocol']['idle_s']:g} s after the last query {found('later MB', OWN)['median']:.0f} MB are left")


STEPS = (Step(memory, {"study.engine_memory_w1": at_most(OVER_ALLOCATOR), "study.engine_memory_w3": at_most(OVER_ALLOCATOR),
                       "study.peak_over_requested": at_most(PEAK_OVER_REQUESTED), "study.given_back": at_least(GIVEN_BACK)}),
         Step(bobox, {"study.bobox_las_over_nls_most": at_most(NEVER_SLOWER)}),
         Step(bystanders, {"study.lookup_p99_las_over_own": at_most(LOOKUPS_SLOWER), "study.idle_wakeups": at_most(IDLE_A_SECOND),
                           "study.idle_cpus": at_most(IDLE_CPUS)}))
