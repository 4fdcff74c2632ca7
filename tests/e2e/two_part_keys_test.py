"""Objects whose keys have two parts through the program and a real server."""
import datetime
import os
import random
import tempfile

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED = range(5)


def keys_of(rows):
    return [f"{row['key']}/{row['second_key']}" for row in rows]


def row_of(first, second, **values):
    return {"key": first, "second_key": second, **values}


def lineitem(orders):
    """Rows (order, line, part), 1 to 7 lines an order, sparse order numbers as dbgen has them."""
    generator = random.Random(5)
    rows = []
    for i in range(orders):
        order = i // 8 * 32 + i % 8 + 1
        for line in range(1, generator.randrange(1, 8) + 1):
            rows.append((order, line, generator.randrange(1, 200_000)))
    return rows


def tbl_of(rows):
    rest = "17|24710.35|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|egular|\n"
    return "".join(f"{order}|{part}|7706|{line}|{rest}" for order, line, part in rows)


def test_a_table_by_two_key_columns(programs):
    rows = lineitem(3000)
    with harness.Server(programs, "--aeus", "3") as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "lineitem.tbl")
        shuffled = rows[:]
        random.Random(6).shuffle(shuffled)
        with open(path, "w") as file:
            file.write(tbl_of(shuffled))
        loaded = server.eris_json("import", "lineitem", path, "--key", "l_orderkey,l_linenumber",
                                  "--value", "l_partkey", "--batch", "1000")
        harness.check_equal((loaded["created"], loaded["rows"], loaded["replaced"]),
                            (True, str(len(rows)), "0"), "import")
        shown = server.eris_json("list", "lineitem")[0]
        harness.check_equal((shown["schema"], shown["rows"], len(shown["partitions"])),
                            ("key:uint64,second_key:uint64,value:uint64", str(len(rows)), 3), "object")
        # By number into the same object: every row is there.
        again = server.eris_json("import", "lineitem", path, "--key", "1,4", "--value", "2", "--key-type",
                                 "uint64,uint64")
        harness.check_equal((again["created"], again["replaced"]), (False, str(len(rows))), "again")

        every = [row_of(str(order), str(line), value=str(part)) for order, line, part in rows]
        harness.check_equal(server.eris_json("scan", "lineitem"), every, "scan")
        harness.check_equal(server.eris_json("scan", "lineitem", "--reverse"), every[::-1], "reverse")
        some = rows[::97] + [rows[-1]]
        harness.check_equal(
            server.eris_json("get", "lineitem", "-",
                             input="".join(f"{order}/{line}\n" for order, line, _ in some)),
            [row_of(str(order), str(line), value=str(part)) for order, line, part in some], "get")
        server.refused("get", "lineitem", "1/8", said="key 1/8: not found", code=NOT_FOUND)

        # Bounds inside one order, and between orders.
        order = next(order for order, line, _ in rows if line == 7)
        one = [row for row in rows if row[0] == order]
        for flags, chosen in (
                (["--from", str(order), "--to", str(order + 1)], one),
                (["--from", f"{order}/3", "--to", f"{order}/6"], one[2:5]),
                (["--from", f"{order}/3", "--to", f"{order}/3"], []),
                (["--from", f"{order}/7", "--to", f"{order + 1}/0"], one[6:]),
                (["--from", f"{order}/0", "--to", f"{order}/{2**64 - 1}"], one),
                (["--from", f"{order}/6"], [row for row in rows if row[:2] >= (order, 6)]),
                (["--to", f"{order}/2"], [row for row in rows if row[:2] < (order, 2)])):
            keys = [f"{row[0]}/{row[1]}" for row in chosen]
            harness.check_equal(keys_of(server.eris_json("scan", "lineitem", *flags)), keys, flags)
            harness.check_equal(
                keys_of(server.eris_json("scan", "lineitem", "--reverse", "--keys-only", *flags)),
                keys[::-1], f"{flags} reverse")
            harness.check_equal(server.eris("count", "lineitem", *flags).stdout, f"{len(keys)}\n",
                                f"count {flags}")
            sums = server.eris_json("aggregate", "lineitem", *flags)
            harness.check_equal(
                (sums["first_key"], sums["last_key"], sums["sum"]),
                (keys[0], keys[-1], str(sum(row[2] for row in chosen))) if keys else (None,) * 3,
                f"aggregate {flags}")
        harness.check_equal(
            keys_of(server.eris_json("scan", "lineitem", "--from", f"{order}/2", "--limit", "3",
                                     "--max-value", "200000")),
            [f"{order}/2", f"{order}/3", f"{order}/4"], "limit and filter")

        exported = os.path.join(directory, "lines.csv")
        server.eris("export", "lineitem", exported)
        with open(exported) as file:
            harness.check_equal(file.read(), "key,second_key,value\n" +
                                "".join(f"{a},{b},{c}\n" for a, b, c in rows), "csv")
        server.eris("import", "copy", exported, "--key", "key,second_key", "--value", "value")
        tbl = server.eris("export", "copy", "-", "--format", "tbl").stdout
        harness.check_equal(tbl, "".join(f"{a}|{b}|{c}|\n" for a, b, c in rows), "tbl")
        harness.check_equal(server.eris_json("erase", "copy", *[f"{order}/{line}" for line in range(9)]),
                            {"keys": "9", "erased": "7"}, "erase")
        harness.check_equal(server.eris("count", "copy").stdout, f"{len(rows) - 7}\n", "count")
        server.wait_until_quiet()


