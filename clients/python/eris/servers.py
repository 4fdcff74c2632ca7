"""Several servers as one database. A map, a file of TOML, says which of them has which keys of an object:

    [objects]
    orders = [
        {address = "10.0.0.1:7411", hi = 1_000_000},
        {address = "10.0.0.2:7411", lo = 1_000_000},
    ]
    users = [{address = "10.0.0.2:7411"}]

`lo` and `hi` are values of the first key column: keys from lo on, and below hi. Keys are read and written where the map says, scans are the
union. Nothing moves between servers, nothing spans them as of one moment, and no server stands in for another.
"""
import asyncio
import contextlib
import dataclasses
import decimal
import tomllib
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from eris import aio, flight, objects
from eris.batches import failure_of
from eris.columns import Array, Key, Keys, Value, Values, is_one, key_arrays, key_message, shown, single_key, value_array
from eris.errors import Error, FailedPrecondition, InvalidArgument, NotFound, OutOfRange, Unimplemented
from eris.objects import OUTDATED, Aggregate, Object
from eris.schema import Column, ObjectInfo, Piece, Type
from eris.security import Security
from eris.sql.query import Query
from eris.table_write import numbers_of
from eris.tables import pyarrow
from eris.v1 import catalog_pb2, column_pb2, data_pb2

Its = TypeVar("Its", bound=Object)
T = TypeVar("T")


def read_map(path: str) -> dict[str, tuple[Piece, ...]]:
    """The pieces of each object. Errors: InvalidArgument (no such map), OSError."""
    with open(path, "rb") as file:
        try:
            given = tomllib.load(file, parse_float=decimal.Decimal)
            tables = {name: [dict(piece) for piece in pieces] for name, pieces in given.pop("objects").items()}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, AttributeError, TypeError, ValueError) as error:
            raise InvalidArgument(f"{path} is no map: {error!r}; it has a table [objects] with a list of pieces for each object") from None
    made = {}
    for name, pieces in tables.items():
        for piece in pieces:
            if not isinstance(piece.get("address"), str) or piece["address"].endswith(".toml") or not piece.keys() <= {"address", "lo", "hi"}:
                raise InvalidArgument(f"{path}: a piece of {name!r} has an address, and may have lo and hi: got {piece}")
        made[name] = tuple(Piece(**piece) for piece in pieces)
        if len({piece.address for piece in made[name]}) < len(pieces):
            raise InvalidArgument(f"{path}: a server has one piece of an object, and {name!r} has two at one address")
    if given or not made or not all(made.values()):
        raise InvalidArgument(f"{path}: [objects] has at least one object, each at least one piece; unknown: {list(given)}")
    return made


def value_of(column: Column, given: Any) -> Any:
    """A bound of the map as a value of a key column."""
    if column.type is Type.FLOAT64 and isinstance(given, (int, decimal.Decimal)) and not isinstance(given, bool):
        return float(given)
    with contextlib.suppress(decimal.InvalidOperation):
        return decimal.Decimal(given) if column.type is Type.DECIMAL64 and isinstance(given, str) else given
    raise InvalidArgument(f"column {column.name!r} has decimals: got {given!r}")


def number_of(column: Column, given: Any) -> int | float:
    """The same as columns have it: days of dates, decimals without their point."""
    message = key_message(column, value_of(column, given))
    number: int | float = getattr(message, str(message.WhichOneof("value")))
    return number


