"""Shared by the papers' figures: the lab that runs programs, the machine, the scale of time, the report.

A figure is a module with
  NAME, TITLE            of its files, of its section
  PROGRAMS               what it runs, as paths in the build; what is not built is said to be missing
  PAPER                  what the paper did and found there, in words, with its numbers
  measure(lab)           -> {"protocol": what was done, "points": [point(...)], "missing": [{"what", "why"}]};
                         raises NotPossible where this machine can measure nothing of it
  draw(report)           -> the picture, SVG
  here(report)           -> what was done here, in words
  compare(report)        -> [Row]: ours beside the paper's
  gap(report)            -> what this machine cannot show
  details(report)        -> lines of Markdown behind that table; a figure may do without
The last five read only the report, so text and picture can be made again from any saved one.
"""
import argparse
import dataclasses
import datetime
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import lab_process  # noqa: E402

SEED = 1
PROGRAM_SECONDS_MAX = 900  # no program here takes that long


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much of a paper's minutes and gigabytes; on two cores all of `full` must end within 14 minutes for ERIS, and
        within 8 for page_leap."""
    rounds: int
    index_rounds: int  # of whole indexes, filled anew each time
    index_s: float  # for each phase of Figure 1, instead of the paper's minute
    index_size_s: float  # the lookups of Figure 8
    index_settle_s: float  # Zipf's load before that which counts
    index_keys: int  # Figure 1
    index_sizes: tuple  # Figure 8
    column_rows: int
    node_mib: int
    buffer_ms: int
    buffer_keys: tuple  # of the indexes behind Figure 5's lookups
    dynamic_keys: int
    dynamic_phase_s: float
    dynamic_rounds: int
    dynamic_asked: int  # keys a cycle of the 64 stepped AEUs; 0: without them
    dynamic_cycles_max: int
    energy_keys: int
    energy_rounds: int
    energy_s: float  # for each state
    leap_mib: int  # what migrates
    leap_rounds: int
    leap_areas_kib: tuple
    leap_s: float  # for each run of page_leap's Figure 6, instead of the paper's 10 s
    leap_rows: int  # of lineitem
    guest: bool  # counts in the emulated machine
    dynamic_dense: bool = False  # keys: their numbers, as in the paper


SCALES = {
    "full": Scale(rounds=7, index_rounds=3, index_s=3, index_size_s=2, index_settle_s=3,
                  index_keys=1 << 24, index_sizes=(1 << 20, 1 << 22, 1 << 24, 1 << 26), column_rows=1 << 27, node_mib=1024, buffer_ms=40,
                  buffer_keys=(1_000_000, 16_000_000), dynamic_keys=1 << 24, dynamic_phase_s=4, dynamic_rounds=3,
                  dynamic_asked=1 << 18, dynamic_cycles_max=1000, energy_keys=1 << 22, energy_rounds=5, energy_s=2, leap_mib=512, leap_rounds=3,
                  leap_areas_kib=(4, 64, 512, 2048, 16384, 65536, 262144), leap_s=1, leap_rows=1 << 24, guest=True),
    "quick": Scale(rounds=3, index_rounds=1, index_s=1, index_size_s=1, index_settle_s=2, index_keys=1 << 22,
                   index_sizes=(1 << 20, 1 << 22), column_rows=1 << 25, node_mib=512, buffer_ms=20,
                   buffer_keys=(1_000_000,), dynamic_keys=1 << 22, dynamic_phase_s=2, dynamic_rounds=1,
                   dynamic_asked=0, dynamic_cycles_max=0, energy_keys=1 << 20, energy_rounds=3, energy_s=1,
                   leap_mib=256, leap_rounds=1, leap_areas_kib=(64, 512, 2048, 16384), leap_s=0.3,
                   leap_rows=1 << 22, guest=False),
    # For tests: only checks that it runs. Its figures mean nothing. The emulated machine has its own tests
    # (tests/numa).
    "tiny": Scale(rounds=1, index_rounds=1, index_s=0.1, index_size_s=0.1, index_settle_s=0.1, index_keys=1 << 14,
                  index_sizes=(1 << 12, 1 << 14), column_rows=1 << 18, node_mib=4, buffer_ms=5, buffer_keys=(10_000,),
                  dynamic_keys=1 << 16, dynamic_phase_s=0.5, dynamic_rounds=1, dynamic_asked=1 << 12, dynamic_cycles_max=3, energy_keys=1 << 14,
                  energy_rounds=1, energy_s=0.2, leap_mib=16,
                  leap_rounds=1, leap_areas_kib=(512, 2048), leap_s=0.05, leap_rows=1 << 16, guest=False, dynamic_dense=True),
}
# The size of the paper's Figure 13, for it and for one point of Figure 8: 12 GiB of memory, some 20 minutes.
SCALES["paper-size"] = dataclasses.replace(SCALES["full"], index_rounds=1, index_sizes=(1 << 29,), dynamic_keys=1 << 29, dynamic_rounds=1,
                                           dynamic_asked=0, dynamic_dense=True, guest=False)
PAPER_PHASE_S = 60
PAPER_EVEN = "in the paper 1 of 8, of 8 NumaNodes (4.2.4, AMD)"


def module(path):
    """The Python file of that path in the tree."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), ROOT / path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class NotPossible(Exception):
    """This machine or build cannot measure it; the text says why."""


