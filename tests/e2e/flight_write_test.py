"""Arrow Flight, written to: pyarrow, pandas, Polars and DuckDB, as they come from PyPI, write objects of a server and look rows up
(flight_write_client.py), all types with nulls and extremes, 0 to 1,100,003 rows; messages that are none are refused.
"""
import os

import harness

PACKAGES = ["pyarrow==26.0.1", "pandas==3.1.1", "polars==2.1.0", "duckdb==2.0.0", "grpcio==1.85.1"]
HERE = os.path.dirname(os.path.abspath(__file__))
TYPED = "id:int64,small:int32?,large:int64?,big:uint64?,ratio:float64?,day:date?,price:decimal(4)?,note:string?,data:bytes?"


def create(server):
    for name in ("typed", "many", "frames", "borders", "broken"):
        server.eris("create", name, "--schema", TYPED, "--key", "id")
    for name in ("log", "borders_heap"):
        server.eris("create", name, "--schema", TYPED)
    server.eris("create", "ids", "--schema", "id:int64")
    server.eris("create", "orders", "--expect", "0:140000")
    server.eris("create", "counts", "--kind", "hash")
    server.eris("create", "docs", "--value-type", "string", "--expect", "0:1000")
    server.eris("create", "blobs", "--value-type", "bytes", "--expect", "0:4")
    server.eris("create", "floats", "--key-type", "float64")
    server.eris("create", "ints", "--key-type", "int64")
    server.eris("create", "days", "--kind", "hash", "--key-type", "date")
    server.eris("create", "visits", "--schema", "day:date,number:int64,value:uint64", "--key", "day,number")


def main():
    build = harness.parse_args().build
    python = harness.make_python(build, "flight_write_client", PACKAGES)
    with harness.Server(harness.Programs(build), "--aeus", "2", "--receive-message-bytes-max", str(40 << 20)) as server:
        create(server)
        print(server.run(python, "-B", os.path.join(HERE, "flight_write_client.py"), server.address).stdout)
        server.wait_until_quiet()


if __name__ == "__main__":
    main()
