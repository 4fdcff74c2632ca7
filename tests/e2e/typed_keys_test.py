"""Objects with signed, floating-point, date and timestamp keys through the program and a real server."""
import datetime
import os
import random
import tempfile

import harness

OK, NOT_FOUND, INVALID = 0, 1, 2


def keys_of(rows):
    return [row["key"] for row in rows]


def test_negative_integers(programs):
    with harness.Server(programs) as server:
        created = server.eris_json("create", "o", "--key-type", "int64", "--expect", "-1000:1000")
        harness.check_equal(created["schema"], "key:int64,value:uint64", "types")
        harness.check_equal(created["partitions"][0]["lo"], str(-2**63), "lowest bound")
        server.eris("put", "o", "-5=50", "7=70", "-9223372036854775808=1", "9223372036854775807=2",
                    "0=0")
        harness.check_equal(server.eris("get", "o", "-5", "7").stdout.split(),
                            ["key", "value", "-5", "50", "7", "70"], "get")
        server.refused("get", "o", "-6", said="key -6: not found", code=NOT_FOUND)
        ordered = [str(-2**63), "-5", "0", "7", str(2**63 - 1)]
        harness.check_equal(keys_of(server.eris_json("scan", "o")), ordered, "scan")
        harness.check_equal(keys_of(server.eris_json("scan", "o", "--from", "-5", "--to", "7")),
                            ["-5", "0"], "range")
        harness.check_equal(keys_of(server.eris_json("scan", "o", "--to", "-1")), ordered[:2], "to")
        harness.check_equal(server.eris_json("add", "o", "-5=-8", "-77=3"),
                            [{"key": "-5", "value": "42"}, {"key": "-77", "value": "3"}], "add")
        harness.check_equal(server.eris_json("put", "o", "--compare-and-set", "-5=42:43"),
                            [{"key": "-5", "written": True, "before": "42"}], "compare and set")
        harness.check_equal(server.eris_json("erase", "o", "-5", "-77", "1"),
                            {"keys": "3", "erased": "2"}, "erase")
        harness.check_equal(server.eris_json("get", "o", "-", input="-9223372036854775808\n0\n"),
                            [{"key": str(-2**63), "value": "1"}, {"key": "0", "value": "0"}],
                            "keys of stdin")


def test_negative_integers_backward_and_added_up(programs):
    numbers = range(-900, 900, 3)
    with harness.Server(programs, "--aeus", "3") as server:
        server.eris("create", "o", "--key-type", "int64", "--expect", "-900:900")
        server.eris("put", "o", "-", input="".join(f"{n} {n + 900}\n" for n in numbers))
        harness.check_equal(
            keys_of(server.eris_json("scan", "o", "--reverse", "--from", "-10", "--to", "10")),
            ["9", "6", "3", "0", "-3", "-6", "-9"], "backward")
        harness.check_equal(
            server.eris("scan", "o", "--reverse", "--keys-only", "--max-value", "4").stdout.split(),
            ["key", "-897", "-900"], "keys only, with a filter")
        chosen = [n for n in numbers if -100 <= n < 50]
        values = [n + 900 for n in chosen]
        harness.check_equal(
            server.eris_json("aggregate", "o", "--from", "-100", "--to", "50"),
            {"count": str(len(chosen)), "min": str(min(values)), "max": str(max(values)),
             "sum": str(sum(values)), "avg": sum(values) / len(values),
             "first_key": str(chosen[0]), "last_key": str(chosen[-1])}, "aggregate")
        harness.check_equal(server.eris("aggregate", "o", "--to", "-896").stdout.split()[-2:],
                            ["-900", "-897"], "table")
        harness.check_equal(server.eris("count", "o", "--from", "-3", "--to", "3").stdout, "2\n", "count")
        server.refused("count", "o", "--from", "2024-01-01",
                       said="--from: '2024-01-01' is no number from -9223372036854775808")


