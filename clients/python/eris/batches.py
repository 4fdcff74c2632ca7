"""Rows of any number as batches: cut, sixteen under way, refused rows sent again, and what became of each row.

The server may execute some rows of a batch and refuse others (overload, memory limit, no room for strings in the answer). Refused rows
changed nothing. They are sent again after a pause; the pause doubles while no row is executed. After ATTEMPTS_MAX attempts in a row that
executed nothing, or after the connection's timeout, the refusal is the error of the call.
"""
import asyncio
import dataclasses
import time
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from eris.columns import DTYPES, Array, array_of, bits_of, message_of
from eris.connection import BATCHES_UNDER_WAY, Connection
from eris.errors import Error, InvalidArgument, ResourceExhausted, error_of_status
from eris.schema import ObjectInfo, Type
from eris.v1 import data_pb2

ROWS_MAX = 16384  # of a batch
STRING_BYTES_MAX = 1 << 20  # of a batch, unless one row has more
ANSWER_BYTES_MAX = 4 << 20  # of the strings of an answer: sixteen may be under way
ATTEMPTS_MAX = 8
PAUSE_MIN = 0.01  # seconds
PAUSE_MAX = 1.0

Bits: TypeAlias = npt.NDArray[np.bool_]
# The rows of a batch: those from begin to end, or after a refusal their numbers.
Rows: TypeAlias = slice | npt.NDArray[np.intp]


def cut(columns: list[Array], rows_max: int = ROWS_MAX, string_bytes_max: int = STRING_BYTES_MAX) -> Iterator[slice]:
    """Pieces of the rows, each small enough for one message."""
    count = len(columns[0])
    if all(column.dtype != object for column in columns):
        return (slice(begin, min(begin + rows_max, count)) for begin in range(0, count, rows_max))
    sizes = np.zeros(count, dtype=np.int64)
    for column in columns:
        if column.dtype == object:
            sizes += np.fromiter(map(len, column), dtype=np.int64, count=len(column))
    return cut_sizes(sizes, rows_max, string_bytes_max)


def cut_sizes(sizes: npt.NDArray[np.int64], rows_max: int, bytes_max: int) -> Iterator[slice]:
    """Pieces of rows that have so many bytes each. A piece of one row may have more than bytes_max."""
    count, ends, begin = len(sizes), np.cumsum(sizes), 0
    while begin < count:
        before = int(ends[begin - 1]) if begin else 0
        fitting = int(np.searchsorted(ends, before + bytes_max, side="right"))
        end = min(begin + rows_max, max(fitting, begin + 1))
        yield slice(begin, end)
        begin = end


def final_of_each(keys: list[Array]) -> npt.NDArray[np.intp] | None:
    """For each row the last one that has its key; None if no key occurs twice."""
    first = keys[0]
    if len(keys) == 1 and (len(first) < 2 or bool((first[1:] > first[:-1]).all())):
        return None
    order = np.lexsort(keys[::-1])  # stable
    same = np.ones(len(first) - 1, dtype=np.bool_)
    for column in keys:
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    if not same.any():
        return None
    ends = np.append(~same, True)  # where the rows of a key end
    final = np.empty(len(first), dtype=np.intp)
    final[order] = order[np.flatnonzero(ends)[np.cumsum(ends) - ends]]
    return final


def last_of_each(keys: list[Array]) -> Bits | None:
    """A bit for each row with no later row of the same key; None if no key occurs twice."""
    final = final_of_each(keys)
    return None if final is None else final == np.arange(len(final))


def _numbers(rows: Rows) -> npt.NDArray[np.intp]:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def failure_of(error: Error, written: int, rows: int | None = None) -> Error:
    """The error of a call that writes rows, or any number of them. It says how many were written."""
    if rows == 1:
        return error.with_text(error.message, written)
    known = "were" if isinstance(error, (ResourceExhausted, InvalidArgument)) else "are known to have been"
    return error.with_text(f"{error.message} ({written} {'' if rows is None else f'of {rows} '}rows {known} written)", written)


