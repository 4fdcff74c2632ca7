"""Tables as scripts see them: created, filled from files of all types, scanned with filters and
aggregates whose results are computed here, bad lines, broken streams, scans into other tables.
"""
import datetime
import decimal
import json
import os
import random
import subprocess
import tempfile

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED = range(5)
SCHEMA = ("id:int64,day:date,price:decimal(2),size:int32,big:uint64,ratio:float64,mode:string,"
          "note:string?,extra:decimal(4)?")
COLUMNS = [part.split(":")[0] for part in SCHEMA.split(",")]
ROWS = 5000
SEED = int(os.environ.get("ERIS_SEED", random.SystemRandom().randrange(2 ** 32)))
D = decimal.Decimal


def make_rows():
    print(f"run again with ERIS_SEED={SEED}")
    rng = random.Random(SEED)
    rows = []
    for number in range(ROWS):
        rows.append({
            "id": number * 3 - 4000,
            "day": datetime.date(1992, 1, 1) + datetime.timedelta(days=rng.randrange(2500)),
            "price": D(rng.randrange(-10 ** 9, 10 ** 9)) / 100,
            "size": rng.randrange(1, 51),
            "big": rng.randrange(2 ** 64),
            "ratio": rng.randrange(1000) / 8,
            "mode": rng.choice(["AIR", "MAIL", "RAIL", "it's"]),
            "note": rng.choice([None, "x" * rng.randrange(1, 80), "ünïcode"]),
            "extra": rng.choice([None, D(rng.randrange(10 ** 8)) / 10000]),
        })
    rng.shuffle(rows)
    return rows


def field(value):
    return "" if value is None else str(value)


def write_tbl(path, rows):
    with open(path, "w") as file:
        for row in rows:
            file.write("|".join(field(row[name]) for name in COLUMNS) + "|\n")


def write_csv(path, rows, order):
    def quoted(value):
        text = field(value)
        return '"' + text.replace('"', '""') + '"' if isinstance(value, str) else text
    with open(path, "w", newline="") as file:
        file.write(",".join(order) + ",ignored\r\n")
        for row in rows:
            file.write(",".join(quoted(row[name]) for name in order) + ",1\r\n")


def shown(row):
    """A row as `eris scan --output json` shows it."""
    out = {name: None if row[name] is None else str(row[name]) for name in COLUMNS}
    out["price"] = f"{row['price']:.2f}"
    out["extra"] = None if row["extra"] is None else f"{row['extra']:.4f}"
    out["size"] = row["size"]
    out["ratio"] = row["ratio"]
    return out


def by_id(rows):
    return sorted(rows, key=lambda row: int(row["id"]))


class Case:
    def __init__(self, server, directory):
        self.server = server
        self.directory = directory
        self.rows = make_rows()
        self.tbl = os.path.join(directory, "trades.tbl")
        write_tbl(self.tbl, self.rows)
        done = server.eris_json("import", "trades", self.tbl, "--schema", SCHEMA, "--key", "id",
                                "--batch", "700")
        harness.check(done["created"] and done["rows"] == str(ROWS) and done["replaced"] == "0", done)

    def scan(self, *arguments):
        return self.server.eris_json("scan", "trades", *arguments)

    def path(self, name):
        return os.path.join(self.directory, name)


def test_all_types_come_back(case):
    harness.check_equal(by_id(case.scan()), by_id(map(shown, case.rows)), "rows of a scan")
    table = case.server.eris("scan", "trades", "--limit", "3").stdout.splitlines()
    harness.check_equal((len(table), table[0].split()), (4, COLUMNS), "a table of text")
    listed = case.server.eris_json("list", "trades")[0]
    harness.check_equal((listed["kind"], listed["schema"], listed["key"]), ("table", SCHEMA, "id"), "list")
    harness.check("trades" in case.server.eris("list").stdout, "list as a table")


