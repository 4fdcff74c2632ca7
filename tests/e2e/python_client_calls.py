"""Runs in the environment of python_client_test.py: every call of the Python client against a server, with and without asyncio.

One suite serves both: `Blocking` makes the calls of eris.aio look like those of eris.
"""
import asyncio
import datetime
import functools
import gc
import inspect
import logging
import os
import random
import subprocess
import tempfile
import threading
import time

import eris
import harness
import numpy as np
from harness import refused

SEED = random.randrange(2**32)
EPOCH = datetime.date(1970, 1, 1)


WRAPPED = (eris.aio.Index, eris.aio.Hash, eris.aio.Table, eris.aio.Scan, eris.aio.Snapshot)


class Blocking:
    """What eris.aio gives, in calls that block. Iterators are read whole."""

    loop = asyncio.new_event_loop()

    def __init__(self, its):
        self.its = its

    def __getattr__(self, name):
        value = getattr(self.its, name)
        return self.call(value) if callable(value) else value

    def call(self, function):
        def called(*args, **kwargs):
            kwargs = {name: value.its if isinstance(value, Blocking) else value for name, value in kwargs.items()}
            made = function(*args, **kwargs)
            if inspect.isasyncgen(made):
                made = self.whole(made)
            if inspect.isawaitable(made):
                made = self.loop.run_until_complete(made)
            return Blocking(made) if isinstance(made, WRAPPED) else made
        return called

    def __iter__(self):
        return iter(self.loop.run_until_complete(self.whole(self.its)))

    @staticmethod
    async def whole(items):
        return [item async for item in items]

    def __enter__(self):
        self.its = self.loop.run_until_complete(self.its.__aenter__())
        return self

    def __exit__(self, *error):
        self.loop.run_until_complete(self.its.__aexit__(*error))


CONNECTS = {"sync": eris.connect, "asyncio": lambda *args, **kwargs: Blocking(eris.aio.connect(*args, **kwargs))}


# --- random operations, compared with a dict -----------------------------------------------------

def date_keys(rng, days):
    return [EPOCH + datetime.timedelta(days=day) for day in days]


def timestamp_keys(rng, numbers):
    return [datetime.datetime(1969, 12, 31, 23, 59, 59) + datetime.timedelta(microseconds=number * 250_001) for number in numbers]


# Type: keys from random numbers, and the array of a list of keys.
KEYS = {
    "uint64": (lambda rng, n: n, lambda keys: np.array(keys, dtype=np.uint64)),
    "int64": (lambda rng, n: [key - 100 for key in n], lambda keys: np.array(keys, dtype=np.int64)),
    "float64": (lambda rng, n: [key / 7 - 3 for key in n], lambda keys: np.array(keys, dtype=np.float64)),
    "date": (date_keys, lambda keys: np.array(keys, dtype="datetime64[D]")),
    "timestamp": (timestamp_keys, lambda keys: np.array(keys, dtype="datetime64[us]")),
}


