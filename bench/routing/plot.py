#!/usr/bin/env python3
"""Draws raw_routing's JSON as the paper's Figure 5: routing throughput against outgoing buffer size.

    bench/routing/plot.py raw_routing.json figure.svg [--aeus 2] [--mode plain|mixed] [--unit commands|bytes]
                          [--methods port,queue_512,...] [--lookups routed_keys.json] [--by batch|aeus]

--lookups adds routed_keys' throughput by --outgoing, which includes lookups; --by aeus draws the best buffer size
against the number of AEUs. Log-log, a line for each method, a bar from the slowest round to the fastest. Standard
library only.
"""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from plot_panels import scale, text, ticks  # noqa: E402

WIDTH, HEIGHT = 790, 460
LEFT, RIGHT, TOP, BOTTOM = 72, 220, 46, 60  # margins; the right one has the legend
# Ours thick and first; colours that differ in brightness too.
STYLES = {
    "port": ("#c0392b", 3, "", "ERIS: Port::Send"),
    "lookups": ("#e67e22", 3, "", "the same, lookups of 1 M keys behind"),
    "port_single": ("#e59866", 2, "", "ERIS: a header for each command"),
    "queue": ("#2471a3", 1.5, "", "moodycamel, blocks of 32"),
    "queue_512": ("#5dade2", 1.5, "", "moodycamel, blocks of 512"),
    "queue32": ("#7d3c98", 1.5, "", "moodycamel, 32 bytes, blocks of 32"),
    "queue32_512": ("#bb8fce", 1.5, "", "moodycamel, 32 bytes, blocks of 512"),
    "ring32": ("#145a32", 1.5, "", "ring per pair, 32 bytes, collected"),
    "ring32_in_place": ("#a9dfbf", 1.5, "", "ring per pair, 32 bytes, in place"),
    "ring": ("#1e8449", 1.5, "", "ring per pair, collected"),
    "ring_in_place": ("#82c99d", 1.5, "", "ring per pair, in place"),
    "memcpy20": ("#555555", 1.5, "6 4", "limit: two memcpys of Port::Send's bytes"),
    "memcpy": ("#999999", 1.5, "2 3", "limit: two memcpys of 72 bytes"),
}


def points_by_method(report, lookups, arguments):
    """method -> [(x, median, slowest, fastest)]"""
    lines = {}
    for point in report["points"]:
        wanted = arguments.by == "aeus" or point["aeus"] == arguments.aeus
        if wanted and point["mode"] == arguments.mode and (not arguments.methods or point["method"] in arguments.methods):
            factor = point["bytes_s"] / point["commands_s"] / 1e9 if arguments.unit == "bytes" else 1e-6
            lines.setdefault(point["method"], []).append(
                (point[arguments.by], *(point[key] * factor for key in ("commands_s", "commands_s_min", "commands_s_max"))))
    if arguments.by == "aeus":
        for method, line in lines.items():
            best = {}
            for one in line:
                best[one[0]] = max(one, best.get(one[0], one), key=lambda point: point[1])
            lines[method] = list(best.values())
    for point in lookups["points"] if lookups else []:
        rate = point["keys_s"] / 1e6
        lines.setdefault("lookups", []).append((point["outgoing"], rate, rate, rate))
    return lines


def draw(report, lookups, arguments):
    lines = points_by_method(report, lookups, arguments)
    if not lines:
        sys.exit("plot.py: no such points")
    unknown = set(lines) - set(STYLES)
    if unknown:
        sys.exit(f"plot.py: no style for {', '.join(sorted(unknown))}")
    batches = sorted({point[0] for line in lines.values() for point in line})
    low = min(point[2] for line in lines.values() for point in line) * 0.9
    high = max(point[3] for line in lines.values() for point in line) * 1.1
    x = scale(batches[0], batches[-1], LEFT, WIDTH - RIGHT)
    y = scale(low, high, HEIGHT - BOTTOM, TOP)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           'font-size="12" fill="#222">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
           text((LEFT + right) / 2, 18, "Routing throughput, " + (f"{arguments.aeus} AEUs, " if arguments.by == "batch" else "")
                + f"commands with {report['segment_bytes']} bytes of data", "middle", 'font-size="14"'),
           text((LEFT + right) / 2, 34, f"{report['cpu']}, {report['cpus']} cpus, {report['build_type']}, median of "
                f"{report['rounds']} rounds", "middle", 'fill="#666" font-size="11"')]
    for tick in ticks(low, high):
        out.append(f'<path d="M{LEFT} {y(tick):.1f}H{right}" stroke="#e4e4e4"/>')
        out.append(text(LEFT - 6, y(tick) + 4, f"{tick:g}", "end"))
    for batch in batches:
        out.append(f'<path d="M{x(batch):.1f} {TOP}V{bottom}" stroke="#f0f0f0"/>')
        out.append(text(x(batch), bottom + 18, str(batch), "middle"))
    out.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" stroke="#222" fill="none"/>')
    out.append(text((LEFT + right) / 2, HEIGHT - 16, "AEUs" if arguments.by == "aeus" else
                    "commands collected before they are copied over", "middle"))
    words = "GB/s with headers" if arguments.unit == "bytes" else "million commands/s"
    out.append(text(0, 0, words, "middle", f'transform="translate(20 {(TOP + bottom) / 2:.0f}) rotate(-90)"'))
    shown = [method for method in STYLES if method in lines]
    for method in reversed(shown):  # ours last, on top
        colour, width, dashes, _ = STYLES[method]
        line = sorted(lines[method])
        for batch, _, slowest, fastest in line:
            out.append(f'<path d="M{x(batch):.1f} {y(slowest):.1f}V{y(fastest):.1f}" stroke="{colour}" opacity=".4"/>')
        path = "L".join(f"{x(batch):.1f} {y(rate):.1f}" for batch, rate, _, _ in line)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"'
                   f' stroke-dasharray="{dashes}"/>')
        out += [f'<circle cx="{x(batch):.1f}" cy="{y(rate):.1f}" r="{width + 1}" fill="{colour}"/>'
                for batch, rate, _, _ in line]
    for i, method in enumerate(shown):
        colour, width, dashes, name = STYLES[method]
        at = TOP + 14 + 20 * i
        out.append(f'<path d="M{right + 10} {at}h22" stroke="{colour}" stroke-width="{width}" '
                   f'stroke-dasharray="{dashes}"/>')
        out.append(text(right + 37, at + 4, name, "start", 'font-size="10"'))
    return "\n".join(out + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json")
    parser.add_argument("svg")
    parser.add_argument("--aeus", type=int, default=2)
    parser.add_argument("--mode", choices=("plain", "mixed"), default="plain")
    parser.add_argument("--methods", type=lambda names: names.split(","))
    parser.add_argument("--lookups")
    parser.add_argument("--by", choices=("batch", "aeus"), default="batch")
    parser.add_argument("--unit", choices=("commands", "bytes"), default="commands")
    arguments = parser.parse_args()
    with open(arguments.json, encoding="utf-8") as file:
        report = json.load(file)
    lookups = None
    if arguments.lookups:
        with open(arguments.lookups, encoding="utf-8") as file:
            lookups = json.load(file)
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(draw(report, lookups, arguments))


if __name__ == "__main__":
    main()
