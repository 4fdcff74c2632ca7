"""The goals of the locality study: its queries in the engine compared with DuckDB, and the scheduler of free tasks. Part of
tools/goals.py."""
from goals_run import NotPossible, Part, Step, at_most
from goals_study_engine import STEPS
from goals_tables import words_of

DRIVER = "bench/study/run.py"
OVER_DUCKDB = {"w1": 0.6, "w2": 0.4, "w3": 0.4, "w4": 0.4}  # w4: of its W3, which makes the index first
NEVER_SLOWER = 1.03
EVENED_OUT = 0.7  # of the time without help


def scheduler(run):
    report = run.script(DRIVER, "scheduler")["scheduler"]
    if report["outcome"] != "done":
        raise NotPossible(report["reason"])
    def found(panel, series):
        return next((one for one in report["points"] if (one["panel"], one["series"]) == (panel, series)), None)
    data, slowest = report["protocol"]["data"], None
    for query in OVER_DUCKDB:
        goal, ratio = f"study.{query}_over_duckdb", found("las over DuckDB", query)
        if ratio is None:
            run.no_goal(goal, "DuckDB cannot be installed")
            continue
        run.goal(goal, ratio["median"], f"{data:g} of the paper's sizes, {report['protocol']['aeus']} AEUs, DuckDB {report['protocol']['version']} with as many "
                 f"threads in turns: {words_of(found('seconds', f'{query} las'), 's')} vs. {words_of(found('seconds', f'{query} DuckDB'), 's')}")
    for one in report["points"]:
        if one["panel"] == "las over nls" and (slowest is None or one["median"] > slowest["median"]):
            slowest = one
    run.goal("study.las_over_nls_most", slowest["median"], f"{slowest['series']}; ratios of the same rounds")
    skew = found("las over own", "skew")
    run.goal("study.skew_las_over_own", skew["median"], f"W3, Zipf 1, all probed rows at one AEU: {words_of(found('seconds', 'skew las'), 's')} vs. "
             f"{words_of(found('seconds', 'skew own'), 's')}")


def lines(run):
    report = run.script(DRIVER, "task_lines")["task_lines"]
    found = {(one["x"], one["series"]): one["median"] for one in report["points"] if one["panel"] == "las over nls"}
    for goal, readers, queries in (("study.remote_lines_at_once", 16, ("w1", "w3")), ("study.remote_lines_alone", 1, ("w1", "w3", "skew"))):
        if any((readers, query) not in found for query in queries):
            run.no_goal(goal, "not counted: " + "; ".join(f"{one['what']}: {one['why']}" for one in report["missing"]))
            continue
        told = ", ".join(f"{query} {found[readers, query]:.3g}" for query in ("w1", "w3", "skew"))
        run.goal(goal, max(found[readers, query] for query in queries),
                 f"counted, las over nls, an AEU on each of 4 NumaNodes, the most of {' and '.join(queries)}: {told}; skew: all probed rows at one AEU")


SCHEDULER_GOALS = {**{f"study.{query}_over_duckdb": at_most(most) for query, most in OVER_DUCKDB.items()},
                   "study.las_over_nls_most": at_most(NEVER_SLOWER), "study.skew_las_over_own": at_most(EVENED_OUT)}
LINES_GOALS = {"study.remote_lines_at_once": at_most(0.5), "study.remote_lines_alone": at_most(1)}
STUDY = Part(10, (Step(scheduler, SCHEDULER_GOALS), Step(lines, LINES_GOALS, "tests/numa/task_lines_test.py"), *STEPS))
