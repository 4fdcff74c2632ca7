#!/usr/bin/env python3
"""Figure 5: routing throughput against the size of the outgoing buffers.

    bench/paper/fig5_buffer_size.py <builddir> [--json FILE] [--quick]
"""
import sys

import common
from common import Row, median_of, over, points_of, scaled
from plot_panels import OURS, OURS_SECOND, PEER, SECOND, LinePanel, figure

NAME = "fig5_buffer_size"
TITLE = "Figure 5: routing throughput against the size of the outgoing buffers"
RAW, LOOK_UPS = "bench/routing/raw_routing", "bench/routing/routed_keys"
PROGRAMS = (RAW, LOOK_UPS)
PAPER = """Data commands per second between the AEUs of the AMD machine (64 cores), by the number of commands that an outgoing buffer collects
before it is copied over. Raw (AEUs skip the processing), the throughput doubles with the buffer until the links saturate; with index
lookups behind it the peak is reached at 128 commands, as the lookups dominate from there (3.2, Figure 5)."""

SIZES = (1, 4, 16, 64, 128, 256, 1024, 4096)
PEAK = 0.95  # of the best throughput: counts as having reached it
ROUTING, BEHIND = "routing", "lookups"
NAMES = {"port": "ERIS", "memcpy20": "two memcpys"}


def measure(lab):
    aeus, scale = max(2, lab.cores), lab.scale
    missing, points = [], []
    raw = common.attempt(missing, "raw routing", lab.json, RAW, "--aeus", aeus, "--modes", "plain", "--methods", ",".join(NAMES),
                         "--batches", ",".join(map(str, SIZES)), "--turn", SIZES[-1], "--rounds", scale.rounds, "--ms",
                         scale.buffer_ms, "--json", "-")
    for one in raw["points"] if raw else []:
        spread = {"median": one["commands_s"], "min": one["commands_s_min"], "max": one["commands_s_max"]}
        points.append(common.point(ROUTING, NAMES[one["method"]], one["batch"], "M commands/s", scaled(spread, 1e-6)))
    keys = common.attempt(missing, "lookups behind the routing", lab.json, LOOK_UPS, "--aeus", aeus, "--batches", SIZES[-1],
                          "--outgoing", ",".join(map(str, SIZES)), "--keys", ",".join(map(str, scale.buffer_keys)), "--rounds",
                          scale.rounds, "--ms", scale.buffer_ms, "--json", "-")
    for one in keys["points"] if keys else []:
        spread = {"median": one["keys_s"], "min": one["keys_s_min"], "max": one["keys_s_max"]}
        points.append(common.point(BEHIND, str(one["keys"]), one["outgoing"], "M lookups/s", scaled(spread, 1e-6)))
    sizes = sorted({one["keys"] for one in keys["points"]}) if keys else []
    return {"protocol": {"aeus": aeus, "rounds": scale.rounds, "ms": scale.buffer_ms, "keys": sizes},
            "points": points, "missing": missing}


def line(report, panel, series, name, colour):
    return {"name": name, "colour": colour,
            "points": [(one["x"], one["median"], one["min"], one["max"]) for one in points_of(report, panel, series)]}


def draw(report):
    panels = []
    if points_of(report, ROUTING):
        panels.append(LinePanel("Raw routing, M commands/s", [line(report, ROUTING, "ERIS", "ERIS", OURS),
                                                            line(report, ROUTING, "two memcpys", "two memcpys", PEER)],
                                "by commands that an outgoing buffer collects"))
    if points_of(report, BEHIND):
        panels.append(LinePanel("With lookups behind it, M lookups/s",
                                [line(report, BEHIND, str(keys), f"{keys / 1e6:g} M keys", colour)
                                 for keys, colour in zip(report["protocol"]["keys"], (OURS, OURS_SECOND, SECOND))],
                                "by keys that an outgoing buffer collects"))
    return figure(panels, "Routing throughput by size of the outgoing buffers",
                  f"{report['protocol']['aeus']} AEUs; {common.describe_machine(report['machine'])}")


def here(report):
    did = report["protocol"]
    text = f"{did['aeus']} AEUs, {did['rounds']} rounds of {did['ms']} ms, medians."
    if points_of(report, ROUTING):
        text += (f" Each sends commands of one key and one value to all others in equal parts, a turn of {SIZES[-1]} at once; the figure "
                 "is commands read by their receivers. The line beside it moves the same bytes by two memcpys and no protocol: what the "
                 "memory allows.")
    if points_of(report, BEHIND):
        text += (f" With lookups: keys of all AEUs at random in batches of {SIZES[-1]}, all of them there, indexes of "
                 f"{' and '.join(f'{keys / 1e6:g} M' for keys in did['keys'])} sparse keys.")
    return text


def reached_at(report, panel, series):
    """The smallest buffer with PEAK of the best throughput; None: not measured."""
    found = sorted(points_of(report, panel, series), key=lambda one: one["x"])
    best = max((one["median"] for one in found), default=0)
    return next((one["x"] for one in found if one["median"] >= PEAK * best), None)


def compare(report):
    rows = [Row(f"raw: buffer that reaches {100 * PEAK:.0f} % of the best, commands", reached_at(report, ROUTING, "ERIS")),
            Row("raw: a buffer of 4 commands over one of 1", over(median_of(report, ROUTING, "ERIS", 4),
                                                                   median_of(report, ROUTING, "ERIS", 1)),
                4, "3.2, doubles with the buffer")]
    for keys in report["protocol"]["keys"]:
        rows.append(Row(f"lookups, {keys / 1e6:g} M keys: buffer that reaches {100 * PEAK:.0f} % of the best, keys",
                        reached_at(report, BEHIND, str(keys)), 128, "Figure 5"))
    best = max((one["median"] for one in points_of(report, ROUTING, "ERIS")), default=None)
    limit = max((one["median"] for one in points_of(report, ROUTING, "two memcpys")), default=None)
    return rows + [Row("raw: ERIS over two memcpys, each at its best", over(best, limit))]


def gap(report):
    words = (f"{report['protocol']['aeus']} AEUs, the paper's machine has 64 cores: a turn's commands go to {report['protocol']['aeus'] - 1} other"
             f"{'s' if report['protocol']['aeus'] > 2 else ''}, so buffers fill soon. ")
    if report["machine"]["numa_nodes"] == 1:
        words += "One NumaNode: no links to saturate; what ends the rise is the cost of making, copying and reading the commands."
    return words


if __name__ == "__main__":
    common.main(sys.modules[__name__])
