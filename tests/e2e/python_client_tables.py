"""Runs in the environment of python_client_test.py: tables of the Python client, in from and out to Arrow, pandas, Polars, DuckDB and Parquet,
with and without asyncio; and what it refuses.
"""
import datetime
import decimal
import json
import math
import os
import random
import tempfile

import duckdb
import eris
import harness
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from harness import refused
from python_client_calls import CONNECTS, SEED, run_suite

FOLDER = tempfile.TemporaryDirectory()  # of files of Parquet
D = decimal.Decimal
SCHEMA = pa.schema([pa.field("id", pa.int64(), False), ("small", pa.int32()), ("large", pa.int64()), ("big", pa.uint64()),
                    ("ratio", pa.float64()), ("day", pa.date32()), ("price", pa.decimal64(18, 4)), ("note", pa.string()),
                    ("raw", pa.binary())])
ROWS = [
    (1, 2**31 - 1, 2**63 - 1, 2**64 - 1, math.inf, datetime.date(9999, 12, 31), D("99999999999999.9999"), "ünïcode, \"quoted\" 'too'", b"\xff\x00"),
    (2, -2**31, -2**63, 0, -1e300, datetime.date(1, 1, 1), D("-99999999999999.9999"), "", b""),
    (3, None, None, None, None, None, None, None, None),
    (4, 0, 7, 2**63, 5e-324, datetime.date(1969, 12, 31), D("0.0001"), "x" * 60_000, b"\x80" * 1000),
]


def table_of(rows, schema=SCHEMA):
    columns = list(zip(*rows)) or [()] * len(schema)
    return pa.table([pa.array(values, field.type) for field, values in zip(schema, columns)], schema=schema)


def many(rows):
    """Every type, and a null in every seventh row of each column but the key."""
    def each(number, value):
        return [None if (i + number) % 7 == 0 else value(i) for i in range(rows)]
    return pa.table([pa.array(range(rows), pa.int64()), pa.array(each(1, lambda i: i - 5), pa.int32()), pa.array(each(2, lambda i: i << 40)),
                     pa.array(each(3, lambda i: 2**64 - 1 - i), pa.uint64()), pa.array(each(4, lambda i: i / 8)),
                     pa.array(each(5, lambda i: datetime.date(1960, 1, 1) + datetime.timedelta(days=i % 40_000))),
                     pa.array(each(6, lambda i: D(i).scaleb(-4)), pa.decimal64(18, 4)), pa.array(each(7, lambda i: f"text {i}")),
                     pa.array(each(8, lambda i: i.to_bytes(3, "big")))], schema=SCHEMA)


def plain(table):
    """Sorted by its key, in the types and the order of SCHEMA."""
    table.validate(full=True)
    wanted = pa.schema([pa.field(field.name, field.type) for field in SCHEMA])
    return table.select(SCHEMA.names).cast(wanted).sort_by("id").combine_chunks()


def check_rows(got, expected, what):
    harness.check(plain(got).equals(plain(expected)), f"{what}: {plain(got).slice(0, 9).to_pylist()}, expected {plain(expected).slice(0, 9).to_pylist()}")


def wide(table):
    """Decimals of 128 bits: not all programs read others."""
    return table.set_column(6, "price", table["price"].cast(pa.decimal128(18, 4)))


def parquet(table, folder):
    path = os.path.join(folder, "rows.parquet")
    pq.write_table(wide(table), path, row_group_size=10_000)
    return path


def relation(table):
    return duckdb.connect().from_arrow(wide(table))


def in_categories(table):
    frame = pl.from_arrow(table)
    return frame.with_columns(pl.col("note").cast(pl.Categorical), pl.col("price").cast(pl.Decimal(38, 4)))


# What a table goes in from.
SOURCES = {
    "arrow": lambda table, folder: table,
    "batch": lambda table, folder: table.combine_chunks().to_batches()[0] if table.num_rows else table,
    "reader": lambda table, folder: table.to_reader(1000),
    "pandas": lambda table, folder: wide(table).to_pandas(types_mapper={pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(),
                                                                        pa.uint64(): pd.UInt64Dtype()}.get),
    "polars": lambda table, folder: pl.from_arrow(table),
    "polars, categories": lambda table, folder: in_categories(table),
    "duckdb": lambda table, folder: relation(table),
    "parquet": parquet,
    "dictionaries": lambda table, folder: table.set_column(7, "note", table["note"].dictionary_encode()),
    "another order": lambda table, folder: table.select(SCHEMA.names[::-1]),
}


