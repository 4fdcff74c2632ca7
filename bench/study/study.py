"""Shared by the axes of the locality study: sizes, the lab that runs the blind program, interleaved runs, ways of knowing.

An axis is a module with the members of a paper's figure (bench/paper/common.py): NAME, TITLE, PROGRAMS, PAPER, measure(lab),
draw(report), here(report), compare(report), gap(report), details(report), and with
  ways(report)           -> [Way]: what is known of it, and by what
The flowchart reads the reports of all axes (flowchart.py).
"""
import dataclasses
import json
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "paper"), str(ROOT / "bench")]

import common  # noqa: E402
from allocators import ALLOCATORS, absent  # noqa: E402
from lab_process import rotated, spread  # noqa: E402
from system_setting import CannotSet, SystemSetting  # noqa: E402

BLIND = "bench/study/blind/study_blind"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
QUERIES = ("w1", "w2", "w3", "w4")
OTHERS_MAX = 0.2  # cpus taken by other programs that hardly matter
NO_NUMBER = "the paper's text gives no number"
QUERY_NAMES = {"w1": "W1, median per group", "w2": "W2, count per group", "w3": "W3, hash join", "w4": "W4, index join"}


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much of the paper's data, and how often; on two cores all of `full` must end within 25 minutes, of `quick` within 4."""
    data: float  # of the paper's records
    rounds: int
    affinity_rounds: int  # the paper shows ten runs of each
    arrival_data: float  # of each query that arrives
    arrival_s: float
    arrival_rounds: int
    idle_s: float  # after the last answer
    combination_rounds: int  # of the best combinations
    memory_passes: int  # of the engine's queries, with their memory watched
    at_once_data: float  # of W1 to W3, alone and 16 at once
    tpch: float  # TPC-H's scale factor there
    alone_rounds: int
    at_once_rounds: int
    lookups_ms: int  # at a time
    lookups_rounds: int
    guest: bool  # counts in the emulated machine
    guest_data: float
    guest_repeats: int  # of one query, while the kernel balances


SCALES = {
    "full": Scale(data=0.1, rounds=7, affinity_rounds=10, arrival_data=0.02, arrival_s=8, arrival_rounds=5, idle_s=5, combination_rounds=7,
                  memory_passes=3, at_once_data=0.05, tpch=0.5, alone_rounds=25, at_once_rounds=7, lookups_ms=2000, lookups_rounds=9,
                  guest=True, guest_data=0.004, guest_repeats=8),
    "quick": Scale(data=0.01, rounds=3, affinity_rounds=5, arrival_data=0.005, arrival_s=3, arrival_rounds=1, idle_s=5, combination_rounds=3,
                   memory_passes=1, at_once_data=0.02, tpch=0.1, alone_rounds=5, at_once_rounds=3, lookups_ms=500, lookups_rounds=3,
                   guest=True, guest_data=0.001, guest_repeats=4),
    # For tests: whether it runs. The emulated machine has its own tests (tests/numa).
    "tiny": Scale(data=0.0005, rounds=2, affinity_rounds=2, arrival_data=0.0005, arrival_s=0.1, arrival_rounds=1, idle_s=0.1,
                  combination_rounds=1, memory_passes=1, at_once_data=0.0005, tpch=0.01, alone_rounds=1, at_once_rounds=1, lookups_ms=100,
                  lookups_rounds=1, guest=False, guest_data=0.0005, guest_repeats=2),
}

MEASURED, COUNTED, SIMULATED, IMPOSSIBLE = "measured", "counted in the guest", "simulated", "impossible here"


@dataclasses.dataclass(frozen=True)
class Way:
    """How one quantity of an axis is known."""
    what: str
    how: str  # MEASURED, COUNTED, SIMULATED or IMPOSSIBLE
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Config:
    """How a user starts the blind program. `pages`: of its option, `system` for none."""
    name: str
    allocator: str = "glibc"
    pages: str = "system"
    affinity: str = "none"
    placement: str = "first-touch"
    more: tuple = ()

    def arguments(self):
        return ("--pages", self.pages, "--affinity", self.affinity, "--placement", self.placement, *self.more)


