"""Schemas of objects, as the server describes them."""
import dataclasses
import difflib
import enum
from collections.abc import Iterable
from typing import Any

from eris.errors import InvalidArgument, Unimplemented
from eris.v1 import catalog_pb2, column_pb2


class Type(enum.Enum):
    """The type of a column; the value is its name on the command line, too."""

    UINT64 = "uint64"
    INT64 = "int64"
    FLOAT64 = "float64"
    DATE = "date"
    TIMESTAMP = "timestamp"  # microseconds since 1970 in UTC
    INT32 = "int32"
    DECIMAL64 = "decimal"
    DECIMAL128 = "decimal128"
    STRING = "string"  # text
    BYTES = "bytes"  # any

    @property
    def wire(self) -> column_pb2.ColumnType:
        return _WIRE[self]


_WIRE = {
    Type.UINT64: column_pb2.COLUMN_TYPE_UINT64,
    Type.INT64: column_pb2.COLUMN_TYPE_INT64,
    Type.FLOAT64: column_pb2.COLUMN_TYPE_FLOAT64,
    Type.DATE: column_pb2.COLUMN_TYPE_DATE32,
    Type.TIMESTAMP: column_pb2.COLUMN_TYPE_TIMESTAMP,
    Type.INT32: column_pb2.COLUMN_TYPE_INT32,
    Type.DECIMAL64: column_pb2.COLUMN_TYPE_DECIMAL64,
    Type.DECIMAL128: column_pb2.COLUMN_TYPE_DECIMAL128,
    Type.STRING: column_pb2.COLUMN_TYPE_STRING,
    Type.BYTES: column_pb2.COLUMN_TYPE_BYTES,
}
_TYPES = {wire: its for its, wire in _WIRE.items()}
# SQL's names, as the command line takes them.
_ALIASES = {
    "integer": Type.INT32, "int": Type.INT32, "bigint": Type.INT64, "double": Type.FLOAT64, "real": Type.FLOAT64, "float": Type.FLOAT64,
    "numeric": Type.DECIMAL64, "varchar": Type.STRING, "text": Type.STRING, "char": Type.STRING, "blob": Type.BYTES, "bytea": Type.BYTES,
    "binary": Type.BYTES, "datetime": Type.TIMESTAMP}

KINDS = {
    catalog_pb2.OBJECT_KIND_INDEX: "index",
    catalog_pb2.OBJECT_KIND_HASH: "hash",
    catalog_pb2.OBJECT_KIND_TABLE: "table",
    catalog_pb2.OBJECT_KIND_HEAP_TABLE: "heap table",
}


@dataclasses.dataclass(frozen=True)
class Piece:
    """Keys of an object that one server has: values of the first key column, from lo on and below hi; None: without a bound."""

    address: str
    lo: Any = None
    hi: Any = None


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    type: Type
    scale: int = 0  # digits behind the point, for decimals
    nullable: bool = False


@dataclasses.dataclass(frozen=True)
class ObjectInfo:
    """An object, as it was when the server was asked."""

    name: str
    id: int
    kind: str  # "index", "hash", "table" or "heap table"
    columns: tuple[Column, ...]
    key: tuple[Column, ...]  # empty for a heap table
    keys: int  # rows
    memory_bytes: int
    partitions: int
    beside: tuple[str, ...]

    @property
    def value(self) -> Column:
        """The value column of an index or a hash."""
        return self.columns[len(self.key)]


def column_of(message: column_pb2.ColumnSchema) -> Column:
    known = _TYPES.get(message.type)
    if known is None:
        raise Unimplemented(f"column {message.name!r} has type {message.type}: this client is too old for the server")
    return Column(message.name, known, message.scale, message.nullable)


def info_of(message: catalog_pb2.Object) -> ObjectInfo:
    columns = tuple(column_of(each) for each in message.schema.columns)
    by_name = {each.name: each for each in columns}
    return ObjectInfo(message.name, message.id, KINDS.get(message.kind, "unknown"), columns,
                      tuple(by_name[name] for name in message.schema.key), message.keys, message.memory_bytes,
                      len(message.partitions), tuple(message.beside))


def named_columns(key: str | tuple[str, str], value: str) -> tuple[Column, ...]:
    """The columns of an index or a hash, with the names that the command line gives. The last one is the value."""
    names = [key] if isinstance(key, str) else list(key)
    if not 1 <= len(names) <= 2:
        raise InvalidArgument(f"a key has one or two parts, not {len(names)}")
    return tuple(Column(name, type_named(its)) for name, its in [*zip(("key", "second_key"), names), ("value", value)])


def key_value_schema(key: str | tuple[str, str], value: str) -> column_pb2.Schema:
    columns = named_columns(key, value)
    return column_pb2.Schema(columns=[column_pb2.ColumnSchema(name=its.name, type=its.type.wire) for its in columns],
                             key=[its.name for its in columns[:-1]])


def table_schema(columns: Iterable[Column], key: Iterable[str]) -> column_pb2.Schema:
    return column_pb2.Schema(key=key, columns=[
        column_pb2.ColumnSchema(name=its.name, type=its.type.wire, scale=its.scale, nullable=its.nullable) for its in columns])


def type_named(name: str) -> Type:
    """Of a name in any case, ERIS's or one of SQL's."""
    known = {its.value: its for its in Type} | _ALIASES
    if (found := known.get(name.lower())) is not None:
        return found
    near = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"types are {', '.join(its.value for its in Type)}"
    raise InvalidArgument(f"there is no type {name!r}; {hint}")
