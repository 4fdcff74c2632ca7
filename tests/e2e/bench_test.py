"""eris bench against a real server of two AEUs: every workload verifies, a wrong value is found, and what
makes no sense is refused."""
import csv
import io
import json
import os
import signal
import subprocess
import tempfile
import xml.etree.ElementTree

import harness

KEYS = ["--keys", "200000"]


def test_every_workload_verifies(programs):
    with harness.Server(programs, "--aeus", "2") as server:
        server.bench("load", *KEYS, "--batch", "8192", "--connections", "2")
        for workload in ("lookup", "upsert", "mixed", "scan", "a", "b", "c", "d", "e", "f"):
            for flags in (["--batch", "64", "--connections", "2", "--streams", "2"], ["--batch", "1"],
                          ["--unary", "--batch", "16"]):
                if workload == "scan" and "--unary" in flags:
                    continue
                run = server.bench(workload, *KEYS, "--requests", "500", *flags)
                what = f"{workload} {' '.join(flags)}"
                harness.check_equal(run["wrong"], 0, f"{what}: wrong")
                harness.check_equal(run["answered"], 500, f"{what}: requests answered")
                harness.check_equal(run["failed"], 0, f"{what}: failed")
                harness.check(sum(one["answered"] for one in run["operations"].values()) == 500, what)
        for distribution in ("zipf", "hot", "shifting", "sequential"):
            server.bench("lookup", *KEYS, "--requests", "200", "--distribution", distribution)
        missing = server.bench("lookup", *KEYS, "--requests", "200", "--missing-percent", "30")
        harness.check_equal(missing["wrong"], 0, "wrong lookups of missing keys")
        # What d and e have inserted stands between the keys of the set, and disturbs no scan.
        rows = server.bench("scan", *KEYS, "--requests", "2", "--scan-rows", "0")["keys"]
        harness.check(rows > 400000, f"{rows} rows of two scans")


