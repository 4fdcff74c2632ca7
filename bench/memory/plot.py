#!/usr/bin/env python3
"""Draws run.py's JSON: the allocators on the tree's trace, in the paper's micro-benchmark, and their memory.

    bench/memory/plot.py memory.json figure.svg

Four panels of bars, ours first and red; a line from the fastest round to the slowest. Standard library only.
"""
import json
import sys
from xml.sax.saxutils import escape

PANEL_WIDTH, PANEL_HEIGHT, GAP, TOP = 380, 210, 40, 56
LEFT, RIGHT, LINE = 84, 56, 24  # names, figures, a bar's height with its gap
OURS, PEER, SECOND = "#c0392b", "#2471a3", "#85b7d9"
OURS_SECOND = "#e6a097"


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


class Panel:
    """Bars of one quantity; of two where each row has a second value (behind, pale)."""

    def __init__(self, title, rows, form, note=""):
        self.title, self.rows, self.form, self.note = title, rows, form, note

    def draw(self, x, y):
        out = [text(x, y, self.title, more='font-weight="bold"')]
        if self.note:
            out.append(text(x, y + 14, self.note, more='fill="#666" font-size="10"'))
        largest = max(max(row["values"]) for row in self.rows)
        width = PANEL_WIDTH - LEFT - RIGHT
        for i, row in enumerate(self.rows):
            top = y + 24 + LINE * i
            ours = row["name"] == "eris"
            colours = (OURS, OURS_SECOND) if ours else (PEER, SECOND)
            out.append(text(x + LEFT - 6, top + 12, "ERIS" if ours else row["name"], "end"))
            height = (LINE - 6) / len(row["values"])
            for j, value in enumerate(row["values"]):
                at = top + j * height
                long = width * value / largest
                out.append(f'<rect x="{x + LEFT}" y="{at:.1f}" width="{long:.1f}" height="{height:.1f}" '
                           f'fill="{colours[j]}"/>')
                if j == 0 and "low" in row:
                    low, high = (x + LEFT + width * min(row[key], largest) / largest for key in ("low", "high"))
                    out.append(f'<path d="M{low:.1f} {at + height / 2:.1f}H{high:.1f}" stroke="#222"/>')
            label = " / ".join(format(value, self.form) for value in row["values"])
            out.append(text(x + LEFT + width * max(row["values"]) / largest + 5, top + 13, label,
                            more='font-size="10"'))
        return out


def panels(report):
    found = []
    if "trace" in report:
        trace = report["trace"]
        floor = trace["floor"]["gross_ns"]["median"]
        found.append(Panel("The tree's own trace, ns a call",
                           [{"name": name, "values": [row["net_ns"]["median"]], "low": max(0, row["net_ns"]["min"]),
                             "high": row["net_ns"]["max"]} for name, row in trace.items() if name != "floor"], ".2f",
                           f"allocate or free; the replay's own {floor:.1f} ns taken off"))
    if "foreign" in report:
        found.append(Panel("A block freed by another thread, ns",
                           [{"name": name, "values": [row["foreign_free"] + row["foreign_collect"],
                                                      row["local_free"] + row["local_collect"]]}
                            for name, row in report["foreign"].items()], ".1f",
                           "with the owner's collecting; below, pale: freed by its own thread"))
    if "paper" in report:
        rows = {}
        for row in report["paper"]:
            rows.setdefault(row["allocator"], []).append(row)
        counts = sorted({row["threads"] for row in report["paper"]})
        ends = sorted({counts[0], counts[-1]})
        found.append(Panel("The paper's micro-benchmark, s",
                           [{"name": name, "values": [row["seconds"]["median"] for row in some if row["threads"] in ends]}
                            for name, some in rows.items()], ".2f",
                           f"{report['paper'][0]['operations_per_thread'] / 1e6:g} M operations a thread; "
                           f"{ends[0]} thread, below {ends[-1]}"))
    if "memory" in report:
        found.append(Panel("Resident over live bytes",
                           [{"name": name, "values": [row["resident_over_live"]]}
                            for name, row in report["memory"].items()], ".2f", "after the trace"))
    if "memory" in report:
        found.append(Panel("MB resident after freeing",
                           [{"name": name, "values": [row["resident_after_drop_5s"] / 1e6,
                                                      row["resident_after_erase_5s"] / 1e6]}
                            for name, row in report["memory"].items()], ".0f",
                           "5 s after all was freed; below, pale: a tenth is left"))
    if "small" in report:
        found.append(Panel("Allocate and free at once, ns",
                           [{"name": name, "values": [sum(row["pair_ns_by_class"]) / len(row["pair_ns_by_class"])]}
                            for name, row in report["small"].items() if name != "floor"], ".1f",
                           "mean over the sizes of TreeNodes"))
    return found


def draw(report):
    found = panels(report)
    if not found:
        sys.exit("plot.py: nothing to draw")
    lines = (len(found) + 1) // 2
    width, height = 2 * PANEL_WIDTH + GAP + 40, TOP + lines * PANEL_HEIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12" fill="#222">', f'<rect width="{width}" height="{height}" fill="#fff"/>',
           text(width / 2, 20, "Memory of TreeNodes: the engine's own and five allocators", "middle", 'font-size="14"'),
           text(width / 2, 36, f"{report['cpu']}, {report['cpus']} cpus, {report['date']}, median of {report['rounds']} "
                "rounds; each with its huge-page settings on", "middle", 'fill="#666" font-size="11"')]
    for i, panel in enumerate(found):
        out += panel.draw(20 + (i % 2) * (PANEL_WIDTH + GAP), TOP + 16 + (i // 2) * PANEL_HEIGHT)
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(report))


if __name__ == "__main__":
    main()