class Owners:
    """Which piece has a key. Pieces are in the order of their keys."""

    def __init__(self, name: str, pieces: Sequence[Piece], first: Column) -> None:
        """Errors: InvalidArgument (they overlap, or a bound is no value of the first key column)."""
        self.name, self.first = name, first
        self.bounds = [tuple(None if each is None else number_of(first, each) for each in (piece.lo, piece.hi)) for piece in pieces]
        for (_, end), (begin, _) in zip(self.bounds, self.bounds[1:]):
            if end is None or begin is None or end > begin:
                raise InvalidArgument(f"the pieces of {name!r} overlap, or are not in the order of their keys: {list(pieces)}")
        self._begins = [begin for begin, _ in self.bounds[1:]]

    def of(self, numbers: Array) -> npt.NDArray[np.intp]:
        """Of each first part. Errors: OutOfRange (no piece has it)."""
        if self.first.type is Type.INT32:  # bounds may be outside
            numbers = numbers.astype(np.int64)
        owners = np.searchsorted(np.array(self._begins, dtype=numbers.dtype), numbers, side="right")
        for piece, (begin, end) in enumerate(self.bounds):
            mine = numbers[owners == piece]
            outside = np.zeros(len(mine), dtype=np.bool_)
            outside |= False if begin is None else mine < np.array(begin, dtype=numbers.dtype)
            outside |= False if end is None else mine >= np.array(end, dtype=numbers.dtype)
            if outside.any():
                raise OutOfRange(f"no server has the key {mine[outside][0]} of {self.name!r}: no row that was looked at with it was sent")
        return owners

    def of_range(self, lo: Any, hi: Any) -> list[int]:
        """Of the pieces those that may have keys from lo up to hi, which are single values or tuples."""
        low, high = (None if each is None else number_of(self.first, each[0] if isinstance(each, tuple) else each) for each in (lo, hi))
        return [piece for piece, (begin, end) in enumerate(self.bounds)
                if (low is None or end is None or low < end) and (high is None or begin is None or begin <= high)]


class Parts(Object):
    """What objects of several servers have in common: the object of each server, in the order of the pieces."""

    _owners: Owners | None = None  # None: a heap table, or the servers have not been asked

    def __init__(self, name: str, pieces: Sequence[Piece], parts: Sequence[Any]) -> None:
        super().__init__(parts[0]._connection, name)
        self._pieces, self._parts = pieces, parts

    async def describe(self) -> ObjectInfo:
        """Of all servers. Errors: NotFound; FailedPrecondition (they have different columns)."""
        infos = await self._all(lambda part: part.describe())
        for piece, its in zip(self._pieces, infos):
            if (its.kind, its.columns, its.key) != (infos[0].kind, infos[0].columns, infos[0].key):
                raise FailedPrecondition(f"{self.name!r} has not the same columns and key at {piece.address} as at {self._pieces[0].address}")
        first: ObjectInfo = infos[0]
        if first.key:
            self._owners = Owners(self.name, self._pieces, first.key[0])
        elif any((piece.lo, piece.hi) != (None, None) for piece in self._pieces):
            raise InvalidArgument(f"{self.name!r} is a heap table, which has no key: the map gives it a range")
        return dataclasses.replace(first, keys=sum(its.keys for its in infos), memory_bytes=sum(its.memory_bytes for its in infos),
                                   partitions=sum(its.partitions for its in infos))

    async def _all(self, call: Callable[[Any], Coroutine[Any, Any, T]], which: Iterable[int] | None = None) -> list[T]:
        parts = range(len(self._parts)) if which is None else which
        return await together([(self._pieces[number].address, call(self._parts[number])) for number in parts])

    async def _known_owners(self) -> tuple[ObjectInfo, Owners]:
        info = self._known or await self._info()
        if self._owners is None:
            raise FailedPrecondition(f"{self.name!r} is a heap table: no key says to which of its servers a row goes. Write to one of them")
        return info, self._owners

    @contextlib.asynccontextmanager
    async def _afresh(self) -> AsyncGenerator[None, None]:
        """Schemas are asked for again after an error, as those of one server."""
        try:
            yield
        except OUTDATED:
            self._known = None
            raise


async def together(calls: Sequence[tuple[str, Coroutine[Any, Any, T]]], rows: Sequence[int] = ()) -> list[T]:
    """Awaits all calls, each of an address. Errors: the first one, with its address; `rows` are those that each call would write."""
    results = await asyncio.gather(*(call for _, call in calls), return_exceptions=True)
    failed = [(address, its) for (address, _), its in zip(calls, results) if isinstance(its, BaseException)]
    if not failed:
        return [its for its in results if not isinstance(its, BaseException)]
    address, error = failed[0]
    if not isinstance(error, Error):
        raise error
    named = error.with_text(f"{address}: {error.message}", error.rows_written)
    if not rows:
        raise named from None
    written = sum((getattr(its, "rows_written", None) or 0) if isinstance(its, BaseException) else count for its, count in zip(results, rows))
    raise failure_of(named, written, sum(rows)) from None


