"""`eris config`: every error of a file, the origin of every value, options of a running server; and the default file."""
import json
import os
import pathlib
import re
import tempfile

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


def values(text):
    """Name -> (value, origin) of a dump."""
    found, section = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line[1:-1]
        elif line:
            key, rest = line.split(" = ", 1)
            found[f"{section}.{key}"] = tuple(rest.rsplit("  # ", 1))
    return found


def test_a_check_names_every_error_with_its_line(programs):
    with tempfile.TemporaryDirectory() as directory:
        bad = write(os.path.join(directory, "bad.toml"),
                    "[server]\nlissten = 1\ncall_ms_max = x\n[engine]\nplacement = 'spare'\n[enginee]\n")
        done = programs.run("config", "check", bad, code=2)
        lines = done.stdout.splitlines()
        harness.check_equal([line.split(":")[1] for line in lines], ["2", "3", "5", "6"], done.stdout)
        harness.check("did you mean listen?" in lines[0] and "did you mean [engine]?" in lines[3], done.stdout)
        report = json.loads(programs.run("config", "check", bad, "--output", "json", code=2).stdout)
        harness.check_equal(report["problems"], lines, "problems in JSON")

        good = write(os.path.join(directory, "good.toml"), "[engine]\naeu_cpus = [0, 100000]\n")
        harness.check("on this machine: " in programs.run("config", "check", good, code=2).stdout, "cpu 100000")
        harness.check_equal(programs.run("config", "check", "--any-machine", good, code=0).stdout, f"{good}: ok\n", "ok")
        programs.refused("config", "check", os.path.join(directory, "none.toml"), said="No such file")


def test_a_check_refuses_what_a_start_refuses(programs):
    with tempfile.TemporaryDirectory() as directory:
        tokens = write(os.path.join(directory, "tokens"), "")
        wrong = write(os.path.join(directory, "wrong"), "no token\n")
        absent = os.path.join(directory, "absent")
        listen = "[server]\nlisten = '127.0.0.1:0'\n"
        for text, said in (("[server]\nlisten = '0.0.0.0:0'\n", "server.listen is 0.0.0.0:0, which other machines reach"),
                           (f"{listen}http = '0.0.0.0:0'\n", "server.http is 0.0.0.0:0, which other machines reach"),
                           (f"{listen}[security]\ntokens_file = '{absent}'\n", absent),
                           (f"{listen}[security]\ntokens_file = '{wrong}'\n", f"{wrong}:1: "),
                           (f"{listen}[security]\ntls_cert = '{absent}'\ntls_key = '{absent}'\n", absent)):
            path = write(os.path.join(directory, "eris.toml"), text)
            done = programs.run("config", "check", path, code=2)
            harness.check(f"{path}: on this machine: " in done.stdout and said in done.stdout, done.stdout)
            harness.check_equal(programs.run("config", "check", "--any-machine", path, code=0).stdout, f"{path}: ok\n", "ok")
            harness.check(said in programs.run("serve", "--config", path, code=2).stderr, "the start says the same")
        for text in (f"{listen}[security]\ntokens_file = '{tokens}'\n",
                     "[server]\nlisten = '0.0.0.0:0'\n[security]\nopen = true\n"):
            path = write(os.path.join(directory, "eris.toml"), text)
            harness.check_equal(programs.run("config", "check", path, code=0).stdout, f"{path}: ok\n", "ok")


