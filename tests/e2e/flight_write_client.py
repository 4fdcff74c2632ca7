"""What flight_write_test.py does to a server with pyarrow, pandas, Polars, DuckDB and grpcio, in an environment that has them:
flight_write_client.py HOST:PORT. Prints one line a fact."""
import datetime
import decimal
import json
import random
import struct
import sys

import duckdb
import grpc
import pandas
import polars
import pyarrow as pa
import pyarrow.flight as flight

import harness

SCHEMA = pa.schema([pa.field("id", pa.int64(), False), ("small", pa.int32()), ("large", pa.int64()), ("big", pa.uint64()),
                    ("ratio", pa.float64()), ("day", pa.date32()), ("price", pa.decimal128(18, 4)), ("note", pa.string()),
                    ("data", pa.binary())])
MOST = decimal.Decimal("99999999999999.9999")
ROWS = [
    (1, 2**31 - 1, 2**63 - 1, 2**64 - 1, float("inf"), datetime.date(9999, 12, 31), MOST, "ünïcode, \"quoted\"", b"\xff\0"),
    (2, -2**31, -2**63, 0, -1e300, datetime.date(1, 1, 1), -MOST, "", b""),
    (3, None, None, None, None, None, None, None, None),
    (4, 0, 7, 2**63, 5e-324, datetime.date(1969, 12, 31), decimal.Decimal("0.0001"), "x" * 60_000, bytes(range(256))),
    (5, -1, -1, 1, -0.0, datetime.date(1970, 1, 1), decimal.Decimal("-0.0001"), "\0", b"\xc3"),
]


def table_of(rows, schema=SCHEMA):
    return pa.Table.from_arrays([pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)], schema=schema)


def many_rows(count):
    """Without a null in half of the batches, and with some in the others."""
    return [(i, None if i % 7 == 3 and i % 20_000 < 10_000 else i - 5, i * i, i, i / 3, datetime.date(1970, 1, 1) + datetime.timedelta(i % 40_000),
             decimal.Decimal(i) / 16, None if i % 11 == 0 else str(i), None if i % 13 == 0 else bytes([i % 256])) for i in range(count)]


def put(client, name, table, options=None, chunk=10_000):
    """Writes all of it, and returns the last total."""
    descriptor = flight.FlightDescriptor.for_path(name) if isinstance(name, str) else name
    writer, reader = client.do_put(descriptor, table.schema, options)
    writer.write_table(table, max_chunksize=chunk)
    writer.done_writing()
    total = None
    while (result := reader.read()) is not None:
        total = json.loads(result.to_pybytes())
    writer.close()
    return total


def read(client, name):
    info = client.get_flight_info(flight.FlightDescriptor.for_path(name))
    table = pa.concat_tables(client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints)
    table.validate(full=True)
    return table


def plain(table, key="id"):
    """In the order of the key, with one type for decimals, one for text and one for bytes, and doubles as their bits: NaN is not equal to itself."""
    table = table.sort_by(key).combine_chunks()
    for i, field in enumerate(table.schema):
        wanted = pa.decimal128(18, field.type.scale) if pa.types.is_decimal(field.type) else field.type
        wanted = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(wanted, wanted)
        column = table[field.name].cast(wanted)
        if wanted == pa.float64():
            column = pa.chunked_array([part.view(pa.uint64()) for part in column.chunks], pa.uint64())
        table = table.set_column(i, pa.field(field.name, column.type, field.nullable), column)
    return table


def check_table(client, name, expected):
    harness.check(plain(read(client, name)).equals(plain(expected)), f"the rows of {name} are others")


def test_all_types_of_pyarrow(client):
    for rows in ([], ROWS[:1], ROWS):
        total = put(client, "typed", table_of(rows))
        harness.check_equal(total and total["written"], len(rows) or None, "rows written")
    check_table(client, "typed", table_of(ROWS))


def test_many_rows(client):
    table = table_of(many_rows(70_000))
    harness.check_equal(put(client, "many", table), {"batches": 7, "written": 70_000, "refused": 0, "unknown": 0}, "total")
    check_table(client, "many", table)
    put(client, "many", table, chunk=70_000)  # the same keys
    check_table(client, "many", table)