class KeyValue(Parts, objects.KeyValue):
    """Rows go to the servers that own their keys, at once."""

    async def get(self, keys: Key | Keys) -> Any:
        return await self._routed(lambda part, keys: part.get(keys), keys, (), False)

    async def _write(self, mode: data_pb2.WriteMode, keys: Key | Keys, *values: Value | Values) -> tuple[Any, Any, Any]:
        made: tuple[Any, Any, Any] = await self._routed(lambda part, *given: part._write(mode, *given), keys, values, True)
        return made

    async def _routed(self, call: Callable[..., Any], keys: Key | Keys, values: Sequence[Value | Values], writes: bool) -> Any:
        """What `call` gives for rows of keys and values: an answer, or arrays with an element for each row."""
        async with self._afresh():
            info, owners = await self._known_owners()
            key = single_key(info.key, keys)
            if key is not None:
                (owner,) = owners.of(np.array(key[:1], dtype=_DTYPES[info.key[0].type]))
                return (await self._all(lambda part: call(part, keys, *values), [owner]))[0]
            columns = key_arrays(info.key, keys)
            count = len(columns[0])
            given: list[Any] = [each if is_one(each) else _values(info.value, each, count) for each in values]
            numbers = owners.of(columns[0])
            groups = {int(owner): np.flatnonzero(numbers == owner) for owner in np.unique(numbers)} or {0: np.arange(0)}
            calls = []
            for owner, rows in groups.items():
                parts = tuple(shown(column, array[rows]) for column, array in zip(info.key, columns))
                its = [each if is_one(each) else each[rows] for each in given]
                calls.append((self._pieces[owner].address, call(self._parts[owner], parts if len(parts) > 1 else parts[0], *its)))
            answers = await together(calls, [len(rows) for rows in groups.values()] if writes else ())
            return tuple(_joined(count, list(groups.values()), arrays) for arrays in zip(*answers))


def _values(column: Column, given: Value | Values, rows: int) -> Array:
    """Checked, and as callers have them: each server's part of them is taken as if it were given."""
    made = value_array(column, given, rows)
    if column.type is Type.STRING:
        made[:] = [its.decode() for its in made]
    return made


_DTYPES = {Type.UINT64: "<u8", Type.INT64: "<i8", Type.FLOAT64: "<f8", Type.DATE: "<i4", Type.TIMESTAMP: "<i8"}


def _joined(count: int, groups: list[Any], arrays: Sequence[Array]) -> Array:
    if any(len(rows) != len(array) for rows, array in zip(groups, arrays)):  # of put(), which has no answers: of the rows that were sent
        return arrays[0]
    made = np.zeros(count, dtype=arrays[0].dtype)
    for rows, array in zip(groups, arrays):
        made[rows] = array
    return made


class Hash(KeyValue, objects.Hash):
    pass


class Index(KeyValue, objects.Index):
    async def scan(self, lo: Key | None = None, hi: Key | None = None, *, values: tuple[int, int] | None = None, backward: bool = False,
                   limit: int = 0, snapshot: objects.Snapshot | None = None) -> AsyncGenerator[tuple[Any, Array], None]:
        """Server after server, in the order of the keys; each shows a moment of its own."""
        _refuse_snapshot(snapshot)
        async with self._afresh():
            _, owners = await self._known_owners()
            which, left = owners.of_range(lo, hi), limit
            for owner in reversed(which) if backward else which:
                batches = self._parts[owner].scan(lo, hi, values=values, backward=backward, limit=left)
                async with contextlib.aclosing(batches):
                    async for keys, column in batches:
                        yield keys, column
                        left -= len(column) if limit else 0
                if limit and left <= 0:
                    return

    async def _aggregate(self, lo: Key | None, hi: Key | None, values: tuple[int, int] | None, count_only: bool) -> Aggregate:
        async with self._afresh():
            _, owners = await self._known_owners()
            which = owners.of_range(lo, hi)
            found = [its for its in await self._all(lambda part: part._aggregate(lo, hi, values, count_only), which) if its.count]
            if not found:
                return Aggregate(0, None, None, None, None, None)
            mins, maxs, sums = ([value for value in column if value is not None]
                                for column in zip(*((its.min, its.max, its.sum) for its in found)))
            return Aggregate(sum(its.count for its in found), min(mins, default=None), max(maxs, default=None),
                             sum(sums) if sums else None, found[0].first_key, found[-1].last_key)


