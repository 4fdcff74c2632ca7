"""The eris program as scripts see it: output, exit codes, pipes, import and export."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED, MISPLACED, UNVERIFIED = range(7)


def test_verbs_and_exit_codes(programs):
    with harness.Server(programs) as server:
        server.eris("create", "users", "--expect", "0:1000")
        server.eris("create", "users", code=REFUSED)
        server.eris("put", "users", "1=10", "2=20", "18446744073709551615=3")
        server.eris("put", "users", "-", input="0 5\n\n7=70\n")
        harness.check_equal(server.eris("get", "users", "7", "1").stdout.split(),
                            ["key", "value", "7", "70", "1", "10"], "get")
        missing = server.eris("get", "users", "1", "999", code=NOT_FOUND)
        harness.check("999" in missing.stderr and "10" in missing.stdout, missing.stderr)
        server.eris("get", "nosuch", "1", code=NOT_FOUND)
        server.eris("get", "users", "-", input="1\n2\n")
        server.eris("get", "users", "minus", code=INVALID)
        server.eris("put", "users", "1", code=INVALID)
        server.eris("scan", "users", "--from", "9", "--to", "5", code=INVALID)
        server.eris("frobnicate", code=INVALID)
        server.eris("list", "--output", "xml", code=INVALID)
        server.eris("erase", "users", "1", "999")
        server.eris("get", "users", "1", code=NOT_FOUND)
        server.eris("drop", "users")
        server.eris("drop", "users", code=NOT_FOUND)
    server.eris("list", "--timeout", "0.2", code=UNAVAILABLE)


def test_json_has_u64_as_strings(programs):
    largest = str(2**64 - 1)
    with harness.Server(programs) as server:
        harness.check_equal(server.eris_json("list"), [], "empty list")
        created = server.eris_json("create", "big", "--split", "100,200")
        harness.check_equal([p["lo"] for p in created["partitions"]], ["0", "100", "200"], "create")
        harness.check_equal(server.eris_json("put", "big", f"{largest}={largest}", "5=6"),
                            {"keys": "2", "replaced": "0"}, "put")
        rows = [{"key": "5", "value": "6"}, {"key": largest, "value": largest}]
        harness.check_equal(server.eris_json("scan", "big"), rows, "scan")
        harness.check_equal(server.eris_json("scan", "big", "--limit", "1"), rows[:1], "limit")
        harness.check_equal(server.eris_json("scan", "big", "--from", "6", "--to", "7"), [], "empty")
        harness.check_equal(server.eris_json("get", "big", "5", "4", code=NOT_FOUND),
                            [{"key": "5", "value": "6"}, None], "get")
        harness.check_equal(server.eris_json("erase", "big", "5", "4"),
                            {"keys": "2", "erased": "1"}, "erase")
        harness.check_equal(server.eris_json("list")[0]["rows"], "1", "rows")
        harness.check_equal(server.eris_json("drop", "big"), {"dropped": "big"}, "drop")
        harness.check(server.eris_json("topology")["text"], "topology")


def test_describe(programs):
    with harness.Server(programs, "--aeus", "2") as server:
        server.eris("create", "days", "--schema", "day:date,note:string?,n:int64", "--key", "n,day", "--split", "-5")
        server.eris("create", "more", "--schema", "n:int64,x:float64?", "--key", "n", "--beside", "days")
        said = server.eris("describe", "days").stdout
        harness.check(said.startswith("days: table, 0 rows, "), said)
        tables = [[line.split() for line in part.splitlines()] for part in said.split("\n\n")[1:]]
        harness.check_equal(tables[0], [["COLUMN", "TYPE", "KEY"], ["day", "date", "2"], ["note", "string?"], ["n", "int64", "1"]], "columns")
        lowest = str(-2**63)
        harness.check_equal([row[:-1] for row in tables[1][1:]], [[lowest, "-5"], ["-5", "-"]], "partitions")
        harness.check("beside: more\n" in said or "beside: days\n" in server.eris("describe", "more").stdout, "beside")
        server.eris("create", "heap", "--schema", "a:int64")
        harness.check_equal(server.eris("describe", "heap").stdout.splitlines()[-1].split()[:2], ["-", "-"], "a heap table's partition")
        server.eris("describe", "nothing", code=NOT_FOUND)
        harness.check_equal(server.eris_json("describe", "days")["key"], "n,day", "json")


def test_hash_objects(programs):
    """Everything but scans works as on an index; what needs key order says why it does not."""
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        created = server.eris_json("create", "h", "--kind", "hash", "--expect", "0:1000")
        harness.check_equal(created["kind"], "hash", "kind")
        server.eris("create", "i")
        server.eris("create", "x", "--kind", "tree", code=INVALID)
        harness.check_equal([o["kind"] for o in server.eris_json("list")], ["hash", "index"], "kinds")
        harness.check_equal([o["kind"] for o in server.eris_json("stats")["objects"]],
                            ["hash", "index"], "kinds in stats")
        harness.check("hash" in server.eris("list", "h").stdout, "list")
        harness.check("hash" in server.eris("stats").stdout, "stats")
        server.eris("put", "h", "1=10", "2=20", f"{2**64 - 1}=3", "0=7")
        harness.check_equal(server.eris_json("get", "h", "2", "0", str(2**64 - 1)),
                            [{"key": "2", "value": "20"}, {"key": "0", "value": "7"},
                             {"key": str(2**64 - 1), "value": "3"}], "get")
        server.eris("get", "h", "5", code=NOT_FOUND)
        server.eris("put", "h", "--if-absent", "5=50")
        server.eris("add", "h", "5=1")
        harness.check_equal(server.eris_json("get", "h", "5")[0]["value"], "51", "counter")
        harness.check_equal(server.eris_json("erase", "h", "1", "999"), {"keys": "2", "erased": "1"},
                            "erase")
        server.refused("create", "x", "--kind", "hash", "--value-type", "string", said=("hash", "string"))
        for arguments in (["scan", "h"], ["scan", "h", "--reverse"], ["aggregate", "h"], ["count", "h"],
                          ["export", "h", os.path.join(directory, "out.csv")]):
            server.refused(*arguments, said='"h" is a hash, which has no key order', code=REFUSED)
        server.refused("count", "h", said="eris list h shows", code=REFUSED)
        path = os.path.join(directory, "rows.csv")
        with open(path, "w") as file:
            file.writelines(f"{key},{key + 1}\n" for key in range(50_000))
        server.eris("import", "loaded", path, "--no-header", "--kind", "hash")
        loaded = server.eris_json("list", "loaded")[0]
        harness.check_equal((loaded["kind"], loaded["rows"]), ("hash", "50000"), "imported")
        harness.check_equal(server.eris_json("get", "loaded", "49999")[0]["value"], "50000", "row")
        server.eris("drop", "h")
        server.eris("get", "h", "2", code=NOT_FOUND)


def test_scans_and_aggregates(programs):
    largest = 2**64 - 1
    rows = [(key, key * 7 % 1000) for key in range(0, 200_000, 2)] + [(largest, largest)]
    with harness.Server(programs, "--aeus", "3") as server:
        server.eris("create", "o", "--expect", "0:200000")
        server.eris("put", "o", "-", input="".join(f"{key} {value}\n" for key, value in rows))

        def expect(chosen, keys_only=False):
            return [{"key": str(key)} if keys_only else {"key": str(key), "value": str(value)}
                    for key, value in chosen]

        harness.check_equal(server.eris_json("scan", "o", "--reverse"), expect(rows[::-1]), "reverse")
        harness.check_equal(server.eris_json("scan", "o", "--reverse", "--limit", "3"),
                            expect(rows[:-4:-1]), "reverse with a limit")
        harness.check_equal(
            server.eris_json("scan", "o", "--from", "1000", "--to", "150000", "--min-value", "10",
                             "--max-value", "19", "--reverse", "--keys-only"),
            expect([row for row in rows if 1000 <= row[0] < 150_000 and 10 <= row[1] <= 19][::-1],
                   keys_only=True), "a filter on values")
        harness.check_equal(server.eris("scan", "o", "--keys-only", "--limit", "2").stdout.split(),
                            ["key", "0", "2"], "keys only")
        harness.check_equal(server.eris_json("scan", "o", "--min-value", str(largest)),
                            expect(rows[-1:]), "the largest value")
        harness.check_equal(server.eris_json("scan", "o", "--min-value", "1000", "--max-value", "2000"),
                            [], "a filter that keeps nothing")
        chosen = [row for row in rows if 1000 <= row[0] < 150_000 and row[1] <= 19]
        values = [value for _, value in chosen]
        harness.check_equal(
            server.eris_json("aggregate", "o", "--from", "1000", "--to", "150000", "--max-value", "19"),
            {"count": str(len(chosen)), "min": str(min(values)), "max": str(max(values)),
             "sum": str(sum(values)), "avg": sum(values) / len(values),
             "first_key": str(chosen[0][0]), "last_key": str(chosen[-1][0])}, "aggregate")
        everything = server.eris_json("aggregate", "o")
        harness.check_equal(everything["sum"], str(sum(value for _, value in rows)), "128 bits")
        none = server.eris_json("aggregate", "o", "--from", "1", "--to", "2")
        harness.check_equal(none, {"count": "0", "min": None, "max": None, "sum": None, "avg": None,
                                   "first_key": None, "last_key": None}, "no rows")
        harness.check_equal(server.eris("aggregate", "o", "--to", "5").stdout.split(),
                            "COUNT MIN MAX SUM AVG FIRST KEY LAST KEY 3 0 28 42 14 0 4".split(), "table")
        harness.check_equal(server.eris("count", "o").stdout, f"{len(rows)}\n", "count")
        harness.check_equal(server.eris_json("count", "o", "--from", "3", "--to", "9", "--min-value", "29"),
                            {"count": "2"}, "count with a filter")

        for arguments, said in (
                (["scan", "o", "--min-value", "5", "--max-value", "4"],
                 "inverted range: --max-value 4 is below --min-value 5"),
                (["scan", "o", "--min-value", "-1"], "--min-value: '-1' is no number"),
                (["scan", "o", "--to", "x"], "--to: 'x' is no number"),
                (["count", "o", "--from", "5", "--to", "4"], "inverted range: --to 4 is below --from 5"),
                (["aggregate", "o", "--max-value", "1e3"], "--max-value: '1e3' is no number")):
            server.refused(*arguments, said=said)
        server.eris("aggregate", "nosuch", code=NOT_FOUND)
        server.eris("count", "nosuch", code=NOT_FOUND)


def test_conditional_writes(programs):
    largest = str(2**64 - 1)
    with harness.Server(programs) as server:
        server.eris("create", "o", "--expect", "0:1000")
        harness.check_equal(
            server.eris("put", "o", "1=10", "2=20", "--if-absent").stdout.split(),
            ["key", "written", "before", "1", "yes", "-", "2", "yes", "-"], "insert")
        harness.check_equal(
            server.eris("put", "o", "--if-absent", "2=21", "3=30", code=NOT_FOUND).stdout.split(),
            ["key", "written", "before", "2", "no", "20", "3", "yes", "-"], "insert again")
        harness.check_equal(
            server.eris_json("put", "o", "--if-present", "3=31", "9=90", code=NOT_FOUND),
            [{"key": "3", "written": True, "before": "30"},
             {"key": "9", "written": False, "before": None}], "replace")
        # If a key is twice in a batch, the first swap wins.
        harness.check_equal(
            server.eris_json("put", "o", "--compare-and-set", "3=31:32", "3=31:33", "1=9:11",
                             code=NOT_FOUND),
            [{"key": "3", "written": True, "before": "31"},
             {"key": "3", "written": False, "before": "32"},
             {"key": "1", "written": False, "before": "10"}], "compare and set")
        server.eris("put", "o", "--compare-and-set", "-", input="1 10 11\n2 20 22\n")
        harness.check_equal(
            server.eris_json("scan", "o"),
            [{"key": "1", "value": "11"}, {"key": "2", "value": "22"}, {"key": "3", "value": "32"}],
            "rows")

        harness.check_equal(server.eris("add", "o", "1=-1", "500=7").stdout.split(),
                            ["key", "value", "1", "10", "500", "7"], "add")
        harness.check_equal(
            server.eris_json("add", "o", "-", input="500 -8\n500 3\n"),
            [{"key": "500", "value": largest}, {"key": "500", "value": "2"}], "add wraps")
        many = "".join(f"{key % 100} 1\n" for key in range(200_000))
        sums = server.eris_json("add", "o", "-", input=many)
        harness.check_equal(len(sums), 200_000, "sums")
        harness.check_equal(server.eris_json("get", "o", "99"), [{"key": "99", "value": "2000"}],
                            "a counter over several requests")


def test_conditional_writes_refuse_bad_input(programs):
    with harness.Server(programs) as server:
        server.eris("create", "o")
        for arguments, said in (
                (["put", "o", "1=2", "--compare-and-set"], "key=expected:value"),
                (["put", "o", "1=2:3", "--if-absent"], "'2:3' is no number"),
                (["put", "o", "1=-2", "--if-absent"], "'-2' is no number"),
                (["put", "o", "1=a:3", "--compare-and-set"], "'a' is no number"),
                (["put", "o", "1=2", "--if-absent", "--if-present"], "excludes"),
                (["put", "o", "1=2:3", "--compare-and-set", "--if-absent"], "excludes"),
                (["add", "o", "1"], "key=delta"),
                (["add", "o", "1=-9223372036854775809"], "from -9223372036854775808"),
                (["add", "o", "1=18446744073709551616"], "18446744073709551615"),
                (["add", "o"], "pairs is required")):
            server.refused(*arguments, said=said)
        server.eris("add", "nosuch", "1=1", code=NOT_FOUND)
        harness.check_equal(server.eris_json("list")[0]["rows"], "0", "rows")
        # What came before a bad line has been counted, and the text says how much.
        bad = "".join("5 1\n" for _ in range(65536)) + "5 x\n"
        server.refused("add", "o", "-", input=bad, said=("line 65537 of the input, '5 x'", "after 65536 keys"))
        harness.check_equal(server.eris_json("get", "o", "5")[0]["value"], "65536", "counter")
        for verb, line in (("put", "7"), ("get", "seven"), ("erase", "1/2")):
            refused = server.eris(verb, "o", "-", input=f"5 1\n\n{line}\n" if verb == "put" else f"5\n\n{line}\n", code=INVALID)
            harness.check(f"line 3 of the input, '{line}': " in refused.stderr, refused.stderr)


def test_adds_at_the_memory_limit_count_or_say_that_they_do_not(programs):
    with harness.Server(programs, "--memory-limit", "40MiB") as server:
        server.eris("create", "o")
        keys = [str(key * 11400714819323198485 % 2**64) for key in range(3_000_000)]
        refused = server.eris("add", "o", "-", "--output", "json",
                              input="".join(f"{key} 1\n" for key in keys), code=REFUSED)
        counted = {row["key"] for row in json.loads(refused.stdout) if row}
        named = [line.split()[2].rstrip(":") for line in refused.stderr.splitlines()
                 if line.endswith(": refused, not changed")]
        harness.check(named, "no key was named as refused")
        harness.check("RESOURCE_EXHAUSTED" in refused.stderr, refused.stderr[-500:])
        harness.check_equal(len(counted & set(named)), 0, "both counted and refused")
        # Together they are the requests that were sent, the last of them in part.
        harness.check_equal(len(counted) + len(named),
                            (len(counted) + len(named)) // 65536 * 65536, "whole requests")
        harness.check_equal(int(server.eris_json("list")[0]["rows"]), len(counted), "rows")
        server.eris("add", "o", f"{keys[0]}=1")  # a counter that is there goes on


def test_scan_into_head_ends_quietly(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "rows.csv")
        with open(path, "w") as file:
            file.writelines(f"{key},{key}\n" for key in range(300_000))
        server.eris("import", "rows", path, "--kind", "index", "--no-header")
        for output in ("table", "json"):
            done = subprocess.run(
                ["bash", "-c", f"'{programs.eris}' scan rows --output {output} | head -3; "
                               "echo ${PIPESTATUS[0]}"], env=server.env, capture_output=True,
                text=True, timeout=60,
                # Python ignores SIGPIPE and children inherit that; a shell's programs do not.
                preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
            harness.check_equal(done.stderr, "", "stderr")
            harness.check_equal(done.stdout.splitlines()[-1], "0", "exit code of eris")
            harness.check_equal(len(done.stdout.splitlines()), 4, "lines")
        server.wait_until_quiet()


def test_export_and_import_go_round(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "source.csv")
        rows = sorted((key * 7919 % 1_000_003, key) for key in range(50_000))
        with open(source, "w") as file:
            file.write("key,value\n")
            file.writelines(f"{key},{value}\n" for key, value in rows)
        harness.check_equal(server.eris_json("import", "a", source, "--kind", "index")["rows"], "50000", "rows")
        exported = os.path.join(directory, "a.csv")
        server.eris("export", "a", exported)
        with open(source) as one, open(exported) as two:
            harness.check(one.read() == two.read(), "the exported file differs from the imported")
        harness.check_equal(sorted(os.listdir(directory)), ["a.csv", "source.csv"], "files")
        tbl = server.eris("export", "a", "-", "--format", "tbl").stdout
        harness.check(tbl.startswith(f"{rows[0][0]}|{rows[0][1]}|\n"), "first row of the tbl export")
        server.eris("import", "b", "-", "--kind", "index", "--format", "tbl", input=tbl, code=INVALID)
        server.eris("import", "b", "-", "--kind", "index", "--format", "tbl", "--expect", "0:1000003", input=tbl)
        harness.check(server.eris("export", "b", "-").stdout == server.eris("export", "a", "-").stdout,
                      "b differs from a")
        server.eris("export", "nosuch", os.path.join(directory, "none.csv"), code=NOT_FOUND)
        server.eris("export", "a", "/nonexistent/a.csv", code=INVALID)


BAD_CSV = 'id;name;group\n1;"a;b";10\n2;c;x\n3;d\n4;"e ""f""";40\n-5;g;50\n6;h;60\n'


