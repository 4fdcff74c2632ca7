"""Python's and numpy's values to columns of the protocol, and back.

Nothing is converted in silence. What does not have a column's type is refused with InvalidArgument before anything is sent: another dtype,
negative numbers for uint64, fractions, booleans, NaN as a key. One exception costs nothing and loses nothing: an int64 array without
negative numbers is taken for uint64.
"""
import collections.abc
import dataclasses
import datetime
import decimal
import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from eris.errors import Internal, InvalidArgument
from eris.schema import Column, Type
from eris.v1 import catalog_pb2, column_pb2

Array: TypeAlias = npt.NDArray[Any]
# One part of a key, and a key.
Part: TypeAlias = int | float | datetime.date | datetime.datetime | np.integer[Any] | np.floating[Any] | np.datetime64
Key: TypeAlias = Part | tuple[Part, Part]
# Many keys: a column, or two columns for keys of two parts.
Parts: TypeAlias = list[int] | list[float] | list[datetime.date] | list[datetime.datetime] | collections.abc.Sequence[Part] | Array
Keys: TypeAlias = Parts | tuple[Parts, Parts]
Value: TypeAlias = int | str | bytes
Values: TypeAlias = list[int] | list[str] | list[bytes] | collections.abc.Sequence[int | np.integer[Any] | str | bytes] | Array

# In memory a column is an array of these, as in messages; of strings and bytes an array of bytes objects.
DTYPES: dict[Type, np.dtype[Any]] = {
    Type.UINT64: np.dtype("<u8"), Type.INT64: np.dtype("<i8"), Type.FLOAT64: np.dtype("<f8"),
    Type.DATE: np.dtype("<i4"), Type.TIMESTAMP: np.dtype("<i8"), Type.STRING: np.dtype(object), Type.BYTES: np.dtype(object)}
BYTE_STRINGS = (Type.STRING, Type.BYTES)
_RANGES = {Type.UINT64: (0, 2**64 - 1), Type.INT64: (-(2**63), 2**63 - 1)}
_UINT64, _END = Type.UINT64, 2**64
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY, _MICROSECOND = np.dtype("datetime64[D]"), np.dtype("datetime64[us]")
_TIMES = {Type.DATE: _DAY, Type.TIMESTAMP: _MICROSECOND}
_UNITS = ("s", "ms", "us", "ns")  # of numpy, that timestamps may have
_EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_INT32 = np.iinfo(np.int32)
_SCALARS = (int, float, bytes, str, datetime.date, np.generic)


def _refuse(what: str, column: Column, got: str) -> InvalidArgument:
    return InvalidArgument(f"{what} for column {column.name!r} of type {column.type.value}: got {got}")


def is_one(value: object) -> bool:
    """Whether it is one key part or value, and no column of them."""
    return isinstance(value, _SCALARS)


def element(column: Column, value: object, is_key: bool = False) -> Any:
    """One value as the column has it: an int (for dates days since 1970, for timestamps microseconds), a float or bytes."""
    kind = column.type
    if type(value) is int and kind is _UINT64 and 0 <= value < _END:  # by far the most
        return value
    if kind in _RANGES:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise _refuse("an integer is needed", column, f"{value!r} of type {type(value).__name__}")
        low, high = _RANGES[kind]
        if not low <= value <= high:
            raise _refuse(f"a number from {low} to {high} is needed", column, str(value))
        return int(value)
    if kind is Type.FLOAT64:
        if not isinstance(value, (float, np.float64)):
            raise _refuse("a float is needed", column, f"{value!r} of type {type(value).__name__}")
        if is_key and math.isnan(value):
            raise _refuse("a key must not be NaN", column, "NaN")
        return float(value)
    if kind is Type.DATE:
        return _days(column, value)
    if kind is Type.TIMESTAMP:
        return _micros(column, value)
    if kind is Type.STRING:
        if not isinstance(value, str) or isinstance(value, np.str_):  # numpy cuts zeros from its strings' ends
            raise _refuse("a str is needed", column, f"{value!r} of type {type(value).__name__}")
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise _refuse("a str without surrogates is needed", column, f"one at {error.start}, {error.reason}") from None
    if kind is Type.BYTES:
        if not isinstance(value, bytes) or isinstance(value, np.bytes_):  # numpy cuts zero bytes from its strings' ends
            raise _refuse("bytes are needed", column, f"{value!r} of type {type(value).__name__}")
        return value
    raise _refuse("this client cannot send values", column, type(value).__name__)


