"""Objects as dataframes of Spark 4.3 or later, by its Python data sources: a partition for each range of keys that an AEU owns, or for each
share of one moment, on one server or on those of a map.

    eris.spark.register(session)
    frame = session.read.format("eris").options(address="127.0.0.1:7411", object="lineitem").load()
    frame.write.format("eris").options(address="127.0.0.1:7411", object="copy").mode("append").save()

Options: `address` as for eris.connect(), also a map; `object`; for reading also `columns`, separated by commas; `filter`, of a table, as
`eris scan --filter` reads it; `shares`: all rows of one moment, in so many partitions or more; `timeout` in seconds.

Spark asks for the partitions once for each load(), and may read them any number of times. Ranges are read as they are then. Shares are tickets
of a snapshot: they may be read again while it is held, a second after all have been read, but not later.
"""
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow  # type: ignore[import-untyped]

from eris import ranges
from eris.errors import FailedPrecondition, InvalidArgument
from eris.filters import literal_of, quoted
from eris.frames import check
from eris.schema import Column, ObjectInfo, Piece, Type
from eris.sync import Database, connect
from eris.tables import type_of

datasource: Any = importlib.import_module("pyspark.sql.datasource")
spark_types: Any = importlib.import_module("pyspark.sql.types")
arrow_types: Any = importlib.import_module("pyspark.sql.pandas.types")

_ROWS = 1 << 18  # that are written together
_COMPARISONS = {"EqualTo": "=", "GreaterThan": ">", "GreaterThanOrEqual": ">=", "LessThan": "<", "LessThanOrEqual": "<="}


def register(session: Any) -> None:
    """Makes the format "eris" known to a session, and switches on that filters are pushed to Python data sources: without it Spark refuses those
    that take filters."""
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    session.dataSource.register(Source)


class Source(datasource.DataSource):  # type: ignore[misc]
    """The format "eris"."""

    @classmethod
    def name(cls) -> str:
        return "eris"

    def schema(self) -> Any:
        """Of the columns that are read. uint64 is decimal(20, 0), which has room for it."""
        with _connect(self.options) as db:
            info = db.describe(self.options["object"])
        columns = {column.name: column for column in info.columns}
        names = [each.strip() for each in self.options.get("columns", "").split(",") if each.strip()] or list(columns)
        for name in names:
            if name not in columns:
                raise InvalidArgument(f"there is no column {name!r} in {info.name!r}; there are {list(columns)}")
        return spark_types.StructType([spark_types.StructField(name, _spark_type(columns[name])) for name in names])

    def reader(self, schema: Any) -> "Reader":
        with _connect(self.options) as db:
            info = db.describe(self.options["object"])
        if info.kind == "hash":
            raise FailedPrecondition(f"{info.name!r} is a hash, which has no scan")
        return Reader(dict(self.options), info, schema)

    def writer(self, schema: Any, overwrite: bool) -> "Writer":
        if overwrite:
            raise InvalidArgument('rows are upserted: write with mode("append")')
        with _connect(self.options) as db:
            info = db.describe(self.options["object"])
        if info.kind == "heap table":
            raise FailedPrecondition(f"{info.name!r} is a heap table: a task that Spark repeats would append its rows again. "
                                     "Write to a table with a key")
        return Writer(dict(self.options), info)


class Reader(datasource.DataSourceReader):  # type: ignore[misc]
    """The values of its partitions are ranges, or endpoints."""

    def __init__(self, options: Mapping[str, str], info: ObjectInfo, schema: Any) -> None:
        self._options, self._info, self._schema = options, info, schema
        self._conditions = [f"({options['filter']})"] if options.get("filter") else []

    def pushFilters(self, filters: Sequence[Any]) -> Iterable[Any]:
        """What the server can evaluate is asked for. Spark applies all of them again."""
        if self._info.kind != "index":  # which has no filter
            columns = {column.name: column for column in self._info.columns}
            self._conditions += [text for text in (_condition(columns, each) for each in filters) if text is not None]
        return filters

    def partitions(self) -> Sequence[Any]:
        with _connect(self._options) as db:
            if "shares" not in self._options:
                return [datasource.InputPartition(part) for part in ranges.divide(db, self._info, self._filter())[1]]
            names = self._schema.fieldNames()
            if self._info.kind == "index":
                key = [column.name for column in self._info.key]
                names = key if set(names) <= set(key) else None
            plan = db.flight_info(self._info.name, names, filter=self._filter(), shares=int(self._options["shares"]))
            return [datasource.InputPartition(each) for each in plan.endpoints] or [datasource.InputPartition(None)]

    def read(self, partition: Any) -> Iterator[Any]:
        its = partition.value
        if its is None:  # there is no share that has rows
            return
        schema = arrow_types.to_arrow_schema(self._schema, timezone="UTC")
        with connect(its.address, timeout=_timeout(self._options)) as db:
            if isinstance(its, Piece):
                _, batches = ranges.read(db, self._info, its, schema.names, self._filter())
            else:
                batches = db.flight_read(its.ticket)
            for batch in batches:
                if batch.num_rows:
                    yield pyarrow.RecordBatch.from_arrays([batch.column(its.name).cast(its.type) for its in schema], schema=schema)

    def _filter(self) -> str | None:
        return " and ".join(self._conditions) or None


