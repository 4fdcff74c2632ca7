"""Runs in the environment of python_client_test.py: objects as dataframes of Dask, of one server and of a map of two."""
import contextlib
import datetime
import decimal
import gc

import dask
import dask.dataframe as dd
import eris
import eris.dask
import harness
import numpy as np
import pandas as pd
from harness import refused
from python_client_calls import Complaints
from python_client_servers import two_servers
from python_client_tables import many

D = decimal.Decimal


def read(address, name, *columns, **more):
    return eris.dask.read(address, name, *columns, **more)


@contextlib.contextmanager
def asked_for():
    """The columns that tasks ask for in this process."""
    asked, its = [], eris.Database.flight_info

    def flight_info(self, name, columns=None, **more):
        asked.append(None if columns is None else tuple(columns))
        return its(self, name, columns, **more)

    eris.Database.flight_info = flight_info
    try:
        yield asked
    finally:
        eris.Database.flight_info = its


def check_table(address, name="rows"):
    given = many(3000)
    with eris.connect(address) as db:
        its = db.create_table(name, given, key="id")
        its.write(given)
        frame = read(address, name)
        harness.check_equal((list(frame.columns), len(frame)), (given.schema.names, 3000), "columns and rows")
        got = frame.compute().sort_values("id").reset_index(drop=True)
        harness.check_equal([str(got[each].dtype) for each in ("id", "small", "big", "price", "day")],
                            ["int64", "int32[pyarrow]", "uint64[pyarrow]", "decimal128(18, 4)[pyarrow]", "date32[day][pyarrow]"], "types")
        harness.check_equal([str(each) for each in frame.dtypes], [str(each) for each in got.dtypes], "types that Dask knows before")
        for column in given.schema.names:
            values = [None if value is pd.NA or value is None or value != value else value for value in got[column].tolist()]
            expected = [its.encode() if isinstance(its, str) and isinstance(values[0] or values[1], bytes) else its
                        for its in given[column].to_pylist()]
            harness.check_equal(values, expected, f"values of {column}")
        harness.check_equal(frame.small.sum().compute(), sum(each for each in given["small"].to_pylist() if each is not None), "a sum")
        harness.check_equal(frame.npartitions, 2 if address.endswith(".toml") is False else 3, "partitions: AEUs that have keys")
        with asked_for() as asked:
            frame[frame.small > 5].price.count().compute()
        harness.check_equal(set(asked), {("small", "price")}, "columns that are asked for")
        wanted = read(address, name, ["id", "small"], filter="small < 40 and day is not null")
        expected = its.scan(["id"], filter="small < 40 and day is not null").arrow()["id"].to_pylist()
        harness.check_equal(sorted(wanted.id.compute()), sorted(expected), "rows of a filter")
        its.write(given.slice(0, 1).set_column(0, given.schema.field(0), [[2**40]]))  # beyond what has been divided
        harness.check_equal((len(frame), frame.id.max().compute()), (3001, 2**40), "rows of a second computation")
        cut = read(address, name, cuts=[100, 5, 2000])
        harness.check_equal(sorted(cut.map_partitions(lambda part: part.id.min()).compute().tolist())[:3], [0, 5, 100], "where partitions begin")
        refused(eris.InvalidArgument, lambda: read(address, name, ["nothing"]), "nothing")
        refused(eris.InvalidArgument, lambda: read(address, name, filter="nothing = 1"), "nothing")
        db.drop(name)
        refused(eris.NotFound, lambda: read(address, name))


def check_index(address, name, cut):
    with eris.connect(address) as db:
        its = db.create_index(name, expect=(0, 1000))
        harness.check_equal(read(address, name).known_divisions, False, "divisions of an index without rows")
        harness.check_equal(len(read(address, name)), 0, "its rows")
        its.put(np.arange(1000), np.arange(1000) * 3)
        frame = read(address, name)
        harness.check((frame.divisions[0], frame.divisions[-1]) == (0, 999) and cut in frame.divisions, f"divisions: {frame.divisions}")
        got = frame.compute()
        harness.check_equal((got.index.tolist(), got["value"].tolist()), (list(range(1000)), [number * 3 for number in range(1000)]), "rows in order")
        some = frame.loc[490:509].compute()
        harness.check_equal(some.index.tolist(), list(range(490, 510)), "a part by its keys")
        harness.check_equal(frame.loc[3:5].npartitions, 1, "partitions that have some keys")
        other = dd.from_pandas(pd.DataFrame({"more": range(10)}, index=pd.Index(np.arange(495, 505, dtype=np.uint64), name="key")), npartitions=1)
        harness.check_equal(len(frame.join(other, how="inner").compute()), 10, "a join by divisions")
        its.erase(np.arange(cut - 10, 1000))
        frame = read(address, name, cuts=[10, 20, cut])
        harness.check_equal(len(frame), cut - 10, "rows where a partition has none")
        harness.check_equal(frame.loc[15:25].index.compute().tolist(), list(range(15, 26)), "a part by its keys")
        db.drop(name)


