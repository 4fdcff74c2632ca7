#!/usr/bin/env python3
"""Keys per second of the Python client (docs/guide/python.md has figures): lookups and writes in an index of a million keys.

    python bench/remote/python_client.py <builddir> [--seconds S] [--rounds N]

Runs in an environment that has the client (./dev wheel). Server and client have one core each. Prints the median of the rounds, in which
the cases take turns.
"""
import argparse
import asyncio
import os
import pathlib
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))

import eris  # noqa: E402
import harness  # noqa: E402
import numpy as np  # noqa: E402

KEYS = 1_000_000
RNG = np.random.default_rng(1)


def rate(call, keys, seconds):
    """Keys per second of a call that blocks."""
    end, done, start = time.perf_counter() + seconds, 0, time.perf_counter()
    while time.perf_counter() < end:
        call()
        done += keys
    return done / (time.perf_counter() - start)


def sync_cases(index, seconds):
    for count in (1, 256, 4096, KEYS):
        keys = RNG.permutation(KEYS)[:count].astype(np.uint64)
        given = int(keys[0]) if count == 1 else keys
        yield f"get, {count:,}", lambda count=count, given=given: rate(lambda: index.get(given), count, seconds)
    yield f"put, {KEYS:,}", lambda keys=keys: rate(lambda: index.put(keys, keys), KEYS, seconds)


async def aio_rate(call, keys, tasks, seconds):
    end, done, start = time.perf_counter() + seconds, 0, time.perf_counter()

    async def work():
        nonlocal done
        while time.perf_counter() < end:
            await call()
            done += keys

    await asyncio.gather(*(work() for _ in range(tasks)))
    return done / (time.perf_counter() - start)


def aio_cases(loop, index, seconds):
    for count, tasks in ((1, 1), (1, 50), (1, 1000), (256, 16), (4096, 16)):
        keys = RNG.permutation(KEYS)[:count].astype(np.uint64)
        given = int(keys[0]) if count == 1 else keys
        yield (f"asyncio get, {count:,}, {tasks:,} tasks",
               lambda count=count, tasks=tasks, given=given: loop.run_until_complete(
                   aio_rate(lambda: index.get(given), count, tasks, seconds)))


def cpu():
    with open("/proc/cpuinfo") as file:
        return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with harness.Server(harness.Programs(args.build), "--aeus", "1") as server:
        cpus = sorted(os.sched_getaffinity(0))
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            os.sched_setaffinity(int(thread), cpus[:1])
        os.sched_setaffinity(0, cpus[-1:])
        loop = asyncio.new_event_loop()
        with eris.connect(server.address) as db:
            index = db.create_index("keys", expect=(0, KEYS))
            index.put(np.arange(KEYS), 1)
            aio = loop.run_until_complete(_connect(server.address))
            cases = dict([*sync_cases(index, args.seconds), *aio_cases(loop, aio.index("keys"), args.seconds)])
            rates = {name: [] for name in cases}
            for _ in range(args.rounds):
                for name, case in cases.items():
                    rates[name].append(case())
            loop.run_until_complete(aio.close())
    print(f"{cpu()}, 2 cores of it; median and range of {args.rounds} rounds of {args.seconds} s")
    for name, its in rates.items():
        print(f"{name:32} {statistics.median(its):14,.0f} keys/s   {min(its):14,.0f} to {max(its):14,.0f}")


async def _connect(address):
    return await eris.aio.connect(address)


if __name__ == "__main__":
    main()
