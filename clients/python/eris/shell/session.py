"""What a user does in the shell: statements, and commands that begin with a backslash. Writes to a stream; knows no terminal."""
import sys
import time
from collections.abc import Callable, Iterable
from typing import BinaryIO

from eris.errors import InvalidArgument
from eris.schema import Column, ObjectInfo, Type
from eris.shell.output import FORMATS, write_table
from eris.sql.query import asked
from eris.sql.words import statements_of
from eris.sync import Database
from eris.tables import pyarrow

ROWS_SHOWN = 1000
ROWS_MAX = 1_000_000_000
HELP = r"""A statement is a query in SQL and ends with a semicolon. Names without quotes are found whatever their letters' case.
  explain SELECT ...;           the server's steps
  explain analyze SELECT ...;   the query is run, and its steps have figures
  \d                            the objects
  \d NAME                       an object's columns
  \plan SELECT ...              the same as explain
  \format table|csv|json|arrow  how rows are written
  \rows N|all                   how many rows a table shows; all: however many there are
  \timing on|off                whether the time is shown
  \i FILE                       run the statements of a file
  \q                            leave
"""


def _type_text(column: Column) -> str:
    text = column.type.value
    if column.type in (Type.DECIMAL64, Type.DECIMAL128):
        text += f"({column.scale})"
    return text + ("?" if column.nullable else "")


def _bytes_text(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


class Session:
    def __init__(self, database: Database, out: BinaryIO, *, form: str = "table", timing: bool = False, rows_max: int | None = None) -> None:
        self._database, self._out = database, out
        self._form, self._timing, self._rows_max = form, timing, rows_max
        self.ended = False
        self._commands: dict[str, Callable[[str], None]] = {
            "d": self._describe, "plan": self._plan, "format": self._set_format, "rows": self._set_rows, "timing": self._set_timing,
            "i": self._include, "q": self._quit, "?": self._help, "h": self._help}

    def commands(self) -> Iterable[str]:
        return (f"\\{name}" for name in self._commands)

    def objects(self) -> Iterable[ObjectInfo]:
        return self._database.list()

    def run(self, sql: str) -> None:
        """One statement. Errors: of Database.sql."""
        begun = time.monotonic()
        if asked(sql)[0] and self._form == "table":
            return self._say("\n".join(self._database.sql(sql).arrow()["plan"].to_pylist()))
        batches = iter(self._database.sql(sql))
        rows = write_table(batches, self._out, self._rows_max) if self._form == "table" else FORMATS[self._form](batches, self._out)
        self._out.flush()
        if self._timing:
            line = f"({rows:,} {'row' if rows == 1 else 'rows'}, {(time.monotonic() - begun) * 1000:,.1f} ms)"
            self._say(line) if self._form == "table" else print(line, file=sys.stderr)

    def run_all(self, text: str) -> None:
        """All statements of a text, the last one also without a semicolon. Errors: as run(); InvalidArgument (none, or several whose answers
        would be no document of the format)."""
        whole, rest = statements_of(text)
        statements = [*whole, *([rest] if rest else [])]
        if not statements:
            raise InvalidArgument("there is no statement")
        if len(statements) > 1 and self._form in ("json", "arrow"):
            raise InvalidArgument(f"{len(statements)} statements: answers as {self._form} are given of one at a time")
        for number, statement in enumerate(statements):
            if number and self._form == "table":
                self._say("")
            self.run(statement)

    def command(self, line: str) -> None:
        """A line that begins with a backslash. Errors: InvalidArgument, of Database, OSError."""
        name, _, argument = line[1:].strip().partition(" ")
        if name not in self._commands:
            raise InvalidArgument(f"there is no command \\{name}; \\? shows them")
        self._commands[name](argument.strip())

    def _say(self, text: str) -> None:
        self._out.write(text.encode() + b"\n")
        self._out.flush()

    def _show(self, columns: dict[str, list[object]]) -> None:
        write_table([pyarrow().RecordBatch.from_pydict(columns)], self._out)
        self._out.flush()

    def _describe(self, name: str) -> None:
        objects = list(self._database.list())
        if not name:
            if not objects:
                return self._say("There is no object.")
            return self._show({
                "object": [its.name for its in objects], "kind": [its.kind for its in objects],
                "key": [", ".join(each.name for each in its.key) or None for its in objects],
                "columns": [len(its.columns) for its in objects], "rows": [its.keys for its in objects],
                "memory": [_bytes_text(its.memory_bytes) for its in objects], "partitions": [its.partitions for its in objects]})
        its = self._object(name.rstrip(";").strip(), objects)
        self._say(f"{its.name}: {its.kind}, {its.keys:,} rows, {_bytes_text(its.memory_bytes)}, {its.partitions} partitions")
        key = [each.name for each in its.key]
        self._show({"column": [each.name for each in its.columns], "type": [_type_text(each) for each in its.columns],
                    "key": [str(key.index(each.name) + 1) if each.name in key else None for each in its.columns]})

    def _object(self, name: str, objects: list[ObjectInfo]) -> ObjectInfo:
        exact = name.strip('"')
        for its in objects:
            if its.name == exact:
                return its
        alike = [its for its in objects if its.name.lower() == exact.lower()]
        if len(alike) == 1:
            return alike[0]
        raise InvalidArgument(f"there is no object {name}; \\d shows them")

    def _plan(self, sql: str) -> None:
        self._say(self._database.sql(sql).explain().rstrip("\n"))

    def _set_format(self, name: str) -> None:
        if name not in FORMATS:
            raise InvalidArgument(f"\\format {name}: formats are {', '.join(FORMATS)}")
        self._form = name

    def _set_rows(self, text: str) -> None:
        if text != "all" and not (text.isdecimal() and 0 < int(text[:12]) <= ROWS_MAX):
            raise InvalidArgument(f"\\rows {text}: give a number from 1 to {ROWS_MAX:,}, or all")
        self._rows_max = None if text == "all" else int(text)

    def _set_timing(self, text: str) -> None:
        if text not in ("on", "off", ""):
            raise InvalidArgument(f"\\timing {text}: give on or off")
        self._timing = not self._timing if not text else text == "on"
        self._say(f"Timing is {'on' if self._timing else 'off'}.")

    def _include(self, path: str) -> None:
        with open(path, encoding="utf-8-sig") as file:
            self.run_all(file.read())

    def _quit(self, _: str) -> None:
        self.ended = True

    def _help(self, _: str) -> None:
        self._say(HELP.rstrip("\n"))
