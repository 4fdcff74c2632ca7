"""A cost model: what the lines counted here would cost on the paper's machines, next to what the paper measured there
(Figures 8, 9 and 12)."""
import dataclasses

from common import Row, over
from cost import counts, machines, model
from cost.machines import AMD, INTEL, SGI, G, M
from plot_panels import OURS, PEER, LinePanel, Panel, figure

NAME = "cost_model"
TITLE = "A cost model: Figures 8 and 9 on the paper's machines"
PROGRAMS = counts.PROGRAMS
PAPER = """Figures 8 and 9 in the text's numbers: ERIS has 1.6 times the lookups of the shared index on AMD (1 billion keys), 3.5 times on
SGI (16 billion keys), less than the shared index on Intel while the index is small; upserts behave alike (4.2.1). On SGI ERIS scans 6.6 times
as fast as threads that read interleaved memory, and one NumaNode's memory is scanned no faster than its controller reads, which is 36.2 GB/s
by Table 2 (4.2.2). On AMD the memories give 73.0 GB/s to ERIS' lookups, 41.6 to the shared index, 122.9 and 33.8 to the scans; over links
go 17.8, 83.8, 1.2 and 75.6 GB/s (4.2.4, Figure 12)."""

LOOKUPS, UPSERTS = counts.OPERATIONS
ERIS, SHARED = "eris", "shared"
LOCAL, INTERLEAVED, ONE = "local", "interleaved", "one"
AMD_KEYS, SGI_KEYS = G, 16 * G
FITTED_GB_S = 73.0  # AMD's memories, ERIS' lookups, 1 billion keys: the only figure that the model is fitted to
APART = 0.3  # from here on the text says so


def measure(lab):
    return {"protocol": {"point_runs": counts.POINT_RUNS, "scan_runs": counts.SCAN_RUNS, "cache_kib": counts.CACHE_KIB}, "points": counts.counted(lab)}


class Prediction:
    """What the model makes of counted points. `outstanding` None: fitted."""

    def __init__(self, points, outstanding=None, amd=AMD):
        self.points = points
        self.outstanding = outstanding or model.outstanding_for(amd, self.point_work(amd, ERIS, LOOKUPS, AMD_KEYS), FITTED_GB_S)

    def pressure(self, machine, structure, keys):
        return counts.pressure_of(keys * machines.BYTES_PER_KEY, machine.cache_mib * M, machine.numa_nodes if structure == ERIS else 1)

    def point_work(self, machine, structure, operation, keys):
        curve = counts.curve(self.points, operation, structure)
        return curve.at(self.pressure(machine, structure, keys)).on(machine.numa_nodes)

    def point_terms(self, machine, structure, operation, keys):
        return model.terms(machine, self.point_work(machine, structure, operation, keys), self.outstanding)

    def rate(self, machine, structure, operation, keys):
        """M operations a second."""
        return 1e3 / max(self.point_terms(machine, structure, operation, keys).values())

    def gain(self, machine, operation, keys):
        return self.rate(machine, ERIS, operation, keys) / self.rate(machine, SHARED, operation, keys)

    def memory_gb_s(self, machine, structure, operation, keys):
        return model.gb_s(machine, self.point_work(machine, structure, operation, keys), self.outstanding)

    def other_gb_s(self, machine, structure, operation, keys):
        """Lines from other NumaNodes, however many hops."""
        return self.rate(machine, structure, operation, keys) * self.point_work(machine, structure, operation, keys).other * model.LINE / 1e3

    def scan_work(self, machine, placement):
        return counts.scan(self.points, placement).on(machines.SGI_USED if machine.name == SGI.name else machine.numa_nodes)

    def scan_terms(self, machine, placement):
        return model.terms(machine, self.scan_work(machine, placement))

    def scan_gb_s(self, machine, placement):
        """Of the column."""
        return model.LINE / max(self.scan_terms(machine, placement).values())

    def scan_gain(self, machine):
        return self.scan_gb_s(machine, LOCAL) / self.scan_gb_s(machine, INTERLEAVED)


def size(keys):
    return f"{keys // G} G" if keys >= G else f"{keys // M} M"


@dataclasses.dataclass(frozen=True)
class Compared:
    """A row, and what the model lacks there."""
    row: Row
    lacks: str = ""


SPLIT = "cores that wait for one distance leave the links to another one free, which the term \"reading\" does not know; and the text does not " \
            "tell how many of AMD's pairs are at which distance"
CROWDED = "Table 2 has one pair of NumaNodes at work and all others idle; what the links lose when all read from all is not in it"
CONTROLLER = "the model has the link of 16 GB/s between the NumaNode and its hub (Table 1), which all but one in 61 lines must pass; the text " \
             "names the memory's controller as the limit"