def test_types_of_both_parts(programs):
    with harness.Server(programs) as server:
        created = server.eris_json("create", "visits", "--key-type", "int64,date", "--expect", "-100:100")
        harness.check_equal((created["schema"], created["key"]),
                            ("key:int64,second_key:date,value:uint64", "key,second_key"), "types")
        harness.check_equal(created["partitions"][0]["lo"], str(-2**63), "bounds are first parts")
        server.eris("put", "visits", "7/2024-02-29=3", "-5/5881580-07-11=1", "-5/-5877641-06-23=2",
                    "7/1969-12-31=4", f"{-2**63}/1970-01-01=5", f"{2**63 - 1}/1970-01-01=6")
        ordered = [f"{-2**63}/1970-01-01", "-5/-5877641-06-23", "-5/5881580-07-11", "7/1969-12-31",
                   "7/2024-02-29", f"{2**63 - 1}/1970-01-01"]
        harness.check_equal(keys_of(server.eris_json("scan", "visits")), ordered, "order")
        harness.check_equal(server.eris("get", "visits", "7/2024-02-29", "-5/5881580-07-11").stdout.split(),
                            ["key", "second_key", "value", "7", "2024-02-29", "3", "-5", "5881580-07-11", "1"], "get")
        harness.check_equal(
            keys_of(server.eris_json("scan", "visits", "--from", "-5/0000-01-01", "--to", "7/2024-02-29")),
            ordered[2:4], "range")
        harness.check_equal(server.eris("aggregate", "visits", "--from", "-5").stdout.split()[-2:],
                            [ordered[1], ordered[-1]], "aggregate")

        for second, keys in (("float64", ["-inf", "-1.5", "0", "5e-324", "inf"]),
                             ("int64", [str(-2**63), "-1", "0", str(2**63 - 1)])):
            name = f"by-{second}"
            server.eris("create", name, "--key-type", f"float64,{second}", "--split", "0")
            server.eris("put", name, "--", *[f"{a}/{b}=1" for a in ("inf", "-inf", "0.5")
                                             for b in reversed(keys)])
            everything = [f"{a}/{b}" for a in ("-inf", "0.5", "inf") for b in keys]
            harness.check_equal(keys_of(server.eris_json("scan", name)), everything, name)
            harness.check_equal(
                keys_of(server.eris_json("scan", name, "--from", f"0.5/{keys[1]}", "--to", "inf")),
                everything[len(keys) + 1:2 * len(keys)], f"range of {name}")
        listed = server.eris("list").stdout.split()
        harness.check("int64,date" in listed and "float64,int64" in listed, listed)
        stats = server.eris("stats").stdout
        harness.check("VALUES" in stats and "int64,date" in stats, stats)
        harness.check_equal([one["schema"] for one in server.eris_json("stats")["objects"]],
                            [f"key:{first},second_key:{second},value:uint64" for first, second in
                             (("float64", "float64"), ("float64", "int64"), ("int64", "date"))], "stats")


