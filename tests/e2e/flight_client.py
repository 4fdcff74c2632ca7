"""What flight_test.py asks a server with pyarrow, in an environment that has it: flight_client.py HOST:PORT. Prints one line a fact."""
import datetime
import decimal
import json
import math
import sys

import pyarrow as pa
import pyarrow.flight as flight

import harness

SCHEMA = pa.schema([pa.field("id", pa.int64(), False), ("small", pa.int32()), ("large", pa.int64()), ("big", pa.uint64()),
                    ("ratio", pa.float64()), ("day", pa.date32()), ("price", pa.decimal64(18, 4)), ("note", pa.binary())])
ROWS = {
    1: (2**31 - 1, 2**63 - 1, 2**64 - 1, math.inf, datetime.date(9999, 12, 31), decimal.Decimal("99999999999999.9999"),
        "ünïcode, \"quoted\"".encode()),
    2: (-2**31, -2**63, 0, -1e300, datetime.date(1, 1, 1), decimal.Decimal("-99999999999999.9999"), b""),
    3: (None,) * 7,
    4: (0, 7, 2**63, 5e-324, datetime.date(1969, 12, 31), decimal.Decimal("0.0001"), b"x" * 60_000),
}


def command(**fields):
    return flight.FlightDescriptor.for_command(json.dumps(fields))


def read(client, info):
    """The rows of all endpoints, each read once."""
    parts = [client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints]
    table = pa.concat_tables(parts)
    table.validate(full=True)
    harness.check_equal(table.schema, info.schema, "schema of the rows and of the info")
    return table


def refused(error, said, call):
    try:
        call()
    except error as refusal:
        harness.check(said in str(refusal), f"'{said}' is not in: {refusal}")
    else:
        raise AssertionError(f"not refused: {said}")


def test_values_of_all_types(client):
    path = flight.FlightDescriptor.for_path("values")
    harness.check_equal(client.get_schema(path).schema, SCHEMA, "schema")
    table = read(client, client.get_flight_info(path))
    harness.check_equal(table.schema, SCHEMA, "schema of the rows")
    rows = {row[0]: row[1:] for row in zip(*(column.to_pylist() for column in table.columns))}
    harness.check_equal(rows, ROWS, "rows")
    harness.check_equal([column.null_count for column in table.columns], [0] + [1] * 7, "nulls")


def test_no_row(client):
    table = read(client, client.get_flight_info(flight.FlightDescriptor.for_path("empty")))
    harness.check_equal((table.num_rows, table.schema.names), (0, ["id", "note"]), "rows and columns")


def test_many_rows(client):
    table = read(client, client.get_flight_info(flight.FlightDescriptor.for_path("many")))
    harness.check_equal(table.num_rows, 70_000, "rows")
    rows = table.sort_by("id")
    harness.check_equal(rows["id"].to_pylist(), list(range(70_000)), "ids")
    harness.check_equal(rows["note"].to_pylist(), [None if i % 7 == 0 else b"%d" % i for i in range(70_000)], "notes")


def test_shares(client):
    info = client.get_flight_info(command(object="many", shares=3))
    harness.check_equal(len(info.endpoints), 3, "endpoints")
    table = read(client, info)
    harness.check_equal(sorted(table["id"].to_pylist()), list(range(70_000)), "ids of three shares")


def test_index(client):
    info = client.get_flight_info(command(object="index", shares=2))
    harness.check_equal((info.total_records, info.ordered), (1000, True), "records and order")
    harness.check_equal(read(client, info)["key"].to_pylist(), list(range(1000)), "keys in order")


def test_columns_and_limit(client):
    table = read(client, client.get_flight_info(command(object="values", columns=["price", "id"])))
    harness.check_equal(table.schema.names, ["price", "id"], "columns")
    table = read(client, client.get_flight_info(command(object="many", limit=12)))
    harness.check_equal(table.num_rows, 12, "rows of a limit")


def test_list(client):
    infos = list(client.list_flights())
    harness.check_equal([info.descriptor.path for info in infos], [[name] for name in (b"empty", b"index", b"lineitem", b"many", b"values")],
                        "flights")
    harness.check_equal(read(client, infos[4]).num_rows, len(ROWS), "rows by a listed ticket")
    harness.check_equal(list(client.list_actions()), [], "actions")


def test_refusals(client):
    path = flight.FlightDescriptor.for_path("values")
    ticket = client.get_flight_info(path).endpoints[0].ticket.ticket
    forged = flight.Ticket(ticket[:-1] + bytes([ticket[-1] ^ 1]))
    refused(pa.ArrowInvalid, "damaged", lambda: client.do_get(forged).read_all())
    refused(pa.ArrowInvalid, "ticket: 4 bytes", lambda: client.do_get(flight.Ticket(b"rows")).read_all())
    refused(KeyError, "nothing", lambda: client.get_flight_info(flight.FlightDescriptor.for_path("nothing")))
    refused(pa.ArrowInvalid, '"filter", which is unknown', lambda: client.get_flight_info(command(object="many", filter="id > 1")))
    refused(pa.ArrowInvalid, "must be a JSON object", lambda: client.get_schema(flight.FlightDescriptor.for_command(b"select 1")))
    refused(NotImplementedError, "no actions", lambda: list(client.do_action("drop")))


if __name__ == "__main__":
    with flight.connect(f"grpc://{sys.argv[1]}") as connected:
        harness.run_tests(globals(), connected)