@dataclasses.dataclass
class Refusal:
    """Why rows of a batch were not executed; `executed` has a bit for each row of the batch, None if no row was."""

    error: Error
    executed: Bits | None = None


class Batches:
    """The rows of one call. After run(), `executed` says which rows were executed, and `error`, if set, why others were not."""

    PAUSES_AFTER_PROGRESS = True

    def __init__(self, connection: Connection, info: ObjectInfo, rows: int) -> None:
        self.connection = connection
        self.info = info
        self.executed: Bits = np.zeros(rows, dtype=np.bool_)
        self.error: Error | None = None

    def cuts(self) -> Iterator[slice]:
        """Its batches."""
        raise NotImplementedError

    def under_way(self) -> int:
        return BATCHES_UNDER_WAY

    async def send(self, rows: Rows) -> Refusal | None:
        """Sends a batch, takes its answer, and gives what was refused of it. Errors: those of the call."""
        raise NotImplementedError

    def left(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Which of the refused rows are sent again."""
        return rows

    async def run(self) -> None:
        cuts = list(self.cuts())
        if len(cuts) == 1:
            await self._batch(cuts[0])
        elif cuts:
            remaining = iter(cuts)
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.under_way(), len(cuts))):
                    group.create_task(self._work(remaining))

    async def _work(self, cuts: Iterator[slice]) -> None:
        for rows in cuts:
            if self.error is not None:
                return
            await self._batch(rows)

    async def _batch(self, rows: Rows) -> None:
        """Sends until every row has been executed. An error stops the call's other batches, too."""
        fruitless, pause, end = 0, PAUSE_MIN, time.monotonic() + self.connection.timeout
        while True:
            try:
                async with self.connection.room:
                    refusal = await self.send(rows)
            except ResourceExhausted as error:  # nothing was executed
                refusal = Refusal(error)
            except Error as error:
                self.error = self.error or error
                return
            if refusal is None:
                self.executed[rows] = True
                return
            progress = refusal.executed is not None and bool(refusal.executed.any())
            numbers = _numbers(rows)
            if refusal.executed is not None:
                self.executed[numbers[refusal.executed]] = True
                numbers = self.left(numbers[~refusal.executed])
                if len(numbers) == 0:
                    return
            rows = numbers
            fruitless = 0 if progress else fruitless + 1
            again = isinstance(refusal.error, ResourceExhausted) and fruitless < ATTEMPTS_MAX and time.monotonic() < end
            if not again or self.error is not None:
                self.error = self.error or refusal.error
                return
            pause = PAUSE_MIN if progress else min(2 * pause, PAUSE_MAX)
            if self.PAUSES_AFTER_PROGRESS or not progress:
                await asyncio.sleep(pause)


class Lookup(Batches):
    """`values` has the value of each key found; of others it has 0 or None."""

    PAUSES_AFTER_PROGRESS = False  # strings had no room in the answer: there is nothing to wait for

    def __init__(self, connection: Connection, info: ObjectInfo, keys: list[Array]) -> None:
        super().__init__(connection, info, len(keys[0]))
        self.keys = keys
        self.found: Bits = np.zeros(len(keys[0]), dtype=np.bool_)
        self.values: Array = np.zeros(len(keys[0]), dtype=DTYPES[info.value.type])
        if info.value.type in (Type.STRING, Type.BYTES):
            self.values[:] = None

    def cuts(self) -> Iterator[slice]:
        return cut(self.keys)

    async def send(self, rows: Rows) -> Refusal | None:
        keys = [column[rows] for column in self.keys]
        count = len(keys[0])
        request = data_pb2.LookupRequest(object=self.info.name, keys=[message_of(*pair) for pair in zip(self.info.key, keys)],
                                         answer_bytes_max=ANSWER_BYTES_MAX)
        response = await self.connection.call("Data/Lookup", request, data_pb2.LookupResponse)
        found = bits_of(response.found, count, "found")
        values = array_of(self.info.value, response.columns[0], count)
        executed = bits_of(response.executed, count, "executed") if response.executed else None
        if executed is not None:
            found = found & executed
        if found.all():
            self.found[rows], self.values[rows] = True, values
        else:
            there = _numbers(rows)[found]
            self.found[there], self.values[there] = True, values[found]
        if executed is None or executed.all():
            return None
        return Refusal(error_of_status(response.refusal), executed)


CONDITIONAL = (data_pb2.WRITE_MODE_INSERT_IF_ABSENT, data_pb2.WRITE_MODE_REPLACE_IF_PRESENT,
               data_pb2.WRITE_MODE_COMPARE_AND_SET, data_pb2.WRITE_MODE_ADD)


class Write(Batches):
    """`existed`: the key was there before. Conditional modes also have `applied`, and `answers` as WriteMode says.

    Batches of one call have no order on a key. So an upsert of several batches writes only the last row of each key; a conditional mode
    with a key in several rows has one batch under way. A refused row of an upsert is not sent again if a later row has its key.
    """

    def __init__(self, connection: Connection, info: ObjectInfo, mode: data_pb2.WriteMode, keys: list[Array],
                 values: list[Array], in_order: bool = False) -> None:
        """`values`: as the mode needs, none, the values, or the values and those expected. `in_order`: all rows are written, and one
        batch is under way."""
        super().__init__(connection, info, len(keys[0]))
        self.keys, self.mode, self.values, self.in_order = keys, mode, values, in_order
        several = next(self.cuts(), slice(0, 0)).stop < len(keys[0])
        self._distinct = several and not in_order and mode == data_pb2.WRITE_MODE_UPSERT
        if self._distinct:
            self._keep_last()
        count = len(self.keys[0])
        self.executed = np.zeros(count, dtype=np.bool_)
        self.existed: Bits = np.zeros(count, dtype=np.bool_)
        self.applied: Bits = np.zeros(count, dtype=np.bool_)
        self.answers: Array = np.zeros(count if mode in CONDITIONAL else 0, dtype=DTYPES[info.value.type])

    def cuts(self) -> Iterator[slice]:
        return cut([*self.keys, *self.values])

    def under_way(self) -> int:
        if self.in_order:
            return 1
        tests = self.mode in CONDITIONAL and self.mode != data_pb2.WRITE_MODE_ADD
        return 1 if tests and last_of_each(self.keys) is not None else super().under_way()

    def _keep_last(self) -> None:
        last = last_of_each(self.keys)
        if last is not None:
            self.keys = [column[last] for column in self.keys]
            self.values = [column[last] for column in self.values]

    def left(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        if self.mode != data_pb2.WRITE_MODE_UPSERT or self._distinct:
            return rows
        last = last_of_each(self.keys)
        return rows if last is None else rows[last[rows]]

    async def send(self, rows: Rows) -> Refusal | None:
        keys = [column[rows] for column in self.keys]
        count = len(keys[0])
        columns = [message_of(*pair) for pair in zip(self.info.key, keys)]
        values = [message_of(self.info.value, each[rows]) for each in self.values]
        request = data_pb2.WriteRequest(object=self.info.name, mode=self.mode, columns=columns + values[:1], expected=values[1:])
        response = await self.connection.call("Data/Write", request, data_pb2.WriteResponse)
        executed = bits_of(response.executed, count, "executed") if response.executed else None
        self._take(response, rows, count, executed)
        if executed is None or executed.all():
            return None
        return Refusal(error_of_status(response.refusal), executed)

    def _take(self, response: data_pb2.WriteResponse, rows: Rows, count: int, executed: Bits | None) -> None:
        """Takes what the answer says of the rows that were executed."""
        taken = [(self.existed, bits_of(response.existed, count, "existed"))]
        if self.mode in CONDITIONAL:
            taken.append((self.applied, bits_of(response.applied, count, "applied")))
            taken.append((self.answers, array_of(self.info.value, response.columns[0], count)))
        for into, its in taken:
            if executed is None:
                into[rows] = its
            else:
                into[_numbers(rows)[executed]] = its[executed]

    def failure(self) -> Error:
        """The error of the call, which says how many rows were written."""
        assert self.error is not None
        return failure_of(self.error, int(np.count_nonzero(self.executed)), len(self.executed))