class StudyLab(common.Lab):
    """Runs the blind program."""

    def __init__(self, build, scale):
        super().__init__(build, scale)
        self.allocators = [name for name in ALLOCATORS if name not in absent()]
        self.missing_allocators = [{"what": name, "why": "its library cannot be preloaded"} for name in ALLOCATORS if name not in self.allocators]

    def blind(self, allocator, *arguments):
        """Its report. Errors: as Lab.run."""
        variables = [f"{name}={value}" for name, value in ALLOCATORS[allocator].environment().items()]
        return self.json(BLIND, *arguments, prefix=("env", *variables) if variables else ())

    def run_once(self, config, query, setting=None):
        """One run of the query. `setting`: the system's policy of huge pages, which `always` needs."""
        if setting:
            setting.write("always" if config.pages == "always" else setting.before)
        found = self.blind(config.allocator, "--query", query, "--scale", self.scale.data, "--seed", common.SEED, *config.arguments())
        return {**found["runs"][0], "resident_peak": found["resident_peak"], "data_bytes": found["data_bytes"]}

    def interleaved(self, configs, queries, rounds, setting=None):
        """(name of a Config, query) -> the run of each round, in a rotating order. Errors: ProgramFailed (answers differ)."""
        found = {(config.name, query): [] for query in queries for config in configs}
        for turn in range(rounds):
            for query in queries:
                for config in rotated(configs, turn):
                    found[config.name, query].append(self.run_once(config, query, setting))
        same_answers(found)
        return found


def same_answers(found):
    """Errors: ProgramFailed."""
    for query in {query for _, query in found}:
        answers = {run["checksum"] for (_, one), runs in found.items() if one == query for run in runs}
        if len(answers) != 1:
            raise common.ProgramFailed(f"{query} has {len(answers)} different answers")


def seconds_of(runs):
    return [run["seconds"] for run in runs]


def whole_of(runs):
    """With the freeing of the query's memory."""
    return [run["seconds"] + run["free_seconds"] for run in runs]


def ratios(values, base):
    """Of each round to the base's in the same round."""
    return spread([one / other for one, other in zip(values, base)])


def gain_point(panel, series, values):
    """Ratios of the time with some advice to that without, one of each round; `below`: the share of rounds with a gain."""
    return common.point(panel, series, 0, "", values, below=sum(one < 1 for one in values) / len(values))


def mean_over(found, configs, queries, base):
    """Of each round: the geometric mean of the time over the base's; `base`: of a config's name, the name of its base."""
    pairs = [(seconds_of(found[name, query]), seconds_of(found[base(name), query])) for name in configs for query in queries]
    return [geometric_mean([mine[i] / other[i] for mine, other in pairs]) for i in range(len(pairs[0][0]))]


def held_over_live(runs):
    """What the process has grown by over what the query holds, when its work is done."""
    return [(run["resident"] - run["resident_before"]) / max(1, run["live_bytes"]) for run in runs]


def geometric_mean(values):
    return statistics.geometric_mean(values)


def name_of(query):
    return QUERY_NAMES[query]


def system_huge_pages():
    """A SystemSetting. Errors: NotPossible, when entered."""
    class Setting(SystemSetting):
        def __enter__(self):
            try:
                return super().__enter__()
            except CannotSet as error:
                raise common.NotPossible(f"the system's policy of huge pages cannot be set ({error})") from error
    return Setting(HUGE_PAGES)


def number(value, form=".3g"):
    return "–" if value is None else format(value, form)


def cell(point, form=".3g", factor=1):
    """The median with the least and the largest, of a point of a report."""
    return f"{point['median'] * factor:{form}} ({point['min'] * factor:{form}} .. {point['max'] * factor:{form}})" if point else "–"


def table(head, rows):
    """Lines of Markdown; the first column is text."""
    return ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1), *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def one_point(report, panel, series):
    found = common.points_of(report, panel, series)
    return found[0] if found else None


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))
