"""The axis of Bobox's Figures 5 to 8: TPC-H's 22 queries and W1 to W3 under both schedulers, alone and 16 at once."""
import contextlib
import subprocess

import common
import study
from common import NotPossible, ProgramFailed, Row, describe_machine, median_of, point, points_of
from engine_process import ENGINE, engines
from lab_process import LabProcess, environment, rotated
from plot_panels import Panel, figure
from study import MEASURED, NO_NUMBER, ROOT, Way, cell, one_point, ratios, table

NAME = "bobox"
TITLE = "Both schedulers, alone and 16 at once"
TPCH_ENGINE = "bench/queries/query_bench"
PROGRAMS = (ENGINE, TPCH_ENGINE)
PAPER = """Eight queries of SP2Bench, alone and 16 of the same at once (locality-aware scheduling in Bobox, 6). On two processors of four cores without
NUMA, alone (Figure 5): Q4 and Q6 gain, Q2 is almost twice as fast, none is slower; 16 at once (Figure 6) almost all gain. On 4 NumaNodes
with 64 logical cores (Figures 7 and 8) several are more than twice as fast when there are 16, Q2 3.3 times."""

WAYS = ("las", "nls")
AT_ONCE = 16
MODES = {"alone": "run {}", f"{AT_ONCE} at once": f"at_once {{}} {AT_ONCE}"}
PAPER_BEST = {"alone": (1 / 2, "Figure 5, Q2, the best"), f"{AT_ONCE} at once": (1 / 3.3, "Figure 8, Q2, the best")}
SLOWER = 1.03  # queries above it are measured once more
STUDY_QUERIES = ("w1", "w2", "w3")
TPCH_QUERIES = tuple(f"q{number}" for number in range(1, 23))


def milliseconds(mode):
    return f"{mode}, ms"


def over(mode):
    return f"las over nls, {mode}"


class Side:
    """An engine and its queries."""

    def __init__(self, engine, queries):
        self.engine, self.queries = engine, queries
        self.ms = {(mode, query, way): [] for mode in MODES for query in queries for way in WAYS}
        self.right = {}  # by query

    def measure(self, mode, query, turn, counts=True):
        for way in rotated(list(WAYS), turn % 2):
            self.engine.ask(f"tasks {way}")
            answer = self.engine.ask(MODES[mode].format(query.removeprefix("q")))
            self.check(query, answer)
            if counts:
                self.ms[mode, query, way].append(answer["ms"] if "ms" in answer else answer["seconds"] * 1e3)

    def check(self, query, answer):
        """Errors: ProgramFailed."""
        if "error" in answer:
            raise ProgramFailed(f"{query}: {answer['error']}")
        rows = answer["rows"]
        told = (len(rows) if isinstance(rows, list) else rows, answer.get("checksum"))
        if told != self.right.setdefault(query, told):
            raise ProgramFailed(f"{query}: rows and checksum {told}, and {self.right[query]} before")

    def ratios(self, mode, query):
        return ratios(self.ms[mode, query, "las"], self.ms[mode, query, "nls"])

    def rounds(self, mode, rounds):
        """Then as many again of those that las seems to slow down: all rounds count."""
        for turn in range(-1, rounds):
            for query in self.queries:
                self.measure(mode, query, turn, counts=turn >= 0)
        for query in self.queries:
            if self.ratios(mode, query)["median"] > SLOWER:
                for turn in range(rounds):
                    self.measure(mode, query, turn)


@contextlib.contextmanager
def tpch(lab):
    """Errors: NotPossible, ProgramFailed."""
    program = str(lab.path(TPCH_ENGINE))
    try:
        tables = common.module("bench/queries/run.py").tables(str(lab.build), environment(str(lab.build)), f"{lab.scale.tpch:g}")
    except SystemExit as error:  # it has said why
        raise NotPossible("what writes TPC-H's tables cannot be installed") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramFailed(f"TPC-H's tables: {error}") from error
    engine = LabProcess([program, "--aeus", str(lab.cores), "--data", tables, "--plans", str(ROOT / "tests" / "tpch" / "plans" / "datafusion")], {},
                        "query_bench")
    try:
        engine.ask("load")
        yield engine
        engine.stop()
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramFailed(str(error)) from error
    finally:
        engine.process.kill()