def _days(column: Column, value: object) -> int:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.toordinal() - _EPOCH
    if isinstance(value, np.datetime64) and value.dtype == _DAY and not np.isnat(value):
        days = int(value.astype(np.int64))
        if _INT32.min <= days <= _INT32.max:
            return days
    raise _refuse("a datetime.date or a numpy.datetime64[D] is needed", column, f"{value!r} of type {type(value).__name__}")


def _micros(column: Column, value: object) -> int:
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in _UNITS:
        return int(_micros_of(column, np.array([value]))[0])
    if not isinstance(value, datetime.datetime) or value != value:  # NaT of pandas is a datetime
        raise _refuse("a datetime.datetime or a numpy.datetime64 of s, ms, us or ns is needed", column, f"{value!r} of type {type(value).__name__}")
    if getattr(value, "nanosecond", 0):
        raise _refuse("whole microseconds are needed", column, f"{value!r}")
    its = value.replace(tzinfo=datetime.timezone.utc) if value.tzinfo is None else value  # without a zone it is UTC
    return (its - _EPOCH_UTC) // datetime.timedelta(microseconds=1)


def _micros_of(column: Column, values: Array) -> Array:
    """Of an array of datetime64 in one of the units."""
    try:
        made = values.astype(_MICROSECOND)
    except OverflowError:
        made = np.zeros(len(values), dtype=_MICROSECOND)
    wrong = np.isnat(values) | (made.astype(values.dtype) != values)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidArgument(f"row {row}: {_refuse('whole microseconds of 64 bits are needed', column, str(values[row])).message}")
    return made.astype("<i8")


def column_array(column: Column, values: object, is_key: bool = False) -> Array:
    """A column of values: a numpy array (or what has __array__) of the column's dtype, or a list."""
    if isinstance(values, np.ma.MaskedArray):
        raise _refuse("an array without a mask is needed", column, "a masked array")
    if hasattr(values, "__array__"):
        return _from_array(column, np.asarray(values), is_key)
    if isinstance(values, (str, bytes, tuple)) or not isinstance(values, collections.abc.Sequence):
        raise _refuse("a numpy array or a list is needed", column, f"type {type(values).__name__}")
    kinds = set(map(type, values))
    if kinds == {int} and column.type in _RANGES:
        try:
            return np.array(values, dtype=DTYPES[column.type])
        except OverflowError:
            pass  # the element that is outside is found below
    made = np.empty(len(values), dtype=DTYPES[column.type])
    for row, value in enumerate(values):
        try:
            made[row] = element(column, value, is_key)
        except InvalidArgument as error:
            raise InvalidArgument(f"row {row}: {error.message}") from None
    return made


