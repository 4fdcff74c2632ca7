"""What the demo shows: on a terminal a part that moves is drawn again in place, in a file or a pipe everything is a line of text."""
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

ERASE_LINE = "\x1b[2K"
WIDTH_MIN = 40


def bar(part: float, cells: int, mark: str, rest: str) -> str:
    """`part` of it, between 0 and 1, is filled."""
    filled = round(min(max(part, 0.0), 1.0) * cells)
    return mark * filled + rest * (cells - filled)


class Screen:
    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self.moves = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = 0  # lines of the moving part
        self.width = max(WIDTH_MIN, shutil.get_terminal_size((100, 24)).columns - 1) if self.moves else 100
        encoding = (out.encoding or "ascii").lower().replace("-", "")
        self.mark, self.rest, self.tick = ("█", "░", "✓") if encoding == "utf8" else ("#", ".", "ok")

    def line(self, text: str = "") -> None:
        """A line that stays."""
        self._erase()
        print(text, file=self._out, flush=True)

    def draw(self, lines: Sequence[str]) -> None:
        """The part that moves, in place of the one before. Nothing where nothing can move."""
        if not self.moves:
            return
        self._erase()
        self._out.write("".join(f"{line[:self.width]}\n" for line in lines))
        self._out.flush()
        self._drawn = len(lines)

    def keep(self) -> None:
        """What was drawn last stays."""
        self._drawn = 0

    def clear(self) -> None:
        """Removes what was drawn last."""
        self._erase()
        self._out.flush()

    def bar(self, part: float, cells: int = 40) -> str:
        return bar(part, cells, self.mark, self.rest)

    def _erase(self) -> None:
        self._out.write(f"\x1b[1A{ERASE_LINE}\r" * self._drawn)
        self._drawn = 0
