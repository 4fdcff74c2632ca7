"""What flight_test.py asks a server with pyarrow, in an environment that has it: flight_client.py HOST:PORT ERIS. Prints one line a fact."""
import concurrent.futures
import datetime
import decimal
import json
import math
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as flight

import harness

SCHEMA = pa.schema([pa.field("id", pa.int64(), False), ("small", pa.int32()), ("large", pa.int64()), ("big", pa.uint64()),
                    ("ratio", pa.float64()), ("day", pa.date32()), ("price", pa.decimal64(18, 4)), ("note", pa.string()),
                    ("data", pa.binary())])
ROWS = {
    1: (2**31 - 1, 2**63 - 1, 2**64 - 1, math.inf, datetime.date(9999, 12, 31), decimal.Decimal("99999999999999.9999"),
        "ünïcode, \"quoted\"", b"\x00\xff"),
    2: (-2**31, -2**63, 0, -1e300, datetime.date(1, 1, 1), decimal.Decimal("-99999999999999.9999"), "", b""),
    3: (None,) * 8,
    4: (0, 7, 2**63, 5e-324, datetime.date(1969, 12, 31), decimal.Decimal("0.0001"), "x" * 60_000, b"raw"),
}


def eris(*args, input=None):
    subprocess.run((sys.argv[2], *args), input=input, check=True, text=True, stdout=subprocess.DEVNULL)


def command(**fields):
    return flight.FlightDescriptor.for_command(json.dumps(fields))


def read(client, info):
    """The rows of all endpoints, each read once."""
    parts = [client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints]
    table = pa.concat_tables(parts)
    table.validate(full=True)
    harness.check_equal(table.schema, info.schema, "schema of the rows and of the info")
    return table


def test_values_of_all_types(client):
    path = flight.FlightDescriptor.for_path("values")
    harness.check_equal(client.get_schema(path).schema, SCHEMA, "schema")
    table = read(client, client.get_flight_info(path))
    harness.check_equal(table.schema, SCHEMA, "schema of the rows")
    rows = {row[0]: row[1:] for row in zip(*(column.to_pylist() for column in table.columns))}
    harness.check_equal(rows, ROWS, "rows")
    harness.check_equal([column.null_count for column in table.columns], [0] + [1] * 8, "nulls")


def test_no_row(client):
    table = read(client, client.get_flight_info(flight.FlightDescriptor.for_path("empty")))
    harness.check_equal((table.num_rows, table.schema.names), (0, ["id", "note"]), "rows and columns")


def test_many_rows(client):
    table = read(client, client.get_flight_info(flight.FlightDescriptor.for_path("many")))
    harness.check_equal(table.num_rows, 70_000, "rows")
    rows = table.sort_by("id")
    harness.check_equal(rows["id"].to_pylist(), list(range(70_000)), "ids")
    harness.check_equal(rows["note"].to_pylist(), [None if i % 7 == 0 else str(i) for i in range(70_000)], "notes")


def test_shares(client):
    info = client.get_flight_info(command(object="many", shares=5))
    harness.check_equal(len(info.endpoints), 5, "endpoints")
    table = read(client, info)
    harness.check_equal(sorted(table["id"].to_pylist()), list(range(70_000)), "ids of five shares")


def test_index(client):
    info = client.get_flight_info(command(object="index", shares=2))
    harness.check_equal((info.total_records, info.ordered), (1000, True), "records and order")
    harness.check_equal(read(client, info)["key"].to_pylist(), list(range(1000)), "keys in order")


def test_columns_and_limit(client):
    table = read(client, client.get_flight_info(command(object="values", columns=["price", "id"])))
    harness.check_equal(table.schema.names, ["price", "id"], "columns")
    table = read(client, client.get_flight_info(command(object="many", limit=12)))
    harness.check_equal(table.num_rows, 12, "rows of a limit")


