"""A panel of lines, both axes linear and from 0; the shared ones (bench/plot_panels.py) are logarithmic."""
from plot_panels import PANEL_HEIGHT, PANEL_WIDTH, text

TICKS = 4
POINTS_MAX = 120  # of a line: more are not seen


def thinned(points):
    step = max(1, len(points) // POINTS_MAX)
    return points[::step]


class LinearPanel:
    """`lines`: {"name", "colour", "points": [(x, y)]}; `mark`: an x with a dashed line; `form`: of the y-axis' numbers, which
    end at `highest`."""

    height = PANEL_HEIGHT + 20

    def __init__(self, title, lines, note="", mark=None, form=".0f", highest=None):
        self.title, self.lines, self.note, self.mark, self.form, self.highest = title, lines, note, mark, form, highest

    def draw(self, left, top):
        out = [text(left, top, self.title, more='font-weight="bold"'), text(left, top + 14, self.note, more='fill="#666" font-size="10"')]
        begin, end, above, bottom = left + 40, left + PANEL_WIDTH - 76, top + 26, top + self.height - 40
        longest = max(at for line in self.lines for at, _ in line["points"]) or 1
        highest = self.highest or max(value for line in self.lines for _, value in line["points"]) or 1
        x = lambda at: begin + (end - begin) * at / longest  # noqa: E731
        y = lambda value: bottom - (bottom - above) * max(0, value) / highest  # noqa: E731
        for i in range(TICKS + 1):
            value, at = highest * i / TICKS, longest * i / TICKS
            out += [f'<path d="M{begin} {y(value):.1f}H{end}" stroke="#e4e4e4"/>',
                    text(begin - 5, y(value) + 4, f"{value:{self.form}}", "end", 'font-size="10"'),
                    text(x(at), bottom + 14, f"{at:.3g}", "middle", 'font-size="10"')]
        out.append(f'<path d="M{begin} {above}V{bottom}H{end}" stroke="#222" fill="none"/>')
        if self.mark is not None:
            out.append(f'<path d="M{x(min(self.mark, longest)):.1f} {above}V{bottom}" stroke="#222" stroke-dasharray="3 3"/>')
        names = []
        for line in self.lines:
            path = "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in thinned(line["points"]))
            out.append(f'<path d="M{path}" fill="none" stroke="{line["colour"]}" stroke-width="1.3"/>')
            names.append([y(line["points"][-1][1]) + 4, line])
        names.sort(key=lambda one: one[0])
        for before, one in zip(names, names[1:]):  # overlapping names move down
            one[0] = max(one[0], before[0] + 11)
        return out + [text(end + 4, at, line["name"], more=f'font-size="10" fill="{line["colour"]}"') for at, line in names]
