#!/usr/bin/env python3
"""What the web page costs its server: CPU time and latency of one of its polls, with many AEUs, objects and ranges, under load.

    bench/remote/page_cost.py <builddir> [--polls N] [--json out.json] [--tiny]

The server has 64 AEUs on four NumaNodes (a synthetic topology: 64 threads share this machine's cores), 100 objects, and 4,096 ranges of the
object that the page shows, whose keys are looked up meanwhile. An open page polls every second, each time for a part of its figures
(CYCLE in server/http/page/eris.js), on one connection. CPU is that of the thread eris-http, which makes the answers, as the kernel counts it.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

# The paths of a poll, and in how many of six polls they are asked.
POLLS = {"main": (["/api/server", "/api/stats", "/api/balancer"], 3), "ranges": (["/api/hot?limit=24&object=shown"], 2),
         "rest": (["/api/memory", "/api/transfers?limit=50"], 1)}


class Shape:
    def __init__(self, tiny):
        self.topology = "numa:2 core:2 pu:1" if tiny else "numa:4 core:16 pu:1"
        self.objects, self.ranges = (3, 64) if tiny else (100, 4096)
        self.keys = 64_000 if tiny else 4_096_000


def eris(build, address, *args, **more):
    return subprocess.run([build / "clients/cli/eris", *args, "--server", address], check=True, text=True, stdout=subprocess.PIPE, **more).stdout


@contextlib.contextmanager
def serving(build, shape, folder):
    """A server with its objects; the addresses of its calls and of its page, and its process."""
    log, port = folder / "log", folder / "port"
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen([build / "clients/cli/eris", "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", port,
                                    "--topology", shape.topology], stdout=out, stderr=subprocess.STDOUT)
    try:
        while not port.exists():
            if process.poll() is not None:
                raise OSError(log.read_text(encoding="utf-8"))
            time.sleep(0.05)
        address = f"127.0.0.1:{port.read_text(encoding='utf-8').strip()}"
        page = re.search(r"page: http://(.*)/$", log.read_text(encoding="utf-8"), re.M).group(1)
        step = shape.keys // shape.ranges
        eris(build, address, "create", "shown", "--split", ",".join(str(step * i) for i in range(1, shape.ranges)))
        for number in range(1, shape.objects):
            eris(build, address, "create", f"object{number:03}", "--expect", "0:1000000")
            eris(build, address, "put", f"object{number:03}", f"{number}={number}")
        yield address, page, process
    finally:
        process.terminate()
        process.wait(60)


def cpu_ns(process):
    """Of the page's thread."""
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "eris-http":
            return int((task / "schedstat").read_text().split()[0])
    raise OSError("the server has no thread eris-http")


def poll(connection, paths):
    """Bytes of all answers."""
    total = 0
    for path in paths:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise OSError(f"{path}: {answer.status} {body[:200]}")
        total += len(body)
    return total


def measure(process, page, polls, paths, pause_s):
    connection = http.client.HTTPConnection(page, timeout=60)
    cpu_ms, ms, size = [], [], 0
    for _ in range(polls):
        before, began = cpu_ns(process), time.monotonic()
        size = poll(connection, paths)
        ms.append(1000 * (time.monotonic() - began))
        time.sleep(pause_s)
        cpu_ms.append((cpu_ns(process) - before) / 1e6)
    return {"cpu_ms": statistics.median(cpu_ms), "cpu_ms_max": max(cpu_ms), "latency_ms": statistics.median(ms), "bytes": size}


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--polls", type=int, default=9, help="of each kind")
    parser.add_argument("--json", default="-")
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    args = parser.parse_args()
    shape, polls, pause_s = Shape(args.tiny), 2 if args.tiny else args.polls, 0.1 if args.tiny else 1
    with tempfile.TemporaryDirectory() as folder, serving(args.build, shape, pathlib.Path(folder)) as (address, page, process):
        load = subprocess.Popen([args.build / "clients/cli/eris", "bench", "lookup", "--server", address, "--object", "shown", "--layout", "dense",
                                 "--keys", str(shape.keys), "--batch", "4096", "--rate", "200", "--seconds", "600"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5 if args.tiny else 5)  # for the load to be sampled
            figures = {name: measure(process, page, polls, paths, pause_s) for name, (paths, _) in POLLS.items()}
            if load.poll() is not None:
                raise OSError(f"the load has ended with {load.returncode}")
        finally:
            load.kill()
            load.wait()
    often = sum(times for _, times in POLLS.values())
    share = sum(figures[name]["cpu_ms"] * times for name, (_, times) in POLLS.items()) / 1000 / often
    text = json.dumps({"cpu": cpu_name(), "cpus": os.cpu_count(), "topology": shape.topology, "objects": shape.objects, "ranges": shape.ranges,
                       "polls": figures, "share_of_a_core": share}, indent=2)
    if args.json == "-":
        print(text)
    else:
        pathlib.Path(args.json).write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
