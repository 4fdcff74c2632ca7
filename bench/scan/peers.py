#!/usr/bin/env python3
"""The peers of the scan benchmark, one per process: DuckDB and Polars in memory, NumPy for the plain columns.

    peers.py duckdb|polars|numpy --threads N [--rows 67108864]

Takes scan_lab's commands a line (columns, lineitem DIR, run QUERY) and answers each with a JSON object. Needs the
packages of bench/scan/requirements.txt. `peers.py prepare TBL DIR` writes lineitem's columns as files, little-endian,
for scan_lab and Polars: a file a column, decimals as their unscaled numbers, dates as days since 1970-01-01.
"""
import argparse
import decimal
import json
import os
import sys
import time

LINEITEM = [("l_orderkey", "bigint"), ("l_partkey", "bigint"), ("l_suppkey", "bigint"), ("l_linenumber", "integer"),
            ("l_quantity", "decimal(15,2)"), ("l_extendedprice", "decimal(15,2)"), ("l_discount", "decimal(15,2)"),
            ("l_tax", "decimal(15,2)"), ("l_returnflag", "varchar"), ("l_linestatus", "varchar"), ("l_shipdate", "date"),
            ("l_commitdate", "date"), ("l_receiptdate", "date"), ("l_shipinstruct", "varchar"),
            ("l_shipmode", "varchar"), ("l_comment", "varchar")]
# The columns needed by the two queries, and the key, as SQL that gives the content of a file.
FILES = {"l_orderkey": "l_orderkey", "l_linenumber": "l_linenumber",
         **{name: f"cast({name} * 100 as bigint)" for name in ("l_quantity", "l_extendedprice", "l_discount", "l_tax")},
         "l_returnflag": "cast(ascii(l_returnflag) as utinyint)", "l_linestatus": "cast(ascii(l_linestatus) as utinyint)",
         "l_shipdate": "cast(l_shipdate - date '1970-01-01' as integer)"}
BELOW_A = (2 ** 64 - 1) // 10
BELOW_C = -1717986918
Q1 = """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
               sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
               avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
        from lineitem where l_shipdate <= date '1998-09-02'
        group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus"""
Q6 = """select sum(l_extendedprice * l_discount) from lineitem
        where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
          and l_discount between 0.05 and 0.07 and l_quantity < 24"""
SQL = {"sum_a": "select sum(a) from columns", "sum_c": "select sum(c) from columns",
       "count_a": f"select count(*) from columns where a < {BELOW_A}",
       "sum_b_where_a": f"select sum(b) from columns where a < {BELOW_A}",
       "sum_b_where_c": f"select sum(b) from columns where c < {BELOW_C}", "q1": Q1, "q6": Q6}


def lineitem_of(duckdb, path, threads):
    """A connection with the table loaded from a .tbl file."""
    connection = duckdb.connect(config={"threads": threads})
    connection.execute("create table lineitem (" + ", ".join(" ".join(column) for column in LINEITEM) + ")")
    connection.execute(f"copy lineitem from '{path}' (delimiter '|', header false)")
    return connection


def prepare(path, directory):
    import duckdb
    connection = lineitem_of(duckdb, path, os.cpu_count())
    for name, sql in FILES.items():
        connection.execute(f"select {sql} as c from lineitem").fetchnumpy()["c"].tofile(os.path.join(directory, name))


def mix(numpy, first, count):
    """bench/key_order.h's Mix of `count` numbers from `first` on."""
    x = numpy.arange(first, first + count, dtype=numpy.uint64)
    x += numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


def columns_of(rows):
    """The columns that scan_lab fills its own table with."""
    import numpy
    columns = {"a": mix(numpy, 0, rows), "b": mix(numpy, 1 << 40, rows)}
    columns["c"] = (mix(numpy, 1 << 41, rows) >> numpy.uint64(32)).astype(numpy.uint32).view(numpy.int32)
    return columns


