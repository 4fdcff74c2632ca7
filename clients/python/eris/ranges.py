"""How Dask and Spark divide objects: by ranges of the first key column, each read by itself, at any time and any number of times. A key is in one
range at any time, so each row is in one partition.
"""
import datetime
import decimal
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eris.errors import FailedPrecondition, InvalidArgument
from eris.filters import literal_of, quoted
from eris.schema import Column, ObjectInfo, Piece, Type
from eris.servers import number_of, value_of
from eris.sync import Database


def divide(db: Database, info: ObjectInfo, filter: str | None, cuts: Sequence[Any] | None = None) -> tuple[Any, list[Piece]]:
    """The schema of an object in Arrow, and ranges that have all of its keys: those that AEUs own now, or those that begin at `cuts`. A heap
    table has one for each server. Errors: FailedPrecondition (a hash), InvalidArgument (the filter, or a cut)."""
    if info.kind == "hash":
        raise FailedPrecondition(f"{info.name!r} is a hash, which has no scan")
    if cuts is not None and not info.key:
        raise InvalidArgument(f"{info.name!r} is a heap table, which has no key to cut at")
    plan = db.flight_info(info.name, filter=filter, shares=1)
    db.flight_cancel(plan)
    made = []
    for piece in db.pieces(info.name):
        if not info.key:
            made.append(piece)
            continue
        first = info.key[0]
        if cuts is None:
            begins = [json.loads(each.app_metadata or b"{}").get("range", {}).get("lo") for each in plan.endpoints if each.address == piece.address]
            inner = [value for each in begins if each is not None and (value := _value(first, each)) is not None]
        else:
            inner = [value_of(first, each) for each in cuts]
        lo, hi = (None if each is None else value_of(first, each) for each in (piece.lo, piece.hi))
        low, high = (None if each is None else number_of(first, each) for each in (lo, hi))
        by_number = {number_of(first, each): each for each in inner if literal_of(first, each) is not None}
        inner = [each for number, each in sorted(by_number.items()) if (low is None or number > low) and (high is None or number < high)]
        made += [Piece(piece.address, *each) for each in zip([lo, *inner], [*inner, hi])]
    return plan.schema, made


def read(db: Database, info: ObjectInfo, part: Piece, names: Sequence[str], filter: str | None) -> tuple[Any, Iterator[Any]]:
    """A schema, and record batches, of a range's rows; they have the columns named, and may have others."""
    if info.kind == "index":
        key = [column.name for column in info.key]
        wanted = key if set(names) <= set(key) else [column.name for column in info.columns]
        plan = db.flight_info(info.name, wanted, range=_range(part))
    else:
        wanted = list(names) or [info.columns[0].name]  # rows are counted
        plan = db.flight_info(info.name, wanted, filter=_condition(info, part, filter))
    return plan.schema, (batch for endpoint in plan.endpoints for batch in db.flight_read(endpoint.ticket))


def _range(part: Piece) -> Mapping[str, Any] | None:
    bounds = {name: value if isinstance(value, int) else str(value) for name, value in (("lo", part.lo), ("hi", part.hi)) if value is not None}
    return bounds or None


def _condition(info: ObjectInfo, part: Piece, filter: str | None) -> str | None:
    bounds = []
    for operator, value in ((">=", part.lo), ("<", part.hi)):
        if value is None or (operator == ">=" and info.key[0].type is Type.INT64 and value <= -(2**63)):
            continue
        if (text := literal_of(info.key[0], value)) is None:
            raise InvalidArgument(f"{value!r} bounds a range of {info.name!r}, and is no {info.key[0].type.value} that a filter can have")
        bounds.append(f"{quoted(info.key[0].name)} {operator} {text}")
    return " and ".join(([f"({filter})"] if filter else []) + bounds) or None


def _value(first: Column, given: Any) -> Any:
    """A bound as the server writes it. None: a day that Python does not have, beyond the year 9999 or before 1; ranges need not end there."""
    if isinstance(given, list):  # of a key of two parts
        given = given[0]
    if first.type in (Type.DATE, Type.TIMESTAMP):
        days = datetime.date if first.type is Type.DATE else datetime.datetime
        return days.fromisoformat(given) if re.match(r"\d{4}-", given) and given[:4] != "0000" else None
    if first.type is Type.FLOAT64:
        return float(given)
    return decimal.Decimal(given) if first.type is Type.DECIMAL64 else int(given)