class Writer(datasource.DataSourceArrowWriter):  # type: ignore[misc]
    """Upserts: a task that is repeated writes the same rows again."""

    def __init__(self, options: Mapping[str, str], info: ObjectInfo) -> None:
        self._options, self._info = options, info

    def write(self, iterator: Iterator[Any]) -> Any:
        with _connect(self._options) as db:
            waiting: list[Any] = []
            for batch in iterator:
                waiting.append(batch)
                if sum(each.num_rows for each in waiting) >= _ROWS:
                    self._write(db, pyarrow.Table.from_batches(waiting))
                    waiting = []
            if waiting:
                self._write(db, pyarrow.Table.from_batches(waiting))
        return datasource.WriterCommitMessage()

    def _write(self, db: Database, rows: Any) -> None:
        for column in self._info.columns:
            if column.type is Type.UINT64 and column.name in rows.column_names and pyarrow.types.is_decimal(rows[column.name].type):
                number = rows.column_names.index(column.name)
                rows = rows.set_column(number, column.name, _integers(column, rows[column.name]))
        if self._info.kind == "table":
            db.table(self._info.name).write(rows)
            return
        names = [column.name for column in self._info.columns]
        if sorted(rows.column_names) != sorted(names):
            raise InvalidArgument(f"{self._info.name!r} has the columns {names}: got {rows.column_names}")
        *keys, values = [_array(column, rows[column.name]) for column in self._info.columns]
        given = keys[0] if len(keys) == 1 else tuple(keys)
        (db.index if self._info.kind == "index" else db.hash)(self._info.name).put(given, values)


def _connect(options: Mapping[str, str]) -> Database:
    for name in ("address", "object"):
        if name not in options:
            raise InvalidArgument(f"the option {name!r} is needed")
    return connect(options["address"], timeout=_timeout(options))


def _timeout(options: Mapping[str, str]) -> float:
    return float(options.get("timeout", 30))


def _spark_type(column: Column) -> Any:
    its, types = type_of(column), pyarrow.types
    if types.is_decimal(its):
        return spark_types.DecimalType(its.precision, its.scale)
    if types.is_uint64(its):
        return spark_types.DecimalType(20, 0)
    return {"int64": spark_types.LongType, "int32": spark_types.IntegerType, "double": spark_types.DoubleType, "date32[day]": spark_types.DateType,
            "timestamp[us]": spark_types.TimestampNTZType, "string": spark_types.StringType, "binary": spark_types.BinaryType}[str(its)]()


def _integers(column: Column, array: Any) -> Any:
    try:
        return array.cast(pyarrow.uint64())
    except pyarrow.ArrowException as error:
        raise InvalidArgument(f"column {column.name!r} is uint64, and has a number that does not fit: {error}") from None


def _array(column: Column, array: Any) -> Any:
    """A column of an index, in numpy."""
    if array.null_count:
        raise InvalidArgument(f"column {column.name!r} has {array.null_count} nulls, and rows of an index have none")
    wanted = type_of(column)
    check(column, array.type)
    try:
        made = array.cast(wanted).combine_chunks()
    except pyarrow.ArrowException as error:
        raise InvalidArgument(f"column {column.name!r} is {column.type.value}, and the frame has {array.type}: {error}") from None
    return made.to_numpy(zero_copy_only=False)


def _condition(columns: Mapping[str, Column], filter: Any) -> str | None:
    """A condition of the server's that is true wherever the filter is, or None."""
    kind = type(filter).__name__
    if kind == "Not":
        inner = _condition(columns, filter.child) if type(filter.child).__name__ in ("EqualTo", "In") else None
        return None if inner is None or columns[filter.child.attribute[0]].type is Type.FLOAT64 else f"not ({inner})"
    path: Sequence[str] = getattr(filter, "attribute", ())
    if len(path) != 1 or path[0] not in columns:
        return None
    column, name = columns[path[0]], quoted(path[0])
    if kind in ("IsNull", "IsNotNull"):
        return f"{name} is {'not ' if kind == 'IsNotNull' else ''}null"
    if kind == "In":
        texts = [_literal(column, value) for value in filter.value]
        return f"{name} in ({', '.join(its for its in texts if its)})" if texts and all(texts) and column.type is not Type.FLOAT64 else None
    text = _literal(column, getattr(filter, "value", None)) if kind in _COMPARISONS else None
    # In Spark a NaN is greater than all other numbers, and equal to itself: only what is false for it is asked for.
    if text is None or (column.type is Type.FLOAT64 and not kind.startswith("LessThan")):
        return None
    return f"{name} {_COMPARISONS[kind]} {text}"


def _literal(column: Column, value: Any) -> str | None:
    if isinstance(value, bytearray):
        value = bytes(value)
    if column.type is Type.UINT64 and type(value).__name__ == "Decimal" and value == int(value):
        value = int(value)
    return literal_of(column, value)