def test_filters_keep_what_python_keeps(case):
    date = datetime.date
    filters = [
        ("size < 24", lambda r: r["size"] < 24),
        ("day >= 1994-01-01 and day < date '1995-01-01' and size between 5 and 7",
         lambda r: date(1994, 1, 1) <= r["day"] < date(1995, 1, 1) and 5 <= r["size"] <= 7),
        ("mode in ('AIR', 'it''s') or note is null",
         lambda r: r["mode"] in ("AIR", "it's") or r["note"] is None),
        ("not (note = 'ünïcode')", lambda r: r["note"] is not None and r["note"] != "ünïcode"),
        ("extra is not null and extra * 2 > 10000.5", lambda r: r["extra"] is not None and r["extra"] * 2 > D("10000.5")),
        ("price + 0.01 <= -1234567.89", lambda r: r["price"] + D("0.01") <= D("-1234567.89")),
        ("big > 9223372036854775808", lambda r: r["big"] > 2 ** 63),
        ("ratio = 12.5 or ratio > 1e2", lambda r: r["ratio"] == 12.5 or r["ratio"] > 100),
        ("id < 0 - 3990", lambda r: r["id"] < -3990),
        ("id = 1000000", lambda r: False),
    ]
    for text, keeps in filters:
        got = case.scan("--filter", text, "--columns", "id")
        expected = [{"id": str(row["id"])} for row in case.rows if keeps(row)]
        harness.check_equal(by_id(got), by_id(expected), text)


def test_expressions_and_names(case):
    got = case.scan("--columns", "id, price * (1 - 0.05) as net, size + 1", "--filter", "size = 50")
    expected = [{"id": str(row["id"]), "net": f"{row['price'] * (1 - D('0.05')):.4f}", "size + 1": "51"}
                for row in case.rows if row["size"] == 50]
    harness.check_equal(by_id(got), by_id(expected), "expressions")


def test_aggregates_are_exact(case):
    got = case.scan("--agg", "count(*) as n, count(note) as notes, sum(price) as sum, min(day) as first, "
                    "max(price) as most, avg(size) as mean, sum(price * size) as weighted, "
                    "median(size) as middle, median(price) as fair")
    rows = case.rows
    harness.check_equal(len(got), 1, "one row")
    got = got[0]
    harness.check_equal(abs(got.pop("mean") - sum(r["size"] for r in rows) / len(rows)) < 1e-9, True, "avg")
    sizes, prices = sorted(r["size"] for r in rows), sorted(r["price"] for r in rows)
    low, high = (len(rows) - 1) // 2, len(rows) // 2
    harness.check_equal(got.pop("middle"), (sizes[low] + sizes[high]) / 2, "median")
    fair = (prices[low] + prices[high]) / 2
    harness.check_equal(got.pop("fair"), f"{fair.quantize(D('0.01'), decimal.ROUND_DOWN):.2f}", "median of decimals")
    harness.check_equal(got, {
        "n": str(len(rows)), "notes": str(sum(r["note"] is not None for r in rows)),
        "sum": f"{sum(r['price'] for r in rows):.2f}", "first": str(min(r["day"] for r in rows)),
        "most": f"{max(r['price'] for r in rows):.2f}",
        "weighted": f"{sum(r['price'] * r['size'] for r in rows):.2f}"}, "aggregates")
    nothing = case.scan("--agg", "count(*) as n, sum(price) as s, max(size) as m", "--filter", "size > 100")
    harness.check_equal(nothing, [{"n": "0", "s": None, "m": None}], "aggregates of nothing")


def test_groups_are_ascending(case):
    got = case.scan("--agg", "count(*) as n, sum(price) as s", "--group-by", "mode,size", "--filter", "size <= 3")
    groups = {}
    for row in case.rows:
        if row["size"] <= 3:
            groups.setdefault((row["mode"], row["size"]), []).append(row["price"])
    expected = [{"mode": mode, "size": size, "n": str(len(prices)), "s": f"{sum(prices):.2f}"}
                for (mode, size), prices in sorted(groups.items())]
    harness.check_equal(got, expected, "groups")


def test_limits(case):
    harness.check_equal(len(case.scan("--limit", "17")), 17, "limit")
    harness.check_equal(len(case.scan("--limit", "17", "--filter", "size = 1000")), 0, "limit of nothing")


def test_bad_queries_are_named(case):
    for arguments, text in ((("--filter", "size <"), "--filter: at character 7"),
                            (("--agg", "total(size)"), "--agg: at character 1"),
                            (("--columns", "a,,b"), "--columns: at character 3"),
                            (("--filter", "nothing = 1"), "nothing"),
                            (("--filter", "mode = 1"), "mode"),
                            (("--group-by", "mode"), "--agg"),
                            (("--from", "3"), "table")):
        case.server.refused("scan", "trades", *arguments, said=text)
    case.server.eris("create", "numbers")
    case.server.eris("scan", "numbers", "--filter", "a = 1", code=INVALID)