def test_byte_strings_under_typed_keys(programs):
    with harness.Server(programs) as server:
        created = server.eris_json("create", "o", "--key-type", "int64", "--value-type", "string",
                                   "--expect", "-100:100")
        harness.check_equal(created["schema"], "key:int64,value:string", "types")
        server.eris("put", "o", "-5=minus five", "7=seven, and longer than a word", "0=")
        harness.check_equal(server.eris_json("get", "o", "7", "-5"),
                            [{"key": "7", "value": "seven, and longer than a word"},
                             {"key": "-5", "value": "minus five"}], "get")
        server.refused("get", "o", "-6", said="key -6: not found", code=NOT_FOUND)
        harness.check_equal(server.eris("get", "o", "-5", "--raw").stdout, "minus five", "raw")
        harness.check_equal(keys_of(server.eris_json("scan", "o", "--reverse")), ["7", "0", "-5"],
                            "backward")
        harness.check_equal(server.eris("scan", "o", "--to", "0").stdout.split(),
                            ["key", "value", "-5", "minus", "five"], "table")
        harness.check_equal(
            server.eris_json("put", "o", "--compare-and-set", "-5=minus five:-V"),
            [{"key": "-5", "written": True, "before": "minus five"}], "compare and set")
        harness.check_equal(server.eris_json("erase", "o", "-5"), {"keys": "1", "erased": "1"}, "erase")
        harness.check_equal(server.eris("count", "o", "--from", "-9").stdout, "2\n", "count")
        server.refused("put", "o", "2024-01-01=x", said="'2024-01-01' is no number from -9223372036854775808")
        server.eris("create", "days", "--key-type", "date", "--value-type", "string")
        server.eris("put", "days", "-", input="2024-02-29 a leap day\n1969-12-31 the day before\n")
        harness.check_equal(server.eris_json("scan", "days"),
                            [{"key": "1969-12-31", "value": "the day before"},
                             {"key": "2024-02-29", "value": "a leap day"}], "dates")


def test_floats(programs):
    with harness.Server(programs) as server:
        server.eris("create", "o", "--key-type", "float64", "--split", "-1.5,0,1e10")
        server.eris("put", "o", "--", "-inf=1", "-1e300=2", "-0.5=3", "-5e-324=4", "0=5", "0.1=6",
                    "inf=7")
        # As numbers of JSON, but for those that it has not.
        ordered = ["-inf", -1e300, -0.5, -5e-324, 0, 0.1, "inf"]
        harness.check_equal(keys_of(server.eris_json("scan", "o")), ordered, "scan")
        harness.check_equal(server.eris_json("get", "o", "-0.0", "1e-1"),
                            [{"key": 0, "value": "5"}, {"key": 0.1, "value": "6"}], "equal numbers")
        # Behind -- nothing is an option any more.
        harness.check_equal(server.eris("get", "o", "--", "-inf").stdout.split()[2:], ["-inf", "1"],
                            "minus and a letter")
        harness.check_equal(
            keys_of(server.eris_json("scan", "o", "--from", "-inf", "--to", "-0.1")), ordered[:3],
            "range")
        bounds = server.eris_json("list", "o")[0]["partitions"]
        harness.check_equal([bound["lo"] for bound in bounds], ["-inf", "-1.5", "0", "1e+10"],
                            "bounds")


