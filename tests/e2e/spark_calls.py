"""Runs in the environment of spark_test.py: Spark reads and writes objects of one server, and of a map of two, and runs the guide's program."""
import contextlib
import datetime
import decimal
import io
import math
import os
import re
import sys
import time

import eris
import eris.spark
import harness
import numpy as np
import pyarrow as pa
from harness import refused
from pyspark.sql import SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, LessThan, Not, StringStartsWith
from python_client_one_share import divided
from python_client_servers import two_servers
from python_client_tables import many, table_of
from python_client_test import guide_programs, load_lineitem

D = decimal.Decimal
# Each gives the rows that Spark finds by itself, also a NaN.
CONDITIONS = ("id < 10", "big > 18446744073709551000", "big = 18446744073709551615 or id = 3", "ratio > 370", "ratio < 0.5", "ratio <> 1.0", "not ratio < 3",
              "small in (1, 2, 700) and day is not null", "small not in (1, 2, 700)", "price between 0.01 and 0.02", "day = date'1960-02-03'",
              "note is null and id > 2900", "large <=> null", "cast(note as string) like 'text 29%'", "small % 7 = 3")


def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {"spark.ui.enabled": "false", "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",  # it loses NaN
               "spark.driver.bindAddress": "127.0.0.1",
               "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2"}
    builder = SparkSession.builder.master("local[2,3]")  # a task is tried three times
    for name, value in options.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    eris.spark.register(made)
    return made


def frame_of(spark, address, name, **options):
    return spark.read.format("eris").options(address=address, object=name, **options).load()


def write(frame, address, name, mode="append"):
    frame.write.format("eris").options(address=address, object=name).mode(mode).save()


def plain(table):
    """Rows as Spark gives them."""
    return [tuple(bytes(its) if isinstance(its, bytearray) else its.encode() if isinstance(its, str) else its for its in row)
            for row in zip(*(column.to_pylist() for column in table.columns))]


def check_reading(spark, address):
    given = pa.concat_tables([many(3000), table_of([(20_000, 1, 1, 1, math.nan, None, D("1"), "it's", b"it")])])
    with eris.connect(address) as db:
        db.create_table("rows", given, key="id").write(given)
        frame = frame_of(spark, address, "rows")
        harness.check_equal([each.dataType.simpleString() for each in frame.schema][:7],
                            ["bigint", "int", "bigint", "decimal(20,0)", "double", "date", "decimal(18,4)"], "types")
        rows = sorted(tuple(bytes(its) if isinstance(its, bytearray) else its.encode() if isinstance(its, str) else its for its in row)
                      for row in frame.collect())
        expected = given.set_column(3, "big", given["big"].cast(pa.decimal128(20, 0))).sort_by("id")
        harness.check_equal(str(rows), str(plain(expected)), "rows")
        harness.check_equal(frame.rdd.getNumPartitions(), 2 if ":" in address else 3, "partitions")
        local = frame_of(spark, address, "rows").cache()  # whose filters are not pushed
        harness.check_equal(local.count(), 3001, "rows in memory")
        for condition in CONDITIONS:
            got = frame_of(spark, address, "rows", columns="id,big,small,ratio,day,price,note,large").where(condition).count()
            harness.check_equal(got, local.where(condition).count(), f"rows of {condition}")
        local.unpersist()
        some = frame_of(spark, address, "rows", columns="small, id", filter="small < 5 and day is not null").collect()
        expected = db.table("rows").scan(["small", "id"], filter="small < 5 and day is not null").arrow()
        harness.check_equal(sorted(map(tuple, some)), sorted(zip(*(each.to_pylist() for each in expected.columns))), "rows of a filter")
        shares = frame_of(spark, address, "rows", shares=3)
        harness.check_equal(len(shares.collect()), 3001, "rows of one moment")
        db.table("rows").write(table_of([(30_000,) + (None,) * 8]))
        time.sleep(1.5)
        harness.check_equal((frame.count(), frame.count()), (3002, 3002), "the same frame again")
        refused(Exception, shares.collect, "GetFlightInfo")
        shares = frame_of(spark, address, "rows", shares=3, columns="id", filter="id >= 0")
        harness.check_equal(shares.rdd.getNumPartitions() >= 3, True, "shares")
        harness.check_equal(frame_of(spark, address, "rows", shares=3, columns="id", filter="id >= 0").distinct().count(), 3002, "rows of shares")
        harness.check_equal(frame_of(spark, address, "rows", shares=3, filter="id < -5").count(), 0, "rows of no share")
        db.drop("rows")


def check_index(spark, address):
    with eris.connect(address) as db:
        db.create_index("u", expect=(0, 1000)).put(np.arange(1000), np.full(1000, 2**64 - 1, dtype=np.uint64))
        frame = frame_of(spark, address, "u")
        harness.check_equal((frame.count(), frame.where("key = 7").collect()[0][1], frame_of(spark, address, "u", columns="key").count()),
                            (1000, 2**64 - 1, 1000), "an index")
        harness.check_equal(frame_of(spark, address, "u", shares=1).where("key >= 990").count(), 10, "shares of an index")
        write(frame.where("key < 10").selectExpr("key", "cast(5 as int) as value"), address, "u")
        harness.check_equal(db.index("u").get([9, 10])[0].tolist(), [5, 2**64 - 1], "values written")
        days = db.create_index("two", key=("uint64", "date"))
        for _ in range(2):
            write(spark.sql("select id as key, date'2024-02-29' as second_key, id * 2 as value from range(1000)"), address, "two")
        harness.check_equal((days.count(), days.get((700, datetime.date(2024, 2, 29)))), (1000, 1400), "a key of two parts")
        refused(Exception, lambda: write(spark.sql("select 1 as key, cast(null as bigint) as value"), address, "u"), "nulls")
        refused(Exception, lambda: write(spark.sql("select -1 as key, 1 as value"), address, "u"), "-1")
        refused(Exception, lambda: write(spark.sql("select 1 as key"), address, "u"), "columns")
        db.drop("u")
        db.drop("two")


