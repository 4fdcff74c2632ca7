#!/usr/bin/env python3
"""DuckDB's answers over the records that study_blind has written, in the form of its checksums (queries.h).

    duckdb_side.py FOLDER THREADS ROUNDS
    duckdb_side.py FOLDER THREADS serve      # answers lines "run w1" with a line each, for turns with others

Reads FOLDER/w1.records, w2.records, w3.records and w3.primary. Needs the packages of bench/scan/requirements.txt.
"""
import json
import sys
import time

import duckdb
import numpy

RECORD = numpy.dtype([("key", "<u8"), ("value", "<u8")])
SUM = "select count(*), sum(({one})::hugeint * ({other})::hugeint) from ({rows})"
QUERIES = {
    "w1": SUM.format(one="key + 1", other="twice + 1", rows="select key, (2 * median(value))::ubigint as twice from w1_records group by key"),
    "w2": SUM.format(one="key + 1", other="n", rows="select key, count(value) as n from w2_records group by key"),
    "w3": SUM.format(one="a + 1", other="b + 1",
                     rows="select p.value as a, f.value as b from w3_primary p inner join w3_records f on p.key = f.key"),
}


def run(connection, name):
    begin = time.perf_counter()
    rows, total = connection.execute(QUERIES[name]).fetchone()
    return {"rows": rows, "checksum": str(total % 2 ** 64), "seconds": time.perf_counter() - begin, "version": duckdb.__version__}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, threads, rounds = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    connection = duckdb.connect(config={"threads": threads})
    for name in ("w1_records", "w2_records", "w3_records", "w3_primary"):
        records = numpy.fromfile(f"{folder}/{name.replace('_', '.')}", dtype=RECORD)
        columns = {field: numpy.ascontiguousarray(records[field]) for field in RECORD.names}  # noqa: F841: DuckDB finds it by its name
        connection.execute(f"create table {name} as select * from columns")
    if rounds == "serve":
        for line in sys.stdin:
            print(json.dumps(run(connection, line.split()[1])), flush=True)
        return
    found = {}
    for name in QUERIES:
        runs = [run(connection, name) for _ in range(int(rounds))]
        found[name] = {**runs[0], "seconds": [one["seconds"] for one in runs]}
    print(json.dumps({"version": duckdb.__version__, "queries": found}))


if __name__ == "__main__":
    main()