PROBES = "the paper counts whatever links carry, requests, probes of other caches and each hop too, the model lines alone"
ALIKE = "the model knows no instructions, and all lines at one distance wait alike"


def compared(report):
    found = Prediction(report["points"])
    rows = [Compared(Row("lookups, AMD, 1 G keys: ERIS over shared", found.gain(AMD, LOOKUPS, AMD_KEYS), 1.6, "4.2.1, Figure 8(b)"), ALIKE),
            Compared(Row("lookups, SGI, 16 G keys: ERIS over shared", found.gain(SGI, LOOKUPS, SGI_KEYS), 3.5, "4.2.1, Figure 8(c)"), ALIKE)]
    for machine in machines.MACHINES:
        for operation in counts.OPERATIONS:
            rows += [Compared(Row(f"{operation}, {machine.name}, {size(keys)} keys: ERIS over shared", found.gain(machine, operation, keys)))
                     for keys in (machine.sizes[0], machine.sizes[-1])]
    rows += [Compared(Row("lookups, AMD, 1 G keys: memories give ERIS, GB/s", found.memory_gb_s(AMD, ERIS, LOOKUPS, AMD_KEYS), FITTED_GB_S,
                          "Figure 12; fitted")),
             Compared(Row("lookups, AMD, 1 G keys: memories give the shared index, GB/s", found.memory_gb_s(AMD, SHARED, LOOKUPS, AMD_KEYS), 41.6,
                          "Figure 12"), ALIKE),
             Compared(Row("lookups, AMD, 1 G keys: bytes from other NumaNodes, ERIS over shared",
                          over(found.other_gb_s(AMD, ERIS, LOOKUPS, AMD_KEYS), found.other_gb_s(AMD, SHARED, LOOKUPS, AMD_KEYS)), 17.8 / 83.8,
                          "Figure 12: bytes over links"), PROBES),
             Compared(Row("scan, SGI, 61 NumaNodes: ERIS over interleaved", found.scan_gain(SGI), 6.6, "4.2.2, Figure 9"), CROWDED),
             Compared(Row("scan, SGI, 61 NumaNodes: ERIS, GB/s", found.scan_gb_s(SGI, LOCAL))),
             Compared(Row("scan, SGI, 61 NumaNodes: interleaved, GB/s", found.scan_gb_s(SGI, INTERLEAVED))),
             Compared(Row("scan, SGI, 61 NumaNodes: all on one, GB/s", found.scan_gb_s(SGI, ONE), 36.2, "4.2.2 with Table 2"), CONTROLLER),
             Compared(Row("scan, AMD: ERIS, GB/s", found.scan_gb_s(AMD, LOCAL), 122.9, "4.2.4, Figure 12")),
             Compared(Row("scan, AMD: interleaved, GB/s", found.scan_gb_s(AMD, INTERLEAVED), 33.8, "4.2.4, Figure 12"), SPLIT),
             Compared(Row("scan, AMD: ERIS over interleaved", found.scan_gain(AMD), 122.9 / 33.8, "4.2.4, Figure 12"), SPLIT)]
    rows += [Compared(Row(f"scan, {machine.name}: {what}, GB/s", found.scan_gb_s(machine, placement)))
             for machine, placement, what in ((AMD, ONE, "all on one"), (INTEL, LOCAL, "ERIS"), (INTEL, INTERLEAVED, "interleaved"), (INTEL, ONE, "all on one"))]
    return rows


def compare(report):
    return [one.row for one in compared(report)]


