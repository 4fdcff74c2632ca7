"""The demo's server and the other programs that it starts. Each of them ends when the demo ends, however that happens: the kernel ends them if the demo
is killed. Only a server that is to be kept may outlive it.
"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, IO

from eris_server.demo.refusal import Refusal
from eris_server.launch import command

START_SECONDS = 60
STOP_SECONDS = 30
STEP_SECONDS = 0.1
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Asks the kernel, by PR_SET_PDEATHSIG of <linux/prctl.h>, to kill this process when the demo's main thread ends, and becomes the program. The demo may have
# ended before that. Python ignores two signals, which a program would inherit.
BECOME = """import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
for number in signal.SIGPIPE, signal.SIGXFSZ:
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])"""


def environment() -> dict[str, str]:
    """Without the caller's ERIS_ variables: they are about other servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ERIS_")}


def dying_with_demo(words: Sequence[str]) -> list[str]:
    """Starts the program by way of a Python of its own. A preexec_fn would fork this process, in which gRPC has threads and writes about that."""
    return [sys.executable, "-I", "-S", "-c", BECOME, str(os.getpid()), *words]


def run(words: Sequence[str], meanwhile: Callable[[], None] = lambda: None, progress: IO[str] | None = None, step: float = STEP_SECONDS) -> str:
    """What a program writes. `meanwhile` is called every `step` seconds until it ends. `progress`: where its progress and its errors go; None: errors go
    into the Refusal of a program that fails."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(dying_with_demo(words), stdin=subprocess.DEVNULL, stdout=out, stderr=progress or errors, env=environment())
        try:
            while True:
                try:
                    process.wait(step)
                    break
                except subprocess.TimeoutExpired:
                    meanwhile()
        finally:
            end(process)
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read())
    if process.returncode != 0:
        why = texts[1].strip()[-2000:] or texts[0].strip()[-2000:] or "what it said is above"
        raise Refusal(f"exit code {process.returncode} of {shown(words)}: {why}")
    return texts[0]


def shown(words: Sequence[str]) -> str:
    """As a person would type it."""
    its = command()
    return shlex.join(["eris", *words[len(its):]] if list(words[:len(its)]) == its else words)


def end(process: subprocess.Popen[Any], seconds: float = STOP_SECONDS) -> None:
    """Returns when it has ended; after `seconds` it is killed."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Server:
    """A server on a free port of the loopback."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, folder: pathlib.Path) -> None:
        self.process, self.address, self.folder = process, address, folder

    def eris(self, *arguments: str, meanwhile: Callable[[], None] = lambda: None, progress: IO[str] | None = None,
             step: float = STEP_SECONDS) -> Any:
        """What the command line answers as JSON."""
        return json.loads(run([*command(), "--server", self.address, "--output", "json", *arguments], meanwhile, progress, step))


def has_one_aeu() -> bool:
    """Whether a server would have one AEU: on one core, whatever its hardware threads, or with a quota of a control group of at most one cpu."""
    return re.search(r"^  1 AEU\b", run([*command(), "topology", "--explain"]), re.M) is not None


@contextlib.contextmanager
def serving(folder: pathlib.Path, may_keep: bool, keep: Callable[[], bool]) -> Iterator[Server]:
    """Starts a server that has `folder` for its log, and stops it at the end, unless `keep()`, which needs `may_keep`. Errors: Refusal (it does not start).
    """
    port, log = folder / "port", folder / "server.log"
    port.unlink(missing_ok=True)
    # The balancer looks twice as often, so that a few seconds show it. On a busy machine AEUs may get no core for seconds, which must not fail a load.
    words = [*command(), "serve", "--listen", "127.0.0.1:0", "--port-file", str(port), "--balancer-period-ms", "500", "--send-wait-ms-max", "30000"]
    if has_one_aeu():
        words += ["--aeus", "2"]  # one AEU alone cannot give ranges away
    with open(log, "wb") as out:
        # A session of its own: Ctrl-C ends the demo, which then ends the server.
        process = subprocess.Popen(words if may_keep else dying_with_demo(words), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                   env=environment(), start_new_session=True)
    try:
        yield Server(process, await_address(process, port, log), folder)
    finally:
        if not keep():
            for number in END_SIGNALS:
                signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave the server behind
            end(process)


def await_address(process: subprocess.Popen[bytes], port: pathlib.Path, log: pathlib.Path) -> str:
    until = time.monotonic() + START_SECONDS
    while not (port.exists() and port.read_text().strip()):
        if process.poll() is not None or time.monotonic() > until:
            why = f"ended with exit code {process.returncode}" if process.returncode is not None else f"has no port after {START_SECONDS} s"
            raise Refusal(f"the server {why}:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.02)
    return f"127.0.0.1:{port.read_text().strip()}"