def test_sizes_at_borders(client):
    """Of words of bits, of chunks of a scan and of segments: objects that grow from one to the next, with nulls and NaN at each border."""
    sizes = (63, 64, 65, 32_768, 65_535, 65_536, 65_537)
    rows = many_rows(sizes[-1])
    for row in {at for size in sizes for at in (size - 2, size - 1, size) if at < len(rows)}:
        rows[row] = (row,) + (None,) * 8
    for row in (0, 61, 66, 32_765, 65_533):
        rows[row] = (row, *rows[row][1:4], float("nan"), *rows[row][5:])
    table = table_of(rows)
    for before, size in zip((0, *sizes), sizes):
        for name in ("borders", "borders_heap"):
            put(client, name, table.slice(before, size - before), chunk=size)
            check_table(client, name, table.slice(0, size))


def test_heap_tables_are_appended_to(client):
    table = table_of(ROWS)
    put(client, "log", table)
    check_table(client, "log", table)
    put(client, "log", table)
    check_table(client, "log", pa.concat_tables([table, table]))


def test_narrower_types(client):
    def column(name, type, values):
        ids = pa.array(range(100, 100 + len(values)), pa.uint8())
        put(client, "typed", pa.table({name: pa.array(values, type), "id": ids}))
        rows = read(client, "typed")
        got = dict(zip(rows["id"].to_pylist(), rows[name].to_pylist()))
        harness.check_equal([got[100 + i] for i in range(len(values))], values, f"{name} from {type}")

    for type, low, high in ((pa.int8(), -2**7, 2**7 - 1), (pa.int16(), -2**15, 2**15 - 1), (pa.uint8(), 0, 2**8 - 1), (pa.uint16(), 0, 2**16 - 1)):
        column("small", type, [low, None, high])
        column("large", type, [low, None, high])
        column("big", type, [0, None, high])
    for type, low, high in ((pa.int32(), -2**31, 2**31 - 1), (pa.uint32(), 0, 2**32 - 1)):
        column("large", type, [low, None, high])
        column("big", type, [0, None, high])
    for type in (pa.decimal64(18, 4), pa.decimal128(38, 4), pa.decimal32(9, 4)):
        column("price", type, [decimal.Decimal("12.5"), None, decimal.Decimal("-0.0001")])


def with_ids(first):
    """ROWS under other ids: the frames share a table."""
    return [(first + i, *row[1:]) for i, row in enumerate(ROWS)]


def check_frame(client, table, rows):
    """What a frame has become is written, and is these rows. Returns them as they are read."""
    harness.check_equal(put(client, "frames", table)["written"], len(rows), "rows of a frame")
    ids = pa.compute.field("id")
    got = read(client, "frames").filter((ids >= rows[0][0]) & (ids <= rows[-1][0])).sort_by("id")
    expected = plain(table_of(rows))
    for name, column in zip(expected.column_names, plain(got).columns):
        harness.check_equal(column.to_pylist(), expected[name].to_pylist(), f"column {name} of a frame")
    return got


def test_pandas(client):
    rows = with_ids(11)
    types = {"small": "Int32", "large": "Int64", "big": "UInt64", "ratio": "float64", "note": "str"}  # dates, decimals and bytes are objects
    frame = pandas.DataFrame({name: pandas.Series([row[i] for row in rows], dtype=types.get(name)) for i, name in enumerate(SCHEMA.names)})
    got = check_frame(client, pa.Table.from_pandas(frame, schema=SCHEMA, preserve_index=False), rows)
    back = got.to_pandas(types_mapper=pandas.ArrowDtype)
    check_frame(client, pa.Table.from_pandas(back, preserve_index=False), rows)
    pandas.testing.assert_frame_equal(back.astype(types)[list(types)], frame[list(types)])
    short = frame[["id", "note"]]
    categories = pa.Table.from_pandas(short.astype({"note": "category"}), preserve_index=False)
    harness.refused(pa.ArrowInvalid, lambda: put(client, "frames", categories), "dictionary of")
    stamped = pa.Table.from_pandas(short.assign(day=pandas.Timestamp("2026-01-01")), preserve_index=False)
    harness.refused(pa.ArrowInvalid, lambda: put(client, "frames", stamped),
                    'column "day" comes as timestamp[', 'but is date here: cast it, for example to pyarrow.date32()')
    indexed = pa.Table.from_pandas(short, preserve_index=True)
    harness.refused(pa.ArrowInvalid, lambda: put(client, "frames", indexed), 'column "__index_level_0__" is not among')


