"""One run of the goals: collects the results of measurements, and runs their parts. Part of tools/goals.py.

A part (`./dev goals <part>`) is a list of steps. A step is a function of a Run and the goals that it reports, each
exactly once, by `run.goal` or `run.no_goal`. A step that raises, ends the program or omits a goal does not affect
others: its goals without a figure are reported as FAILED, and the next step runs.
"""
import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "paper"))

import common  # noqa: E402

HELD, SHORT = "held", "short"
NOT_MEASURED = "NOT-MEASURED"  # it cannot be measured here; the note says why
FAILED = "FAILED"  # its measurement ended with an error, or without the figure


class Absent(Exception):
    """A requirement of a step is not available here: "<package> cannot be installed: <why>", as
    tools/dev/count_tests.py reads it.
    """


class NotPossible(OSError):
    """This machine cannot measure a step's goals; the text says what it lacks."""


CANNOT_BE_HAD = 77  # a driver's exit code; the last line of its output is the text of Absent, after "SKIPPED: "


@dataclasses.dataclass(frozen=True)
class Goal:
    """`reached <op> wanted`."""
    op: str
    wanted: float


def at_least(wanted):
    return Goal(">=", wanted)


def at_most(wanted):
    return Goal("<=", wanted)


@dataclasses.dataclass(frozen=True)
class Step:
    """`test`: the path of the test that makes the same measurement; a tiny run leaves it to that test."""
    measure: object
    goals: dict
    test: str = ""


@dataclasses.dataclass(frozen=True)
class Part:
    minutes: float  # on two cores, for the forecast
    steps: tuple


@dataclasses.dataclass
class Result:
    name: str
    reached: float  # None: there is no figure
    op: str
    wanted: float
    outcome: str
    note: str = ""

    def line(self):
        reached = "nothing" if self.reached is None else f"{self.reached:.3g}"
        return f"GOAL {self.name} reached={reached} goal={self.op}{self.wanted:g} {self.outcome}" + (f"  # {self.note}" if self.note else "")


class Run:
    """The context of a step: it measures with it, and reports to it. `tiny`: sizes so small that the figures mean nothing;
    only checks
        that it runs, and that its answers are right."""

    def __init__(self, build, tiny=False):
        self.build, self.tiny = str(build), tiny
        self.results = []
        self.absent = []  # what is not installed here, as count_tests.py reads it
        self._goals = {}

    # --- for steps ---

    def program(self, command, env=None):
        """Standard output of a program that must succeed. Errors: CalledProcessError, OSError."""
        return subprocess.run(list(map(str, command)), env={**os.environ, **(env or {})}, text=True, stdout=subprocess.PIPE,
                              check=True).stdout

    def json(self, command, env=None):
        return json.loads(self.program(command, env))

    def script(self, path, *arguments):
        """What a benchmark driver of the tree prints with --json -. Errors: as program's; Absent."""
        try:
            return self.json([sys.executable, "-B", ROOT / path, self.build, *arguments, "--json", "-", *(["--tiny"] if self.tiny else [])])
        except subprocess.CalledProcessError as error:
            if error.returncode == CANNOT_BE_HAD:
                raise Absent(last_line(error.stdout)) from error
            raise

    def goal(self, name, reached, note=""):
        goal = self._goal(name)
        if not math.isfinite(reached):
            raise ValueError(f"{name}: {reached} is no figure")
        held = reached >= goal.wanted if goal.op == ">=" else reached <= goal.wanted
        self._tell(Result(name, float(reached), goal.op, goal.wanted, HELD if held else SHORT, note))

    def no_goal(self, name, why):
        """Reports a goal that cannot be measured."""
        goal = self._goal(name)
        self._tell(Result(name, None, goal.op, goal.wanted, NOT_MEASURED, why))

    # --- for goals.py ---

    def step(self, step):
        self._goals = dict(step.goals)
        why, outcome = "its measurement has not reported it", FAILED
        if self.tiny and step.test:
            for name in step.goals:
                self.no_goal(name, f"tiny: {step.test} measures it")
            return
        try:
            step.measure(self)
        except Absent as error:
            self.absent.append(str(error))
            why, outcome = str(error), NOT_MEASURED
        except NotPossible as error:
            why, outcome = str(error), NOT_MEASURED
        except subprocess.CalledProcessError as error:
            how = f"ended with {error.returncode}" if error.returncode > 0 else f"was ended by signal {-error.returncode}"
            why = f"{' '.join(map(str, error.cmd))} {how}"
        except (Exception, SystemExit) as error:  # any error: the other steps continue
            traceback.print_exc()
            why = f"{type(error).__name__}: {error}"
        for name, goal in list(self._goals.items()):
            self._tell(Result(name, None, goal.op, goal.wanted, outcome, " ".join(why.split())))

    def _goal(self, name):
        if name not in self._goals:
            raise LookupError(f"{name} is no goal of this step, or has been reported before")
        return self._goals[name]

    def _tell(self, result):
        del self._goals[result.name]
        self.results.append(result)
        print(result.line(), flush=True)


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1].removeprefix("SKIPPED: ")


# --- what is left of a run ---

def measure(name, part, build, tiny):
    """Runs the part's steps; returns its report, saved as <build>/goals/<name>.json (tiny: goals-tiny), and what is
    absent here.
    """
    run, others, began = Run(build, tiny), common.OtherLoad(), time.monotonic()
    for step in part.steps:
        run.step(step)
    machine = common.machine()
    report = {"part": name, "machine": common.describe_machine(machine), "date": machine["date"], "commit": common.commit(),
              "seconds": round(time.monotonic() - began), "cpus_taken_by_others": round(others.cpus(), 2),
              "goals": [dataclasses.asdict(one) for one in run.results]}
    common.write(folder(build, tiny) / f"{name}.json", json.dumps(report, indent=1) + "\n")
    return report, run.absent


def folder(build, tiny):
    return pathlib.Path(build, "goals-tiny" if tiny else "goals")


def counted(goals):
    """In words: the number of each outcome."""
    outcomes = [one["outcome"] for one in goals]
    return ", ".join(f"{outcomes.count(outcome)} {words}" for outcome, words in
                     ((HELD, "held"), (SHORT, "short"), (NOT_MEASURED, "not measured"), (FAILED, "failed")))


def number(value):
    return "–" if value is None else f"{value:.3g}"


def markdown(reports):
    """The table of saved reports, as docs/lab/goals.md has it."""
    every = [one for report in reports for one in report["goals"]]
    lines = [f"{len(every)} goals: {counted(every)}.", ""]
    for report in reports:
        lines += [f"### {report['part']}", "",
                  f"{report['machine']}; {report['date']}, commit {report['commit']}; {report['seconds']} s, in which other programs "
                  f"took {report['cpus_taken_by_others']:.2f} cpus; {counted(report['goals'])}.", "",
                  "| goal | reached | wanted | | measured |", "|---|---:|---:|---|---|"]
        lines += [f"| {one['name'].removeprefix(report['part'] + '.')} | {number(one['reached'])} | {one['op']} {one['wanted']:g} | "
                  + ("held" if one["outcome"] == HELD else f"**{one['outcome'].lower()}**")
                  + f" | {one['note'].replace('|', '/')} |" for one in report["goals"]]
        lines.append("")
    return "\n".join(lines)


def saved(build, tiny, names):
    """The reports of this and former runs, in the order of the names."""
    paths = [folder(build, tiny) / f"{name}.json" for name in names]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