class Model:
    """An object and a dict that must agree. Keys of two parts are pairs in the dict."""

    def __init__(self, its, types, rng, values="uint64"):
        self.its, self.types, self.rng, self.value_type, self.bytes_values = its, types, rng, values, values != "uint64"
        self.rows = {}

    def keys(self, count, space):
        parts = [KEYS[each][0](self.rng, [self.rng.randrange(space) for _ in range(count)]) for each in self.types]
        return list(zip(*parts)) if len(parts) > 1 else parts[0]

    def given(self, keys):
        """A list or an array, by chance."""
        columns = list(zip(*keys)) if len(self.types) > 1 else [keys]
        arrays = self.rng.random() < 0.5
        made = [KEYS[each][1](list(column)) if arrays else list(column) for each, column in zip(self.types, columns)]
        return tuple(made) if len(made) > 1 else made[0]

    def values(self, count):
        if self.value_type == "bytes":
            return [self.rng.randbytes(self.rng.randrange(40)) for _ in range(count)]
        if self.value_type == "string":
            return ["".join(self.rng.choices("a\0é€😀", k=self.rng.randrange(20))) for _ in range(count)]
        return [self.rng.choice((0, 1, 7, 2**64 - 1, self.rng.randrange(2**64))) for _ in range(count)]

    def absent(self):
        return {"bytes": b"", "string": "", "uint64": 0}[self.value_type]

    def step(self, count, space):
        names = ["put", "get", "erase", "insert", "replace", "compare"] + ([] if self.bytes_values else ["add"])
        keys = self.keys(count, space)
        getattr(self, self.rng.choice(names))(keys, self.given(keys))

    def put(self, keys, given):
        values = self.values(len(keys))
        self.its.put(given, values)
        self.rows.update(zip(keys, values))

    def get(self, keys, given):
        values, found = self.its.get(given)
        harness.check_equal(found.tolist(), [key in self.rows for key in keys], "found")
        harness.check_equal(values.tolist(), [self.rows.get(key, None if self.bytes_values else 0) for key in keys], "values")

    def erase(self, keys, given):
        existed = self.its.erase(given)
        harness.check_equal(int(existed.sum()), len(set(keys) & set(self.rows)), "keys erased")
        for key in keys:
            self.rows.pop(key, None)

    def add(self, keys, given):
        addends = self.values(len(keys))
        sums = self.its.add(given, addends)
        expected = []
        for key, addend in zip(keys, addends):
            self.rows[key] = (self.rows.get(key, 0) + addend) % 2**64
            expected.append(self.rows[key])
        if len(keys) < 10_000 or len(set(keys)) == len(keys):  # sums on the way have no order over several batches
            harness.check_equal(sums.tolist(), expected, "sums")

    def insert(self, keys, given):
        values = self.values(len(keys))
        applied, there = self.its.insert(given, values)
        expected = []
        for key, value in zip(keys, values):
            expected.append((key not in self.rows, self.rows.get(key, self.absent())))
            self.rows.setdefault(key, value)
        harness.check_equal(list(zip(applied.tolist(), there.tolist())), expected, "insert")

    def replace(self, keys, given):
        values = self.values(len(keys))
        applied, before = self.its.replace(given, values)
        expected = []
        for key, value in zip(keys, values):
            expected.append((key in self.rows, self.rows.get(key, self.absent())))
            if key in self.rows:
                self.rows[key] = value
        harness.check_equal(list(zip(applied.tolist(), before.tolist())), expected, "replace")

    def compare(self, keys, given):
        wanted = [self.rows.get(key, self.absent()) if self.rng.random() < 0.6 else self.values(1)[0] for key in keys]
        values = self.values(len(keys))
        applied, before = self.its.compare_and_set(given, wanted, values)
        expected = []
        for key, old, value in zip(keys, wanted, values):
            now = self.rows.get(key)
            expected.append((now is not None and now == old, self.absent() if now is None else now))
            if now is not None and now == old:
                self.rows[key] = value
        harness.check_equal(list(zip(applied.tolist(), before.tolist())), expected, "compare_and_set")

    def check_scans(self):
        rows = sorted(self.rows.items())
        harness.check_equal(list(self.scanned()), rows, "a scan")
        harness.check_equal(list(self.scanned(backward=True)), rows[::-1], "a scan backward")
        harness.check_equal(self.its.count(), len(rows), "the count")
        low, high = sorted(self.keys(2, 5000))
        part = [row for row in rows if low <= row[0] < high]
        harness.check_equal(list(self.scanned(low, high)), part, "a scan of a range")
        harness.check_equal(list(self.scanned(low, high, limit=3)), part[:3], "a scan with a limit")
        harness.check_equal(self.its.count(low, high), len(part), "the count of a range")
        if not self.bytes_values and part:
            values = [value for _, value in part]
            got = self.its.aggregate(low, high)
            harness.check_equal((got.count, got.min, got.max, got.sum), (len(part), min(values), max(values), sum(values)), "an aggregate")
            odd = [row for row in part if 1 <= row[1] <= 7]
            harness.check_equal(list(self.scanned(low, high, values=(1, 7))), odd, "a scan of values")

    def scanned(self, *bounds, **more):
        for keys, values in self.its.scan(*bounds, **more):
            keys = list(zip(*(part.tolist() for part in keys))) if isinstance(keys, tuple) else keys.tolist()
            yield from zip(keys, values.tolist())


