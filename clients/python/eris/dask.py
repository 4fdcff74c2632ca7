"""Objects as dataframes of Dask: a partition for each range of keys that an AEU owns, on one server or on those of a map.

    frame = eris.dask.read("127.0.0.1:7411", "lineitem", filter="l_discount < 0.05")
    frame.l_tax.sum().compute()

A task connects to the server that has its range, and reads the columns that the computation needs. Tasks of Dask run at any time, also twice, so
each shows a moment of its own: no snapshot could be kept for them. A row is in one partition at any time, since its key is.
"""
import datetime
import functools
import importlib
import math
import uuid
from collections.abc import Sequence
from typing import Any

import pyarrow  # type: ignore[import-untyped]

from eris import ranges
from eris.errors import InvalidArgument
from eris.schema import ObjectInfo, Piece, Type
from eris.sync import Database, connect

dataframe: Any = importlib.import_module("dask.dataframe")
pandas: Any = importlib.import_module("pandas")

def read(address: str, name: str, columns: Sequence[str] | None = None, *, filter: str | None = None, cuts: Sequence[Any] | None = None,
         timeout: float = 30.0) -> Any:
    """A dask.dataframe of a table or an index. `address`: as for eris.connect(), also a map. `columns`: None for all. `filter`: of a table, as
    `eris scan --filter` reads it. `cuts`: values of the first key column at which partitions begin; None: where ranges of AEUs do.
    An index has its first key column as the frame's index, and known divisions.

    Errors: those of eris.connect(); NotFound; FailedPrecondition (a hash); InvalidArgument.
    """
    with connect(address, timeout=timeout) as db:
        info = db.describe(name)
        names = [column.name for column in info.columns]
        for each in columns or ():
            if each not in names:
                raise InvalidArgument(f"there is no column {each!r} in {name!r}; there are {names}")
        its, parts = ranges.divide(db, info, filter, cuts)
        divisions = _divisions(db, info, parts) if info.kind == "index" else None
        schema = pyarrow.schema([(field.name, field.type) for field in its])
    index = info.key[0].name if info.kind == "index" else None
    reader = Reader(info, filter, index, schema, timeout)
    shown = [each for each in names if each != index] if columns is None else [each for each in columns if each != index]
    meta = reader.frame(schema.empty_table(), [each for each in names if each != index])
    return dataframe.from_map(reader, parts, columns=shown, meta=meta, divisions=divisions, label=f"eris-{name}", enforce_metadata=False)


class Reader:
    """Makes a partition. It is sent to the workers."""

    def __init__(self, info: ObjectInfo, filter: str | None, index: str | None, schema: Any, timeout: float) -> None:
        self._info, self._filter, self._index, self._schema, self._timeout = info, filter, index, schema, timeout
        self._number = uuid.uuid4().hex  # another read() has other rows, and other names of its tasks

    def __call__(self, part: Piece, columns: Sequence[str] | None = None) -> Any:
        names = [field.name for field in self._schema if field.name != self._index] if columns is None else list(columns)
        schema, batches = ranges.read(_database(part.address, self._timeout), self._info, part, names, self._filter)
        return self.frame(pyarrow.Table.from_batches(batches, schema=schema), names)

    def frame(self, table: Any, names: Sequence[str]) -> Any:
        """In pandas, with types that do not depend on the rows: numbers that are never null are numpy's, others are Arrow's."""
        made = {}
        for field, column in zip(self._schema, (table[its.name] if its.name in table.column_names else None for its in self._schema)):
            if column is None:
                continue
            if pyarrow.types.is_decimal(field.type):  # pandas has those of 128 bits
                column = column.cast(pyarrow.decimal128(18, field.type.scale))
            plain = not self._nullable(field.name) and (pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type))
            made[field.name] = column.to_pandas(types_mapper=None if plain else pandas.ArrowDtype)
        frame = pandas.DataFrame(made)
        if self._index is not None:
            frame = frame.set_index(self._index)
        return frame[list(names)]

    def _nullable(self, name: str) -> bool:
        return next(column.nullable for column in self._info.columns if column.name == name)


@functools.lru_cache
def _database(address: str, timeout: float) -> Database:
    """One for all tasks of a process; gRPC connects again if it breaks."""
    return connect(address, timeout=timeout)


def _divisions(db: Database, info: ObjectInfo, parts: list[Piece]) -> tuple[Any, ...] | None:
    """Where the partitions of an index begin, and where the last one ends; None for an index without rows. The outer ones are the least and
    the greatest key, if they are in the outer partitions."""
    def end(backward: bool) -> Any:
        for keys, _ in db.index(info.name).scan(limit=1, backward=backward):
            return (keys[0] if isinstance(keys, tuple) else keys)[0].item()
        return None

    least, greatest = end(False), end(True)
    if least is None:
        return None
    lowest, highest = _ENDS[info.key[0].type]
    begins = [part.lo for part in parts[1:]]
    if begins and least >= begins[0]:
        least = lowest if parts[0].lo is None else parts[0].lo
    if begins and greatest < begins[-1]:
        greatest = highest if parts[-1].hi is None else parts[-1].hi
    return (least, *begins, greatest)


_ENDS = {Type.UINT64: (0, 2**64 - 1), Type.INT64: (1 - 2**63, 2**63 - 1), Type.FLOAT64: (-math.inf, math.inf),
         Type.DATE: (datetime.date.min, datetime.date.max), Type.TIMESTAMP: (datetime.datetime.min, datetime.datetime.max)}
