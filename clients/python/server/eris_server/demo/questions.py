"""TPC-H's queries 1, 6 and 3 through the client's sql(), and the same texts in DuckDB, if that is installed: equal digits get a tick."""
import importlib
import importlib.util
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import eris

from eris_server.demo.refusal import Refusal
from eris_server.demo.screen import Screen
from eris_server.demo.tables import TABLES

QUERIES = pathlib.Path(__file__).resolve().parent / "queries"
ASKED = ((1, "sums and averages over nearly all of lineitem"), (6, "one sum behind three filters"), (3, "a join of three tables, the ten best"))
ROUNDS = 3
# The types of ERIS in the words of DuckDB.
TYPES = {eris.Type.INT32: "integer", eris.Type.INT64: "bigint", eris.Type.DATE: "date", eris.Type.STRING: "varchar"}

Rows = Sequence[Sequence[Any]]


def text_of(number: int) -> str:
    return (QUERIES / f"q{number:02}.sql").read_text()


def fastest(ask: Callable[[], Rows]) -> tuple[Rows, float]:
    """The rows of the last round, and the seconds of the fastest."""
    rows: Rows = ()
    seconds = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        rows = ask()
        seconds = min(seconds, time.perf_counter() - started)
    return rows, seconds


def eris_rows(database: eris.Database, text: str) -> Rows:
    answer = database.sql(text).arrow()
    return list(zip(*(column.to_pylist() for column in answer.columns)))


def difference(got: Rows, wanted: Rows) -> str:
    """The first cell that is not equal in all digits; empty if there is none."""
    if len(got) != len(wanted):
        return f"ERIS has {len(got)} rows, DuckDB {len(wanted)}"
    for number, (row, its) in enumerate(zip(got, wanted), 1):
        if len(row) != len(its):
            return f"row {number}: ERIS has {len(row)} columns, DuckDB {len(its)}"
        for column, (cell, other) in enumerate(zip(row, its), 1):
            if cell != other:
                return f"row {number}, column {column}: ERIS says {cell}, DuckDB says {other}"
    return ""


def declaration(column: eris.Column) -> str:
    kind = TYPES.get(column.type) or f"decimal(15, {column.scale})"
    return f"{column.name} {kind} not null"


class DuckDB:
    """DuckDB with the same files in tables of its own, in the memory of this process."""

    def __init__(self, database: eris.Database, folder: pathlib.Path) -> None:
        self._its = importlib.import_module("duckdb").connect()
        self._its.execute("set enable_progress_bar = false")
        for table in TABLES:
            columns = ", ".join(map(declaration, database.describe(table).columns))
            file = str(folder / f"{table}.tbl").replace("'", "''")
            self._its.execute(f"create table {table} ({columns})")
            self._its.execute(f"copy {table} from '{file}' (delimiter '|', header false)")

    def rows(self, text: str) -> Rows:
        answer: Rows = self._its.execute(text).fetchall()
        return answer

    def close(self) -> None:
        self._its.close()


def has_duckdb() -> bool:
    return importlib.util.find_spec("duckdb") is not None


def load_duckdb(screen: Screen, database: eris.Database, folder: pathlib.Path) -> DuckDB | None:
    if not has_duckdb():
        screen.line("      DuckDB is not installed, so nothing is compared: pip install duckdb")
        return None
    started = time.monotonic()
    screen.draw(["      DuckDB loads the same files"])
    duckdb = DuckDB(database, folder)
    screen.line(f"      DuckDB has loaded the same files in {time.monotonic() - started:.1f} s")
    return duckdb


def ask(screen: Screen, database: eris.Database, duckdb: DuckDB | None) -> None:
    """Errors: Refusal if an answer differs from DuckDB's."""
    screen.line(f"      best of {ROUNDS:<16} {'ERIS':>9}  {'DuckDB' if duckdb else '':>9}")
    for number, what in ASKED:
        text = text_of(number)
        rows, seconds = fastest(lambda: eris_rows(database, text))
        line = f"      Q{number}, {len(rows):>2} row{'s' if len(rows) != 1 else ' '}{'':<13} {1e3 * seconds:6.1f} ms"
        if duckdb is None:
            screen.line(f"{line}   {what}")
            continue
        wanted, its = fastest(lambda: duckdb.rows(text))
        wrong = difference(rows, wanted)
        screen.line(f"{line}  {1e3 * its:6.1f} ms  {screen.tick if not wrong else 'WRONG'}  {what}")
        if wrong:
            raise Refusal(f"the answers to query {number} differ: {wrong}")
