#!/usr/bin/env python3
"""Draws the balancer's figure: throughput of a load that shifts, and the evenness of 64 stepped AEUs, cycle by cycle.

    bench/balancer/plot.py run.json figure.svg
"""
import argparse
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..")]
from plot_panels import OURS, OURS_SECOND, PEER, SECOND, text  # noqa: E402

WIDTH, PANEL, LEFT, RIGHT = 860, 170, 60, 110
COLOURS = {"one_shot": OURS, "ma(1)": PEER, "ma(8)": SECOND, "off": "#666", "processes": "#1e8449"}
NAMES = {"one_shot": "one-shot", "processes": "N processes"}


def axis(top, lowest, highest, ticks, unit):
    y = lambda value: top + PANEL - (value - lowest) / (highest - lowest) * (PANEL - 14)  # noqa: E731
    out = []
    for tick in ticks:
        out.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
        out.append(text(LEFT - 6, y(tick) + 4, f"{tick:g}", "end", 'font-size="10"'))
    out.append(f'<path d="M{LEFT} {top}V{top + PANEL}H{WIDTH - RIGHT}" stroke="#222" fill="none"/>')
    out.append(text(4, top - 6, unit, "start", 'font-size="10" fill="#666"'))
    return y, out


def names(lines, y):
    placed, out = [], []
    for label, value, colour in sorted(lines, key=lambda one: y(one[1])):
        at = y(value) + 4
        if placed and at < placed[-1] + 12:
            at = placed[-1] + 12
        placed.append(at)
        out.append(text(WIDTH - RIGHT + 6, at, label, more=f'font-size="11" fill="{colour}"'))
    return out


def band(low, high, colour):
    """Between the points of the least and of the most values."""
    return f'<polygon points="{" ".join([*low, *reversed(high)])}" fill="{colour}" opacity=".15"/>'


def shifting(report, load, top, title):
    runs = {name: one["timeline"] for name, one in report["shifting"][load].items()}
    one = next(iter(runs.values()))
    seconds = len(one["mkeys_s"]) / 10
    highest = 1.1 * max(max(run.get("high", run["mkeys_s"])) for run in runs.values())
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if highest / step <= 6)
    y, out = axis(top, 0, highest, [step * i for i in range(int(highest / step) + 1)], "M lookups/s")
    x = lambda second: LEFT + (WIDTH - RIGHT - LEFT) * second / seconds  # noqa: E731
    out.append(text(LEFT, top - 18, title, more='font-weight="bold"'))
    for number, name in enumerate(one["phases"]):
        at = number * one["phase_s"]
        if number:
            out.append(f'<path d="M{x(at):.1f} {top}V{top + PANEL}" stroke="#999" stroke-dasharray="3 3"/>')
        out.append(text(x(at + one["phase_s"] / 2), top + PANEL + 14, name, "middle", 'font-size="10" fill="#444"'))
    for name, run in runs.items():
        if name == "off":
            continue
        for moved in run["transfers"]:
            out.append(f'<rect x="{x(moved["begin_s"]):.1f}" y="{top + PANEL - 5}" height="5" fill="{OURS_SECOND}" '
                       f'width="{max(1.5, x(moved["seconds"]) - x(0)):.1f}"/>')
    lines = []
    for name, run in runs.items():
        points, *spread = ([f"{x((i + 0.5) / 10):.1f},{y(value):.1f}" for i, value in enumerate(run[key])] for key in ("mkeys_s", "low", "high") if key in run)
        out += [band(*spread, COLOURS[name])] if spread else []
        out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
        lines.append((NAMES.get(name, name), run["mkeys_s"][-2], COLOURS[name]))
    return out + names(lines, y)


def stepped(report, aeus, top):
    phases = {name: phases[1] for name, phases in report["stepped"][aeus]["middle"].items()}
    runs = {name: phase["max_over_mean"] for name, phase in phases.items()}
    cycles = max(len(loads) for loads in runs.values())
    highest = max(2.0, 1.05 * max(max(phase.get("high", phase["max_over_mean"])) for phase in phases.values()))
    y, out = axis(top, 1, highest, [1 + 0.25 * i for i in range(int((highest - 1) / 0.25) + 1)], "max / mean")
    x = lambda cycle: LEFT + (WIDTH - RIGHT - LEFT) * math.log(1 + cycle) / math.log(cycles)  # noqa: E731
    out.append(text(LEFT, top - 18, f"Load of the busiest of {aeus} over the mean after the shift to the middle half of the keys, by "
                    "balancing cycles", more='font-weight="bold"'))
    lines = []
    for name, loads in runs.items():
        seen, last = [], LEFT - 2
        for cycle in range(len(loads)):
            if x(cycle) < last + 1 and cycle + 1 < len(loads):
                continue  # too small to see
            last = x(cycle)
            seen.append(cycle)
        points, *spread = ([f"{x(cycle):.1f},{y(phases[name][key][cycle]):.1f}" for cycle in seen] for key in ("max_over_mean", "low", "high")
                           if key in phases[name])
        out += [band(*spread, COLOURS[name])] if spread else []
        out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
        lines.append((NAMES.get(name, name), loads[-1], COLOURS[name]))
    for cycle in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        if cycle < cycles:
            out.append(text(x(cycle), top + PANEL + 14, str(cycle), "middle", 'font-size="10"'))
    return out + names(lines, y)


def picture(parts, subtitle):
    """Draws panels, each a function of its top, one below the other."""
    panels, top = [], 90
    for part in parts:
        panels += part(top)
        top += PANEL + 62
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top - 20}" font-family="sans-serif" font-size="12" fill="#222">',
            f'<rect width="{WIDTH}" height="{top - 20}" fill="#fff"/>',
            text(WIDTH / 2, 22, "Lookups while the load changes", "middle", 'font-size="14"'),
            text(WIDTH / 2, 40, subtitle, "middle", 'fill="#666" font-size="11"')]
    return "\n".join(head + panels + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report")
    parser.add_argument("svg")
    options = parser.parse_args()
    with open(options.report, encoding="utf-8") as file:
        report = json.load(file)
    parts = (lambda at: shifting(report, "shift", at, "Half of the keys, then that half moved up four times; bars: transfers"),
             lambda at: shifting(report, "narrow", at, "100 hot keys, in another place each time"),
             lambda at: stepped(report, "64 AEUs", at))
    subtitle = (f"{report['keys'] / 1e6:.3g} M keys, 2 AEUs on 2 cores with the clients, a balancing cycle each "
                f"{report['period_ms']} ms; {report['machine']['cpu']}")
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(picture(parts, subtitle))


if __name__ == "__main__":
    main()