def draw(report):
    found = Prediction(report["points"])
    with_paper = [one.row for one in compared(report) if one.row.paper is not None]

    def bars(title, form, chosen):
        rows = [{"name": name, "values": [row.ours, row.paper]} for row in with_paper for text, name in chosen if row.what == text]
        return Panel(title, rows, form, "dark: predicted, pale: the paper", height=60 + 24 * len(rows), right=90)
    panels = [bars("ERIS over the shared structure", ".2f", (
                  ("lookups, AMD, 1 G keys: ERIS over shared", "lookups, AMD"), ("lookups, SGI, 16 G keys: ERIS over shared", "lookups, SGI"),
                  ("scan, AMD: ERIS over interleaved", "scan, AMD"), ("scan, SGI, 61 NumaNodes: ERIS over interleaved", "scan, SGI"))),
              bars("GB/s of memory: lookups of shared, scans", ".1f", (
                  ("lookups, AMD, 1 G keys: memories give the shared index, GB/s", "shared, AMD"), ("scan, AMD: ERIS, GB/s", "eris, AMD"),
                  ("scan, AMD: interleaved, GB/s", "interl., AMD"), ("scan, SGI, 61 NumaNodes: all on one, GB/s", "on one, SGI")))]
    for machine in machines.MACHINES:
        for operation in counts.OPERATIONS:
            lines = []
            for structure, name, colour in (ERIS, "ERIS", OURS), (SHARED, "shared", PEER):
                rates = [found.rate(machine, structure, operation, keys) for keys in machine.sizes]
                lines.append({"name": f"{name}, {rates[-1]:.0f}", "colour": colour, "points": [(keys, *[rate] * 3) for keys, rate in zip(machine.sizes, rates)]})
            panels.append(LinePanel(f"{machine.name}: {operation}, M keys/s", lines, "predicted, by keys", name=size))
    for machine in (SGI, AMD):
        rows = [{"name": name, "values": [found.scan_gb_s(machine, placement)]}
                for placement, name in ((LOCAL, "eris"), (INTERLEAVED, "interleaved"), (ONE, "on one"))]
        nodes = found.scan_work(machine, LOCAL).numa_nodes
        panels.append(Panel(f"{machine.name}: scan, GB/s", rows, ".1f", f"predicted, {nodes} NumaNodes", height=60 + 24 * len(rows)))
    return figure(panels, "What the counted lines would cost on the paper's machines", "counted in an emulated machine, times Table 2")


def here(report):
    found = Prediction(report["points"])
    nodes = sorted({one["numa_nodes"] for one in report["points"]})
    return (f"Lines of 64 bytes are counted in emulated machines of {', '.join(map(str, nodes))} NumaNodes: for a lookup and an upsert (batches of "
            f"{counts.BATCH} keys, the whole way of the engine; one key at a time in the shared index, interleaved), and for the sum of a column. The "
            "model multiplies them with Table 2's latencies and bandwidths. The work takes as long as the longest of these terms: *waiting*, the "
            "latency of each line by where it comes from, divided by the lines that a thread waits for at a time; *slowest distance*, the lines that "
            "come over it at its bandwidth; *busiest memory*, its lines at the local bandwidth; *busiest way out*, what others read there over its "
            "links; *all links*, lines times hops. Scans go from page to page: instead of the first two they have *reading*, the lines from each "
            "distance at its bandwidth, one distance after another. With more NumaNodes lines from others grow as 1 - 1/n. The size of an index is "
            f"its bytes (the paper: 25 a key) over those of the last-level caches that see it; simulated caches have {report['protocol']['cache_kib']} "
            f"KiB. One parameter is fitted: a thread waits for {found.outstanding:.2f} lines at a time, from "
            f"{FITTED_GB_S} GB/s that AMD's memories give to ERIS' lookups. \"here\" in the table is the model's prediction.")


def apart(one):
    ratio = over(one.row.ours, one.row.paper)
    return ratio is not None and abs(ratio - 1) > APART


def sizes(points):
    """Of indexes over caches: what has been counted, and what the paper's figures have."""
    found, told = Prediction(points), []
    for structure, name in (ERIS, "ERIS"), (SHARED, "the shared index"):
        counted = [pressure for pressure, _ in counts.curve(points, LOOKUPS, structure).points]
        wanted = [found.pressure(machine, structure, keys) for machine, keys in ((AMD, AMD_KEYS), (SGI, SGI_KEYS))]
        told.append(f"for {name} it is {max(counted):,.0f} times the caches, on AMD with 1 G keys {wanted[0]:,.0f}, on SGI with 16 G {wanted[1]:,.0f}")
    return "; ".join(told)


def gap(report):
    rows = compared(report)
    told = [f"{one.row.what}: {abs(one.row.ours / one.row.paper - 1) * 100:.0f} % too {'high' if one.row.ours > one.row.paper else 'low'}"
            + (f" ({one.lacks})" if one.lacks else "") for one in rows if apart(one)]
    words = (f"More than {APART:.0%} from the paper: {'; '.join(told)}. " if told else f"No figure is more than {APART:.0%} from the paper's. ")
    return words + (
        "Where the model is wrong: it knows no instructions, no TLB misses and no prefetching, so what caches hold costs nothing, and small indexes "
        "come out too fast. Each line of a lookup waits as long as any other one at its distance, in both structures and on all three machines "
        "alike: cores with longer queues are not told apart. The trees are this engine's, not the paper's, on sparse keys and not on dense ones, and "
        f"beyond the largest index counted a lookup takes no more lines: {sizes(report['points'])}. The engine's batches have 128 keys for each AEU, as the paper's best "
        "buffers; with fewer keys a message, routing takes more lines of others ([many AEUs](measured_coherence.md#many-aeus)). In the paper AEUs ask "
        "themselves, here sessions do, and answers travel back to them. An upsert's waits without a line follow 1 - 1/n "
        "only roughly. Lines that are written back are not counted. One term was chosen after the first counts were known: lookups had reading, too, "
        "until it turned out that the paper's shared index on AMD takes lines faster than the interleaved scan does; those counts gave SGI a ratio of 2.5 with it. "
        f"Assumed of the machines: {'; '.join(machine.assumed for machine in machines.MACHINES)}.")