def test_every_type_goes_in_and_comes_out(db):
    for number, (name, source) in enumerate(SOURCES.items()):
        for table in (table_of(ROWS), many(3000)):
            for key in ("id", ()):
                its = db.create_table("types", SCHEMA, key=key)
                harness.check_equal(its.write(source(table, FOLDER.name)), table.num_rows, f"rows written from {name}")
                harness.check_equal(its.count(), table.num_rows, f"rows from {name}")
                check_rows(its.scan().arrow(), table, f"rows from {name}")
                db.drop("types")
        harness.check(number < 20, "sources")


def test_a_table_is_made_from_what_it_gets(db):
    table = many(500)
    for name, source in SOURCES.items():
        its = db.create_table("made", source(table, FOLDER.name), key="id")
        info = its.describe()
        harness.check_equal((info.kind, info.keys, [each.name for each in info.key]), ("table", 0, ["id"]), f"the table from {name}")
        types = {each.name: (each.type, each.scale, each.nullable) for each in info.columns}
        wanted = {each.name: (each.type, each.scale, each.name != "id") for each in db.create_table("wanted", SCHEMA, key="id").describe().columns}
        harness.check_equal(types, wanted, f"columns from {name}")
        its.write(source(table, FOLDER.name))
        check_rows(its.scan().arrow(), table, f"rows from {name}")
        db.drop("made")
        db.drop("wanted")


def test_what_comes_out_is_equal_in_every_frame(db):
    table = table_of(ROWS + [row[:0] + (row[0] + 10_000,) + row[1:] for row in ROWS])
    its = db.create_table("frames", table, key="id")
    its.write(table)
    scan = its.scan()
    frame = scan.polars().sort("id")
    harness.check(frame.equals(pl.from_arrow(plain(table))), f"Polars: {frame}")
    check_rows(pa.Table.from_batches(list(scan)), table, "batches")
    frame = scan.pandas().sort_values("id").reset_index(drop=True)
    harness.check_equal([str(frame[name].dtype) for name in ("id", "small", "large", "big", "ratio")],
                        ["int64", "Int32", "Int64", "UInt64", "float64"], "types of pandas")
    check_rows(pa.Table.from_pandas(frame, SCHEMA, preserve_index=False), table, "pandas")
    arrays = scan.numpy()
    order = np.argsort(arrays["id"])
    harness.check_equal([str(arrays[name].dtype) for name in ("id", "small", "big", "day", "price")],
                        ["int64", "int32", "uint64", "datetime64[D]", "object"], "types of numpy")
    harness.check_equal(arrays["big"][order].tolist(), table["big"].to_pylist(), "numpy's numbers")
    harness.check_equal(arrays["price"][order].tolist(), table["price"].to_pylist(), "numpy's decimals")
    harness.check_equal(arrays["day"][order].tolist(), table["day"].to_pylist(), "numpy's dates")
    rows = its.scan(["note", "id"], limit=3).arrow()
    harness.check_equal((rows.schema.names, rows.num_rows), (["note", "id"], 3), "two columns of three rows")
    with db.snapshot() as snapshot:
        its.write(table.slice(0, 1).set_column(0, SCHEMA.field("id"), pa.array([77])))
        harness.check_equal((its.scan(snapshot=snapshot).arrow().num_rows, its.count()), (8, 9), "rows of a snapshot, and now")
    db.drop("frames")


def test_no_row_and_70_000(db):
    for rows in (0, 70_000):
        table = many(rows)
        for name in ("arrow", "pandas", "polars", "duckdb", "parquet"):
            its = db.create_table("many", SCHEMA, key="id", nullable=True)
            harness.check_equal(its.write(SOURCES[name](table, FOLDER.name)), rows, f"rows written from {name}")
            got = its.scan().arrow()
            check_rows(got, table, f"{rows} rows from {name}")
            harness.check_equal(its.scan().polars().shape, (rows, 9), "rows and columns")
            db.drop("many")


