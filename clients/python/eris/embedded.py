"""A database in this process: what eris.open() gives. Its calls are those of eris.connect(), and so are their classes; the objects here are
what those use in place of a connection. The engine is in the package eris_embedded."""
import fractions
import functools
import importlib
import math
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from eris import sync
from eris.batches import CONDITIONAL, Bits, cut
from eris.columns import (BYTE_STRINGS, DTYPES, Array, bound_number, element, is_one, key_arrays, key_tuple, shown, single_key,
                          string_buffers, strings_of, value_array)
from eris.connection import check_process
from eris.errors import Aborted, Error, FailedPrecondition, InvalidArgument, ResourceExhausted, Unimplemented, error_of_number
from eris.frames import new_table, pieces_of, source_of
from eris.objects import OUTDATED, Aggregate, columns_named, limit_of, value_bounds
from eris.schema import Column, ObjectInfo, Type, named_columns
from eris.table_write import cut_rows, has_bytes, numbers_of, offsets_of
from eris.tables import pyarrow, schema_of
from eris.v1 import data_pb2

T = TypeVar("T")

# Limits of a batch of the engine (include/eris/batch.h).
ROWS_MAX = 1 << 20
STRING_BYTES_MAX = 32 << 20
_RESOURCE_EXHAUSTED = 8


class Direct(sync.Loop):
    """In place of an event loop: calls have their results already."""

    def __init__(self) -> None:
        pass  # no thread

    def run(self, call: Any) -> Any:
        return call

    def each(self, items: Any) -> Any:
        return iter(items)