def measure(lab):
    if lab.cores < 2:
        raise NotPossible("one core: nobody could take another one's tasks")
    missing, points = [], []
    with engines(lab, lab.scale.at_once_data, STUDY_QUERIES, {"engine": ((), {})}) as found:
        points += points_of_side(lab, Side(found["engine"], STUDY_QUERIES))
    try:
        with tpch(lab) as engine:
            points += points_of_side(lab, Side(engine, TPCH_QUERIES))
    except NotPossible as error:
        missing.append({"what": "TPC-H", "why": str(error)})
    scale = lab.scale
    return {"protocol": {"data": scale.at_once_data, "tpch": scale.tpch, "aeus": lab.cores, "rounds": {"alone": scale.alone_rounds,
                         f"{AT_ONCE} at once": scale.at_once_rounds}}, "points": points, "missing": missing}


def points_of_side(lab, side):
    side.rounds("alone", lab.scale.alone_rounds)
    side.rounds(f"{AT_ONCE} at once", lab.scale.at_once_rounds)
    out = []
    for (mode, query, way), values in side.ms.items():
        out.append(point(milliseconds(mode), f"{query} {way}", 0, "ms", values))
    for mode in MODES:
        out += [point(over(mode), query, 0, "", side.ratios(mode, query), rounds=len(side.ms[mode, query, "las"])) for query in side.queries]
    return out


def ways(report):
    out = [Way("time of W1 to W3, alone and 16 at once", MEASURED)]
    if one_point(report, over("alone"), TPCH_QUERIES[0]):
        out.append(Way("time of TPC-H's 22 queries, alone and 16 at once", MEASURED))
    return out


def draw(report):
    panels = []
    for mode in MODES:
        rows = [{"name": one["series"], "values": [one["median"]], "low": one["min"], "high": one["max"]} for one in points_of(report, over(mode))]
        panels.append(Panel(f"Time with las over nls, {mode}", rows, ".2f", "ratios of the same rounds: median, least and largest", height=60 + 24 * len(rows)))
    return figure(panels, "The locality-aware scheduler over the blind one", describe_machine(report["machine"]))


def here(report):
    did = report["protocol"]
    rounds = " and ".join(f"{common.count(count, 'round')} {mode}" for mode, count in did["rounds"].items())
    return (f"TPC-H's 22 queries at scale {did['tpch']:g}, the plans of tests/tpch, and W1 to W3 at {did['data']:g} of the paper's sizes, in engines of "
            f"{did['aeus']} AEUs: {rounds} with las and nls in turns, after one that is not counted. Where the median of the ratios is then above "
            f"{SLOWER:g}, as many rounds more, and all count. {AT_ONCE} at once: as many readers of the same query begin together, and the time is until "
            "the last has its answer. Each query has the same number of rows in all rounds, W1 to W3 also the same sums.")


def compare(report):
    rows = []
    for mode in MODES:
        found = points_of(report, over(mode))
        most, least = (choose(found, key=lambda one: one["median"]) for choose in (max, min))
        paper, where = PAPER_BEST[mode]
        rows += [Row(f"{mode}: las over nls, the least ({least['series']})", least["median"], paper, where),
                 Row(f"{mode}: las over nls, the most ({most['series']})", most["median"], 1, "6.3, never slower"),
                 Row(f"{mode}: las over nls, geometric mean", study.geometric_mean([one["median"] for one in found]), source=NO_NUMBER)]
    return rows


def details(report):
    queries = [one["series"] for one in points_of(report, over("alone"))]
    rows = []
    for query in queries:
        row = [query.upper()]
        for mode in MODES:
            row += [*(f"{median_of(report, milliseconds(mode), f'{query} {way}'):.3g}" for way in WAYS), cell(one_point(report, over(mode), query))]
        rows.append(row)
    return table(("query", *(head for mode in MODES for head in (f"{mode}: las, ms", "nls, ms", "las over nls"))), rows)


def gap(report):
    return (f"{report['protocol']['aeus']} cores that share a cache are one core group: what the rules save between groups and NumaNodes costs no time here. "
            "The queries are not the paper's, and most of their work is in scans, which stay with the rows' owners under either scheduler.")
