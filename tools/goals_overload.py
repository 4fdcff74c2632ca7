"""The goals of a server with more to do than it can, in an open loop: how much of its best it still does, how long accepted requests
wait, how soon the others are refused. Server and client have one core each. Part of tools/goals.py, in `./dev goals server`.
"""
import dataclasses
import json
import os
import tempfile

from goals_remote import Peer, cpus, pinned
from goals_run import Step, at_least, at_most


@dataclasses.dataclass(frozen=True)
class Shape:
    name: str
    workload: str
    flags: tuple
    times: float  # of what it does at best
    goodput: float  # the goal's part of that


SHAPES = (Shape("batches_256", "lookup", ("--unary", "--batch", "256"), 3, 0.9),
          Shape("scans", "scan", ("--scan-rows", "100000"), 10, 0.9),
          Shape("single_keys", "lookup", ("--unary", "--batch", "1"), 3, 0.6))
P99_TIMES = 5  # of that at 80 % of the best
REFUSAL_US = 5000
CONNECTIONS = 4
IN_FLIGHT, IN_FLIGHT_OPEN = 32, 1024  # of each connection; the second one so many that requests never wait for the client


def overload(run):
    keys, seconds = (100_000, 0.5) if run.tiny else (2_000_000, 60)
    eris = f"{run.build}/clients/cli/eris"
    with tempfile.TemporaryDirectory() as work:
        port_file = os.path.join(work, "port")
        server = Peer([eris, "serve", "--listen", "127.0.0.1:0", "--port-file", port_file], port_file=port_file)
        try:
            env = {"ERIS_SERVER": f"127.0.0.1:{server.port}"}

            def bench(workload, *flags):
                command = [eris, "bench", workload, "--keys", keys, "--output", "json", *flags]
                report = json.loads(run.program(pinned(cpus()[1], list(map(str, command))), env))
                if report["wrong"] or report["failed"]:
                    raise ValueError(f"{report['wrong']} wrong, {report['failed']} failed: {report['first_error']}")
                return report

            bench("load", "--batch", 16384)
            for shape in SHAPES:
                measure(run, shape, seconds, bench)
        finally:
            server.stop()


def measure(run, shape, seconds, bench):
    common = (*shape.flags, "--connections", CONNECTIONS, "--tolerate-refusals", "--verify")
    in_flight = 2 if shape.workload == "scan" else IN_FLIGHT
    best = bench(shape.workload, *common, "--in-flight", in_flight, "--seconds", max(0.5, seconds / 6))["requests_per_second"]
    open_loop = (*common, "--in-flight", 64 if shape.workload == "scan" else IN_FLIGHT_OPEN, "--seconds", seconds)
    calm = bench(shape.workload, *open_loop, "--rate", max(1, 0.8 * best))
    # After two seconds it is to be steady.
    over = bench(shape.workload, *open_loop, "--rate", max(2, shape.times * best), "--warm-up", 0.2 if run.tiny else 2)
    note = (f"{shape.times:g} x {best:.0f}/s for {seconds:g} s: {over['answered']} answered, {over['refused']} refused, {over['not_sent']} not "
            f"sent; p99 {over['p99_us'] / 1e3:.1f} ms vs. {calm['p99_us'] / 1e3:.1f} ms at 80 %")
    run.goal(f"server.overload_{shape.name}_goodput", over["requests_per_second"] / best, note)
    run.goal(f"server.overload_{shape.name}_p99", over["p99_us"] / max(1, calm["p99_us"]), note)
    run.goal(f"server.overload_{shape.name}_refusal_us", over["refusal_p99_us"], note)


OVERLOAD = Step(overload, {goal: wanted for shape in SHAPES for goal, wanted in (
    (f"server.overload_{shape.name}_goodput", at_least(shape.goodput)),
    (f"server.overload_{shape.name}_p99", at_most(P99_TIMES)),
    (f"server.overload_{shape.name}_refusal_us", at_most(REFUSAL_US)))})
