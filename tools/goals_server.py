"""The goals of a loaded server. Part of tools/goals.py."""
import contextlib
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time

from goals_overload import OVERLOAD
from goals_remote import cpu_seconds
from goals_run import Part, Step, at_most

START_SECONDS_MAX = 60


@contextlib.contextmanager
def server(run, *options):
    """`eris serve` on a free port of the loopback: its process, and the environment of its clients. Errors: OSError (it
    did
        not start)."""
    with tempfile.TemporaryDirectory() as work:
        port_file, said = os.path.join(work, "port"), os.path.join(work, "stderr")
        with open(said, "w", encoding="utf-8") as file:
            process = subprocess.Popen([f"{run.build}/clients/cli/eris", "serve", "--listen", "127.0.0.1:0", "--port-file", port_file, *map(str, options)],
                                       stdout=subprocess.DEVNULL, stderr=file)
        try:
            began, port = time.monotonic(), ""
            while not port:
                if process.poll() is not None or time.monotonic() - began > START_SECONDS_MAX:
                    raise OSError(f"eris serve did not start: exit code {process.poll()}")
                time.sleep(0.05)
                if os.path.exists(port_file):
                    with open(port_file, encoding="utf-8") as file:
                        port = file.read().strip()
            yield process, {"ERIS_SERVER": f"127.0.0.1:{port}"}
        finally:
            process.send_signal(signal.SIGTERM)
            if code := process.wait(60):
                with open(said, encoding="utf-8") as file:
                    raise OSError(f"eris serve ended with {code}: {file.read()[-500:]}")


def loaded(run):
    """Processor time when idle, and how evenly the AEUs share real keys."""
    keys, seconds = (20_000, 0.5) if run.tiny else (2_000_000, 10)
    eris = f"{run.build}/clients/cli/eris"
    with server(run) as (process, env):
        run.program([eris, "bench", "load", "--keys", keys, "--batch", 16384, "--verify"], env)
        rows = [int(aeu["rows"]) for aeu in json.loads(run.program([eris, "stats", "--output", "json"], env))["aeus"]]
        time.sleep(1)
        before = cpu_seconds(process.pid)
        time.sleep(seconds)
        idle = (cpu_seconds(process.pid) - before) / seconds * 100
    if sum(rows) != keys:
        raise ValueError(f"the AEUs hold {sum(rows)} rows, {keys} were loaded")
    run.goal("server.idle_percent_of_a_core", idle, f"{keys / 1e6:g} M keys loaded, {seconds:g} s")
    run.goal("server.fullest_aeu_over_mean", max(rows) / statistics.mean(rows), f"{len(rows)} AEUs")


SERVER = Part(8, (Step(loaded, {"server.idle_percent_of_a_core": at_most(1), "server.fullest_aeu_over_mean": at_most(1.2)}), OVERLOAD))