def test_rows_by_key(case):
    rows = case.rows[:200]
    got = case.server.eris("--output", "json", "get", "trades", "--", *[str(row["id"]) for row in rows])
    harness.check_equal(json.loads(got.stdout), list(map(shown, rows)), "get")
    case.server.eris("get", "trades", "1000001", code=NOT_FOUND)
    case.server.eris("get", "trades", "x", code=INVALID)


def test_import_again_replaces(case):
    changed = [dict(row, note="changed") for row in case.rows[:100]]
    path = case.path("again.csv")
    write_csv(path, changed, ["note", "id"] + [name for name in COLUMNS if name not in ("note", "id")])
    done = case.server.eris_json("import", "trades", path)
    harness.check_equal((done["created"], done["rows"], done["replaced"]), (False, "100", "100"), "again")
    got = case.scan("--filter", "note = 'changed'")
    harness.check_equal(by_id(got), by_id(map(shown, changed)), "replaced rows")
    case.server.eris_json("import", "trades", case.tbl)
    harness.check_equal(case.scan("--agg", "count(*) as n"), [{"n": str(ROWS)}], "as before")


def test_a_bad_row_stops_or_is_skipped(case):
    with open(case.tbl) as file:
        lines = file.readlines()
    lines[2000] = lines[2000].replace("|", "|1992-13-01|", 1)
    fields = lines[3000].split("|")
    fields[3] = "4294967296"
    lines[3000] = "|".join(fields)
    path = case.path("bad.tbl")
    with open(path, "w") as file:
        file.writelines(lines)
    arguments = ("import", "bad", path, "--schema", SCHEMA, "--key", "none")
    refused = case.server.eris(*arguments, "--keep", code=INVALID)
    harness.check("line 2001: " in refused.stderr and "2000 rows were loaded" in refused.stderr,
                  refused.stderr)
    harness.check_equal(case.server.eris_json("scan", "bad", "--agg", "count(*) as n"), [{"n": "2000"}],
                        "rows before the bad one")
    done = case.server.eris("import", "x", path, "--schema", SCHEMA, "--dry-run", "--on-error", "skip")
    harness.check(f"{ROWS - 2} rows read for x" in done.stdout and "line 2001: " in done.stderr, done)
    case.server.eris("import", "x", path, "--schema", SCHEMA, "--dry-run", code=INVALID)
    harness.check("x" not in [one["name"] for one in case.server.eris_json("list")], "a dry run")
    case.server.eris("drop", "bad")
    done = case.server.eris("import", "bad", path, "--schema", SCHEMA, "--key", "none", "--on-error", "skip",
                            "--output", "json")
    harness.check_equal((json.loads(done.stdout)["rows"], json.loads(done.stdout)["skipped"]),
                        (str(ROWS - 2), "2"), "skipped")
    harness.check("line 3001: column 4 (size) is '4294967296', no number from -2147483648 to 2147483647"
                  in done.stderr, done.stderr)
    # A heap table keeps what comes twice.
    case.server.eris("import", "bad", path, "--on-error", "skip")
    harness.check_equal(case.server.eris_json("scan", "bad", "--agg", "count(*) as n"),
                        [{"n": str(2 * (ROWS - 2))}], "heap table")
    case.server.refused("import", "trades", case.tbl, "--schema", "id:int64", said="which exists")


def test_bad_lines_are_summed_up(case):
    text = "".join(f"{key}\n" if key % 3 == 0 else "x\n" for key in range(300))
    for dry in ((), ("--dry-run",)):
        done = case.server.eris("import", "some", "-", "--schema", "a:int32", "--no-header", "--on-error", "skip", *dry,
                                input=text)
        harness.check("100 rows" in done.stdout and "200 lines skipped" in done.stdout, done.stdout)
        lines = done.stderr.splitlines()
        harness.check("line 2: column 1 (a) is 'x'" in lines[0], lines[0])
        harness.check_equal((len(lines), lines[-1]), (6, "eris: skipped: 195 more bad lines, 200 in all"), "stderr")
    case.server.eris("drop", "some")


