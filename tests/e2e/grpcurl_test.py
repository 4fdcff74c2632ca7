"""A client that knows nothing of ERIS: grpcurl finds the services by reflection and calls them.

grpcurl is built once into the build directory, at the last version that Debian's Go 1.19 compiles.
"""
import base64
import json
import os
import struct
import subprocess

import harness

GRPCURL = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.8.8"


def build_grpcurl(build):
    with harness.locked(build, "grpcurl"):
        return _build_grpcurl(build)


def _build_grpcurl(build):
    program = os.path.join(os.path.abspath(build), "tools", "grpcurl")
    if os.path.exists(program):
        return program
    go, env = harness.find_go(build)
    env["GOFLAGS"] += " -mod=mod"
    done = subprocess.run([go, "install", GRPCURL], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        harness.skip(GRPCURL, done.stderr[-2000:])
    return program


def column(*elements):
    data = struct.pack(f"<{len(elements)}Q", *elements)
    return {"type": "COLUMN_TYPE_UINT64", "data": base64.b64encode(data).decode()}


def dates(*elements):
    data = struct.pack(f"<{len(elements)}i", *elements)
    return {"type": "COLUMN_TYPE_DATE32", "data": base64.b64encode(data).decode()}


def main():
    programs = harness.Programs(harness.parse_args().build)
    grpcurl = build_grpcurl(programs.build)
    with harness.Server(programs) as server:
        def call(method, request=None):
            data = [] if request is None else ["-d", json.dumps(request)]
            done = server.run(grpcurl, "-plaintext", *data, server.address, *method.split())
            print(f"$ grpcurl -plaintext {' '.join(data)} {server.address} {method}\n{done.stdout}",
                  flush=True)
            return done.stdout

        services = call("list").split()
        for service in ("eris.v1.Admin", "eris.v1.Catalog", "eris.v1.Data", "eris.v1.Queries", "grpc.health.v1.Health",
                        "arrow.flight.protocol.FlightService"):
            harness.check(service in services, f"{service} is not listed")
        harness.check("rpc Lookup" in call("describe eris.v1.Data"), "Lookup is not described")
        health = json.loads(call("grpc.health.v1.Health/Check", {}))
        harness.check_equal(health, {"status": "SERVING"}, "health")
        for service in ("eris.v1.Data", "eris.v1.Queries", "eris.v1.Catalog", "eris.v1.Admin", "arrow.flight.protocol.FlightService"):
            health = json.loads(call("grpc.health.v1.Health/Check", {"service": service}))
            harness.check_equal(health, {"status": "SERVING"}, f"health of {service}")

        def write(name, *columns):
            return json.loads(call("eris.v1.Data/Write", {"object": name, "mode": "WRITE_MODE_UPSERT",
                                                          "columns": columns}))

        def numbers(answer, form, i=0):
            return struct.unpack(form, base64.b64decode(answer["columns"][i]["data"]))

        call("eris.v1.Catalog/CreateObject", {"name": "orders", "expected": {"lo": 0, "hi": 100}})
        written = write("orders", column(1, 2, 7), column(370, 781, 392))
        harness.check_equal(written["written"], "3", "rows written")
        found = json.loads(call("eris.v1.Data/Lookup", {"object": "orders", "keys": [column(1, 7, 8)]}))
        harness.check_equal(numbers(found, "<3Q")[:2], (370, 392), "values")
        harness.check_equal(base64.b64decode(found["found"]), b"\x03", "found")
        rows = json.loads(call("eris.v1.Data/Scan", {"object": "orders"}))
        harness.check_equal([one["name"] for one in rows["schema"]["columns"]], ["key", "value"], "columns")
        harness.check_equal(numbers(rows, "<3Q"), (1, 2, 7), "scanned keys")
        key = {"expression": {"kind": "KIND_COLUMN", "column": "key"}, "name": "key"}
        rows = json.loads(call("eris.v1.Data/Scan", {"object": "orders", "query": {
            "direction": "SCAN_DIRECTION_BACKWARD", "values": {"lo": 371, "last": 781}, "columns": [key]}}))
        harness.check_equal(numbers(rows, "<2Q"), (7, 2), "keys scanned backward")
        harness.check_equal(len(rows["columns"]), 1, "columns of a scan of keys only")
        sums = json.loads(call("eris.v1.Data/Aggregate", {"object": "orders", "range": {"lo": 2}}))
        harness.check_equal(sums, {"count": "2", "min": "392", "max": "781", "sum_low": "1173",
                                   "sum_high": "0", "first_key": {"u64": "2"},
                                   "last_key": {"u64": "7"}}, "aggregate")

        # Keys of two parts.
        def of_type(name, kind):
            return {"name": name, "type": f"COLUMN_TYPE_{kind}"}
        call("eris.v1.Catalog/CreateObject", {"name": "visits", "schema": {
            "columns": [of_type("user", "UINT64"), of_type("day", "DATE32"), of_type("count", "UINT64")],
            "key": ["user", "day"]}})
        write("visits", column(7, 7, 8), dates(-1, 5, 0), column(1, 2, 3))
        found = json.loads(call("eris.v1.Data/Lookup", {"object": "visits", "keys": [column(7, 8), dates(5, 1)]}))
        harness.check_equal(base64.b64decode(found["found"]), b"\x01", "found")
        rows = json.loads(call("eris.v1.Data/Scan", {"object": "visits", "query": {"range": {
            "start": {"u64": 7}, "startSecond": {"date32": 0}, "end": {"u64": 8},
            "endSecond": {"date32": 1}}}}))
        harness.check_equal(numbers(rows, "<2Q"), (7, 8), "first parts")
        harness.check_equal(numbers(rows, "<2i", 1), (5, 0), "second parts")
        sums = json.loads(call("eris.v1.Data/Aggregate", {"object": "visits"}))
        harness.check_equal((sums["first_second"], sums["last_second"]),
                            ({"date32": -1}, {"date32": 0}), "second parts of an aggregate's ends")
        call("eris.v1.Catalog/DropObject", {"name": "visits"})

        call("eris.v1.Catalog/CreateObject", {"name": "sessions", "kind": "OBJECT_KIND_HASH"})
        write("sessions", column(1, 2), column(5, 6))
        found = json.loads(call("eris.v1.Data/Lookup", {"object": "sessions", "keys": [column(2)]}))
        harness.check_equal(numbers(found, "<Q"), (6,), "of a hash")
        shown = json.loads(call("eris.v1.Catalog/GetObject", {"name": "sessions"}))["object"]
        harness.check_equal(shown["kind"], "OBJECT_KIND_HASH", "kind")
        call("eris.v1.Catalog/DropObject", {"name": "sessions"})
        stats = json.loads(call("eris.v1.Admin/GetStats", {}))
        harness.check("aeus" in stats, "stats")
        call("eris.v1.Admin/GetTopology", {})
        balancer = json.loads(call("eris.v1.Admin/GetBalancer", {}))
        harness.check_equal(balancer["options"]["algorithm"], "BALANCE_ALGORITHM_ONE_SHOT", "balancer")
        memory = json.loads(call("eris.v1.Admin/GetMemory", {}))
        harness.check_equal(memory["objects"][0]["object"], "orders", "object")


if __name__ == "__main__":
    main()
