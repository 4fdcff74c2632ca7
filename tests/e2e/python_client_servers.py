"""Runs in the environment of python_client_test.py: a map of two servers is one database. Its calls do what a dict does, as those of one server,
each key is at the server that has it, and what would need both servers at once is refused.
"""
import contextlib
import datetime
import decimal
import gc
import os
import random
import tempfile

import duckdb
import eris
import harness
import pyarrow as pa
from harness import refused
from python_client_calls import CONNECTS, SEED, Complaints, Model
from python_client_tables import SCHEMA, check_rows, many, table_of

MAP = """
[objects]
{objects}
log = [{{address = "{a}"}}, {{address = "{b}"}}]
single = [{{address = "{b}"}}]
"""
# Where each is cut, in TOML and in Python. Keys of the model are random numbers below 5,000 and what KEYS makes of them.
CUTS = {"u": ("500", 500), "i": ("-3", -3), "f": ("20.5", 20.5), "d": ("1971-03-04", datetime.date(1971, 3, 4)), "two": ("400", 400),
        "texts": ("500", 500), "h": ("500", 500), "rows": ("1500", 1500), "prices": ('"0.0700"', decimal.Decimal("0.07"))}


@contextlib.contextmanager
def two_servers(programs):
    """Both servers, and a map."""
    with harness.Server(programs, "--aeus", "2") as first, harness.Server(programs, "--aeus", "1") as second, tempfile.TemporaryDirectory() as folder:
        objects = "\n".join(f'{name} = [{{address = "{first.address}", hi = {cut}}}, {{address = "{second.address}", lo = {cut}}}]'
                            for name, (cut, _) in CUTS.items())
        path = os.path.join(folder, "map.toml")
        with open(path, "w") as file:
            file.write(MAP.format(objects=objects, a=first.address, b=second.address))
        yield first, second, path
        for server in (first, second):
            server.wait_until_quiet()


def check_places(name, servers):
    """Each server has keys on its side alone, and has some."""
    cut = CUTS[name][1]
    for server, below in zip(servers, (True, False)):
        with eris.connect(server.address) as db:
            info = db.describe(name)
            if info.kind == "index":
                keys = [each for part, _ in db.index(name).scan() for each in (part[0] if isinstance(part, tuple) else part).tolist()]
            else:
                keys = db.table(name).scan([info.key[0].name]).arrow().column(0).to_pylist()
            harness.check(keys and all((key < cut) == below for key in keys), f"keys of {name} at a server: {keys[:5]}, cut at {cut}")


def test_indexes_do_what_a_dict_does(db, servers):
    rng = random.Random(SEED)
    for name, types in (("u", ("uint64",)), ("i", ("int64",)), ("f", ("float64",)), ("d", ("date",)), ("two", ("uint64", "date")),
                        ("texts", ("uint64",))):
        value = "string" if name == "texts" else "uint64"
        its = db.create_index(name, key=types if len(types) > 1 else types[0], value=value)
        model = Model(its, types, rng, value)
        for _ in range(20):
            model.step(rng.choice((1, 2, 9, 300)), 1000)
        model.put(*(keys := model.keys(3000, 5000), model.given(keys)))
        model.step(3000, 5000)
        model.put(*(keys := model.keys(40_000, 5000), model.given(keys)))
        model.check_scans()
        for key in model.keys(20, 5000):  # one by one
            harness.check_equal(its.get(key), model.rows.get(key), "a value")
        check_places(name, servers)
        harness.check_equal(db.describe(name).keys, len(model.rows), "keys of both")
        db.drop(name)
    model = Model(db.create_hash("h"), ("uint64",), rng)
    for _ in range(20):
        model.step(rng.choice((1, 5, 300)), 1000)
    db.drop("h")