def test_filter(client):
    asked = command(object="many", columns=["id", "id + 1 as next"], filter="id >= 69998 or note is null and id < 10")
    table = read(client, client.get_flight_info(asked))
    harness.check_equal(table.schema, client.get_schema(asked).schema, "schema")
    harness.check_equal(sorted(zip(table["id"].to_pylist(), table["next"].to_pylist())),
                        [(id, id + 1) for id in (0, 7, 69998, 69999)], "filtered rows")
    harness.check_equal(read(client, client.get_flight_info(command(object="many", filter="id < 0", shares=2))).num_rows, 0, "no row")


def test_aggregates(client):
    asked = dict(object="values", filter="id < 4", aggregates=["count(*), count(small) as small", "sum(price) as price"])
    for fields in (asked, asked | {"shares": 4}):
        info = client.get_flight_info(command(**fields))
        harness.check_equal(len(info.endpoints), 1, "endpoints")
        harness.check_equal(read(client, info).to_pylist(), [{"count(*)": 3, "small": 2, "price": decimal.Decimal(0)}], "aggregates")
    groups = read(client, client.get_flight_info(command(object="many", group_by=["note"], aggregates="count(*) as n", filter="id < 15")))
    harness.check_equal(groups["n"].to_pylist()[0], 3, "rows without a note, which come first")
    harness.check_equal(groups.num_rows, 13, "groups")


def test_excluded_shares(client):
    """The ids of `many` are cut between the AEUs, so that a filter on one end of them leaves an endpoint alone."""
    info = client.get_flight_info(command(object="many", filter="id < 100", shares=1))
    harness.check_equal(len(info.endpoints), 1, "endpoints of a filter")
    harness.check_equal(sorted(read(client, info)["id"].to_pylist()), list(range(100)), "rows of a filter")
    harness.check_equal(len(client.get_flight_info(command(object="many", shares=1)).endpoints), 4, "endpoints without it")


def test_ranges(client):
    for shares in ({}, {"shares": 2}):
        table = read(client, client.get_flight_info(command(object="index", range={"lo": 498, "hi": 502}, **shares)))
        harness.check_equal(table.to_pydict(), {"key": [498, 499, 500, 501], "value": [3 * key for key in range(498, 502)]}, "range")
        pairs = read(client, client.get_flight_info(command(object="pairs", range={"lo": [1, "1970-01-03"], "hi": [2]}, **shares)))
        harness.check_equal(pairs.column(1).to_pylist(), [datetime.date(1970, 1, day) for day in (3, 4)], "second parts of a range")


def act(client, action, message):
    """Flight's own actions take a message whose first field is the endpoint or the info."""
    size, length = len(message), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    body = b"\n" + length + bytes([size]) + message
    return [result.body.to_pybytes() for result in client.do_action(flight.Action(action, body))]


def test_endpoints_tell_of_their_shares(client):
    info = client.get_flight_info(command(object="index", shares=2))
    shares = [json.loads(endpoint.app_metadata) for endpoint in info.endpoints]
    harness.check_equal([share["range"] for share in shares], [{"hi": 250}, {"lo": 250, "hi": 500}, {"lo": 500, "hi": 750}, {"lo": 750}], "ranges")
    harness.check_equal(sum(share["rows"] for share in shares), 1000, "rows")
    harness.check_equal([endpoint.locations for endpoint in info.endpoints], [[flight.Location("grpc+tcp://db1.example:7411")]] * 4,
                        "locations")
    table = client.get_flight_info(command(object="many", shares=2))
    harness.check_equal({json.loads(endpoint.app_metadata)["aeu"] for endpoint in table.endpoints}, set(range(4)), "AEUs")


def test_renewed(client):
    """The server keeps snapshots for two seconds."""
    info = client.get_flight_info(command(object="many", shares=2))
    endpoint = info.endpoints[0]
    for _ in range(3):
        time.sleep(1.2)
        [renewed] = act(client, "RenewFlightEndpoint", endpoint.serialize())
        again = flight.FlightEndpoint.deserialize(renewed)
        harness.check_equal((again.ticket, again.app_metadata), (endpoint.ticket, endpoint.app_metadata), "renewed endpoint")
        harness.check(again.expiration_time.value > endpoint.expiration_time.value, "a later end")
        endpoint = again
    harness.check_equal(read(client, info).num_rows, 70_000, "rows of a renewed snapshot")