def test_import_aborts_at_the_first_bad_line_or_skips_them(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "bad.csv")
        with open(path, "w") as file:
            file.write(BAD_CSV)
        flags = [path, "--delimiter", ";", "--key", "id", "--value", "group"]
        server.refused("import", "a", *flags,
                       said=("line 3", "column 3 (group) is 'x'", "after 1 rows were loaded", "a, which this import had created, was dropped again"))
        harness.check_equal(server.eris_json("list"), [], "nothing is left that blocks the next try")
        server.refused("import", "a", *flags, "--keep", said="a is kept, with the rows loaded so far")
        # An object that was there before is not dropped, whatever fails.
        again = server.eris("import", "a", *flags, code=INVALID)
        harness.check("dropped" not in again.stderr, again.stderr)
        harness.check_equal(server.eris_json("scan", "a"), [{"key": "1", "value": "10"}], "loaded")

        skipped = server.eris("import", "b", *flags, "--on-error", "skip", "--output", "json")
        harness.check_equal(json.loads(skipped.stdout)["skipped"], "3", "skipped")
        harness.check_equal([line.split("line ")[1].split(":")[0]
                             for line in skipped.stderr.splitlines()], ["3", "4", "6"], "lines")
        harness.check_equal([row["key"] for row in server.eris_json("scan", "b")], ["1", "4", "6"],
                            "keys")

        server.eris("import", "c", *flags[:-2], "--value", "nosuch", code=INVALID)
        server.eris("import", "c", os.path.join(directory, "none.csv"), code=INVALID)
        server.eris("import", "c", *flags, "--no-create", code=NOT_FOUND)
        harness.check_equal([o["name"] for o in server.eris_json("list")], ["a", "b"], "objects")