def _from_array(column: Column, values: Array, is_key: bool) -> Array:
    if values.ndim != 1:
        raise _refuse("an array of one dimension is needed", column, f"{values.ndim} dimensions")
    wanted = DTYPES.get(column.type)
    if values.dtype == wanted:
        if wanted == object:
            return column_array(column, values.tolist(), is_key)
        if is_key and column.type is Type.FLOAT64 and np.isnan(values).any():
            raise InvalidArgument(f"row {int(np.isnan(values).argmax())}: {_refuse('a key must not be NaN', column, 'NaN').message}")
        # Days and microseconds have no dtype of their own: such numbers might be anything.
        if column.type not in _TIMES:
            return np.ascontiguousarray(values)
    if column.type is Type.UINT64 and values.dtype == np.dtype("<i8"):
        if values.size and values.min() < 0:
            row = int((values < 0).argmax())
            raise InvalidArgument(f"row {row}: {_refuse('a number from 0 on is needed', column, str(values[row])).message}")
        return np.ascontiguousarray(values).view("<u8")
    if column.type is Type.DATE and values.dtype == _DAY:
        days = values.astype(np.int64)  # NaT becomes the lowest number, which is no date
        if days.size and (days.min() < _INT32.min or days.max() > _INT32.max):
            raise _refuse("dates are needed", column, "one that is no date (NaT) or has more than 32 bits")
        return days.astype("<i4")
    if column.type is Type.TIMESTAMP and values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in _UNITS:
        return _micros_of(column, values)
    takes = {Type.UINT64: "uint64 (or int64 without negative numbers)", Type.DATE: "datetime64[D]", Type.TIMESTAMP: "datetime64[us]",
             Type.STRING: "object, with str", Type.BYTES: "object, with bytes"}.get(column.type, column.type.value)
    raise _refuse(f"an array of dtype {takes} is needed", column, f"dtype {values.dtype}")


def key_parts(key: tuple[Column, ...], given: object) -> tuple[Any, ...]:
    """The parts of one key, or the columns of many, each unchecked."""
    if len(key) == 1:
        return (given,)
    if not isinstance(given, tuple) or len(given) != len(key):
        raise InvalidArgument(f"keys have {len(key)} parts ({', '.join(its.name for its in key)}): give a tuple of as many; "
                              f"got type {type(given).__name__}")
    return given


def single_key(key: tuple[Column, ...], given: object) -> tuple[Any, ...] | None:
    """The parts of one key as its columns have them; None if many keys were given."""
    if len(key) == 1:
        if type(given) is int and key[0].type is _UINT64 and 0 <= given < _END:
            return (given,)
        return (element(key[0], given, True),) if is_one(given) else None
    parts = key_parts(key, given)
    return tuple(element(column, part, True) for column, part in zip(key, parts)) if all(map(is_one, parts)) else None


def key_arrays(key: tuple[Column, ...], given: object) -> list[Array]:
    """The key's columns, of equal length."""
    arrays = [column_array(column, part, True) for column, part in zip(key, key_parts(key, given))]
    for each in arrays[1:]:
        if len(each) != len(arrays[0]):
            raise InvalidArgument(f"the parts of keys have {len(arrays[0])} and {len(each)} rows: they must have equally many")
    return arrays


def value_array(column: Column, values: object, rows: int) -> Array:
    """The values of so many rows; one value is taken for all rows."""
    if is_one(values):
        return np.full(rows, element(column, values), dtype=DTYPES[column.type])
    made = column_array(column, values)
    if len(made) != rows:
        raise InvalidArgument(f"there are {rows} keys and {len(made)} values: there must be equally many")
    return made


def string_buffers(values: Array) -> tuple[bytes, npt.NDArray[np.uint32]]:
    """The bytes of strings, one after the other, and where each begins and the last one ends."""
    strings = values.tolist()
    offsets = np.zeros(len(strings) + 1, dtype="<u4")
    np.cumsum(np.fromiter(map(len, strings), dtype=np.uint32, count=len(strings)), out=offsets[1:])
    return b"".join(strings), offsets


def strings_of(column: Column, data: bytes, offsets: list[int]) -> Array:
    """The other way, as an array of bytes objects, or of str where the column is text."""
    made = np.empty(len(offsets) - 1, dtype=object)
    made[:] = [data[begin:end] for begin, end in zip(offsets, offsets[1:])]
    if column.type is Type.STRING:
        made[:] = [its.decode() for its in made]
    return made


def message_of(column: Column, values: Array) -> column_pb2.Column:
    if column.type not in BYTE_STRINGS:
        return column_pb2.Column(type=column.type.wire, data=values.tobytes())
    data, offsets = string_buffers(values)
    return column_pb2.Column(type=column.type.wire, data=data, offsets=offsets.tobytes())


