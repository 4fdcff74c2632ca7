"""The same calls without asyncio: each runs in an event loop of its own thread, which all databases of the process share.

Any thread may make any call, concurrently. A call inside a running event loop would block that loop: use eris.aio there.
"""
import asyncio
import importlib
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from eris import aio, flight
from eris.batches import Bits
from eris.columns import Array, Key, Keys, Part, Value, Values
from eris.connection import check_process
from eris.errors import FailedPrecondition
from eris.objects import Aggregate
from eris.scans import to_numpy, to_pandas, to_polars
from eris.schema import ObjectInfo, Piece
from eris.security import Security
from eris.tables import pyarrow

T = TypeVar("T")


class Loop:
    """An event loop in a daemon thread."""

    _shared: "Loop | None" = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="eris", daemon=True)
        self._thread.start()
        self._ending: set[asyncio.Task[None]] = set()

    @classmethod
    def shared(cls) -> "Loop":
        with cls._lock:
            if cls._shared is None:
                check_process()
                cls._shared = Loop()
            return cls._shared

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Blocks until the call has ended. An interrupt of the caller ends the call."""
        try:
            check_process()  # a forked process has no such thread
        except FailedPrecondition:
            call.close()
            raise
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def each(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        steps: list[asyncio.Task[Any]] = []

        async def end() -> None:
            # After an interrupt the last step may still be on its way out of the generator.
            if steps:
                await asyncio.wait(steps)
            await items.aclose()

        async def following() -> tuple[bool, T | None]:
            if (task := asyncio.current_task()) is not None:
                steps[:] = [task]
            async for item in items:
                return True, item
            return False, None

        try:
            while True:
                there, item = self.run(following())
                if not there:
                    return
                yield item  # type: ignore[misc]
        finally:
            if sys.is_finalizing():  # the thread no longer runs
                pass
            elif threading.current_thread() is self._thread:  # an iterator that was left is collected anywhere
                self._ending.add(task := self._loop.create_task(end()))
                task.add_done_callback(self._ending.discard)
            else:
                self.run(end())


class Snapshot:
    """One moment of all objects, for several scans: `with db.snapshot() as snapshot`."""

    def __init__(self, loop: Loop, its: aio.Snapshot) -> None:
        self._loop = loop
        self.its = its

    def __enter__(self) -> "Snapshot":
        self._loop.run(self.its.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run(self.its.__aexit__())


def _its(snapshot: Snapshot | None) -> aio.Snapshot | None:
    return None if snapshot is None else snapshot.its


class KeyValue:
    """An index or a hash. See eris.objects.KeyValue, whose calls these are; keys in brackets are single."""

    def __init__(self, loop: Loop, its: aio.Index | aio.Hash) -> None:
        self._loop = loop
        self._its = its

    @property
    def name(self) -> str:
        return self._its.name

    def describe(self) -> ObjectInfo:
        return self._loop.run(self._its.describe())

    def _one_or_many(self, call: Callable[..., Coroutine[Any, Any, Any]], *values: object) -> Any:
        """What depends on whether there is one key has its types in the overloads alone."""
        return self._loop.run(call(*values))

    @overload
    def get(self, keys: Key) -> Value | None: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, keys: Keys) -> tuple[Array, Bits]: ...

    def get(self, keys: Key | Keys) -> Any:
        """The value of a key, or None; of many keys their values and whether each was found. Others have the value 0 or None."""
        return self._one_or_many(self._its.get, keys)

    def put(self, keys: Key | Keys, values: Value | Values) -> None:
        """Writes values, whether or not there are others. Of a key that occurs several times the last value stays."""
        self._loop.run(self._its.put(keys, values))

    @overload
    def erase(self, keys: Key) -> bool: ...  # type: ignore[overload-overlap]
    @overload
    def erase(self, keys: Keys) -> Bits: ...

    def erase(self, keys: Key | Keys) -> Any:
        """Whether the key, or each key, was there."""
        return self._one_or_many(self._its.erase, keys)

    @overload
    def add(self, keys: Key, values: int) -> int: ...  # type: ignore[overload-overlap]
    @overload
    def add(self, keys: Keys, values: int | Values) -> npt.NDArray[np.uint64]: ...

    def add(self, keys: Key | Keys, values: int | Values) -> Any:
        """Adds modulo 2^64 and gives the sums. A key that is absent counts from 0. To subtract n, add 2**64 - n."""
        return self._one_or_many(self._its.add, keys, values)

    @overload
    def insert(self, keys: Key, values: Value) -> tuple[bool, Value | None]: ...  # type: ignore[overload-overlap]
    @overload
    def insert(self, keys: Keys, values: Value | Values) -> tuple[Bits, Array]: ...

    def insert(self, keys: Key | Keys, values: Value | Values) -> Any:
        """Writes keys that are absent. Whether each was written, and the value that was there: None, of many keys 0 or b"", if there was none."""
        return self._one_or_many(self._its.insert, keys, values)

    @overload
    def replace(self, keys: Key, values: Value) -> tuple[bool, Value | None]: ...  # type: ignore[overload-overlap]
    @overload
    def replace(self, keys: Keys, values: Value | Values) -> tuple[Bits, Array]: ...

    def replace(self, keys: Key | Keys, values: Value | Values) -> Any:
        """Writes keys that are there. Whether each was written, and the value before, as insert()."""
        return self._one_or_many(self._its.replace, keys, values)

    @overload
    def compare_and_set(self, keys: Key, expected: Value, values: Value) -> tuple[bool, Value | None]: ...  # type: ignore[overload-overlap]
    @overload
    def compare_and_set(self, keys: Keys, expected: Value | Values, values: Value | Values) -> tuple[Bits, Array]: ...

    def compare_and_set(self, keys: Key | Keys, expected: Value | Values, values: Value | Values) -> Any:
        """Writes keys whose value is the expected one. Whether each was written, and the value before, as insert()."""
        return self._one_or_many(self._its.compare_and_set, keys, expected, values)

    def contains(self, key: Key) -> bool:
        return self._loop.run(self._its.contains(key))

    def __getitem__(self, key: Key) -> Value:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Key, value: Value) -> None:
        self.put(key, value)

    def __delitem__(self, key: Key) -> None:
        if not self.erase(key):
            raise KeyError(key)

    def __contains__(self, key: Key) -> bool:
        return self.contains(key)

    __iter__ = None  # else Python would try the keys 0, 1, 2, ...: use scan()


class Hash(KeyValue):
    pass


class Index(KeyValue):
    _its: aio.Index

    def scan(self, lo: Key | None = None, hi: Key | None = None, *, values: tuple[int, int] | None = None, backward: bool = False,
             limit: int = 0, snapshot: Snapshot | None = None) -> Iterator[tuple[Any, Array]]:
        """Batches (keys, values) of the keys from lo up to, and without, hi, in their order; of two-part keys (first, second), values.
        `values`: only rows with values from the first number to the second, both included. All batches show one moment. Arrays are
        read-only. A scan that is broken goes on by itself only if it has a snapshot, since it would show another moment."""
        return self._loop.each(self._its.scan(lo, hi, values=values, backward=backward, limit=limit, snapshot=_its(snapshot)))

    def count(self, lo: Key | None = None, hi: Key | None = None) -> int:
        """How many keys the range has."""
        return self._loop.run(self._its.count(lo, hi))

    def aggregate(self, lo: Key | None = None, hi: Key | None = None, *, values: tuple[int, int] | None = None) -> Aggregate:
        """Count, minimum, maximum and sum of the values of a range, and its first and last key, computed by the server."""
        return self._loop.run(self._its.aggregate(lo, hi, values=values))


class Scan:
    """`for batch in scan`, or all rows at once. Each of these runs the scan, and shows a moment of its own. It is also what programs that know
    Arrow's PyCapsule interface read."""

    def __init__(self, loop: Loop, its: aio.Scan) -> None:
        self._loop = loop
        self._its = its

    def __iter__(self) -> Iterator[Any]:
        return self._loop.each(self._its.batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pyarrow().RecordBatchReader.from_batches(self.schema(), iter(self)).__arrow_c_stream__(requested_schema)

    def schema(self) -> Any:
        """Of pyarrow."""
        return self._loop.run(self._its.schema())

    def arrow(self) -> Any:
        """A pyarrow.Table."""
        return self._loop.run(self._its.arrow())

    def polars(self) -> Any:
        """A polars.DataFrame."""
        return to_polars(self.arrow())

    def pandas(self) -> Any:
        """A pandas.DataFrame. Integers with nulls are pandas' Int32, Int64 and UInt64."""
        return to_pandas(self.arrow())

    def numpy(self) -> dict[str, Array]:
        """An array for each column: numbers as they are, masked arrays where there are nulls; dates as datetime64[D], timestamps as
        datetime64[us]; decimals and strings as objects."""
        return to_numpy(self.arrow())


class Query(Scan):
    """The rows of one statement of SQL, as of a scan. Each call runs it."""

    def __init__(self, loop: Loop, its: aio.Query) -> None:
        super().__init__(loop, its)
        self._query = its

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow().__arrow_c_stream__(requested_schema)  # run once, for the schema and the rows

    def plan(self) -> bytes:
        """The serialized substrait.Plan, which `eris query` runs, too. Errors: InvalidArgument."""
        return self._loop.run(self._query.plan())

    def explain(self, analyze: bool = False) -> str:
        """The server's steps; with `analyze` the query is run, and they have figures."""
        return self._loop.run(self._query.explain(analyze))


class Table:
    """A clustered or a heap table."""

    def __init__(self, loop: Loop, its: aio.Table) -> None:
        self._loop = loop
        self._its = its

    @property
    def name(self) -> str:
        return self._its.name

    def describe(self) -> ObjectInfo:
        return self._loop.run(self._its.describe())

    def scan(self, columns: Sequence[str] | None = None, *, filter: str | None = None, limit: int = 0,
             snapshot: Snapshot | None = None) -> Scan:
        """Its rows, in no order: record batches of pyarrow, or all as a frame. `columns`: None for all. `filter`: as `eris scan --filter`
        reads it. All batches show one moment. A scan that is broken goes on by itself, unless it has a filter."""
        return Scan(self._loop, self._its.scan(columns, filter=filter, limit=limit, snapshot=_its(snapshot)))

    def count(self, filter: str | None = None) -> int:
        """How many rows it has, or those for which a filter is true, counted by the server."""
        return self._loop.run(self._its.count(filter))

    def write(self, frame: Any) -> int:
        """Writes the rows of a frame of pandas, Polars, DuckDB or Arrow, of a dict of columns, or of a Parquet file by its path; columns are
        found by their names. Into a clustered table they are upserted: of rows with the same key the last one stays. To a heap table they
        are appended. Gives their number. Refused rows are sent again. Errors: InvalidArgument (columns, or values that do not fit)."""
        return self._loop.run(self._its.write(frame))

    def dataset(self) -> Any:
        """A pyarrow.dataset.Dataset, by which DuckDB and Polars read the columns and the rows that they need. See eris.dataset."""
        dataset: Any = importlib.import_module("eris.dataset")
        return dataset.TableDataset(self)


class Database:
    """A connection to a server, or to several servers of a map. Use connect()."""

    def __init__(self, loop: Loop, its: aio.Database) -> None:
        self._loop = loop
        self._its = its

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Calls under way in other threads end with Cancelled."""
        self._loop.run(self._its.close())

    def index(self, name: str) -> Index:
        """An index by its name. The server is asked at its first use: NotFound, or FailedPrecondition if it is of another kind."""
        return Index(self._loop, self._its.index(name))

    def hash(self, name: str) -> Hash:
        return Hash(self._loop, self._its.hash(name))

    def table(self, name: str) -> Table:
        """A clustered or a heap table."""
        return Table(self._loop, self._its.table(name))

    def create_index(self, name: str, *, key: str | tuple[str, str] = "uint64", value: str = "uint64",
                     expect: tuple[Part, Part] | None = None, split: Sequence[Part] = (), beside: str = "") -> Index:
        """`key`, `value`: names of types; two for keys of two parts. `expect`: where first parts are expected, without the second number;
        `split`: the inner boundaries of partitions; `beside`: an object that it lies beside. Errors: AlreadyExists."""
        call = self._its.create_index(name, key=key, value=value, expect=expect, split=split, beside=beside)
        return Index(self._loop, self._loop.run(call))

    def create_hash(self, name: str, *, key: str = "uint64", expect: tuple[Part, Part] | None = None, split: Sequence[Part] = (),
                    beside: str = "") -> Hash:
        return Hash(self._loop, self._loop.run(self._its.create_hash(name, key=key, expect=expect, split=split, beside=beside)))

    def create_table(self, name: str, frame: Any, *, key: str | Sequence[str] = (), nullable: bool | Sequence[str] | None = None,
                     expect: tuple[Any, Any] | None = None, split: Sequence[Any] = (), beside: str = "") -> Table:
        """A table with the columns of a frame (of pandas, Polars, DuckDB, Arrow, a dict of columns, a Parquet file by its path) or of a schema
        of Arrow. It has no rows: write() takes them. `key`: the columns of a clustered table's key; without them it is a heap table.
        `nullable`: whether all columns outside the key are, or which ones; None: as the schema says. `expect`, `split`, `beside`: as for an
        index; without them the least and the greatest value of the first key column are looked for in frames and files.
        Errors: AlreadyExists; InvalidArgument (a type that no table has)."""
        call = self._its.create_table(name, frame, key=key, nullable=nullable, expect=expect, split=split, beside=beside)
        return Table(self._loop, self._loop.run(call))

    def list(self) -> Sequence[ObjectInfo]:
        """All objects, by name."""
        return self._loop.run(self._its.list())

    def describe(self, name: str) -> ObjectInfo:
        """Errors: NotFound."""
        return self._loop.run(self._its.describe(name))

    def drop(self, name: str) -> None:
        """Removes an object and its rows. Errors: NotFound."""
        self._loop.run(self._its.drop(name))

    def flight_info(self, name: str, columns: Sequence[str] | None = None, *, filter: str | None = None, limit: int = 0,
                    shares: int = 0, range: Mapping[str, Any] | None = None) -> flight.Info:
        """Endpoints that have the rows of an object: one, or for `shares` as many or more, all of one moment. Their tickets are bytes, which any
        process may read by flight_read() with a connection of its own to the endpoint's address. `range`: of an index, keys from "lo" on and
        below "hi". Errors: NotFound, InvalidArgument, FailedPrecondition (a hash)."""
        return self._loop.run(self._its.flight_info(name, columns, filter=filter, limit=limit, shares=shares, range=range))

    def flight_cancel(self, info: flight.Info) -> None:
        """Gives back the moment of an info whose endpoints will not be read. Without it the server does so after a while."""
        self._loop.run(self._its.flight_cancel(info))

    def flight_read(self, ticket: bytes, address: str | None = None) -> Iterator[Any]:
        """The record batches of an endpoint of flight_info(). `address`: the endpoint's, which only a database of several servers needs.
        Errors: NotFound (the object was dropped), FailedPrecondition (it has expired)."""
        return self._loop.each(self._its.flight_read(ticket, address))

    def pieces(self, name: str) -> Sequence[Piece]:
        """Which server has which keys of an object. Without a map it has them all."""
        return self._its.pieces(name)

    def sql(self, text: str) -> Query:
        """A query over the server's objects, run when its rows are asked for: `db.sql("select ...").pandas()`. Names without quotes are found
        whatever their letters' case. Needs datafusion. Errors, of its calls: InvalidArgument (the text), Unimplemented (what no plan of the
        server has), OutOfRange (arithmetic), ResourceExhausted."""
        return Query(self._loop, self._its.sql(text))

    def snapshot(self, time_to_live: float = 60.0) -> Snapshot:
        """One moment for several scans: `with db.snapshot() as snapshot`."""
        return Snapshot(self._loop, self._its.snapshot(time_to_live))


def connect(address: str = "127.0.0.1:7411", *, timeout: float = 30.0, security: Security | None = None) -> Database:
    """`address`: host:port, or unix:/path or /path of a socket, or the path of a map of several servers, which ends in .toml (eris.servers).
    `timeout`: seconds until the answer to each call. `security`: TLS and the token; None for what ERIS_TLS_CA, ERIS_TOKEN_FILE and so on say.

    Errors: Unavailable (nothing listens there, or the server is stopping); InvalidArgument (a map that makes no sense).
    """
    async def made() -> aio.Database:
        return await aio.connect(address, timeout=timeout, security=security)

    loop = Loop.shared()
    return Database(loop, loop.run(made()))