def test_an_index_does_not_lose_columns_in_silence(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "users.csv")
        with open(path, "w") as file:
            file.write("id,group,age\n1,10,30\n2,20,40\n")
        refused = server.eris("import", "users", path, "--kind", "index", code=INVALID)
        for part in ("users.csv has 3 columns (id, group, age)", "--schema 'id:TYPE,group:TYPE,age:TYPE'",
                     "--key and --value"):
            harness.check(part in refused.stderr, f"'{part}' is not in: {refused.stderr}")
        harness.check_equal(server.eris_json("list"), [], "objects")
        server.eris("import", "ages", path, "--value", "age")
        harness.check_equal(server.eris_json("get", "ages", "2")[0]["value"], "40", "a column that was chosen")
        server.eris("import", "users", path, "--schema", "id:int64,group:int32,age:int32", "--key", "id")
        tbl = os.path.join(directory, "nation.tbl")
        with open(tbl, "w") as file:
            file.write("0|ALGERIA|0|x|\n")
        server.refused("import", "nation", tbl, "--kind", "index", said="give --schema tpch:nation for")


def test_import_beyond_the_memory_limit_is_refused_and_the_server_lives(programs):
    with harness.Server(programs, "--memory-limit", "64MiB") as server:
        rows = "".join(f"{key * 2654435761 % 2**32},{key}\n" for key in range(4_000_000))
        refused = server.eris("import", "big", "-", "--kind", "index", "--no-header", "--expect", "0:4294967296",
                              input=rows, code=REFUSED)
        harness.check("RESOURCE_EXHAUSTED" in refused.stderr, refused.stderr)
        harness.check("was dropped again" in refused.stderr, refused.stderr)
        harness.check_equal(server.eris_json("list"), [], "what was loaded")
        server.eris("import", "small", "-", "--kind", "index", "--no-header", "--expect", "0:100", input="1,2\n")
        idle = server.eris("import", "small", "-", "--no-header", "--expect", "9:1", input="1,2\n")
        harness.check("--expect 9:1 does nothing: small exists" in idle.stderr, idle.stderr)
        server.refused("topology", "--network-cores", "1", said=("--network-cores is for a plan", "--explain"))