def array_of(column: Column, message: column_pb2.Column, rows: int) -> Array:
    """The values of a response's column; numbers are a read-only view of its bytes."""
    if column.type in BYTE_STRINGS:
        offsets = np.frombuffer(message.offsets, dtype="<u4").tolist()
        if len(offsets) != rows + 1 or offsets[-1] > len(message.data):
            raise Internal(f"the server sent {len(offsets)} offsets in column {column.name!r} for {rows} rows")
        return strings_of(column, message.data, offsets)
    values = np.frombuffer(message.data, dtype=DTYPES[column.type])
    if len(values) != rows:
        raise Internal(f"the server sent {len(values)} values in column {column.name!r} for {rows} rows")
    return values


def shown(column: Column, values: Array) -> Array:
    """A column as callers get it: dates are datetime64[D], timestamps datetime64[us]."""
    return values.astype(_TIMES[column.type]) if column.type in _TIMES else values


def bits_of(bits: bytes, rows: int, what: str) -> npt.NDArray[np.bool_]:
    if len(bits) < (rows + 7) // 8:
        raise Internal(f"the server sent {len(bits)} bytes of {what} bits for {rows} rows")
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=rows, bitorder="little").view(np.bool_)


def _unscaled(column: Column, given: object) -> int:
    if isinstance(given, (int, decimal.Decimal)) and not isinstance(given, bool):
        scaled = decimal.Decimal(given).scaleb(column.scale, decimal.Context(prec=60))
        if scaled.is_finite() and scaled == int(scaled):
            return int(scaled)
    raise _refuse(f"a decimal.Decimal with {column.scale} digits behind the point is needed", column, f"{given!r}")


def bound_number(column: Column, given: object) -> Any:
    """A bound of a range, as a number. For tables, numbers of 32 bits and decimals are those of 64 bits, decimals without their point."""
    if column.type is Type.DECIMAL64:
        given = _unscaled(column, given)
    if column.type in (Type.INT32, Type.DECIMAL64):
        column = dataclasses.replace(column, type=Type.INT64)
    return element(column, given, True)


def key_message(column: Column, given: object) -> catalog_pb2.Key:
    value = bound_number(column, given)
    if column.type is Type.UINT64:
        return catalog_pb2.Key(u64=value)
    if column.type in (Type.INT64, Type.INT32, Type.DECIMAL64):
        return catalog_pb2.Key(i64=value)
    if column.type is Type.DATE:
        return catalog_pb2.Key(date32=value)
    if column.type is Type.TIMESTAMP:
        return catalog_pb2.Key(timestamp_us=value)
    return catalog_pb2.Key(f64=value)


def key_tuple(key: tuple[Column, ...], numbers: tuple[Any, ...] | None) -> Any:
    """A key of numbers, as an answer gives keys: one part, or a tuple; None: there is no key."""
    if numbers is None:
        return None
    parts = tuple(np.int64(each).view(_TIMES[its.type]) if its.type in _TIMES else each for its, each in zip(key, numbers))
    return parts[0] if len(parts) == 1 else parts


def key_of(message: catalog_pb2.Key) -> Any:
    """A key in an answer: an int, a float, a datetime64[D] or a datetime64[us]."""
    field = message.WhichOneof("value")
    if field is None:
        return None
    value = getattr(message, field)
    unit = {"date32": _DAY, "timestamp_us": _MICROSECOND}.get(field)
    return value if unit is None else np.int64(value).view(unit)


def range_message(key: tuple[Column, ...], lo: object, hi: object) -> catalog_pb2.KeyRange:
    """Keys from lo up to, and without, hi; None: without a bound. For keys of two parts a bound may be the first part alone."""
    made = catalog_pb2.KeyRange()
    for bound, first, second in ((lo, made.start, made.start_second), (hi, made.end, made.end_second)):
        if bound is None:
            continue
        parts = bound if isinstance(bound, tuple) else (bound,)
        if not 1 <= len(parts) <= len(key):
            raise InvalidArgument(f"a bound of a range has {len(parts)} parts, and keys have {len(key)}")
        for column, part, message in zip(key, parts, (first, second)):
            message.CopyFrom(key_message(column, part))
    return made