def test_conditional_writes(programs):
    with harness.Server(programs) as server:
        server.eris("create", "o", "--key-type", "uint64,date", "--expect", "0:10")
        harness.check_equal(
            server.eris("put", "o", "--if-absent", "7/2024-01-01=1", "7/2024-01-02=2").stdout.split(),
            ["key", "second_key", "written", "before", "7", "2024-01-01", "yes", "-", "7", "2024-01-02", "yes", "-"],
            "insert")
        harness.check_equal(
            server.eris_json("put", "o", "--if-absent", "7/2024-01-01=9", "8/2024-01-01=3",
                             code=NOT_FOUND),
            [{"key": "7", "second_key": "2024-01-01", "written": False, "before": "1"},
             {"key": "8", "second_key": "2024-01-01", "written": True, "before": None}], "insert again")
        harness.check_equal(
            server.eris_json("put", "o", "--if-present", "7/2024-01-03=9", "8/2024-01-01=4",
                             code=NOT_FOUND),
            [{"key": "7", "second_key": "2024-01-03", "written": False, "before": None},
             {"key": "8", "second_key": "2024-01-01", "written": True, "before": "3"}], "replace")
        harness.check_equal(
            server.eris_json("put", "o", "--compare-and-set", "7/2024-01-01=1:11", "7/2024-01-02=1:12",
                             code=NOT_FOUND),
            [{"key": "7", "second_key": "2024-01-01", "written": True, "before": "1"},
             {"key": "7", "second_key": "2024-01-02", "written": False, "before": "2"}], "compare and set")
        harness.check_equal(
            server.eris_json("add", "o", "-", input="7/2024-01-01 -1\n7/2024-01-01 5\n9/2024-01-01 1\n"),
            [{"key": "7", "second_key": "2024-01-01", "value": "10"}, {"key": "7", "second_key": "2024-01-01", "value": "15"},
             {"key": "9", "second_key": "2024-01-01", "value": "1"}], "add")
        harness.check_equal(
            server.eris_json("scan", "o"),
            [{"key": "7", "second_key": "2024-01-01", "value": "15"}, {"key": "7", "second_key": "2024-01-02", "value": "2"},
             {"key": "8", "second_key": "2024-01-01", "value": "4"}, {"key": "9", "second_key": "2024-01-01", "value": "1"}], "rows")
        # One first part with many rows: a bulk of counters, days against Python's calendar.
        days = [(datetime.date(1900, 1, 1) + datetime.timedelta(i)).isoformat() for i in range(40_000)]
        order = days[:]
        random.Random(8).shuffle(order)
        server.eris("put", "o", "-", input="".join(f"5/{day} 1\n" for day in order))
        harness.check_equal(keys_of(server.eris_json("scan", "o", "--to", "6")),
                            [f"5/{day}" for day in days], "one first part")
        harness.check_equal(
            keys_of(server.eris_json("scan", "o", "--reverse", "--to", "6", "--limit", "35000")),
            [f"5/{day}" for day in days[::-1][:35_000]], "one first part, backward")
        harness.check_equal(
            server.eris("count", "o", "--from", "5/1950-01-01", "--to", "5/1951-01-01").stdout,
            "365\n", "a year")


def test_a_table_with_dates(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "visits.csv")
        with open(path, "w") as file:
            file.write("day,count,user\n2024-02-29,3,7\n1969-12-31,4,7\n2024-02-30,5,7\n2024-01-01,6,x\n")
        flags = [path, "--key", "user,day", "--value", "count"]
        server.refused("import", "visits", *flags, "--key-type", "uint64,date", "--keep",
                       said="line 4: column 1 (day) is '2024-02-30', no date")
        harness.check_equal(server.eris_json("scan", "visits"),
                            [{"key": "7", "second_key": "1969-12-31", "value": "4"}, {"key": "7", "second_key": "2024-02-29", "value": "3"}],
                            "rows before the bad line")
        skipped = server.eris_json("import", "visits", *flags, "--on-error", "skip")
        harness.check_equal((skipped["rows"], skipped["skipped"]), ("2", "2"), "skipped")
        server.eris("import", "again", "-", "--key", "2,1", "--value", "3", "--key-type", "uint64,date",
                    "--no-header", "--expect", "0:10", input="2024-02-29,7,1\n1969-12-31,7,2\n")
        harness.check_equal(keys_of(server.eris_json("scan", "again")), ["7/1969-12-31", "7/2024-02-29"],
                            "from stdin")


