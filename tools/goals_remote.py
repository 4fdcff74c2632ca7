"""The goals of remote access: `./dev goals remote`. Each is a ratio of what was measured in turns in this run; server and
client have one core each."""
import functools
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from goals_embedded import embedded

ROUNDS = 5
KEYS = 1_000_000
SECONDS = 1.5
# Keys of a batch, batches in flight: as eris bench and the peers are asked for.
SHAPES = {"single_1": (1, 1), "single_64": (1, 64), "256": (256, 64), "4096": (4096, 8), "256_alone": (256, 1),
          "4096_alone": (4096, 1)}


def cpu_list(text):
    """The kernel's way to write several: 0-2,5."""
    ends = [[int(end) for end in part.split("-")] for part in text.strip().split(",")]
    return {cpu for end in ends for cpu in range(end[0], end[-1] + 1)}


def siblings(cpu):
    """The cpus of its core, itself among them."""
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
            return cpu_list(file.read())
    except OSError:  # a system that does not say
        return {cpu}


@functools.cache
def cpus():
    """The server's and the client's: of two cores. Errors: OSError (there is one core)."""
    allowed = sorted(os.sched_getaffinity(0))
    of_other_cores = [cpu for cpu in allowed if cpu not in siblings(allowed[0])]
    if not of_other_cores:
        raise OSError("server and client need a core each, and this process may use one core only")
    return allowed[0], of_other_cores[0]


def pinned(cpu, command):
    return ["taskset", "-c", str(cpu), *command]