def check_writing(spark, address):
    given = many(3000)
    with eris.connect(address) as db:
        its = db.create_table("rows", given, key="id")
        prices = pa.table({"price": pa.array([D(n).scaleb(-2) for n in range(20)], pa.decimal128(18, 4)), "n": range(20)})
        source = db.create_table("prices", prices, key="price")
        its.write(given)
        before = its.scan().arrow().sort_by("id")
        for _ in range(2):
            write(frame_of(spark, address, "rows").repartition(3), address, "rows")
        harness.check(its.scan().arrow().sort_by("id").equals(before), "rows written twice are the same")
        write(spark.sql("select cast(id as decimal(18, 4)) / 100 as price, id as n from range(20)").selectExpr("cast(price as decimal(18,4)) price", "n"),
              address, "prices")
        harness.check_equal((source.count(), source.count("price = 0.07 and n = 7")), (20, 1), "decimals")
        refused(Exception, lambda: write(spark.range(1), address, "rows"), "columns")
        refused(Exception, lambda: write(frame_of(spark, address, "rows"), address, "rows", "overwrite"), "append")
        db.drop("rows")
        db.drop("prices")
        db.create_table("log", {"id": [1]})
        refused(Exception, lambda: write(spark.range(1), address, "log"), "heap table")
        refused(Exception, lambda: frame_of(spark, address, "rows"), "rows")
        db.drop("log")


def check_repeats(spark, address):
    """Tasks that fail after they have written are run again."""
    with eris.connect(address) as db:
        its = db.create_index("u")
        its.put(0, 0)

        def failing(batches):
            with eris.connect(address) as inner:
                tries = inner.index("h_tries").add(1, 1)
            for batch in batches:
                yield batch
            if tries == 1:
                raise ValueError("a task that fails")

        tries = db.create_index("h_tries")
        frame = spark.range(0, 5000, numPartitions=1).selectExpr("id as key", "id as value").mapInArrow(failing, "key long, value long")
        write(frame, address, "u")
        harness.check_equal((tries.get(1), its.count(), its.aggregate().sum), (2, 5000, sum(range(5000))), "tries, rows and sum")
        db.drop("u")
        db.drop("h_tries")


def check_conditions(address):
    """What is sent of the filters of Spark, which applies all of them again."""
    with eris.connect(address) as db:
        db.create_table("rows", many(10), key="id")
        info = db.describe("rows")
        reader = eris.spark.Reader({"filter": "id > 1"}, info, None)
        filters = [EqualTo(("big",), D(5)), EqualTo(("big",), D("5.5")), GreaterThan(("ratio",), 1.5), LessThan(("ratio",), 1.5), In(("small",), (1, 2)),
                   Not(EqualTo(("ratio",), 1.5)), Not(In(("small",), (1, None))), Not(EqualTo(("price",), D("0.5"))), IsNotNull(("day",)),
                   StringStartsWith(("note",), "x"), EqualTo(("a", "b"), 1), LessThan(("day",), datetime.date(2024, 2, 29)),
                   EqualTo(("note",), "it's")]
        harness.check_equal(list(reader.pushFilters(filters)), filters, "filters that Spark applies")
        harness.check_equal(reader._filter(), "(id > 1) and \"big\" = 5 and \"ratio\" < 1.50000000000000000e+00 and \"small\" in (1, 2) and "
                            "not (\"price\" = 0.5) and \"day\" is not null and \"day\" < 2024-02-29 and \"note\" = 'it''s'", "what is sent")
        db.drop("rows")


def check_guide(spark, programs):
    """The guide's program, in this session: it shows lineitem's rows by their tax, and writes 1000 of an index."""
    (program,) = guide_programs("tools.md", "eris.spark")
    with harness.Server(programs, "--aeus", "2") as server:
        load_lineitem(server)
        server.eris("create", "orders")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(program.replace("127.0.0.1:7411", server.address), {})
        with eris.connect(server.address) as db:
            taxes = set(db.table("lineitem").scan(["l_tax"], filter="l_quantity < 5").arrow()["l_tax"].to_pylist())
            harness.check_equal(sorted(re.findall(r"^\| *(0\.\d\d)\| *\d+\|$", said.getvalue(), re.M)), sorted(map(str, taxes)), f"taxes in\n{said.getvalue()}")
            harness.check_equal((db.index("orders").count(), db.index("orders").get(999)), (1000, 2997), "rows written")


def check_one_share(spark, programs):
    with divided(programs) as share:
        address = share.server.address
        share.check("Spark", lambda: frame_of(spark, address, "rows").where(share.filter).count())
        share.check("Spark, shares", lambda: frame_of(spark, address, "rows", shares=1).where(share.filter).count())
        share.check("Spark, the option filter", lambda: frame_of(spark, address, "rows", filter=share.filter).count())


def main():
    programs = harness.Programs(harness.parse_args().build)
    spark = session()
    check_guide(spark, programs)
    check_one_share(spark, programs)
    with two_servers(programs) as (first, second, path):
        check_conditions(first.address)
        check_repeats(spark, first.address)
        for address in (first.address, path):
            for check in (check_reading, check_index, check_writing):
                start = time.monotonic()
                check(spark, address)
                print(f"{check.__name__}, {'a map' if address == path else 'a server'}: ok ({time.monotonic() - start:.1f} s)", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
