"""Plans SQL with DataFusion, which sees empty tables with the columns of a server's objects. No row leaves the server for that."""
import difflib
import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from eris.errors import InvalidArgument
from eris.schema import Column, ObjectInfo, Type
from eris.sql.words import quoted, with_date_part, with_exact_name, words_of
from eris.tables import pyarrow

# What DataFusion is told of a decimal, which may have 18 digits: types of results grow from here.
DECIMAL_DIGITS = 15
NAMES_SHOWN = 12
NAMES_MAX = 200  # whose case is looked for in one statement
WORDS_MAX = 50_000
_DATE_PARTS = ("year", "quarter", "month", "day")
_PARTS = (*_DATE_PARTS, "hour", "minute", "second")  # of timestamps
_BEGINNINGS = ("select", "with", "values", "(", "table")
_INSTEAD = {
    "insert": "`eris put` and `eris import` write rows, or write() of a table",
    "update": "`eris put` writes rows, or write() of a table",
    "delete": "`eris erase` takes keys away",
    "create": "`eris create` and `eris import` make objects, or create_table()",
    "drop": "`eris drop NAME` takes an object away, or drop()",
    "copy": "`eris export` and `eris import` know files",
    "show": "`eris list` shows the objects, \\d does in the shell",
    "describe": "`eris list` shows an object's columns, \\d NAME does in the shell",
}


def _datafusion() -> Any:
    """The module. Errors: ImportError, with what to install."""
    try:
        importlib.import_module("datafusion.substrait")
        return importlib.import_module("datafusion")
    except ImportError as error:
        raise ImportError("SQL needs datafusion: pip install 'eris-engine[sql]'") from error


def _type_of(column: Column) -> Any:
    """The Arrow type with which DataFusion plans. It has no unsigned numbers: an integer of SQL is signed."""
    arrow = pyarrow()
    if column.type is Type.DECIMAL64:
        return arrow.decimal128(max(DECIMAL_DIGITS, column.scale), column.scale)
    if column.type is Type.TIMESTAMP:
        return arrow.timestamp("us")
    return {Type.UINT64: arrow.int64, Type.INT64: arrow.int64, Type.FLOAT64: arrow.float64, Type.DATE: arrow.date32, Type.INT32: arrow.int32,
            Type.STRING: arrow.string, Type.BYTES: arrow.binary}[column.type]()


def _said(error: Exception) -> str:
    """DataFusion's text without its own layers."""
    text = str(error)
    while (shorter := re.sub(r"^(DataFusion error|Error during planning|Schema error|SQL error|This feature [a-z ]+): ", "", text)) != text:
        text = shorter
    # A rule of its optimizer says itself first, then what it met.
    text = re.sub(r"^.*\ncaused by\n(Arrow error: )?(Cast error: )?", "", text, flags=re.DOTALL)
    parser = re.match(r'^ParserError\("(.*)"\)$', text, re.DOTALL)
    return parser.group(1).replace('\\"', '"') if parser else text


