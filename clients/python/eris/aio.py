"""The client for asyncio.

    async with eris.aio.connect("127.0.0.1:7411") as db:
        value = await db.index("orders").get(42)

A database belongs to the event loop in which it was connected.
"""
import asyncio
import importlib
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import Any, TypeVar

from eris import flight
from eris.columns import Part, key_message, range_message
from eris.connection import Connection
from eris.errors import InvalidArgument
from eris.frames import new_table
from eris.objects import Aggregate, Hash, Index, Object, Snapshot, Table
from eris.scans import Scan
from eris.schema import Column, ObjectInfo, Piece, column_of, info_of, key_value_schema, table_schema
from eris.security import Security
from eris.sql.query import Query
from eris.v1 import catalog_pb2, column_pb2

__all__ = ["Aggregate", "Column", "Database", "Hash", "Index", "ObjectInfo", "Query", "Scan", "Snapshot", "Table", "connect"]

Its = TypeVar("Its", bound=Object)


class Database:
    """A connection to a server. Use connect()."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._objects: dict[str, Object] = {}

    async def __aenter__(self) -> "Database":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Calls under way end with Cancelled."""
        await self._connection.close()

    def index(self, name: str) -> Index:
        """An index by its name. The server is asked at its first use: NotFound, or FailedPrecondition if it is of another kind."""
        return self._object(name, Index)

    def hash(self, name: str) -> Hash:
        return self._object(name, Hash)

    def table(self, name: str) -> Table:
        """A clustered or a heap table."""
        return self._object(name, Table)

    async def create_index(self, name: str, *, key: str | tuple[str, str] = "uint64", value: str = "uint64",
                           expect: tuple[Part, Part] | None = None, split: Sequence[Part] = (), beside: str = "") -> Index:
        """`key`, `value`: names of types; two for keys of two parts. `expect`: where first parts are expected, without the second number;
        `split`: the inner boundaries of partitions; `beside`: an object that it lies beside. Errors: AlreadyExists."""
        await self._create(name, catalog_pb2.OBJECT_KIND_INDEX, key, value, expect, split, beside)
        return self.index(name)

    async def create_hash(self, name: str, *, key: str = "uint64", expect: tuple[Part, Part] | None = None,
                          split: Sequence[Part] = (), beside: str = "") -> Hash:
        await self._create(name, catalog_pb2.OBJECT_KIND_HASH, key, "uint64", expect, split, beside)
        return self.hash(name)

    async def create_table(self, name: str, frame: Any, *, key: str | Sequence[str] = (), nullable: bool | Sequence[str] | None = None,
                           expect: tuple[Any, Any] | None = None, split: Sequence[Any] = (), beside: str = "") -> Table:
        """A table with the columns of a frame (of pandas, Polars, DuckDB, Arrow, a dict of columns, a Parquet file by its path) or of a schema
        of Arrow. It has no rows: write() takes them. `key`: the columns of a clustered table's key; without them it is a heap table.
        `nullable`: whether all columns outside the key are, or which ones; None: as the schema says. `expect`, `split`, `beside`: as for an
        index; without them the least and the greatest value of the first key column are looked for in frames and files.
        Errors: AlreadyExists; InvalidArgument (a type that no table has)."""
        columns, names, first, expect = await asyncio.to_thread(new_table, frame, key, nullable, expect, not split and not beside)
        kind = catalog_pb2.OBJECT_KIND_TABLE if names else catalog_pb2.OBJECT_KIND_HEAP_TABLE
        await self._create_object(name, kind, table_schema(columns, names), first, expect, split, beside)
        return self.table(name)

    async def list(self) -> Sequence[ObjectInfo]:
        """All objects, by name."""
        response = await self._connection.call("Catalog/ListObjects", catalog_pb2.ListObjectsRequest(), catalog_pb2.ListObjectsResponse)
        return [info_of(each) for each in response.objects]

    async def describe(self, name: str) -> ObjectInfo:
        """Errors: NotFound."""
        return await Object(self._connection, name).describe()

    async def drop(self, name: str) -> None:
        """Removes an object and its rows. Errors: NotFound."""
        self._objects.pop(name, None)
        await self._connection.call("Catalog/DropObject", catalog_pb2.DropObjectRequest(name=name), catalog_pb2.DropObjectResponse)

    async def flight_info(self, name: str, columns: Sequence[str] | None = None, *, filter: str | None = None, limit: int = 0,
                          shares: int = 0, range: Mapping[str, Any] | None = None) -> flight.Info:
        """Endpoints that have the rows of an object: one, or for `shares` as many or more, all of one moment. Their tickets are bytes, which any
        process may read by flight_read() with a connection of its own to the endpoint's address. `range`: of an index, keys from "lo" on and
        below "hi". Errors: NotFound, InvalidArgument, FailedPrecondition (a hash)."""
        query = flight.command(name, columns, filter=filter, limit=limit, shares=shares, range=range)
        return await flight.info(self._connection, query)

    async def flight_cancel(self, info: flight.Info) -> None:
        """Gives back the moment of an info whose endpoints will not be read. Without it the server does so after a while."""
        for _, message in info.messages:
            await flight.cancel(self._connection, message)

    def flight_read(self, ticket: bytes, address: str | None = None) -> AsyncGenerator[Any, None]:
        """The record batches of an endpoint of flight_info(). `address`: the endpoint's, which only a database of several servers needs.
        Errors: NotFound (the object was dropped), FailedPrecondition (it has expired)."""
        return flight.read(self._connection, ticket)

    def pieces(self, name: str) -> Sequence[Piece]:
        """Which server has which keys of an object. Without a map it has them all."""
        return (Piece(self._connection.address),)

    def sql(self, text: str) -> Query:
        """A query over the server's objects, run when its rows are asked for: `await db.sql("select ...").arrow()`. Names without quotes are
        found whatever their letters' case. Needs datafusion. Errors, of its calls: InvalidArgument (the text), Unimplemented (what no plan
        of the server has), OutOfRange (arithmetic), ResourceExhausted."""
        return Query(self._connection, self.list, text)

    def snapshot(self, time_to_live: float = 60.0) -> Snapshot:
        """One moment for several scans: `async with db.snapshot() as snapshot`."""
        return Snapshot(self._connection, time_to_live)

    def _object(self, name: str, its: type[Its]) -> Its:
        known = self._objects.get(name)
        if isinstance(known, its):
            return known
        made = self._objects[name] = its(self._connection, name)
        return made

    async def _create(self, name: str, kind: catalog_pb2.ObjectKind, key: str | tuple[str, str], value: str,
                      expect: tuple[Part, Part] | None, split: Sequence[Part], beside: str) -> None:
        schema = key_value_schema(key, value)
        await self._create_object(name, kind, schema, column_of(schema.columns[0]), expect, split, beside)

    async def _create_object(self, name: str, kind: catalog_pb2.ObjectKind, schema: column_pb2.Schema, first: Column | None,
                             expect: tuple[Any, Any] | None, split: Sequence[Any], beside: str) -> None:
        """`first`: the first column of the key."""
        request = catalog_pb2.CreateObjectRequest(name=name, kind=kind, schema=schema, beside=beside)
        if first is None and (expect is not None or split):
            raise InvalidArgument("a heap table has no key: expect and split are for others")
        if first is not None and expect is not None:
            request.expected.CopyFrom(range_message((first,), *expect))
        if first is not None:
            request.split_keys.extend(key_message(first, each) for each in split)
        self._objects.pop(name, None)
        await self._connection.call("Catalog/CreateObject", request, catalog_pb2.CreateObjectResponse)


