"""The goals of order: commands of one session or stream for a key take effect in the order of sending while ranges move
continuously, and moves end in time while objects are created and dropped. Part of tools/goals.py."""
import json
import os
import subprocess

from goals_run import Part, Step, at_most, last_line

# 120 million operations; of 10 million batches a key occurs more than once. Some three minutes; ./dev soak runs more.
BATCHES = int(os.environ.get("ERIS_ORDER_BATCHES", "14500000"))
SESSIONS, STREAMS = 16, 4


def pipelines(run):
    """Sessions on all kinds with keys and gRPC streams concurrently; every answer is predicted from the order of
    sending.
    """
    batches = 20_000 if run.tiny else BATCHES
    command = [f"{run.build}/tests/stress/stress_run", "--seconds", 0, "--batches", batches, "--sessions", SESSIONS, "--streams", STREAMS,
               "--loads", "pipelines,streams,moves", "--balancer", 0, "--small-buffers", 0, "--memory-mib", 512]
    done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE)
    if done.returncode not in (0, 1):  # 1 means that an answer was wrong, as the figures show
        raise subprocess.CalledProcessError(done.returncode, command)
    found = json.loads(last_line(done.stdout))
    if found["faults"] > found["out_of_order"]:
        raise ValueError(f"{found['faults'] - found['out_of_order']} other faults")
    if run.tiny and found["out_of_order"]:
        raise ValueError(f"{found['out_of_order']} answers are out of order")
    run.goal("order.out_of_order", found["out_of_order"],
             f"of {found['keys'] / 1e6:.3g} M operations in {found['batches'] / 1e6:.3g} M batches of {SESSIONS} sessions and {STREAMS} streams, "
             f"{found['moves']} moves meanwhile; {found['seconds']:.0f} s")
    run.goal("order.doubled_wrong", found["doubled_wrong"], f"of {found['doubled_batches'] / 1e6:.3g} M batches with a key more than once")


def moves(run):
    sizes = ["--rows", 80_000, "--alone", 10, "--moves", 20, "--stops", 2] if run.tiny else []
    found = run.json([f"{run.build}/bench/balancer/hash_moves", *sizes])
    alone, beside = found["alone_ms"], found["beside_ms"]
    for goal, figure in (("order.hash_move_p99_over_alone", "p99"), ("order.hash_move_longest_over_alone", "max")):
        run.goal(goal, beside[figure] / alone[figure],
                 f"a move of {found['rows']} rows, {figure} of {found['moves']}: {beside[figure]:.3g} ms beside {found['lives_per_s']:.0f} creates "
                 f"and drops a second, {alone[figure]:.3g} alone; medians {beside['median']:.3g} and {alone['median']:.3g} ms")
    for goal, figure in (("order.pause_obeyed_ms", "pause_ms"), ("order.deadline_overshoot_ms", "deadline_overshoot_ms")):
        run.goal(goal, found[figure]["max"], f"the longest; median {found[figure]['median']:.3g} ms, beside creates and drops")


ORDER = Part(6, (
    Step(pipelines, {"order.out_of_order": at_most(0), "order.doubled_wrong": at_most(0)}),
    Step(moves, {"order.hash_move_p99_over_alone": at_most(2), "order.hash_move_longest_over_alone": at_most(2), "order.pause_obeyed_ms": at_most(100),
                 "order.deadline_overshoot_ms": at_most(100)}),
))
