"""The table of docs/lab/experiments.md that says why the ratios of ERIS over the shared index differ: what each document has measured, and
how. Figures 1 and 8 from their reports, the others from the documents that have their results."""
import dataclasses
import re
import sys

import common
from common import ROOT, median_of, over
from shared_index import ASKING, LOOK_UPS, UPSERTS

sys.path.insert(0, str(ROOT / "tools"))

import goals_embedded  # noqa: E402

GOALS, REMOTE = (ROOT / "docs" / "lab" / name for name in ("goals.md", "remote.md"))
FIG1, FIG8 = "fig1_scaling", "fig8_index_size"
WHY = """Ratios of ERIS over the shared index differ between these figures, [the goals](goals.md) and [remote.md](remote.md) because they
differ in the keys, the index and in who asks. *Sparse or dense keys* matter most: the shared tree, asked for one key at a time, waits for
each line of a longer path, and an AEU, which works on groups of keys, does not; a shared tree that is asked in batches has the same
groups, and no routing to pay. *The size*: an index that fits into the cache leaves nothing to wait for, so the cost of routing is what is
left. *Who asks*: client threads take a part of the AEUs' cores. *The machine*: a virtual one, whose memory has been slower and faster by
half between hours; within one line both sides were measured in turns."""
HEAD = ("| measured by | keys | size | who asks | batch | lookups: over shared | over shared, batched | upserts: over shared | machine |",
        "|---|---|---:|---|---:|---:|---:|---:|---|")


@dataclasses.dataclass(frozen=True)
class Line:
    what: str
    keys: str
    size: str
    asks: str
    batch: str
    lookups: float | str = None  # a text: of several runs
    batched: float | str = None
    upserts: float | str = None
    machine: str = ""

    def text(self):
        ratios = (one if isinstance(one, str) else "–" if one is None else f"{one:.3g}" for one in (self.lookups, self.batched, self.upserts))
        return "| " + " | ".join((self.what, self.keys, self.size, self.asks, self.batch, *ratios, self.machine)) + " |"


def clients_ask(threads):
    return f"{common.count(threads, 'client thread')}, {common.count(threads, 'AEU')}, on the same {common.count(threads, 'core')}"


def of_figure(name, report, x, keys, threads):
    """One line for each way to ask of which the figure has a curve."""
    did, found = report["protocol"], []
    ways = {"ERIS": (clients_ask(threads), f"{did['batch']:,}, {did['in_flight']} in flight"),
            **{series: (asks, batch) for series, (_, asks, batch) in ASKING.items()}}
    for series, (asks, batch) in ways.items():
        def ratio(panel, peer):
            return over(median_of(report, panel, series, x), median_of(report, panel, peer, x))  # noqa: B023
        if median_of(report, LOOK_UPS, series, x) is not None:
            found.append(Line(name, did["layout"], f"{keys / 1e6:.3g} M", asks, batch, ratio(LOOK_UPS, "shared"), ratio(LOOK_UPS, "shared, batched"),
                              ratio(UPSERTS, "shared"), f"{report['machine']['cpu']}, {report['date']}"))
    return found


def of_goals(text):
    """From the table of the goals: its rows are | name | reached | wanted | outcome | note |, the machine is named above them."""
    found, machine = {}, ""
    for line in text.splitlines():
        if match := re.match(r"(.+?), \d+ cores?, .*?; (\d{4}-\d\d-\d\d), commit ", line):
            machine = f"{match[1]}, {match[2]}"
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| embedded_") and re.fullmatch(r"[\d.e+]+", cells[1]):
            found[cells[0]] = (float(cells[1]), machine, cells[-1])
    names = [name.split(".")[-1] for name in goals_embedded.EMBEDDED.goals]
    if not set(names) <= found.keys():
        return []
    lookups, upserts, batched = (found[name] for name in names)
    layout = re.search(r"([\d.]+ M) (\w+) keys", lookups[2])
    return [Line("`./dev goals remote`", layout[2], layout[1], clients_ask(goals_embedded.THREADS), f"{goals_embedded.BATCH:,}, 16 in flight",
                 lookups[0], batched[0], upserts[0], lookups[1])]


def of_remote(text):
    """From the rows of its runs: | what | wanted | run | run | run | figures |, the machines are the columns' heads."""
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    found = []
    for what in "embedded lookups", "embedded lookups, over the shared index with our batching", "embedded inserts":
        values = next(([float(cell) for cell in row[2:5] if cell] for row in rows if row[0].startswith(what)), [])
        found.append(f"{min(values):.2g} to {max(values):.2g}" if values else "–")
    machines = next((", ".join(row[2:5]) for row in rows if row[:2] == ["", "goal"]), "–")
    return [Line("[remote.md](remote.md), several runs", "sparse", f"{goals_embedded.KEYS / 1e6:.3g} M", clients_ask(goals_embedded.THREADS),
                 f"{goals_embedded.BATCH:,}, 16 in flight", *found, machines)]


def table(reports):
    """Lines of Markdown; none if neither figure was measured."""
    lines = []
    fig1, fig8 = (reports[name] if name in reports and reports[name]["outcome"] == common.DONE else None for name in (FIG1, FIG8))
    if fig1 and median_of(fig1, LOOK_UPS, "ERIS") is not None:
        most = max(fig1["protocol"]["aeus"])
        lines += of_figure(f"Figure 1, {common.count(most, 'AEU')}", fig1, most, fig1["protocol"]["keys"], most)
    if fig8:
        for which, keys in ("smallest", min(fig8["protocol"]["keys"])), ("largest", max(fig8["protocol"]["keys"])):
            lines += of_figure(f"Figure 8, the {which} index", fig8, keys, keys, fig8["protocol"]["threads"])
    if not lines:
        return []
    lines += of_goals(GOALS.read_text(encoding="utf-8")) + of_remote(REMOTE.read_text(encoding="utf-8"))
    return [*HEAD, *(line.text() for line in lines)]