def test_random_operations_do_what_a_dict_does(db):
    rng = random.Random(SEED)
    cases = [(types, "uint64") for types in (("uint64",), ("int64",), ("float64",), ("date",), ("timestamp",), ("uint64", "date"), ("float64", "int64"),
                                        ("uint64", "timestamp"))]
    for number, (types, value) in enumerate([*cases, (("uint64",), "string"), (("uint64",), "bytes")]):
        key = types if len(types) > 1 else types[0]
        its = db.create_index(f"random{number}", key=key, value=value)
        model = Model(its, types, rng, value)
        for _ in range(25):
            model.step(rng.choice((1, 2, 9, 300)), 1000)
        model.step(4096, 5000)
        model.step(40_000, 20_000)  # several batches, with keys that occur twice
        model.get(*(keys := model.keys(500, 20_000), model.given(keys)))
        model.check_scans()
        db.drop(f"random{number}")
    for types in (("uint64",), ("date",), ("timestamp",)):
        model = Model(db.create_hash("random", key=types[0]), types, rng)
        for _ in range(25):
            model.step(rng.choice((1, 5, 300)), 1000)
        model.get(*(keys := model.keys(500, 1000), model.given(keys)))
        refused(eris.FailedPrecondition, lambda: list(db.index("random").scan()), "hash")
        db.drop("random")


def test_single_keys(db):
    rows, model, rng = db.create_index("single"), {}, random.Random(SEED)
    for _ in range(200):
        key, value = rng.randrange(20), rng.randrange(2**64)
        rows.put(key, value)
        model[key] = value
        key = rng.randrange(20)
        harness.check_equal((rows.get(key), rows.contains(key)), (model.get(key), key in model), "get")
        key = rng.randrange(20)
        harness.check_equal(rows.erase(key), model.pop(key, None) is not None, "erase")
        key = rng.randrange(20)
        model[key] = (model.get(key, 0) + 5) % 2**64
        harness.check_equal(rows.add(key, 5), model[key], "add")
    key = 100
    harness.check_equal(rows.insert(key, 1), (True, None), "insert")
    harness.check_equal(rows.insert(key, 2), (False, 1), "insert")
    harness.check_equal(rows.replace(key, 3), (True, 1), "replace")
    harness.check_equal(rows.replace(101, 3), (False, None), "replace")
    harness.check_equal(rows.compare_and_set(key, 3, 4), (True, 3), "compare and set")
    harness.check_equal(rows.compare_and_set(101, 0, 4), (False, None), "compare and set")
    text = db.create_index("texts", value="string")
    text.put(1, "éne\0")
    harness.check_equal((text.get(1), text.get(2)), ("éne\0", None), "a string")
    blobs = db.create_index("blobs", value="bytes")
    blobs.put(1, b"one\xff\0")
    harness.check_equal((blobs.get(1), blobs.get(2)), (b"one\xff\0", None), "bytes")
    visits = db.create_index("visits", key=("uint64", "date"))
    visits.put((7, datetime.date(2024, 2, 29)), 3)
    harness.check_equal(visits.get((7, datetime.date(2024, 2, 29))), 3, "a key of two parts")
    for name in ("single", "texts", "blobs", "visits"):
        db.drop(name)


def test_many_keys(db):
    rows = db.create_index("many", expect=(0, 100_000))
    for count in (0, 1, 4096, 16_384, 16_385, 100_000):
        keys = np.random.default_rng(SEED).permutation(count).astype(np.uint64)
        rows.put(keys, keys * np.uint64(3))
        values, found = rows.get(keys)
        harness.check(len(values) == count and bool(found.all()) and bool((values == keys * np.uint64(3)).all()), f"{count} keys")
        got = [keys for keys, _ in rows.scan()]
        harness.check_equal(sum(map(len, got)), count, "rows of a scan")
        harness.check_equal(rows.count(), count, "the count")
    harness.check(bool(rows.erase(keys).all()) and rows.count() == 0, "all keys are erased")
    db.drop("many")
    # More strings than a message or an answer has room for.
    texts = db.create_index("long", value="bytes")
    keys, values = np.arange(60), [bytes([number]) * 1_000_000 for number in range(60)]
    texts.put(keys, values)
    got, found = texts.get(keys)
    harness.check(bool(found.all()) and got.tolist() == values, "60 MB of strings")
    db.drop("long")


# --- what is refused -----------------------------------------------------------------------------

