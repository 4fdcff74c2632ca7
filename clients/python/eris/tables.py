"""Rows of tables as record batches of pyarrow, which is imported when the first one is made."""
import importlib
from collections.abc import Iterable
from typing import Any

from eris.columns import BYTE_STRINGS
from eris.schema import Column, Type
from eris.v1 import data_pb2, queries_pb2


def pyarrow() -> Any:
    """The module. Errors: ImportError, with what to install."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'eris-engine[pyarrow]'") from error


def type_of(column: Column) -> Any:
    """The Arrow type in which a column leaves the server."""
    if column.type is Type.DECIMAL64:
        return pyarrow().decimal64(18, column.scale)
    if column.type is Type.DECIMAL128:
        return pyarrow().decimal128(38, column.scale)
    if column.type is Type.TIMESTAMP:
        return pyarrow().timestamp("us")
    name = {Type.UINT64: "uint64", Type.INT64: "int64", Type.FLOAT64: "float64", Type.DATE: "date32", Type.INT32: "int32",
            Type.STRING: "string", Type.BYTES: "binary"}[column.type]
    return getattr(pyarrow(), name)()


def schema_of(columns: Iterable[Column]) -> Any:
    """Their schema in Arrow."""
    return pyarrow().schema([pyarrow().field(column.name, type_of(column), nullable=column.nullable) for column in columns])


def record_batch(columns: list[Column], response: data_pb2.ScanResponse | queries_pb2.ExecuteResponse) -> Any:
    """The rows of a response, without a copy of their bytes. Strings are Arrow's string, bytes its binary."""
    py_buffer = pyarrow().py_buffer
    arrays = []
    for column, message in zip(columns, response.columns):
        buffers = [py_buffer(message.validity) if message.validity else None, py_buffer(message.data)]
        if column.type in BYTE_STRINGS:
            buffers.insert(1, py_buffer(message.offsets))
        arrays.append(pyarrow().Array.from_buffers(type_of(column), response.rows, buffers))
    return pyarrow().RecordBatch.from_arrays(arrays, schema=schema_of(columns))
