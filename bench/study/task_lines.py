"""The axis of tasks that cross NumaNodes: lines that AEUs take from other NumaNodes under each way to schedule free tasks, one
query alone and many at once, counted in the emulated machine (tests/numa). One AEU on each of 4 NumaNodes, all other threads on
other cpus. Counted is all that AEUs do from the first command of the queries to the end of the last one. `own` has no free
tasks: its lines are those of all else.
"""
import json

import common
import counted
import guest
import study
from common import ProgramFailed, Row, median_of, point, points_of
from guest import counting
from plot_panels import Panel, figure
from study import COUNTED, IMPOSSIBLE, SIMULATED, Way, table

NAME = "task_lines"
TITLE = "Free tasks across NumaNodes"
ENGINE = "bench/study/study_engine"
PROGRAMS = (guest.INIT, ENGINE)
PAPER = """Bobox's scheduler keeps data in the caches and on the NumaNode of the thread that works on it: its gain is larger, the more queries run
and the more NumaNodes there are (locality-aware scheduling in Bobox, 6.2 and 6.3). The paper gives times, no numbers of accesses."""

SHAPE, AEUS, AT_ONCE = "4x2", 4, 16
WAYS = ("las", "nls", "own")
# Query -> part of the records that the guest has.
PARTS = {"w1": 0.5, "w3": 0.25, "skew": 0.25}
NAMES = {"w1": "W1, median per group", "w3": "W3, hash join", "skew": "W3, all probes at one AEU"}


def commands_of(query, readers, ways):
    """The program's commands, and its phases: (readers, way) by number."""
    words, phases = ["load"], {}
    for count in readers:
        for way in ways:
            # Not counted: first calls resolve symbols, and the kernel gives memory for the first time.
            words += [f"tasks {way}", f"at_once {query} {count}"]
            phases[len(phases) + 1] = (count, way)
            words += [f"phase {len(phases)}", f"at_once {query} {count}", "phase 0"]
    return words, phases


def count(build, query, scale, readers=(1, AT_ONCE), ways=WAYS):
    """(readers, way) -> lines from other NumaNodes, all lines. Errors: counting.CANNOT_COUNT, counting.CountFailed, ProgramFailed."""
    words, phases = commands_of(query, readers, ways)
    result = counting.count(
        str(build), SHAPE, str(build / ENGINE), "--counted", "--aeus", str(AEUS), "--scale", str(scale), "--seed", str(common.SEED), "--parts",
        "w3,skew" if query == "skew" else query, "--commands", ",".join(words), memory="1G", seconds=counted.SECONDS_MAX, **counted.CACHE)
    answers = {(one["rows"], one["checksum"]) for one in map(json.loads, result.output.splitlines()) if "checksum" in one}
    if len(answers) != 1:
        raise ProgramFailed(f"{query}: {len(answers)} different answers in the guest")
    found = {}
    for phase, key in phases.items():
        of_phase = [one for one in result.counts if one.phase == phase]
        found[key] = (sum(one.misses for one in of_phase if not one.local), sum(one.misses for one in of_phase))
        if not found[key][1]:
            raise ProgramFailed(f"the counter has counted nothing in phase {phase}")
    return found


def measure(lab):
    missing, points = [], []
    for query, part in PARTS.items():
        found = common.attempt(missing, f"{query}, counted in the emulated machine", guest.counted, lab, PROGRAMS, count, query, lab.scale.guest_data * part)
        for (readers, way), (remote, lines) in (found or {}).items():
            points += [point(f"{query} lines from other NumaNodes", way, readers, "lines", [remote]),
                       point(f"{query} lines", way, readers, "lines", [lines])]
        for readers in sorted({readers for readers, _ in found or {}}):
            for base in ("nls", "own"):
                points.append(point(f"las over {base}", query, readers, "", [found[readers, "las"][0] / max(1, found[readers, base][0])]))
    return {"protocol": {"guest_data": lab.scale.guest_data, "aeus": AEUS}, "points": points, "missing": missing}


def ways(report):
    if not report["points"]:
        return [Way("lines from other NumaNodes under each scheduler", IMPOSSIBLE, "the emulated machine was not to be had")]
    return [Way("lines from other NumaNodes under each scheduler", COUNTED),
            Way("which lines miss a cache", SIMULATED, "a cache of 256 KiB for each cpu of the guest"),
            Way("what that is worth in time", IMPOSSIBLE, "NumaNodes of the guest differ in place, not in speed")]


def draw(report):
    rows = [{"name": f"{query}, {common.count(readers, 'reader')}", "values": [median_of(report, "las over nls", query, x=readers)]}
            for query in PARTS for readers in (1, AT_ONCE) if points_of(report, "las over nls", query)]
    panels = [Panel("Lines from other NumaNodes: las over nls", rows, ".2f", "4 emulated NumaNodes, counted", height=60 + 24 * len(rows), right=86)] if rows else []
    return figure(panels, "Free tasks across NumaNodes", "counted in the emulated machine; no times")


def here(report):
    part = report["protocol"]["guest_data"]
    return (f"In the emulated machine of 4 NumaNodes, an AEU on each: W1 at {part * PARTS['w1']:g} of the paper's records, W3 at {part * PARTS['w3']:g}, with even "
            "data and with all probed rows at one AEU. Lines that miss a simulated cache of 256 KiB for each AEU's cpu, from the first command of "
            f"the queries to the end of the last one, with one reader and with {AT_ONCE} that begin together, after a run that is not counted. "
            "What the queries send and copy between NumaNodes is among the lines; own has no free tasks, so its lines are those of all else.")


def compare(report):
    return [Row(f"counted: {NAMES[query]}, {common.count(readers, 'reader')}: lines from other NumaNodes, las over nls",
                median_of(report, "las over nls", query, x=readers), source=study.NO_NUMBER) for query in PARTS for readers in (1, AT_ONCE)]


def details(report):
    rows = []
    for query in PARTS:
        for readers in (1, AT_ONCE):
            if not points_of(report, "las over nls", query):
                continue
            cells = [f"{median_of(report, f'{query} lines from other NumaNodes', way, x=readers):,.0f}" for way in WAYS]
            rows.append([NAMES[query], str(readers), *cells, *(f"{median_of(report, f'las over {base}', query, x=readers):.2f}" for base in ("nls", "own"))])
    if not rows:
        return ["Nothing was counted."]
    return table(("lines from other NumaNodes", "readers", *WAYS, "las over nls", "las over own"), rows)


def gap(_report):
    return ("Counts, no times. Where all rows are at one AEU, each task that another one takes crosses a NumaNode, under either scheduler: with many readers "
            "las saves nothing there.")
