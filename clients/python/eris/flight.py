"""Arrow Flight over gRPC's asyncio, without libarrow_flight: what a query's endpoints are, and their rows as record batches of pyarrow.

Messages are read and written here: the body of a FlightData, a megabyte, is copied once, to where a batch's buffers may lie.
"""
import contextlib
import dataclasses
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from eris.connection import Connection
from eris.errors import Internal
from eris.tables import pyarrow

_SERVICE = "/arrow.flight.protocol.FlightService/"
_CUT = "the server sent a message that ends too early"
_ALIGNMENT = 64  # of a body: Arrow's buffers in it are then aligned, too
_CONTINUES = b"\xff\xff\xff\xff"


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """Some of a query's rows. `expires`: seconds since 1970, or None. `address`: of the server that was asked, and that reads its ticket."""

    ticket: bytes
    app_metadata: bytes = b""
    locations: tuple[str, ...] = ()
    expires: float | None = None
    address: str = ""


@dataclasses.dataclass(frozen=True)
class Info:
    """`schema` is pyarrow's. All endpoints together have the rows, each row once. `records`: -1 if their number is unknown. `messages`: as they
    came, each with the address of its server."""

    schema: Any
    endpoints: tuple[Endpoint, ...]
    records: int
    ordered: bool
    app_metadata: bytes
    messages: tuple[tuple[str, bytes], ...] = ()


def command(name: str, columns: Sequence[str] | None = None, *, filter: str | None = None, limit: int = 0, shares: int = 0,
            **more: object) -> bytes:
    """A query of an object; `filter` as `eris scan --filter` reads it. What is unset is left out."""
    fields = {"object": name, "columns": None if columns is None else list(columns), "filter": filter, "limit": limit or None,
              "shares": shares or None, **more}
    return json.dumps({field: value for field, value in fields.items() if value is not None}).encode()


async def info(connection: Connection, query: bytes) -> Info:
    """What a command() gives. Errors: NotFound, InvalidArgument, FailedPrecondition (a hash), ResourceExhausted (snapshots)."""
    descriptor = b"\x08\x02" + _bytes_field(2, query)  # its type: a command
    got = memoryview(await connection.call_bytes(f"{_SERVICE}GetFlightInfo", descriptor))
    one: dict[int, Any] = {1: b"", 4: 0, 6: 0, 7: b""}
    endpoints = []
    for number, value in _fields(got):
        if number == 3:
            endpoints.append(_endpoint(value, connection.address))
        else:
            one[number] = value
    schema = pyarrow().ipc.read_schema(pyarrow().py_buffer(bytes(one[1])))
    records = one[4] - (1 << 64) if one[4] >> 63 else one[4]
    return Info(schema, tuple(endpoints), records, bool(one[6]), bytes(one[7]), ((connection.address, bytes(got)),))


async def cancel(connection: Connection, message: bytes) -> None:
    """Gives back the snapshot of an info's tickets, which then are of no use."""
    action = _bytes_field(1, b"CancelFlightInfo") + _bytes_field(2, _bytes_field(1, message))
    async with contextlib.aclosing(connection.stream_bytes(f"{_SERVICE}DoAction", action)) as results:
        async for _ in results:
            pass


async def read(connection: Connection, ticket: bytes) -> AsyncGenerator[Any, None]:
    """The record batches of an endpoint, as they come. Closing the iterator ends the call.

    Errors: NotFound (the object was dropped), FailedPrecondition (the ticket has expired), Aborted (its snapshot was given up).
    """
    schema = None
    async with contextlib.aclosing(connection.stream_bytes(f"{_SERVICE}DoGet", _bytes_field(1, ticket))) as messages:
        async for data in messages:
            message = _arrow_message(data)
            if message is not None and message.type == "schema":
                schema = pyarrow().ipc.read_schema(message)
            elif message is not None:
                yield pyarrow().ipc.read_record_batch(message, schema)


def _endpoint(data: memoryview, address: str) -> Endpoint:
    ticket, app_metadata, locations, expires = b"", b"", [], None
    for number, value in _fields(data):
        if number == 1:
            ticket = b"".join(bytes(its) for field, its in _fields(value) if field == 1)
        elif number == 2:
            locations += [bytes(its).decode() for field, its in _fields(value) if field == 1]
        elif number == 3:
            time = dict(_fields(value))
            expires = time.get(1, 0) + time.get(2, 0) / 1e9
        elif number == 4:
            app_metadata = bytes(value)
    return Endpoint(ticket, app_metadata, tuple(locations), expires, address)


def _arrow_message(data: bytes) -> Any:
    """The message of the IPC format in a FlightData; None if it has metadata alone."""
    header, body = memoryview(b""), memoryview(b"")
    for number, value in _fields(memoryview(data)):
        if number == 2:
            header = value
        elif number == 1000:
            body = value
    if not header:
        return None
    begin = -(-(8 + len(header)) // _ALIGNMENT) * _ALIGNMENT
    buffer = pyarrow().allocate_buffer(begin + len(body))
    into = memoryview(buffer).cast("B")
    into[:8] = _CONTINUES + (begin - 8).to_bytes(4, "little")
    into[8:8 + len(header)] = header
    into[8 + len(header):begin] = bytes(begin - 8 - len(header))
    into[begin:] = body
    return pyarrow().ipc.read_message(buffer)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _take_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise Internal(_CUT)


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a serialized message: a number, or the bytes of a string or of a message."""
    at = 0
    while at < len(data):
        tag, at = _take_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _take_varint(data, at)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = _take_varint(data, at)
        if kind not in (1, 2, 5) or at + size > len(data):
            raise Internal(_CUT)
        yield tag >> 3, data[at:at + size]
        at += size