def test_wrong_types_are_refused_and_nothing_is_sent(db):
    rows = db.create_index("types")
    rows.put(1, 1)
    before = db.describe("types").keys
    for bad in (-1, 2**64, 1.0, True, "1", b"1", None, np.int64(-1), np.float64(1), [-1], [2**64], [1.0], [1, True], ["1"], [None], {1}, (1, 2),
                b"12", np.array([1.0]), np.array([-1]), np.array([1], dtype=np.int32), np.array([1], dtype=np.uint32), np.array([True]),
                np.array([[1]]), np.array([1], dtype=">u8"), np.array(["1"]), np.array([1], dtype=object),
                np.ma.array([1, 2], mask=[0, 1], dtype=np.uint64), iter([1])):
        refused(eris.InvalidArgument, lambda: rows.get(bad), "key")
        refused(ValueError, lambda: rows.put(bad, 1))
        if bad is not None and not isinstance(bad, (set, tuple)):
            refused(eris.InvalidArgument, lambda: rows.put([5], bad), "value")
    refused(eris.InvalidArgument, lambda: rows.put([1, 2], [1]), "2 keys and 1 values")
    refused(eris.InvalidArgument, lambda: rows.put(1, [1]))
    refused(eris.InvalidArgument, lambda: list(rows.scan(-1)), "-1")
    refused(eris.InvalidArgument, lambda: list(rows.scan(limit=-1)), "-1")
    refused(eris.InvalidArgument, lambda: rows.get([1, 2, -3]), "row 2", "-3")
    refused(eris.InvalidArgument, lambda: db.create_index("x", key="u64"), "'u64'", "uint64")
    harness.check_equal(db.describe("types").keys, before, "keys")
    values, found = rows.get(np.array([1], dtype=np.int64))  # without negative numbers it is taken
    harness.check_equal((values.tolist(), found.tolist()), ([1], [True]), "int64 for uint64")
    floats = db.create_index("floats", key="float64")
    refused(eris.InvalidArgument, lambda: floats.put(float("nan"), 1), "NaN")
    refused(eris.InvalidArgument, lambda: floats.put([1.0, float("nan")], 1), "row 1", "NaN")
    refused(eris.InvalidArgument, lambda: floats.put(np.array([0.0, np.nan]), 1), "row 1", "NaN")
    refused(eris.InvalidArgument, lambda: floats.put([1], 1), "float")
    days = db.create_index("days", key="date")
    for bad in (1, "2024-01-01", datetime.datetime(2024, 1, 1), np.datetime64("NaT", "D"), np.datetime64("2024-01-01T01"), [1],
                np.array([1], dtype=np.int32), np.array(["NaT"], dtype="datetime64[D]"), np.array(["2024-01-01"], dtype="datetime64[s]")):
        refused(eris.InvalidArgument, lambda: days.put(bad, 1), "date")
    stamps = db.create_index("stamps", key="DATETIME")
    for bad in (1, "2024-01-01", datetime.date(2024, 1, 1), np.datetime64("NaT", "us"), np.datetime64("2024-01-01"), np.datetime64(1, "ns"), [1],
                np.array([1]), np.array(["NaT"], dtype="datetime64[us]"), np.array([1000, 1], dtype="datetime64[ns]"),
                np.array([2**62], dtype="datetime64[s]"), np.array(["2024-01-01"], dtype="datetime64[D]")):
        refused(eris.InvalidArgument, lambda: stamps.put(bad, 1), "timestamp")
    vienna = datetime.timezone(datetime.timedelta(hours=1))
    stamps.put([datetime.datetime(2024, 1, 1, 1, tzinfo=vienna)], 7)
    for same in (datetime.datetime(2024, 1, 1), np.datetime64("2024-01-01T00", "s"), np.datetime64("2024-01-01T00:00:00.000", "ms")):
        harness.check_equal(stamps.get(same), 7, f"the key {same!r}")
    harness.check_equal(stamps.get(np.array(["2024-01-01"], dtype="datetime64[ns]"))[0].tolist(), [7], "nanoseconds that are microseconds")
    stamps.erase(datetime.datetime(2024, 1, 1))
    refused(eris.InvalidArgument, lambda: db.create_index("x", key="timestmp"), "'timestmp'", "did you mean timestamp?")
    texts = db.create_index("texts", value="string")
    for bad in (b"a", [b"a"], 1, [1], np.array([b"a"]), np.array(["a"]), "\ud800", ["a", "\udfff"]):
        refused(eris.InvalidArgument, lambda: texts.put([1], bad), "value")
    blobs = db.create_index("blobs", value="bytes")
    for bad in ("a", ["a"], 1, [1], np.array([b"a"]), np.array(["a"])):
        refused(eris.InvalidArgument, lambda: blobs.put([1], bad), "value")
    harness.check_equal([db.index(name).count() for name in ("floats", "days", "stamps", "texts", "blobs")], [0] * 5, "rows")
    for name in ("types", "floats", "days", "stamps", "texts", "blobs"):
        db.drop(name)


