"""Files of others into tables without a schema: `eris import --infer` and `--kind table`."""
import gzip
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


def test_what_a_file_seems_to_be(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = write(directory, "a.csv", "Id;Day;Price;Id\n1;2024-01-02;1.5;x\n2;NA;NA;\n")
        said = programs.run("import", "t", path, "--infer", code=0).stdout
        harness.check_equal(said, "delimiter ';', a header, null is 'NA'\n"
                                  "column 4, 'Id' in the header, is called Id_2\n"
                                  "--schema 'Id:int64?,Day:date?,Price:float64?,Id_2:string?'\n", "--infer")
        said = programs.run("import", "t", path, "--infer", "--key", "Id", "--types", "Price=decimal(2)?", "--output", "json", code=0).stdout
        harness.check('"decimal(2)?"' in said and '"int64"' in said and '"NA"' in said, said)
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
        done = server.eris("import", "people", path, "--kind", "table", "--skip", "2")
        harness.check("delimiter ',', a header, null is 'NA'; columns Name:string?,Born:date?,Height:float64?" in done.stderr, done.stderr)
        got = rows(server, "people").splitlines()
        harness.check_equal([got[0], *sorted(got[1:])], ["Name,Born,Height", ",1912-06-23,1.7", "Ada,1815-12-10,1.65", "NA,,"], "people")
        # Once more, into what is there now: the header names its columns.
        server.eris("import", "people", path, "--skip", "2", "--null", "NA")
        harness.check_equal(len(rows(server, "people").splitlines()), 7, "people twice")

        path = write(directory, "b.tsv", "k\tv\n" + "".join(f"{i}\t{i * 7}\n" for i in range(1000)))
        server.eris("import", "keyed", path, "--kind", "table", "--key", "k")
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
            done = server.eris("import", f"t{at}", path, "--kind", "table", "--key", "Tag")
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
            done = server.eris("import", "t5", write(directory, name, content), "--kind", "table", code=INVALID)
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
        server.refused("import", "days", path, "--types", "x=string", said="--types is for columns that are inferred")
        server.eris("import", "t", path, "--kind", "table")
        server.refused("import", "t", path, "--kind", "table", "--types", "c1=string", said="--types is for new tables")


def test_a_type_that_the_sample_got_wrong_is_widened(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        # The odd values come behind the first MiB, where few places are looked at: none of them has quotes around it.
        lines = [f'{i},{i},"{i}"\n' for i in range(200_000)]
        lines[150_000] = "150000,0.5,x\n"
        lines[170_000] = "170000,none,x\n"
        path = write(directory, "a.csv", "k,v,w\n" + "".join(lines))
        done = server.eris("import", "wide", path, "--kind", "table", "--key", "k")
        harness.check("once more, with float64? for column v: " in done.stderr and "line 150002: " in done.stderr, done.stderr)
        harness.check("once more, with string? for column w" in done.stderr, done.stderr)
        harness.check("once more, with string? for column v" in done.stderr, done.stderr)
        got = server.eris_json("get", "wide", "150000", "170000", "7")
        harness.check_equal([(row["k"], row["v"], row["w"]) for row in got], [("150000", "0.5", "x"), ("170000", "none", "x"), ("7", "7", "7")], "rows")
        harness.check_equal(server.eris_json("list")[0]["rows"], "200000", "rows")
        server.eris("drop", "wide")
        # A type that was given stays, and so does that of a key.
        done = server.eris("import", "wide", path, "--kind", "table", "--types", "v=int64?,w=string", code=INVALID)
        harness.check("no number" in done.stderr and "line 150002" in done.stderr and "was dropped again" in done.stderr, done.stderr)
        # Lines that are skipped widen nothing.
        done = server.eris("import", "wide", path, "--kind", "table", "--on-error", "skip")
        harness.check("once more" not in done.stderr and done.stderr.count("eris: skipped: ") == 2 and "2 lines skipped" in done.stdout, done.stderr)
        server.eris("drop", "wide")
        done = server.eris("import", "wide", path, "--kind", "table", "--key", "v", code=INVALID)
        harness.check("line 150002" in done.stderr, done.stderr)
        harness.check_equal(server.eris_json("list"), [], "objects")
        done = programs.run("import", "wide", path, "--kind", "table", "--dry-run", code=0)
        harness.check("200000 rows read" in done.stdout and "once more" in done.stderr, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