def test_timestamps(programs):
    with harness.Server(programs, "--aeus", "3") as server, tempfile.TemporaryDirectory() as directory:
        server.eris("create", "o", "--key-type", "timestamp", "--expect", "2024-01-01 00:00:00:2024-03-01T12:00Z")
        server.eris("put", "o", "2024-02-29 03:04:05.250=1", "1969-12-31T23:59:59.999999Z=2", "2024-01-01 00:30:00+01:00=3", "2024-01-05=4")
        server.eris("put", "o", "-", input="-290308-12-21T19:59:05.224192 5\n294247-01-10T04:00:54.775807 6\n")
        ordered = ["-290308-12-21 19:59:05.224192", "1969-12-31 23:59:59.999999", "2023-12-31 23:30:00", "2024-01-05 00:00:00",
                   "2024-02-29 03:04:05.25", "294247-01-10 04:00:54.775807"]
        harness.check_equal(keys_of(server.eris_json("scan", "o")), ordered, "scan")
        harness.check_equal(keys_of(server.eris_json("scan", "o", "--from", "2024-01-01", "--to", "2024-02-29 03:04:05.25")), ordered[3:4], "range")
        harness.check_equal(server.eris_json("get", "o", "2024-01-05T00:00"), [{"key": ordered[3], "value": "4"}], "get")
        bounds = server.eris_json("list", "o")[0]["partitions"]
        harness.check_equal([bound["lo"] for bound in bounds[1:]], ["2024-01-21 04:00:00", "2024-02-10 08:00:00"], "bounds")
        for bad in ("2024-01-01 24:00:00", "2016-12-31 23:59:60", "2024-01-01 00:00:00.1234567", "7"):
            server.refused("get", "o", bad, said=f"'{bad}' is no timestamp YYYY-MM-DD HH:MM:SS")
        # A table that is clustered by one, and by another column.
        server.eris("create", "visits", "--schema", "at:DATETIME,who:int,what:text?", "--key", "at,who", "--expect", "2024-01-01:2025-01-01")
        server.eris("put", "visits", "2024-02-29 03:04:05,7,x", "2024-03-01,7,", "2024-02-29T03:04:05,8,y")
        harness.check_equal(server.eris_json("get", "visits", "2024-02-29 03:04:05/8"), [{"at": "2024-02-29 03:04:05", "who": 8, "what": "y"}], "get")
        for condition, rows in (("at >= '2024-02-29 03:04:05'", "3"), ("at > timestamp '2024-02-29 03:04:05'", "1"), ("at < 2024-03-01", "2"),
                                ("cast(at as date) = 2024-02-29", "2"), ("date_part('hour', at) = 3 and date_part('second', at) = 5", "2"),
                                ("at in ('2024-03-01', '2024-03-02 01:00')", "1"), ("at between 2024-02-28 and '2024-02-29T23:59'", "2")):
            harness.check_equal(server.eris("scan", "visits", "--filter", condition, "--agg", "count(*)").stdout.split()[-1], rows, condition)
        harness.check_equal(server.eris_json("scan", "visits", "--group-by", "at", "--agg", "count(*) as n, min(at) as low, max(at) as high"),
                            [{"at": f"2024-{day}", "n": str(n), "low": f"2024-{day}", "high": f"2024-{day}"}
                             for day, n in (("02-29 03:04:05", 2), ("03-01 00:00:00", 1))], "groups")
        server.refused("scan", "visits", "--filter", "at > 'noon'", said="'noon' is neither a date YYYY-MM-DD nor a timestamp")
        server.refused("scan", "visits", "--agg", "sum(at)", said="not of a timestamp")
        path = os.path.join(directory, "visits.csv")
        server.eris("export", "visits", path)
        server.eris("drop", "visits")
        server.eris("import", "visits", path, "--kind", "table", "--key", "at,who")
        harness.check_equal(server.eris_json("list", "visits")[0]["schema"], "at:timestamp,who:int64,what:string?", "the type that was inferred")
        harness.check_equal(server.eris("count", "visits").stdout, "3\n", "rows")


