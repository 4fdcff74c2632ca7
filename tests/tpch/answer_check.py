"""Compares an answer to a TPC-H query with DuckDB's.

Cells are texts, null, or numbers where they are doubles. All but doubles are compared exactly. Rows come in the order of the
query's `order by`; rows that it does not order come in any.
"""
import re

RELATIVE = 1e-9  # of doubles, to the larger one


def same(got, expected, relative=RELATIVE):
    if got is None or expected is None:
        return got is expected
    if isinstance(expected, float) or isinstance(got, float):
        return abs(float(got) - float(expected)) <= relative * max(abs(float(got)), abs(float(expected)))
    return str(got) == expected


def order_of(query, columns):
    """The numbers of the columns by which a query sorts, and its limit (None: it has none)."""
    found = re.search(r"order by([^()]*?)(?:limit\s+(\d+))?\s*;?\s*$", query, re.S | re.I)
    if found is None:
        return [], None
    names = [re.sub(r"\s+(desc|asc)$", "", key.strip(), flags=re.I) for key in found.group(1).split(",")]
    return [columns.index(name) for name in names], int(found.group(2)) if found.group(2) else None


def sorting(row):
    """Brings equal rows of two answers to the same place: by what is exact, then by the doubles."""
    def is_double(cell):
        return isinstance(cell, float)
    return ([(cell is not None, str(cell)) for cell in row if not is_double(cell)],
            [cell for cell in row if is_double(cell)])


def check_rows(got, expected, name, relative):
    if len(got) != len(expected):
        raise AssertionError(f"rows of {name}: got {len(got)}, expected {len(expected)}")
    for number, (row, wanted) in enumerate(zip(got, expected)):
        if len(row) != len(wanted) or not all(same(cell, other, relative) for cell, other in zip(row, wanted)):
            raise AssertionError(f"{name}, row {number}: got {row}, DuckDB says {wanted}")


def check_answer(got, answer, query, name, relative=RELATIVE):
    """`got`: rows. `answer`: {"columns": names, "rows": rows} of DuckDB. `query`: the text. Raises AssertionError."""
    columns, expected = answer["columns"], answer["rows"]
    order, limit = order_of(query, columns)
    # DuckDB may give a double where a plan has casts to decimals, or the other way round.
    doubles = [any(isinstance(row[i], float) for row in got + expected) for i in range(len(columns))]
    got = [[float(cell) if double and cell is not None else cell for cell, double in zip(row, doubles)] for row in got]
    expected = [[float(cell) if double and cell is not None else cell for cell, double in zip(row, doubles)]
                for row in expected]
    keys = [[[row[i] for i in order] for row in rows] for rows in (got, expected)]
    check_rows(*keys, f"the sort keys of {name}", relative)
    if order and limit == len(expected):  # of the rows that are equal to the last one, any may be there
        last = keys[1][-1]
        got, expected = ([row for row, key in zip(rows, its) if not all(same(*pair, relative) for pair in zip(key, last))]
                         for rows, its in zip((got, expected), keys))
    check_rows(sorted(got, key=sorting), sorted(expected, key=sorting), name, relative)