def test_a_dump_tells_the_origin_of_every_value(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = write(os.path.join(directory, "eris.toml"), "[engine]\n\naeu_count = 3\nscan_slice_us = 7\n")
        environment = {**os.environ, "ERIS_SCAN_SLICE_US": "8"}
        plain = values(programs.run("config", "dump", path, code=0, env=environment).stdout)
        harness.check_equal(plain["engine.aeu_count"], ("3", f"{path}:3"), "from the file")
        harness.check_equal(plain["engine.scan_slice_us"], ("7", f"{path}:4"), "from the file alone")
        harness.check_equal(plain["balancer.window"], ("1", "default"), "a default")
        done = programs.run("config", "dump", path, "--effective", "--aeus", "2", code=0, env=environment).stdout
        effective = values(done)
        harness.check_equal(effective["engine.aeu_count"], ("2", "--aeu-count"), "from a flag")
        harness.check_equal(effective["engine.scan_slice_us"], ("8", "ERIS_SCAN_SLICE_US"), "from a variable")
        harness.check_equal(set(effective), set(plain), "every key")
        # What is dumped is a file that says the same.
        again = values(programs.run("config", "dump", write(os.path.join(directory, "again.toml"), done), code=0).stdout)
        harness.check_equal({key: value for key, (value, _) in again.items()},
                            {key: value for key, (value, _) in effective.items()}, "the dump, read again")
        programs.refused("config", "dump", path, "--aeus", "2", said="--aeu-count is for --effective")


def fields(header, struct):
    """The fields of a struct of plain values."""
    body = re.search(rf"struct {struct} {{(.*?)\n}};", (ROOT / "include/eris" / header).read_text(), re.S).group(1)
    return set(re.findall(r"^  [\w:<>]+ (\w+)(?: = [^;]*|{})?;", body, re.M))


def test_every_option_of_the_engine_can_be_set_by_a_file(programs):
    keys = values(programs.run("config", "dump", "none", code=0).stdout)
    engine = fields("options.h", "Options")
    # What the embedding program needs: of a server, server.in_flight_bytes_max. And a section of its own.
    engine -= {"caller_bytes", "balancer"}
    harness.check({"topology", "aeu_cpus", "memory_limit_bytes", "task_scheduling"} <= engine, engine)
    harness.check_equal({f"engine.{name}" for name in engine}, {key for key in keys if key.startswith("engine.")}, "engine")
    harness.check_equal({f"balancer.{name}" for name in fields("balancer.h", "BalancerOptions")},
                        {key for key in keys if key.startswith("balancer.")}, "balancer")


def test_options_change_while_the_server_runs(programs):
    with harness.Server(programs, "--call-ms-max", "50000") as server:
        def got(name):
            return values(server.eris("config", "get", name).stdout)[name]

        harness.check_equal(got("server.call_ms_max"), ("50000", "--call-ms-max"), "before")
        changed = server.eris("config", "set", "call_ms_max=4000", "balancer.threshold=0.5", "sample_interval_ms=100").stdout
        harness.check_equal(values(changed)["server.call_ms_max"], ("4000", "config set"), "answer")
        harness.check_equal(got("server.call_ms_max"), ("4000", "config set"), "after")
        harness.check("an option was changed option=\"server.call_ms_max\"" in server.log(), server.log())
        before = len(server.log())
        harness.wait_until(lambda: len(server.log()) > before, "a line of the load, every 100 ms")
        server.eris("config", "set", "sample_interval_ms=0")
        balancer = json.dumps(server.eris_json("balancer", "status"))
        harness.check('"threshold": 0.5' in balancer, balancer)
        server.refused("config", "set", "call_ms_max=1", "engine.aeu_count=2", code=4,
                       said=("engine.aeu_count needs a restart", "ERIS_AEU_COUNT"))
        server.refused("config", "set", "call_ms_mx=1", said="did you mean call_ms_max?")
        server.refused("config", "set", "call_ms_max=soon", said="must be an integer")
        server.refused("config", "set", "call_ms_max", said="KEY=VALUE")
        server.refused("config", "get", "call_ms_mx", said="did you mean call_ms_max?")
        harness.check_equal(got("server.call_ms_max"), ("4000", "config set"), "after refusals")


def test_the_default_file_is_read_if_it_exists(programs):
    with tempfile.TemporaryDirectory() as root:
        os.environ["ERIS_SYSTEM_ROOT"] = root
        try:
            with harness.Server(programs) as server:
                harness.check("configuration read" not in server.log(), server.log())
            path = write(os.path.join(root, "etc", "eris", "eris.toml"), "[engine]\naeu_count = 3\n")
            with harness.Server(programs) as server:
                harness.check_equal(len(server.stats()["aeus"]), 3, "AEUs by the default file")
                harness.check(f'configuration read file="{path}"' in server.log(), server.log())
            with harness.Server(programs, "--config", "none", "--aeus", "1") as server:
                harness.check_equal(len(server.stats()["aeus"]), 1, "AEUs without the file")
                harness.check("configuration read" not in server.log(), server.log())
            write(path, "[engine]\naeus = 3\n")
            programs.refused("serve", said=f"{path}:2: unknown key aeus")
            harness.check("unknown key aeus" in programs.run("config", "check", code=2).stdout, "check of the default file")
        finally:
            del os.environ["ERIS_SYSTEM_ROOT"]


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