def test_errors_are_classes_with_the_engine_s_words(db):
    error = refused(eris.NotFound, lambda: db.index("nothing").get(1), "nothing")
    harness.check_equal((error.code.name, str(error)), ("NOT_FOUND", 'no object "nothing"'), "the error")
    refused(eris.NotFound, lambda: db.describe("nothing"))
    refused(eris.NotFound, lambda: db.drop("nothing"))
    rows = db.create_index("errors")
    refused(eris.AlreadyExists, lambda: db.create_index("errors"), "errors")
    refused(eris.FailedPrecondition, lambda: db.hash("errors").get(1), "index")
    refused(eris.FailedPrecondition, lambda: list(db.table("errors").scan()), "index")
    refused(eris.InvalidArgument, lambda: list(rows.scan(5, 1)), "5")
    refused(eris.InvalidArgument, lambda: db.create_index(""), "name")
    harness.check_equal([each.name for each in db.list()], ["errors"], "objects")
    harness.check_equal(rows.get(1), None, "an absent key")  # the handle knows the types again
    db.drop("errors")
    # The same name with other types: the first call that is refused lets the handle ask again.
    other = db.create_index("errors", key="int64")
    other.put(-1, 5)
    harness.check_equal(other.get(-1), 5, "a new object of the old name")
    if not isinstance(getattr(db, "_loop", None), eris.embedded.Direct):  # in this process it is known at once
        refused(eris.Error, lambda: rows.get(1))
    harness.check_equal(rows.get(-1), 5, "the old handle")
    db.drop("errors")


# --- the rest --------------------------------------------------------------------------------------

def test_a_snapshot_is_one_moment(db):
    one, two = db.create_index("one"), db.create_index("two")
    one.put([1, 2], [1, 2])
    with db.snapshot() as snapshot:
        one.put([1, 3], 9)
        two.put([1], 9)
        (batch,) = one.scan(snapshot=snapshot)
        harness.check_equal([column.tolist() for column in batch], [[1, 2], [1, 2]], "rows of the snapshot")
        harness.check_equal(list(two.scan(snapshot=snapshot)), [], "another object's")
    refused(eris.FailedPrecondition, lambda: list(one.scan(snapshot=snapshot)), "released")
    harness.check_equal(one.count(), 3, "rows now")
    db.drop("one")
    db.drop("two")


def test_tables_come_as_record_batches(db, server):
    path = os.path.join(server.directory.name, "values.csv")
    with open(path, "w") as file:
        file.write('id,day,price,big,ratio,note,data\n-1,1969-12-31,-0.01,18446744073709551615,0.5,,\n2,2024-02-29,19.99,1,-1e300,"a",\\xff\n')
    server.eris("import", "values", path, "--schema", "id:int64,day:date,price:decimal(2),big:uint64,ratio:float64,note:string?,data:bytes?",
                "--key", "id")
    rows = sorted((row for batch in db.table("values").scan() for row in batch.to_pylist()), key=lambda row: row["id"])
    harness.check_equal([list(row.values())[:2] + [str(row["price"]), row["big"], row["ratio"], row["note"], row["data"]] for row in rows],
                        [[-1, datetime.date(1969, 12, 31), "-0.01", 2**64 - 1, 0.5, None, None],
                         [2, datetime.date(2024, 2, 29), "19.99", 1, -1e300, "a", b"\xff"]], "rows")
    (batch,) = db.table("values").scan(["note", "id"], limit=1)
    harness.check_equal((batch.schema.names, batch.num_rows), (["note", "id"], 1), "two columns, one row")
    batch.validate(full=True)
    refused(eris.InvalidArgument, lambda: list(db.table("values").scan(["nothing"])), "nothing")
    with db.snapshot() as snapshot:
        harness.check_equal(sum(batch.num_rows for batch in db.table("values").scan(snapshot=snapshot)), 2, "rows of a snapshot")
    db.drop("values")