class ProgramFailed(Exception):
    """A program failed to measure."""


class Lab:
    """Runs the build's programs."""

    def __init__(self, build, scale):
        self.build, self.scale = pathlib.Path(build), scale
        self.commit = commit()
        self.cores = len(cores())

    def path(self, program):
        """Errors: NotPossible."""
        found = self.build / program
        if not found.is_file():
            raise NotPossible(f"{program} is not built")
        return found

    def run(self, program, *arguments, prefix=()):
        """Its standard output. Errors: NotPossible (not built), ProgramFailed."""
        command = [*prefix, str(self.path(program)), *map(str, arguments)]
        print("  " + " ".join([*prefix, program, *command[len(prefix) + 1:]]), file=sys.stderr, flush=True)
        try:
            done = subprocess.run(command, text=True, capture_output=True, timeout=PROGRAM_SECONDS_MAX,
                                  env={**os.environ, "ERIS_COMMIT": self.commit})
        except subprocess.TimeoutExpired as error:
            raise ProgramFailed(f"{program} has not ended within {error.timeout:.0f} s") from error
        except OSError as error:
            raise ProgramFailed(f"{program}: {error.strerror}") from error
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise ProgramFailed(f"{program} ended with {done.returncode}" + "".join(f": {line}" for line in last))
        return done.stdout

    def json(self, program, *arguments, **more):
        """Its output, one JSON object."""
        return parsed(program, self.run(program, *arguments, **more))

    def lines(self, program, *arguments):
        """Its output, a JSON object per line."""
        return [parsed(program, line) for line in self.run(program, *arguments).splitlines() if line.startswith("{")]


LEAP = "leap"  # the paper page_leap, on the command line and in front of its figures' names


def short_name(figure):
    """As ./dev paper takes it, behind the paper's name if that is not ERIS."""
    return figure.NAME.removeprefix(f"{LEAP}_")


