"""Shared by the figures of page_leap: runs of bench/leap/leap_lab, and how their results are named and drawn."""
import common
from common import points_of
from plot_panels import OURS, OURS_SECOND, PEER, SECOND, LinePanel

PROGRAM = "bench/leap/leap_lab"
PAGES = {"small": "small pages", "huge": "huge pages"}
HUGE_KIB = 2048
# The sizes that the paper recommends, with small pages and with huge ones.
RECOMMENDED_KIB = {"small": (512, 16384), "huge": (HUGE_KIB, 16384)}
ONE_ROUND_KIB = 4  # areas of that size take seconds, and figures of seconds vary little
DEADLINE_S = 10  # the paper's
ALONE_MS = 50  # of the other threads, before a migration begins
MEMCPY = "memcpy"
COLOURS = {"hold": OURS, "retry": OURS_SECOND, "owner": SECOND, MEMCPY: PEER}

ONE_NUMA_NODE = "one NumaNode"
NO_MOVE_PAGES = {"what": "move_pages", "why": f"{ONE_NUMA_NODE}: all pages are already where it should move them, so it moves none"}
NO_BALANCING = {"what": "the kernel's automatic balancing (AutoNUMA)",
                "why": f"{ONE_NUMA_NODE}: no page is remote, so it moves none"}
UNBOUND = "The lab leaves it to the kernel on which NumaNode the target lies: times say what moving costs, not what it gains."


def run(lab, method, pages, kib, *flags):
    """What leap_lab has measured; a field of each round as found["rounds"][i][name]. Errors: ProgramFailed (a write was lost)."""
    found = lab.json(PROGRAM, "--mib", lab.scale.leap_mib, "--deadline-s", DEADLINE_S, "--method", method, "--pages", pages, "--area-kib", kib,
                     "--rounds", 1 if kib <= ONE_ROUND_KIB else lab.scale.leap_rounds, *flags)
    if found["lost"]:
        raise common.ProgramFailed(f"{PROGRAM} {' '.join(map(str, flags))} lost increments of {found['lost']} words")
    return found


def rounds_of(found, of):
    """The spread over the rounds of a field, or of a function of a round."""
    value = of if callable(of) else lambda one: one[of]
    return common.lab_process.spread([value(one) for one in found["rounds"]])


def areas(scale, pages):
    """The sizes of areas, in KiB."""
    return [kib for kib in scale.leap_areas_kib if pages == "small" or kib >= HUGE_KIB]


def size(kib):
    return f"{kib} KiB" if kib < 1024 else f"{kib >> 10} MiB"


def short_size(kib):
    """For an axis."""
    return f"{kib}K" if kib < 1024 else f"{kib >> 10}M"


def protocol(lab):
    return {"mib": lab.scale.leap_mib, "rounds": lab.scale.leap_rounds, "areas_kib": list(lab.scale.leap_areas_kib)}


def rounds_in_words(did):
    """Of a protocol."""
    once = min(did["areas_kib"]) <= ONE_ROUND_KIB and did["rounds"] > 1
    return f"{did['rounds']} rounds" + (f" (areas of {size(ONE_ROUND_KIB)}: one)" if once else "")


def lines_by_area(report, panel, title, note="ms, by the area's size"):
    """A panel of times."""
    lines = [{"name": name, "colour": colour, "points": [(one["x"], one["median"], one["min"], one["max"])
                                                      for one in sorted(points_of(report, panel, name), key=lambda one: one["x"])]}
             for name, colour in COLOURS.items() if points_of(report, panel, name)]
    return LinePanel(title, lines, note, name=short_size)


def markdown(head, rows):
    """Lines of a table; columns of words are known by name."""
    kinds = ["---" if name in ("", "writes", "method", "pages", "area", "query") else "---:" for name in head]
    return ["| " + " | ".join(head) + " |", "|" + "|".join(kinds) + "|", *("| " + " | ".join(row) + " |" for row in rows)]