def test_what_does_not_fit_is_refused(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        server.eris("create", "one")
        server.eris("create", "two", "--key-type", "uint64,date")
        server.eris("create", "h", "--kind", "hash")
        two = "the key has 2: key/second_key (uint64,date)"
        one = "the key has 1: key (uint64)"
        path = os.path.join(directory, "rows.csv")
        with open(path, "w") as file:
            file.write("1,2,3\n")
        for arguments, said in (
                (["put", "two", "7=1"], f"'7' has 1 part, {two}"),
                (["get", "two", "7"], f"'7' has 1 part, {two}"),
                (["erase", "two", "7"], f"'7' has 1 part, {two}"),
                (["add", "two", "7=1"], f"'7' has 1 part, {two}"),
                (["put", "two", "7=1", "--if-absent"], f"'7' has 1 part, {two}"),
                (["get", "two", "7/2024-01-01/1"], f"'7/2024-01-01/1' has 3 parts, {two}"),
                (["put", "one", "7/2024-01-01=1"], f"'7/2024-01-01' has 2 parts, {one}"),
                (["get", "one", "7/8"], f"'7/8' has 2 parts, {one}"),
                (["scan", "one", "--from", "7/8"], f"--from: '7/8' has 2 parts, {one}"),
                (["scan", "two", "--to", "7/2024-01-01/"], "--to: '7/2024-01-01/' has 3 parts"),
                (["get", "two", "7/8"], "'8' is no date YYYY-MM-DD"),
                (["get", "two", "7/8"], "(column second_key of '7/8')"),
                (["get", "two", "x/2024-01-01"], "(column key of 'x/2024-01-01')"),
                (["count", "two", "--from", "7/2024-01-02", "--to", "7/2024-01-01"],
                 "inverted range: --to 7/2024-01-01 is below --from 7/2024-01-02"),
                (["create", "x", "--key-type", "uint64,int32"], "'uint64,int32' is no type of keys"),
                (["create", "x", "--key-type", "date,date,date"], "'date,date,date' is no type of keys"),
                (["create", "x", "--key-type", "uint64,date", "--expect", "1/2024-01-01:2"], "no range"),
                (["create", "x", "--key-type", "uint64,date", "--kind", "hash"], "hash"),
                (["create", "x", "--key-type", "uint64,date", "--value-type", "string"], "string"),
                (["import", "two", path, "--key", "1"],
                 f"--key 1 names 1 column, the key of two has {two[12:]}: give two columns, as in --key 1,4"),
                (["import", "two", path], "line 1: column 2 (second_key) is '2', no date"),
                (["import", "one", path, "--key", "1,2", "--value", "3"],
                 f"--key 1,2 names 2 columns, the key of one has {one[12:]}"),
                (["import", "new", path, "--key", "1", "--key-type", "uint64,uint64"],
                 "--key 1 names 1 column, the key of new has 2: key/second_key (uint64,uint64)"),
                (["import", "two", path, "--key", "1,2", "--value", "3", "--key-type", "uint64,uint64"],
                 "--key-type is uint64,uint64, but the keys of two, which exists, are uint64,date"),
                (["import", "one", path, "--kind", "hash"],
                 "--kind is hash, but one, which exists, is of kind index"),
                (["import", "h", path, "--kind", "index"],
                 "--kind is index, but h, which exists, is of kind hash")):
            server.refused(*arguments, said=said)
        harness.check_equal([(one["name"], one["rows"]) for one in server.eris_json("list")],
                            [("h", "0"), ("one", "0"), ("two", "0")], "nothing has changed")
        # The kind that it has, or none, is fine.
        server.eris("import", "h", path, "--value", "3", "--kind", "hash", "--no-header")
        server.eris("import", "h", path, "--value", "3", "--no-header")
        for verb in ("create", "get", "put", "scan", "import"):
            text = server.eris(verb, "--help").stdout
            harness.check("FIRST/SECOND" in text or "two-part keys" in text or "two parts" in text, f"{verb}: {text}")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
