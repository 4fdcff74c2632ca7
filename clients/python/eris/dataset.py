"""A table as a dataset of pyarrow, for programs that read such: DuckDB, Polars, pyarrow itself.

They say which columns and which rows they need (columns=, filter=). The columns are asked for, and what of the filter the server understands
(eris.filters). Rows that come are then filtered by the whole filter, so that no row is shown that it does not allow.
"""
from collections.abc import Iterator
from typing import Any

import pyarrow  # type: ignore[import-untyped]
import pyarrow.dataset  # type: ignore[import-untyped]

from eris.filters import Filter
from eris.schema import Column, Type
from eris.sync import Table
from eris.tables import type_of

_OPTIONS = ("batch_size", "use_threads", "memory_pool")


def _type(column: Column) -> Any:
    """pyarrow can do more with decimal128."""
    return pyarrow.decimal128(18, column.scale) if column.type is Type.DECIMAL64 else type_of(column)


class TableDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]
    """Each scanner shows a moment of its own."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._columns = {column.name: column for column in table.describe().columns}
        self._schema = pyarrow.schema([pyarrow.field(its.name, _type(its), nullable=its.nullable) for its in self._columns.values()])

    @property
    def schema(self) -> Any:
        return self._schema

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        """`columns`: names, or a dict of expressions; `filter`: an expression of pyarrow. Options of scanning files say nothing here."""
        names = list(self._columns) if columns is None or isinstance(columns, dict) else list(columns)
        known = None if filter is None else Filter.of(filter, self._columns)
        wanted = self._needed(names, known is None and filter is not None, known)
        schema = pyarrow.schema([self._schema.field(name) for name in wanted])
        batches = self._batches(wanted, None if known is None else known.text(), schema)
        return pyarrow.dataset.Scanner.from_batches(batches, schema=schema, columns=columns, filter=_again(filter, known),
                                                    **{name: options[name] for name in _OPTIONS if name in options})

    def _needed(self, names: list[str], all_of_them: bool, known: Filter | None) -> list[str]:
        needed = set(self._columns) if all_of_them else {*names, *(known.fields() if known else ())}
        wanted = [name for name in self._columns if name in needed]
        return wanted or list(self._columns)[:1]  # rows are counted

    def _batches(self, names: list[str], filter: str | None, schema: Any) -> Iterator[Any]:
        for batch in self._table.scan(names, filter=filter):
            yield batch.cast(schema)

    def filter(self, expression: Any) -> Any:
        raise NotImplementedError("give the filter to scanner(), to_table() or to_batches()")

    @property
    def partition_expression(self) -> Any:
        return pyarrow.dataset.scalar(True)

    def get_fragments(self, filter: Any = None) -> Any:
        raise NotImplementedError("this dataset has no fragments")

    def replace_schema(self, schema: Any) -> Any:
        raise NotImplementedError("the schema is the table's")

    def _of_tables(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("call to_table() first")

    sort_by = join = join_asof = _of_tables


def _again(filter: Any, known: Filter | None) -> Any:
    """The filter that the rows pass here."""
    return filter if known is None else known.exact()