def text_of(value):
    """As scan_lab prints values: decimals unscaled."""
    if isinstance(value, decimal.Decimal):
        return str(int(value.scaleb(-value.as_tuple().exponent)))
    if isinstance(value, float):
        return f"{value:.17g}"
    return str(value)


class DuckDb:
    def __init__(self, options):
        import duckdb
        self.duckdb, self.options = duckdb, options
        self.connection = duckdb.connect(config={"threads": options.threads})

    def columns(self):
        import pyarrow
        arrow = pyarrow.table(columns_of(self.options.rows))  # noqa: F841 (DuckDB finds it by its name)
        self.connection.execute("create table columns as select * from arrow")
        return {"rows": self.options.rows}

    def lineitem(self, path):
        self.connection = lineitem_of(self.duckdb, path, self.options.threads)
        return {"rows": self.connection.execute("select count(*) from lineitem").fetchone()[0]}

    def run(self, query):
        begin = time.perf_counter()
        rows = self.connection.execute(SQL[query]).fetchall()
        return {"ms": (time.perf_counter() - begin) * 1e3, "rows": [[text_of(value) for value in row] for row in rows]}


class Polars:
    def __init__(self, options):
        os.environ["POLARS_MAX_THREADS"] = str(options.threads)
        import polars
        self.polars, self.options = polars, options

    def columns(self):
        self.frame = self.polars.DataFrame(columns_of(self.options.rows)).lazy()
        return {"rows": self.options.rows}

    def plan(self, query):
        column, literal = self.polars.col, self.polars.lit
        below_a = column("a") < literal(BELOW_A, dtype=self.polars.UInt64)
        below_c = column("c") < literal(BELOW_C, dtype=self.polars.Int32)
        # A sum of u64 wraps: its last 64 bits are compared. One of i32 would, too.
        return {"sum_a": lambda: self.frame.select(column("a").sum()),
                "sum_c": lambda: self.frame.select(column("c").cast(self.polars.Int64).sum()),
                "count_a": lambda: self.frame.filter(below_a).select(self.polars.len()),
                "sum_b_where_a": lambda: self.frame.filter(below_a).select(column("b").sum()),
                "sum_b_where_c": lambda: self.frame.filter(below_c).select(column("b").sum())}[query]()

    def run(self, query):
        """The better of its two engines."""
        best = None
        for engine in ("in-memory", "streaming"):
            plan = self.plan(query)
            begin = time.perf_counter()
            rows = plan.collect(engine=engine).rows()
            ms = (time.perf_counter() - begin) * 1e3
            if best is None or ms < best["ms"]:
                best = {"ms": ms, "rows": [[text_of(value) for value in row] for row in rows], "engine": engine}
        return best


class NumPy:
    """One thread."""

    def __init__(self, options):
        import numpy
        self.numpy, self.options = numpy, options

    def columns(self):
        self.data = columns_of(self.options.rows)
        return {"rows": self.options.rows}

    def run(self, query):
        numpy, a, b, c = self.numpy, self.data["a"], self.data["b"], self.data["c"]
        begin = time.perf_counter()
        value = {"sum_a": lambda: a.sum(), "sum_c": lambda: c.sum(dtype=numpy.int64),
                 "count_a": lambda: numpy.count_nonzero(a < numpy.uint64(BELOW_A)),
                 "sum_b_where_a": lambda: b.sum(where=a < numpy.uint64(BELOW_A)),
                 "sum_b_where_c": lambda: b.sum(where=c < numpy.int32(BELOW_C))}[query]()
        return {"ms": (time.perf_counter() - begin) * 1e3, "rows": [[str(int(value))]]}


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "prepare":
        prepare(sys.argv[2], sys.argv[3])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=["duckdb", "polars", "numpy"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1 << 26)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    peer = {"duckdb": DuckDb, "polars": Polars, "numpy": NumPy}[options.peer](options)
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        answer = getattr(peer, words[0])(*words[1:])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
