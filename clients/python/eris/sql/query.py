"""One statement of SQL: planned here, run by the server."""
import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from eris.connection import Connection
from eris.errors import InvalidArgument
from eris.scans import Scan
from eris.schema import ObjectInfo, column_of
from eris.sql.planner import Planner
from eris.sql.words import pieces_of, words_of
from eris.tables import pyarrow, record_batch, schema_of
from eris.v1 import queries_pb2

STACK_BYTES = 256 << 20
_stack_lock = threading.Lock()

Objects = Callable[[], Awaitable[Sequence[ObjectInfo]]]


def asked(sql: str) -> tuple[str, str]:
    """What comes before the query, "", "explain" or "explain analyze", and the query."""
    words = [word.lower() for word in words_of(sql)[:2]]
    how = words[:2] if words == ["explain", "analyze"] else words[:1] if words[:1] == ["explain"] else []
    left = len(how)
    pieces = list(pieces_of(sql))
    while left:
        left -= 1 if pieces.pop(0).lower() in how else 0
    return " ".join(how), "".join(pieces)


async def _in_thread(work: Callable[[], bytes]) -> bytes:
    """In a thread of its own, whose stack has room for DataFusion's recursion, and for which the end of the program does not wait."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()

    def end(result: bytes | None, error: BaseException | None) -> None:
        if done.done():  # nobody waits any more
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result or b"")

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(end, result, error)

    with _stack_lock:
        before = threading.stack_size(STACK_BYTES)
        try:
            threading.Thread(target=run, name="eris planner", daemon=True).start()
        finally:
            threading.stack_size(before)
    return await done


class Query(Scan):
    """Its rows, as of a scan: record batches as they come, or all as a frame. Each of these runs the query. With `explain` in front the rows are
    the lines of the server's plan, with `explain analyze` also what each step has done."""

    def __init__(self, connection: Connection, objects: Objects, sql: str) -> None:
        super().__init__(self._batches, self._first_schema)
        self._connection, self._objects, self._sql = connection, objects, sql

    async def plan(self) -> bytes:
        """The serialized substrait.Plan, which `eris query` runs, too. Errors: InvalidArgument, ImportError (datafusion is missing)."""
        return await self._planned(asked(self._sql)[1])

    async def explain(self, analyze: bool = False) -> str:
        """The server's steps; with `analyze` the query is run, and they have figures."""
        plan = await self.plan()
        if analyze:
            done = await self._connection.call("Queries/Analyze", queries_pb2.AnalyzeRequest(plan=plan), queries_pb2.AnalyzeResponse)
            return done.text
        told = await self._connection.call("Queries/Explain", queries_pb2.ExplainRequest(plan=plan), queries_pb2.ExplainResponse)
        return told.text

    async def _planned(self, sql: str) -> bytes:
        objects = await self._objects()
        return await _in_thread(lambda: Planner(objects).plan(sql))

    async def _batches(self) -> AsyncGenerator[Any, None]:
        how, sql = asked(self._sql)
        if how:
            lines = (await self.explain(analyze=how != "explain")).splitlines()
            yield pyarrow().RecordBatch.from_pydict({"plan": lines})
            return
        request = queries_pb2.ExecuteRequest(plan=await self._planned(sql))
        columns = None
        async for response in self._connection.stream("Queries/Execute", request, queries_pb2.ExecuteResponse):
            columns = columns or [column_of(each) for each in response.schema.columns]
            if response.rows:
                yield record_batch(columns, response)
            else:  # of an answer without a row: columns are left out
                yield pyarrow().RecordBatch.from_pylist([], schema=schema_of(columns))

    async def _first_schema(self) -> Any:
        async with contextlib.aclosing(self._batches()) as batches:
            async for batch in batches:
                return batch.schema
        raise InvalidArgument("the server has answered nothing")