def test_ranges_over_the_cut(db, servers):
    its = db.create_index("u")
    its.put(list(range(1000)), list(range(1000)))
    for backward in (False, True):
        for limit in (0, 9, 10, 11, 15, 20):
            expected = list(range(490, 510))[::-1 if backward else 1][:limit or None]
            got = [key for keys, _ in its.scan(490, 510, backward=backward, limit=limit) for key in keys.tolist()]
            harness.check_equal(got, expected, f"keys, at most {limit}")
    for lo, hi in ((490, 510), (490, 500), (500, 510), (None, None), (499, 501), (499, None), (None, 501), (400, 490), (600, 600)):
        rows = range(lo or 0, 1000 if hi is None else hi)
        got, count = its.aggregate(lo, hi), its.count(lo, hi)
        expected = (len(rows), rows[0], rows[-1], sum(rows), rows[0], rows[-1]) if rows else (0,) + (None,) * 5
        harness.check_equal((got.count, got.min, got.max, got.sum, got.first_key, got.last_key), expected, f"an aggregate from {lo} to {hi}")
        harness.check_equal(count, len(rows), f"the count from {lo} to {hi}")
    db.drop("u")


def test_tables_are_the_union(db, servers):
    given = many(3000)
    its = db.create_table("rows", given, key="id")
    harness.check_equal((its.write(given), its.count(), its.count("id < 1600")), (3000, 3000, 1600), "rows")
    check_places("rows", servers)
    check_rows(its.scan().arrow(), given, "rows of both")
    harness.check_equal(sorted(its.scan(["id"], filter="id >= 1498 and id < 1502").arrow()["id"].to_pylist()), [1498, 1499, 1500, 1501], "a filter")
    harness.check_equal([its.scan(limit=count).arrow().num_rows for count in (1, 1500, 1501, 5000)], [1, 1500, 1501, 3000], "limits")
    changed = table_of([(number, -77) + (None,) * (len(SCHEMA) - 2) for number in (0, 2999)], SCHEMA)
    harness.check_equal((its.write(changed), its.count("small = -77 and large is null")), (2, 2), "rows written again")
    prices = pa.table({"price": pa.array([decimal.Decimal(n).scaleb(-2) for n in range(20)], pa.decimal128(18, 4)), "n": range(20)})
    db.create_table("prices", prices, key="price").write(prices)
    check_places("prices", servers)
    harness.check_equal([each.name for each in db.list()], ["prices", "rows"], "objects of the map")
    db.drop("prices")
    db.drop("rows")
    refused(eris.NotFound, lambda: its.count())


def test_what_other_programs_read(db, servers):
    if not isinstance(db, eris.Database):
        return
    given = many(3000)
    its = db.create_table("rows", given, key="id")
    its.write(given)
    ds = its.dataset()
    harness.check_equal(duckdb.sql("select count(*), sum(id) from ds where id between 1400 and 1599").fetchall(), [(200, 299_900)], "DuckDB")
    info = db.flight_info("rows", ["id"], shares=2)
    harness.check_equal({each.address for each in info.endpoints}, {server.address for server in servers}, "addresses")
    ids = [number for each in info.endpoints for batch in db.flight_read(each.ticket, each.address) for number in batch["id"].to_pylist()]
    harness.check_equal(sorted(ids), list(range(3000)), "rows of all endpoints")
    refused(eris.InvalidArgument, lambda: list(db.flight_read(info.endpoints[0].ticket)), "address")
    refused(eris.Unimplemented, lambda: db.flight_info("rows", limit=3), "limit")
    db.drop("rows")


def test_what_needs_all_servers_at_once_is_refused(db, servers):
    its = db.create_index("u", expect=(0, 1000), split=())
    with eris.connect(servers[0].address) as one:  # its half of what is expected
        harness.check_equal(one.describe("u").partitions, 2, "partitions")
    refused(eris.Unimplemented, lambda: db.snapshot(), "one server")
    rows = pa.table({"n": [1, 2]})
    log = db.create_table("log", rows)
    refused(eris.FailedPrecondition, lambda: log.write(rows), "heap table")
    for server in servers:
        with eris.connect(server.address) as one:
            one.table("log").write(rows)
    harness.check_equal((log.count(), log.scan().arrow().num_rows), (4, 4), "rows of a heap table")
    refused(eris.NotFound, lambda: db.index("other").get(1), "other", "map.toml") if isinstance(db, eris.Database) else None
    with eris.connect(servers[1].address) as one:
        one.drop("u")
        one.create_index("u", value="string")
    refused(eris.FailedPrecondition, lambda: its.get([1, 600]), servers[1].address, "same columns")
    db.drop("u")
    db.drop("log")
    single = db.create_index("single")
    single.put([1, 2], [3, 4])
    harness.check_equal((single.get(2), single.count()), (4, 2), "an object of one server")
    db.drop("single")