class Planner:
    """For the objects that were there when it was made. Any thread."""

    def __init__(self, objects: Iterable[ObjectInfo]) -> None:
        """Errors: ImportError (datafusion or pyarrow is missing)."""
        self._arrow, self._datafusion = pyarrow(), _datafusion()
        self._objects: Sequence[ObjectInfo] = list(objects)

    def _context(self, words: list[str], near: Iterable[ObjectInfo]) -> Any:
        """A session of DataFusion with `near` as its tables."""
        arrow, datafusion = self._arrow, self._datafusion
        # Numbers with a point are decimals, which are compared exactly; DataFusion makes decimals of negative scales of those with an exponent.
        exact = not any(re.match(r"\d[\d.]*[eE]", word) for word in words)
        context = datafusion.SessionContext(datafusion.SessionConfig().set("datafusion.sql_parser.parse_float_as_decimal", str(exact).lower()))
        compute = importlib.import_module("pyarrow.compute")
        for part in _DATE_PARTS:  # DataFusion has date_part alone. It calls these for dates in the text; for rows the server computes them.
            context.register_udf(datafusion.udf(getattr(compute, part), [arrow.date32()], arrow.int64(), "immutable", part))
        for each in near:
            schema = arrow.schema([arrow.field(its.name, _type_of(its), nullable=its.nullable) for its in each.columns])
            context.register_record_batches(quoted(each.name), [[arrow.RecordBatch.from_pylist([], schema=schema)]])
        return context

    def plan(self, sql: str) -> bytes:
        """A serialized substrait.Plan of one query. Names without quotes are found whatever their letters' case. Errors: InvalidArgument."""
        text = sql.strip().rstrip(";")
        words = words_of(text)
        _check(words)
        said = {word.lower().strip('"`').replace('""', '"') for word in words}
        near = [each for each in self._objects if each.name.lower() in said]  # there may be thousands, of which a query has few
        context = self._context(words, near)
        given: Exception | None = None
        for _ in range(NAMES_MAX):
            try:
                plan: bytes = self._datafusion.substrait.Serde.serialize_bytes(text, context)
                return plan
            except Exception as error:  # DataFusion has many kinds
                # What is wrong in the text as it was given, unless the names in it are.
                given = error if given is None or self._missing(_said(given)) else given
                text, before = self._with_names(text, self._missing(_said(error)), near), text
                if text == before:  # a function of ours has one type of argument
                    text = with_date_part(text, _PARTS)
                if text == before:
                    break
        assert given is not None
        raise InvalidArgument(self._advice(given)) from None

    @staticmethod
    def _missing(said: str) -> list[str]:
        """The name that DataFusion does not know, in parts: of a table, or of a field with or without its table."""
        table = re.match(r"table '(?:datafusion\.public\.)?(.*)' not found", said)
        field = re.match(r"No field named ([^\s]+?)\.(?:\s|$)", said)
        if table:
            return [table[1]]
        return [part.strip('"') for part in field[1].split(".")] if field else []

    @staticmethod
    def _with_names(text: str, missing: list[str], near: list[ObjectInfo]) -> str:
        """The text with the missing name as it is written at the server, if one differs in the case of letters alone."""
        for part in reversed(missing):
            names = {each.name for each in near} | {its.name for each in near for its in each.columns}
            meant = {name for name in names if name.lower() == part.lower() and name != part}
            if len(meant) == 1:
                text = with_exact_name(text, meant.pop())
        return text

    def _advice(self, error: Exception) -> str:
        said = _said(error)
        missing = re.match(r"table '(?:datafusion\.public\.)?(.*)' not found", said)
        if missing is None:
            return said.replace("\nColumn names are case sensitive.", "\n").split("\n You can use")[0]
        names = {each.name.lower(): each.name for each in self._objects}
        near = difflib.get_close_matches(missing[1].lower(), names, n=3)
        if near:
            return f"there is no object {missing[1]}; did you mean {' or '.join(names[each] for each in near)}?"
        shown = ", ".join(sorted(names.values())[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
        return f"there is no object {missing[1]}; " + (f"there are {shown}" if names else "the server has none")


def _check(words: list[str]) -> None:
    """Errors: InvalidArgument (what is no query, or not one that is planned)."""
    if not words:
        raise InvalidArgument("there is no statement")
    if len(words) > WORDS_MAX:
        raise InvalidArgument(f"a statement of {len(words):,} words, must have at most {WORDS_MAX:,}: put rows into a table instead")
    begin = words[0].lower()
    if begin not in _BEGINNINGS:
        instead = _INSTEAD.get(begin)
        raise InvalidArgument(f"{begin}: a statement is a query, which begins with select, with or values" + (f"; {instead}" if instead else ""))
    for first, second in zip(words, words[1:]):
        if first.lower() in ("intersect", "except") and second.lower() == "all":  # DataFusion plans them as if all were not there
            raise InvalidArgument(f"{first.lower()} all is not supported")
