"""Rows of tables as record batches of pyarrow, which is imported when the first one is made."""
import importlib
from typing import Any

from eris.schema import Column, Type
from eris.v1 import data_pb2


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise ImportError("scans of tables need pyarrow: pip install 'eris-engine[pyarrow]'") from error


def _type_of(pyarrow: Any, column: Column) -> Any:
    if column.type is Type.DECIMAL64:
        return pyarrow.decimal64(18, column.scale)
    if column.type is Type.DECIMAL128:
        return pyarrow.decimal128(38, column.scale)
    return {Type.UINT64: pyarrow.uint64, Type.INT64: pyarrow.int64, Type.FLOAT64: pyarrow.float64, Type.DATE: pyarrow.date32,
            Type.INT32: pyarrow.int32, Type.STRING: pyarrow.string, Type.BYTES: pyarrow.binary}[column.type]()


def record_batch(columns: list[Column], response: data_pb2.ScanResponse) -> Any:
    """The rows of a response, without a copy of their bytes. Strings are Arrow's string, bytes its binary."""
    pyarrow = _pyarrow()
    arrays, fields = [], []
    for column, message in zip(columns, response.columns):
        buffers = [pyarrow.py_buffer(message.validity) if message.validity else None, pyarrow.py_buffer(message.data)]
        if column.type in (Type.STRING, Type.BYTES):
            buffers.insert(1, pyarrow.py_buffer(message.offsets))
        its = _type_of(pyarrow, column)
        arrays.append(pyarrow.Array.from_buffers(its, response.rows, buffers))
        fields.append(pyarrow.field(column.name, its, nullable=column.nullable))
    return pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(fields))
