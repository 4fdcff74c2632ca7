#!/usr/bin/env python3
"""Every kind of load against servers with little memory: none may be killed, reads must go on, and
resident memory must stay below the limit.

  memory_matrix.py --build build/dev                     # 256, 512 and 2048 MiB, all loads, 5 s each
  memory_matrix.py --build build/dev --sizes 256 --seconds 60 --loads batches,rows
  memory_matrix.py --build build/dev --fake              # no cgroup is made; only the peak tells

In a cgroup of its own where this process may make one (the line says so), else within a pretended
limit. A line for each size and load; exit code 1 if one failed.
"""
import argparse
import json
import os
import subprocess
import sys

import harness
import memory_cgroup

LOADS = ["batches", "streams", "halves", "nested", "snapshots", "strings", "rows", "scans", "groups",
         "unread", "fill", "batches", "unread", "bench", "import"]


class LimitedServer(harness.Server):
    """A harness.Server inside a limit of `megabytes`."""

    def __init__(self, programs, megabytes, fake, *serve_args):
        super().__init__(programs, *serve_args)
        self.cgroup = None
        if not fake:
            try:
                self.cgroup = memory_cgroup.RealCgroup(megabytes << 20)
            except OSError:
                pass
        if self.cgroup is None:
            self.cgroup = memory_cgroup.FakeCgroup(megabytes << 20)

    def popen_args(self):
        return {"env": dict(os.environ, **self.cgroup.environment), "preexec_fn": self.cgroup.enter}

    def __exit__(self, kind, value, trace):
        try:
            super().__exit__(kind, value, trace)
        finally:
            self.cgroup.remove()

    def peak(self):
        return memory_cgroup.peak(self.process.pid)

    def check_alive(self, what):
        harness.check(self.process.poll() is None,
                      f"{what}: the server ended with {self.process.poll()}, "
                      f"killed for memory: {self.cgroup.killed()}\n{self.log()}")
        harness.check_equal(self.cgroup.killed(), 0, f"{what}: kills for want of memory")
        harness.check(self.peak() < self.cgroup.limit_bytes,
                      f"{what}: {self.peak() >> 20} MiB were resident, the limit is "
                      f"{self.cgroup.limit_bytes >> 20} MiB")


def drop_all(server):
    for name in server.eris_json("list"):
        server.eris("drop", name["name"])


def bench(server, seconds):
    """The workloads of eris bench, over an index that fills a part of the memory."""
    drop_all(server)
    keys = str(max(100_000, server.cgroup.limit_bytes // 200))
    server.bench("load", "--keys", keys, "--replace", "--connections", "4", "--batch", "65536")
    for workload in ("a", "b", "c", "e", "f"):
        done = subprocess.run([server.programs.eris, "bench", workload, "--verify", "--keys", keys,
                               "--connections", "8", "--batch", "4096", "--seconds",
                               str(max(1, seconds // 5)), "--output", "json"],
                              env=server.env, capture_output=True, text=True)
        said = json.loads(done.stdout) if done.stdout else {}
        # Many scans at once may find no chunk left.
        refused = done.returncode == 4 and said["first_error"].startswith("RESOURCE_EXHAUSTED")
        harness.check(done.returncode == 0 or refused and said["wrong"] == 0,
                      f"bench {workload}: exit code {done.returncode}, "
                      f"{said.get('first_error')}\n{done.stderr}")


def import_rows(server, seconds):
    """A file with wide rows, imported until it is in, or refused."""
    path = os.path.join(server.directory.name, "wide.csv")
    with open(path, "w") as file:
        file.write(",".join(["id"] + [f"c{i}" for i in range(30)]) + "\n")
        for row in range(10_000 * min(seconds, 20)):
            file.write(",".join(str(row * 31 + i) for i in range(31)) + "\n")
    schema = "id:uint64," + ",".join(f"c{i}:uint64" for i in range(30))
    done = subprocess.run([server.programs.eris, "import", "imported", path, "--schema", schema,
                           "--key", "id"], env=server.env, capture_output=True, text=True)
    refused = done.returncode == 4 and "limit" in done.stderr
    harness.check(done.returncode == 0 or refused,
                  f"import: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def run_load(server, name, seconds):
    if name == "bench":
        bench(server, seconds)
        return ""
    if name == "import":
        return import_rows(server, seconds)
    load = os.path.join(server.programs.tests, "memory_load")
    done = subprocess.run([load, str(seconds), name], env=server.env, capture_output=True, text=True)
    server.check_alive(f"load {name}")
    harness.check(done.returncode == 0,
                  f"load {name} (peak {server.peak() >> 20} MiB):\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--sizes", default="256,512,2048", help="MiB")
    parser.add_argument("--seconds", type=int, default=5, help="of each load")
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--aeus", default="")
    parser.add_argument("--fake", action="store_true", help="make no cgroup")
    parser.add_argument("--verbose", action="store_true", help="what each load met")
    args = parser.parse_args()
    programs = harness.Programs(args.build)
    failed = 0
    for size in args.sizes.split(","):
        serve_args = ["--aeus", args.aeus] if args.aeus else []
        # A server that failed is replaced, so that the loads behind it still tell something.
        loads = args.loads.split(",")
        while loads:
            try:
                with LimitedServer(programs, int(size), args.fake, *serve_args) as server:
                    while loads:
                        name = loads.pop(0)
                        text = run_load(server, name, args.seconds)
                        server.check_alive(f"load {name}")
                        usage = (f", {server.cgroup.usage_peak() >> 20} MiB of the cgroup"
                                 if server.cgroup.real else " (pretended limit)")
                        print(f"ok      {size} MiB {name}: peak {server.peak() >> 20} MiB{usage}",
                              flush=True)
                        if args.verbose:
                            print(text, flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAILED  {size} MiB: {error}\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
