"""Servers that must not start say why, and end with an exit code for scripts."""
import os
import signal
import socket
import tempfile

import harness


def test_second_server_on_a_port_fails_and_the_first_serves_on(programs):
    with harness.Server(programs) as server:
        programs.refused("serve", "--listen", server.address, said=server.address, code=4)
        server.eris("list")


def test_port_of_another_program_is_in_use(programs):
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
    done = programs.run("serve", "--listen", "no.such.host.invalid:7431", "--security-open", "true", code=4)
    harness.check_said(done, "cannot listen on no.such.host.invalid:7431: host 'no.such.host.invalid': ")
    harness.check("{" not in done.stderr, done.stderr)


def test_missing_configuration_file_is_named(programs):
    programs.refused("serve", "--config", "/nonexistent/eris.toml", said="/nonexistent/eris.toml")


def test_memory_limit_above_the_machines_is_refused(programs):
    programs.refused("serve", "--listen", "127.0.0.1:0", "--memory-limit", "1048576GiB", said=("memory", str(1 << 50)))


def test_a_topology_of_more_aeus_than_cpus_works_and_says_so(programs):
    with harness.Server(programs, "--topology", "numa:4 core:32 pu:1") as server:
        server.eris("create", "a", "--expect", "0:1000")
        server.eris("put", "a", "1=2", "999=3")
        harness.check_equal(server.eris("count", "a").stdout, "2\n", "count")
        cpus = len(os.sched_getaffinity(0))
        note = f"128 AEUs of topology 'numa:4 core:32 pu:1' share {cpus} cpus of this machine"
        harness.check(cpus >= 128 or note in server.log(), f"'{note}' is not in {server.log()}")
        harness.check("version " in server.log(), f"no version in {server.log()}")


class ManagedServer(harness.Server):
    """With a service manager's socket: a path, or of Linux's abstract names where `abstract` is set."""

    def __init__(self, programs, abstract, *serve_args):
        super().__init__(programs, *serve_args)
        self.abstract = abstract
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.settimeout(60)

    def popen_args(self):
        name = f"@eris-test-{os.getpid()}" if self.abstract else os.path.join(self.directory.name, "notify")
        self.manager.bind("\0" + name[1:] if self.abstract else name)
        return {"env": dict(os.environ, NOTIFY_SOCKET=name)}

    def told(self):
        return dict(line.split("=", 1) for line in self.manager.recv(4096).decode().splitlines())


def test_the_service_manager_is_told_when_the_server_serves_and_stops(programs):
    for abstract in (False, True):
        with ManagedServer(programs, abstract, "--drain-timeout-ms", "7000") as server:
            told = server.told()
            harness.check_equal((told["READY"], told["STATUS"]), ("1", f"serving on {server.address}"), "at the start")
            server.eris("list")
            server.process.send_signal(signal.SIGTERM)
            harness.check_equal(server.told(), {"STOPPING": "1", "EXTEND_TIMEOUT_USEC": "27000000"}, "at SIGTERM")
            server.await_end()


def test_a_service_manager_that_is_not_there_stops_nothing(programs):
    class Alone(harness.Server):
        def popen_args(self):
            return {"env": dict(os.environ, NOTIFY_SOCKET="/nonexistent/notify")}
    with Alone(programs) as server:
        server.eris("list")
        harness.check("the service manager has not been told" in server.log(), server.log())


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
