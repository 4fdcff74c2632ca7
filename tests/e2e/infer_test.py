"""Files of others into tables without a schema: `eris import`, and with `--infer`."""
import gzip
import json
import os
import tempfile

import harness

INVALID = 2


def write(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def rows(server, name):
    return server.eris("export", name, "-").stdout


def test_files_that_are_no_text_are_refused(programs):
    """Also compressed ones, and whether the table is inferred or not."""
    text, parquet = "id,name\n1,Ä\n", b"PAR1\x15\x04\x15\x10" + bytes(100) + b"PAR1"
    with tempfile.TemporaryDirectory() as directory:
        for name, content, why in (("a.parquet", parquet, "is a Parquet file"), ("b.csv", gzip.compress(parquet), "is a Parquet file"),
                                   ("c.csv", text.encode("utf-16"), "iconv -f UTF-16 -t UTF-8"), ("d.json", parquet, "is a Parquet file")):
            path = write(directory, name, content)
            for flags in (), ("--infer",), ("--schema", "id:int64,name:string"):
                done = programs.run("import", "t", path, *flags, *(("--dry-run",) if flags != ("--infer",) else ()), code=INVALID)
                harness.check(f"{path} is " in done.stderr and why in done.stderr, done.stderr)
                harness.check_equal(done.stdout, "", "standard output")


def test_what_a_file_seems_to_be(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = write(directory, "a.csv", "Id;Day;Price;Id\n1;2024-01-02;1.5;x\n2;NA;NA;\n")
        said = programs.run("import", "t", path, "--infer", code=0).stdout
        harness.check_equal(said, "delimiter ';', a header, null is 'NA' except in strings\n"
                                  "column 4, 'Id' in the header, is called Id_2\n"
                                  "--schema 'Id:int64?,Day:date?,Price:float64?,Id_2:string?'\n", "--infer")
        said = programs.run("import", "t", path, "--infer", "--key", "Id", "--types", "Price=decimal(2)?", "--output", "json", code=0).stdout
        columns = [(one["name"], one["type"], one["nulls"]) for one in json.loads(said)["columns"]]
        harness.check_equal(columns, [("Id", "int64", ["NA"]), ("Day", "date?", ["NA"]), ("Price", "decimal(2)?", ["NA"]), ("Id_2", "string?", [])],
                            "columns")
        for flags, why in ((("--types", "Prize=int64"), "no column 'Prize'"), (("--types", "Price"), "has no '='"),
                           (("--key", "Prize"), "no column 'Prize'"), (("--skip", "9"), "has no line"),
                           (("--key", "Id_2"), "key column Id_2 is string")):
            done = programs.run("import", "t", path, "--infer", *flags, code=INVALID)
            harness.check(why in done.stderr, done.stderr)
        done = programs.run("import", "t", "-", "--infer", code=INVALID)
        harness.check("cannot be read twice" in done.stderr, done.stderr)


def test_files_become_tables(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        path = write(directory, "a.csv", b"\xef\xbb\xbfmade by a program\n\nName,Born,Height\nAda,1815-12-10,1.65\n\"NA\",NA,NA\n,1912-06-23, 1.7 \n")
        done = server.eris("import", "people", path, "--skip", "2")
        harness.check("delimiter ',', a header, null is 'NA' except in strings; columns Name:string?,Born:date?,Height:float64?" in done.stderr,
                      done.stderr)
        got = rows(server, "people").splitlines()
        harness.check_equal([got[0], *sorted(got[1:])], ["Name,Born,Height", ",1912-06-23,1.7", "Ada,1815-12-10,1.65", "NA,,"], "people")
        # Once more, into what is there now: the header names its columns.
        server.eris("import", "people", path, "--kind", "table", "--skip", "2")
        harness.check_equal(len(rows(server, "people").splitlines()), 7, "people twice")

        path = write(directory, "b.tsv", "k\tv\n" + "".join(f"{i}\t{i * 7}\n" for i in range(1000)))
        server.eris("import", "keyed", path, "--key", "k")
        got = server.eris_json("list")
        harness.check_equal([(its["name"], its["rows"]) for its in got], [("keyed", "1000"), ("people", "6")], "objects")
        harness.check_equal(server.eris_json("get", "keyed", "7")[0]["v"], "49", "a key")


def test_compressed_files_and_other_forms(programs):
    text = 'Tag;Preis;Ort\n31.12.2024;1.234,5;"a \\"b\\" c"\n1.2.2025;-0,25;x\n'
    wanted = ["Tag,Preis,Ort", '2024-12-31,1234.5,"a ""b"" c"', "2025-02-01,-0.25,x"]
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        packed = gzip.compress(text.encode())
        for at, content in enumerate((text, packed, packed + gzip.compress(b"1.1.2025;7;y\n"))):
            path = write(directory, "a.csv.gz", content)
            done = server.eris("import", f"t{at}", path, "--key", "Tag")
            harness.check("delimiter ';', a header, escape '\\', dates DD.MM.YYYY, decimal commas; columns Tag:date,Preis:float64?,Ort:string?" in
                          done.stderr, done.stderr)
        harness.check_equal(sorted(rows(server, "t1").splitlines()[1:]), wanted[1:], "rows")
        harness.check_equal(sorted(rows(server, "t2").splitlines()[1:]), [wanted[1], "2025-01-01,7,y", wanted[2]], "two parts")
        said = server.eris_json("import", "t3", path, "--infer")
        harness.check_equal((said["date_format"], said["decimal_comma"], said["escape"]), ("DD.MM.YYYY", True, "\\"), "--infer")
        flags = ("--delimiter", ";", "--escape", "\\", "--header", "--date-format", "DD.MM.YYYY", "--decimal-comma")
        server.eris("import", "t4", path, "--schema", "Tag:date,Preis:decimal(2),Ort:string", "--key", "Tag", *flags)
        harness.check_equal(sorted(rows(server, "t4").splitlines()[1:])[:2], ['2024-12-31,1234.50,"a ""b"" c"', "2025-01-01,7.00,y"], "with a schema")
        for name, content, why in (("cut.gz", packed[:-9], "ends too early"), ("more.gz", packed + b"x", "at its byte"),
                                   ("bad.zst", b"\x28\xb5\x2f\xfd\xff\xff\xff\xff", "compressed with zstd")):
            done = server.eris("import", "t5", write(directory, name, content), code=INVALID)
            harness.check(why in done.stderr, done.stderr)
        server.refused("import", "t5", path, "--date-format", "DD.MM.YY", said="no form of dates")
        server.refused("import", "t5", path, "--escape", "ab", said="is not one character")
        done = programs.run("import", "t5", path, "--infer", code=INVALID, env={**os.environ, "TMPDIR": "/nonexistent"})
        harness.check("TMPDIR names another folder" in done.stderr, done.stderr)


def test_timestamps_and_dates_among_them(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        path = write(directory, "a.csv", "id,at,day\n1,2024-01-02T03:04:05.50+02:00,2024-01-02\n2,2024-01-03,2024-01-03\n3,NA,NA\n"
                                         "4,1969-12-31 23:59:59,2024-01-04\n")
        done = server.eris("import", "times", path, "--kind", "table", "--key", "id")
        harness.check("columns id:int64,at:timestamp?,day:date?" in done.stderr, done.stderr)
        harness.check_equal(rows(server, "times").splitlines()[1:], ["1,2024-01-02 01:04:05.5,2024-01-02", "2,2024-01-03 00:00:00,2024-01-03", "3,,",
                                                                     "4,1969-12-31 23:59:59,2024-01-04"], "rows")
        # A date that the sample has seen becomes a timestamp when one comes.
        lines = [f'{i},2024-01-02,"x"\n' for i in range(200_000)]
        lines[150_000] = '150000,2024-01-02 03:04:05,"x"\n'
        path = write(directory, "b.csv", "k,v,w\n" + "".join(lines))
        done = server.eris("import", "wide", path, "--kind", "table", "--key", "k")
        harness.check("once more, with timestamp? for column v: " in done.stderr and "string" not in done.stderr.split("once more")[1], done.stderr)
        got = server.eris_json("get", "wide", "150000", "7")
        harness.check_equal([row["v"] for row in got], ["2024-01-02 03:04:05", "2024-01-02 00:00:00"], "rows")


def test_first_rows_of_an_index_in_other_forms_are_no_header(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        path = write(directory, "a.csv", "31.12.2024,5\n 30.12.2024 ,6\n")
        server.eris("import", "days", path, "--key-type", "date", "--date-format", "DD.MM.YYYY")
        harness.check_equal(rows(server, "days").splitlines()[1:], ["2024-12-30,6", "2024-12-31,5"], "rows")
        server.refused("import", "days", path, "--value", "2", "--types", "x=string", said="--types is for columns that are inferred")
        server.eris("import", "t", path)
        server.refused("import", "t", path, "--types", "c1=string", said="--types is for new tables")


def test_a_type_that_the_sample_got_wrong_is_widened(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        # The odd values come behind the first MiB, where few places are looked at: none of them has quotes around it.
        lines = [f'{i},{i},"{i}"\n' for i in range(200_000)]
        lines[150_000] = "150000,0.5,x\n"
        lines[170_000] = "170000,none,x\n"
        path = write(directory, "a.csv", "k,v,w\n" + "".join(lines))
        done = server.eris("import", "wide", path, "--key", "k")
        harness.check_equal([line.split(": ")[1:3:2] + [line.split("line ")[1].split(":")[0]] for line in done.stderr.splitlines() if "once more" in line],
                            [["once more, with string? for column v", "170002"], ["once more, with string? for column w", "150002"]], done.stderr)
        got = server.eris_json("get", "wide", "150000", "170000", "7")
        harness.check_equal([(row["k"], row["v"], row["w"]) for row in got], [("150000", "0.5", "x"), ("170000", "none", "x"), ("7", "7", "7")], "rows")
        harness.check_equal(server.eris_json("list")[0]["rows"], "200000", "rows")
        server.eris("drop", "wide")
        # A type that was given stays, and so does that of a key.
        done = server.eris("import", "wide", path, "--types", "v=int64?,w=string", code=INVALID)
        harness.check("no number" in done.stderr and "line 150002" in done.stderr and "was dropped again" in done.stderr, done.stderr)
        # Lines that are skipped widen nothing.
        done = server.eris("import", "wide", path, "--on-error", "skip")
        harness.check("once more" not in done.stderr and done.stderr.count("eris: skipped: ") == 2 and "2 lines skipped" in done.stdout, done.stderr)
        server.eris("drop", "wide")
        done = server.eris("import", "wide", path, "--key", "v", code=INVALID)
        harness.check("line 150002" in done.stderr, done.stderr)
        harness.check_equal(server.eris_json("list"), [], "objects")
        done = programs.run("import", "wide", path, "--dry-run", code=0)
        harness.check("200000 rows read" in done.stdout and "once more" in done.stderr, done.stdout + done.stderr)


def test_sixty_columns_are_widened_at_once(programs):
    with tempfile.TemporaryDirectory() as directory:
        rows = [["7"] * 60 for _ in range(20_000)]
        for at in range(60):
            rows[-1 - at * 30][at] = "0.5" if at % 2 else "text"
        # In quotes, so that no place behind the beginning is looked at.
        path = write(directory, "a.csv", ",".join(f"n{at}" for at in range(60)) + '\n"7"' + ",7" * 59 + "\n" +
                     "".join(",".join(row) + "\n" for row in rows))
        done = programs.run("import", "wide", path, "--dry-run", code=0)
        harness.check_equal(done.stderr.count("once more"), 60, done.stderr)
        harness.check("20001 rows read" in done.stdout, done.stdout)
        again = programs.run("import", "wide", path, "--dry-run", "--types", ",".join(f"n{at}={'float64' if at % 2 else 'string'}" for at in range(60)),
                             code=0)
        harness.check("once more" not in again.stderr, again.stderr)


def test_an_index_is_asked_for(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        path = write(directory, "a.csv", "1,10\n2,20\n")
        for at, (flags, kind) in enumerate((((), "heap table"), (("--key", "c1"), "table"), (("--kind", "index"), "index"), (("--kind", "hash"), "hash"),
                                            (("--value", "2"), "index"), (("--key-type", "int64"), "index"), (("--value-type", "string"), "index"))):
            server.eris("import", f"t{at}", path, *flags)
            listed = server.eris_json("list", f"t{at}")[0]
            harness.check_equal((listed["kind"], listed["rows"]), (kind, "2"), f"{flags}")
        server.refused("import", "x", path, "--kind", "table", "--value", "2", said="--value-type are for indexes, and --kind is table")
        server.refused("import", "x", path, "--key", "1", said="by name, not by number); none: a table without a key; --kind index takes numbers")
        server.refused("import", "x", "-", input="1,2\n", said=("cannot be read twice", "--schema for a table, or --kind index"))
        tbl = write(directory, "region.tbl", "0|AFRICA|x|\n1|ASIA|y|\n")
        done = server.eris("import", "region", tbl, "--key", "r_regionkey")
        harness.check("--schema tpch:region has TPC-H's types and key" in done.stderr, done.stderr)
        harness.check_equal(server.eris_json("get", "region", "1")[0]["r_name"], "ASIA", "a row")


def test_files_for_tables_that_exist_may_be_written_in_other_ways(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        server.eris("create", "t", "--schema", "id:int64,day:date?,price:decimal(2)?,note:string?", "--key", "id")
        path = write(directory, "a.csv", 'note;id;price;day\nx;1;1.234,5;31.12.2024\n"a\\"b";2;NA;NA\nNA;3;0,5;1.2.2025\n')
        done = server.eris("import", "t", path)
        harness.check("eris: delimiter ';', a header, escape '\\', dates DD.MM.YYYY, decimal commas, null is 'NA' except in strings\n" in done.stderr,
                      done.stderr)
        harness.check_equal(rows(server, "t").splitlines()[1:], ["1,2024-12-31,1234.50,x", '2,,,"a""b"', "3,2025-02-01,0.50,NA"], "rows")
        # The usual form needs no word; a delimiter by which there are other columns is not believed.
        done = server.eris("import", "t", write(directory, "b.csv", "".join(f"{at},,,a;b;c;d;e\n" for at in range(5))))
        harness.check_equal((done.stderr, rows(server, "t").splitlines()[1]), ("", "0,,,a;b;c;d;e"), "commas")
        # Names that had to be changed are those of the table.
        path = write(directory, "c.csv", "Id;Id;a:b\n1;2;x\n")
        server.eris("import", "c", path)
        server.eris("import", "c", path)
        harness.check_equal(rows(server, "c").splitlines(), ["Id,Id_2,a_b", "1,2,x", "1,2,x"], "twice")
        server.refused("import", "t", write(directory, "d.csv", "1,01/02/2024,,\n"), said="--date-format names another form")
        server.refused("import", "days", write(directory, "e.csv", "id,d\n1,2024-01-02 03:04:05\n"), "--types", "d=date",
                       said="--types 'd=timestamp' keeps the time")


def test_objects_of_json(programs):
    text = ('{"id": 1, "at": "2024-05-01", "tags": ["a", {"b": 1}], "ok": true, "n": null}\n\n{"id": 2, "price": 9.5, "s": "7", "ok": false}\n'
            '{"s": "\\u00fc\\n\\"", "id": 3, "price": "NA", "at": ""}\n')
    wanted = [{"id": "1", "at": "2024-05-01", "tags": '["a", {"b": 1}]', "ok": "true", "n": None, "price": None, "s": None},
              {"id": "2", "at": None, "tags": None, "ok": "false", "n": None, "price": 9.5, "s": "7"},
              {"id": "3", "at": None, "tags": None, "ok": None, "n": None, "price": None, "s": '\u00fc\n"'}]
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        for at, name in enumerate(("a.ndjson", "a.jsonl.gz", "a.json")):
            path = write(directory, name, gzip.compress(text.encode()) if name.endswith(".gz") else text)
            done = server.eris("import", f"t{at}", path, "--key", "id")
            harness.check("eris: NDJSON, null is 'NA' except in strings; columns id:int64,at:date?,tags:string?,ok:string?,n:string?,price:float64?,"
                          "s:string?\neris: arrays and objects are kept as their JSON text, in column tags\n" in done.stderr, done.stderr)
            harness.check_equal(server.eris_json("get", f"t{at}", "1", "2", "3"), wanted, name)
        # Into what is there, from standard input, and into an index.
        done = server.eris("import", "t0", write(directory, "b.ndjson", '{"price": 1, "id": 7, "other": 1}\n'))
        harness.check("passed over keys that are no columns: other" in done.stderr, done.stderr)
        harness.check_equal(server.eris_json("get", "t0", "7")[0]["price"], 1, "another row")
        server.eris("import", "u", "-", "--format", "ndjson", "--schema", "id:int64,s:string?", "--key", "id", "--expect", "0:10", input=text)
        harness.check_equal(rows(server, "u").splitlines(), ["id,s", "1,", "2,7", '3,"\u00fc', '"""'], "from standard input")
        server.refused("import", "i", path, "--key", "id", "--value", "id", said="'id' is chosen twice")
        server.eris("import", "j", write(directory, "c.ndjson", '{"b":2,"a":1,"c":[]}\n'), "--kind", "index", "--key", "a", "--value", "b")
        harness.check_equal(server.eris_json("scan", "j"), [{"key": "1", "value": "2"}], "an index")
        for name, content, flags, why in (("d.json", "[{}]", (), "is one array of JSON"), ("d.ndjson", '{"a":1}\n{"a":\n', (), "line 2: no JSON object, which"),
                                          ("d.ndjson", '{"a":1}\n[2]\n', (), "line 2: no JSON object but an array"),
                                          ("d.ndjson", '{"a":1}\n{"a":2,"a":3}\n', (), "line 2: key 'a' twice"),
                                          ("d.ndjson", "", (), "no whole line with a key"), ("d.ndjson", '{"a":1}\n', ("--delimiter", ";"), "is NDJSON"),
                                          ("d.ndjson", '{"a":1}\n{"a":null}\n', ("--key", "a"), "column 1 (a) is empty")):
            done = server.eris("import", "x", write(directory, name, content), *flags, code=INVALID)
            harness.check(why in done.stderr, done.stderr)


def test_keys_that_come_later_are_columns(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        lines = [f'{{"id": {at}, "pad": "{"x" * 100}"}}\n' for at in range(20_000)]
        lines[-1] = '{"id": 0.5, "late,r": "7", "pad": 1}\n'
        lines[-2] = '{"id": 19998, "more": 5}\n'
        path = write(directory, "a.ndjson", "".join(lines))
        done = server.eris("import", "t", path)
        harness.check("once more, with column late_r: " in done.stderr and "once more, with column more: " in done.stderr, done.stderr)
        harness.check_equal(server.eris_json("list")[0]["schema"], "id:float64?,pad:string?,more:int64?,late_r:string?", "columns")
        harness.check_equal(server.eris_json("scan", "t", "--filter", "more = 5 or id = 0.5", "--columns", "more,late_r"),
                            [{"more": "5", "late_r": None}, {"more": None, "late_r": "7"}], "rows")
        done = server.eris("import", "s", path, "--on-error", "skip")
        harness.check("key 'more' is no column, as no line of the sample has it: give --schema" in done.stderr and "2 lines skipped" in done.stdout,
                      done.stderr)


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