def test_narrower_types_are_taken(db):
    its = db.create_table("narrow", SCHEMA, key="id")
    frame = pa.table({"id": pa.array([1, 2], pa.uint8()), "small": pa.array([-7, None], pa.int16()), "large": pa.array([1, 2], pa.uint32()),
                      "big": pa.array([3, 4], pa.int64()), "ratio": pa.array([0.5, None], pa.float32()), "day": pa.nulls(2),
                      "price": pa.array([D("1.5"), None], pa.decimal128(38, 6)), "note": pa.array(["a", None], pa.large_string()),
                      "raw": pa.array([b"a", None], pa.large_binary())})
    harness.check_equal(its.write(frame), 2, "rows")
    check_rows(its.scan().arrow(), table_of([(1, -7, 1, 3, 0.5, None, D("1.5"), "a", b"a"), (2, None, 2, 4, None, None, None, None, None)]), "rows")
    its.write({"id": [3], "small": np.array([1], dtype=np.int32), "large": [1], "big": [1], "ratio": [1.0], "day": [datetime.date(2020, 1, 1)],
               "price": [D("1.00")], "note": ["b"], "raw": [b"b"]})
    harness.check_equal(its.count(), 3, "rows with those of a dict")
    db.drop("narrow")
    info = db.create_table("narrow", pa.schema([("a", pa.int8()), ("b", pa.uint16()), ("c", pa.uint32()), ("d", pa.float32()),
                                                ("e", pa.decimal128(38, 3)), ("f", pa.dictionary(pa.int8(), pa.large_string())),
                                                pa.field("g", pa.int64(), nullable=False), ("h", pa.large_binary())])).describe()
    harness.check_equal([each.type.value for each in info.columns], ["int32", "int32", "int64", "float64", "decimal", "string", "int64", "bytes"],
                        "types")
    harness.check_equal([each.nullable for each in info.columns], [True] * 6 + [False, True], "columns that may be null")
    db.drop("narrow")


def test_the_last_row_of_a_key_stays(db):
    rng = random.Random(SEED)
    its = db.create_table("last", pa.schema([("day", pa.date32()), ("part", pa.int32()), ("price", pa.decimal128(9, 2)), ("value", pa.int64())]),
                          key=["part", "day"], nullable=False)
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=rng.randrange(100)) for _ in range(60_000)]
    rows = list(zip(days, (rng.randrange(-50, 50) for _ in days), (D(i).scaleb(-2) for i in range(60_000)), range(60_000)))
    table = pa.table({name: pa.array(values, its_type) for name, values, its_type in
                      zip(("day", "part", "price", "value"), zip(*rows), (pa.date32(), pa.int32(), pa.decimal128(9, 2), pa.int64()))})
    harness.check_equal(its.write(table), 60_000, "rows written, those that were replaced among them")
    expected = {(part, day): value for day, part, _, value in rows}
    got = its.scan().arrow()
    harness.check_equal(dict(zip(zip(got["part"].to_pylist(), got["day"].to_pylist()), got["value"].to_pylist())), expected, "the last values")
    its.write(table.slice(0, 1))
    harness.check_equal(its.count(), len(expected), "rows")
    db.drop("last")


def test_where_keys_are_expected(db, server):
    def cut(frame, **more):
        """Where the second of two partitions begins."""
        db.create_table("bounds", frame, **more)
        (table,) = json.loads(server.eris("list", "bounds", "--output", "json").stdout)
        db.drop("bounds")
        return table["partitions"][1]["lo"]

    for key, middle in (("id", "500"), ("small", "495"), ("price", "0.0500"), ("day", "1961-05-15")):
        frame = many(1000)
        frame = frame.filter(frame[key].is_valid())
        for source in ("arrow", "polars", "parquet"):
            harness.check_equal(cut(SOURCES[source](frame, FOLDER.name), key=key), middle, f"even pieces of {key} from {source}")
    harness.check_equal(cut(many(9), key="id", expect=(3000, 5000)), "4000", "even pieces of what was said")
    harness.check_equal(cut(SCHEMA, key="price", expect=(D("0.5"), 2)), "1.2500", "even pieces of decimals")
    harness.check_equal(cut(SCHEMA, key=["small", "id"], split=[123]), "123", "the cut that was said")
    db.create_table("base", many(1000), key="id")
    harness.check_equal(list(db.create_table("beside", many(10), key="id", beside="base").describe().beside), ["base"], "what it lies beside")
    db.drop("base")
    db.drop("beside")
    refused(eris.InvalidArgument, lambda: db.create_table("heap", many(1), expect=(0, 1)), "heap")
    for bad in (0.5, D("0.00001"), "1", True, D("nan")):
        refused(eris.InvalidArgument, lambda: db.create_table("x", SCHEMA, key="price", expect=(bad, 7)), "decimal.Decimal")


