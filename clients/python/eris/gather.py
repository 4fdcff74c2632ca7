"""Single keys of one turn of the event loop, gathered into one message for each operation.

A thousand tasks that await a key each cost one round trip, not a thousand. Keys gathered are sent in the order of their calls. Different
operations of one turn go as different messages and have no order among each other.
"""
import asyncio
import dataclasses
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np

from eris.batches import CONDITIONAL, Lookup, Write
from eris.columns import DTYPES, Array
from eris.connection import Connection
from eris.errors import Error
from eris.schema import Column, ObjectInfo
from eris.v1 import data_pb2

LOOKUP = data_pb2.WRITE_MODE_UNSPECIFIED


@dataclasses.dataclass(slots=True)
class _Turn:
    info: ObjectInfo
    future: Callable[[], asyncio.Future[Any]]
    cells: list[Any]  # of row after row: the key's parts, then the value and the expected one
    waiting: list[asyncio.Future[Any]]


def _arrays(columns: list[Column], turn: _Turn) -> list[Array]:
    """Those of its columns that the turn's rows have."""
    width = len(turn.cells) // len(turn.waiting)
    return [np.array(turn.cells[at::width], dtype=DTYPES[column.type]) for at, column in enumerate(columns[:width])]


class Gatherer:
    """One object's."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turns: dict[data_pb2.WriteMode, _Turn] = {}
        self._running: set[asyncio.Task[None]] = set()  # the loop itself keeps no task alive

    def add(self, mode: data_pb2.WriteMode, info: ObjectInfo, row: tuple[Any, ...]) -> asyncio.Future[Any]:
        """Puts a row into the message of this turn: LOOKUP's answer is the value found, or None; a write's is (existed, applied, answer).

        A thousand tasks that wake up in one turn spend most of their time here, and in the garbage that their objects make.
        """
        turn = self._turns.get(mode)
        if turn is None or turn.info is not info:
            turn = self._begin(mode, info)
        future = turn.future()
        turn.cells += row
        turn.waiting.append(future)
        return future

    def _begin(self, mode: data_pb2.WriteMode, info: ObjectInfo) -> _Turn:
        loop = asyncio.get_running_loop()
        # loop.create_future() makes the same, by a call of Python more for each key.
        turn = self._turns[mode] = _Turn(info, functools.partial(asyncio.Future, loop=loop), [], [])
        loop.call_soon(self._start, mode, turn)
        return turn

    def _start(self, mode: data_pb2.WriteMode, turn: _Turn) -> None:
        if self._turns.get(mode) is turn:
            del self._turns[mode]
        work = self._lookup(turn) if mode == LOOKUP else self._write(mode, turn)
        task = asyncio.get_running_loop().create_task(self._guard(work, turn))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _guard(self, work: Coroutine[Any, Any, None], turn: _Turn) -> None:
        """No caller waits for ever, whatever the error."""
        try:
            await work
        except BaseException as error:
            for future in turn.waiting:
                if not future.done():
                    future.set_exception(error if isinstance(error, Exception) else Error(f"the call has ended: {error!r}"))
            if not isinstance(error, Exception):
                raise

    async def _lookup(self, turn: _Turn) -> None:
        its = Lookup(self._connection, turn.info, _arrays(list(turn.info.key), turn))
        await its.run()
        if its.found.all():
            for future, value in zip(turn.waiting, its.values.tolist()):
                if not future.done():
                    future.set_result(value)
            return
        rows = zip(turn.waiting, its.executed.tolist(), its.found.tolist(), its.values.tolist())
        for future, executed, found, value in rows:
            if future.done():
                continue
            if executed or its.error is None:
                future.set_result(value if found else None)
            else:
                future.set_exception(its.error.with_text(its.error.message, None))

    async def _write(self, mode: data_pb2.WriteMode, turn: _Turn) -> None:
        info, parts = turn.info, len(turn.info.key)
        columns = _arrays([*info.key, info.value, info.value], turn)
        its = Write(self._connection, info, mode, columns[:parts], columns[parts:], in_order=True)
        await its.run()
        answers = its.answers.tolist() if mode in CONDITIONAL else [None] * len(turn.waiting)
        rows = zip(turn.waiting, its.executed.tolist(), its.existed.tolist(), its.applied.tolist(), answers)
        for future, executed, existed, applied, answer in rows:
            if future.done():
                continue
            if executed or its.error is None:
                future.set_result((existed, applied, answer))
            else:
                future.set_exception(its.error.with_text(its.error.message, 0))