class Connecting:
    """What connect() gives: `async with` it, or await it."""

    def __init__(self, address: str, timeout: float, security: Security | None) -> None:
        self._address, self._timeout, self._security = address, timeout, security
        self._database: Database | None = None

    def __await__(self) -> Generator[Any, None, Database]:
        return self._connect().__await__()

    async def __aenter__(self) -> Database:
        self._database = await self._connect()
        return self._database

    async def __aexit__(self, *_: object) -> None:
        if self._database is not None:
            await self._database.close()

    async def _connect(self) -> Database:
        if self._address.endswith(".toml"):
            servers: Any = importlib.import_module("eris.servers")
            database: Database = await servers.connect(self._address, self._timeout, self._security)
            return database
        connection = Connection(self._address, self._timeout, self._security)
        try:
            await connection.check()
        except BaseException:
            await connection.close()
            raise
        return Database(connection)


def connect(address: str = "127.0.0.1:7411", *, timeout: float = 30.0, security: Security | None = None) -> Connecting:
    """`address`: host:port, or unix:/path or /path of a socket, or the path of a map of several servers, which ends in .toml (eris.servers).
    `timeout`: seconds until the answer to each call. `security`: TLS and the token; None for what ERIS_TLS_CA, ERIS_TOKEN_FILE and so on say.

    Errors: Unavailable (nothing listens there, or the server is stopping); InvalidArgument (a map that makes no sense).
    """
    return Connecting(address, timeout, security)