def test_topology_explains_without_a_server(programs):
    done = programs.run("topology", "--explain", "--topology", "numa:4 core:2 pu:1", "--aeus", "3", code=OK,
                        env=dict(os.environ, ERIS_SERVER="127.0.0.1:1"))
    harness.check("NumaNode" in done.stdout, done.stdout)
    programs.run("topology", "--explain", "--topology", "nonsense", code=INVALID)


def expect_answer(programs, address, code, said, *more):
    """What `eris list` says of an address, and its exit code. The timeout of a day shows that an answer does not
    wait for it."""
    done = programs.run("list", "--server", address, *(more or ("--timeout", "86400")), code=code)
    harness.check("{" not in done.stderr and "last error" not in done.stderr, done.stderr)
    harness.check_said(done, said)
    return done.stderr


def test_without_a_server_every_verb_says_so_at_once(programs):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, and nobody listens
        address = f"127.0.0.1:{free.getsockname()[1]}"
        text = expect_answer(programs, address, UNAVAILABLE, "nobody listens on")
        harness.check_equal(text, f"eris: UNAVAILABLE: nobody listens on {address}; start one with "
                                  f"`eris serve --listen {address}`\n", "no server")
        for verb in (["get", "a", "1"], ["scan", "a"], ["stats"], ["memory"], ["balancer", "status"], ["drop", "a"],
                     ["import", "a", "/dev/null"], ["bench", "c"]):
            programs.refused(*verb, "--server", address, said="nobody listens on", code=UNAVAILABLE)
    expect_answer(programs, "unix:/nonexistent/eris.sock", UNAVAILABLE,
                  "nobody listens on unix:/nonexistent/eris.sock; start one")
    expect_answer(programs, "nohost.invalid:7411", UNAVAILABLE,
                  "host 'nohost.invalid' of nohost.invalid:7411 is not known")
    for wrong in ("localhost", "localhost:", ":7411", "127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1:x", "[::1]"):
        expect_answer(programs, wrong, INVALID, f"server '{wrong}' is neither host:port")


