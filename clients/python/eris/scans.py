"""What a scan of a table gives: record batches of pyarrow as they come, or all rows as a frame."""
import asyncio
import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any

import numpy as np

from eris.columns import Array
from eris.tables import pyarrow


class Scan:
    """`async for batch in scan`, or all rows at once. Each of these runs the scan, and shows a moment of its own."""

    def __init__(self, batches: Callable[[], AsyncGenerator[Any, None]], schema: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.batches, self._schema = batches, schema

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.batches()

    async def schema(self) -> Any:
        """Of pyarrow."""
        return await self._schema()

    async def arrow(self) -> Any:
        """A pyarrow.Table."""
        batches = [batch async for batch in self]
        return pyarrow().Table.from_batches(batches, schema=batches[0].schema if batches else await self._schema())

    async def polars(self) -> Any:
        """A polars.DataFrame."""
        return await asyncio.to_thread(to_polars, await self.arrow())

    async def pandas(self) -> Any:
        """A pandas.DataFrame. Integers with nulls are pandas' Int32, Int64 and UInt64."""
        return await asyncio.to_thread(to_pandas, await self.arrow())

    async def numpy(self) -> dict[str, Array]:
        """An array for each column. See to_numpy()."""
        return await asyncio.to_thread(to_numpy, await self.arrow())


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name}() of a scan needs {name}: pip install {name}") from error


def to_polars(table: Any) -> Any:
    return _module("polars").from_arrow(table)


def to_pandas(table: Any) -> Any:
    """pandas' own types for integers with nulls are floats, which hold no large integers."""
    pandas, arrow = _module("pandas"), pyarrow()
    frame = table.to_pandas()
    types = {arrow.int32(): pandas.Int32Dtype(), arrow.int64(): pandas.Int64Dtype(), arrow.uint64(): pandas.UInt64Dtype()}
    for number, column in enumerate(table.columns):
        if column.null_count and column.type in types:
            frame.isetitem(number, column.to_pandas(types_mapper=types.get))
    return frame


def to_numpy(table: Any) -> dict[str, Array]:
    """Numbers as they are, masked arrays where there are nulls; dates as datetime64[D] and timestamps as datetime64[us], with NaT; decimals
    and strings as objects with None."""
    types = pyarrow().types

    def array(column: Any) -> Array:
        if column.null_count and (types.is_integer(column.type) or types.is_floating(column.type)):
            mask = column.is_null().to_numpy()
            return np.ma.MaskedArray(column.fill_null(0).to_numpy(), mask)
        made: Array = column.to_numpy()
        return made

    return {name: array(column) for name, column in zip(table.column_names, table.columns)}
