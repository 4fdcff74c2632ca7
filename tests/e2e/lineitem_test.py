"""The real lineitem, imported by the command line, answers TPC-H's Q1 and Q6 and others as DuckDB does, to the last
digit; and again after a third of its rows have been written anew and the table has been scanned into a heap table.
"""
import json
import os
import tempfile

import harness
import lineitem_data
from lineitem_queries import QUERIES, eris_arguments


def same(got, expected):
    """A cell of `eris scan --output json` and one of DuckDB: numbers that are doubles compare as such."""
    if isinstance(expected, float):
        return isinstance(got, (int, float)) and float(got) == expected
    return got is None if expected is None else str(got) == expected


def check_answers(server, table, answers):
    for name in QUERIES:
        rows = [list(row.values()) for row in server.eris_json("scan", table, *eris_arguments(name))]
        expected = answers[name]
        harness.check_equal(len(rows), len(expected), f"rows of {name} over {table}")
        for row, wanted in zip(rows, expected):
            harness.check(len(row) == len(wanted) and all(map(same, row, wanted)),
                          f"{name} over {table}: got {row}, DuckDB says {wanted}")


def main():
    def extra(parser):
        parser.add_argument("--aeus", type=int, default=2)
    args = harness.parse_args(extra)
    table = lineitem_data.path(args.build)
    with open(lineitem_data.answers_path(args.build)) as file:
        answers = json.load(file)
    with harness.Server(harness.Programs(args.build), "--aeus", str(args.aeus)) as server, \
            tempfile.TemporaryDirectory() as directory:
        server.eris("import", "lineitem", table, "--schema", "tpch:lineitem")
        check_answers(server, "lineitem", answers)

        # The same rows again, in another order: each replaces itself.
        with open(table) as file:
            some = file.readlines()[::3]
        again = os.path.join(directory, "again.tbl")
        with open(again, "w") as file:
            file.writelines(reversed(some))
        server.eris("import", "lineitem", again)
        check_answers(server, "lineitem", answers)

        # A copy without a key, made where the rows are.
        server.eris("create", "copy", "--schema", "tpch:lineitem", "--key", "none")
        server.eris("scan", "lineitem", "--into", "copy")
        check_answers(server, "copy", answers)
    print(f"{len(QUERIES)} queries over {lineitem_data.ROWS} rows, {args.aeus} AEUs")


if __name__ == "__main__":
    main()
