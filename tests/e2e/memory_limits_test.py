#!/usr/bin/env python3
"""A server stays inside the memory and the time that its cgroup lets it have. The cgroup is a
pretended one, so that no rights are needed: the server reads it, and the peak of its resident
memory is compared with it. memory_matrix.py has all loads, all sizes, and real cgroups.
"""
import os
import subprocess

import harness
import memory_cgroup
import memory_matrix

MIB = 1 << 20


def test_loads_at_their_limits_stay_inside_256_mib(programs):
    with memory_matrix.LimitedServer(programs, 256, True, "--aeus", "2") as server:
        for load in ("batches", "rows", "nested", "groups", "unread", "strings", "fill"):
            memory_matrix.run_load(server, load, 1)
            server.check_alive(load)
            print(f"        {load}: peak {server.peak() >> 20} MiB")
        # Nothing is left behind: what was refused can be written once there is room.
        for name in ("probe", "strings", "wide"):
            server.eris("drop", name)
        server.bench("load", "--keys", "100000", "--replace")
        server.wait_until_quiet()


def test_division_is_shown(programs):
    with memory_matrix.LimitedServer(programs, 512, True, "--aeus", "2") as server:
        said = "512 MiB for the process (cgroup memory.max of /pretended): data "
        harness.check(said in server.log(), f"at the start: {server.log()}")
        harness.check(said in server.eris("memory").stdout, "eris memory")
        memory = server.eris_json("memory")
        plan = {name: int(share) for name, share in memory["plan"].items() if name.endswith("_bytes")}
        harness.check_equal(plan["process_bytes"], 512 * MIB, "process_bytes")
        harness.check_equal(plan["data_bytes"], int(memory["limit_bytes"]), "data_bytes")
        shares = sum(plan.values()) - plan["process_bytes"]
        harness.check(shares <= 512 * MIB, f"the shares are {shares >> 20} MiB")


def test_refusals_name_the_limit_and_what_helps(programs):
    config = ["--process-memory", "224MiB"]
    with harness.Server(programs, "--aeus", "1", *config) as server:
        done = subprocess.run([programs.eris, "bench", "load", "--keys", "20000000", "--batch", "65536"],
                              env=server.env, capture_output=True, text=True)
        harness.check_equal(done.returncode, 4, f"exit code: {done.stderr}")
        harness.check("memory limit of " in done.stderr + done.stdout and
                      "MiB for data (a share of the process's 224 MiB, process_memory_bytes; options" in done.stderr + done.stdout and
                      "drop or erase data" in done.stderr + done.stdout,
                      f"the refusal: {done.stdout}{done.stderr}")


def explain(programs, cgroup, *args):
    return subprocess.run([programs.eris, "topology", "--explain", *args], capture_output=True,
                          text=True, env=dict(os.environ, **cgroup.environment))


def test_too_little_memory_names_the_least(programs):
    cgroup = memory_cgroup.FakeCgroup(64 * MIB)
    try:
        done = explain(programs, cgroup, "--aeus", "2")
        harness.check(done.returncode != 0, "64 MiB were accepted")
        for part in ("may have 64 MiB (cgroup memory.max of /pretended)", "2 AEUs need at least",
                     "more memory, fewer AEUs"):
            harness.check(part in done.stderr, f"no '{part}' in {done.stderr}")
    finally:
        cgroup.remove()


def test_quota_of_processors_is_explained(programs):
    cgroup = memory_cgroup.FakeCgroup(1024 * MIB)
    try:
        with open(os.path.join(cgroup.root, "sys/fs/cgroup/pretended/cpu.max"), "w") as file:
            file.write("50000 100000\n")
        text = explain(programs, cgroup).stdout
        for part in ("time of 0.5 cpus, by cgroup cpu.max of /pretended", "1 AEU;",
                     "Memory: 1.0 GiB, by cgroup memory.max of /pretended"):
            harness.check(part in text, f"no '{part}' in {text}")
        harness.check("2 AEUs;" in explain(programs, cgroup, "--aeus", "2").stdout, "--aeus 2")
    finally:
        cgroup.remove()


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
