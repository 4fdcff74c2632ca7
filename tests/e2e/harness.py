"""What the end-to-end tests share: a real server process, the programs, and skipping.

Every test is called with --build <build directory>; the programs are taken from there. Only the
standard library is used.
"""
import argparse
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def parse_args(extra=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    if extra:
        extra(parser)
    return parser.parse_args()


def skip(package, reason):
    """Ends the test as skipped: `package` is what cannot be installed."""
    print(f"SKIPPED: {package} cannot be installed: {reason}")
    sys.exit(SKIPPED)


def find_go(build):
    """Debian's Go, or another, and the environment in which it builds; skips where there is none."""
    go = shutil.which("/usr/lib/go-1.19/bin/go") or shutil.which("go")
    if not go:
        skip("golang-go", "there is no go")
    tools = os.path.join(os.path.abspath(build), "tools")
    return go, dict(os.environ, GOBIN=tools, GOPATH=os.path.join(tools, "gopath"),
                    GOTOOLCHAIN="local", GOFLAGS="-modcacherw")


@contextlib.contextmanager
def locked(build, name):
    """One test at a time makes what others of the build tree use, too."""
    os.makedirs(os.path.join(build, "tools"), exist_ok=True)
    with open(os.path.join(build, "tools", f"{name}.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_python(build, name, packages):
    """The Python of a virtual environment with the packages of PyPI, made if it is not there; skips where it cannot be."""
    with locked(build, name):
        return _make_python(build, name, packages)


def _make_python(build, name, packages):
    venv = os.path.join(os.path.abspath(build), "tests", "e2e", name)
    python, mark = os.path.join(venv, "bin", "python"), os.path.join(venv, "packages")
    if os.path.exists(mark):
        with open(mark) as file:
            if file.read().split() == packages:
                return python
    for package, command in (("python3-venv", [sys.executable, "-m", "venv", "--clear", venv]),
                             (f"{', '.join(packages)} (PyPI)", [python, "-m", "pip", "install", "--quiet", *packages])):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            skip(package, done.stderr[-2000:])
    with open(mark, "w") as file:  # at the end: all of them are there
        file.write("\n".join(packages))
    return python


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def check_equal(got, expected, what):
    check(got == expected, f"{what}: got {got!r}, expected {expected!r}")


def check_said(done, said):
    """What a program wrote to stderr has `said`, a text or several."""
    for text in [said] if isinstance(said, str) else said:
        check(text in done.stderr, f"{' '.join(done.args)}: '{text}' is not in: {done.stderr}")


def refused(error, call, *said):
    """The call raises `error`, whose text has all of `said`. Returns it."""
    try:
        call()
    except error as its:
        for text in said:
            check(text in str(its), f"{text!r} is not in {its}")
        return its
    raise AssertionError(f"it did not raise {error.__name__}")


def wait_until(condition, what, seconds=20):
    """Polls; the limit only ends a test that has failed."""
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"waited {seconds} s for: {what}")
        time.sleep(0.02)


class Programs:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.eris = os.path.join(self.build, "clients", "cli", "eris")
        self.tests = os.path.join(self.build, "tests", "e2e")

    def run(self, *args, code=None, **more):
        """Runs eris without a server of the test's own; expects its exit code where one is given."""
        done = subprocess.run([self.eris, *args], capture_output=True, text=True, timeout=60, **more)
        if code is not None:
            check_equal(done.returncode, code, f"exit code of eris {' '.join(args)}\n{done.stdout}{done.stderr}")
        return done

    def refused(self, *args, said, code=2, **more):
        """Runs eris, which is refused; `said` is what it says then, a text or several."""
        check_said(self.run(*args, code=code, **more), said)


class Server:
    """A server on a free port of the loopback. Leaving the block stops it with SIGTERM and expects
    exit code 0."""

    def __init__(self, programs, *serve_args):
        self.programs = programs
        self.serve_args = serve_args
        self.killed = False

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        port_file = os.path.join(self.directory.name, "port")
        self.log_path = os.path.join(self.directory.name, "log")
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [self.programs.eris, "serve", "--listen", "127.0.0.1:0", "--port-file", port_file,
                 *self.serve_args], stdout=log, stderr=subprocess.STDOUT, **self.popen_args())
        try:
            wait_until(lambda: os.path.exists(port_file) or self.process.poll() is not None,
                       "the server's port file", 60)
            check(self.process.poll() is None, f"the server did not start:\n{self.log()}")
        except BaseException:
            self.kill()
            raise
        with open(port_file) as file:
            self.address = f"127.0.0.1:{file.read().strip()}"
        self.env = dict(os.environ, ERIS_SERVER=self.address)
        return self

    def popen_args(self):
        """More for the server's Popen; for subclasses."""
        return {}

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()
        else:
            self.kill()
            print(f"server log:\n{self.log()}")
        self.directory.cleanup()

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def kill(self):
        """Leaving the block then expects nothing of it."""
        self.killed = True
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """SIGTERM, unless the server has ended; then exit code 0."""
        if self.killed:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.await_end()

    def await_end(self):
        """For a test that has sent SIGTERM itself: a second signal would mean "now"."""
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no end within 60 s of SIGTERM:\n{self.log()}")
        check(code == 0, f"the server ended with {code}:\n{self.log()}")

    def run(self, *command, input=None, code=0):
        """Runs a program against this server, expects its exit code and returns what it did."""
        done = subprocess.run(command, env=self.env, input=input, capture_output=True, text=True,
                              timeout=300)
        check(done.returncode == code,
              f"{' '.join(command)}: exit code {done.returncode}, expected {code}\n"
              f"{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done

    def eris(self, *args, input=None, code=0):
        return self.run(self.programs.eris, *args, input=input, code=code)

    def refused(self, *args, said, code=2, **kwargs):
        """Runs eris, which is refused; `said` is what it says then, a text or several."""
        check_said(self.eris(*args, code=code, **kwargs), said)

    def eris_json(self, *args, **kwargs):
        return json.loads(self.eris(*args, "--output", "json", **kwargs).stdout)

    def bench(self, workload, *args, code=0):
        """A load whose every answer is verified; what it reports."""
        return self.eris_json("bench", workload, "--verify", *args, code=code)

    def stats(self):
        return self.eris_json("stats")

    def wait_until_quiet(self):
        """No request, scan or chunk of a client that has gone is left."""
        def quiet():
            stats = self.stats()
            return all(int(stats[name]) == 0
                       for name in ("scans_open", "scan_chunks_in_use", "requests_in_flight"))
        wait_until(quiet, "requests, scans and chunks to be given back")
        self.check_nothing_lost()

    def check_nothing_lost(self):
        """At rest every key that was sent has been delivered, and answered or passed on."""
        stats = self.stats()
        aeus = [{name: int(count) for name, count in aeu["routing"].items()} for aeu in stats["aeus"]]
        check_equal(sum(aeu["delivered"] for aeu in aeus),
                    sum(aeu["sent"] for aeu in aeus) + int(stats["sessions_routing"]["sent"]),
                    "keys delivered to AEUs")
        for aeu in aeus:
            check_equal(aeu["answered"] + aeu["forwarded"], aeu["delivered"], "keys of an AEU")
        check(sum(aeu["delivered"] for aeu in aeus) > 0, "nothing was routed")


def run_tests(namespace, *args):
    """Runs every test_* function of a module; all of them, and then fails if any did."""
    import traceback
    failed = []
    for name, function in list(namespace.items()):
        if not re.match(r"test_", name):
            continue
        start = time.monotonic()
        try:
            function(*args)
            print(f"ok      {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print(f"FAILED  {name}", flush=True)
            failed.append(name)
    sys.exit(1 if failed else 0)