def test_a_server_of_another_kind_is_named_as_such(programs):
    with socket.create_server(("127.0.0.1", 0)) as other:
        def answer():
            try:
                while True:
                    peer = other.accept()[0]
                    peer.recv(100)
                    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                    peer.close()
            except OSError:
                return
        threading.Thread(target=answer, daemon=True).start()
        address = "127.0.0.1:%d" % other.getsockname()[1]
        expect_answer(programs, address, UNAVAILABLE,
                      f"{address} answers, but not as a gRPC server without TLS does")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        expect_answer(programs, "127.0.0.1:%d" % silent.getsockname()[1], UNAVAILABLE,
                      ("no answer from 127.0.0.1:", "is it an ERIS server?"), "--timeout", "0.3")


def test_options_come_from_file_environment_and_flags(programs):
    def printed(*args, **environment):
        return programs.run("serve", "--print-config", *args, code=OK, env={**os.environ, **environment}).stdout

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "eris.toml")
        with open(path, "w") as file:
            file.write("[engine]\nscan_slice_us = 7\nsnapshot_age_ms_max = 8\nversion_bytes_max = 9\n")
        text = printed("--config", path, "--version-bytes-max", "1MiB", ERIS_SNAPSHOT_AGE_MS_MAX="88",
                       ERIS_VERSION_BYTES_MAX="99")
        for line in ("scan_slice_us = 7", "snapshot_age_ms_max = 88", "version_bytes_max = 1048576"):
            harness.check(f"\n{line}\n" in text, f"'{line}' is not in {text}")
        # What is printed is a file that says the same.
        with open(path, "w") as file:
            file.write(text)
        harness.check_equal(printed("--config", path), text, "what --print-config printed, read again")
    programs.refused("serve", "--print-config", said="ERIS_SCAN_SLICE_US: engine.scan_slice_us is 'soon'",
                     env={**os.environ, "ERIS_SCAN_SLICE_US": "soon"})
    for arguments, variable, said in (
            ([], "ERIS_MEMORY_LIMITS_BYTES", "ERIS_MEMORY_LIMITS_BYTES, which is no option; did you mean ERIS_MEMORY_LIMIT_BYTES?"),
            (["--memory-spill=maybe"], "ERIS_SEED", "--memory-spill is 'maybe', neither true nor false"),
            (["--memory-limits", "1GiB"], "ERIS_SEED", "did you mean '--memory-limit'?")):
        programs.refused("serve", "--print-config", *arguments, said=said, env={**os.environ, variable: "1"})