def parsed(program, text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise ProgramFailed(f"{program} printed no JSON: {text[:80]!r}") from error


def attempt(missing, what, measure, *arguments):
    """Its result; None, and an entry in `missing`, if it is not possible here."""
    try:
        return measure(*arguments)
    except NotPossible as error:
        missing.append({"what": what, "why": str(error)})
        return None


def point(panel, series, x, unit, values, **more):
    """One measured figure; `values`: of the rounds, or a spread made from them. Errors: ValueError (not finite)."""
    spread = values if isinstance(values, dict) else lab_process.spread(values)
    if not all(math.isfinite(spread[key]) for key in ("median", "min", "max")):
        raise ValueError(f"{panel}, {series}: {spread} is no figure")
    return {"panel": panel, "series": series, "x": x, "unit": unit,
            **{key: spread[key] for key in ("median", "min", "max")}, **more}


def scaled(spread, factor):
    return {key: spread[key] * factor for key in ("median", "min", "max")}


def points_of(report, panel=None, series=None, x=None):
    return [one for one in report["points"] if panel in (None, one["panel"]) and series in (None, one["series"])
            and x in (None, one["x"])]


def median_of(report, panel, series, x=None):
    """None if it has not been measured; for several, the last x's value."""
    found = points_of(report, panel, series, x)
    return max(found, key=lambda one: one["x"])["median"] if found else None


def even_part(points):
    """For the column `where`: the value of an even spread over the NumaNodes of the points, and the paper's value on
    other NumaNodes.
    """
    return "; ".join([*sorted({f"1 / NumaNodes is {1 / one['x']:g}" for one in points}), PAPER_EVEN])


def over(above, below):
    return None if above is None or not below else above / below


@dataclasses.dataclass(frozen=True)
class Row:
    """Our value and the paper's. `ours` None: not measured here, or there is no number, and `instead` has a text. `paper`
        None: it gives no number, or none to divide by."""
    what: str
    ours: float
    paper: float = None
    source: str = ""  # of the paper's
    instead: str = ""


# --- the machine ---------------------------------------------------------------------------------


def commit():
    """The tree's commit, with a mark if it has changes; files written here do not count as changes."""
    def git(*words):
        return subprocess.run(["git", "-C", str(ROOT), *words], text=True, capture_output=True)
    asked = git("rev-parse", "--short", "HEAD")
    if asked.returncode != 0:
        return "unknown"
    return asked.stdout.strip() + ("-dirty" if git("diff", "--quiet", "HEAD", "--", ".", ":!docs").returncode else "")


def cores():
    """The hardware threads of each core that this process may use."""
    found = set()
    for cpu in os.sched_getaffinity(0):
        path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        found.add(lab_process.read(path) if os.path.exists(path) else str(cpu))
    return sorted(found)


def numa_nodes():
    path = "/sys/devices/system/node/has_memory"
    text = lab_process.read(path) if os.path.exists(path) else "0"
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return sum(end[-1] - end[0] + 1 for end in ends)


def machine():
    memory_kib = next(int(line.split()[1]) for line in lab_process.read("/proc/meminfo").splitlines()
                      if line.startswith("MemTotal"))
    return {**lab_process.machine(), "cores": len(cores()), "numa_nodes": numa_nodes(),
            "memory_gib": round(memory_kib / (1 << 20), 1), "kernel": os.uname().release}


def count(number, name):
    return f"{number} {name}{'' if number == 1 else 's'}"


def describe_machine(one):
    return (f"{one['cpu']}, {count(one['cores'], 'core')}, {count(one['numa_nodes'], 'NumaNode')}, "
            f"{one['memory_gib']:g} GiB")


class OtherLoad:
    """Processor time of other programs, in cpus, since construction."""

    def __init__(self):
        self.began, self.busy, self.own = time.monotonic(), self._busy(), self._own()

    def cpus(self):
        seconds = max(1e-3, time.monotonic() - self.began)
        return max(0.0, (self._busy() - self.busy - (self._own() - self.own)) / seconds)

    @staticmethod
    def _busy():
        mine = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
        ticks = 0
        for line in lab_process.read("/proc/stat").splitlines():
            name, *words = line.split()
            if name in mine:
                user, nice, system, _, _, irq, softirq, steal = map(int, words[:8])
                ticks += user + nice + system + irq + softirq + steal
        return ticks / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _own():
        return sum(os.times()[:4])


# --- one figure ----------------------------------------------------------------------------------

DONE, NOT_POSSIBLE, FAILED = "done", "not possible here", "failed"


@dataclasses.dataclass(frozen=True)
class Places:
    """Where results go. A scale other than `full` leaves the documents alone."""
    results: pathlib.Path
    docs: pathlib.Path

    @staticmethod
    def of(scale, results=None, docs=None):
        folder = ROOT / "build" / "paper"
        if scale != "full":
            folder = folder / scale
        return Places(pathlib.Path(results or folder), pathlib.Path(docs or (ROOT / "docs" / "lab" if scale == "full" else folder)))

    def report(self, figure):
        return self.results / f"{figure.NAME}.json"

    def picture(self, figure):
        return self.docs / "figures" / f"paper_{figure.NAME}.svg"


def measure(figure, build, scale_name):
    """As measured, with a lab of its own."""
    return measured(figure, Lab(build, SCALES[scale_name]), scale_name)


def measured(figure, lab, scale_name):
    """The report; errors of a figure are not raised. Its `outcome` is DONE, NOT_POSSIBLE or FAILED, with a `reason`."""
    report = {"figure": figure.NAME, "outcome": DONE, "reason": "", "machine": machine(), "commit": lab.commit, "seed": SEED,
              "scale": scale_name, "date": datetime.date.today().isoformat(), "protocol": {}, "points": [], "missing": []}
    others, began = OtherLoad(), time.monotonic()
    try:
        report.update(figure.measure(lab))
        if not report["points"]:
            raise NotPossible("; ".join(sorted({one["why"] for one in report["missing"]})) or "nothing to measure")
    except NotPossible as error:
        report.update(outcome=NOT_POSSIBLE, reason=str(error))
    except ProgramFailed as error:
        report.update(outcome=FAILED, reason=str(error))
    except (KeyError, IndexError, TypeError, ValueError) as error:  # a program that answers in another form
        report.update(outcome=FAILED, reason=f"an answer in another form than expected: {error!r}")
    report["seconds"] = round(time.monotonic() - began, 1)
    report["cpus_taken_by_others"] = round(others.cpus(), 2)
    return report


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make(figure, build, scale_name, places):
    """Measures, saves and draws one figure; returns its report."""
    report = measure(figure, build, scale_name)
    write(places.report(figure), json.dumps(report, indent=1) + "\n")
    if report["outcome"] == DONE:
        write(places.picture(figure), figure.draw(report))
    return report


def outcome_line(report):
    reasons = report["reason"] if report["outcome"] != DONE else \
        "; ".join(f"not possible here: {one['what']} ({one['why']})" for one in report["missing"])
    return f"{report['figure']:<20} {report['seconds']:>6.1f} s  {report['outcome']}" + (f": {reasons}" if reasons else "")


def parser_of(**how):
    parser = argparse.ArgumentParser(**how)
    parser.add_argument("build", metavar="builddir", help="e.g. build/release")
    parser.add_argument("--quick", action="store_const", dest="scale", const="quick", default="full",
                        help="less of everything, without the emulated machine; leaves docs alone")
    parser.add_argument("--paper-size", action="store_const", dest="scale", const="paper-size",
                        help="512 M dense keys, one round: name fig8 and fig13; leaves docs alone")
    parser.add_argument("--scale", choices=SCALES, dest="scale", help=argparse.SUPPRESS)
    parser.add_argument("--results", help="folder of the reports (default: build/paper)")
    parser.add_argument("--docs", help="folder of text and figures (default: docs/lab; build/paper/quick with --quick)")
    return parser


def main(figure):
    """Measures a single figure, and writes report and picture. Exit code 1: a program failed."""
    parser = parser_of(description=figure.TITLE)
    parser.add_argument("--json", metavar="FILE", help="the report goes here; -: standard output")
    options = parser.parse_args()
    places = Places.of(options.scale, options.results, options.docs)
    report = make(figure, options.build, options.scale, places)
    if options.json == "-":
        print(json.dumps(report, indent=1))
    elif options.json:
        write(pathlib.Path(options.json), json.dumps(report, indent=1) + "\n")
    print(outcome_line(report), file=sys.stderr if options.json == "-" else sys.stdout)
    sys.exit(1 if report["outcome"] == FAILED else 0)
