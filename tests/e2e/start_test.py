"""Servers that must not start say why, and end with an exit code for scripts."""
import os
import subprocess
import tempfile

import harness


def refused(programs, code, *args):
    done = subprocess.run([programs.eris, "serve", *args], capture_output=True, text=True,
                          timeout=60)
    harness.check_equal(done.returncode, code, f"exit code of eris serve {' '.join(args)}\n"
                                               f"{done.stdout}{done.stderr}")
    return done.stderr


def test_second_server_on_a_port_fails_and_the_first_serves_on(programs):
    with harness.Server(programs) as server:
        message = refused(programs, 4, "--listen", server.address)
        harness.check(server.address in message, f"the message does not name the address: {message}")
        server.eris("list")


def test_port_of_another_program_is_in_use(programs):
    import socket
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        message = refused(programs, 4, "--listen", address)
        harness.check(address in message, f"the message does not name the address: {message}")


def test_unknown_configuration_key_is_named_with_its_line(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "eris.toml")
        with open(path, "w") as file:
            file.write('[server]\nlisten = "127.0.0.1:0"\nlissten = "x"\n')
        message = refused(programs, 2, "--config", path)
        for part in (path, "lissten", "3"):
            harness.check(part in message, f"the message does not name {part}: {message}")


def test_an_unknown_host_is_named(programs):
    message = refused(programs, 4, "--listen", "no.such.host.invalid:7431")
    harness.check("cannot listen on no.such.host.invalid:7431: host 'no.such.host.invalid': " in message and
                  "{" not in message, message)


def test_missing_configuration_file_is_named(programs):
    message = refused(programs, 2, "--config", "/nonexistent/eris.toml")
    harness.check("/nonexistent/eris.toml" in message, message)


def test_memory_limit_above_the_machines_is_refused(programs):
    message = refused(programs, 4, "--listen", "127.0.0.1:0", "--memory-limit", "1048576GiB")
    harness.check("memory" in message and str(1 << 50) in message,
                  f"the message does not name the limit: {message}")


def test_a_topology_of_more_aeus_than_cpus_works_and_says_so(programs):
    with harness.Server(programs, "--topology", "numa:4 core:32 pu:1") as server:
        server.eris("create", "a", "--expect", "0:1000")
        server.eris("put", "a", "1=2", "999=3")
        harness.check_equal(server.eris("count", "a").stdout, "2\n", "count")
        cpus = len(os.sched_getaffinity(0))
        note = f"128 AEUs of topology 'numa:4 core:32 pu:1' share {cpus} cpus of this machine"
        harness.check(cpus >= 128 or note in server.log(), f"'{note}' is not in {server.log()}")
        harness.check("version " in server.log(), f"no version in {server.log()}")


def test_flags_override_the_file(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "eris.toml")
        with open(path, "w") as file:
            file.write("[engine]\naeu_count = 5\n")
        with harness.Server(programs, "--config", path) as server:
            harness.check_equal(len(server.stats()["aeus"]), 5, "AEUs by the file")
        with harness.Server(programs, "--config", path, "--aeus", "3", "--memory-limit",
                            "256MiB") as server:
            stats = server.stats()
            harness.check_equal(len(stats["aeus"]), 3, "AEUs by the flag")
            harness.check_equal(int(stats["memory_limit_bytes"]), 256 << 20, "memory limit")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