def test_bad_rows_do_not_move_the_bounds(case):
    path = case.path("bounds.csv")
    with open(path, "w") as file:
        for key in range(100):
            file.write(f"{key},x\n4294967296000{key},x\nnan,x\n")
    done = case.server.eris("import", "narrow", path, "--schema", "a:int32,b:string", "--key", "a", "--on-error", "skip")
    harness.check("100 rows loaded" in done.stdout and "200 lines skipped" in done.stdout, done.stdout)
    done = case.server.eris("import", "real", path, "--schema", "a:float64,b:string", "--key", "a", "--on-error", "skip")
    harness.check("200 rows loaded" in done.stdout and "100 lines skipped" in done.stdout, done.stdout)
    harness.check("line 3: column 1 (a) is 'nan'" in done.stderr, done.stderr)


def test_keys_are_columns_that_are_there(case):
    for arguments in (("import", "none", case.tbl, "--schema", SCHEMA, "--key", "1"),
                      ("import", "none", case.tbl, "--schema", SCHEMA, "--key", "1", "--dry-run"),
                      ("import", "trades", case.tbl, "--key", "nosuch"),
                      ("create", "none", "--schema", SCHEMA, "--key", "id,nosuch")):
        case.server.refused(*arguments, said="its columns are id, day, price")
    case.server.refused("import", "trades", case.tbl, "--key", "day", said="key id, not that of --key")
    case.server.eris("import", "none", case.tbl, "--schema", SCHEMA, "--key", "", code=INVALID)
    case.server.eris("import", "trades", case.tbl, "--key", "id")


def test_a_table_goes_when_its_import_fails(case):
    for text in ("x\n1\n", "1\n2\nx\n"):
        arguments = ("import", "empty", "-", "--schema", "a:int32", "--no-header")
        case.server.refused(*arguments, input=text, said="empty, which this import had created, was dropped again")
        case.server.eris("list", "empty", code=NOT_FOUND)
    case.server.refused(*arguments, "--keep", input="x\n1\n", said="0 rows were loaded; empty is kept")
    harness.check_equal(case.server.eris_json("list", "empty")[0]["rows"], "0", "it stays")
    again = case.server.eris("import", "empty", "-", input="x\n1\n", code=INVALID)
    harness.check("drop" not in again.stderr, again.stderr)  # it was there before
    case.server.eris("drop", "empty")


