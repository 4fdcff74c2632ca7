"""The goals of remote access: `./dev goals remote`. Each is a ratio of measurements that alternate in this run; server and
client have one core each. Part of tools/goals.py."""
import dataclasses
import functools
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from goals_embedded import EMBEDDED
from goals_local_access import SHARED_ACCESS
from goals_run import Absent, NotPossible, Part, Step, at_least, at_most

# Keys of a batch, batches in flight: as used for eris bench and the peers.
SHAPES = {"single_1": (1, 1), "single_64": (1, 64), "256": (256, 64), "4096": (4096, 8), "256_alone": (256, 1),
          "4096_alone": (4096, 1)}


def cpu_list(text):
    """The kernel's notation for several cpus: 0-2,5."""
    ends = [[int(end) for end in part.split("-")] for part in text.strip().split(",")]
    return {cpu for end in ends for cpu in range(end[0], end[-1] + 1)}


def siblings(cpu):
    """The cpus of its core, including itself."""
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
            return cpu_list(file.read())
    except OSError:  # a system that does not tell
        return {cpu}


@functools.cache
def cpus():
    """The cpus of server and client, on two cores. Errors: NotPossible (there is one core)."""
    allowed = sorted(os.sched_getaffinity(0))
    of_other_cores = [cpu for cpu in allowed if cpu not in siblings(allowed[0])]
    if not of_other_cores:
        raise NotPossible("server and client need a core each, and this process may use one core only")
    return allowed[0], of_other_cores[0]


def pinned(cpu, command):
    return ["taskset", "-c", str(cpu), *command]


class Peer:
    """A server on its core, on a port that it chose, or a given one."""

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


@dataclasses.dataclass(frozen=True)
class Size:
    rounds: int
    keys: int
    seconds: float  # of each measurement
    warm_up: float


FULL = Size(rounds=5, keys=1_000_000, seconds=1.5, warm_up=0.5)
TINY = Size(rounds=1, keys=20_000, seconds=0.1, warm_up=0.02)