def test_a_thousand_tasks(server):
    async def run():
        async with eris.aio.connect(server.address) as db:
            rows = await db.create_index("tasks", expect=(0, 1000))

            async def work(number):
                for turn in range(10):
                    await rows.put(number, number * turn)
                    harness.check_equal(await rows.get(number), number * turn, "a task's own key")
                    await rows.add(5000, 1)
                return await rows.erase(number)

            harness.check(all(await asyncio.gather(*map(work, range(1000)))), "keys erased")
            harness.check_equal(await rows.get(5000), 10_000, "adds of all tasks")
            task = asyncio.create_task(rows.get(1))
            await asyncio.sleep(0)
            task.cancel()
            harness.check_equal(await rows.get(5000), 10_000, "after a task was cancelled")
            async for keys, _ in rows.scan():
                break  # the scan ends with the loop
            await db.drop("tasks")
    asyncio.run(run())


def test_threads_share_a_database(server):
    with eris.connect(server.address) as db:
        rows, failed = db.create_index("threads"), []

        def work(number):
            try:
                for turn in range(50):
                    rows.put(number, turn)
                    harness.check_equal(rows[number], turn, "a thread's own key")
                    keys = np.arange(number * 1000, number * 1000 + 500)
                    rows.put(keys, turn)
                    harness.check(bool((rows.get(keys)[0] == turn).all()), "a thread's own keys")
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        harness.check_equal(failed, [], "errors of threads")
        rows[7] = 8
        harness.check(7 in rows and 999_999 not in rows and rows[7] == 8, "as a dict")
        del rows[7]
        refused(KeyError, lambda: rows[7])
        refused(TypeError, lambda: iter(rows))
        db.drop("threads")


def test_both_interfaces_at_once_and_a_close_in_between(server):
    """Two event loops in two threads. The connection that is closed under calls ends them."""
    ended, keys = [], np.arange(200_000)
    with eris.connect(server.address) as db:
        rows = db.create_index("both")

        def write():
            with eris.connect(server.address) as mine:
                db.closes = mine
                try:
                    while True:
                        mine.index("both").put(keys, 1)
                except eris.Error as error:
                    ended.append(error)

        async def read():
            async with eris.aio.connect(server.address) as its:
                for _ in range(100):
                    await asyncio.gather(*map(its.index("both").get, range(100)))

        thread = threading.Thread(target=write)
        thread.start()
        asyncio.run(read())
        harness.wait_until(lambda: rows.count() == len(keys), "the first rows")
        db.closes.close()
        thread.join(60)
        harness.check(not thread.is_alive() and isinstance(ended[0], (eris.Cancelled, eris.FailedPrecondition)), f"how it ended: {ended}")
        db.drop("both")


def test_a_closed_connection_and_no_server(server):
    for connect in CONNECTS.values():
        with connect(server.address) as db:
            pass
        refused(eris.FailedPrecondition, lambda: db.list(), "closed")
        refused(eris.Unavailable, lambda: connect("127.0.0.1:1").__enter__(), "127.0.0.1:1")


def test_a_full_server_and_a_slow_reader(programs):
    keys = np.arange(2_000_000)
    for kind, connect in CONNECTS.items():
        with harness.Server(programs, "--aeus", "2", "--stall-ms-max", "200", "--memory-limit", "64MiB") as server, \
                connect(server.address) as db:
            rows = db.create_index("rows", expect=(0, len(keys)))
            rows.put(keys, keys)
            more = np.arange(len(keys), 10 * len(keys))
            error = refused(eris.ResourceExhausted, lambda: rows.put(more, 1), "memory limit of 64 MiB", f"of {len(more)} rows were written")
            harness.check_equal(rows.count(len(keys)), error.rows_written, "rows written")
            harness.check(0 < error.rows_written < len(more), f"rows written: {error.rows_written}")
            harness.check_equal(rows.get(5), 5, "a read of a full server")
            if kind == "sync":  # the other one is read whole
                with db.snapshot() as snapshot:
                    harness.check(np.array_equal(slowly(rows.scan(0, len(keys), snapshot=snapshot)), keys), "keys read slowly")
                refused(eris.ResourceExhausted, lambda: slowly(rows.scan()), "stall_ms_max")


