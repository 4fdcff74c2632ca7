"""The eris program as scripts see it: output, exit codes, pipes, import and export."""
import json
import os
import signal
import subprocess
import tempfile

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED = range(5)


def test_verbs_and_exit_codes(programs):
    with harness.Server(programs) as server:
        server.eris("create", "users", "--expect", "0:1000")
        server.eris("create", "users", code=REFUSED)
        server.eris("put", "users", "1=10", "2=20", "18446744073709551615=3")
        server.eris("put", "users", "-", input="0 5\n\n7=70\n")
        harness.check_equal(server.eris("get", "users", "7", "1").stdout.split(),
                            ["KEY", "VALUE", "7", "70", "1", "10"], "get")
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
                            [{"key": "5", "value": "6"}, {"key": "4", "value": None}], "get")
        harness.check_equal(server.eris_json("erase", "big", "5", "4"),
                            {"keys": "2", "erased": "1"}, "erase")
        harness.check_equal(server.eris_json("list")[0]["keys"], "1", "keys")
        harness.check_equal(server.eris_json("drop", "big"), {"dropped": "big"}, "drop")
        harness.check(server.eris_json("topology")["text"], "topology")


def test_scan_into_head_ends_quietly(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "rows.csv")
        with open(path, "w") as file:
            file.writelines(f"{key},{key}\n" for key in range(300_000))
        server.eris("import", "rows", path, "--no-header")
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
        harness.check_equal(server.eris_json("import", "a", source)["rows"], "50000", "rows")
        exported = os.path.join(directory, "a.csv")
        server.eris("export", "a", exported)
        with open(source) as one, open(exported) as two:
            harness.check(one.read() == two.read(), "the exported file differs from the imported")
        harness.check_equal(sorted(os.listdir(directory)), ["a.csv", "source.csv"], "files")
        tbl = server.eris("export", "a", "-", "--format", "tbl").stdout
        harness.check(tbl.startswith(f"{rows[0][0]}|{rows[0][1]}|\n"), "first row of the tbl export")
        server.eris("import", "b", "-", "--format", "tbl", input=tbl, code=INVALID)
        server.eris("import", "b", "-", "--format", "tbl", "--expect", "0:1000003", input=tbl)
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
        aborted = server.eris("import", "a", *flags, code=INVALID)
        for part in ("line 3", "column 3 (group) is 'x'", "after 1 rows were loaded"):
            harness.check(part in aborted.stderr, f"'{part}' is not in: {aborted.stderr}")
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


def test_import_beyond_the_memory_limit_is_refused_and_the_server_lives(programs):
    with harness.Server(programs, "--memory-limit", "64MiB") as server:
        rows = "".join(f"{key * 2654435761 % 2**32},{key}\n" for key in range(4_000_000))
        refused = server.eris("import", "big", "-", "--no-header", "--expect", "0:4294967296",
                              input=rows, code=REFUSED)
        harness.check("RESOURCE_EXHAUSTED" in refused.stderr, refused.stderr)
        harness.check(int(server.eris_json("list")[0]["keys"]) > 0, "nothing was loaded")
        server.eris("drop", "big")
        server.eris("import", "small", "-", "--no-header", "--expect", "0:100", input="1,2\n")


def test_topology_explains_without_a_server(programs):
    done = subprocess.run([programs.eris, "topology", "--explain", "--topology",
                           "numa:4 core:2 pu:1", "--aeus", "3"], capture_output=True, text=True,
                          env=dict(os.environ, ERIS_SERVER="127.0.0.1:1"), timeout=60)
    harness.check_equal(done.returncode, OK, f"exit code {done.stderr}")
    harness.check("NumaNode" in done.stdout, done.stdout)
    wrong = subprocess.run([programs.eris, "topology", "--explain", "--topology", "nonsense"],
                           capture_output=True, text=True, timeout=60)
    harness.check_equal(wrong.returncode, INVALID, f"exit code {wrong.stderr}")


def test_help_of_every_verb_has_examples(programs):
    verbs = ["serve", "create", "drop", "list", "put", "get", "erase", "scan", "import", "export",
             "stats", "topology"]
    top = subprocess.run([programs.eris, "--help"], capture_output=True, text=True)
    harness.check("Exit codes" in top.stdout, top.stdout)
    for verb in verbs:
        done = subprocess.run([programs.eris, verb, "--help"], capture_output=True, text=True)
        harness.check_equal(done.returncode, OK, f"eris {verb} --help")
        harness.check(f"\n  eris {verb}" in done.stdout, f"no example in eris {verb} --help")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
