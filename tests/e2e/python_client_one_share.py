"""Runs in the environment of python_client_test.py: of a table divided among 16 AEUs, a filter that is the range of one of them is one endpoint,
and no other AEU reads a row, whichever program asks. Spark does the same in spark_calls.py.
"""
import contextlib
import json

import eris
import harness
import numpy as np
import pyarrow as pa

AEUS = 16
ROWS = 1 << 20  # as many for each AEU


@contextlib.contextmanager
def divided(programs):
    """A server with the table `rows`; what a program reads must come from one AEU."""
    with harness.Server(programs, "--aeus", str(AEUS), "--balancer-enabled", "false") as server, eris.connect(server.address) as db:
        keys = np.arange(ROWS, dtype=np.int64)
        table = db.create_table("rows", pa.schema([("id", pa.int64()), ("value", pa.int64())]), key="id", nullable=False, expect=(0, ROWS))
        table.write(pa.table({"id": np.random.default_rng(1).permutation(keys), "value": keys}))
        yield OneShare(server, db)
        db.drop("rows")


class OneShare:
    def __init__(self, server, db):
        self.server = server
        its = [json.loads(each.app_metadata) for each in db.flight_info("rows", shares=1).endpoints]
        harness.check_equal(sorted(each["aeu"] for each in its), list(range(AEUS)), "AEUs with a share")
        one = next(each for each in its if each["aeu"] == 5)
        self.lo, self.hi = one["range"]["lo"], one["range"]["hi"]
        harness.check_equal(self.hi - self.lo, ROWS // AEUS, "keys of an AEU")
        self.filter = f"id >= {self.lo} and id < {self.hi}"
        self.check("no filter", lambda: db.table("rows").count(), ROWS, range(AEUS))  # the check would see them

    def scanned(self):
        return {aeu["id"]: int(aeu["rows_scanned"]) for aeu in self.server.stats()["aeus"]}

    def check(self, what, count, rows=ROWS // AEUS, aeus=(5,)):
        """`count` tells how many rows a program has read. Each AEU reads all of its rows or none."""
        before = self.scanned()
        harness.check_equal(int(count()), rows, f"rows, {what}")
        passes = {aeu: rows_scanned - before[aeu] for aeu, rows_scanned in self.scanned().items() if rows_scanned != before[aeu]}
        harness.check_equal(sorted(passes), list(aeus), f"AEUs that read rows, {what}")
        harness.check(not any(number % (ROWS // AEUS) for number in passes.values()), f"{what}: {passes} rows are no whole passes")
        print(f"{what}: rows that AEUs have read: {passes}", flush=True)


def check_pyarrow(share):
    import pyarrow.flight as flight
    with flight.connect(f"grpc://{share.server.address}") as client:
        for shares, endpoints in ((1, 1), (AEUS, AEUS), (None, 1)):  # more than one divide the AEU's rows
            command = {"object": "rows", "filter": share.filter} | ({"shares": shares} if shares else {})
            info = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps(command)))
            harness.check_equal(len(info.endpoints), endpoints, f"endpoints, shares {shares}")
            if shares:
                harness.check_equal({json.loads(each.app_metadata)["aeu"] for each in info.endpoints}, {5}, f"AEUs, shares {shares}")
            share.check(f"pyarrow, shares {shares}", lambda: sum(client.do_get(each.ticket).read_all().num_rows for each in info.endpoints))


def check_frames(share, db):
    import duckdb
    import polars as pl
    ds = db.table("rows").dataset()
    share.check("DuckDB", lambda ds=ds: duckdb.sql(f"select count(value) from ds where {share.filter}").fetchall()[0][0])
    lazy = pl.scan_pyarrow_dataset(ds)
    share.check("Polars", lambda: lazy.filter(pl.col("id") >= share.lo, pl.col("id") < share.hi).select("value").collect().height)
    share.check("Polars, a frame", lambda: db.table("rows").scan(filter=share.filter).polars().height)


def check_dask(share):
    import eris.dask
    share.check("Dask", lambda: len(eris.dask.read(share.server.address, "rows", filter=share.filter)))


def main():
    with divided(harness.Programs(harness.parse_args().build)) as share:
        check_pyarrow(share)
        with eris.connect(share.server.address) as db:
            check_frames(share, db)
        check_dask(share)


if __name__ == "__main__":
    main()