def test_polars(client):
    rows = with_ids(21)
    frame = polars.DataFrame(rows, orient="row", schema={
        "id": polars.Int64, "small": polars.Int32, "large": polars.Int64, "big": polars.UInt64, "ratio": polars.Float64, "day": polars.Date,
        "price": polars.Decimal(18, 4), "note": polars.String, "data": polars.Binary})
    got = check_frame(client, frame.to_arrow(), rows)
    harness.check(polars.from_arrow(got).equals(frame), "the frame that is read is another one")
    harness.check_equal(polars.from_arrow(got)["price"].sum(), decimal.Decimal(0), "a sum of prices")


def test_duckdb(client):
    rows = with_ids(31)
    given = table_of(rows)
    duckdb.sql("create table frame (id bigint, small integer, large bigint, big ubigint, ratio double, day date, price decimal(18, 4), note varchar, data blob)")
    duckdb.sql("insert into frame from given")
    got = check_frame(client, duckdb.sql("from frame").to_arrow_table(), rows)
    harness.check_equal(duckdb.sql("from got order by id").fetchall(), rows, "rows of DuckDB")
    harness.check_equal(duckdb.sql("select sum(small), sum(price), max(day) from got").fetchall(), [(-2, decimal.Decimal(0), datetime.date(9999, 12, 31))], "sums")


def test_index_and_hash(client):
    keys = pa.array(range(0, 140_000, 2), pa.uint64())
    pairs = pa.table({"value": pa.array(range(70_000), pa.uint32()), "key": keys})
    for name in ("orders", "counts"):
        harness.check_equal(put(client, name, pairs)["written"], 70_000, name)
    harness.check_equal(read(client, "orders")["value"].to_pylist(), list(range(70_000)), "values in the order of their keys")
    for name, type, keys in (("floats", pa.float64(), [float("-inf"), -1e300, -5e-324, 0.0, 5e-324, 2.5, float("inf")]),
                             ("ints", pa.int64(), [-2**63, -1, 0, 1, 2**63 - 1])):
        table = pa.table({"key": pa.array(keys, type), "value": pa.array([2**64 - 1 - i for i in range(len(keys))], pa.uint64())})
        put(client, name, table.take(list(range(len(keys)))[::-1]))
        harness.check_equal(read(client, name).to_pydict(), table.to_pydict(), f"{name}: rows in the order of their keys")
    put(client, "days", pa.table({"key": [datetime.date(1, 1, 1)], "value": pa.array([9], pa.uint64())}))
    blobs = pa.table({"key": pa.array([1, 2, 3], pa.uint64()), "value": pa.array([b"", b"\0\xff", bytes(range(256)) * 300])})
    put(client, "blobs", blobs)
    harness.check_equal(read(client, "blobs").to_pydict(), blobs.to_pydict(), "bytes of an index")
    docs = pa.table({"key": pa.array([1, 2], pa.uint64()), "value": ["{}", "long" * 50_000]})
    put(client, "docs", docs)
    harness.check_equal(plain(read(client, "docs"), "key")["value"].to_pylist(), ["{}", "long" * 50_000], "strings of an index")


