"""Indexes, hashes and tables on an event loop. Use eris.aio or eris, which have the same calls."""
import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from eris import flight
from eris.batches import Bits, Lookup, Write, failure_of
from eris.columns import (Array, Key, Keys, Part, Value, Values, array_of, element, is_one, key_arrays, key_of, range_message,
                          shown, single_key, value_array)
from eris.connection import Connection
from eris.errors import Error, FailedPrecondition, Internal, InvalidArgument, NotFound, ResourceExhausted, Unavailable, Unimplemented
from eris.frames import pieces_of, source_of
from eris.gather import LOOKUP, Gatherer
from eris.scans import Scan
from eris.schema import Column, ObjectInfo, info_of
from eris.table_write import TableWrite
from eris.tables import record_batch, schema_of
from eris.v1 import catalog_pb2, data_pb2, query_pb2


class Snapshot:
    """One moment of all objects, for several scans: `async with db.snapshot() as snapshot`. The server drops it when no scan has used it
    for `time_to_live` seconds."""

    def __init__(self, connection: Connection, time_to_live: float) -> None:
        self._connection = connection
        self._milliseconds = round(time_to_live * 1000)
        self.id = 0  # 0: not taken, or released

    async def __aenter__(self) -> "Snapshot":
        request = data_pb2.TakeSnapshotRequest(time_to_live_ms=self._milliseconds)
        self.id = (await self._connection.call("Data/TakeSnapshot", request, data_pb2.TakeSnapshotResponse)).snapshot
        return self

    async def __aexit__(self, *_: object) -> None:
        number, self.id = self.id, 0
        with contextlib.suppress(NotFound):  # the server has dropped it
            await self._connection.call("Data/ReleaseSnapshot", data_pb2.ReleaseSnapshotRequest(snapshot=number),
                                        data_pb2.ReleaseSnapshotResponse)


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """Of the rows of a range. All but the count are None if there is no row; `sum` is exact."""

    count: int
    min: int | None
    max: int | None
    sum: int | None
    first_key: Any
    last_key: Any


# Another object may have the name: its schema is asked for again.
OUTDATED = (NotFound, InvalidArgument, FailedPrecondition)


class Object:
    """An object by its name. The server is asked for its schema at the first use, and again after an error."""

    KINDS: tuple[str, ...] = ()

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._known: ObjectInfo | None = None
        self._asking: asyncio.Task[ObjectInfo] | None = None

    async def describe(self) -> ObjectInfo:
        """Errors: NotFound."""
        request = catalog_pb2.GetObjectRequest(name=self.name)
        return info_of((await self._connection.call("Catalog/GetObject", request, catalog_pb2.GetObjectResponse)).object)

    async def _info(self) -> ObjectInfo:
        if self._known is not None:
            return self._known
        if self._asking is None:  # all tasks share one question
            self._asking = asyncio.get_running_loop().create_task(self._ask())
        return await asyncio.shield(self._asking)

    async def _ask(self) -> ObjectInfo:
        try:
            info = await self.describe()
        finally:
            self._asking = None
        if info.kind not in self.KINDS:
            raise FailedPrecondition(f"object {self.name!r} is of the kind {info.kind}, not {' or '.join(self.KINDS)}")
        self._known = info
        return info

    async def _responses(self, query: query_pb2.Query, snapshot: Snapshot | None,
                         keeps_moment: bool) -> AsyncGenerator[data_pb2.ScanResponse, None]:
        """The responses of a scan. If it breaks it goes on behind the last response where the rows are still of the same moment."""
        if snapshot is not None and not snapshot.id:
            raise FailedPrecondition("the snapshot is not taken, or was released")
        request = data_pb2.ScanRequest(object=self.name, query=query, snapshot=snapshot.id if snapshot else 0)
        while True:
            progress = False
            stream = self._connection.stream("Data/Scan", request, data_pb2.ScanResponse)
            try:
                async with contextlib.aclosing(stream) as responses:
                    async for response in responses:
                        yield response
                        progress = True
                        request.resume_token = response.resume_token
                        if query.limit and response.rows < request.query.limit:
                            request.query.limit -= response.rows
                        elif query.limit:
                            return
                return
            except (Unavailable, ResourceExhausted):
                if not (progress and request.resume_token and (keeps_moment or snapshot is not None)):
                    raise
                request.snapshot = 0  # the token has it


