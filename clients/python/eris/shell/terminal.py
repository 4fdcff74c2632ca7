"""The shell on a terminal: lines with history and completion, statements over several lines."""
import contextlib
import os
import pathlib
import readline
import sys
from collections.abc import Callable

from eris.errors import Error
from eris.shell.session import Session
from eris.sql.words import on_one_line, quoted, statements_of, words_of

PROMPT, MORE = "eris> ", "   -> "
LINES_KEPT = 2000
KEYWORDS = ("select from where group by having order limit offset join left right full inner outer cross on using as and or not in exists "
            "between like is null case when then else end cast distinct union all with values asc desc nulls first last date interval extract "
            "count sum avg min max median coalesce substring explain analyze").split()


def history_file() -> pathlib.Path | None:
    """None: the user has no home."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return pathlib.Path(state, "eris", "history") if os.path.isabs(state) else None


class Completer:
    """Keywords, names of objects and of columns, commands. Asks the server once for each word."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._found: list[str] = []

    def __call__(self, begun: str, number: int) -> str | None:
        if number == 0:
            self._found = self._candidates(begun)
        return self._found[number] if number < len(self._found) else None

    def _candidates(self, begun: str) -> list[str]:
        if begun.startswith("\\"):
            return sorted(each for each in self._session.commands() if each.startswith(begun))
        names = set[str]()
        with contextlib.suppress(Error):
            for its in self._session.objects():
                names |= {its.name, *(each.name for each in its.columns)}
        plain = {each if each.replace("_", "a").isalnum() and not each[0].isdigit() else quoted(each) for each in names}
        return sorted(each for each in plain | set(KEYWORDS) if each.lower().startswith(begun.lower()))


def converse(session: Session, tell: Callable[[BaseException], int]) -> int:
    """Until \\q or the end of the input. `tell` writes an error. Gives the exit code: 0."""
    history = history_file()
    with contextlib.suppress(OSError):
        if history is not None:
            history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            readline.read_history_file(history)
    readline.set_history_length(LINES_KEPT)
    readline.set_completer(Completer(session))
    readline.set_completer_delims(" \t\n,()=<>+-*/;.'")
    readline.parse_and_bind("tab: complete")
    readline.set_auto_history(False)
    try:
        _loop(session, tell)
    finally:
        with contextlib.suppress(OSError):
            if history is not None:
                history.touch(mode=0o600)
                readline.write_history_file(history)
    return 0


def _loop(session: Session, tell: Callable[[BaseException], int]) -> None:
    lines: list[str] = []
    while not session.ended:
        try:
            line = input(MORE if lines else PROMPT)
            if not lines and line.lstrip().startswith("\\"):
                readline.add_history(line)
                session.command(line.strip())
                continue
            lines.append(line)
            if ";" not in line and any(map(words_of, lines)):
                continue  # nothing ends here
            statements, rest = statements_of("\n".join(lines))
            lines = [rest] if rest else []
            if statements:
                readline.add_history("; ".join(map(on_one_line, statements)) + ";")
            for statement in statements:
                session.run(statement)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:  # what was begun is thrown away
            print("cancelled" if not lines else "", file=sys.stderr)
            lines = []
        except (Error, ImportError, OSError, ValueError, OverflowError) as error:
            tell(error)