def test_dates(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        server.eris("create", "o", "--key-type", "date", "--expect", "2000-01-01:2030-01-01")
        server.eris("put", "o", "2024-02-29=1", "1969-12-31=2", "-5877641-06-23=3",
                    "5881580-07-11=4", "1582-10-10=5")
        ordered = ["-5877641-06-23", "1582-10-10", "1969-12-31", "2024-02-29", "5881580-07-11"]
        harness.check_equal(keys_of(server.eris_json("scan", "o")), ordered, "scan")
        harness.check_equal(
            keys_of(server.eris_json("scan", "o", "--from", "1900-01-01", "--to", "2024-02-29")),
            ["1969-12-31"], "range")

        # Against Python's calendar, there and back.
        generator = random.Random(7)
        days = sorted(generator.sample(range(1, datetime.date.max.toordinal()), 20_000))
        rows = [(datetime.date.fromordinal(day).isoformat(), day) for day in days]
        path = os.path.join(directory, "days.csv")
        with open(path, "w") as file:
            file.write("key,value\n")
            file.writelines(f"{day},{number}\n" for day, number in rows)
        loaded = server.eris_json("import", "days", path, "--key-type", "date")
        harness.check_equal(loaded["rows"], "20000", "rows")
        harness.check_equal(server.eris_json("list", "days")[0]["schema"], "key:date,value:uint64", "types")
        exported = server.eris("export", "days", "-").stdout
        with open(path) as file:
            harness.check(exported == file.read(), "the exported file differs from the imported")
        server.eris("import", "days", path, "--key-type", "date")
        server.eris("import", "days", path)
        server.refused("import", "days", path, "--key-type", "int64", said="the keys of days, which exists, are date")


def test_import_and_export_of_every_type_go_round(programs):
    generator = random.Random(11)
    rows = {
        "int64": sorted({generator.randrange(-2**63, 2**63) for _ in range(5000)}),
        "float64": sorted({generator.uniform(-1e6, 1e6) for _ in range(5000)}),
    }
    with harness.Server(programs) as server:
        for key_type, keys in rows.items():
            text = "".join(f"{key},{i}\n" for i, key in enumerate(keys))
            server.eris("import", key_type, "-", "--no-header", "--key-type", key_type,
                        "--expect", "-1000000:1000000", input=text)
            back = server.eris("export", key_type, "-", "--format", "tbl").stdout.splitlines()
            number = int if key_type == "int64" else float
            harness.check([number(line.split("|")[0]) for line in back] == keys,
                          f"keys of {key_type}")
            harness.check_equal([line.split("|")[1] for line in back],
                                [str(i) for i in range(len(keys))], f"values of {key_type}")


def test_text_that_is_no_key_is_refused(programs):
    with harness.Server(programs) as server:
        for name, key_type in (("u64", "uint64"), ("i64", "int64"), ("f64", "float64"), ("date", "date")):
            server.eris("create", name, "--key-type", key_type)
        u64 = "is no number from 0 to 18446744073709551615"
        i64 = "is no number from -9223372036854775808 to 9223372036854775807"
        f64 = "is no number within the range of 64-bit floats"
        date = "is no date YYYY-MM-DD"
        for arguments, said in (
                (["put", "u64", "-1=1"], f"'-1' {u64}"),
                (["get", "u64", "1.5"], f"'1.5' {u64}"),
                (["put", "i64", "9223372036854775808=1"], f"'9223372036854775808' {i64}"),
                (["get", "i64", "2024-01-01"], i64),
                (["erase", "i64", "1e3"], i64),
                (["put", "f64", "nan=1"], f"'nan' {f64}"),
                (["add", "f64", "nan=1"], f"'nan' {f64}"),
                (["get", "f64", "1e999"], f64),
                (["put", "date", "2024-02-30=1"], f"'2024-02-30' {date}"),
                (["get", "date", "19000"], date),
                (["scan", "date", "--from", "2023-02-29"], date),
                (["scan", "date", "--from", "2024-01-02", "--to", "2024-01-01"],
                 "inverted range: --to 2024-01-01 is below --from 2024-01-02"),
                (["create", "x", "--key-type", "int32"], "--key-type"),
                (["create", "x", "--key-type", "date", "--expect", "1:2"], "no range"),
                (["create", "x", "--key-type", "float64", "--expect", "nan:2"], "no range"),
                (["create", "x", "--key-type", "int64", "--expect", "5:-5"], "[5, -5) holds no key"),
                (["create", "x", "--key-type", "int64", "--expect", "5:5"], "[5, 5) holds no key"),
                (["create", "x", "--key-type", "int64", "--split", "-1,-2"], "-2 comes after -1")):
            server.refused(*arguments, said=said)
        server.refused("import", "date", "-", "--no-header", "--keep", input="2024-01-01,1\n2024-02-30,2\n",
                       said="line 2: column 1 (key) is '2024-02-30', no date")
        harness.check_equal([int(one["rows"]) for one in server.eris_json("list")], [1, 0, 0, 0],
                            "rows: date (its first line), f64, i64, u64")
        listed = server.eris("list").stdout
        harness.check("KEY TYPE" in listed and "date" in listed, listed)
        harness.check_equal([one["schema"] for one in server.eris_json("stats")["objects"]],
                            [f"key:{key},value:uint64" for key in ("date", "float64", "int64", "uint64")], "stats")
        harness.check("KEY TYPE" in server.eris("stats").stdout, "eris stats")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
