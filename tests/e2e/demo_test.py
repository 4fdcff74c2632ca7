"""`eris demo` of the wheel with the server, installed in an environment: what it writes into a pipe, a wrong answer, an interrupt, a server that it
leaves, and what it refuses.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness
import lineitem_data
import orders_data
import python_client_test
import sql_test

# Lines of `eris demo --scale 0.01`, in their order; others may be in between.
LINES = [
    r"TPC-H at scale factor 0\.01, in a server of its own",
    r"\[1/5\] files of customer, orders, lineitem",
    r"      9 MB of text in [\d.]+ s, kept in [/~].*/sf0\.01",
    r"\[2/5\] a server on 127\.0\.0\.1:\d+: \d+ AEUs, at most [\d,.]+ GB for data",
    r"\[3/5\] the tables go in through gRPC",
    r"      customer        1,500 rows  +[\d.]+ s  +[\d.]+ M rows/s",
    r"      orders         15,000 rows  +[\d.]+ s  +[\d.]+ M rows/s",
    r"      lineitem       60,175 rows  +[\d.]+ s  +[\d.]+ M rows/s",
    r"\[4/5\] TPC-H's questions",
    r"      DuckDB has loaded the same files in [\d.]+ s",
    r"      Q1,  4 rows +[\d.]+ ms +[\d.]+ ms  ✓  .*",
    r"      Q6,  1 row +[\d.]+ ms +[\d.]+ ms  ✓  .*",
    r"      Q3, 10 rows +[\d.]+ ms +[\d.]+ ms  ✓  .*",
    r"\[5/5\] a load that moves, while every answer is checked",
    r"      an index of 200,000 keys, loaded in .*",
    r"      lower half: the busiest AEU had \d+ % of the keys, and \d+ % in the end",
    r"      upper half: the busiest AEU had \d+ % of the keys, and \d+ % in the end",
    r"      [1-9]\d* ranges with [1-9][\d,]* keys changed hands; .*",
    r"      [1-9][\d,]* answers checked, 0 wrong; 0 requests failed",
    r"done in \d+ s",
    r"Three commands to try:",
]
FRAME = re.compile(r" +([\d.]+) s  (lower|upper) half +[\d.]+ M keys/s  AEU 0 .*")
# A DuckDB that answers every statement with a row of one cell.
WRONG_DUCKDB = """
class connect:
    execute = lambda self, text: self
    fetchall = lambda self: [(1,)]
    close = lambda self: None
"""


class Case:
    def __init__(self, programs, folder):
        packages = [*python_client_test.PACKAGES, *python_client_test.TOOLS, sql_test.DATAFUSION, lineitem_data.DUCKDB, orders_data.TPCHGEN]
        self.python = harness.make_python(programs.build, "demo", packages)
        with harness.locked(programs.build, "demo_wheel"):
            python_client_test.run(self.python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--force-reinstall",
                                   python_client_test.CLIENT, python_client_test.CLIENT / "server",
                                   env=dict(os.environ, ERIS_WHEEL_PROGRAM=programs.eris))
        self.eris = os.path.join(os.path.dirname(self.python), "eris")
        self.folder = folder
        self.cache, self.temporary = os.path.join(folder, "cache"), os.path.join(folder, "temporary")
        os.mkdir(self.temporary)
        self.env = dict(os.environ, TMPDIR=self.temporary, PYTHONIOENCODING="utf-8", ERIS_SERVER="127.0.0.1:1")

    def start(self, *arguments, **env):
        return subprocess.Popen([self.eris, "demo", "--scale", "0.01", "--cache", self.cache, *arguments], env={**self.env, **env}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def start_and_await_bars(self):
        """A demo whose load runs: for twenty minutes, so that it does so also when a busy machine is late."""
        process = self.start("--seconds", "600")
        before = []
        for line in process.stdout:
            if FRAME.fullmatch(line.rstrip("\n")):
                harness.check(self.servers(), "no server")
                return process
            before.append(line)
        raise AssertionError(f"it has ended before its first bars: {''.join(before)}{process.communicate()[1]}")

    def demo(self, *arguments, code=0, **env):
        """What it writes to stdout and to stderr."""
        process = self.start(*arguments, **env)
        out, error = process.communicate(timeout=240)
        harness.check(process.returncode == code and "Traceback" not in error, f"exit code {process.returncode}, expected {code}\n{out}{error}")
        return out, error

    def check_nothing_left(self):
        """No folder, no server and no other program of a demo."""
        harness.check_equal(os.listdir(self.temporary), [], "temporary folders")
        harness.check_equal(self.processes(), [], "processes")

    def servers(self):
        return self.processes("cmdline")

    def processes(self, where="environ"):
        """Those that have the folder for temporary files in their environment, or in their command line."""
        found = []
        for each in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{each}/{where}", "rb") as file:
                    if os.fsencode(self.temporary) in file.read():
                        found.append(int(each))
            except OSError:  # it has ended
                pass
        return found


def check_lines(out):
    """All of LINES in their order."""
    wanted = list(LINES)
    for line in out.splitlines():
        if wanted and re.fullmatch(wanted[0], line):
            wanted.pop(0)
    harness.check(not wanted, f"no line that is {wanted[:1]} in\n{out}")


def test_the_program(case):
    """It keeps its exit codes, `eris sql` finds the client without a PATH, and the version of the wheel is the program's."""
    env = dict(case.env, PATH="/usr/bin:/bin")
    version = python_client_test.run(case.python, "-c", "import importlib.metadata as its; print(its.version('eris-engine-server'))").strip()
    done = subprocess.run([case.eris, "--version"], env=env, capture_output=True, text=True)
    harness.check(done.returncode == 0 and done.stdout.startswith(f"eris {version} "), f"{done}")
    done = subprocess.run([case.eris, "sql", "--help"], env=env, capture_output=True, text=True)
    harness.check(done.returncode == 0 and "usage: eris sql" in done.stdout, f"{done}")
    done = subprocess.run([case.eris, "stats"], env=env, capture_output=True, text=True)
    harness.check_equal(done.returncode, 3, "exit code without a server")
    done = subprocess.run([case.eris, "--help"], env=env, capture_output=True, text=True)
    harness.check(re.search(r"^  demo  +TPC-H", done.stdout, re.M), done.stdout)