class Clients:
    """The load generators, on the client's cpu."""

    def __init__(self, build, size=FULL):
        self.build, self.size = build, size

    def bench(self, on, *arguments):
        """The report of one eris bench on those cpus."""
        command = [f"{self.build}/clients/cli/eris", "bench", *map(str, arguments), "--keys", str(self.size.keys), "--output", "json",
                   "--interval", "3600"]
        done = subprocess.run(pinned(on, command), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise OSError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return json.loads(done.stdout)

    def remote(self, port, operation, shape, *more):
        batch, in_flight = SHAPES[shape]
        timed = () if operation == "load" or "--seconds" in more else ("--seconds", self.size.seconds, "--warm-up", self.size.warm_up)
        return self.bench(cpus()[1], operation, "--server", f"127.0.0.1:{port}", "--batch", batch, "--in-flight", in_flight, *timed, *more)

    def redis(self, port, operation, shape, connections):
        batch, in_flight = SHAPES[shape]
        return json.loads(subprocess.run(
            pinned(cpus()[1], [f"{self.build}/bench/remote/redis_load", "--port", str(port), "--keys", str(self.size.keys), "--batch",
                               str(batch), "--in-flight", str(in_flight), "--connections", str(connections), "--seconds",
                               str(self.size.seconds), "--operation", operation]),
            text=True, stdout=subprocess.PIPE, check=True).stdout)


def rate(report):
    return report["keys_per_second"]


def median(reports, field=rate):
    return statistics.median(field(report) for report in reports)


def client_cpu(report):
    """How busy the client was, for eris bench or redis_load: 1 is a whole core."""
    return report["client_cpu"] if "client_cpu" in report else max(report["generators_cpu"])


def engine_s_per_key(embedded_rate, null_rate):
    """For the engine alone: subtracts the generator's time, measured without an engine, because the generator shares
    its core.
    """
    return 1 / embedded_rate - 1 / null_rate


REDIS = {"remote.lookups_256_over_redis": at_least(10), "remote.upserts_256_over_redis": at_least(8),
         "remote.single_1_over_redis": at_least(0.65), "remote.single_64_over_redis": at_least(0.65)}


def p99(results, name):
    return median(results[name], lambda report: report["p99_us"])


def cpu(results, name):
    return f"client at {100 * median(results[name], client_cpu):.0f} %"


def measure_ours(clients, eris_port, echo_port, keep):
    """One round of all shapes: the server, the bare stream, the engine in process, and the generator alone."""
    for shape, (batch, in_flight) in SHAPES.items():
        keep(f"echo {shape}", clients.remote(echo_port, "lookup", shape))
        keep(f"eris {shape}", clients.remote(eris_port, "lookup", shape, "--verify"))
        if shape in ("256", "4096"):
            alone = ("lookup", "--batch", batch, "--in-flight", in_flight, "--seconds", clients.size.seconds, "--warm-up",
                     clients.size.warm_up)
            keep(f"embedded {shape}", clients.bench(cpus()[0], *alone, "--embedded", "--aeus", 1))
            keep(f"null {shape}", clients.bench(cpus()[0], *alone, "--null"))
    keep("eris upsert 256", clients.remote(eris_port, "upsert", "256"))


def measure_redis(clients, port, keep):
    for connections in (1, 64):
        for operation in ("lookup", "upsert"):
            keep(f"redis {operation} {connections}", clients.redis(port, operation, "256", connections))
    for shape in ("single_1", "single_64"):
        keep(f"redis {shape}", clients.redis(port, "lookup", shape, SHAPES[shape][1]))
    keep("redis single_64 pipelined", clients.redis(port, "lookup", "single_64", 1))


def measure(run, clients, with_redis):
    """The reports of all rounds, by what was measured."""
    peers = []
    results = {}

    def keep(name, report):
        results.setdefault(name, []).append(report)

    with tempfile.TemporaryDirectory() as work:
        try:
            eris = Peer([f"{run.build}/clients/cli/eris", "serve", "--listen", "127.0.0.1:0", "--port-file", f"{work}/eris"],
                        port_file=f"{work}/eris")
            peers.append(eris)
            echo = Peer([f"{run.build}/bench/remote/echo_server", f"{work}/echo"], port_file=f"{work}/echo")
            peers.append(echo)
            clients.remote(eris.port, "load", "4096")
            if with_redis:
                port = free_port()
                peer = Peer(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"], port=port)
                peers.append(peer)
                clients.redis(port, "load", "256", 1)
            for _ in range(clients.size.rounds):
                measure_ours(clients, eris.port, echo.port, keep)
                if with_redis:
                    measure_redis(clients, port, keep)
        finally:
            for peer in peers:
                peer.stop()
    for peer in peers:
        if peer.process.returncode not in (0, -signal.SIGTERM):
            raise OSError(f"{peer.process.args[3]} ended with {peer.process.returncode}")
    return results


def judge_bound(run, results):
    for shape in ("256", "4096"):
        echo_rate, own, null, bare = (median(results[f"{who} {shape}"]) for who in ("echo", "embedded", "null", "eris"))
        engine_s = engine_s_per_key(own, null)
        run.goal(f"remote.lookups_{shape}_over_bound", bare * (1 / echo_rate + engine_s),
                 f"{bare / 1e6:.1f} M keys/s, gRPC alone {echo_rate / 1e6:.1f} ({cpu(results, f'echo {shape}')}), the engine alone "
                 f"{1e-6 / engine_s:.1f}: {own / 1e6:.1f} with the generator on its core, whose own part, {null / 1e6:.1f} with nothing "
                 f"behind it, is taken off; {cpu(results, f'eris {shape}')}")
        # What waits behind other batches waits for their execution, too, which the bound leaves out: so one in flight
        # first, then as many as for the throughput.
        batch_us = SHAPES[shape][0] * engine_s * 1e6
        for name, of in (("p99", f"{shape}_alone"), (f"p99_{SHAPES[shape][1]}_in_flight", shape)):
            run.goal(f"remote.{name}_{shape}_over_bound", p99(results, f"eris {of}") / (p99(results, f"echo {of}") + batch_us),
                     f"{SHAPES[of][1]} in flight: {p99(results, f'eris {of}'):.0f} us vs. {p99(results, f'echo {of}'):.0f} and {batch_us:.0f} "
                     "of the batch itself, without the generator")


def judge_streams(run, results):
    for shape in ("single_1", "single_64"):
        ours, bare = median(results[f"eris {shape}"]), median(results[f"echo {shape}"])
        run.goal(f"remote.{shape}_over_stream", ours / bare,
                 f"{ours / 1e3:.1f} vs. {bare / 1e3:.1f} k/s of the bare stream; {cpu(results, f'echo {shape}')}")


def judge_redis(run, results):
    for operation, ours in (("lookup", "eris 256"), ("upsert", "eris upsert 256")):
        best = max((f"redis {operation} {connections}" for connections in (1, 64)), key=lambda name: median(results[name]))
        theirs = median(results[best])
        run.goal(f"remote.{operation}s_256_over_redis", median(results[ours]) / theirs,
                 f"{median(results[ours]) / 1e6:.2f} ({cpu(results, ours)}) vs. {theirs / 1e6:.2f} M keys/s ({cpu(results, best)}), the better of 1 and 64 "
                 "connections")
    for shape in ("single_1", "single_64"):
        ours, theirs = median(results[f"eris {shape}"]), median(results[f"redis {shape}"])
        note = f"{ours / 1e3:.1f} ({cpu(results, f'eris {shape}')}) vs. {theirs / 1e3:.1f} k/s ({cpu(results, f'redis {shape}')})"
        if shape == "single_64":
            pipelined = "redis single_64 pipelined"
            note += (f", as many connections as in flight; over one connection, pipelined as ours, "
                     f"{median(results[pipelined]) / 1e3:.1f} ({cpu(results, pipelined)})")
        run.goal(f"remote.{shape}_over_redis", ours / theirs, note)


def loopback(run):
    """Lookups and upserts over the loopback, compared with bare gRPC, the engine in process, and Redis."""
    with_redis = shutil.which("redis-server") is not None and os.path.exists(f"{run.build}/bench/remote/redis_load")
    results = measure(run, Clients(run.build, TINY if run.tiny else FULL), with_redis)
    judge_bound(run, results)
    judge_streams(run, results)
    if not with_redis:
        missing = "libhiredis-dev" if shutil.which("redis-server") else "redis-server"
        raise Absent(f"{missing} cannot be installed: nothing is compared with Redis")
    judge_redis(run, results)


def generator(run):
    """On both cores: the generators alone, and with an engine."""
    clients = Clients(run.build, TINY if run.tiny else FULL)
    both = ",".join(map(str, cpus()))
    shape = ("lookup", "--batch", 1024, "--connections", 2, "--seconds", clients.size.seconds, "--verify")
    rounds = range(clients.size.rounds)
    null = statistics.median(rate(clients.bench(both, *shape, "--null")) for _ in rounds)
    engine = statistics.median(rate(clients.bench(both, *shape, "--embedded", "--aeus", 2)) for _ in rounds)
    run.goal("remote.generator_over_embedded", null / engine,
             f"{null / 1e6:.0f} vs. {engine / 1e6:.0f} M keys/s on two cores, generated and verified")


REMOTE = Part(8, (
    Step(loopback, {**{f"remote.{name}": goal for shape, in_flight in (("256", 64), ("4096", 8)) for name, goal in
                       ((f"lookups_{shape}_over_bound", at_least(0.85)), (f"p99_{shape}_over_bound", at_most(1.3)),
                        (f"p99_{in_flight}_in_flight_{shape}_over_bound", at_most(1.3)))},
                    "remote.single_1_over_stream": at_least(0.85), "remote.single_64_over_stream": at_least(0.85), **REDIS}),
    Step(generator, {"remote.generator_over_embedded": at_least(3)}), SHARED_ACCESS, EMBEDDED))