def test_expired(client):
    info = client.get_flight_info(command(object="many", shares=2))
    partly = client.do_get(info.endpoints[0].ticket)
    partly.read_chunk()
    partly.cancel()
    time.sleep(2.6)
    for endpoint in info.endpoints:
        harness.refused(pa.ArrowInvalid, lambda: client.do_get(endpoint.ticket).read_all(), "call GetFlightInfo again")
    harness.refused(pa.ArrowInvalid, lambda: act(client, "RenewFlightEndpoint", endpoint.serialize()), "call GetFlightInfo again")


def test_cancelled(client):
    info = client.get_flight_info(command(object="many", shares=2))
    harness.check_equal(act(client, "CancelFlightInfo", info.serialize()), [b"\x08\x01"], "cancelled")
    harness.refused(pa.ArrowInvalid, lambda: client.do_get(info.endpoints[0].ticket).read_all(), "call GetFlightInfo again")
    path = client.get_flight_info(flight.FlightDescriptor.for_path("many"))
    harness.check_equal(act(client, "CancelFlightInfo", path.serialize()), [b"\x08\x03"], "not to be cancelled")
    harness.check_equal(read(client, path).num_rows, 70_000, "rows of an info that cannot be cancelled")


def test_dropped(client):
    info = client.get_flight_info(command(object="dropped", shares=2))
    eris("drop", "dropped")
    harness.refused(KeyError, lambda: client.do_get(info.endpoints[0].ticket).read_all(), "dropped")
    eris("create", "dropped", "--schema", "id:int64", "--key", "id")
    harness.refused(KeyError, lambda: client.do_get(info.endpoints[0].ticket).read_all(), "has been dropped")
    eris("drop", "dropped")


MOVING = 50_000  # rows of each object before its ranges move
START = 7        # their value


def before_writers(schema, low):
    keys = pa.array(range(low, MOVING), schema.types[0])
    return pa.Table.from_arrays([keys, pa.repeat(pa.scalar(START, schema.types[1]), len(keys))], schema=schema)


def check_snapshot(client, info, expected):
    """The rows from before the writers, each once."""
    rows = read(client, info)
    harness.check(rows.sort_by(rows.column_names[0]).equals(expected), f"{rows.num_rows} rows of a snapshot, {expected.num_rows} expected, or others")


def check_new_snapshot(client, descriptor, untouched):
    """Which of the writers' rows it has is unknown, but two readings give the same, and it has all that no writer touches."""
    info = client.get_flight_info(descriptor)
    rows, again = (its.sort_by(its.column_names[0]) for its in (read(client, info), read(client, info)))
    harness.check(rows.equals(again), f"{rows.num_rows} rows of a new snapshot, then {again.num_rows}, or others")
    keys = rows.column(0)
    harness.check_equal(pc.count_distinct(keys).as_py(), len(keys), "different keys of a new snapshot")
    harness.check(pc.all(pc.is_in(untouched, value_set=keys)).as_py(), "rows of a new snapshot are missing")