class KeyValue(Object):
    """What indexes and hashes have in common.

    `keys` is one key, or many: a list, or a numpy array of the key's dtype (for uint64 also int64 without negative numbers). A key of two
    parts is a tuple of two, and many are a tuple of two lists or arrays. Single keys of one turn of the event loop go as one message; many
    keys are cut into batches. Values of other types are refused with InvalidArgument before anything is sent.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        super().__init__(connection, name)
        self._gatherer = Gatherer(connection)

    @overload
    async def get(self, keys: Key) -> Value | None: ...  # type: ignore[overload-overlap]
    @overload
    async def get(self, keys: Keys) -> tuple[Array, Bits]: ...

    async def get(self, keys: Key | Keys) -> Value | None | tuple[Array, Bits]:
        """The value of a key, or None; of many keys their values and whether each was found. Others have the value 0 or None."""
        try:
            info = self._known or await self._info()
            key = single_key(info.key, keys)
            if key is not None:
                one: Value | None = await self._gatherer.add(LOOKUP, info, key)
                return one
            its = Lookup(self._connection, info, key_arrays(info.key, keys))
            await its.run()
            if its.error is not None:
                raise its.error
            return its.values, its.found
        except OUTDATED:
            self._known = None
            raise

    async def contains(self, key: Key) -> bool:
        return await self.get(key) is not None

    async def put(self, keys: Key | Keys, values: Value | Values) -> None:
        """Writes values, whether or not there are others. Of a key that occurs several times the last value stays."""
        await self._write(data_pb2.WRITE_MODE_UPSERT, keys, values)

    @overload
    async def erase(self, keys: Key) -> bool: ...  # type: ignore[overload-overlap]
    @overload
    async def erase(self, keys: Keys) -> Bits: ...

    async def erase(self, keys: Key | Keys) -> bool | Bits:
        """Whether the key, or each key, was there."""
        existed: bool | Bits = (await self._write(data_pb2.WRITE_MODE_ERASE, keys))[0]
        return existed

    @overload
    async def add(self, keys: Key, values: int) -> int: ...  # type: ignore[overload-overlap]
    @overload
    async def add(self, keys: Keys, values: int | Values) -> npt.NDArray[np.uint64]: ...

    async def add(self, keys: Key | Keys, values: int | Values) -> int | npt.NDArray[np.uint64]:
        """Adds modulo 2^64 and gives the sums. A key that is absent counts from 0. To subtract n, add 2**64 - n."""
        sums: int | npt.NDArray[np.uint64] = (await self._write(data_pb2.WRITE_MODE_ADD, keys, values))[2]
        return sums

    @overload
    async def insert(self, keys: Key, values: Value) -> tuple[bool, Value | None]: ...  # type: ignore[overload-overlap]
    @overload
    async def insert(self, keys: Keys, values: Value | Values) -> tuple[Bits, Array]: ...

    async def insert(self, keys: Key | Keys, values: Value | Values) -> tuple[bool, Value | None] | tuple[Bits, Array]:
        """Writes keys that are absent. Whether each was written, and the value that was there: None, of many keys 0 or b"", if there was none."""
        existed, applied, answers = await self._write(data_pb2.WRITE_MODE_INSERT_IF_ABSENT, keys, values)
        return applied, None if existed is False else answers

    @overload
    async def replace(self, keys: Key, values: Value) -> tuple[bool, Value | None]: ...  # type: ignore[overload-overlap]
    @overload
    async def replace(self, keys: Keys, values: Value | Values) -> tuple[Bits, Array]: ...

    async def replace(self, keys: Key | Keys, values: Value | Values) -> tuple[bool, Value | None] | tuple[Bits, Array]:
        """Writes keys that are there. Whether each was written, and the value before, as insert()."""
        existed, applied, answers = await self._write(data_pb2.WRITE_MODE_REPLACE_IF_PRESENT, keys, values)
        return applied, None if existed is False else answers

    @overload
    async def compare_and_set(self, keys: Key, expected: Value, values: Value) -> tuple[bool, Value | None]: ...  # type: ignore[overload-overlap]
    @overload
    async def compare_and_set(self, keys: Keys, expected: Value | Values, values: Value | Values) -> tuple[Bits, Array]: ...

    async def compare_and_set(self, keys: Key | Keys, expected: Value | Values,
                              values: Value | Values) -> tuple[bool, Value | None] | tuple[Bits, Array]:
        """Writes keys whose value is the expected one. Whether each was written, and the value before, as insert()."""
        existed, applied, answers = await self._write(data_pb2.WRITE_MODE_COMPARE_AND_SET, keys, values, expected)
        return applied, None if existed is False else answers

    async def _write(self, mode: data_pb2.WriteMode, keys: Key | Keys, *values: Value | Values) -> tuple[Any, Any, Any]:
        """(existed, applied, answers), each one or an array."""
        try:
            info = self._known or await self._info()
            key = single_key(info.key, keys)
            if key is not None:
                if not all(is_one(each) for each in values):
                    raise InvalidArgument("there is one key and a column of values: there must be one value")
                row = (*key, *(element(info.value, each) for each in values))
                one: tuple[Any, Any, Any] = await self._gatherer.add(mode, info, row)
                return one
            columns = key_arrays(info.key, keys)
            its = Write(self._connection, info, mode, columns, [value_array(info.value, each, len(columns[0])) for each in values])
            await its.run()
            if its.error is not None:
                raise its.failure()
            return its.existed, its.applied, its.answers
        except OUTDATED:
            self._known = None
            raise


class Hash(KeyValue):
    KINDS = ("hash",)


class Index(KeyValue):
    KINDS = ("index",)

    async def scan(self, lo: Key | None = None, hi: Key | None = None, *, values: tuple[int, int] | None = None,
                   backward: bool = False, limit: int = 0,
                   snapshot: Snapshot | None = None) -> AsyncGenerator[tuple[Any, Array], None]:
        """Batches (keys, values) of the keys from lo up to, and without, hi, in their order; of two-part keys (first, second), values.
        `values`: only rows with values from the first number to the second, both included. All batches show one moment. Arrays are
        read-only. A scan that is broken goes on by itself only if it has a snapshot, since it would show another moment."""
        try:
            info = await self._info()
            query = self._query(info, lo, hi, values, backward, limit)
            async with contextlib.aclosing(self._responses(query, snapshot, False)) as responses:
                async for response in responses:
                    if response.rows:
                        columns = [shown(column, array_of(column, message, response.rows))
                                   for column, message in zip(info.columns, response.columns)]
                        keys = columns[0] if len(info.key) == 1 else tuple(columns[:-1])
                        yield keys, columns[-1]
        except OUTDATED:
            self._known = None
            raise

    async def count(self, lo: Key | None = None, hi: Key | None = None) -> int:
        """How many keys the range has."""
        return (await self._aggregate(lo, hi, None, True)).count

    async def aggregate(self, lo: Key | None = None, hi: Key | None = None, *, values: tuple[int, int] | None = None) -> Aggregate:
        """Count, minimum, maximum and sum of the values of a range, and its first and last key, computed by the server."""
        return await self._aggregate(lo, hi, values, False)

    async def _aggregate(self, lo: Key | None, hi: Key | None, values: tuple[int, int] | None, count_only: bool) -> Aggregate:
        try:
            info = await self._info()
            request = data_pb2.AggregateRequest(object=self.name, range=range_message(info.key, lo, hi), count_only=count_only)
            if values is not None:
                request.values.CopyFrom(_value_range(info, values))
            got = await self._connection.call("Data/Aggregate", request, data_pb2.AggregateResponse)
        except OUTDATED:
            self._known = None
            raise
        keys = [(key_of(got.first_key), key_of(got.first_second)), (key_of(got.last_key), key_of(got.last_second))]
        first, last = keys if len(info.key) == 2 and keys[0][0] is not None else (keys[0][0], keys[1][0])
        there = got.HasField("sum_low")
        return Aggregate(got.count, got.min if got.HasField("min") else None, got.max if got.HasField("max") else None,
                         (got.sum_high << 64) + got.sum_low if there else None, first, last)

    @staticmethod
    def _query(info: ObjectInfo, lo: Key | None, hi: Key | None, values: tuple[int, int] | None, backward: bool,
               limit: int) -> query_pb2.Query:
        direction = query_pb2.SCAN_DIRECTION_BACKWARD if backward else query_pb2.SCAN_DIRECTION_FORWARD
        query = query_pb2.Query(range=range_message(info.key, lo, hi), direction=direction, limit=limit_of(limit))
        if values is not None:
            query.values.CopyFrom(_value_range(info, values))
        return query


class Table(Object):
    """A clustered or a heap table."""

    KINDS = ("table", "heap table")

    def scan(self, columns: Sequence[str] | None = None, *, filter: str | None = None, limit: int = 0,
             snapshot: Snapshot | None = None) -> Scan:
        """Its rows, in no order: record batches of pyarrow, or all as a frame. `columns`: None for all. `filter`: as `eris scan --filter`
        reads it. All batches show one moment. A scan that is broken goes on by itself, unless it has a filter."""
        async def schema() -> Any:
            return schema_of(await self._columns(columns))

        return Scan(lambda: self._batches(columns, filter, limit, snapshot), schema)

    async def count(self, filter: str | None = None) -> int:
        """How many rows it has, or those for which a filter is true, counted by the server."""
        await self._info()
        try:
            query = flight.command(self.name, filter=filter, aggregates="count(*)")
            for endpoint in (await flight.info(self._connection, query)).endpoints:
                async with contextlib.aclosing(flight.read(self._connection, endpoint.ticket)) as batches:
                    async for batch in batches:
                        return int(batch.column(0)[0].as_py())
        except OUTDATED:
            self._known = None
            raise
        raise Internal("a count has no row")

    async def write(self, frame: Any) -> int:
        """Writes the rows of a frame of pandas, Polars, DuckDB or Arrow, of a dict of columns, or of a Parquet file by its path; columns are
        found by their names. Into a clustered table they are upserted: of rows with the same key the last one stays. To a heap table they
        are appended. Gives their number. Refused rows are sent again. Errors: InvalidArgument (columns, or values that do not fit)."""
        written = 0
        try:
            info = await self._info()
            # In a thread: a frame may take long, or read from this very connection.
            pieces = pieces_of(await asyncio.to_thread(source_of, frame), info)
            while (rows := await asyncio.to_thread(next, pieces, None)) is not None:
                count, error = await self._send(info, rows)
                written += count
                if error is not None:
                    raise error
            return written
        except Error as error:
            if isinstance(error, OUTDATED):
                self._known = None
            raise failure_of(error, written) if written else failure_of(error, 0, 1) from None
        except Exception as error:  # the frame's own
            if written:
                error.add_note(f"{written} rows were written before")
            raise

    async def _send(self, info: ObjectInfo, rows: Any) -> tuple[int, Error | None]:
        """Writes a record batch. How many of its rows were written, and why others were not."""
        its = TableWrite(self._connection, info, rows)
        await its.run()
        return its.written(), its.error

    async def _columns(self, names: Sequence[str] | None) -> list[Column]:
        return columns_named(await self._info(), names)

    async def _batches(self, names: Sequence[str] | None, filter: str | None, limit: int,
                       snapshot: Snapshot | None) -> AsyncGenerator[Any, None]:
        try:
            columns = await self._columns(names)
            query = query_pb2.Query(limit=limit_of(limit))
            if filter is not None:
                batches = self._filtered(names, filter, limit, snapshot)
            else:
                for column in columns if names is not None else ():
                    expression = query_pb2.Expression(kind=query_pb2.Expression.KIND_COLUMN, column=column.name)
                    query.columns.append(query_pb2.NamedExpression(expression=expression, name=column.name))
                batches = self._unfiltered(query, columns, snapshot)
            async with contextlib.aclosing(batches):
                async for batch in batches:
                    yield batch
        except OUTDATED:
            self._known = None
            raise

    async def _unfiltered(self, query: query_pb2.Query, columns: list[Column], snapshot: Snapshot | None) -> AsyncGenerator[Any, None]:
        async with contextlib.aclosing(self._responses(query, snapshot, True)) as responses:
            async for response in responses:
                if response.rows:
                    yield record_batch(columns, response)

    async def _filtered(self, names: Sequence[str] | None, filter: str, limit: int, snapshot: Snapshot | None) -> AsyncGenerator[Any, None]:
        """The server reads the text, which only Flight has."""
        if snapshot is not None:
            raise Unimplemented("a scan has a filter or a snapshot, not both")
        got = await flight.info(self._connection, flight.command(self.name, names, filter=filter, limit=limit))
        for endpoint in got.endpoints:
            async with contextlib.aclosing(flight.read(self._connection, endpoint.ticket)) as batches:
                async for batch in batches:
                    if batch.num_rows:
                        yield batch


def columns_named(info: ObjectInfo, names: Sequence[str] | None) -> list[Column]:
    """None: all columns. Errors: InvalidArgument (no list of names, or others)."""
    known = {column.name: column for column in info.columns}
    if names is None:
        return list(info.columns)
    if isinstance(names, str) or not names or not all(name in known for name in names):
        raise InvalidArgument(f"columns {names!r} are not a list of columns of {info.name!r}, which has {list(known)}")
    return [known[name] for name in names]


def limit_of(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 2**64:
        raise InvalidArgument(f"a limit is a number of rows, 0 for all: got {limit!r}")
    return limit


def value_bounds(info: ObjectInfo, values: tuple[Part, Part]) -> tuple[int, int]:
    low, last = (element(info.value, each) for each in values)
    return low, last


def _value_range(info: ObjectInfo, values: tuple[Part, Part]) -> query_pb2.ValueRange:
    low, last = value_bounds(info, values)
    return query_pb2.ValueRange(lo=low, last=last)
