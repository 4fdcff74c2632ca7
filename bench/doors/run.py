#!/usr/bin/env python3
"""The doors of other programs, each compared with a peer in one run: Arrow Flight, Python's client, the engine in Python.

    bench/doors/run.py <builddir> [--parts get,put,python,tasks,embedded] [--rounds 5] [--json out.json] [--tiny]

Server and client have a core each. Clients come from PyPI into a virtual environment under the build directory (requirements.txt), and
our own wheels are built from the tree. Rounds are interleaved; a figure is the median, with minimum and maximum. Values are checked.

  get       DoGet into pyarrow: the server's CPU seconds for a GB of columns; peer: pyarrow's own server, which has its batches ready
  put       DoPut into a clustered table, rows/s; peer: WriteStream of the C++ client
  python    lookups of 4,096 and of 256 keys, one call after the other and in 16 tasks; peer: the C++ client, 8 and 64 batches in flight
  tasks     1,000 tasks of one key each; peer: redis.asyncio, with 50 and with 1,000 connections
  embedded  eris.open(): lookups of 65,536 keys, one AEU; peer: Session::Lookup of the same keys

--tiny: only checks that it runs, in seconds; the figures mean nothing. Exit code 77: something cannot be installed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLIENT = ROOT / "clients" / "python"
sys.path[:0] = [str(HERE.parent), str(ROOT / "tools")]
from goals_remote import Peer, cpu_seconds, cpus, free_port, pinned  # noqa: E402
from lab_process import CANNOT_BE_HAD, LabProcess, environment, machine, rotated, spread  # noqa: E402

PARTS = ("get", "put", "python", "tasks", "embedded")
SIZES = {"rounds": 5, "rows": 16 << 20, "put_rows": 4_000_000, "keys": 1_000_000, "seconds": 1.0, "gets": 4}
TINY = {"rounds": 1, "rows": 1 << 16, "put_rows": 50_000, "keys": 70_000, "seconds": 0.1, "gets": 1}
BATCH = 65536
SHAPES = {4096: 8, 256: 64}  # keys of a batch: batches in flight of the C++ client
EMBEDDED_BATCH = 65536


def client_digest():
    """Of all that the client's wheel is made of."""
    digest = hashlib.sha256()
    for folder in CLIENT, ROOT / "proto":
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not {"embedded", "__pycache__"}.intersection(path.relative_to(ROOT).parts):
                digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def wheels(build, python, with_engine):
    """Installs our own packages, as ./dev wheel builds them; the client only if it has changed."""
    pip, home = [python, "-m", "pip", "--disable-pip-version-check"], os.path.join(build, "door-wheels")
    shutil.rmtree(home, ignore_errors=True)
    mark, digest = pathlib.Path(python).parents[1] / "client", client_digest()
    folders = [CLIENT] if not mark.exists() or mark.read_text() != digest else []
    folders += [CLIENT / "embedded"] if with_engine else []
    for folder in folders:
        # What is compiled is shared with the end-to-end test of the engine in Python.
        settings = [f"--config-settings=build-dir={build}/python_embedded"] if folder.name == "embedded" else []
        told = subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", home, *settings, str(folder)], text=True, capture_output=True)
        if told.returncode != 0:
            print(f"SKIPPED: what builds {folder.name} (PyPI) cannot be installed: {' '.join(told.stderr.split())[-500:]}")
            sys.exit(CANNOT_BE_HAD)
    if folders:
        mark.unlink(missing_ok=True)
        made = [os.path.join(home, name) for name in os.listdir(home)]
        subprocess.run([*pip, "install", "--quiet", "--no-deps", "--force-reinstall", *made], check=True)
        mark.write_text(digest)


def in_turns(rounds, sides):
    """Each side's answers."""
    found = {name: [] for name in sides}
    for number in range(rounds):
        for name in rotated(list(sides), number):
            found[name].append(sides[name]())
    return found


def figures(found, field):
    return {name: spread([answer[field] for answer in answers]) for name, answers in found.items()}


