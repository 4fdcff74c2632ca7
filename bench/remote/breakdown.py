#!/usr/bin/env python3
"""Breaks down the time of a remote request: samples the server's core while `eris bench` loads it, and adds up the samples
by layer.

    bench/remote/breakdown.py <builddir> [--batch B] [--in-flight F] [--echo] [--json FILE] [--tiny]

Server and client have one core each. --echo samples bench/remote/echo_server instead: gRPC without an engine. Needs
`perf` (linux-perf); ends with 77 if it cannot sample.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import goals_remote  # noqa: E402

CANNOT_SAMPLE = 77
SECONDS = 3

# The first match counts: a layer, its objects (a part of their name), its symbols.
LAYERS = [
    ("kernel: switching threads", r"kernel", r"schedule|switch|futex|wake|_raw_spin_unlock_irq|pick_next|enqueue_task|dequeue|update_curr|try_to|rq_|ep_|epoll"),
    ("kernel: sockets and TCP", r"kernel", r".*"),
    ("clock", r"vdso", r".*"),
    ("memory (malloc, copies)", r"libc", r".*malloc|.*free|mem(cpy|move|set)|_int_|.*calloc|.*realloc"),
    ("locks", r".*", r".*pthread_mutex|absl::.*Mutex|.*__lll"),
    ("operator new, strings, shared_ptr", r".*", r"operator (new|delete)|std::"),
    ("protobuf", r".*", r"google::protobuf|eris::v1::|grpc::.*Protobuf|grpc::Generic"),
    ("eris: server", r".*", r"eris::server::|.*eris::server"),
    ("eris: session, completion", r".*", r"eris::engine::|.*eris::engine"),
    ("eris: routing, AEU's turn", r".*", r"eris::(routing|aeu|memory|base)::|.*eris::(routing|aeu)"),
    ("eris: the index", r".*", r"eris::storage::"),
    ("gRPC", r".*", r".*"),
]


def layer_of(dso, symbol):
    return next(name for name, objects, symbols in LAYERS
                if re.match(f".*({objects})", dso) and re.match(symbols, symbol))


def samples(data):
    """Layer -> share of all samples, and the same by symbol."""
    done = subprocess.run(["perf", "report", "-i", data, "--no-children", "-g", "none", "--sort", "dso,symbol", "-F",
                           "overhead,dso,symbol", "-t", "|"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    layers, symbols = collections.Counter(), collections.Counter()
    for line in done.stdout.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if line.startswith("#") or len(fields) < 3 or not fields[0].endswith("%"):
            continue
        share, dso, symbol = float(fields[0][:-1]) / 100, fields[1], re.sub(r"^\[.\] ", "", fields[2])
        layers[layer_of(dso, symbol)] += share
        symbols[symbol, dso] += share
    return layers, symbols


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--echo", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--tiny", action="store_true", help="whether it runs, in seconds; figures mean nothing")
    args = parser.parse_args()
    seconds = 0.5 if args.tiny else SECONDS
    if not shutil.which("perf"):
        print("SKIPPED: linux-perf cannot be installed: perf is not there")
        return CANNOT_SAMPLE
    goals_remote.SHAPES["asked"] = args.batch, args.in_flight
    clients = goals_remote.Clients(args.build, goals_remote.TINY if args.tiny else goals_remote.FULL)
    with tempfile.TemporaryDirectory() as work:
        port_file, data = f"{work}/port", f"{work}/perf.data"
        if args.echo:
            server = goals_remote.Peer([f"{args.build}/bench/remote/echo_server", port_file], port_file=port_file)
        else:
            server = goals_remote.Peer([f"{args.build}/clients/cli/eris", "serve", "--listen", "127.0.0.1:0", "--port-file",
                                        port_file], port_file=port_file)
        try:
            if not args.echo:
                clients.remote(server.port, "load", "4096")
            recorder = subprocess.Popen(["perf", "record", "-q", "-F", "4999", "-p", str(server.process.pid), "-o", data,
                                         "--", "sleep", str(seconds)], stderr=subprocess.PIPE, text=True)
            before = goals_remote.cpu_seconds(server.process.pid)
            report = clients.remote(server.port, "lookup", "asked", "--seconds", str(seconds), "--warm-up", "0")
            spent = goals_remote.cpu_seconds(server.process.pid) - before
            if recorder.wait() != 0:
                print(f"perf cannot sample here: {recorder.stderr.read().strip()[-300:]}")
                return CANNOT_SAMPLE
        finally:
            server.stop()
        layers, symbols = samples(data)
    requests = report["requests_per_second"] * seconds
    each_us = spent / requests * 1e6
    total = sum(layers.values())
    print(f"{args.batch} keys a batch, {args.in_flight} in flight: {report['requests_per_second']:.0f} requests/s, "
          f"{each_us:.2f} us of the server's core each (client at {100 * max(report['generators_cpu']):.0f} %)")
    parts = {name: layers[name] / total * each_us for name, *_ in LAYERS if layers[name] > 0}
    for name, part in parts.items():
        print(f"  {part:6.2f} us  {100 * part / each_us:5.1f} %  {name}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(
            {"batch": args.batch, "in_flight": args.in_flight, "requests_per_second": report["requests_per_second"],
             "us_per_request": each_us, "layers_us": parts,
             "symbols": [[name, dso, share / total * each_us] for (name, dso), share in symbols.most_common(60)]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
