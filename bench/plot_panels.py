"""Shared by the benchmarks' figures: panels of bars and of lines in an SVG. Standard library only."""
import json
import math
import sys
from xml.sax.saxutils import escape

PANEL_WIDTH, PANEL_HEIGHT, GAP, TOP = 380, 210, 40, 56
LEFT, RIGHT, LINE = 84, 56, 24  # names, figures, a bar's height with its gap
OURS, PEER, SECOND = "#c0392b", "#2471a3", "#85b7d9"
OURS_SECOND = "#e6a097"


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def scale(low, high, begin, end):
    """Maps [low, high] to [begin, end], by logarithms."""
    span = math.log(high / low) or 1.0
    return lambda value: begin + (end - begin) * math.log(value / low) / span


def ticks(low, high):
    """1, 2, 5, 10, ... within [low, high]."""
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        found += [digit * 10 ** power for digit in (1, 2, 5) if low <= digit * 10 ** power <= high]
    return found


class Panel:
    """Bars of one quantity, or of two if each row has a second value (behind, pale). Rows whose names begin with
        `eris` are ours, and red. A bar's figures are in the room on the right, `right` wide; a row may have a `label`
        instead."""

    def __init__(self, title, rows, form, note="", height=PANEL_HEIGHT, right=RIGHT):
        self.title, self.rows, self.form, self.note, self.height, self.right = title, rows, form, note, height, right

    def draw(self, x, y):
        out = [text(x, y, self.title, more='font-weight="bold"')]
        if self.note:
            out.append(text(x, y + 14, self.note, more='fill="#666" font-size="10"'))
        largest = max(max(row["values"]) for row in self.rows)
        width = PANEL_WIDTH - LEFT - self.right
        for i, row in enumerate(self.rows):
            top = y + 24 + LINE * i
            ours = row["name"].startswith("eris")
            colours = (OURS, OURS_SECOND) if ours else (PEER, SECOND)
            out.append(text(x + LEFT - 6, top + 12, row["name"].replace("eris", "ERIS"), "end"))
            height = (LINE - 6) / len(row["values"])
            for j, value in enumerate(row["values"]):
                at = top + j * height
                long = width * value / largest
                out.append(f'<rect x="{x + LEFT}" y="{at:.1f}" width="{long:.1f}" height="{height:.1f}" '
                           f'fill="{colours[j]}"/>')
                if j == 0 and "low" in row:
                    low, high = (x + LEFT + width * min(row[key], largest) / largest for key in ("low", "high"))
                    out.append(f'<path d="M{low:.1f} {at + height / 2:.1f}H{high:.1f}" stroke="#222"/>')
            label = row.get("label") or " / ".join(format(value, self.form) for value in row["values"])
            out.append(text(x + LEFT + width * max(row["values"]) / largest + 5, top + 13, label,
                            more='font-size="10"'))
        return out


class LinePanel:
    """Lines with log-log axes; `lines` are {"name", "colour", "points": [(x, y, low, high)]}. A line with only one point
        spans the whole width if others have more. `name`: formats a position on the x-axis."""

    height = PANEL_HEIGHT + 20

    def __init__(self, title, lines, note="", name=lambda step: f"{step}" if step < 1024 else f"{step // 1024}k"):
        self.title, self.lines, self.note, self.name = title, lines, note, name

    def draw(self, left, top):
        out = [text(left, top, self.title, more='font-weight="bold"'),
               text(left, top + 14, self.note, more='fill="#666" font-size="10"')]
        least = min(2, max(len(line["points"]) for line in self.lines))  # points of a line that has places on the x-axis
        steps = sorted({point[0] for line in self.lines if len(line["points"]) >= least for point in line["points"]})
        low = min(point[2] for line in self.lines for point in line["points"]) * 0.9
        high = max(point[3] for line in self.lines for point in line["points"]) * 1.1
        begin, end, bottom = left + 34, left + PANEL_WIDTH - 86, top + self.height - 40
        x = scale(steps[0], steps[-1], begin, end)
        y = scale(low, high, bottom, top + 26)
        for tick in ticks(low, high):
            out.append(f'<path d="M{begin} {y(tick):.1f}H{end}" stroke="#e4e4e4"/>')
            out.append(text(begin - 5, y(tick) + 4, f"{tick:g}", "end", 'font-size="10"'))
        for step in steps:
            out.append(text(x(step), bottom + 14, self.name(step), "middle", 'font-size="10"'))
        out.append(f'<path d="M{begin} {top + 26}V{bottom}H{end}" stroke="#222" fill="none"/>')
        names = []
        for line in self.lines:
            points = line["points"]
            for step, _, slowest, fastest in points:
                out.append(f'<path d="M{x(step):.1f} {y(slowest):.1f}V{y(fastest):.1f}" stroke="{line["colour"]}" opacity=".4"/>')
            if len(points) < least:
                points = [(step, *points[0][1:]) for step in (steps[0], steps[-1])]
                dashes = "4 3"
            else:
                dashes = ""
                out += [f'<circle cx="{x(one[0]):.1f}" cy="{y(one[1]):.1f}" r="3" fill="{line["colour"]}"/>' for one in points]
            path = "L".join(f"{x(one[0]):.1f} {y(one[1]):.1f}" for one in points)
            out.append(f'<path d="M{path}" fill="none" stroke="{line["colour"]}" stroke-width="1.8" stroke-dasharray="{dashes}"/>')
            names.append([y(points[-1][1]) + 4, line])
        names.sort(key=lambda one: one[0])
        for before, one in zip(names, names[1:]):  # overlapping names move down
            one[0] = max(one[0], before[0] + 11)
        out += [text(end + 4, at, line["name"], more=f'font-size="10" fill="{line["colour"]}"') for at, line in names]
        return out


def figure(panels, title, subtitle):
    """The picture: two panels in a row."""
    rows = [panels[i:i + 2] for i in range(0, len(panels), 2)]
    heights = [max(panel.height for panel in row) for row in rows]
    width, height = 2 * PANEL_WIDTH + GAP + 40, TOP + sum(heights)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12" fill="#222">', f'<rect width="{width}" height="{height}" fill="#fff"/>',
           text(width / 2, 20, title, "middle", 'font-size="14"'),
           text(width / 2, 36, subtitle, "middle", 'fill="#666" font-size="11"')]
    top = TOP + 16
    for row, row_height in zip(rows, heights):
        for i, panel in enumerate(row):
            out += panel.draw(20 + i * (PANEL_WIDTH + GAP), top)
        top += row_height
    return "\n".join(out + ["</svg>", ""])


def draw_file(usage, panels, title, subtitle):
    """A program that draws a report, the JSON file of its first argument, into its second: `panels(report)` are the
        panels, `subtitle(report)` is the line below the title."""
    if len(sys.argv) != 3:
        sys.exit(usage)
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    drawn = panels(report)
    if not drawn:
        sys.exit("plot.py: nothing to draw")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(figure(drawn, title, subtitle(report)))
