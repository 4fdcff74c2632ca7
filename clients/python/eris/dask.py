"""Objects as dataframes of Dask: a partition for each range of keys that an AEU owns, on one server or on those of a map.

    frame = eris.dask.read("127.0.0.1:7411", "lineitem", filter="l_discount < 0.05")
    frame.l_tax.sum().compute()

A task connects to the server that has its range, and reads the columns that the computation needs. Tasks of Dask run at any time, also twice, so
each shows a moment of its own: no snapshot could be kept for them. A row is in one partition at any time, since its key is.
"""
import datetime
import decimal
import functools
import importlib
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow  # type: ignore[import-untyped]

from eris.errors import FailedPrecondition, InvalidArgument
from eris.filters import literal_of
from eris.schema import Column, ObjectInfo, Piece, Type
from eris.servers import number_of, value_of
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
        if info.kind == "hash":
            raise FailedPrecondition(f"{name!r} is a hash, which has no scan")
        names = [column.name for column in info.columns]
        for each in columns or ():
            if each not in names:
                raise InvalidArgument(f"there is no column {each!r} in {name!r}; there are {names}")
        plan = db.flight_info(name, filter=filter, shares=1)
        try:
            parts = _parts(db, info, plan.endpoints, cuts)
        finally:
            db.flight_cancel(plan)
        divisions = _divisions(db, info, parts) if info.kind == "index" else None
        schema = pyarrow.schema([(field.name, field.type) for field in plan.schema])
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
        db = _database(part.address, self._timeout)
        if self._index is not None:
            key = [column.name for column in self._info.key]
            wanted = key if set(names) <= set(key) else [column.name for column in self._info.columns]
            plan = db.flight_info(self._info.name, wanted, range=self._range(part))
        else:
            wanted = names or [self._schema.field(0).name]  # rows are counted
            plan = db.flight_info(self._info.name, wanted, filter=self._condition(part))
        batches = [batch for endpoint in plan.endpoints for batch in db.flight_read(endpoint.ticket)]
        return self.frame(pyarrow.Table.from_batches(batches, schema=plan.schema), names)

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

    def _range(self, part: Piece) -> Mapping[str, Any] | None:
        bounds = {name: value if isinstance(value, int) else str(value) for name, value in (("lo", part.lo), ("hi", part.hi)) if value is not None}
        return bounds or None

    def _condition(self, part: Piece) -> str | None:
        bounds = [f'"{self._info.key[0].name}" {operator} {literal_of(self._info.key[0], value)}'
                  for operator, value in ((">=", part.lo), ("<", part.hi)) if value is not None]
        return " and ".join(([f"({self._filter})"] if self._filter else []) + bounds) or None


@functools.lru_cache
def _database(address: str, timeout: float) -> Database:
    """One for all tasks of a process; gRPC connects again if it breaks."""
    return connect(address, timeout=timeout)


def _parts(db: Database, info: ObjectInfo, endpoints: Sequence[Any], cuts: Sequence[Any] | None) -> list[Piece]:
    made = []
    for piece in db.pieces(info.name):
        inner: list[Any] = []
        if info.key:
            first = info.key[0]
            if cuts is None:
                begins = [json.loads(each.app_metadata or b"{}").get("range", {}).get("lo") for each in endpoints if each.address == piece.address]
                inner = [_value(first, each) for each in begins if each is not None]
            else:
                inner = [value_of(first, each) for each in cuts]
            lo, hi = (None if each is None else value_of(first, each) for each in (piece.lo, piece.hi))
            low, high = (None if each is None else number_of(first, each) for each in (lo, hi))
            by_number = {number_of(first, each): each for each in inner if literal_of(first, each) is not None}
            inner = [each for number, each in sorted(by_number.items()) if (low is None or number > low) and (high is None or number < high)]
            made += [Piece(piece.address, *each) for each in zip([lo, *inner], [*inner, hi])]
        elif cuts is not None:
            raise InvalidArgument(f"{info.name!r} is a heap table, which has no key to cut at")
        else:
            made.append(Piece(piece.address))
    return made


def _value(first: Column, given: Any) -> Any:
    """A bound as the server writes it."""
    if isinstance(given, list):  # of a key of two parts
        given = given[0]
    if first.type is Type.DATE:
        return datetime.date.fromisoformat(given)
    if first.type is Type.FLOAT64:
        return float(given)
    return decimal.Decimal(given) if first.type is Type.DECIMAL64 else int(given)


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
         Type.DATE: (datetime.date.min, datetime.date.max)}
