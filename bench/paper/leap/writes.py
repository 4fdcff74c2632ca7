"""page_leap, Figures 5 and 7: migration of a range that is written meanwhile; what both share."""
import common
from common import Row, points_of
from leap import leap_runs
from plot_panels import figure

METHODS = ("hold", "retry")
RATE = 100_000
FLAT_OUT = "as fast as it can"
# What the writer does -> flags.
LOADS = {"10 k/s": ("--writes-per-s", 10_000), "100 k/s": ("--writes-per-s", RATE), FLAT_OUT: ("--flat-out",),
         "100 k/s, skewed": ("--writes-per-s", RATE, "--skewed")}
WRITTEN = "writes"  # in front of the load's name: the panel of the part of the writes that were made


def measured(lab, pages, load, method, kib):
    """The time, and the part of the writes that were made."""
    flags = LOADS[load]
    found = leap_runs.run(lab, method, pages, kib, "--alone-ms", leap_runs.ALONE_MS, *flags)
    asked = flags[1] if len(flags) > 1 else None
    median = lambda of: leap_runs.rounds_of(found, of)["median"]  # noqa: E731
    part = leap_runs.rounds_of(found, lambda one: common.over(one["writes_s"], asked or one["alone_writes_s"]) or 0)
    more = {"over_memcpy": median("over_memcpy"), "copied": median("copied_over_bytes"), "splits": median("splits"),
            "longest_write_ms": max(one["longest_write_us"] for one in found["rounds"]) / 1e3, "writes_s": median("writes_s"),
            "left_bytes": max(one["left_bytes"] for one in found["rounds"]), "lost": found["lost"],
            "ended": sorted({one["ended"].split(":")[0] for one in found["rounds"]})}
    return [common.point(load, method, kib, "ms", leap_runs.rounds_of(found, "ms"), **more),
            common.point(f"{WRITTEN}, {load}", method, kib, "part", part)], leap_runs.rounds_of(found, "memcpy_ms")


def measure(lab, pages):
    points = []
    for load in LOADS:
        for kib in leap_runs.areas(lab.scale, pages):
            for method in METHODS:
                found, memcpy_ms = measured(lab, pages, load, method, kib)
                points += found
            points.append(common.point(load, leap_runs.MEMCPY, kib, "ms", memcpy_ms))
    missing = [leap_runs.NO_MOVE_PAGES, leap_runs.NO_BALANCING] if common.numa_nodes() == 1 else []
    did = {**leap_runs.protocol(lab), "areas_kib": leap_runs.areas(lab.scale, pages), "pages": pages, "deadline_s": leap_runs.DEADLINE_S}
    return {"protocol": did, "points": points, "missing": missing}


def draw(report):
    panels = [leap_runs.lines_by_area(report, load, f"Writes: {load}") for load in LOADS]
    did = report["protocol"]
    return figure(panels, f"Migration of a range that is written meanwhile, {leap_runs.PAGES[did['pages']]}",
                  f"{did['mib']} MiB; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    most = max(one["writes_s"] for one in points_of(report, FLAT_OUT) if "writes_s" in one)
    return (f"{did['mib']} MiB, medians of {leap_runs.rounds_in_words(did)}, at most {did['deadline_s']} s each. A writer on the other core increments words "
            f"at random: 10 k and 100 k a second, as fast as it can (up to {most / 1e6:.0f} M a second while the range migrates), and 100 k of "
            "which three of four lie in a 32nd of the range, as in the paper. Hold lets a write wait; retry is the paper's method: it copies "
            f"a written area again, in halves. Afterwards all increments are replayed: {sum(one.get('lost', 0) for one in report['points'])} "
            "words were wrong.")


def at(report, load, method, kib):
    return next(iter(points_of(report, load, method, kib)), None)


def compare(report):
    kib = leap_runs.RECOMMENDED_KIB[report["protocol"]["pages"]][-1]
    return [Row(f"{load}, areas of {leap_runs.size(kib)}: {method} over memcpy", one["over_memcpy"])
            for load in LOADS for method in METHODS if (one := at(report, load, method, kib))]


def details(report):
    rows = []
    for load in LOADS:
        for kib in leap_runs.RECOMMENDED_KIB[report["protocol"]["pages"]]:
            for method in METHODS:
                one, written = at(report, load, method, kib), at(report, f"{WRITTEN}, {load}", method, kib)
                if one:
                    rows.append([load, leap_runs.size(kib), method, f"{one['median']:.0f}", f"{one['copied']:.2f}", f"{one['splits']:.0f}",
                                 f"{written['median'] * 100:.0f}", f"{one['longest_write_ms']:.1f}", f"{one['left_bytes'] >> 12}"])
    return ["Medians; the longest write of all rounds. Writes: in % of those asked for, or of what the writer did alone just before.", "",
            *leap_runs.markdown(["writes", "area", "method", "ms", "copied / range", "splits", "writes made, %", "longest write, ms",
                                 "4 KiB left behind"], rows)]


def unfinished(report):
    """What has not moved all of the range, in words."""
    found = [f"{one['series']} with areas of {leap_runs.size(one['x'])}, writes {one['panel']} ({', '.join(one['ended'])})"
             for one in report["points"] if one.get("left_bytes")]
    return f"Pages were left behind by {'; '.join(found)}. " if found else "No page was left behind by any method. "


def gap(report):
    words = unfinished(report) + ("A writer that is as fast as it can soon meets the area that is held, so with hold it mostly waits: the migration is short, "
                                  "and few writes are made meanwhile. With retry more are made, and the areas are copied several times. ")
    if report["machine"]["numa_nodes"] == 1:
        words += ("One NumaNode: nothing is remote, so writes are not faster afterwards. Two cores: the writer and the migrating thread take them "
                  "both, and the longest write may have waited for its core.")
    else:
        words += leap_runs.UNBOUND
    return words