def test_open_loop(programs):
    with harness.Server(programs, "--aeus", "2") as server:
        server.bench("load", *KEYS)
        run = server.bench("c", *KEYS, "--batch", "1", "--rate", "300", "--warm-up", "0.5", "--seconds", "2",
                           "--interval", "0.5")
        # All that falls due in 2 s, and what the warm-up left: however busy the machine is.
        due = run["answered"] + run["not_sent"]
        harness.check(450 < due < 900, f"{due} requests due in 2 s at 300/s")
        harness.check(run["p50_us"] >= run["service"]["p50_us"], "corrected latency below the service time")
        harness.check_equal([one["warm_up"] for one in run["series"]][:3], [True, False, False], "warm-up")
        table = server.eris("bench", "c", *KEYS, "--batch", "1", "--seconds", "0.5")
        harness.check("p99.99" in table.stdout and "keys/s" in table.stderr, table.stdout + table.stderr)
        text = server.eris("bench", "a", *KEYS, "--batch", "1", "--seconds", "0.5", "--output", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        harness.check_equal(rows[-1]["failed"], "0", "failed requests of CSV")
        harness.check_equal([row["operation"] for row in rows], ["lookup", "upsert", "all"], "rows of CSV")


def test_wrong_values_are_found(programs):
    dense = ["--keys", "1000", "--layout", "dense"]
    with harness.Server(programs, "--aeus", "2") as server:
        server.bench("load", *dense)
        server.eris("put", "bench", "500=1")
        run = server.bench("lookup", *dense, "--requests", "100", code=1)
        harness.check(run["wrong"] > 0, "a wrong value was not found")
        harness.check_equal(server.bench("scan", *dense, "--scan-rows", "0", "--requests", "1",
                                         code=1)["wrong"], 1, "wrong rows of a scan")
        unverified = server.eris_json("bench", "lookup", *dense, "--requests", "100")
        harness.check_equal(unverified["wrong"], 0, "wrong without --verify")
        server.bench("upsert", *dense, "--requests", "100", "--distribution", "sequential")
        server.bench("lookup", *dense, "--requests", "100")  # the upserts have put it right
        server.eris("erase", "bench", "7")
        server.bench("lookup", *dense, "--requests", "100", code=1)
        server.bench("lookup", *KEYS, "--requests", "10", code=1)  # another layout


def test_exit_codes(programs):
    with harness.Server(programs, "--aeus", "2") as server:
        none = server.eris("bench", "lookup", "--requests", "1", code=1)
        harness.check("`eris bench load --object bench` makes and fills it" in none.stderr, none.stderr)
        server.bench("load", *KEYS)
        server.eris("bench", "load", *KEYS, code=4)  # it is there
        server.bench("load", *KEYS, "--replace")
        server.eris("bench", "lookup", "--batch", "0", code=2)
        for flags in (["--timeout", "nan"], ["--rate", "nan"], ["--requests", "-5"], ["--object", ""]):
            server.refused("bench", "lookup", *flags, said=flags[0])
        server.eris("create", "days", "--key-type", "timestamp")
        server.refused("bench", "lookup", "--object", "days", said="bench makes keys of uint64, and days has none")
        server.refused("bench", "lookup", "--aeus", "2", said="--embedded")
        server.eris("bench", "lookup", "--server", "127.0.0.1:1", "--timeout", "0.2", code=3)
        help_text = server.eris("bench", "--help").stdout
        harness.check("Examples:" in help_text and "--distribution" in help_text, help_text)


def test_a_reader_that_has_gone_and_a_closed_output(programs):
    dense = ["--keys", "1000", "--layout", "dense"]
    with harness.Server(programs, "--aeus", "2") as server:
        server.bench("load", *dense)
        server.eris("put", "bench", "500=1")
        scan = f"'{programs.eris}' bench scan --scan-rows 0 --requests 1 {' '.join(dense)}"
        gone = server.run("bash", "-c", f"{scan} --verify | true; echo ${{PIPESTATUS[0]}}")
        harness.check_equal(gone.stdout.strip(), "1", "exit code of wrong answers that nobody reads")
        gone = server.run("bash", "-c", f"{scan} | true; echo ${{PIPESTATUS[0]}}")
        harness.check_equal(gone.stdout.strip(), "0", "exit code of a report that nobody reads")
        closed = server.run("bash", "-c", f"{scan} >&-", code=4)
        harness.check("cannot write the output" in closed.stderr, closed.stderr)


def test_an_interrupt_brings_the_report(programs):
    bench = subprocess.Popen([programs.eris, "bench", "lookup", "--null", "--seconds", "60", "--interval", "0.1",
                              "--output", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    bench.stderr.readline()  # it is under way
    bench.send_signal(signal.SIGINT)
    out, err = bench.communicate(timeout=60)
    harness.check_equal(bench.returncode, 130, f"exit code\n{err}")
    run = json.loads(out)
    harness.check(run["answered"] > 0 and run["seconds"] < 60, f"{run['answered']} answered in {run['seconds']} s")


def test_without_a_server(programs):
    for flags in (["--null"], ["--embedded", "--aeus", "2", "--memory-limit", "256MiB"]):
        for workload in ("a", "e", "f"):
            done = programs.run("bench", workload, "--keys", "50000", "--requests", "200", "--verify", "--output", "json",
                                *flags, code=0)
            harness.check_equal(json.loads(done.stdout)["answered"], 200, f"{workload} {flags}: answered")


def test_a_sweep_finds_the_peak_and_runs_at_shares_of_it(programs):
    sweep = ["bench", "lookup", "--null", "--keys", "5000", "--batch", "1", "--seconds", "0.2"]
    run = json.loads(programs.run(*sweep, "--sweep", "10,40", "--output", "json", code=0).stdout)
    harness.check_equal([one["percent"] for one in run["sweep"]], [10, 40], "shares")
    harness.check_equal(run["flags"]["sweep"], "10,40", "the flag")
    peak = run["peak"]["requests_per_second"]
    harness.check_equal([round(one["rate"] / peak, 3) for one in run["sweep"]], [0.1, 0.4], "rates")
    harness.check(all(one["answered"] > 0 and "service" in one for one in run["sweep"]), run["sweep"])
    table = programs.run(*sweep, "--sweep", code=0).stdout
    lines = [line.split()[0] for line in table.splitlines() if line[:1].isdigit() and "%" in line[:6]]
    harness.check_equal(lines, ["50", "70", "90", "100"], "shares of --sweep alone")
    text = programs.run(*sweep, "--sweep", "20", "--output", "csv", code=0).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    harness.check_equal([(row["percent"], row["operation"]) for row in rows],
                        [("", "lookup"), ("", "all"), ("20", "lookup"), ("20", "all")], "rows of CSV")
    plain = json.loads(programs.run(*sweep, "--output", "json", code=0).stdout)
    harness.check("sweep" not in plain["flags"] and "sweep" not in plain, "a run that is no sweep")
    programs.refused("bench", "lookup", "--null", "--sweep", "--rate", "5", said="--rate")
    programs.refused("bench", "load", "--null", "--sweep", said="--sweep")
    programs.refused("bench", "--null", "--sweep", "a", said="such as 50,70,90,100")
    programs.refused("bench", "--null", "--sweep=0", said="'0'")


def test_plots(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "out.svg")
        run = ["bench", "a", "--null", "--keys", "5000", "--seconds", "0.5", "--interval", "0.1", "--plot", path]
        programs.run(*run, code=0)
        texts = [one.text for one in xml.etree.ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        for text in ("Throughput", "Latency", "Latency by percentile", "keys per second", "lookup", "upsert", "p99"):
            harness.check(text in texts, f"{text} is not in {texts}")
        harness.check(any(" cpus; eris " in text for text in texts), texts)
        programs.run(*run, "--sweep", "20,60", code=0)
        texts = [one.text for one in xml.etree.ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        harness.check("requests due per second" in texts, texts)
        harness.check_equal(os.listdir(directory), ["out.svg"], "files")
        # Before the run begins: nothing is on stderr but the error.
        nowhere = os.path.join(directory, "nowhere", "out.svg")
        refused = programs.run(*run[:-1], nowhere, code=2)
        harness.check_equal(refused.stderr, f"eris: INVALID_ARGUMENT: cannot write {nowhere}: No such file or directory\n",
                            "the error")


def test_compare(programs):
    with tempfile.TemporaryDirectory() as directory:
        def write(name, *flags):
            done = programs.run("bench", "lookup", "--null", "--seconds", "0.2", "--output", "json", *flags, code=0)
            return save(name, done.stdout)

        def save(name, text):
            path = os.path.join(directory, name)
            with open(path, "w") as file:
                file.write(text)
            return path

        one, other = write("a.json", "--keys", "5000"), write("b.json", "--keys", "5000", "--seed", "2")
        done = programs.run("bench", "compare", one, other, code=0)
        harness.check_equal(done.stderr, "", "warnings")
        harness.check("requests_per_second" in done.stdout and "seed" in done.stdout, done.stdout)
        compared = json.loads(programs.run("bench", "compare", one, other, "--output", "json", code=0).stdout)
        harness.check_equal(compared["comparable"], True, "comparable")
        for figure in compared["figures"]:
            harness.check(abs(figure["b"] / figure["a"] - figure["ratio"]) < 1e-6, figure)
        third = write("c.json", "--keys", "6000", "--connections", "2")
        warned = programs.run("bench", "compare", one, third, code=0).stderr
        for text in ("not comparable", "other keys 5000 and 6000", "other connections 1 and 2"):
            harness.check(text in warned, warned)
        sweep = write("d.json", "--keys", "5000", "--sweep", "50")
        programs.refused("bench", "compare", one, sweep, said="d.json is a sweep")
        both = json.loads(programs.run("bench", "compare", sweep, sweep, "--output", "json", code=0).stdout)
        harness.check_equal({figure["run"] for figure in both["figures"]}, {"peak", "50 %"}, "runs")
        programs.refused("bench", "compare", one, os.path.join(directory, "none.json"), said="none.json", code=1)
        programs.refused("bench", "compare", one, save("x.json", "not JSON"), said="x.json is no JSON")
        programs.refused("bench", "compare", one, save("y.json", '{"format": 7}'), said="y.json has the field format 7")
        programs.refused("bench", "compare", save("z.json", '{"format": 1}'), one, said="z.json has no field workload")
        programs.refused("bench", "compare", one, said="b is required")
        programs.refused("bench", "compare", one, other, "--keys", "5", said="keys does not go with")
        programs.refused("bench", "compare", one, other, "--output", "csv", said="csv")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
