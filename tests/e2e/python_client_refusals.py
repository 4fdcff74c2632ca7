"""Runs in the environment of python_client_test.py: what the Python client does when rows are refused, against a server of the test's own
that speaks the protocol and refuses what it is told to; how many batches are under way, and how single keys are gathered.
"""
import asyncio
import collections
import concurrent.futures
import random
import threading
import time

import eris
import grpc
import harness
import numpy as np
import pyarrow as pa
from eris.v1 import catalog_pb2, column_pb2, data_pb2, error_pb2

SEED = random.randrange(2**32)
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
U64 = column_pb2.COLUMN_TYPE_UINT64
KINDS = {"table": catalog_pb2.OBJECT_KIND_TABLE, "heap": catalog_pb2.OBJECT_KIND_HEAP_TABLE}  # objects with one more column


class Server(grpc.GenericRpcHandler):
    """An index from u64 to u64. `refuses`: whether it refuses a row, by its key."""

    def __init__(self):
        self.rows = {}
        self.appended = []  # to a heap table
        self.calls = []  # (name, rows)
        self.refuses = lambda key: False
        self.lock = threading.Lock()
        self.pauses = []  # seconds before each of the next writes
        self.meet = lambda: None  # each lookup and write calls it
        schema = column_pb2.Schema(key=["key"], columns=[column_pb2.ColumnSchema(name=name, type=U64) for name in ("key", "value")])
        self.object = catalog_pb2.Object(name="rows", id=1, kind=catalog_pb2.OBJECT_KIND_INDEX, schema=schema)

    def service(self, details):
        name = details.method.rpartition("/")[2]
        if name == "Check":
            return grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
        takes = {"GetObject": catalog_pb2.GetObjectRequest, "Lookup": data_pb2.LookupRequest, "Write": data_pb2.WriteRequest}[name]
        return grpc.unary_unary_rpc_method_handler(getattr(self, name), takes.FromString, lambda response: response.SerializeToString())

    def GetObject(self, request, context):
        its = catalog_pb2.Object()
        its.CopyFrom(self.object)
        its.name = request.name
        if request.name in KINDS:
            its.kind = KINDS[request.name]
            its.schema.columns.add(name="note", type=column_pb2.COLUMN_TYPE_BYTES, nullable=True)
            del its.schema.key[0 if request.name == "heap" else 1:]
        return catalog_pb2.GetObjectResponse(object=its)

    def Lookup(self, request, context):
        keys, executed = self.arrived("Lookup", request.keys[0])
        values = [self.rows.get(key, 0) for key in keys]
        # Bits of rows that were not executed say nothing.
        found = bits(key in self.rows or not runs for key, runs in zip(keys, executed))
        response = data_pb2.LookupResponse(columns=[column(values)], found=found)
        return self.answer(response, executed)

    def Write(self, request, context):
        if self.pauses:
            time.sleep(self.pauses.pop(0))
        keys, executed = self.arrived("Write", request.columns[0])
        if request.mode == data_pb2.WRITE_MODE_APPEND:
            return self.append(request, keys)
        values = numbers(request.columns[1]) if len(request.columns) > 1 else [None] * len(keys)
        with self.lock:
            existed, sums = self.write(request.mode, zip(keys, values, executed))
        response = data_pb2.WriteResponse(existed=bits(existed), refused=executed.count(False))
        if request.mode != data_pb2.WRITE_MODE_UPSERT:
            response.applied = bits(executed)
            response.columns.append(column(sums))
        return self.answer(response, executed)

    def write(self, mode, rows):
        existed, sums = [], []
        for key, value, runs in rows:
            existed.append(key in self.rows)
            if runs and mode == data_pb2.WRITE_MODE_UPSERT:
                self.rows[key] = value
            elif runs and mode == data_pb2.WRITE_MODE_INSERT_IF_ABSENT:
                self.rows.setdefault(key, value)
            elif runs and mode == data_pb2.WRITE_MODE_ADD:
                self.rows[key] = self.rows.get(key, 0) + value
            sums.append(self.rows.get(key, 0))
        return existed, sums

    def append(self, request, keys):
        """Writes all rows or none, and its answer has no bits."""
        if self.refuses(None):
            return data_pb2.WriteResponse(refused=len(keys), refusal=refusal())
        with self.lock:
            self.appended += zip(keys, numbers(request.columns[1]), strings(request.columns[2]))
        return data_pb2.WriteResponse(written=len(keys))

    def arrived(self, name, keys):
        keys = numbers(keys)
        self.calls.append((name, len(keys)))
        self.meet()
        return keys, [not self.refuses(key) for key in keys]

    def answer(self, response, executed):
        if not all(executed):
            response.executed = bits(executed)
            response.refusal.CopyFrom(refusal())
        return response