def test_what_others_write_into_a_table_stays_when_its_import_fails(case):
    importer = subprocess.Popen([case.server.programs.eris, "import", "shared", "-", "--schema", "a:int32",
                                 "--no-header"],
                                env=case.server.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    harness.wait_until(lambda: "shared " in case.server.eris("list").stdout, "the table")
    case.server.eris("import", "shared", "-", input="7\n")
    stderr = importer.communicate("x\n")[1]
    harness.check_equal(importer.returncode, INVALID, "a bad line")
    harness.check("shared, which this import has created, stays: others have written to it" in stderr, stderr)
    harness.check_equal(case.server.eris_json("scan", "shared"), [{"a": 7}], "another's row")


def test_import_ends_with_its_server(case):
    with harness.Server(case.server.programs) as other:
        importer = subprocess.Popen([other.programs.eris, "import", "a", "-", "--schema", "a:int32"], env=other.env,
                                    stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        importer.stdin.write("1\n" * 100_000)
        importer.stdin.flush()
        harness.wait_until(lambda: "a " in other.eris("list").stdout, "the table")
        other.kill()
        harness.check_equal(importer.wait(30), UNAVAILABLE, "the pipe stays open")
        importer.stdin.close()
        importer.stderr.close()


def test_rows_are_erased_by_key(case):
    erase = case.server.eris
    done = erase("--output", "json", "erase", "trades", "--", "-4000", "-3997", "1000001")
    harness.check_equal(json.loads(done.stdout), {"keys": "3", "erased": "2"}, "erase")
    got = case.server.eris("--output", "json", "get", "trades", "--", "-4000", "-3994", code=NOT_FOUND)
    harness.check_equal([row and row["id"] for row in json.loads(got.stdout)], [None, "-3994"], "what is left")
    shown = case.server.eris("get", "trades", "--", "-4000", "-3994", code=NOT_FOUND)
    harness.check("key -4000: not found" in shown.stderr and len(shown.stdout.splitlines()) == 2, shown)
    done = erase("erase", "trades", "-", input="-3994\n-3991\n")
    harness.check_equal(done.stdout, "2 keys asked, 2 erased\n", "keys of standard input")
    erase("erase", "trades", "x", code=INVALID)
    case.server.eris("import", "trades", case.tbl)  # as it was
    case.server.eris("create", "heap", "--schema", "a:int32")
    for verb in ("erase", "get"):
        refused = erase(verb, "heap", "1", code=REFUSED)
        harness.check("has no key" in refused.stderr, refused.stderr)


def test_files_that_are_written_are_read_again(case):
    csv, tbl = case.path("out.csv"), case.path("out.tbl")
    words = ["", "a|b", "say \"x\", y", "line\nend", "\r", " ", "ünïcode", "-"]
    with open(csv, "w", newline="") as file:
        file.write("k,text,real,may\n")
        for key, word in enumerate(words):
            quoted = word.replace('"', '""')
            file.write(f'{key},"{quoted}",{[0.1, -0.0, 5e-324, 1.7976931348623157e308, float("inf")][key % 5]},'
                       f'{["", key, chr(34) * 2][key % 3]}\n')
    schema = ("--schema", "k:int64,text:string,real:float64,may:string?", "--key", "k")
    case.server.eris("import", "odd", csv, *schema)
    def rows_of(table):
        return sorted(case.server.eris_json("scan", table), key=lambda row: int(row["k"]))
    rows = rows_of("odd")
    harness.check_equal([row["text"] for row in rows], words, "strings")
    def read(path):
        with open(path, "rb") as file:
            return sorted(file.read().split(b"\n"))
    case.server.eris("export", "odd", csv)
    first = read(csv)
    harness.check(b"7,-,5e-324,7" in first and b"1,a|b,-0,1" in first and b'5, ,0.1,""' in first, first)
    case.server.eris("import", "again", csv, *schema)
    harness.check_equal(rows_of("again"), rows, "csv comes back")
    case.server.eris("export", "again", csv)
    harness.check_equal(read(csv), first, "to the last bit")
    harness.check_equal(sorted(case.server.eris("scan", "again", "--format", "csv").stdout.encode().split(b"\n")),
                        sorted(b"\n".join(first).replace(b"\r", b"\n").split(b"\n")), "scan")
    case.server.eris("drop", "again")
    refused = case.server.eris("export", "odd", tbl, code=INVALID)  # by its name
    # Which row comes first is open.
    named = "column text" in refused.stderr or "column may" in refused.stderr
    harness.check(named and "a .tbl file cannot" in refused.stderr and not os.path.exists(tbl), refused.stderr)
    done = case.server.eris_json("export", "trades", tbl)
    harness.check_equal(done, {"rows": str(ROWS), "file": tbl}, "export")
    case.server.eris("import", "again", tbl, "--schema", SCHEMA, "--key", "id")
    harness.check_equal(by_id(case.server.eris_json("scan", "again")), by_id(map(shown, case.rows)), "tbl comes back")
    some = case.server.eris("scan", "trades", "--filter", "size = 7", "--columns", "id, size * 2 as twice",
                            "--format", "csv").stdout.splitlines()
    harness.check_equal((some[0], len(some) - 1), ("id,twice", sum(row["size"] == 7 for row in case.rows)), "columns")
    case.server.eris("create", "plain")
    case.server.eris("put", "plain", "1=2")
    harness.check_equal(case.server.eris("scan", "plain", "--format", "csv").stdout, "key,value\n1,2\n", "of an index")


def test_verbs_of_indexes_say_what_to_do_instead(case):
    for arguments, hint in ((("count", "trades", "--from", "1"), "eris scan trades --agg 'count(*)'"),
                            (("aggregate", "trades"), "eris scan trades --agg"),
                            (("add", "trades", "1=2"), "is a table"),
                            (("put", "trades", "1=2", "--if-absent"), "is a table")):
        case.server.refused(*arguments, said=hint, code=REFUSED)
    # An option is wrong, not the verb.
    case.server.refused("get", "trades", "1", "--raw", said="rows of trades have 8 columns")


def test_rows_are_put(case):
    server = case.server
    server.eris("create", "few", "--schema", "id:int64,day:date?,price:decimal(2),note:string?", "--key", "id")
    said = server.eris("put", "few", '7,2024-02-29,3.50,"a, ""b"""', "8,,-1,", '9,,0,""').stdout
    harness.check_equal(said, "3 keys put, 0 replaced\n", "put")
    harness.check_equal(server.eris("put", "few", "-", input="8,2024-01-01,2,x\n" + "".join(f"{key},,1,\n" for key in range(100, 1100))).stdout,
                        "1001 keys put, 1 replaced\n", "lines")
    harness.check_equal(server.eris_json("get", "few", "7", "8", "9"), [
        {"id": "7", "day": "2024-02-29", "price": "3.50", "note": 'a, "b"'}, {"id": "8", "day": "2024-01-01", "price": "2.00", "note": "x"},
        {"id": "9", "day": None, "price": "0.00", "note": ""}], "rows")
    for row, said in (("1,2", "'1,2' has 2 fields, a row has 4: id:int64,"), ("x,,1,", "column id: 'x' is no number"),
                      ("1,,1.234,", "column price: '1.234' is no decimal"), (",,1,", "column id: '' is no"), ('1,,1,"x', "a quote is not closed")):
        server.refused("put", "few", row, said=said, code=INVALID)
    server.eris("create", "bare", "--schema", "a:int32,b:bytes")
    server.eris("put", "bare", "1,00ff", "1,00ff", "--hex")
    server.eris("put", "bare", "2,\\x00ff", "3,x")
    got = sorted(server.eris("export", "bare", "-").stdout.splitlines()[1:])
    harness.check_equal(got, ["1,\\x00ff", "1,\\x00ff", "2,\\x00ff", "3,\\x78"], "rows appended")
    server.refused("put", "few", "1,,1,\n2,,1,", said="more than one row", code=INVALID)
    server.eris("drop", "few")
    server.eris("drop", "bare")


def test_count_counts_the_rows_of_a_table(case):
    harness.check_equal(case.server.eris("count", "trades").stdout, f"{ROWS}\n", "rows")
    harness.check_equal(case.server.eris_json("count", "trades"), {"count": str(ROWS)}, "as JSON")
    case.server.eris("create", "nothing", "--schema", "a:int32")
    harness.check_equal(case.server.eris("count", "nothing").stdout, "0\n", "an empty heap")
    case.server.eris("drop", "nothing")


def test_names_are_utf8(case):
    bad = "a\udcff"  # the byte 0xff
    for arguments in (("list", bad), ("drop", bad), ("get", bad, "1"), ("scan", bad), ("export", bad, "-"), ("create", bad),
                      ("create", "none", "--schema", f"{bad}:int32"), ("scan", "trades", "--columns", f'"{bad}"'),
                      ("scan", "trades", "--filter", f'"{bad}" = 1'), ("scan", "trades", "--into", bad)):
        case.server.refused(*arguments, said="a\\xff")
    done = case.server.eris("export", "trades", case.path("out\udcff.csv"), "--output", "json")
    harness.check_equal(json.loads(done.stdout)["rows"], str(ROWS), "a path may have any bytes")


def test_a_dry_run_checks_what_an_import_does(case):
    for schema, key, more, text in (("a:int32,a:date", "none", (), "column a comes twice"),
                                    ("a:int32?", "a", (), "key column a is nullable"),
                                    ("a:string", "a", (), "key column a is string"),
                                    ("a:int64,b:int64,c:int32", "a,b,c", (), "a key of 20 bytes"),
                                    ("a:date", "a", ("--expect", "2000-01-01:1999-01-01"),
                                     "[2000-01-01, 1999-01-01) holds no key"),
                                    ("a:int32", "a", ("--expect", "0:4294967296"), "each a number from -2147483648 to 2147483647"),
                                    ("a:int32", "none", ("--expect", "0:7"), "give --key")):
        for dry in ((), ("--dry-run",)):
            case.server.refused("import", "none", "-", "--schema", schema, "--key", key, *more, *dry, input="",
                                said=text)
    case.server.eris("list", "none", code=NOT_FOUND)


def test_empty_and_negative_flags_are_errors(case):
    for arguments in (("--filter", ""), ("--columns", ""), ("--agg", " "), ("--agg", "count(*)", "--group-by", ""),
                      ("--into", ""), ("--limit", "-1"), ("--limit", "x")):
        refused = case.server.eris("scan", "trades", *arguments, code=INVALID)
        flag = [one for one in arguments if one.startswith("--")][-1]
        harness.check(flag in refused.stderr + refused.stdout, f"{arguments}: {refused.stderr}")
    case.server.eris("create", "none", "--schema", "", code=INVALID)
    case.server.eris("create", "none", "--schema", "a:int32", "--key", "", code=INVALID)


def test_bounds_are_named_as_values(case):
    case.server.refused("create", "none", "--schema", "a:date,b:int32", "--key", "a", "--split",
                        "2000-01-01,1999-01-01", said=("1999-01-01", "2000-01-01"))


def test_stats_show_tables(case):
    stats = case.server.stats()
    one = next(object for object in stats["objects"] if object["name"] == "trades")
    harness.check_equal((one["kind"], one["key"], one["schema"], one["rows"]),
                        ("table", "id", SCHEMA, str(ROWS)), "stats")
    text = case.server.eris("stats").stdout
    line = next(line for line in text.splitlines() if line.startswith("trades "))
    harness.check_equal(line.split()[1:7], ["table", "id", "int64", "8", "columns", str(ROWS)], "stats as text")


def test_scan_into_names_what_does_not_fit(case):
    case.server.eris("create", "narrow_target", "--schema", "id:int64,price:decimal(4)")
    refused = case.server.eris("scan", "trades", "--columns", "id, price", "--into", "narrow_target", code=INVALID)
    harness.check('"price", is decimal(2)' in refused.stderr and "decimal(4)" in refused.stderr, refused.stderr)
    case.server.eris("create", "no_nulls", "--schema", "id:int64,note:string")
    refused = case.server.eris("scan", "trades", "--columns", "id, note", "--into", "no_nulls", code=INVALID)
    harness.check('"no_nulls"' in refused.stderr and "column note" in refused.stderr, refused.stderr)


def test_scan_into(case):
    case.server.eris("create", "large", "--schema", "id:int64,price:decimal(2)", "--key", "id")
    done = case.server.eris_json("scan", "trades", "--filter", "size = 50", "--columns", "id, price", "--into", "large")
    expected = [{"id": str(r["id"]), "price": f"{r['price']:.2f}"} for r in case.rows if r["size"] == 50]
    harness.check_equal(done, {"target": "large", "rows": str(len(expected))}, "scan into")
    harness.check_equal(by_id(case.server.eris_json("scan", "large")), by_id(expected), "what was written")


def test_reader_that_leaves_early(case):
    command = [case.server.programs.eris, "scan", "trades", "--output", "json"]
    for _ in range(5):
        reader = subprocess.Popen(command, env=case.server.env, stdout=subprocess.PIPE)
        reader.stdout.read(100)
        reader.stdout.close()
        harness.check_equal(reader.wait(60), OK, "a reader that has gone")
    case.server.wait_until_quiet()


def test_import_that_is_killed(case):
    importer = subprocess.Popen(
        [case.server.programs.eris, "import", "killed", "-", "--schema", SCHEMA, "--key", "id", "--format", "tbl",
         "--expect", "-4000:11000", "--batch", "100"], env=case.server.env, stdin=subprocess.PIPE)
    with open(case.tbl, "rb") as file:
        importer.stdin.write(file.read()[:300_000])
    importer.stdin.flush()
    harness.wait_until(lambda: case.server.eris_json("list", "killed")[0]["rows"] != "0"
                       if "killed" in case.server.eris("list").stdout else False, "some rows")
    importer.kill()
    importer.wait()
    importer.stdin.close()
    case.server.wait_until_quiet()
    # What is there is whole, and the import can be done again.
    case.server.eris("import", "killed", case.tbl)
    harness.check_equal(by_id(case.server.eris_json("scan", "killed")), by_id(map(shown, case.rows)), "after it")


def main():
    programs = harness.Programs(harness.parse_args().build)
    with harness.Server(programs, "--memory-limit", "1GiB") as server, \
            tempfile.TemporaryDirectory() as directory:
        case = Case(server, directory)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(case)
                print(f"{name}: ok", flush=True)


if __name__ == "__main__":
    main()