def slowly(batches):
    """Keys of a scan whose reader pauses for longer than the server waits."""
    keys = []
    for batch, _ in batches:
        keys.append(batch)
        if len(keys) == 2:
            time.sleep(1)
    return np.concatenate(keys)


def test_a_forked_process_is_told_so(server):
    with eris.connect(server.address) as db:
        db.list()
        child = os.fork()
        if child == 0:
            told = raises(eris.FailedPrecondition, db.list) and all(
                raises(eris.FailedPrecondition, lambda: connect(server.address).__enter__()) for connect in CONNECTS.values())
            os._exit(0 if told else 1)
        harness.check_equal(os.waitpid(child, 0)[1], 0, "status of the child")
        db.list()


class SocketServer:
    """A server on a Unix socket, which has the same address when it is started again."""

    def __init__(self, programs, path):
        self.command, self.path = [programs.eris, "serve", "--listen", f"unix:{path}", "--aeus", "1"], path

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        harness.wait_until(lambda: os.path.exists(self.path), "the socket")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        harness.check_equal(self.process.wait(60), 0, "exit code of the server")


def test_a_restart(programs):
    for connect in CONNECTS.values():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            with SocketServer(programs, path):
                harness.wait_until(lambda: answers(connect, f"unix:{path}"), "the server")
                its = connect(path)
                db = its.__enter__()
                rows = db.create_index("rows")
                rows.put(1, 1)
            refused(eris.Unavailable, lambda: rows.get(1), path)
            error = refused(eris.Unavailable, lambda: rows.put(np.arange(100_000), 1), "0 of 100000 rows")
            harness.check_equal(error.rows_written, 0, "rows written")
            with SocketServer(programs, path):
                harness.wait_until(lambda: not raises(eris.Unavailable, db.list), "the server to be found again")
                refused(eris.NotFound, lambda: rows.get(1), "rows")
                db.create_index("rows").put(1, 2)
                harness.check_equal(rows.get(1), 2, "after the restart")
                its.__exit__(None, None, None)


def raises(error, call):
    try:
        call()
        return False
    except error:
        return True


def answers(connect, address):
    def connected():
        with connect(address):
            pass
    return not raises(eris.Unavailable, connected)


class Complaints(logging.Handler):
    """What asyncio and gRPC log: nothing."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []
        logging.getLogger().addHandler(self)

    def emit(self, record):
        self.said.append(record.getMessage())


def run(test, name, *args):
    start = time.monotonic()
    test(*args)
    print(f"{name}: ok ({time.monotonic() - start:.1f} s)", flush=True)


def run_on_databases(tests, databases):
    """The tests that take a database alone: it may be behind a server or in this process."""
    for name, test in tests.items():
        if name.startswith("test_") and list(inspect.signature(test).parameters) == ["db"]:
            for kind, connect in databases.items():
                with connect() as db:
                    run(test, f"{name}, {kind}", db)


def run_suite(tests):
    """Tests of a database run with and without asyncio, those of programs start servers of their own. Nothing may be logged."""
    programs = harness.Programs(harness.parse_args().build)
    print(f"seed {SEED}", flush=True)
    complaints = Complaints()
    mine = [(name, test, list(inspect.signature(test).parameters)) for name, test in tests.items() if name.startswith("test_")]
    with harness.Server(programs, "--aeus", "2") as server:
        run_on_databases(tests, {kind: functools.partial(connect, server.address) for kind, connect in CONNECTS.items()})
        for name, test, takes in mine:
            if takes == ["db", "server"]:
                for kind, connect in CONNECTS.items():
                    with connect(server.address) as db:
                        run(test, f"{name}, {kind}", db, server)
            elif takes == ["server"]:
                run(test, name, server)
        server.wait_until_quiet()
    for name, test, takes in mine:
        if takes == ["programs"]:
            run(test, name, programs)
    gc.collect()  # tasks whose errors nothing has looked at say so now
    harness.check_equal(complaints.said, [], "what was logged")


if __name__ == "__main__":
    run_suite(globals())
