#!/usr/bin/env python3
"""Makes the Substrait plans of the 22 TPC-H queries again: tests/tpch/plans/datafusion/qNN.plan and
tests/tpch/plans/duckdb/qNN.plan. The tests read the committed files, so this runs only when a producer changes.

Usage: make_plans.py [--out DIR] [--folder DIR]. Installs the producers from PyPI, at pinned versions, into a virtual
environment below the folder (default: build/tpch-plans), and TPC-H's data at scale factor 0.01 beside it.

DataFusion plans all 22 queries without data. It numbers functions in another way in each run, so its files differ where the plans
do not. DuckDB's last substrait extension plans 15 of them, and only over data: over empty tables it answers without a
plan. In query 13 it writes "not like" as "not equal", so that plan is not the query.

The query texts are those of the TPC-H specification, with its validation parameters.
"""
import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The extension brings the only DuckDB that can load it, 1.1.3.
PACKAGES = ("datafusion==55.0.0", "pyarrow==26.0.1", "duckdb-extension-substrait==1.1.3", "tpchgen-cli==4.0.0")
SCALE = "0.01"
# "i32", "i64", "date", "text" or "money", which is decimal(15, 2).
TABLES = {
    "region": "r_regionkey i64, r_name text, r_comment text",
    "nation": "n_nationkey i64, n_name text, n_regionkey i64, n_comment text",
    "part": "p_partkey i64, p_name text, p_mfgr text, p_brand text, p_type text, p_size i32, p_container text, "
            "p_retailprice money, p_comment text",
    "supplier": "s_suppkey i64, s_name text, s_address text, s_nationkey i64, s_phone text, s_acctbal money, s_comment text",
    "partsupp": "ps_partkey i64, ps_suppkey i64, ps_availqty i32, ps_supplycost money, ps_comment text",
    "customer": "c_custkey i64, c_name text, c_address text, c_nationkey i64, c_phone text, c_acctbal money, "
                "c_mktsegment text, c_comment text",
    "orders": "o_orderkey i64, o_custkey i64, o_orderstatus text, o_totalprice money, o_orderdate date, "
              "o_orderpriority text, o_clerk text, o_shippriority i32, o_comment text",
    "lineitem": "l_orderkey i64, l_partkey i64, l_suppkey i64, l_linenumber i32, l_quantity money, l_extendedprice money, "
                "l_discount money, l_tax money, l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, "
                "l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text",
}
SQL_TYPES = {"i32": "integer", "i64": "bigint", "date": "date", "text": "varchar", "money": "decimal(15, 2)"}
# DuckDB's extension knows neither the delimiter joins of these nor, in 16, mark joins.
DUCKDB_HAS_NO_PLAN = (2, 4, 16, 17, 20, 21, 22)


def columns_of(table):
    """(name, type) of each column."""
    return [tuple(column.split()) for column in TABLES[table].split(", ")]


def queries():
    """(number, text) of each query."""
    return [(number, (HERE / "queries" / f"q{number:02}.sql").read_text()) for number in range(1, 23)]


def write(out, producer, number, plan):
    path = out / producer / f"q{number:02}.plan"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(plan)


def plan_with_datafusion(out):
    import datafusion
    import datafusion.substrait
    import pyarrow

    types = {"i32": pyarrow.int32(), "i64": pyarrow.int64(), "date": pyarrow.date32(), "text": pyarrow.string(),
             "money": pyarrow.decimal128(15, 2)}
    context = datafusion.SessionContext()
    for table in TABLES:
        schema = pyarrow.schema([pyarrow.field(name, types[kind], nullable=False) for name, kind in columns_of(table)])
        context.register_record_batches(table, [[pyarrow.RecordBatch.from_pylist([], schema=schema)]])
    for number, text in queries():
        write(out, "datafusion", number, datafusion.substrait.Serde.serialize_bytes(text, context))


def plan_with_duckdb(out, data):
    import duckdb
    import duckdb_extension_substrait

    extension = next(pathlib.Path(duckdb_extension_substrait.__file__).parent.rglob("substrait.duckdb_extension"))
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"load '{extension}'")
    for table in TABLES:
        columns = ", ".join(f"{name} {SQL_TYPES[kind]} not null" for name, kind in columns_of(table))
        connection.execute(f"create table {table} ({columns})")
        connection.execute(f"copy {table} from '{data}/{table}.tbl' (delimiter '|', header false)")
    for number, text in queries():
        if number not in DUCKDB_HAS_NO_PLAN:
            (plan,) = connection.execute("call get_substrait(?)", [text]).fetchone()
            write(out, "duckdb", number, plan)


def inside(folder, out):
    """The part that runs in the environment with the producers."""
    plan_with_datafusion(out)
    plan_with_duckdb(out, folder / "data")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "plans")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "tpch-plans")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        inside(args.folder, args.out)
        return
    venv = args.folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", *PACKAGES], check=True)
    data = args.folder / "data"
    subprocess.run([venv / "bin" / "tpchgen-cli", "-s", SCALE, "--output-dir", data, "--overwrite", "--quiet"], check=True)
    subprocess.run([venv / "bin" / "python", __file__, "--inside", "--out", args.out, "--folder", args.folder], check=True)


if __name__ == "__main__":
    main()
