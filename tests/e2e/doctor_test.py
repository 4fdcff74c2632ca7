"""`eris doctor` on this machine, on one of files, and on a running server."""
import json
import os
import tempfile

import harness

MACHINE = {"numa_nodes", "numa_free_memory", "numa_distances", "autonuma", "zone_reclaim", "huge_pages", "huge_page_defrag",
           "max_map_count", "overcommit", "swap", "memory_limit", "cpu_quota", "cpuset", "descriptors", "memlock", "governor", "smt"}
SERVER = {"server_placement", "server_binding", "server_spill", "server_balance", "server_memory", "server_requests",
          "server_refusals"}


def check_findings(findings, names):
    harness.check_equal({finding["check"] for finding in findings}, names, "checks")
    for finding in findings:
        harness.check(finding["found"], finding)
        advised = finding["change"] and finding["why"] and finding["undo"]
        harness.check(finding["verdict"] in ("ok", "unknown") or advised, finding)


def diagnose(programs, *args):
    """Its findings by name, and its exit code: 7 if one is bad."""
    done = programs.run("doctor", "--json", *args)
    findings = json.loads(done.stdout)
    bad = any(finding["verdict"] == "bad" for finding in findings)
    harness.check_equal(done.returncode, 7 if bad else 0, done.stdout + done.stderr)
    return findings


def test_this_machine_gets_every_check(programs):
    check_findings(diagnose(programs), MACHINE)
    harness.check(" unknown\n" in programs.run("doctor").stdout, "no count of findings")


def test_a_machine_of_files_is_told_what_to_change(programs):
    with tempfile.TemporaryDirectory() as root:
        def put(path, text):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            with open(root + path, "w") as file:
                file.write(text + "\n")

        nothing = {finding["check"]: finding for finding in diagnose(programs, "--root", root)}
        harness.check_equal(nothing["autonuma"]["verdict"], "unknown", "without any file")
        for node in (0, 1):
            put(f"/sys/devices/system/node/node{node}/meminfo", f"Node {node} MemTotal: 4194304 kB\nNode {node} MemFree: 4000000 kB")
            put(f"/sys/devices/system/node/node{node}/cpulist", f"{node}")
            put(f"/sys/devices/system/node/node{node}/distance", "10 21" if node == 0 else "21 10")
        put("/sys/devices/system/cpu/online", "0-1")
        put("/proc/sys/kernel/numa_balancing", "1")
        put("/proc/self/status", "Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0")
        put("/proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/c")  # version 1
        put("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", str(128 << 20))
        put("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "150000")
        put("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000")
        findings = {finding["check"]: finding for finding in diagnose(programs, "--root", root)}
        for check, verdict, change in (("autonuma", "warn", "sysctl -w kernel.numa_balancing=0"),
                                       ("cpuset", "bad", "AllowedMemoryNodes=0,1"),
                                       ("memory_limit", "bad", "MemoryMax"), ("cpu_quota", "warn", "AllowedCPUs"),
                                       ("numa_nodes", "ok", ""), ("numa_distances", "ok", "")):
            harness.check_equal(findings[check]["verdict"], verdict, findings[check])
            harness.check(change in findings[check]["change"], findings[check])
        harness.check("cgroup memory.limit_in_bytes of /m" in findings["memory_limit"]["found"], findings["memory_limit"])
        text = programs.run("doctor", "--root", root, code=7).stdout
        harness.check("undo:   sysctl -w kernel.numa_balancing=1" in text, text)


def test_a_running_server_is_looked_at(programs):
    with harness.Server(programs, "--topology", "numa:2 core:1 pu:1") as server:
        findings = diagnose(programs, "--server", server.address)
        check_findings(findings, MACHINE | SERVER)
        by_name = {finding["check"]: finding for finding in findings}
        harness.check_equal(by_name["server_binding"]["verdict"], "bad", "memory of a described machine is bound nowhere")
        server.eris("balancer", "pause")
        paused = json.loads(server.run(programs.eris, "doctor", "--json", code=7).stdout)  # by ERIS_SERVER
        harness.check("eris balancer resume" in str(paused), paused)
    programs.refused("doctor", "--server", server.address, said=server.address, code=3)


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
