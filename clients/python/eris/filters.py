"""What a filter of pyarrow says, in the words of the server's filters.

A pyarrow.compute.Expression shows its parts to nobody, but it can be pickled: it becomes a record batch with its literals as columns and
with the tree in the metadata of the schema, whose keys "call", "field_ref", "literal", "options" and "end" may occur any number of times.
What is not understood is not sent to the server. Readers apply the whole filter to the rows that come, in any case.
"""
import ctypes
import dataclasses
import datetime
import decimal
import math
from collections.abc import Iterator, Mapping
from typing import Any

from eris.schema import Column, Type
from eris.tables import pyarrow

# Larger filters are not sent: the server has limits, too.
TEXT_BYTES_MAX = 32 << 10
SIZE_MAX = 2000
DEPTH_MAX = 40
_OPERATORS = {"equal": "=", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RANGES = {Type.UINT64: (0, 2**64), Type.INT64: (1 - 2**63, 2**63), Type.INT32: (-(2**31), 2**31)}


@dataclasses.dataclass(frozen=True)
class Field:
    name: str


@dataclasses.dataclass(frozen=True)
class Literal:
    value: Any  # a scalar of pyarrow
    place: int  # the number of its column


@dataclasses.dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple["Node", ...]
    options: Any = None  # a scalar of pyarrow, of a struct


Node = Field | Literal | Call


class _NotKnown(Exception):
    pass


class Filter:
    """A pyarrow.compute.Expression, taken apart."""

    def __init__(self, expression: Any, columns: Mapping[str, Column]) -> None:
        """`columns`: those that the filter may name."""
        self.expression, self._columns = expression, columns
        self._make, (pickled,) = expression.__reduce__()
        with pyarrow().ipc.open_file(pickled) as reader:
            self._literals = reader.get_batch(0)
        words = _metadata(self._literals.schema)
        self.root = self._node(*next(words), words)

    @classmethod
    def of(cls, expression: Any, columns: Mapping[str, Column]) -> "Filter | None":
        """None if it is not understood."""
        try:
            return cls(expression, columns)
        except Exception:  # another version of pyarrow may pickle it in another form
            return None

    def fields(self) -> set[str]:
        """The columns that it reads."""
        return set(_fields(self.root))

    def text(self) -> str | None:
        """For the server: true wherever the filter is, and maybe elsewhere. None: for all rows."""
        size, depth = _extent(self.root)
        made = self._wide(self.root) if size <= SIZE_MAX and depth <= DEPTH_MAX else None
        return made if made is not None and len(made.encode()) <= TEXT_BYTES_MAX else None

    def exact(self) -> Any:
        """The same filter with literals of the types of the columns that they are compared with. pyarrow would convert columns of uint64 to
        int64, and integers to decimals that are too wide, and fail."""
        literals = self._literals
        for column, literal in _comparisons(self.root, self._columns):
            value = _typed(column, literal.value)
            if value is not None:
                array = pyarrow().array([value.as_py()], type=value.type)
                literals = literals.set_column(literal.place, pyarrow().field("", value.type), array)
        if literals is self._literals:
            return self.expression
        sink = pyarrow().BufferOutputStream()
        with pyarrow().ipc.new_file(sink, literals.schema) as writer:
            writer.write_batch(literals)
        return self._make(sink.getvalue())

    def _node(self, key: str, value: str, words: Iterator[tuple[str, str]]) -> Node:
        if key == "field_ref":
            return Field(value)
        if key == "literal":
            return Literal(self._literals.column(int(value))[0], int(value))
        if key != "call":
            raise _NotKnown(key)
        arguments: list[Node] = []
        options = None
        for inner in words:
            if inner == ("end", value):
                return Call(value, tuple(arguments), options)
            if inner[0] == "options":
                options = self._literals.column(int(inner[1]))[0]
            else:
                arguments.append(self._node(*inner, words))
        raise _NotKnown(value)

    def _wide(self, node: Node) -> str | None:
        """A condition that is true wherever the node is, or None."""
        match node:
            case Call("and_kleene" | "and", arguments):
                parts = [part for part in map(self._wide, arguments) if part is not None]
                return f"({' and '.join(parts)})" if parts else None
            case Call("or_kleene" | "or", arguments):
                parts = [part for part in map(self._wide, arguments) if part is not None]
                return f"({' or '.join(parts)})" if len(parts) == len(arguments) else None
            case Call("if_else", (Call("is_valid"), value, Literal() as other)) if not other.value.is_valid:
                return self._wide(value)
        return self._leaf(node, True)

    def _same(self, node: Node) -> str | None:
        """A condition that is true, false and null as the node is, or None."""
        match node:
            case Call("and_kleene" | "or_kleene" as name, arguments):
                parts = [part for part in map(self._same, arguments) if part is not None]
                return f"({f' {name[:-7]} '.join(parts)})" if len(parts) == len(arguments) else None
            case Call("if_else", (Call("is_valid", (Field() as tested,)), Call("is_in", (Field() as field,)) as value, Literal() as other)) \
                    if tested == field and not other.value.is_valid:
                # pyarrow does not find -0.0 in a set that has 0.0: under a `not` it stays, and the server would leave it out.
                known = self._columns.get(field.name)
                return None if known is None or known.type is Type.FLOAT64 else self._leaf(value, True)
            case Call("is_in"):  # without the case before, it is false for a null
                return None
        return self._leaf(node, False)

    def _leaf(self, node: Node, wide: bool) -> str | None:
        match node:
            case Call("invert", (inner,)):
                text = self._same(inner)
                return None if text is None else f"not ({text})"
            case Call("is_null", (Field(name),), options) if name in self._columns and not options.as_py()["nan_is_null"]:
                return f"{quoted(name)} is null"
            case Call("is_valid", (Field(name),)) if name in self._columns:
                return f"{quoted(name)} is not null"
            case Call("is_in", (Field(name),), options) if name in self._columns:
                return self._in(self._columns[name], options.as_py()["value_set"])
            case Call(name, (Field(field), Literal() as literal)) if name in _OPERATORS and field in self._columns:
                return _comparison(self._columns[field], _OPERATORS[name], literal, wide)
            case Call(name, (Literal() as literal, Field(field))) if name in _OPERATORS and field in self._columns:
                return _comparison(self._columns[field], _TURNED[_OPERATORS[name]], literal, wide)
        return None

    @staticmethod
    def _in(column: Column, values: list[Any]) -> str | None:
        texts = [text for text in (literal_of(column, value) for value in values) if text is not None]
        return f"{quoted(column.name)} in ({', '.join(texts)})" if texts and len(texts) == len(values) else None


def _comparison(column: Column, operator: str, literal: Literal, wide: bool) -> str | None:
    # The server and pyarrow need not agree on NaN: only what is false for it in pyarrow is compared.
    if column.type is Type.FLOAT64 and (not wide or operator == "!="):
        return None
    text = literal_of(column, literal.value.as_py())
    return None if text is None else f"{quoted(column.name)} {operator} {text}"


def literal_of(column: Column, value: object) -> str | None:
    """A value that is one of the column's type, as a literal of the server's; else None."""
    if isinstance(value, bool):
        return None
    if column.type in _RANGES and isinstance(value, int):
        low, end = _RANGES[column.type]
        return str(value) if low <= value < end else None
    if column.type is Type.DECIMAL64 and isinstance(value, (int, decimal.Decimal)):
        number = decimal.Decimal(value)
        exponent = number.as_tuple().exponent
        fits = isinstance(exponent, int) and -18 <= exponent <= 0 and abs(number) < 10**18
        return f"{number:f}" if fits else None
    if column.type is Type.FLOAT64 and isinstance(value, float):
        return f"{value:.17e}" if value == 0 or (math.isfinite(value) and 1e-300 < abs(value) < 1e300) else None
    if column.type is Type.DATE and type(value) is datetime.date:
        return value.isoformat()
    if column.type is Type.TIMESTAMP and isinstance(value, datetime.datetime) and value == value and not getattr(value, "nanosecond", 0):
        utc = value if value.tzinfo is None else value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return f"timestamp '{utc.isoformat(sep=' ')}'"
    if column.type is Type.STRING and isinstance(value, str):
        return None if "\0" in value else "'" + value.replace("'", "''") + "'"
    return None


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _extent(node: Node) -> tuple[int, int]:
    """Nodes and values of a tree, and its levels."""
    if not isinstance(node, Call):
        return 1, 1
    size = 1 if node.name != "is_in" else len(node.options["value_set"])
    inner = [_extent(argument) for argument in node.arguments]
    return size + sum(its for its, _ in inner), 1 + max((depth for _, depth in inner), default=0)


def _fields(node: Node) -> Iterator[str]:
    if isinstance(node, Field):
        yield node.name
    elif isinstance(node, Call):
        for argument in node.arguments:
            yield from _fields(argument)


def _comparisons(node: Node, columns: Mapping[str, Column]) -> Iterator[tuple[Column, Literal]]:
    if not isinstance(node, Call):
        return
    if node.name in _OPERATORS:
        for field, literal in (node.arguments, node.arguments[::-1]):
            if isinstance(field, Field) and isinstance(literal, Literal) and field.name in columns:
                yield columns[field.name], literal
    for argument in node.arguments:
        yield from _comparisons(argument, columns)


def _typed(column: Column, value: Any) -> Any:
    """An integer as a value of the column's type, or as a decimal that has room for both; None: it stays as it is."""
    arrow = pyarrow()
    if not value.is_valid or not arrow.types.is_integer(value.type):
        return None
    number = value.as_py()
    if column.type is Type.UINT64:
        return arrow.scalar(number, arrow.uint64()) if number >= 0 else arrow.scalar(decimal.Decimal(number), arrow.decimal128(20, 0))
    if column.type is Type.DECIMAL64:
        return arrow.scalar(decimal.Decimal(number), arrow.decimal128(38, column.scale))
    return None


class _ArrowSchema(ctypes.Structure):
    """The beginning of ArrowSchema, of Arrow's C data interface."""

    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p)]


def _metadata(schema: Any) -> Iterator[tuple[str, str]]:
    """Pairs in their order. pyarrow itself gives a dict, in which equal keys are lost."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = schema.__arrow_c_schema__()
    at = ctypes.cast(pointer(capsule, b"arrow_schema"), ctypes.POINTER(_ArrowSchema)).contents.metadata

    def number() -> int:
        nonlocal at
        at += 4
        return int.from_bytes(ctypes.string_at(at - 4, 4), "little")

    def text() -> str:
        nonlocal at
        size = number()
        at += size
        return ctypes.string_at(at - size, size).decode()

    if not at:
        raise _NotKnown("no metadata")
    pairs = [(text(), text()) for _ in range(number())]
    del capsule  # the memory is its own
    return iter(pairs)
