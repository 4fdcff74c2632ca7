#!/usr/bin/env python3
"""Records what a command shows on a terminal, with its times, as an animated SVG: plain text elements, no script, no font of its own.

Usage: record_terminal.py [--out FILE.svg] [--columns N] [--rows N] [--pause-max SECONDS] COMMAND [ARGUMENT...]

docs/guide/figures/demo.svg is `--columns 104 --rows 32 --pause-max 0.8 eris demo --seconds 5`, with the wheel of a release build and the tables' files
made before.

The terminal is as simple as what `eris demo` needs: text, line ends, carriage returns, and the sequences that go up a line and erase one. Another
sequence ends the recording with an error, because it would be drawn wrongly. Pauses longer than --pause-max are shortened. Each line of the picture is
a text element with the time when it is visible; the whole begins again after a while.
"""
import argparse
import codecs
import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import sys
import termios
import time

CELL_WIDTH, LINE_HEIGHT, MARGIN, FONT_PX = 8.4, 18, 12, 14
HOLD_SECONDS = 6.0  # at the end, before it begins again
STEP_SECONDS = 0.05  # what comes within it is one picture
SEQUENCE = re.compile(r"\x1b\[(\d*)([A-Za-z])")
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">
<title>{title}</title>
<style>text{{font:{font}px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6deeb;white-space:pre}}</style>
<rect width="100%" height="100%" rx="6" fill="#0b1622"/>
"""


class Terminal:
    """Rows of text and a cursor. `rows`: the most it holds; it does not scroll."""

    def __init__(self, columns, rows):
        self.columns, self.rows_max = columns, rows
        self.rows = [""]
        self.row = self.column = 0

    def feed(self, text):
        """Errors: ValueError (a sequence that it does not know, more rows than it has)."""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                sequence = SEQUENCE.match(text, at)
                if sequence is None:
                    raise ValueError(f"an unknown sequence begins with {text[at:at + 8]!r}")
                self._obey(sequence.group(1), sequence.group(2))
                at = sequence.end()
                continue
            self._put(text[at])
            at += 1

    def _obey(self, number, what):
        if what == "A":
            self.row = max(0, self.row - int(number or 1))
        elif what == "K" and number == "2":
            self.rows[self.row] = ""
        elif what == "K" and number in ("", "0"):
            self.rows[self.row] = self.rows[self.row][:self.column]
        else:
            raise ValueError(f"the sequence ESC[{number}{what} is unknown")

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._down()
        else:
            if self.column == self.columns:
                self._down()
                self.column = 0
            line = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def _down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")
        if self.row >= self.rows_max:
            raise ValueError(f"it writes more than {self.rows_max} lines: give more --rows")


def record(command, columns, rows):
    """Pairs (seconds since the start, text), and the exit code."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS=str(columns), LINES=str(rows))
        os.execvp(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    decoder, started, said = codecs.getincrementaldecoder("utf-8")(), time.monotonic(), []
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        said.append((time.monotonic() - started, decoder.decode(data)))
    return said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def shortened(said, pause_max):
    """The same with no pause longer than `pause_max`."""
    shift, before, out = 0.0, 0.0, []
    for seconds, text in said:
        shift += max(0.0, seconds - before - pause_max)
        before = seconds
        out.append((seconds - shift, text))
    return out


def pieces(said, columns, rows):
    """What is visible: (row, text, from, to) with None where it stays; and the number of rows."""
    terminal, shown, out, escape = Terminal(columns, rows), {}, [], ""
    for number, (seconds, text) in enumerate(said):
        text, escape = escape + text, ""
        if cut := re.search(r"\x1b(\[\d*)?$", text):  # the rest of the sequence comes with the next text
            text, escape = text[:cut.start()], cut.group(0)
        terminal.feed(text)
        if number + 1 < len(said) and said[number + 1][0] - seconds < STEP_SECONDS:
            continue
        for row in range(max(len(terminal.rows), len(shown))):
            line = terminal.rows[row].rstrip() if row < len(terminal.rows) else ""
            old, since = shown.get(row, ("", 0.0))
            if line == old:
                continue
            if old:
                out.append((row, old, since, seconds))
            shown[row] = (line, seconds)
    out += [(row, line, since, None) for row, (line, since) in shown.items() if line]
    return sorted(out, key=lambda piece: piece[:3:2]), len(terminal.rows)


def svg(said, columns, rows, title):
    found, count = pieces(said, columns, rows)
    whole = (said[-1][0] if said else 0.0) + HOLD_SECONDS
    out = [HEAD.format(width=columns * CELL_WIDTH + 2 * MARGIN, height=count * LINE_HEIGHT + 2 * MARGIN, title=html.escape(title), font=FONT_PX)]
    for row, text, since, until in found:
        times = [(0.0, "hidden"), (since / whole, "visible"), *([(until / whole, "hidden")] if until is not None else [])]
        values, keys = ";".join(value for _, value in times), ";".join(f"{time:.4f}" for time, _ in times)
        out.append(f'<text x="{MARGIN}" y="{MARGIN + row * LINE_HEIGHT + FONT_PX}" xml:space="preserve" textLength="{len(text) * CELL_WIDTH:.1f}">'
                   f'{html.escape(text)}<animate attributeName="visibility" values="{values}" keyTimes="{keys}" dur="{whole:.2f}s" calcMode="discrete" '
                   'repeatCount="indefinite"/></text>\n')
    return "".join(out) + "</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("recording.svg"))
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--pause-max", type=float, default=1.5, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if not args.command:
        parser.error("a command is missing")
    said, code = record(args.command, args.columns, args.rows)
    if code != 0:
        sys.exit(f"record_terminal: {args.command[0]} ended with exit code {code}:\n{''.join(text for _, text in said)[-2000:]}")
    args.out.write_text(svg(shortened(said, args.pause_max), args.columns, args.rows, " ".join(args.command)), encoding="utf-8")
    print(f"{args.out}: {args.out.stat().st_size:,} bytes, {said[-1][0]:.1f} s recorded")


if __name__ == "__main__":
    main()