def test_timestamps(db):
    at = [datetime.datetime(2024, 2, 29, 3, 4, 5, 250_000), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), None, datetime.datetime(2024, 3, 1)]
    micros = pa.table({"id": [1, 2, 3, 4], "at": pa.array(at, pa.timestamp("us"))})
    its = db.create_table("stamps", micros, key="id")
    harness.check_equal([column.type.value for column in its.describe().columns], ["int64", "timestamp"], "types")
    its.write(micros)
    zone = micros.set_column(1, "at", micros["at"].cast(pa.timestamp("us", "Europe/Vienna")))  # the same moments, shown otherwise
    its.write(zone)
    for unit in ("s", "ms", "ns"):
        its.write(pa.table({"id": [5], "at": pa.array([at[3]], pa.timestamp(unit))}))
        refused(eris.InvalidArgument, lambda: its.write(pa.table({"id": [5], "at": pa.array([{"s": 2**62, "ms": 2**62, "ns": 1}[unit]], pa.timestamp(unit))})),
                "'at'", f"timestamp[{unit}]", "does not fit")
    refused(eris.InvalidArgument, lambda: its.write(pa.table({"id": [5], "at": pa.array([at[3].date()])})), "'at'", "cast it to timestamp('us')")
    rows = its.scan().arrow().sort_by("id")
    harness.check_equal(str(rows.schema.field("at").type), "timestamp[us]", "the type that comes out")
    harness.check_equal(rows["at"].to_pylist(), [*at, at[3]], "timestamps")
    for got in (its.scan().polars().sort("id")["at"].to_list(),
                [None if pd.isna(each) else each.to_pydatetime() for each in its.scan().pandas().sort_values("id")["at"]]):
        harness.check_equal(got, [*at, at[3]], "of a frame")
    arrays = its.scan().numpy()
    harness.check_equal((str(arrays["at"].dtype), int(np.isnat(arrays["at"]).sum())), ("datetime64[us]", 1), "of numpy")
    harness.check_equal(its.count("at >= '2024-02-29 03:04:05.25'"), 3, "rows of a filter")
    if dataset := getattr(its, "dataset", None):  # asyncio's has none
        found = pl.scan_pyarrow_dataset(dataset()).filter(pl.col("at") >= at[0]).collect()
        harness.check_equal(sorted(found["id"].to_list()), [1, 4, 5], "of a dataset")
    keyed = db.create_table("keyed", micros.filter(pa.array([True, True, False, True])), key="at")
    harness.check_equal(keyed.describe().key[0].type.value, "timestamp", "the key")
    db.drop("stamps")
    db.drop("keyed")


def test_types_that_no_table_has_are_refused(db):
    for its, cast in ((pa.bool_(), "int32"), (pa.date64(), "date32"), (pa.time32("s"), "int64"),
                      (pa.duration("s"), "int64"), (pa.null(), "values"), (pa.list_(pa.int64()), "string"), (pa.struct([("x", pa.int32())]), "parts"),
                      (pa.decimal128(38, 19), "decimal128(18, 18)"), (pa.decimal128(5, -2), "decimal128(18, 0)")):
        refused(eris.InvalidArgument, lambda: db.create_table("x", pa.schema([("id", pa.int64()), ("odd", its)])), "'odd'", str(its), cast)
    refused(eris.InvalidArgument, lambda: db.create_table("x", SCHEMA, key="nothing"), "'nothing'")
    refused(eris.InvalidArgument, lambda: db.create_table("x", SCHEMA, key="id", nullable=["id"]), "'id'")
    refused(eris.InvalidArgument, lambda: db.create_table("x", SCHEMA, key="note"), "note")
    for bad in (None, 1, [1], pl.from_arrow(many(3)).lazy()):
        refused(eris.InvalidArgument, lambda: db.create_table("x", bad), type(bad).__name__)
    refused(FileNotFoundError, lambda: db.create_table("x", "/nothing.parquet"))
    harness.check_equal(list(db.list()), [], "objects")