def test_a_pipe_gets_plain_lines(case):
    out, error = case.demo("--seconds", "3")
    print(out, flush=True)
    harness.check("\x1b" not in out and error == "", f"{out!r}{error!r}")
    check_lines(out)
    frames = [FRAME.fullmatch(line) for line in out.splitlines() if " half   " in line]
    harness.check(all(frames) and {frame[2] for frame in frames} == {"lower", "upper"}, out)
    for line in (frame[0] for frame in frames):
        parts = [float(part) for part in re.findall(r"([\d.]+) %", line)]
        harness.check("more AEUs" in line or abs(sum(parts) - 100) < 1, line)
    case.check_nothing_left()


def test_a_wrong_answer_fails(case):
    planted = os.path.join(case.folder, "planted")
    os.mkdir(planted)
    with open(os.path.join(planted, "duckdb.py"), "w") as file:
        file.write(WRONG_DUCKDB)
    out, error = case.demo(code=1, PYTHONPATH=planted)
    harness.check("sf0.01 has them from an earlier run" in out, out)
    harness.check("Q1,  4 rows" in out and " WRONG " in out and "[5/5]" not in out, out)
    harness.check("the answers to query 1 differ: ERIS has 4 rows, DuckDB 1" in error, error)
    case.check_nothing_left()


def test_an_interrupt_ends_everything(case):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        process = case.start_and_await_bars()
        process.send_signal(number)
        out, error = process.communicate(timeout=60)
        harness.check_equal(process.returncode, code, f"exit code; {out}{error}")
        harness.check("Traceback" not in error, error)
        case.check_nothing_left()


def test_a_kill_ends_the_server(case):
    process = case.start_and_await_bars()
    process.kill()
    process.communicate(timeout=60)
    harness.wait_until(lambda: not case.processes(), "the server and the load to end")
    for folder in os.listdir(case.temporary):
        shutil.rmtree(os.path.join(case.temporary, folder))


def test_a_server_that_is_kept(case):
    temporary = os.path.join(case.temporary, "two words")  # the last command must quote it
    os.mkdir(temporary)
    out, _ = case.demo("--seconds", "2", "--keep", LC_ALL="C", PYTHONIOENCODING="ascii", TMPDIR=temporary)
    harness.check(out.isascii() and re.search(r"Q6,  1 row .* ms  ok  ", out), out)
    command, address = re.search(r"^  (eris --server (\S+) sql \".*\")$", out, re.M).groups()
    path = f"{os.path.dirname(case.eris)}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", command], env=dict(case.env, PATH=path), capture_output=True, text=True)
    harness.check("1-URGENT" in done.stdout, f"{done}")
    subprocess.run(["bash", "-c", re.search(r"To end it: (.*)$", out, re.M)[1]], check=True)
    harness.wait_until(lambda: not case.servers(), f"the server on {address} to end")
    os.rmdir(temporary)
    case.check_nothing_left()


def test_refusals(case):
    for arguments, code, said in ((["--scale", "0.001"], 2, "0.001 is not between 0.01 and 100"), (["--cache", "/proc/none"], 1, "another one with --cache"),
                                  (["--seconds", "nan"], 2, "nan is not between 2 and 600")):
        _, error = case.demo(*arguments, code=code)
        harness.check(said in error, error)
    for call, said in (("machine.check_memory(1e6)", "scale factor 1e+06 needs about 2,500,000.4 GB of memory, and "),
                       ("machine.check_disk(1e9, pathlib.Path('/'))", "needs about 970,000,000.0 GB of disk, and / has "),
                       ("machine.check_server(1, 10**9)", "scale factor 1 needs about 1.6 GB for data, and the server has at most 1.0 GB for them on this machine"),
                       ("os.environ.update(PATH='/nowhere'); tables.generator()", "is not in PATH: pip install tpchgen-cli")):
        done = subprocess.run([case.python, "-c", f"import os, pathlib\nfrom eris_server.demo import machine, tables\n{call}"], capture_output=True, text=True)
        harness.check(done.returncode == 1 and "Refusal: " in done.stderr and said in done.stderr, f"{call}: {done.returncode} {done.stderr}")
    case.check_nothing_left()


def main():
    programs = harness.Programs(harness.parse_args().build)
    with tempfile.TemporaryDirectory() as folder:
        case = Case(programs, folder)
        started = time.monotonic()
        try:
            harness.run_tests(globals(), case)
        finally:
            print(f"{time.monotonic() - started:.1f} s without the installation", flush=True)
            for process in case.processes():
                with contextlib.suppress(ProcessLookupError):  # one has ended with another
                    os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    main()
