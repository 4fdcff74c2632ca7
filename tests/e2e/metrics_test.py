"""What a server shows of itself: /metrics and its table, /healthz, /readyz, promtool's view of them, alert rules and dashboard, JSON lines of
the log, `eris top`, `eris hot`.
"""
import glob
import http.client
import json
import os
import pty
import re
import shutil
import signal
import subprocess

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVE = ("--topology", "numa:2 core:2 pu:1", "--http", "127.0.0.1:0", "--balancer-enabled", "true", "--balancer-period-ms", "100",
         "--balancer-threshold", "100")


def ask(address, path, host="localhost"):
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def metrics(address, path="/metrics"):
    """{series: value}"""
    status, text, headers = ask(address, path)
    harness.check_equal(status, 200, path)
    harness.check_equal(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8", "type")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    series = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}
    harness.check_equal(len(series), len(lines), "series that are there twice")
    return series


def name_of(series):
    return series.partition("{")[0]


def listed(programs):
    """{name of a series: its row}, of the table."""
    rows = json.loads(programs.run("metrics", "--list", "--output", "json", code=0).stdout)
    names = {}
    for row in rows:
        ends = ("_bucket", "_sum", "_count") if row["type"] == "histogram" else ("",)
        names.update({row["name"] + end: row for end in ends})
    return names


def check_table(programs):
    with open(os.path.join(ROOT, "docs", "guide", "metrics.md")) as file:
        documented = [line for line in file.read().splitlines() if line.startswith("|")]
    table = programs.run("metrics", "--markdown", code=0).stdout
    harness.check("\n".join(documented) + "\n" == table,
                  "docs/guide/metrics.md has another table than `eris metrics --markdown`; put that one there")
    text = programs.run("metrics", "--list", code=0).stdout
    for row in listed(programs).values():
        harness.check(row["name"] + "\n" in text and row["meaning"] in text, f"{row['name']} is not in --list")
    programs.refused("metrics", said="--list")


def check_counts(server, address, names):
    server.eris("create", "orders")
    for key in range(3):
        server.eris("put", "orders", f"{key}=7")
    server.eris("get", "orders", "1", "2")
    server.eris("get", "nothing", "1", code=1)
    call = 'eris_calls_total{{method="eris.v1.Data/{}",code="{}"}}'
    harness.wait_until(lambda: metrics(address).get(call.format("Write", "OK")) == 3 or
                       metrics(address).get('eris_stream_requests_total{method="eris.v1.Data/WriteStream",code="OK"}') == 3, "three writes")
    one = metrics(address)
    for series in one:
        harness.check(name_of(series) in names, f"{series} is not in the table")
        labels = ", ".join(label for label in re.findall(r'(\w+)="', series.partition("{")[2]) if label != "le")
        harness.check_equal(labels, names[name_of(series)]["labels"], f"labels of {series}")
    harness.check_equal(one['eris_object_rows{object="orders"}'], 3, "rows")
    harness.check_equal(one["eris_aeus"], 4, "AEUs")
    harness.check_equal(one["eris_ready"], 1, "readiness")
    harness.check(sum(count for series, count in one.items() if name_of(series) == "eris_refusals_total") >= 1, "a refusal")
    harness.check(one["process_open_fds"] > 3 and one["process_resident_memory_bytes"] > 1e6, f"the process: {one}")
    harness.check(not any(name_of(series).startswith("eris_aeu_") for series in one), "AEUs that nobody asked for")
    harness.check_equal(sum(name_of(series) == "eris_aeu_keys_total" for series in metrics(address, "/metrics?aeus=1")), 4, "AEUs")
    for path, said in (("/healthz", "alive\n"), ("/readyz", "ready\n")):
        harness.check_equal(ask(address, path, "probe.example")[:2], (200, said), path)
    harness.check_equal(ask(address, "/metrics", "evil.example")[0], 403, "metrics for a foreign Host, over the loopback")


def check_cardinality(server, address):
    # Comes with the balancer's first look at the object, whatever is asked.
    harness.wait_until(lambda: 'eris_object_imbalance{object="orders"}' in metrics(address), "the balancer has looked at orders")
    before = set(metrics(address))
    for key in range(1000, 1010):
        server.eris("put", "orders", f"{key}=7")
        server.eris("get", "orders", str(key))
        server.eris("get", f"nothing{key}", "1", code=1)
    harness.check_equal(set(metrics(address)) - before, set(), "series that came with keys and names")


def promtool(programs):
    """Debian's promtool, unpacked below build/ and not installed; None, said aloud: it cannot be had."""
    found = shutil.which("promtool")
    if found:
        return found
    folder = os.path.join(programs.build, "tests", "e2e", "promtool")
    program = os.path.join(folder, "usr", "bin", "promtool")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(program):
        done = subprocess.run(["timeout", "60", "apt-get", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::Retries=0", "download",
                               "prometheus"], cwd=folder, capture_output=True, text=True)
        packages = glob.glob(os.path.join(folder, "prometheus_*.deb"))
        if done.returncode != 0 or not packages:
            print(f"SKIPPED: promtool's view, since its package cannot be had: {done.stderr[-500:]}")
            return None
        subprocess.run(["dpkg-deb", "-x", packages[0], folder], check=True)
    return program


def check_promtool(programs, address):
    program = promtool(programs)
    if program is None:
        return
    for path in ("/metrics", "/metrics?aeus=1"):
        done = subprocess.run([program, "check", "metrics"], input=ask(address, path)[1], capture_output=True, text=True)
        harness.check_equal((done.returncode, done.stderr), (0, ""), "promtool check metrics")
    wrong = subprocess.run([program, "check", "metrics"], input="a_total{ 1\n", capture_output=True, text=True)
    harness.check(wrong.returncode != 0, "promtool takes anything")
    rules = os.path.join(ROOT, "packaging", "alerts.yml")
    done = subprocess.run([program, "check", "rules", rules], capture_output=True, text=True)
    harness.check_equal(done.returncode, 0, f"promtool check rules: {done.stdout}{done.stderr}")


def check_packaging(names):
    """Each series that the rules and the dashboard name exists, with the labels that they use."""
    with open(os.path.join(ROOT, "packaging", "alerts.yml")) as file:
        texts = re.findall(r"expr: (.*)", file.read())
    with open(os.path.join(ROOT, "packaging", "grafana", "eris.json")) as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        texts += [target["expr"] for target in panel["targets"]]
    harness.check(len(texts) > 30, f"only {len(texts)} expressions")
    known = {"instance", "job", "le"}
    for text in texts:
        used = re.findall(r"\b(?:eris_\w+|process_\w+|up(?=\{))", text)
        harness.check(used, f"no series in {text}")
        labels = set(known)
        for name in set(used) - {"up"}:  # Prometheus' own
            harness.check(name in names, f"{name} does not exist, in {text}")
            labels |= set(names[name]["labels"].split(", "))
        asked = re.findall(r'(\w+)=~?"', text) + sum((re.split(r", *", by) for by in re.findall(r"by \(([^)]*)\)", text)), [])
        harness.check(set(asked) <= labels, f"{text} asks for the labels {asked}, there are {labels}")


def check_log(programs):
    with harness.Server(programs, "--log-format", "json", "--log-level", "warning", "--slow-call-ms", "1") as server:
        server.eris("create", "orders")
        lines = []

        def slow_call():
            server.eris("bench", "load", "--object", "many", "--keys", "200000", "--batch", "8192", "--replace")
            lines[:] = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
            return any(line["text"] == "slow call" for line in lines)
        harness.wait_until(slow_call, "a slow call", 60)
        line = next(line for line in lines if line["text"] == "slow call")
        for key in ("time", "level", "method", "client", "object", "rows", "total_ms", "arrival_ms", "execute_ms", "reply_ms", "traceparent"):
            harness.check(key in line, f"no {key} in {line}")
        harness.check(float(line["total_ms"]) >= 1, f"it was not slow: {line}")
        harness.check(all(line["level"] != "info" for line in lines), f"lines below the level: {lines}")


def check_top(server):
    text = server.eris("top", "--interval", "0.2").stdout
    for words in ("KEYS/S", "TO NUMANODE 1", "orders", "BUSY", "transfers done", "AEUs busy"):
        harness.check(words in text, f"eris top lacks '{words}': {text}")
    harness.check("\033" not in text, "control characters in a pipe")
    shown = server.eris_json("top", "--interval", "0.2")
    harness.check_equal([aeu["numa_node"] for aeu in shown["aeus"]], [0, 0, 1, 1], "NumaNodes")
    harness.check_equal([len(row) for row in shown["numa_node_keys_per_s"]], [2, 2], "NumaNodes to which keys were sent")
    harness.check(0.2 <= shown["seconds"] < 20, f"{shown['seconds']} s")
    # On a terminal it draws until it is interrupted.
    own, its = pty.openpty()
    with subprocess.Popen([server.programs.eris, "top", "--interval", "0.1"], stdout=its, stderr=subprocess.PIPE, env=server.env) as top:
        os.close(its)
        seen = ""
        while seen.count("\033[H\033[J") < 3:
            seen += os.read(own, 65536).decode()
        top.send_signal(signal.SIGINT)
        harness.check_equal(top.wait(timeout=20), 0, f"exit code: {top.stderr.read()}")
    os.close(own)
    harness.check("KEYS/S" in seen, seen[-2000:])


def check_hot(server):
    server.eris("create", "cold")
    bench = subprocess.Popen([server.programs.eris, "bench", "lookup", "--object", "hot", "--keys", "10000", "--distribution", "zipf",
                              "--seconds", "60", "--batch", "64", "--rate", "500"], env=server.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        harness.wait_until(lambda: server.eris_json("hot", "hot")["hottest"], "a hot range", 40)
        shown = server.eris_json("hot", "hot", "--ranges", "3")
        harness.check(1 <= len(shown["hottest"]) <= 3, f"{shown}")
        harness.check(all(one["aeu"] in range(4) and one["load"] > 0 for one in shown["hottest"]), f"{shown}")
        text = server.eris("hot", "hot").stdout
        for words in ("KEYS", "AEU", "LOAD", "OF THE OBJECT"):
            harness.check(words in text, f"eris hot lacks '{words}': {text}")
    finally:
        bench.send_signal(signal.SIGINT)
        bench.communicate(timeout=60)
    harness.check("no range is hot" in server.eris("hot", "cold").stdout, "an object without load")
    server.eris("hot", "nothing", code=1)
    server.eris("hot", "orders", "--ranges", "0", code=2)


def main():
    programs = harness.Programs(harness.parse_args().build)
    names = listed(programs)
    check_table(programs)
    check_packaging(names)
    with harness.Server(programs, *SERVE) as server:
        address = re.search(r"^eris: page: http://(.*)/$", server.log(), re.M).group(1)
        check_counts(server, address, names)
        check_cardinality(server, address)
        check_promtool(programs, address)
        server.eris("bench", "load", "--object", "hot", "--keys", "10000")
        check_top(server)
        check_hot(server)
    check_log(programs)


if __name__ == "__main__":
    main()