def details(report):
    points, found = report["points"], Prediction(report["points"])
    out = ["Counted, lines a key or a line of the column (from others: as counted, and as 1 - 1/n makes it from 8 NumaNodes):", "",
           "| | NumaNodes | keys | from own memory | from others | as the model has it | waits without a line | busiest memory's part |",
           "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for one in points:
        scan = one["panel"] == counts.SCAN
        base = next(counts.work(other) for other in points if (other["panel"], other["series"]) == (one["panel"], one["series"])
                    and other["numa_nodes"] == counts.MODEL_NODES and (scan or other["x"] == one["x"]))
        law = base.on(one["numa_nodes"]).other if one["numa_nodes"] > 1 else 0
        out.append(f"| {one['panel']}, {one['series'].replace('eris', 'ERIS')} | {one['numa_nodes']} | {'–' if scan else power_of_two(one['x'])} | {one['own']:.3f} | "
                   f"{one['other']:.3f} | {law:.3f} | {one['calls']:.3f} | {one['busiest']:.3f} |")
    return out + ["", *terms_table(found), "", *what_if(points)]


def power_of_two(keys):
    return f"2^{keys.bit_length() - 1}"


def terms_table(found):
    names = (model.WAITING, model.DISTANCE, model.READING, model.MEMORY, model.OUT, model.LINKS)
    out = ["Terms, ps of the whole machine for a lookup or a line of the column; the largest is the prediction:", "",
           f"| | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]

    def line(what, terms):
        cells = ("–" if name not in terms else f"**{terms[name] * 1e3:.3g}**" if name == model.limit(terms) else f"{terms[name] * 1e3:.3g}"
                 for name in names)
        out.append(f"| {what} | {' | '.join(cells)} |")
    for machine, keys in (AMD, AMD_KEYS), (SGI, SGI_KEYS):
        for structure, name in (ERIS, "ERIS"), (SHARED, "shared"):
            line(f"lookup, {machine.name}, {size(keys)} keys, {name}", found.point_terms(machine, structure, LOOKUPS, keys))
    for machine in AMD, SGI:
        for placement, name in (LOCAL, "ERIS"), (INTERLEAVED, "interleaved"), (ONE, "all on one"):
            line(f"scan, {machine.name}, {name}", found.scan_terms(machine, placement))
    return out


def what_if(points):
    """What assumptions and parameters are worth."""
    def doubled(one):
        return {**one, "other": 2 * one["other"]} if one["series"] == ERIS else one
    fitted = Prediction(points)
    cases = (("as predicted", fitted, AMD, SGI),
             ("half as many lines at a time", Prediction(points, fitted.outstanding / 2), AMD, SGI),
             ("twice as many", Prediction(points, fitted.outstanding * 2), AMD, SGI),
             ("AMD's split links all single", fitted, machines.amd(1), SGI), ("all dual", fitted, machines.amd(0), SGI),
             ("SGI's blades all at 1 hop", fitted, AMD, machines.sgi((31, 0, 0, 0))), ("at 4 hops", fitted, AMD, machines.sgi((0, 0, 0, 31))),
             ("ERIS' keys take twice the lines of others", Prediction([doubled(one) for one in points], fitted.outstanding), AMD, SGI))
    out = ["What it would be if (ERIS over shared, ERIS over interleaved):", "", "| | lookups, AMD, 1 G | lookups, SGI, 16 G | scan, AMD | scan, SGI |",
           "|---|---:|---:|---:|---:|"]
    for what, found, amd, sgi in cases:
        out.append(f"| {what} | {found.gain(amd, LOOKUPS, AMD_KEYS):.2f} | {found.gain(sgi, LOOKUPS, SGI_KEYS):.2f} | {found.scan_gain(amd):.2f} | "
                   f"{found.scan_gain(sgi):.2f} |")
    return out + ["| the paper | 1.6 | 3.5 | 3.64 | 6.6 |"]
