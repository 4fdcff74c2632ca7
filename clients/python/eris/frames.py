"""Frames of pandas, Polars, DuckDB and Arrow, and files of Parquet: what table they make, and their rows as a table has them.

Columns are found by their names. Nothing is converted that might lose something. What a column does not take is refused with InvalidArgument,
which names the column, both types, and the cast that helps.
"""
import dataclasses
import datetime
import decimal
import importlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from eris.columns import BYTE_STRINGS
from eris.errors import InvalidArgument
from eris.schema import Column, ObjectInfo, Type
from eris.tables import pyarrow, schema_of, type_of

PIECE_ROWS = 1 << 18  # that are looked at together: the last row of a key among them is sent
PIECE_BYTES = 64 << 20
_SCALE_MAX = 18


@dataclasses.dataclass(frozen=True)
class Source:
    """Rows, or a schema alone. `batches`: record batches of pyarrow, of the columns named or all; None if there are no rows. `repeats`:
    it can be called again."""

    schema: Any
    batches: Callable[[Sequence[str] | None], Iterator[Any]] | None = None
    repeats: bool = True


def source_of(frame: Any) -> Source:
    """Errors: InvalidArgument (nothing that has columns of Arrow)."""
    arrow = pyarrow()
    try:
        if isinstance(frame, (str, os.PathLike)):
            return _parquet(os.fspath(frame))
        if isinstance(frame, arrow.Schema):
            return Source(frame)
        if isinstance(frame, Mapping):
            return _whole(arrow.table(dict(frame)))
        if _package(frame) == "pandas" and hasattr(frame, "columns"):
            return _whole(arrow.Table.from_pandas(frame, preserve_index=False))  # the index is no column
        if isinstance(frame, arrow.RecordBatch):
            return _whole(arrow.Table.from_batches([frame]))
        if isinstance(frame, arrow.Table):
            return _whole(frame)
        if hasattr(frame, "__arrow_c_stream__"):
            return _stream(frame)
        if hasattr(frame, "__arrow_c_array__"):
            return _whole(arrow.Table.from_batches([arrow.record_batch(frame)]))
        if hasattr(frame, "__arrow_c_schema__"):
            return Source(arrow.schema(frame))
    except (arrow.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgument(f"these are no columns: {error}") from None
    hint = "; call collect() first" if hasattr(frame, "collect") else ""
    raise InvalidArgument("a frame of pandas, Polars, DuckDB or Arrow, a path of a Parquet file, a dict of columns, or a schema of Arrow is "
                          f"needed: got type {type(frame).__name__}{hint}")


def _package(frame: object) -> str:
    return type(frame).__module__.partition(".")[0]


def _whole(table: Any) -> Source:
    return Source(table.schema, lambda names: iter((table if names is None else table.select(names)).to_batches()))


def _stream(frame: Any) -> Source:
    reader = pyarrow().RecordBatchReader
    if isinstance(frame, reader):
        return Source(frame.schema, lambda names: iter(frame), repeats=False)

    def batches(names: Sequence[str] | None) -> Iterator[Any]:
        for batch in reader.from_stream(frame):
            yield batch if names is None else batch.select(names)

    # A frame of Polars has its rows; others might compute them again.
    return Source(reader.from_stream(frame).schema, batches, repeats=_package(frame) == "polars")


def _parquet(path: str) -> Source:
    file = importlib.import_module("pyarrow.parquet").ParquetFile(path)
    return Source(file.schema_arrow, lambda names: iter(file.iter_batches(columns=names)))


# --- what table a schema makes -------------------------------------------------------------------


def columns_of(schema: Any, key: Sequence[str], nullable: bool | Sequence[str] | None) -> list[Column]:
    """A table's columns. `nullable`: None as in the schema, all columns outside the key or none of them, or their names."""
    names = [] if nullable is None or isinstance(nullable, bool) else list(nullable)
    for name in [*key, *names]:
        if name not in schema.names:
            raise InvalidArgument(f"there is no column {name!r}; there are {schema.names}")
    made = []
    for field in schema:
        may = field.nullable if nullable is None else nullable if isinstance(nullable, bool) else field.name in names
        if field.name in key and field.name in names:
            raise InvalidArgument(f"column {field.name!r} is in the key: it cannot be nullable")
        made.append(_column_of(field, may and field.name not in key))
    return made


def _column_of(field: Any, nullable: bool) -> Column:
    kind = _kind(field.type)
    if kind == "decimal":
        scale = _value_type(field.type).scale
        if 0 <= scale <= _SCALE_MAX:
            return Column(field.name, Type.DECIMAL64, scale, nullable)
        raise InvalidArgument(f"column {field.name!r} is {field.type}: a table's decimals have 0 to {_SCALE_MAX} digits behind the point; "
                              f"cast it to decimal128(18, {min(max(scale, 0), _SCALE_MAX)}) or to float64")
    its = {"int8": Type.INT32, "int16": Type.INT32, "int32": Type.INT32, "uint8": Type.INT32, "uint16": Type.INT32, "uint32": Type.INT64,
           "int64": Type.INT64, "uint64": Type.UINT64, "halffloat": Type.FLOAT64, "float": Type.FLOAT64, "double": Type.FLOAT64,
           "date32[day]": Type.DATE, "timestamp": Type.TIMESTAMP, "string": Type.STRING, "binary": Type.BYTES}.get(kind)
    if its is None:
        raise InvalidArgument(f"column {field.name!r} is {field.type}, which no table has: {_helps(field.type)}")
    return Column(field.name, its, 0, nullable)


def _helps(its: Any) -> str:
    """The cast that helps where no column takes a type."""
    types = pyarrow().types
    if types.is_boolean(its):
        return "cast it to int32"
    if types.is_date(its):
        return "cast it to date32 for the day, or to timestamp('us') for the time, too"
    if types.is_time(its) or types.is_duration(its):
        return "cast it to int64"
    if types.is_null(its):
        return "cast it to the type that its values will have"
    return "make columns of its parts, or cast it to string"


def _value_type(its: Any) -> Any:
    return its.value_type if pyarrow().types.is_dictionary(its) else its


def _kind(its: Any) -> str:
    """What of an Arrow type matters: "decimal", "timestamp", "string", "binary", or its name."""
    its, types = _value_type(its), pyarrow().types
    if types.is_decimal(its):
        return "decimal"
    if types.is_timestamp(its):
        return "timestamp"
    if types.is_string(its) or types.is_large_string(its) or types.is_string_view(its):
        return "string"
    if types.is_binary(its) or types.is_large_binary(its) or types.is_binary_view(its):
        return "binary"
    return str(its)


# --- rows as a table has them --------------------------------------------------------------------

_SIGNED, _SMALL = ("int8", "int16", "int32", "int64"), ("uint8", "uint16")
# What each type takes: what it has room for. Signed integers for uint64 are looked at one by one, and so are decimals, and timestamps of other
# units. A zone says how a timestamp is shown: its number is UTC.
_TAKES: dict[Type, tuple[str, ...]] = {
    Type.UINT64: (*_SIGNED, *_SMALL, "uint32", "uint64"), Type.INT64: (*_SIGNED, *_SMALL, "uint32"),
    Type.INT32: (*_SIGNED[:3], *_SMALL), Type.FLOAT64: ("halffloat", "float", "double"), Type.DATE: ("date32[day]",),
    Type.TIMESTAMP: ("timestamp",),
    Type.DECIMAL64: ("decimal",), Type.STRING: ("string",), Type.BYTES: ("binary",)}


def pieces_of(source: Source, info: ObjectInfo) -> Iterator[Any]:
    """Record batches of at least one row, with the table's columns in their order and types.

    Errors: InvalidArgument (columns, or values that a column does not take).
    """
    if source.batches is None:
        raise InvalidArgument("rows are needed: got a schema")
    names = [column.name for column in info.columns]
    if sorted(source.schema.names) != sorted(names):
        missing, unknown = ([name for name in of if name not in others] for of, others in
                            ((names, source.schema.names), (source.schema.names, names)))
        raise InvalidArgument(f"table {info.name!r} has the columns {names}; missing: {missing}, unknown or twice: "
                              f"{unknown or [name for name in names if source.schema.names.count(name) > 1]}")
    schema, waiting, rows, size = schema_of(info.columns), [], 0, 0
    for field in map(source.schema.field, names):
        check(info.columns[names.index(field.name)], field.type)
    for batch in source.batches(None):
        for part in _cut(batch):
            arrays = [_fit(column, part.column(column.name)) for column in info.columns]
            waiting.append(pyarrow().RecordBatch.from_arrays(arrays, schema=schema))
            rows, size = rows + part.num_rows, size + waiting[-1].nbytes
            if rows >= PIECE_ROWS or size >= PIECE_BYTES:
                yield _joined(waiting)
                waiting, rows, size = [], 0, 0
    if rows:
        yield _joined(waiting)


def _cut(batch: Any) -> Iterator[Any]:
    step = PIECE_ROWS
    if batch.nbytes > PIECE_BYTES:
        step = max(1, min(step, batch.num_rows * PIECE_BYTES // batch.nbytes))
    for begin in range(0, batch.num_rows, step):
        yield batch.slice(begin, step)


def _joined(batches: list[Any]) -> Any:
    return batches[0] if len(batches) == 1 else pyarrow().concat_batches(batches)


def check(column: Column, given: Any) -> None:
    """Errors: InvalidArgument (a column does not take the type)."""
    kind = _kind(given)
    if kind in _TAKES[column.type] or (kind == "null" and column.nullable):
        return
    wanted = {Type.DECIMAL64: f"decimal128(18, {column.scale})", Type.TIMESTAMP: "timestamp('us')"}.get(
        column.type, str(type_of(column)).split("[")[0])
    raise InvalidArgument(f"column {column.name!r} is {column.type.value} in the table and {given} in the frame: cast it to {wanted}")


def _fit(column: Column, array: Any) -> Any:
    wanted, arrow = type_of(column), pyarrow()
    if array.null_count and not column.nullable:
        row = array.is_valid().index(False).as_py()
        raise InvalidArgument(f"column {column.name!r} is not nullable, and has {array.null_count} nulls, the first one in row {row} of a batch "
                              "of the frame: fill them, or create the table with nullable=")
    try:
        if arrow.types.is_dictionary(array.type):
            return array.dictionary.cast(wanted).take(array.indices)
        return arrow.nulls(len(array), wanted) if arrow.types.is_null(array.type) else array.cast(wanted)
    except arrow.ArrowException as error:
        raise InvalidArgument(f"column {column.name!r} is {column.type.value}{f'({column.scale})' if column.scale else ''} in the table, and "
                              f"has a value of {array.type} that does not fit: {error}") from None


def new_table(frame: Any, key: str | Sequence[str], nullable: bool | Sequence[str] | None, expect: tuple[Any, Any] | None,
              look: bool) -> tuple[list[Column], list[str], Column | None, tuple[Any, Any] | None]:
    """Of a table for a frame: its columns, the names of its key, the first column of that, and where its values are expected. `look`: in the
    frame, if `expect` does not say it."""
    names = [key] if isinstance(key, str) else [*key]
    source = source_of(frame)
    columns = columns_of(source.schema, names, nullable)
    first = next((column for column in columns if column.name in names[:1]), None)
    if first is not None and expect is None and look:
        expect = bounds_of(source, first)
    return columns, names, first, expect


def bounds_of(source: Source, column: Column) -> tuple[Any, Any] | None:
    """The least value of a key column, and the one after its greatest value, as Python's; None if they are unknown."""
    if source.batches is None or not source.repeats or column.type in BYTE_STRINGS:
        return None
    compute = importlib.import_module("pyarrow.compute")
    wide = pyarrow().decimal128(38, column.scale) if column.type is Type.DECIMAL64 else None
    found = []
    for batch in source.batches([column.name]):
        array = _fit(dataclasses.replace(column, nullable=True), batch.column(0))
        ends = compute.min_max(array if wide is None else array.cast(wide))
        try:
            found += [value.as_py() for value in ends.values() if value.is_valid]
        except (OverflowError, ValueError):  # Python has the years 1 to 9999
            return None
    after = _after(column, max(found)) if found else None
    return None if after is None else (min(found), after)


def _after(column: Column, value: Any) -> Any:
    """The next value of the column's type; None if there is none."""
    if column.type is Type.FLOAT64:
        return math.nextafter(value, math.inf) if math.isfinite(value) else None
    if column.type is Type.DATE:
        return value + datetime.timedelta(days=1) if value < datetime.date.max else None
    if column.type is Type.TIMESTAMP:
        return value + datetime.timedelta(microseconds=1) if value < datetime.datetime.max else None
    if column.type is Type.DECIMAL64:
        return value + decimal.Decimal(1).scaleb(-column.scale)
    last = {Type.UINT64: 2**64, Type.INT64: 2**63, Type.INT32: 2**31}[column.type] - 1
    return value + 1 if value < last else None