def test_the_page_of_options_is_that_of_the_program(programs):
    table = programs.run("serve", "--print-options", code=OK).stdout
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "configuration.md"
    harness.check(table in page.read_text(),
                  "docs/guide/configuration.md has another table than `eris serve --print-options`; put that one there")


def test_the_page_of_errors_is_that_of_the_program(programs):
    table = programs.run("serve", "--print-errors", code=OK).stdout
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "errors.md"
    harness.check(table in page.read_text(), "docs/guide/errors.md has other tables than `eris serve --print-errors`; put those there")


def test_version_names_the_release_and_the_commit(programs):
    done = programs.run("--version", code=OK)
    harness.check(re.fullmatch(r"eris \d+\.\d+\.\d+ \(commit ([0-9a-f]{7,}(-changed)?|unknown)\)\n", done.stdout),
                  f"not a version: {done.stdout!r}")


def test_help_and_mistyped_verbs(programs):
    harness.check_equal(programs.run("help", "scan").stdout, programs.run("scan", "--help").stdout, "eris help scan")
    programs.run("help", code=OK)
    for args, words in ((["serv"], "no verb 'serv'; did you mean 'serve'?"),
                        (["balancer", "staus"], "no verb 'balancer staus'; did you mean 'balancer status'?"),
                        ([], "a verb is missing")):
        programs.refused(*args, said=(words, "The verbs are: "))


def test_help_of_every_verb_has_examples(programs):
    verbs = ["serve", "create", "drop", "list", "put", "add", "get", "erase", "scan", "aggregate", "count",
             "import", "export", "generate", "stats", "topology", "memory", "memory verify", "balancer", "balancer status",
             "balancer history", "balancer plan", "balancer set", "balancer pause", "balancer resume",
             "balancer rebalance", "balancer presplit", "balancer move", "config", "config check", "config dump",
             "config get", "config set", "doctor"]
    top = programs.run("--help", code=OK)
    harness.check("Exit codes" in top.stdout, top.stdout)
    for verb in verbs:
        done = programs.run(*verb.split(), "--help", code=OK)
        harness.check(f"\n  eris {verb}" in done.stdout, f"no example in eris {verb} --help")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