def test_more_rows_than_the_engine_takes_at_once(client):
    table = pa.table({"id": pa.array(range(1_100_003), pa.int64())})
    harness.check_equal(put(client, "ids", table, chunk=2_000_000), {"batches": 1, "written": 1_100_003, "refused": 0, "unknown": 0}, "total")
    harness.check_equal(read(client, "ids")["id"].to_numpy().sum(), 1_100_003 * 1_100_002 // 2, "sum")


def test_refusals(client):
    def typed(**columns):
        put(client, "typed", pa.table({"id": pa.array([1]), **columns}))

    harness.refused(pa.ArrowInvalid, lambda: typed(small=pa.array([1])),
                    'column "small" comes as int64, but is int32 here: cast it, for example to pyarrow.int32()')
    harness.refused(pa.ArrowInvalid, lambda: typed(big=pa.array([-1], pa.int8())), 'column "big": row 0 is negative')
    harness.refused(pa.ArrowInvalid, lambda: typed(price=pa.array([MOST * 10], pa.decimal128(38, 4))),
                    'column "price": row 0 has more than 18 digits')
    harness.refused(pa.ArrowInvalid, lambda: typed(price=pa.array([decimal.Decimal(1)], pa.decimal128(38, 2))),
                    "comes as decimal128(38, 2), but is decimal here: cast it, for example to pyarrow.decimal128(18, 4)")
    harness.refused(pa.ArrowInvalid, lambda: typed(ratio=pa.array([1], pa.float32())), "comes as float, ")
    harness.refused(pa.ArrowInvalid, lambda: typed(note=pa.array([["a"]])), "comes as list, ")
    harness.refused(pa.ArrowInvalid, lambda: typed(note=pa.array([{"a": 1}])), "comes as struct, ")
    harness.refused(pa.ArrowInvalid, lambda: typed(note=pa.nulls(1)), "comes as null, ")
    harness.refused(pa.ArrowInvalid, lambda: typed(note=pa.array(["a"], pa.string_view())), "comes as string_view, ")
    harness.refused(pa.ArrowInvalid, lambda: typed(note=pa.array([b"\xff"], pa.binary())), "not UTF-8 from byte 0")
    put(client, "typed", pa.table({"id": [600], "note": pa.array([b"text"], pa.binary()), "data": pa.array(["text"])}))
    harness.refused(pa.ArrowInvalid, lambda: typed(unknown=pa.array([1])), 'column "unknown" is not among')
    harness.refused(pa.ArrowInvalid, lambda: put(client, "typed", pa.table({"small": pa.array([1], pa.int32())})), 'column "id" is missing')
    harness.refused(pa.ArrowInvalid, lambda: put(client, "typed", pa.table({"id": pa.array([1, None])})), 'column "id": row 1 is null')
    compressed = flight.FlightCallOptions(write_options=pa.ipc.IpcWriteOptions(compression="zstd"))
    harness.refused(pa.ArrowInvalid, lambda: put(client, "typed", table_of(ROWS), compressed), "the batch is compressed")
    harness.refused(pa.ArrowInvalid, lambda: put(client, "floats", pa.table({"key": [0.0, float("nan")], "value": pa.array([1, 2], pa.uint64())})),
                    "NaN, which is no key")
    harness.refused(KeyError, lambda: put(client, "nothing", table_of(ROWS)), "nothing")
    harness.refused(pa.ArrowInvalid, lambda: put(client, flight.FlightDescriptor.for_command('{"object": "typed", "limit": 3}'), table_of(ROWS)),
                    "DoPut takes an object alone")
    check_unchanged = {row["id"]: row for row in read(client, "typed").to_pylist()}
    harness.check_equal(check_unchanged[1]["big"], 2**64 - 1, "a row that was refused")


def exchange(client, command, batches):
    """The answers to batches of keys, one after the other."""
    writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(json.dumps(command)))
    writer.begin(batches[0].schema)
    answers = []
    for batch in batches:
        writer.write_batch(batch)
        answers.append(reader.read_chunk().data)
    writer.done_writing()
    harness.check(not any(True for _ in reader), "an answer too many")
    writer.close()
    for answer in answers:
        answer.validate(full=True)
    return answers