def _bytes_of(given: int | str) -> int:
    """"4GiB", "512 MiB" or a number of bytes. A part of a byte counts as one: 0 would be no limit of the caller's."""
    size: int | str = given
    found = re.fullmatch(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([KMGT]i)?B?", given) if isinstance(given, str) else None
    if found is not None:
        size = math.ceil(fractions.Fraction(found[1]) * 1024 ** (" KMGT".index(found[2][0]) if found[2] else 0))
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**64:
        got = f"one of {given.bit_length()} bits" if isinstance(given, int) and given.bit_length() > 128 else f"{given!r:.60}"
        raise InvalidArgument(f"memory_limit is a number of bytes below 2**64, or a text like '4GiB': got {got}")
    return size


def _info_of(described: dict[str, Any]) -> ObjectInfo:
    columns = tuple(Column(name, Type(its), scale, nullable) for name, its, scale, nullable in described["columns"])
    return ObjectInfo(described["name"], described["id"], described["kind"], columns, tuple(columns[i] for i in described["key"]),
                      described["keys"], described["memory_bytes"], described["partitions"], tuple(described["beside"]))


def _sent(column: Column, values: Array) -> tuple[Any, Any, Any]:
    """A column as the engine takes it."""
    if column.type not in BYTE_STRINGS:
        return values, None, None
    data, offsets = string_buffers(values)
    return np.frombuffer(data, dtype=np.uint8), offsets, None


def _got(column: Column, its: tuple[Any, Any]) -> Array:
    """A column of an answer; numbers are a view of it."""
    values, offsets = its
    made: Array = strings_of(column, values.tobytes(), offsets.tolist()) if column.type in BYTE_STRINGS else values
    return made


def _bits(given: Any, rows: int) -> Bits:
    return np.unpackbits(given, count=rows, bitorder="little").view(np.bool_)


def _bound(key: tuple[Column, ...], given: object) -> tuple[Any, ...] | None:
    """A bound of a range: the parts of a key, or its first part."""
    if given is None:
        return None
    parts = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(parts) <= len(key):
        raise InvalidArgument(f"a bound of a range has {len(parts)} parts, and keys have {len(key)}")
    return tuple(bound_number(column, part) for column, part in zip(key, parts))


class _Database:
    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self._open: dict[str, tuple[Any, ObjectInfo]] = {}

    def close(self) -> None:
        self._open.clear()
        self.engine.close()

    def opened(self, name: str, kinds: tuple[str, ...]) -> tuple[Any, ObjectInfo]:
        """The engine's handle and the schema of an object."""
        check_process()
        known = self._open.get(name)
        if known is None:
            known = self._open[name] = self.engine.open(name), self.describe(name)
        if known[1].kind not in kinds:
            raise FailedPrecondition(f"object {name!r} is of the kind {known[1].kind}, not {' or '.join(kinds)}")
        return known

    def forget(self, name: str) -> None:
        self._open.pop(name, None)

    def describe(self, name: str) -> ObjectInfo:
        return _info_of(self.engine.describe(name))

    def list(self) -> Sequence[ObjectInfo]:
        return [_info_of(each) for each in self.engine.list()]

    def drop(self, name: str) -> None:
        self.forget(name)
        self.engine.drop(name)

    def index(self, name: str) -> "_Index":
        return _Index(self, name)

    def hash(self, name: str) -> "_Hash":
        return _Hash(self, name)

    def table(self, name: str) -> "_Table":
        return _Table(self, name)

    def snapshot(self, time_to_live: float) -> "_Snapshot":
        return _Snapshot(self)

    def create_index(self, name: str, **options: Any) -> "_Index":
        self._create(name, "index", **options)
        return self.index(name)

    def create_hash(self, name: str, **options: Any) -> "_Hash":
        self._create(name, "hash", value="uint64", **options)
        return self.hash(name)

    def create_table(self, name: str, frame: Any, *, key: str | Sequence[str], nullable: bool | Sequence[str] | None,
                     expect: tuple[Any, Any] | None, split: Sequence[Any], beside: str) -> "_Table":
        columns, names, first, expect = new_table(frame, key, nullable, expect, not split and not beside)
        if first is None and (expect is not None or split):
            raise InvalidArgument("a heap table has no key: expect and split are for others")
        every = [column.name for column in columns]
        self._create_object(name, "table" if names else "heap table", columns, [every.index(each) for each in names], expect, split, beside)
        return self.table(name)

    def flight_info(self, *_: Any, **__: Any) -> Any:
        raise Unimplemented("other processes read from a server: an engine in this process has no endpoints")

    flight_read = flight_cancel = flight_info

    def pieces(self, *_: Any, **__: Any) -> Any:
        raise Unimplemented("an engine in this process is no server of a map")

    def _create(self, name: str, kind: str, key: str | tuple[str, str], value: str, expect: tuple[Any, Any] | None,
                split: Sequence[Any], beside: str) -> None:
        columns = named_columns(key, value)
        self._create_object(name, kind, columns, range(len(columns) - 1), expect, split, beside)

    def _create_object(self, name: str, kind: str, columns: Sequence[Column], key: Sequence[int], expect: tuple[Any, Any] | None,
                       split: Sequence[Any], beside: str) -> None:
        first = tuple(columns[i] for i in key[:1])
        lo, hi = (_bound(first, each) for each in expect) if expect is not None else (None, None)
        self.forget(name)
        self.engine.create(name, kind, [(its.name, its.type.value, its.scale, its.nullable) for its in columns], [*key], lo, hi,
                           [_bound(first, each) for each in split], beside)


class _Snapshot:
    def __init__(self, database: _Database) -> None:
        self._database = database
        self.its: Any = None  # the engine's; None: not taken, or released

    def __aenter__(self) -> "_Snapshot":
        self.its = self._database.engine.snapshot()
        return self

    def __aexit__(self) -> None:
        its, self.its = self.its, None
        its.release()


def _held(snapshot: _Snapshot | None) -> Any:
    if snapshot is not None and snapshot.its is None:
        raise FailedPrecondition("the snapshot is not taken, or was released")
    return None if snapshot is None else snapshot.its


class _Object:
    KINDS: tuple[str, ...] = ()

    def __init__(self, database: _Database, name: str) -> None:
        self.name = name
        self._database = database

    def describe(self) -> ObjectInfo:
        return self._database.describe(self.name)

    def _call(self, call: Callable[[Any, ObjectInfo], T]) -> T:
        """Another object may have the name after an error: it is opened again."""
        try:
            return call(*self._database.opened(self.name, self.KINDS))
        except OUTDATED:
            self._database.forget(self.name)
            raise

    def _streamed(self, columns: Sequence[str], limit: int, snapshot: _Snapshot | None, lo: Any = None, hi: Any = None,
                  values: tuple[int, int] | None = None, backward: bool = False, filter: str | None = None) -> tuple[Any, ObjectInfo]:
        def opened(handle: Any, info: ObjectInfo) -> tuple[Any, ObjectInfo]:
            stream = self._database.engine.scan(
                handle, list(columns), _bound(info.key, lo), _bound(info.key, hi),
                None if values is None else value_bounds(info, values), backward, filter, limit_of(limit), _held(snapshot))
            return stream, info
        return self._call(opened)


class _KeyValue(_Object):
    def get(self, keys: Any) -> Any:
        def got(handle: Any, info: ObjectInfo) -> Any:
            key = single_key(info.key, keys)
            if key is not None:
                values, found = self._lookup(handle, info, [_one(*pair) for pair in zip(info.key, key)])
                return values.tolist()[0] if found[0] else None
            return self._lookup(handle, info, key_arrays(info.key, keys))
        return self._call(got)

    def contains(self, key: Any) -> bool:
        return self.get(key) is not None

    def put(self, keys: Any, values: Any) -> None:
        self._write(data_pb2.WRITE_MODE_UPSERT, keys, values)

    def erase(self, keys: Any) -> Any:
        return self._write(data_pb2.WRITE_MODE_ERASE, keys)[0]

    def add(self, keys: Any, values: Any) -> Any:
        return self._write(data_pb2.WRITE_MODE_ADD, keys, values)[2]

    def insert(self, keys: Any, values: Any) -> Any:
        return self._tested(data_pb2.WRITE_MODE_INSERT_IF_ABSENT, keys, values)

    def replace(self, keys: Any, values: Any) -> Any:
        return self._tested(data_pb2.WRITE_MODE_REPLACE_IF_PRESENT, keys, values)

    def compare_and_set(self, keys: Any, expected: Any, values: Any) -> Any:
        return self._tested(data_pb2.WRITE_MODE_COMPARE_AND_SET, keys, values, expected)

    def _tested(self, mode: data_pb2.WriteMode, *rows: Any) -> Any:
        existed, applied, answers = self._write(mode, *rows)
        return applied, None if existed is False else answers

    def _lookup(self, handle: Any, info: ObjectInfo, keys: list[Array]) -> tuple[Array, Bits]:
        count = len(keys[0])
        values: Array = np.zeros(count, dtype=DTYPES[info.value.type])
        found = np.zeros(count, dtype=np.bool_)
        if info.value.type in BYTE_STRINGS:
            values[:] = None
        for rows in cut(keys, ROWS_MAX, STRING_BYTES_MAX):
            left = np.arange(rows.start, rows.stop)
            asked = [key[rows] for key in keys]
            while len(left):
                answer = self._database.engine.lookup(handle, [_sent(*pair) for pair in zip(info.key, asked)])
                executed = _executed(answer, len(left))
                if answer.code and not (answer.code == _RESOURCE_EXHAUSTED and executed.any()):
                    raise error_of_number(answer.code, answer.message)
                if len(left) == count and not answer.code:  # mostly one answer has all
                    found, got = _bits(answer.existed, count), _got(info.value, answer.column(0))
                    if found.all():
                        return np.array(got), found
                    values[found] = got[found]
                    return values, found
                there = _bits(answer.existed, len(left)) & executed
                found[left[there]] = True
                values[left[there]] = _got(info.value, answer.column(0))[there]
                left = left[~executed]  # their strings had no room in the answer
                asked = [key[left] for key in keys]
        return values, found

    def _write(self, mode: data_pb2.WriteMode, keys: Any, *values: Any) -> tuple[Any, Any, Any]:
        def written(handle: Any, info: ObjectInfo) -> tuple[Any, Any, Any]:
            key = single_key(info.key, keys)
            if key is None:
                columns = key_arrays(info.key, keys)
                return self._write_all(handle, info, mode, columns, [value_array(info.value, each, len(columns[0])) for each in values])
            if not all(is_one(each) for each in values):
                raise InvalidArgument("there is one key and a column of values: there must be one value")
            columns = [_one(*pair) for pair in zip(info.key, key)]
            many = self._write_all(handle, info, mode, columns, [_one(info.value, element(info.value, each)) for each in values])
            existed, applied, answers = (each.tolist() for each in many)
            return existed[0], applied[0], answers[0] if answers else None
        return self._call(written)

    def _write_all(self, handle: Any, info: ObjectInfo, mode: data_pb2.WriteMode, keys: list[Array],
                   values: list[Array]) -> tuple[Bits, Bits, Array]:
        count = len(keys[0])
        existed, applied, executed = (np.zeros(count, dtype=np.bool_) for _ in range(3))
        answers: Array = np.zeros(count if mode in CONDITIONAL else 0, dtype=DTYPES[info.value.type])
        for rows in cut([*keys, *values], ROWS_MAX, STRING_BYTES_MAX):
            columns = [_sent(column, each[rows]) for column, each in zip(info.key, keys)]
            others = [_sent(info.value, each[rows]) for each in values]
            size = rows.stop - rows.start
            answer = self._database.engine.write(handle, mode, columns + others[:1], others[1:])
            executed[rows] = _executed(answer, size)
            if answer.code:
                raise _failure(error_of_number(answer.code, answer.message), executed)
            existed[rows] = _bits(answer.existed, size)
            if mode in CONDITIONAL:
                applied[rows] = _bits(answer.applied, size)
                answers[rows] = _got(info.value, answer.column(0))
        return existed, applied, answers


def _one(column: Column, value: Any) -> Array:
    made = np.empty(1, dtype=DTYPES[column.type])
    made[0] = value
    return made


def _executed(answer: Any, rows: int) -> Bits:
    if len(answer.executed):
        return _bits(answer.executed, rows)
    return np.full(rows, answer.code == 0, dtype=np.bool_)


def _failure(error: Error, executed: Bits) -> Error:
    written = int(np.count_nonzero(executed))
    return error.with_text(f"{error.message} ({written} of {len(executed)} rows were written)", written)


def _next_batch(stream: Any, info: ObjectInfo) -> tuple[Any, Array] | None:
    rows = stream.next()
    if rows is None:
        return None
    columns = [shown(column, _got(column, rows.column(i))) for i, column in enumerate(info.columns)]
    return columns[0] if len(info.key) == 1 else tuple(columns[:-1]), columns[-1]


class _Hash(_KeyValue):
    KINDS = ("hash",)


class _Index(_KeyValue):
    KINDS = ("index",)

    def scan(self, lo: Any, hi: Any, *, values: tuple[int, int] | None, backward: bool, limit: int,
             snapshot: _Snapshot | None) -> Iterator[tuple[Any, Array]]:
        stream, info = self._streamed((), limit, snapshot, lo, hi, values, backward)
        # No variable of a generator keeps a batch: the engine copies a batch if the ones before are kept.
        return iter(functools.partial(_next_batch, stream, info), None)

    def count(self, lo: Any, hi: Any) -> int:
        counted: int = self._aggregated(lo, hi, None, True)[0]
        return counted

    def aggregate(self, lo: Any, hi: Any, *, values: tuple[int, int] | None) -> Aggregate:
        return Aggregate(*self._aggregated(lo, hi, values, False))

    def _aggregated(self, lo: Any, hi: Any, values: tuple[int, int] | None, count_only: bool) -> tuple[Any, ...]:
        def got(handle: Any, info: ObjectInfo) -> tuple[Any, ...]:
            bounds = None if values is None else value_bounds(info, values)
            *numbers, first, last = self._database.engine.aggregate(handle, _bound(info.key, lo), _bound(info.key, hi), bounds, count_only)
            return *numbers, key_tuple(info.key, first), key_tuple(info.key, last)
        return self._call(got)


class _Scan:
    """In place of eris.scans.Scan: each use opens the scan."""

    def __init__(self, opened: Callable[[], Any], columns: Callable[[], list[Column]]) -> None:
        self._opened, self._columns = opened, columns

    def batches(self) -> Iterator[Any]:
        reader = pyarrow().RecordBatchReader.from_stream(self._opened())
        return iter(functools.partial(_next_batch_of, reader), None)

    def schema(self) -> Any:
        return schema_of(self._columns())

    def arrow(self) -> Any:
        return pyarrow().Table.from_batches(list(self.batches()), schema=self.schema())


def _next_batch_of(reader: Any) -> Any:
    """None at the end. The stream has numbers of errors and the engine's words (include/eris/query.h)."""
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
    except pyarrow().ArrowInvalid as error:
        raise InvalidArgument(str(error)) from None
    except MemoryError as error:
        raise ResourceExhausted(str(error)) from None
    except OSError as error:
        raise Aborted(str(error)) from None


class _Table(_Object):
    KINDS = ("table", "heap table")

    def scan(self, columns: Sequence[str] | None, *, filter: str | None, limit: int, snapshot: _Snapshot | None) -> _Scan:
        def wanted() -> list[Column]:
            return columns_named(self._call(lambda _, info: info), columns)

        def opened() -> Any:
            names = () if columns is None else [column.name for column in wanted()]
            return self._streamed(names, limit, snapshot, filter=filter)[0]

        return _Scan(opened, wanted)

    def count(self, filter: str | None) -> int:
        counted: int = self._call(lambda handle, _: self._database.engine.count(handle, filter))
        return counted

    def write(self, frame: Any) -> int:
        def written(handle: Any, info: ObjectInfo) -> int:
            mode, done = data_pb2.WRITE_MODE_UPSERT if info.key else data_pb2.WRITE_MODE_APPEND, 0
            try:
                for piece in pieces_of(source_of(frame), info):
                    for cut_at in cut_rows(info, piece, ROWS_MAX, STRING_BYTES_MAX):
                        rows = piece.slice(cut_at.start, cut_at.stop - cut_at.start)
                        columns = [_given(column, array) for column, array in zip(info.columns, rows.columns)]
                        answer = self._database.engine.write(handle, mode, columns, [])
                        if not answer.code:
                            done += rows.num_rows
                            continue
                        if answer.code == _RESOURCE_EXHAUSTED:
                            done += int(np.count_nonzero(_executed(answer, rows.num_rows))) if info.key else rows.num_rows - answer.refused
                        raise error_of_number(answer.code, answer.message)
                return done
            except Error as error:
                raise error.with_text(f"{error.message} ({done} rows were written)" if done else error.message, done) from None
            except Exception as error:  # the frame's own
                if done:
                    error.add_note(f"{done} rows were written before")
                raise
        return self._call(written)


def _given(column: Column, array: Any) -> tuple[Any, Any, Any]:
    """An Arrow array as the engine takes it, without a copy but for validity and for offsets that do not begin at 0."""
    validity = np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little") if array.null_count else None
    if not has_bytes(column):
        return numbers_of(column, array), None, validity
    offsets = offsets_of(array)
    data = array.buffers()[2]
    text = np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)[offsets[0]:offsets[-1]]
    return text, (offsets - offsets[0]).astype("<u4"), validity


def open(memory_limit: int | str = 0, *, aeus: int = 0, cpus: Sequence[int] = (), topology: str = "") -> sync.Database:
    """An engine in this process, which ends when the database is closed and nothing of it is used any more: no snapshot, no scan, no array
    that a scan has given. Rows are in memory alone.

    `memory_limit`: for data, a number of bytes or a text like "4GiB"; 0: what the machine lets it have. `aeus`: how many execution units, 0:
    one for each core; `cpus`: these cpus, one unit each. `topology`: hwloc's description of another machine, for tests.
    Errors: InvalidArgument, ResourceExhausted; ImportError without the package eris-engine-embedded.
    """
    try:
        native = importlib.import_module("eris_embedded")
    except ImportError as error:
        raise ImportError("eris.open() needs the engine as a library: pip install eris-engine-embedded, made by ./dev wheel") from error
    check_process()
    engine = native.Engine(memory_limit_bytes=_bytes_of(memory_limit), aeus=aeus, cpus=list(cpus), topology=topology)
    its: Any = _Database(engine)
    database = sync.Database(Direct(), its)
    weakref.finalize(its, engine.close)  # what all of its objects keep; also at the end of the program
    return database