def check_failures(programs):
    """A server that is gone is named, and what the others wrote is counted. Maps that make no sense are refused."""
    with two_servers(programs) as (first, second, path):
        with eris.connect(path, timeout=5) as db:
            its = db.create_index("u")
            its.put([1, 600], [1, 6])
            second.kill()
            harness.check_equal(its.get(1), 1, "a key of the server that is there")
            refused(eris.Unavailable, lambda: its.get([1, 600]), second.address)
            error = refused(eris.Unavailable, lambda: its.put(list(range(1000)), 1), second.address)
            harness.check_equal(error.rows_written, 500, "rows known to be written")
            refused(eris.Unavailable, lambda: list(its.scan()), "")
        refused(eris.Unavailable, lambda: eris.connect(path, timeout=5), second.address)
        second.wait_until_quiet = lambda: None
        folder = os.path.dirname(path)
        for number, (text, error) in enumerate((
                ("", eris.InvalidArgument), ("[objects]", eris.InvalidArgument), ("[objects]\nx = []", eris.InvalidArgument),
                ("objects = 3", eris.InvalidArgument), ("[objects]\nx = [3]", eris.InvalidArgument), ("[objects", eris.InvalidArgument),
                (f'[objects]\nx = [{{address = "{first.address}", to = 4}}]', eris.InvalidArgument),
                (f'[objects]\nx = [{{address = "{first.address}"}}]\n[more]', eris.InvalidArgument),
                (f'[objects]\nx = [{{address = "{first.address}", hi = 1}}, {{address = "{first.address}", lo = 1}}]', eris.InvalidArgument))):
            bad = os.path.join(folder, f"bad{number}.toml")
            with open(bad, "w") as file:
                file.write(text)
            refused(error, lambda: eris.connect(bad), bad)
        for bounds in (("", ""), ("hi = 5", "lo = 4"), ("lo = 5", "hi = 5"), ("hi = 5", ""), ('hi = "5"', 'lo = "5"'), ("hi = -5", "lo = -5")):
            pieces = [f"{{address = {address!r}{', ' if bound else ''}{bound}}}" for address, bound in
                      zip((first.address, f"localhost:{first.address.split(':')[1]}"), bounds)]
            with open(path, "w") as file:
                file.write(f"[objects]\nv = [{', '.join(pieces)}]")
            with eris.connect(path) as db:
                refused(eris.InvalidArgument, lambda: db.create_index("v"))
        with open(path, "w") as file:
            file.write(f'[objects]\nv = [{{address = "{first.address}", lo = 5, hi = 10}}]')
        with eris.connect(path) as db:
            its = db.create_index("v")
            its.put([5, 9], 1)
            for keys in (4, 10, [5, 10], [4]):
                refused(eris.OutOfRange, lambda: its.put(keys, 1), "no server")
                refused(eris.OutOfRange, lambda: its.get(keys), "no server")
            harness.check_equal(its.count(), 2, "keys")


def main():
    programs = harness.Programs(harness.parse_args().build)
    print(f"seed {SEED}", flush=True)
    complaints = Complaints()
    with two_servers(programs) as (first, second, path):
        for name, test in [its for its in globals().items() if its[0].startswith("test_")]:
            for kind, connect in CONNECTS.items():
                with connect(path) as db:
                    test(db, (first, second))
                print(f"{name}, {kind}: ok", flush=True)
    check_failures(programs)
    print("failures: ok", flush=True)
    gc.collect()
    harness.check_equal(complaints.said, [], "what was logged")


if __name__ == "__main__":
    main()
