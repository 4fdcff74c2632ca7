"""Rows of a table as batches: of Arrow's columns, sent and sent again as those of an index (eris.batches)."""
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from eris.batches import ROWS_MAX, STRING_BYTES_MAX, Batches, Refusal, Rows, cut_sizes, final_of_each
from eris.columns import BYTE_STRINGS, Array, bits_of
from eris.connection import Connection
from eris.errors import Internal, error_of_status
from eris.schema import Column, ObjectInfo, Type
from eris.tables import pyarrow
from eris.v1 import column_pb2, data_pb2

# In a batch to a heap table: one AEU gets it whole, so it is written or refused as a whole. Answers to appends do not say which rows were.
APPEND_ROWS_MAX = 4096
_NUMPY = {Type.UINT64: "<u8", Type.INT64: "<i8", Type.FLOAT64: "<f8", Type.DATE: "<i4", Type.TIMESTAMP: "<i8", Type.INT32: "<i4",
          Type.DECIMAL64: "<i8"}


def has_bytes(column: Column) -> bool:
    """Whether its values have no fixed width."""
    return column.type in BYTE_STRINGS


def numbers_of(column: Column, array: Any) -> Array:
    """The values of an Arrow array, without a copy; decimals are unscaled. Nulls have any value."""
    dtype = np.dtype(_NUMPY[column.type])
    return np.frombuffer(array.buffers()[1], dtype=dtype, count=len(array), offset=array.offset * dtype.itemsize)


def offsets_of(array: Any) -> npt.NDArray[np.int32]:
    """Where the strings of an Arrow array begin, and the last one ends."""
    return np.frombuffer(array.buffers()[1], dtype="<i4", count=len(array) + 1, offset=array.offset * 4)


def message_of(column: Column, array: Any) -> column_pb2.Column:
    """An Arrow array of at least one value, of the type in which the column leaves the server."""
    made = column_pb2.Column(type=column.type.wire)
    if array.null_count:
        made.validity = np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little").tobytes()
    if has_bytes(column):
        offsets = offsets_of(array)
        made.offsets = (offsets - offsets[0]).astype("<u4").tobytes()
        data = array.buffers()[2]
        made.data = b"" if data is None else bytes(memoryview(data)[offsets[0]:offsets[-1]])
    else:
        made.data = numbers_of(column, array).tobytes()
    return made


def cut_rows(info: ObjectInfo, rows: Any, rows_max: int, bytes_max: int) -> Iterator[slice]:
    """Pieces of a record batch. One row may have more bytes."""
    sizes = np.zeros(rows.num_rows, dtype=np.int64)
    for column, array in zip(info.columns, rows.columns):
        sizes += np.diff(offsets_of(array)) + 4 if has_bytes(column) else np.dtype(_NUMPY[column.type]).itemsize
    return cut_sizes(sizes, rows_max, bytes_max)


class TableWrite(Batches):
    """An upsert into a clustered table, of which the last row of each key is sent, or an append to a heap table.

    `rows`: a record batch of at least one row, with the table's columns in their order and types.
    """

    def __init__(self, connection: Connection, info: ObjectInfo, rows: Any) -> None:
        self._final: npt.NDArray[np.intp] | None = None
        if info.key:
            self._final = final_of_each([numbers_of(column, rows.column(column.name)) for column in info.key])
        self._rows = rows
        if self._final is not None:
            kept, self._final = np.unique(self._final, return_inverse=True)
            self._rows = rows.take(pyarrow().array(kept))
        super().__init__(connection, info, self._rows.num_rows)

    def cuts(self) -> Iterator[slice]:
        return cut_rows(self.info, self._rows, ROWS_MAX if self.info.key else APPEND_ROWS_MAX, STRING_BYTES_MAX)

    def written(self) -> int:
        """As many rows were written, or another one of the same key that comes later."""
        return int(np.count_nonzero(self.executed if self._final is None else self.executed[self._final]))

    async def send(self, rows: Rows) -> Refusal | None:
        part = self._rows.slice(rows.start, rows.stop - rows.start) if isinstance(rows, slice) else self._rows.take(pyarrow().array(rows))
        mode = data_pb2.WRITE_MODE_UPSERT if self.info.key else data_pb2.WRITE_MODE_APPEND
        request = data_pb2.WriteRequest(object=self.info.name, mode=mode)
        request.columns.extend(message_of(column, array) for column, array in zip(self.info.columns, part.columns))
        response = await self.connection.call("Data/Write", request, data_pb2.WriteResponse)
        if not response.refused:
            return None
        error = error_of_status(response.refusal)
        if response.refused == part.num_rows:
            return Refusal(error)
        if not response.executed:
            raise Internal(f"the server does not say which {response.refused} of {part.num_rows} rows were refused: {error.message}")
        return Refusal(error, bits_of(response.executed, part.num_rows, "executed"))