def test_shares_while_ranges_move(client):
    """Ranges of a clustered table and of an index move, rows of a heap table too, while two writers write: each snapshot has its rows, each once."""
    names = ("moving", "moving_heap", "moving_index")
    cuts = {"moving": {"filter": "id >= 12345"}, "moving_heap": {"filter": f"value = {START} and id >= 12345"}, "moving_index": {"range": {"lo": 12_345}}}
    asked = [(command(object=name, shares=8, **cut), low) for name in names for cut, low in (({}, 0), (cuts[name], 12_345))]
    asked.append((command(object="moving", shares=8, filter=f"value = {START}"), 0))
    infos = [client.get_flight_info(descriptor) for descriptor, _ in asked]
    # What is compared is made now: a reader that takes a second for it would lose its snapshot.
    expected = [before_writers(info.schema, low) for info, (_, low) in zip(infos, asked)]
    untouched = [rows.column(0).filter(pc.greater(pc.bit_wise_and(rows.column(0).cast(pa.int64()), 7), 1)) for rows in expected]
    moved = threading.Event()

    def move():
        for turn in range(4):
            for name in ("moving", "moving_index"):
                eris("balancer", "move", name, "--from", "10000", "--to", "40000", "--aeu", str(turn % 4))
            eris("balancer", "rebalance", "moving_heap")

    def write(number):
        turn = 0
        while not moved.is_set():
            turn += 1
            for name in names:
                schema = client.get_schema(flight.FlightDescriptor.for_path(name)).schema
                first = 100_000 + (2 * turn + number) * 1000
                keys = pa.array(range(first, first + 1000) if name == "moving_heap" else range(number, 60_000, 8), schema.types[0])
                writer, _ = client.do_put(flight.FlightDescriptor.for_path(name), schema)
                writer.write_table(pa.Table.from_arrays([keys, pa.repeat(pa.scalar(100 + turn, schema.types[1]), len(keys))], schema=schema), 500)
                writer.close()

    def look(check, asked, rows):
        """At least once while nothing is moved any more."""
        while True:
            last = moved.is_set()
            check(client, asked, rows)
            if last:
                return

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        works = [pool.submit(write, number) for number in range(2)]
        works += [pool.submit(look, check_snapshot, *each) for each in zip(infos, expected) for _ in range(2)]
        works += [pool.submit(look, check_new_snapshot, descriptor, keys) for (descriptor, _), keys in zip(asked[:-1], untouched)]
        try:
            move()
        finally:
            moved.set()
        for work in works:
            work.result()


def test_list(client):
    infos = list(client.list_flights())
    harness.check_equal([info.descriptor.path for info in infos], [[name] for name in (b"empty", b"index", b"lineitem", b"many", b"moving", b"moving_heap", b"moving_index", b"pairs", b"values")],
                        "flights")
    harness.check_equal(read(client, infos[-1]).num_rows, len(ROWS), "rows by a listed ticket")
    harness.check_equal([action.type for action in client.list_actions()], ["CancelFlightInfo", "RenewFlightEndpoint"], "actions")


def test_refusals(client):
    path = flight.FlightDescriptor.for_path("values")
    ticket = client.get_flight_info(path).endpoints[0].ticket.ticket
    forged = flight.Ticket(ticket[:-1] + bytes([ticket[-1] ^ 1]))
    harness.refused(pa.ArrowInvalid, lambda: client.do_get(forged).read_all(), "damaged")
    harness.refused(pa.ArrowInvalid, lambda: client.do_get(flight.Ticket(b"rows")).read_all(), "ticket: 4 bytes")
    harness.refused(KeyError, lambda: client.get_flight_info(flight.FlightDescriptor.for_path("nothing")), "nothing")
    harness.refused(pa.ArrowInvalid, lambda: client.get_flight_info(command(object="many", filters="id > 1")), '"filters", which is unknown')
    harness.refused(pa.ArrowInvalid, lambda: client.get_flight_info(command(object="many", filter="id <")), "at character 5")
    harness.refused(pa.ArrowInvalid, lambda: client.get_schema(command(object="many", filter="nothing < 1")), "nothing")
    harness.refused(pa.ArrowInvalid, lambda: client.get_schema(flight.FlightDescriptor.for_command(b"select 1")), "must be a JSON object")
    harness.refused(NotImplementedError, lambda: list(client.do_action("drop")), 'action "drop" is unknown')


if __name__ == "__main__":
    with flight.connect(f"grpc://{sys.argv[1]}") as connected:
        harness.run_tests(globals(), connected)