def test_lookups(client):
    def keys(*values):
        return pa.record_batch({"key": pa.array(values, pa.uint64())})

    for name in ("orders", "counts"):
        answers = exchange(client, {"object": name}, [keys(4, 5, 0), keys(), keys(*range(69_999, -1, -1))])
        harness.check_equal(answers[0].schema, pa.schema([pa.field("found", pa.bool_(), False), ("value", pa.uint64())]), "schema of answers")
        harness.check_equal(answers[0].to_pydict(), {"found": [True, False, True], "value": [2, None, 0]}, name)
        harness.check_equal(answers[1].num_rows, 0, "no key")
        harness.check_equal(answers[2]["value"].to_pylist(), [None if key % 2 else key // 2 for key in range(69_999, -1, -1)], "70,000 keys")
    ids = pa.record_batch({"id": pa.array([3, 99, 1, 3], pa.int64())})
    [answer] = exchange(client, {"object": "typed", "columns": ["note", "id", "price"]}, [ids])
    harness.check_equal(answer.schema.names, ["found", "note", "id", "price"], "columns asked for")
    harness.check_equal(answer["id"].to_pylist(), [3, None, 1, 3], "keys of rows")
    harness.check_equal(answer["price"].to_pylist(), [None, None, MOST, None], "prices")
    harness.check_equal(plain(pa.Table.from_batches([answer]), [("id", "ascending")])["note"].to_pylist()[0], ROWS[0][-2], "a note")
    [answer] = exchange(client, {"object": "typed"}, [ids])
    harness.check_equal(answer.schema.names, ["found", *SCHEMA.names[1:]], "all columns but the key")
    [answer] = exchange(client, {"object": "docs"}, [keys(2, 7)])
    harness.check_equal([len(value) if value is not None else None for value in answer["value"].to_pylist()], [200_000, None], "strings")
    [answer] = exchange(client, {"object": "blobs"}, [keys(3, 7, 1)])
    harness.check_equal(answer["value"].to_pylist(), [bytes(range(256)) * 300, None, b""], "bytes")
    for name, asked in (("floats", pa.array([-5e-324, 7], pa.float64())), ("ints", pa.array([-2**63, 7])),
                        ("days", pa.array([datetime.date(1, 1, 1), datetime.date(1970, 1, 1)]))):
        [answer] = exchange(client, {"object": name}, [pa.record_batch({"key": asked})])
        harness.check_equal(answer.to_pydict()["found"], [True, False], f"keys of {name}")
    pairs = {"day": pa.array([datetime.date(2026, 1, 1)] * 2, pa.date32()), "number": pa.array([1, 2])}
    put(client, "visits", pa.table({**pairs, "value": pa.array([7, 8], pa.uint64())}))
    [answer] = exchange(client, {"object": "visits"}, [pa.record_batch({"number": pa.array([2, 3]), "day": pairs["day"]})])
    harness.check_equal(answer.to_pydict(), {"found": [True, False], "value": [8, None]}, "keys of two parts")
    harness.refused(pa.ArrowException, lambda: exchange(client, {"object": "log"}, [ids]), "is a heap table")
    harness.refused(pa.ArrowInvalid, lambda: exchange(client, {"object": "orders"}, [ids]), 'column "key" is missing')


def field(number, content):
    def varint(value):
        out = b""
        while value > 127:
            out, value = out + bytes([value & 127 | 128]), value >> 7
        return out + bytes([value])
    return varint(number << 3 | 2) + varint(len(content)) + content


def unframed(message):
    """Header and body of a serialised message."""
    mark, length = struct.unpack("<II", message[:8])
    harness.check_equal(mark, 0xFFFFFFFF, "mark")
    return message[8:8 + length], message[8 + length:]


def test_malformed_messages(client):
    address = sys.argv[1]
    table = table_of(ROWS)
    schema = unframed(table.schema.serialize().to_pybytes())[0]
    header, body = unframed(table.to_batches()[0].serialize().to_pybytes())
    descriptor = field(1, b"\x08\x01" + field(3, b"broken"))
    chance = random.Random(25)
    codes = set()

    def changed(part, times):
        part = bytearray(part)
        for _ in range(times):
            at = chance.randrange(len(part))
            if chance.random() < 0.3:
                part[at:at + 8] = struct.pack("<q", chance.choice([0, -1, 1, 8, 2**31, 2**63 - 1, -2**63, chance.getrandbits(40)]))[:len(part) - at]
            else:
                part[at] = chance.getrandbits(8)
        return bytes(part)

    with grpc.insecure_channel(address) as channel:
        call = channel.stream_stream("/arrow.flight.protocol.FlightService/DoPut")
        for i in range(400):
            first = descriptor + field(2, schema if i % 4 else changed(schema, 2))
            batch = field(2, header if i % 4 == 1 else changed(header, 2)) + field(1000, changed(body[:2000], 3) + body[2000:] if i % 4 == 1 else body)
            messages = [first, batch] if i % 10 else [changed(first, 3), changed(batch, 2)]
            try:
                for _ in call(iter(messages), timeout=20):
                    pass
                codes.add("OK")
            except grpc.RpcError as error:
                codes.add(error.code().name)
    harness.check(codes <= {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED"} and "INVALID_ARGUMENT" in codes, f"codes: {codes}")
    put(client, "typed", table)
    harness.check_equal(plain(read(client, "typed").filter(pa.compute.field("id") <= 5)).equals(plain(table)), True, "the server goes on")


if __name__ == "__main__":
    with flight.connect(f"grpc://{sys.argv[1]}") as connected:
        harness.run_tests(globals(), connected)