class Peer:
    """A server on its core, on a port that it chose, or was given."""

    def __init__(self, command, port_file=None, port=None):
        self.process = subprocess.Popen(pinned(cpus()[0], command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = port
        for _ in range(100):
            if port_file is not None and os.path.exists(port_file) and open(port_file).read().strip():
                self.port = int(open(port_file).read())
            if self.port is not None and subprocess.run(["bash", "-c", f"</dev/tcp/127.0.0.1/{self.port}"],
                                                        stderr=subprocess.DEVNULL).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.stop()
        raise OSError(f"{command[0]} did not start")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def cpu_seconds(pid):
    """User and system time of a process so far."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def bench(build, on, *arguments):
    """The report of one eris bench on those cpus."""
    command = [f"{build}/clients/cli/eris", "bench", *map(str, arguments), "--keys", str(KEYS), "--output", "json",
               "--interval", "3600"]
    done = subprocess.run(pinned(on, command), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def remote(build, port, operation, shape, *more):
    batch, in_flight = SHAPES[shape]
    timed = () if operation == "load" or "--seconds" in more else ("--seconds", SECONDS, "--warm-up", 0.5)
    return bench(build, cpus()[1], operation, "--server", f"127.0.0.1:{port}", "--batch", batch, "--in-flight",
                 in_flight, *timed, *more)


def redis(build, port, operation, shape, connections):
    batch, in_flight = SHAPES[shape]
    return json.loads(subprocess.run(
        pinned(cpus()[1], [f"{build}/bench/remote/redis_load", "--port", str(port), "--keys", str(KEYS), "--batch",
                           str(batch), "--in-flight", str(in_flight), "--connections", str(connections), "--seconds",
                           str(SECONDS), "--operation", operation]),
        text=True, stdout=subprocess.PIPE, check=True).stdout)


def rate(report):
    return report["keys_per_second"]


def median(reports, field=rate):
    return statistics.median(field(report) for report in reports)


def client_cpu(report):
    """How busy the client was, of eris bench or of redis_load: 1 is a core."""
    return report["client_cpu"] if "client_cpu" in report else max(report["generators_cpu"])


def engine_s_per_key(embedded_rate, null_rate):
    """Of the engine alone: the generator shares its core, and takes what it takes with nothing behind it."""
    return 1 / embedded_rate - 1 / null_rate


def remote_goals(build, goal, no_goal):
    """Look-ups and upserts over the loopback beside bare gRPC, the engine in process, and Redis."""
    with_redis = shutil.which("redis-server") is not None and os.path.exists(f"{build}/bench/remote/redis_load")
    peers = []
    results = {}

    def keep(name, report):
        results.setdefault(name, []).append(report)

    with tempfile.TemporaryDirectory() as work:
        try:
            eris = Peer([f"{build}/clients/cli/eris", "serve", "--listen", "127.0.0.1:0", "--port-file", f"{work}/eris"],
                        port_file=f"{work}/eris")
            peers.append(eris)
            echo = Peer([f"{build}/bench/remote/echo_server", f"{work}/echo"], port_file=f"{work}/echo")
            peers.append(echo)
            remote(build, eris.port, "load", "4096")
            if with_redis:
                port = free_port()
                peer = Peer(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"], port=port)
                peers.append(peer)
                redis(build, port, "load", "256", 1)
            for _ in range(ROUNDS):
                for shape, (batch, in_flight) in SHAPES.items():
                    keep(f"echo {shape}", remote(build, echo.port, "lookup", shape))
                    keep(f"eris {shape}", remote(build, eris.port, "lookup", shape, "--verify"))
                    if shape in ("256", "4096"):
                        alone = ("lookup", "--batch", batch, "--in-flight", in_flight, "--seconds", SECONDS, "--warm-up", 0.3)
                        keep(f"embedded {shape}", bench(build, cpus()[0], *alone, "--embedded", "--aeus", 1))
                        keep(f"null {shape}", bench(build, cpus()[0], *alone, "--null"))
                keep("eris upsert 256", remote(build, eris.port, "upsert", "256"))
                if with_redis:
                    for connections in (1, 64):
                        for operation in ("lookup", "upsert"):
                            keep(f"redis {operation} {connections}", redis(build, port, operation, "256", connections))
                    for shape in ("single_1", "single_64"):
                        keep(f"redis {shape}", redis(build, port, "lookup", shape, SHAPES[shape][1]))
                    keep("redis single_64 pipelined", redis(build, port, "lookup", "single_64", 1))
        finally:
            for peer in peers:
                peer.stop()

    def p99(name):
        return median(results[name], lambda report: report["p99_us"])

    def cpu(name):
        return f"client at {100 * median(results[name], client_cpu):.0f} %"

    for shape in ("256", "4096"):
        echo_rate, own, null, bare = (median(results[f"{who} {shape}"]) for who in ("echo", "embedded", "null", "eris"))
        engine_s = engine_s_per_key(own, null)
        goal(f"remote.lookups_{shape}_over_bound", bare * (1 / echo_rate + engine_s), ">=", 0.85,
             f"{bare / 1e6:.1f} M keys/s, gRPC alone {echo_rate / 1e6:.1f} ({cpu(f'echo {shape}')}), the engine alone "
             f"{1e-6 / engine_s:.1f}: {own / 1e6:.1f} with the generator on its core, whose own part, {null / 1e6:.1f} with nothing "
             f"behind it, is taken off; {cpu(f'eris {shape}')}")
        # What waits behind other batches waits for their execution, too, which the bound leaves out: so one in flight
        # first, then as many as for the throughput.
        batch_us = SHAPES[shape][0] * engine_s * 1e6
        for name, of in (("p99", f"{shape}_alone"), (f"p99_{SHAPES[shape][1]}_in_flight", shape)):
            goal(f"remote.{name}_{shape}_over_bound", p99(f"eris {of}") / (p99(f"echo {of}") + batch_us), "<=", 1.3,
                 f"{SHAPES[of][1]} in flight: {p99(f'eris {of}'):.0f} us beside {p99(f'echo {of}'):.0f} and {batch_us:.0f} "
                 "of the batch itself, without the generator")
    for shape in ("single_1", "single_64"):
        ours, bare = median(results[f"eris {shape}"]), median(results[f"echo {shape}"])
        goal(f"remote.{shape}_over_stream", ours / bare, ">=", 0.85,
             f"{ours / 1e3:.1f} beside {bare / 1e3:.1f} k/s of the bare stream; {cpu(f'echo {shape}')}")
    if with_redis:
        for operation, ours, wanted in (("lookup", "eris 256", 10), ("upsert", "eris upsert 256", 8)):
            best = max((f"redis {operation} {connections}" for connections in (1, 64)), key=lambda name: median(results[name]))
            theirs = median(results[best])
            goal(f"remote.{operation}s_256_over_redis", median(results[ours]) / theirs, ">=", wanted,
                 f"{median(results[ours]) / 1e6:.2f} ({cpu(ours)}) beside {theirs / 1e6:.2f} M keys/s ({cpu(best)}), the better of 1 and 64 "
                 "connections")
        for shape in ("single_1", "single_64"):
            ours, theirs = median(results[f"eris {shape}"]), median(results[f"redis {shape}"])
            note = f"{ours / 1e3:.1f} ({cpu(f'eris {shape}')}) beside {theirs / 1e3:.1f} k/s ({cpu(f'redis {shape}')})"
            if shape == "single_64":
                pipelined = "redis single_64 pipelined"
                note += (f", as many connections as in flight; over one connection, pipelined as ours, "
                         f"{median(results[pipelined]) / 1e3:.1f} ({cpu(pipelined)})")
            goal(f"remote.{shape}_over_redis", ours / theirs, ">=", 0.65, note)
    else:
        why = "redis-server or libhiredis-dev is missing"
        for name, wanted in (("lookups_256", 10), ("upserts_256", 8), ("single_1", 0.65), ("single_64", 0.65)):
            no_goal(f"remote.{name}_over_redis", ">=", wanted, why)
    # Both cores: what the generators do alone, and with an engine behind them.
    both = ",".join(map(str, cpus()))
    shape = ("lookup", "--batch", 1024, "--connections", 2, "--seconds", SECONDS, "--verify")
    null = statistics.median(rate(bench(build, both, *shape, "--null")) for _ in range(ROUNDS))
    engine = statistics.median(rate(bench(build, both, *shape, "--embedded", "--aeus", 2)) for _ in range(ROUNDS))
    goal("remote.generator_over_embedded", null / engine, ">=", 3,
         f"{null / 1e6:.0f} beside {engine / 1e6:.0f} M keys/s on two cores, generated and verified")
    embedded(build, goal, no_goal)