class Table(Parts, objects.Table):
    async def count(self, filter: str | None = None) -> int:
        async with self._afresh():
            await self._info()
            return sum(await self._all(lambda part: part.count(filter)))

    async def _send(self, info: ObjectInfo, rows: Any) -> tuple[int, Error | None]:
        if not info.key and len(self._parts) == 1:
            return await self._sent(0, info, rows)
        _, owners = await self._known_owners()
        numbers = owners.of(numbers_of(info.key[0], rows.column(info.key[0].name)))
        calls = [self._sent(int(owner), info, rows.take(pyarrow().array(np.flatnonzero(numbers == owner)))) for owner in np.unique(numbers)]
        results = await asyncio.gather(*calls)
        return sum(written for written, _ in results), next((error for _, error in results if error is not None), None)

    async def _sent(self, owner: int, info: ObjectInfo, rows: Any) -> tuple[int, Error | None]:
        written, error = await self._parts[owner]._send(info, rows)
        return written, None if error is None else error.with_text(f"{self._pieces[owner].address}: {error.message}", None)

    async def _batches(self, names: Sequence[str] | None, filter: str | None, limit: int,
                       snapshot: objects.Snapshot | None) -> AsyncGenerator[Any, None]:
        """Server after server; each shows a moment of its own."""
        _refuse_snapshot(snapshot)
        async with self._afresh():
            await self._info()
            left = limit
            for part in self._parts:
                async with contextlib.aclosing(part._batches(names, filter, left, None)) as batches:
                    async for batch in batches:
                        yield batch
                        left -= batch.num_rows if limit else 0
                if limit and left <= 0:
                    return


def _refuse_snapshot(snapshot: objects.Snapshot | None) -> None:
    if snapshot is not None:
        raise Unimplemented("a snapshot is of one server: connect to it")


