"""Servers that must not start say why, and end with an exit code for scripts."""
import os
import tempfile

import harness


def test_second_server_on_a_port_fails_and_the_first_serves_on(programs):
    with harness.Server(programs) as server:
        programs.refused("serve", "--listen", server.address, said=server.address, code=4)
        server.eris("list")


def test_port_of_another_program_is_in_use(programs):
    import socket
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        programs.refused("serve", "--listen", address, said=address, code=4)


def test_unknown_configuration_key_is_named_with_its_line(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "eris.toml")
        with open(path, "w") as file:
            file.write('[server]\nlisten = "127.0.0.1:0"\nlissten = "x"\n')
        programs.refused("serve", "--config", path, said=(path, "lissten", "3"))


def test_an_unknown_host_is_named(programs):
    done = programs.run("serve", "--listen", "no.such.host.invalid:7431", code=4)
    harness.check_said(done, "cannot listen on no.such.host.invalid:7431: host 'no.such.host.invalid': ")
    harness.check("{" not in done.stderr, done.stderr)


def test_missing_configuration_file_is_named(programs):
    programs.refused("serve", "--config", "/nonexistent/eris.toml", said="/nonexistent/eris.toml")


def test_memory_limit_above_the_machines_is_refused(programs):
    programs.refused("serve", "--listen", "127.0.0.1:0", "--memory-limit", "1048576GiB", said=("memory", str(1 << 50)),
                     code=4)


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