def check_others(address, names):
    """Keys of two parts, dates, byte strings and doubles; a heap table; a hash."""
    two, day, f, h = names
    with eris.connect(address) as db:
        its = db.create_index(two, key=("uint64", "date"))
        its.put((np.arange(800), np.full(800, np.datetime64("2024-02-29"))), 5)
        frame = read(address, two)
        harness.check_equal((list(frame.columns), len(frame), frame.value.sum().compute()), (["second_key", "value"], 800, 4000), "a key of two parts")
        harness.check_equal(read(address, two, ["second_key"]).compute()["second_key"].tolist(), [datetime.date(2024, 2, 29)] * 800, "its second part")
        its = db.create_index(day, key="date", value="bytes")
        days = np.arange(800).astype("datetime64[D]")
        its.put(days, [b"x\0"] * 800)
        frame = read(address, day)
        got = frame.compute()
        harness.check_equal((got.index.tolist(), set(got["value"])), (days.tolist(), {b"x\0"}), "dates and bytes")
        its = db.create_index(f, key="float64")
        its.put(np.arange(100) / 2, 1)
        harness.check_equal(read(address, f, cuts=[1.25, 30]).loc[1.0:2.0].compute().index.tolist(), [1.0, 1.5, 2.0], "doubles")
        db.create_hash(h)
        refused(eris.FailedPrecondition, lambda: read(address, h), "hash")
        for name in names:
            db.drop(name)


def check_processes(address):
    """Readers are sent to other processes."""
    with eris.connect(address) as db:
        db.create_index("u").put(np.arange(1000), 2)
        with dask.config.set(scheduler="processes", num_workers=2):
            harness.check_equal(read(address, "u").value.sum().compute(), 2000, "a sum by processes")
        db.drop("u")


def check_map_table(path):
    """The cut of the map is one of the divided frame, and rows of a heap table are those of all servers."""
    with eris.connect(path) as db:
        rows = {"n": list(range(10))}
        db.create_table("log", rows)
        for piece in db.pieces("log"):
            with eris.connect(piece.address) as one:
                one.table("log").write(rows)
        frame = read(path, "log")
        harness.check_equal((frame.npartitions, frame.n.sum().compute()), (2, 90), "a heap table of two servers")
        refused(eris.InvalidArgument, lambda: read(path, "log", cuts=[1]), "heap table")
        db.drop("log")


def check_snapshots(server):
    """What is divided holds no snapshot: more than 64 would take this one away."""
    with eris.connect(server.address) as db:
        db.create_table("rows", many(100), key="id").write(many(100))
        info = db.flight_info("rows", shares=2)
        for _ in range(70):
            read(server.address, "rows")
        harness.check_equal(sum(batch.num_rows for each in info.endpoints for batch in db.flight_read(each.ticket)), 100, "rows of a snapshot")
        info = db.flight_info("rows", shares=2)
        db.flight_cancel(info)
        refused(eris.Error, lambda: list(db.flight_read(info.endpoints[0].ticket)), "GetFlightInfo")
        db.drop("rows")


def main():
    programs = harness.Programs(harness.parse_args().build)
    complaints = Complaints()
    with two_servers(programs) as (first, second, path):
        check_snapshots(first)
        for address in (first.address, path):
            check_table(address)
            check_index(address, "u", 500)
            check_others(address, ("two", "d", "f", "h"))
            print(f"{'a map' if address == path else 'a server'}: ok", flush=True)
        check_map_table(path)
        check_processes(path)
    gc.collect()
    harness.check_equal(complaints.said, [], "what was logged")


if __name__ == "__main__":
    main()