def test_values_that_do_not_fit_are_refused(db):
    its = db.create_table("strict", SCHEMA, key="id", nullable=["note"])
    good = many(20).slice(8, 1).to_pydict()
    good = pa.table({name: pa.array(good[name] if good[name][0] is not None else [1], SCHEMA.field(name).type) for name in SCHEMA.names})

    def bad(name, array, *said):
        refused(eris.InvalidArgument, lambda: its.write(good.set_column(SCHEMA.names.index(name), name, array)), f"'{name}'", *said)

    its.write(good)
    bad("small", pa.array([1], pa.int64()), "int32", "int64", "cast it to int32")
    bad("large", pa.array([1], pa.uint64()), "cast it to int64")
    bad("large", pa.array([1.0]), "double", "cast it to int64")
    bad("big", pa.array([-1]), "uint64", "-1")
    bad("ratio", pa.array([1]), "cast it to double")
    bad("day", pa.array([datetime.datetime(2020, 1, 1)]), "timestamp", "cast it to date32")
    bad("price", pa.array([1.5]), "cast it to decimal128(18, 4)")
    bad("price", pa.array([D("0.00001")], pa.decimal128(9, 5)), "decimal(4)", "decimal128(9, 5)", "loss")
    bad("price", pa.array([D(10**14)], pa.decimal128(38, 0)), "fit")
    bad("price", pa.array([None], pa.decimal64(18, 4)), "not nullable", "1 nulls", "row 0")
    bad("day", pa.nulls(1), "date", "null")
    bad("note", pa.array([1]), "cast it to string")
    bad("note", pa.array([b"a"]), "string", "binary", "cast it to string")
    bad("raw", pa.array(["a"]), "bytes", "cast it to binary")
    bad("id", pa.array([None], pa.int64()), "not nullable")
    refused(eris.InvalidArgument, lambda: its.write(good.drop_columns(["day"])), "missing: ['day']")
    refused(eris.InvalidArgument, lambda: its.write(good.append_column("more", pa.array([1]))), "'more'")
    refused(eris.InvalidArgument, lambda: its.write(SCHEMA), "rows")
    refused(eris.InvalidArgument, lambda: its.write(pl.from_arrow(good).lazy()), "collect")
    refused(eris.InvalidArgument, lambda: its.write(pd.DataFrame({"id": [1, "a"]})), "columns")
    refused(eris.NotFound, lambda: db.table("nothing").write(good), "nothing")
    harness.check_equal(its.count(), 1, "rows")
    late = pa.Table.from_batches([*good.to_batches(), *good.set_column(1, "small", pa.array([None], pa.int32())).to_batches()])
    error = refused(eris.InvalidArgument, lambda: its.write(late), "'small'")
    harness.check_equal(error.rows_written, 0, "rows written before")

    def breaks():
        yield from many(300_000).to_batches()
        raise KeyError("in the middle")
    loose = db.create_table("loose", SCHEMA)
    error = refused(Exception, lambda: loose.write(pa.RecordBatchReader.from_batches(SCHEMA, breaks())), "in the middle")
    harness.check_equal(error.__notes__, ["262144 rows were written before"], "what else it says")
    harness.check_equal(loose.count(), 262_144, "rows written before a frame broke")
    db.drop("loose")
    db.drop("strict")


def test_a_frame_may_come_from_the_same_connection(server):
    with eris.connect(server.address) as db:
        source = db.create_table("source", many(5000), key="id")
        source.write(many(5000))
        target = db.create_table("target", source.scan())
        ds = source.dataset()
        harness.check_equal(target.write(source.scan()), 5000, "rows of a scan")
        harness.check_equal(target.write(duckdb.sql("select * from ds")), 5000, "rows of DuckDB, which reads a dataset")
        harness.check_equal(target.count(), 10_000, "rows")
        db.drop("source")
        db.drop("target")


def test_rows_written_are_counted_to_the_last(programs):
    for connect, key in zip(CONNECTS.values(), ("id", ())):
        with harness.Server(programs, "--aeus", "2", "--memory-limit", "64MiB") as server, connect(server.address) as db:
            its = db.create_table("full", SCHEMA, key=key)
            table, written = many(70_000), 0
            for turn in range(60):
                part = table.set_column(0, SCHEMA.field("id"), pa.array(range(turn * 70_000, (turn + 1) * 70_000)))
                try:
                    written += its.write(part)
                except eris.ResourceExhausted as error:
                    written += error.rows_written
                    harness.check("64 MiB" in str(error), f"why: {error}")
                    break
            harness.check_equal(its.count(), written, f"rows of a table with the key {key!r}")
            harness.check(turn > 0, "some fit")


if __name__ == "__main__":
    run_suite(globals())