def get(options, client, eris, peer):
    client.ask(f"make {options.rows} {BATCH}")

    def side(name, process):
        def call():
            before, nbytes = cpu_seconds(process.pid), 0
            for _ in range(options.gets):
                answer = client.ask(f"get {name}")
                if (answer["rows"], answer["sum"]) != (options.rows, options.rows * (options.rows - 1) // 2):
                    sys.exit(f"run.py: get {name}: wrong rows: {answer}")
                nbytes += answer["bytes"]
            return {"cpu_s_per_gb": (cpu_seconds(process.pid) - before) / nbytes * 1e9, "gb_s": answer["bytes"] / answer["seconds"] / 1e9}
        return call
    found = in_turns(options.rounds, {"eris": side("eris", eris.process), "pyarrow": side("peer", peer)})
    return {"cpu_s_per_gb": figures(found, "cpu_s_per_gb"), "gb_s": figures(found, "gb_s")}


def put(options, client, eris):
    def by_flight():
        client.ask("new written")
        answer = client.ask(f"put {options.put_rows} {BATCH} written")
        if answer["rows"] != options.put_rows:
            sys.exit(f"run.py: DoPut: {answer['rows']} rows of {options.put_rows}")
        client.ask("drop written")
        return answer

    def by_stream():
        client.ask("new written")
        answer = json.loads(subprocess.run(
            pinned(cpus()[1], [f"{options.build}/bench/doors/row_stream", f"127.0.0.1:{eris.port}", "written", str(options.put_rows), str(BATCH)]),
            text=True, stdout=subprocess.PIPE, check=True).stdout)
        client.ask("drop written")
        return answer
    return figures(in_turns(options.rounds, {"do_put": by_flight, "write_stream": by_stream}), "rows_per_second")


def bench(options, port, batch):
    command = [f"{options.build}/clients/cli/eris", "bench", "lookup", "--server", f"127.0.0.1:{port}", "--batch", str(batch), "--in-flight",
               str(SHAPES[batch]), "--keys", str(options.keys), "--seconds", str(options.seconds), "--warm-up", "0.02", "--object", "keys",
               "--output", "json", "--interval", "3600"]
    return json.loads(subprocess.run(pinned(cpus()[1], command), text=True, stdout=subprocess.PIPE, check=True).stdout)


def python(options, client, eris):
    client.ask(f"keys {options.keys}")
    sides = {}
    for count in SHAPES:
        sides[f"call {count}"] = lambda count=count: client.ask(f"sync {count} {options.seconds}")
        sides[f"tasks {count}"] = lambda count=count: client.ask(f"tasks {count} {options.seconds}")
        sides[f"c++ {count}"] = lambda count=count: bench(options, eris.port, count)
    return figures(in_turns(options.rounds, sides), "keys_per_second")


def tasks(options, client, with_keys):
    if shutil.which("redis-server") is None:
        print("SKIPPED: redis-server cannot be installed: nothing is compared with it")
        sys.exit(CANNOT_BE_HAD)
    if with_keys:
        client.ask(f"keys {options.keys}")
    port = free_port()
    redis = Peer(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"], port=port)
    try:
        return figures(in_turns(options.rounds, {
            "eris": lambda: client.ask(f"tasks 1 {options.seconds}"),
            **{f"redis {connections}": lambda connections=connections: client.ask(f"redis {port} {connections} {options.seconds}")
               for connections in (50, 1000)}}), "keys_per_second")
    finally:
        redis.stop()


def embedded(options, client):
    both = ",".join(map(str, cpus()))

    def session():
        return json.loads(subprocess.run(
            pinned(both, [f"{options.build}/bench/doors/session_lookup", str(options.keys), str(EMBEDDED_BATCH), str(options.seconds)]),
            text=True, stdout=subprocess.PIPE, check=True).stdout)
    os.sched_setaffinity(client.process.pid, cpus())  # its engine's AEU and the caller have a core each, as in the C++ program
    try:
        sides = {"python": lambda: client.ask(f"embedded {options.keys} {EMBEDDED_BATCH} {options.seconds}"), "session": session}
        return figures(in_turns(options.rounds, sides), "keys_per_second")
    finally:
        os.sched_setaffinity(client.process.pid, {cpus()[1]})


def measured(options, its_python):
    found = {}
    with tempfile.TemporaryDirectory() as work:
        eris = Peer([f"{options.build}/clients/cli/eris", "serve", "--aeus", "1", "--listen", "127.0.0.1:0", "--port-file", f"{work}/eris"],
                    port_file=f"{work}/eris")
        peer = subprocess.Popen(pinned(cpus()[0], [its_python, str(HERE / "flight_peer.py"), str(options.rows), str(BATCH)]), text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            client = LabProcess(pinned(cpus()[1], [its_python, "-B", str(HERE / "clients.py"), f"127.0.0.1:{eris.port}",
                                                   peer.stdout.readline().strip()]), {}, "clients.py")
            for part in options.parts:
                print(f"run.py: {part}", file=sys.stderr, flush=True)
                if part == "get":
                    found[part] = get(options, client, eris, peer)
                elif part == "put":
                    found[part] = put(options, client, eris)
                elif part == "python":
                    found[part] = python(options, client, eris)
                elif part == "tasks":
                    found[part] = tasks(options, client, "python" not in options.parts)
                else:
                    found[part] = embedded(options, client)
            client.stop()
        finally:
            peer.stdin.close()
            peer.wait()
            eris.stop()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--json", default="-")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    wanted = set(options.parts.split(","))
    if unknown := wanted - set(PARTS):
        parser.error(f"no part {', '.join(unknown)}")
    options.parts = [name for name in PARTS if name in wanted]  # a part may use what one before it has filled
    for name, value in (TINY if options.tiny else SIZES).items():
        if getattr(options, name, None) is None:
            setattr(options, name, value)
    its_python = environment(options.build, str(HERE / "requirements.txt"), "door-peers")
    wheels(options.build, its_python, "embedded" in options.parts)
    report = json.dumps({**machine(), "rounds": options.rounds, **measured(options, its_python)}, indent=1)
    if options.json == "-":
        print(report)
    else:
        pathlib.Path(options.json).write_text(report)


if __name__ == "__main__":
    main()