class Database(aio.Database):
    """The objects of a map. Use eris.connect("map.toml")."""

    def __init__(self, path: str, pieces: Mapping[str, tuple[Piece, ...]], servers: Mapping[str, aio.Database]) -> None:
        super().__init__(next(iter(servers.values()))._connection)
        self._path, self._pieces, self._servers = path, pieces, servers

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    async def list(self) -> Sequence[ObjectInfo]:
        """The objects of the map that are there."""
        made = []
        for name in sorted(self._pieces):
            with contextlib.suppress(NotFound):
                made.append(await self.describe(name))
        return made

    async def describe(self, name: str) -> ObjectInfo:
        pieces = self.pieces(name)
        return await Parts(name, pieces, [Object(self._servers[piece.address]._connection, name) for piece in pieces]).describe()

    def sql(self, text: str) -> Query:
        raise Unimplemented("a query runs at one server: connect to its address")

    async def drop(self, name: str) -> None:
        """At all servers. Errors: NotFound (one of them has no such object; the others have none any more)."""
        await self._everywhere(name, lambda server, piece: server.drop(name))

    async def flight_info(self, name: str, columns: Sequence[str] | None = None, *, filter: str | None = None, limit: int = 0,
                          shares: int = 0, range: Mapping[str, Any] | None = None) -> flight.Info:
        """The endpoints of all servers. They are of one moment for each server."""
        if limit and len(self.pieces(name)) > 1:
            raise Unimplemented("an info of several servers has no limit")
        each = -(-shares // len(self.pieces(name)))
        infos = await self._everywhere(name, lambda server, piece: server.flight_info(
            name, columns, filter=filter, limit=limit, shares=each, range=range))
        records = -1 if any(its.records < 0 for its in infos) else sum(its.records for its in infos)
        return flight.Info(infos[0].schema, tuple(endpoint for its in infos for endpoint in its.endpoints), records,
                           all(its.ordered for its in infos), infos[0].app_metadata, tuple(message for its in infos for message in its.messages))

    async def flight_cancel(self, info: flight.Info) -> None:
        for address, message in info.messages:
            await flight.cancel(self._servers[address]._connection, message)

    def flight_read(self, ticket: bytes, address: str | None = None) -> AsyncGenerator[Any, None]:
        if address is None or address not in self._servers:
            raise InvalidArgument(f"give the address of the ticket's endpoint: got {address!r}")
        return self._servers[address].flight_read(ticket)

    def snapshot(self, time_to_live: float = 60.0) -> objects.Snapshot:
        raise Unimplemented("a snapshot is of one server: connect to it")

    def pieces(self, name: str) -> tuple[Piece, ...]:
        if name not in self._pieces:
            raise NotFound(f"object {name!r} is not in {self._path}")
        return self._pieces[name]

    def _object(self, name: str, its: type[Any]) -> Any:
        pieces = self.pieces(name)
        kind = {objects.Index: Index, objects.Hash: Hash, objects.Table: Table}[its]
        known = self._objects.get(name)
        if type(known) is not kind:
            known = self._objects[name] = kind(name, pieces, [self._servers[piece.address]._object(name, its) for piece in pieces])
        return known

    async def _everywhere(self, name: str, call: Callable[[aio.Database, Piece], Coroutine[Any, Any, T]]) -> Sequence[T]:
        self._objects.pop(name, None)
        return await together([(piece.address, call(self._servers[piece.address], piece)) for piece in self.pieces(name)])

    async def _create_object(self, name: str, kind: catalog_pb2.ObjectKind, schema: column_pb2.Schema, first: Column | None,
                             expect: tuple[Any, Any] | None, split: Sequence[Any], beside: str) -> None:
        """At all servers, each with what it has of `expect` and `split`. If one refuses, the others keep what they have made."""
        pieces = self.pieces(name)
        if first is not None:
            Owners(name, pieces, first)
        await self._everywhere(name, lambda server, piece: server._create_object(
            name, kind, schema, first, _within(piece, first, expect, not split and not beside),
            [each for each in split if _has(piece, first, each)], beside))


def _has(piece: Piece, first: Column | None, bound: Any) -> bool:
    """Whether a boundary is inside of a piece."""
    if first is None:
        return True
    number = number_of(first, bound)
    return (piece.lo is None or number > number_of(first, piece.lo)) and (piece.hi is None or number < number_of(first, piece.hi))


def _within(piece: Piece, first: Column | None, expect: tuple[Any, Any] | None, alone: bool) -> tuple[Any, Any] | None:
    """The expected keys that a piece has. Without any, the piece itself if it has both bounds."""
    if first is None:
        return expect
    if expect is None:
        if not alone or piece.lo is None or piece.hi is None:
            return None
        expect = (None, None)
    lows, highs = ([value_of(first, each) for each in pair if each is not None] for pair in ((piece.lo, expect[0]), (piece.hi, expect[1])))
    low = max(lows, key=lambda each: number_of(first, each), default=None)
    high = min(highs, key=lambda each: number_of(first, each), default=None)
    if low is None or high is None:
        return (low, high)
    return (low, high) if number_of(first, low) < number_of(first, high) else None


async def connect(path: str, timeout: float, security: Security | None = None) -> Database:
    """Errors: InvalidArgument, OSError (the map), Unavailable (one of the servers)."""
    pieces = read_map(path)
    servers: dict[str, aio.Database] = {}
    try:
        for address in dict.fromkeys(piece.address for each in pieces.values() for piece in each):
            try:
                servers[address] = await aio.connect(address, timeout=timeout, security=security)
            except Error as error:
                raise error.with_text(f"{address}, of {path}: {error.message}", None) from None
    except BaseException:
        await asyncio.gather(*(server.close() for server in servers.values()))
        raise
    return Database(path, pieces, servers)