def refusal():
    its = data_pb2.RequestStatus(code=EXHAUSTED, message="no memory for rows")
    info = error_pb2.ErrorInfo(reason="MEMORY_LIMIT", domain="eris", metadata={"limit": "7"})
    its.details.add(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=info.SerializeToString())
    retry = error_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(1500)
    its.details.add(type_url="type.googleapis.com/google.rpc.RetryInfo", value=retry.SerializeToString())
    return its


def column(values):
    return column_pb2.Column(type=U64, data=np.array(values, dtype="<u8").tobytes())


def numbers(its):
    return np.frombuffer(its.data, dtype="<u8").tolist()


def strings(its):
    """Of a table's column; None where there is a null."""
    ends = np.frombuffer(its.offsets, dtype="<u4").tolist()
    valid = np.unpackbits(np.frombuffer(its.validity, dtype=np.uint8), bitorder="little") if its.validity else [1] * len(ends)
    return [its.data[begin:end] if there else None for begin, end, there in zip(ends, ends[1:], valid)]


def bits(values):
    return np.packbits(list(values), bitorder="little").tobytes()


def exhausted(call):
    try:
        call()
    except eris.ResourceExhausted as error:
        return error
    raise AssertionError("it was not refused")


def test_errors_tell_their_reason(server, db):
    rows = db.index("rows")
    server.refuses = lambda key: True
    for error in (exhausted(lambda: rows.put(1, 2)), exhausted(lambda: rows.get(1))):
        harness.check_equal((error.reason, error.limit, error.field, error.retry_s), ("MEMORY_LIMIT", "7", "", 1.5), "of a refused row")
    server.refuses = lambda key: False
    harness.check_equal((eris.NotFound("x").reason, eris.NotFound("x").retry_s), ("", 0.0), "of an error of the client's own")


def at_random(rng):
    """Refuses rows, but no one as often in a row as a client tries."""
    in_a_row = collections.Counter()

    def refuses(key):
        in_a_row[key] = in_a_row[key] + 1 if rng.random() < 0.3 and in_a_row[key] < 5 else 0
        return in_a_row[key] > 0
    return refuses


