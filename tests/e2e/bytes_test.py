"""Byte-string values as scripts see them: documents, files, binary data, limits."""
import base64
import json
import os
import subprocess
import tempfile

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED = range(5)
VALUE_BYTES_MAX = 1 << 20


def raw(server, *arguments, input=None):
    return subprocess.run([server.programs.eris, *arguments], env=server.env, input=input,
                          capture_output=True)


def test_documents(server, directory):
    server.eris("create", "docs", "--expect", "0:1000", "--value-type", "string")
    harness.check("string" in server.eris("list").stdout, "list shows the type of values")
    harness.check_equal(server.eris_json("list", "docs")[0]["schema"], "key:uint64,value:string", "list")
    document = json.dumps({"name": "Änne", "text": "a=b\n"}, ensure_ascii=False)
    path = os.path.join(directory, "doc.json")
    with open(path, "w") as file:
        file.write(document)
    harness.check_equal(server.eris_json("put", "docs", f"1={document}", f"2=@{path}", "3=", "4=@@x"),
                        {"keys": "4", "replaced": "0"}, "put")
    rows = server.eris_json("get", "docs", "1", "2", "3", "4", "5", code=NOT_FOUND)
    harness.check_equal([row and row["value"] for row in rows], [document, document, "", "@x", None], "get")
    harness.check_equal(raw(server, "get", "docs", "2", "--raw").stdout.decode(), document, "raw")
    server.eris("get", "docs", "1", "2", "--raw", code=INVALID)
    lines = "".join(f'{key} {{"id": {key}, "at": "@x"}}\n' for key in range(100, 400))
    server.eris("put", "docs", "-", input=lines)
    row = server.eris_json("get", "docs", "399")[0]
    harness.check_equal(row["value"], '{"id": 399, "at": "@x"}', "a line of stdin")
    harness.check_equal(server.eris("get", "docs", "3").stdout.split(), ["key", "value", "3"], "empty")
    shown = server.eris_json("scan", "docs")
    harness.check_equal([row["key"] for row in shown],
                        ["1", "2", "3", "4", *map(str, range(100, 400))], "keys of a scan")
    harness.check_equal([row["value"] for row in shown[:4]], [document, document, "", "@x"], "scan")
    harness.check_equal(server.eris_json("scan", "docs", "--reverse", "--limit", "1")[0]["value"],
                        '{"id": 399, "at": "@x"}', "backward")
    harness.check_equal(server.eris("scan", "docs", "--keys-only", "--to", "3").stdout.split(),
                        ["key", "1", "2"], "keys only")
    harness.check_equal(server.eris_json("scan", "docs", "--from", "3", "--to", "5", "--hex")[1]["value"],
                        "4078", "hex")
    server.eris("erase", "docs", "1")
    server.eris("get", "docs", "1", code=NOT_FOUND)


def test_binary(server, directory):
    server.eris("create", "bin", "--value-type", "bytes")
    data = bytes(range(256)) * 20
    server.eris("put", "bin", f"1={data.hex()}", "--hex")
    server.eris("put", "bin", f"2={base64.b64encode(data).decode()}", "--base64")
    for key in "1", "2":
        harness.check_equal(raw(server, "get", "bin", key, "--raw").stdout, data, f"key {key}")
    harness.check_equal(server.eris_json("get", "bin", "1", "--hex")[0]["value"], data.hex(), "hex")
    harness.check_equal(base64.b64decode(server.eris_json("get", "bin", "1")[0]["value_base64"]), data,
                        "no UTF-8")
    server.eris("put", "bin", "1=0", "--hex", code=INVALID)
    server.eris("put", "bin", "1=a$", "--base64", code=INVALID)
    server.eris("put", "bin", "1=@/no/such/file", code=INVALID)
    server.eris("get", "bin", "1", "--hex", "--base64", code=INVALID)


def test_limits(server, directory):
    server.eris("create", "large", "--value-type", "bytes")
    path = os.path.join(directory, "large")
    with open(path, "wb") as file:
        file.write(os.urandom(VALUE_BYTES_MAX))
    # More together than one write, or one answer, carries.
    server.eris("put", "large", *[f"{key}=@{path}" for key in range(70)])
    shown = server.eris_json("get", "large", *map(str, range(70)), "--base64")
    with open(path, "rb") as file:
        expected = base64.b64encode(file.read()).decode()
    harness.check(all(row["value"] == expected for row in shown) and len(shown) == 70, "large values")
    with open(path, "ab") as file:
        file.write(b"x")
    refused = server.eris("put", "large", f"1=@{path}", code=INVALID)
    harness.check("1048576" in refused.stderr, refused.stderr)
    # The same from the server: what the line of stdin says is not read from a file.
    server.refused("put", "large", "-", input="7 " + "x" * (VALUE_BYTES_MAX + 1),
                   said="1048577 bytes; the limit is 1048576")


