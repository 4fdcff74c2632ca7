"""The rows of an answer as a table of text, CSV, JSON or Arrow. Each takes an iterator of record batches, of which there is at least one."""
import base64
import decimal
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np

from eris.tables import pyarrow

Batches = Iterable[Any]


def _rows(batch: Any) -> Iterator[tuple[Any, ...]]:
    """Values of Python; dates and timestamps are texts, because they may lie outside Python's years."""
    arrow = pyarrow()

    def values(column: Any) -> Iterable[Any]:
        if column.type == arrow.date32():
            return [None if days is None else _day(days) for days in column.cast(arrow.int32()).to_pylist()]
        if arrow.types.is_timestamp(column.type):
            return [None if micros is None else _moment(micros) for micros in column.cast(arrow.int64()).to_pylist()]
        return column.to_pylist()  # type: ignore[no-any-return]
    return zip(*map(values, batch.columns)) if batch.num_columns else iter(())


def _day(days: int) -> str:
    """As the command line prints it: years before 0 with four digits, too, which numpy does not do."""
    year, month, day = str(np.datetime64(days, "D")).rsplit("-", 2)
    return f"{'-' if year.startswith('-') else ''}{abs(int(year)):04d}-{month}-{day}"


def _moment(micros: int) -> str:
    """As the command line prints it: without zeros at the end of the fraction. The least one is numpy's NaT."""
    days, of_day = divmod(micros, 86_400_000_000)
    seconds, fraction = divmod(of_day, 1_000_000)
    text = f"{_day(days)} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return repr(value) if isinstance(value, float) else str(value)


def _shown(value: Any) -> str:
    """In a table: nothing that a terminal would obey, and no line end."""
    if value is None:
        return "-"
    return "".join(each if each.isprintable() else _escape(each) for each in _text(value))


def _escape(character: str) -> str:
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return known.get(character) or "".join(f"\\x{byte:02x}" for byte in character.encode())


def _is_number(batch: Any, column: int) -> bool:
    types, its = pyarrow().types, batch.schema.field(column).type
    return bool(types.is_integer(its) or types.is_floating(its) or types.is_decimal(its))


def write_table(batches: Batches, out: BinaryIO, rows_max: int | None = None) -> int:
    """Aligned columns, nulls as "-". At most `rows_max` rows are shown, and how many more there are. Gives the number of all rows."""
    names, right, cells, rows = list[str](), list[bool](), list[list[str]](), 0
    for batch in batches:
        names = [_shown(name) for name in batch.schema.names]
        right = [_is_number(batch, number) for number in range(len(names))]
        room = batch.num_rows if rows_max is None else max(0, rows_max - len(cells))
        rows += batch.num_rows
        cells += [[_shown(value) for value in row] for row in _rows(batch.slice(0, room))]
    widths = [max(len(line[column]) for line in [names, *cells]) for column in range(len(names))]
    for line in [names, *cells]:
        aligned = [cell.rjust(width) if side else cell.ljust(width) for cell, width, side in zip(line, widths, right)]
        out.write("  ".join(aligned).rstrip().encode() + b"\n")
    if rows > len(cells):
        out.write(f"... {rows - len(cells):,} more rows: \\rows all shows them\n".encode())
    return rows


def _csv_cell(value: Any) -> str:
    """As `eris scan --format csv`: a null is an empty field, an empty string is in quotes."""
    if value is None:
        return ""
    text = _text(value)
    in_quotes = isinstance(value, str) and (text == "" or any(mark in text for mark in ',"\r\n'))
    return '"' + text.replace('"', '""') + '"' if in_quotes else text


def write_csv(batches: Batches, out: BinaryIO) -> int:
    """A line with the names, then one for each row. Gives the number of rows."""
    rows = -1
    for batch in batches:
        if rows < 0:
            rows = 0
            out.write(",".join(map(_csv_cell, batch.schema.names)).encode() + b"\n")
        for row in _rows(batch):
            out.write(",".join(map(_csv_cell, row)).encode() + b"\n")
        rows += batch.num_rows
    return max(rows, 0)


def _json_value(value: Any, is_wide: bool) -> Any:
    """Text for integers of 64 bits and decimals, which readers of JSON would round."""
    if value is None or isinstance(value, float) and math.isfinite(value) or isinstance(value, int) and not is_wide:
        return value
    return _text(value)


def _json_member(name: str, value: Any, is_wide: bool) -> tuple[str, Any]:
    """As `eris scan --output json`: bytes are text if they are UTF-8, and else in base64, under a name that says so."""
    if not isinstance(value, bytes):
        return name, _json_value(value, is_wide)
    try:
        return name, value.decode()
    except UnicodeDecodeError:
        return f"{name}_base64", base64.b64encode(value).decode()


def write_json(batches: Batches, out: BinaryIO) -> int:
    """An array with an object for each row, which is a line. Gives the number of rows."""
    rows = 0
    for batch in batches:
        wide = [field.type.bit_width != 32 if _is_number(batch, number) else False for number, field in enumerate(batch.schema)]
        for row in _rows(batch):
            values = dict(_json_member(name, value, its) for name, value, its in zip(batch.schema.names, row, wide))
            out.write(b"[\n  " if rows == 0 else b",\n  ")
            out.write(json.dumps(values, ensure_ascii=False).encode())
            rows += 1
    out.write(b"\n]\n" if rows else b"[]\n")
    return rows


def write_arrow(batches: Batches, out: BinaryIO) -> int:
    """A stream of Arrow's IPC format. Gives the number of rows."""
    writer, rows = None, 0
    for batch in batches:
        writer = writer or pyarrow().ipc.new_stream(out, batch.schema)
        writer.write_batch(batch)
        rows += batch.num_rows
    if writer is not None:
        writer.close()
    return rows


FORMATS: dict[str, Callable[[Batches, BinaryIO], int]] = {"table": write_table, "csv": write_csv, "json": write_json, "arrow": write_arrow}