def test_refused_rows_are_sent_again_and_the_last_value_stays(server, db):
    rng = random.Random(SEED)
    for rows in (1000, 50_000):  # one batch, several
        server.rows.clear()
        server.refuses = at_random(rng)
        keys = [rng.randrange(rows // 2) for _ in range(rows)]
        values = [rng.randrange(2**64) for _ in keys]
        db.index("rows").put(keys, values)
        harness.check_equal(server.rows, dict(zip(keys, values)), "rows after an upsert")
        asked = list(range(rows))
        got, found = db.index("rows").get(asked)
        harness.check_equal(found.tolist(), [key in server.rows for key in asked], "keys found")
        harness.check_equal(got.tolist(), [server.rows.get(key, 0) for key in asked], "values")
        counts = dict.fromkeys(server.rows, 0)
        server.rows.clear()
        db.index("rows").add(keys, 1)
        for key in keys:
            counts[key] += 1
        harness.check_equal(server.rows, counts, "each add counts once")


def test_rows_of_one_key_keep_their_order_over_batches(server, db):
    """The first batch that arrives is the last one to be executed, if others are under way."""
    server.refuses = lambda key: False
    keys = np.arange(50_000)
    keys[-1] = 0
    for write, expected in ((db.index("rows").put, 49_999), (db.index("rows").insert, 0)):
        server.rows.clear()
        server.pauses = [0.5]
        write(keys, np.arange(50_000))
        harness.check_equal(server.rows[0], expected, "the value of the key that occurs twice")


def test_a_call_has_sixteen_batches_under_way(server, db):
    """Each batch waits until sixteen are there, and then for one too many."""
    barrier, lock = threading.Barrier(16), threading.Lock()
    inside = most = 0

    def meet():
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        barrier.wait(20)
        time.sleep(0.1)
        with lock:
            inside -= 1

    server.refuses = lambda key: False
    server.meet = meet
    keys = np.arange(32 * eris.batches.ROWS_MAX)
    try:
        for call in (lambda: db.index("rows").get(keys), lambda: db.index("rows").put(keys, keys)):
            server.calls.clear()
            call()
            harness.check_equal((len(server.calls), most), (32, 16), "batches, and how many at most at a time")
    finally:
        server.meet = lambda: None


def test_rows_that_stay_refused_are_an_error_with_the_number_of_those_written(server, db):
    server.rows.clear()
    server.refuses = lambda key: key % 2 == 1
    error = exhausted(lambda: db.index("rows").put(np.arange(101), np.arange(101)))
    harness.check_equal((str(error), error.rows_written), ("no memory for rows (51 of 101 rows were written)", 51), "the error")
    harness.check_equal(sorted(server.rows), list(range(0, 101, 2)), "rows")
    error = exhausted(lambda: db.index("rows").get(np.arange(101)))
    harness.check_equal(str(error), "no memory for rows", "the error of a lookup")
    error = exhausted(lambda: db.index("rows").put(1, 1))
    harness.check_equal((str(error), error.rows_written), ("no memory for rows", 0), "the error of one key")


def test_single_keys_of_one_turn_are_one_message_and_fail_one_by_one(server, db):
    async def run():
        server.rows.clear()
        server.rows.update((key, key + 1) for key in range(1, 1000, 2))
        server.refuses = lambda key: key == 500
        async with eris.aio.connect(db.address) as its:
            index = its.index("rows")
            await index.get(0)
            server.calls.clear()
            tasks = [index.get(key) for key in range(1000)] + [index.put(key, 7) for key in range(2000, 2010)]
            got = await asyncio.gather(*tasks, return_exceptions=True)
            harness.check(sorted(server.calls)[-2:] == [("Lookup", 1000), ("Write", 10)], f"messages: {server.calls}")
            harness.check(all(call == ("Lookup", 1) for call in sorted(server.calls)[:-2]), "only the refused key is sent again")
            harness.check(isinstance(got[500], eris.ResourceExhausted), f"the refused key: {got[500]!r}")
            expected = [key + 1 if key % 2 else None for key in range(1000)]
            harness.check_equal(got[:500] + got[501:1000], expected[:500] + expected[501:], "the other keys")
            harness.check_equal([server.rows[key] for key in range(2000, 2010)], [7] * 10, "rows put")
    asyncio.run(run())


def frame(rows):
    """Rows of a table: keys that occur twice, nulls, strings of any length."""
    rng = random.Random(SEED)
    notes = [None if i % 3 == 0 else b"x" * rng.randrange(400) for i in range(rows)]
    return pa.table({"key": pa.array([rng.randrange(rows // 2) for _ in range(rows)], pa.uint64()),
                     "value": pa.array(range(rows), pa.uint64()), "note": pa.array(notes, pa.binary())})


def test_refused_rows_of_tables_are_sent_again(server, db):
    rng = random.Random(SEED)
    for rows in (100, 50_000):
        table = frame(rows)
        server.rows.clear()
        server.appended.clear()
        server.calls.clear()
        server.refuses = at_random(rng)
        harness.check_equal(db.table("table").write(table), rows, "rows written")
        harness.check_equal(server.rows, dict(zip(table["key"].to_pylist(), table["value"].to_pylist())), "the last row of each key")
        harness.check_equal(db.table("heap").write(table), rows, "rows appended")
        harness.check_equal(sorted(server.appended, key=lambda row: row[1]), list(zip(*(its.to_pylist() for its in table.columns))), "rows, each once")
        harness.check(len(server.calls) > 2, f"batches: {server.calls}")


def test_rows_of_tables_that_stay_refused_are_counted(server, db):
    table = frame(50_000)
    server.rows.clear()
    server.refuses = lambda key: key % 2 == 1
    error = exhausted(lambda: db.table("table").write(table))
    harness.check_equal(error.rows_written, sum(key in server.rows for key in table["key"].to_pylist()), "rows written, those replaced among them")
    harness.check(0 < error.rows_written < 50_000 and "no memory for rows" in str(error), f"the error: {error}")
    server.appended.clear()
    written = iter(range(5))  # batches; the others are not
    server.refuses = lambda key: key is None and next(written, None) is None
    error = exhausted(lambda: db.table("heap").write(table))
    harness.check_equal(error.rows_written, len(server.appended), "rows appended")
    harness.check(0 < error.rows_written < 50_000, f"rows appended: {error.rows_written}")


def main():
    harness.parse_args()
    print(f"seed {SEED}", flush=True)
    handler = Server()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(32), handlers=[handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with eris.connect(f"127.0.0.1:{port}") as db:
            db.address = f"127.0.0.1:{port}"
            for test in (test_errors_tell_their_reason,
                         test_refused_rows_are_sent_again_and_the_last_value_stays,
                         test_rows_of_one_key_keep_their_order_over_batches,
                         test_a_call_has_sixteen_batches_under_way,
                         test_rows_that_stay_refused_are_an_error_with_the_number_of_those_written,
                         test_single_keys_of_one_turn_are_one_message_and_fail_one_by_one,
                         test_refused_rows_of_tables_are_sent_again,
                         test_rows_of_tables_that_stay_refused_are_counted):
                test(handler, db)
                print(f"{test.__name__}: ok", flush=True)
    finally:
        server.stop(0)


if __name__ == "__main__":
    main()
