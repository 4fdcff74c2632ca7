"""Progress bars: on a terminal they appear after two seconds, with the time left, and leave nothing behind; elsewhere there
are none. The programs are stopped for a while where they would be too fast to show one."""
import glob
import os
import pty
import re
import signal
import subprocess
import tempfile
import threading
import time

import harness

BAR = re.compile(r"\[[#.]{20}\] +\d+ %  \d+ rows, \d+ rows/s(, [\dhmins ]+ left)?")


def pause(process):
    """More than two seconds pass for it, and it does nothing in them."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.1)
    process.send_signal(signal.SIGCONT)


class OnTerminal:
    """A run of eris whose stderr is a terminal; `seen` is what came to it."""

    def __init__(self, programs, *args, server=None, **more):
        self.master, slave = pty.openpty()
        self.seen = ""
        place = ["--server", server.address] if server else []
        self.process = subprocess.Popen([programs.eris, *args, *place], stderr=slave, **more)
        os.close(slave)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            while data := os.read(self.master, 4096):
                self.seen += data.decode()
        except OSError:  # the terminal's other side is closed
            pass

    def pause(self):
        pause(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """A test that fails leaves no program behind."""
        self.process.kill()
        self.process.wait()

    def wait(self, code=0):
        harness.check_equal(self.process.wait(60), code, f"exit code\n{self.seen}")
        self.reader.join()
        os.close(self.master)

    def check_bar(self):
        """It was there, and nothing of it is left."""
        harness.check(BAR.search(self.seen), f"no bar: {self.seen!r}")
        harness.check(re.search(r"\r\x1b\[K(\n|$)", self.seen) or "\r\x1b[Keris: " in self.seen, f"it is left: {self.seen!r}")


def part_of(path):
    """Waits until the program has begun to write the file, under its temporary name."""
    harness.wait_until(lambda: any(os.path.getsize(part) for part in glob.glob(path + ".??????")), f"{path} to be begun")


def test_brief_commands_show_none(programs):
    with tempfile.TemporaryDirectory() as directory:
        brief = OnTerminal(programs, "generate", "orders", os.path.join(directory, "orders.tbl"), "--scale", "0.001", stdout=subprocess.DEVNULL)
        brief.wait()
        harness.check_equal(brief.seen, "", "stderr")


def test_generate_and_its_interrupt(programs):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "lineitem.tbl")
        with OnTerminal(programs, "generate", "lineitem", path, "--scale", "10", stdout=subprocess.DEVNULL) as run:
            part_of(path)
            run.pause()
            harness.wait_until(lambda: BAR.search(run.seen), "a bar")
            run.process.send_signal(signal.SIGINT)
            run.wait(code=130)
        run.check_bar()
        harness.check(" left" in run.seen, run.seen)
        harness.check_equal(os.listdir(directory), [], "files")


def test_export_and_scan_into_a_file(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        server.eris("bench", "load", "--keys", "3000000", "--batch", "16384")  # a second or more of export, so that its temporary file is seen
        path = os.path.join(directory, "bench.csv")
        run = OnTerminal(programs, "export", "bench", path, server=server, stdout=subprocess.DEVNULL)
        part_of(path)
        run.pause()
        run.wait()
        run.check_bar()
        rows = os.path.join(directory, "rows.csv")
        with open(rows, "w") as file:
            run = OnTerminal(programs, "scan", "bench", "--format", "csv", server=server, stdout=file)
            harness.wait_until(lambda: os.path.getsize(rows) > 0, "rows")
            run.pause()
            run.wait()
        run.check_bar()
        with open(rows, "rb") as one, open(path, "rb") as other:
            harness.check(one.read() == other.read(), "the rows differ")
        # A pager may be behind a pipe.
        run = OnTerminal(programs, "scan", "bench", "--format", "csv", server=server, stdout=subprocess.PIPE)
        run.process.stdout.read(1)
        run.pause()
        run.process.stdout.read()
        run.process.stdout.close()
        run.wait()
        harness.check_equal(run.seen, "", "stderr")


def test_a_range_that_moves_slowly(programs):
    # A hash is always copied; ranges of an index may change hands at once.
    with harness.Server(programs, "--aeus", "2") as server:
        server.eris("bench", "load", "--kind", "hash", "--keys", "200000", "--layout", "dense", "--batch", "16384")
        server.eris("balancer", "set", "--enabled", "false", "--max-bytes-per-s", "400KiB")  # of 1.5 MiB
        run = OnTerminal(programs, "balancer", "move", "bench", "--to", "100000", "--aeu", "1", "--kind", "copy", server=server,
                         stdout=subprocess.DEVNULL)
        run.wait()
        harness.check(re.search(r"\r[1-9]\d* rows, \d+ rows/s\x1b\[K", run.seen), f"no count: {run.seen!r}")
        harness.check(run.seen.endswith("\r\x1b[K"), f"it is left: {run.seen!r}")
        # Now one AEU has all rows. The plan says how many of them will move.
        server.eris("balancer", "set", "--algorithm", "size")
        run = OnTerminal(programs, "balancer", "rebalance", "bench", server=server, stdout=subprocess.DEVNULL)
        run.wait()
        run.check_bar()


def test_import_from_a_slow_pipe(programs):
    def feed(process, name):
        """Rows of which the second comes two seconds after the first has been loaded."""
        process.stdin.write(b"0,0\n")
        process.stdin.flush()
        harness.wait_until(lambda: programs.run("get", name, "0", "--server", server.address).returncode == 0, "the first row")
        pause(process)
        process.stdin.write(b"1,1\n2,2\n")
        process.stdin.close()

    with harness.Server(programs) as server:
        arguments = ["-", "--expect", "0:100", "--key", "1", "--value", "2", "--batch", "1", "--no-header"]
        run = OnTerminal(programs, "import", "slow", *arguments, server=server, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        feed(run.process, "slow")
        run.wait()
        harness.check(re.search(r"\r\d+ rows, \d+ rows/s\x1b\[K", run.seen), f"no count: {run.seen!r}")
        harness.check(run.seen.endswith("\r\x1b[K"), f"it is left: {run.seen!r}")
        elsewhere = subprocess.Popen([programs.eris, "import", "other", *arguments, "--server", server.address], stdin=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        feed(elsewhere, "other")
        harness.check_equal(elsewhere.stderr.read(), b"", "stderr that is no terminal")
        elsewhere.stderr.close()
        harness.check_equal(elsewhere.wait(60), 0, "exit code")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