def test_conditions(server, directory):
    server.eris("create", "locks", "--value-type", "string")
    harness.check_equal(server.eris("put", "locks", "1=ann", "--if-absent").stdout.split(),
                        ["key", "written", "before", "1", "yes", "-"], "insert")
    harness.check_equal(
        server.eris_json("put", "locks", "1=bob", "2=bob", "--if-absent", code=NOT_FOUND),
        [{"key": "1", "written": False, "before": "ann"},
         {"key": "2", "written": True, "before": None}], "insert again")
    server.eris("put", "locks", "1=ann:carl", "2=bob:a much longer owner", "--compare-and-set")
    server.eris("put", "locks", "1=ann:dora", "--compare-and-set", code=NOT_FOUND)
    server.eris("put", "locks", "1=ann", "--compare-and-set", code=INVALID)
    harness.check_equal([row["value"] for row in server.eris_json("get", "locks", "1", "2")],
                        ["carl", "a much longer owner"], "after")
    server.eris("put", "locks", "9=x", "--if-present", code=NOT_FOUND)


def test_other_types(server, directory):
    server.eris("create", "numbers")
    refused = server.eris("put", "numbers", "1=2", "--hex", code=INVALID)
    harness.check('"numbers" has no column of strings or bytes; --hex' in refused.stderr, refused.stderr)
    server.eris("create", "strings", "--value-type", "string")
    server.eris("put", "strings", "1=one")
    for verb in ("scan", "strings", "--min-value", "1"), ("add", "strings", "1=1"):
        server.refused(*verb, said="string", code=REFUSED)
    server.eris("create", "other", "--value-type", "text", code=INVALID)


def test_files(server, directory):
    """What export writes of strings, import reads again."""
    path = os.path.join(directory, "docs.csv")
    values = ["", "a, \"b\"", "line\nend", "\u00fc", "x" * VALUE_BYTES_MAX]
    server.eris("create", "texts", "--value-type", "string")
    for key, value in enumerate(values[:-1]):
        server.eris("put", "texts", f"{key}={value}")
    server.eris("put", "texts", "-", input=f"{len(values) - 1} {values[-1]}\n")
    server.eris("export", "texts", path)
    server.eris("import", "again", path, "--value-type", "string")
    harness.check_equal(server.eris_json("scan", "again"), server.eris_json("scan", "texts"), "rows")
    harness.check_equal([row["value"] for row in server.eris_json("scan", "again")], values, "values")
    server.eris("export", "texts", os.path.join(directory, "docs.tbl"), code=INVALID)  # has no quotes
    shown = server.eris("scan", "texts", "--format", "csv", "--to", "2").stdout
    harness.check_equal(shown, 'key,value\n0,""\n1,"a, ""b"""\n', "scan as csv")


def sorted_rows(server, table):
    return sorted(server.eris_json("scan", table, "--hex"), key=lambda row: row["id"])


def test_text(server, directory):
    """A string that is not UTF-8 is refused, by the server and by import, and the type bytes takes it; files keep both."""
    server.eris("create", "words", "--value-type", "string")
    server.refused("put", "words", "1=61", "2=ff", "--hex", said="not UTF-8 from byte 0", code=INVALID)
    harness.check_equal(server.eris_json("scan", "words"), [], "nothing is written")
    path = os.path.join(directory, "latin1.csv")
    with open(path, "wb") as file:
        file.write("id,name,blob\n1,caf\u00e9,caf\u00e9\n2,b,\\x00ff\n".encode("latin-1"))
    schema = "id:int64,name:{},blob:bytes"
    refused = server.eris("import", "names", path, "--schema", schema.format("string"), "--key", "id", code=INVALID)
    harness.check("line 2: column 2 (name) is 'caf\\xe9', which is not UTF-8" in refused.stderr, refused.stderr)
    server.eris("import", "names", path, "--schema", schema.format("bytes"), "--key", "id")
    harness.check_equal(sorted_rows(server, "names"),
                        [{"id": "1", "name": "636166e9", "blob": "636166e9"}, {"id": "2", "name": "62", "blob": "00ff"}], "rows")
    head, *written = server.eris("scan", "names", "--format", "csv").stdout.splitlines()
    harness.check_equal((head, sorted(written)), ("id,name,blob", ["1,\\x636166e9,\\x636166e9", "2,\\x62,\\x00ff"]), "csv")
    for name in "again.csv", "again.tbl":
        path = os.path.join(directory, name)
        server.eris("export", "names", path)
        server.eris("import", name, path, "--schema", schema.format("bytes"), "--key", "id")
        harness.check_equal(sorted_rows(server, name), sorted_rows(server, "names"), name)
    found = server.eris_json("scan", "names", "--filter", "blob = x'00ff' and name = 'b'", "--columns", "id")
    harness.check_equal(found, [{"id": "2"}], "filter")
    server.refused("scan", "names", "--filter", "name like 'c%'", said="is not a string", code=INVALID)


def main():
    programs = harness.Programs(harness.parse_args().build)
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        for test in test_documents, test_binary, test_limits, test_conditions, test_other_types, test_files, test_text:
            test(server, directory)
            print(f"{test.__name__}: ok", flush=True)


if __name__ == "__main__":
    main()
