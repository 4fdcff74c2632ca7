"""eris-demo, which `eris demo` starts: its command line, its steps, and its end."""
import argparse
import contextlib
import importlib.util
import math
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from types import FrameType

from eris_server.demo import machine, tables
from eris_server.demo.programs import Server, serving
from eris_server.demo.refusal import Refusal
from eris_server.demo.screen import Screen

HALF_SECONDS = 6.0
DESCRIPTION = """Makes tables of TPC-H, starts a server of its own on a free port of the loopback, loads them, asks queries 1, 6 and 3 there and in
DuckDB, and shows how ranges of keys move when a load does. At its end the server is stopped; the tables' files stay in --cache for the next run."""
CODES = """exit codes: 0 fine, 1 a package is missing, the machine is too small, a program has failed, or an answer is wrong, 2 usage,
129 its terminal has gone, 130 Ctrl-C, 143 SIGTERM"""
NEEDED = ("pyarrow", "datafusion")


def between(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = float(text)
        if not (math.isfinite(value) and least <= value <= most):
            raise argparse.ArgumentTypeError(f"{text} is not between {least:g} and {most:g}")
        return value
    read.__name__ = "number"  # argparse shows it
    return read


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="eris demo", description=DESCRIPTION, epilog=CODES)
    parser.add_argument("--scale", type=between(machine.SCALE_MIN, machine.SCALE_MAX), default=1.0, metavar="FACTOR",
                        help=f"TPC-H's scale factor, {machine.SCALE_MIN:g} to {machine.SCALE_MAX:g}; 1: 6 million rows of lineitem, 1 GB of text (%(default)g)")
    parser.add_argument("--cache", type=pathlib.Path, default=tables.cache_folder(), metavar="FOLDER", help="keeps the tables' files (%(default)s)")
    parser.add_argument("--seconds", type=between(2, 600), default=HALF_SECONDS, help="of the load on each half of the keys (%(default)g)")
    parser.add_argument("--keep", action="store_true", help="leave the server running at the end, and say how to ask and how to end it")
    return parser.parse_args()


def check_packages() -> None:
    if importlib.util.find_spec("eris") is None:  # not by its name, which may be another's on PyPI
        raise Refusal("the Python client is not installed: pip install the file eris_engine-*.whl, which is made together with the server's wheel")
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        raise Refusal(f"{', '.join(missing)} not installed: pip install {' '.join(missing)}")


@contextlib.contextmanager
def working_folder(kept: list[bool]) -> Iterator[pathlib.Path]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="eris-demo-"))
    try:
        yield folder
    finally:
        if not any(kept):
            shutil.rmtree(folder, ignore_errors=True)


def ask_everything(screen: Screen, args: argparse.Namespace, server: Server, folder: pathlib.Path) -> None:
    from eris_server.demo import moving_load, questions  # they import what check_packages looks for

    import eris
    with eris.connect(server.address, timeout=600, security=eris.Security()) as database:
        duckdb = questions.load_duckdb(screen, database, folder)
        questions.ask(screen, database, duckdb)
        if duckdb is not None:
            duckdb.close()
    screen.line("[5/5] a load that moves, while every answer is checked")
    moving_load.run(screen, server, args.scale, args.seconds)


def say_what_next(screen: Screen, server: Server, keep: bool) -> None:
    screen.line()
    screen.line("Three commands to try:")
    if keep:
        statement = '"select o_orderpriority, count(*) from orders group by 1 order by 1"'
        for words, what in ((f"sql {statement}", ""), ("shell", "   # statements in a dialogue; \\d shows the tables"), ("top", "     # what each AEU does")):
            screen.line(f"  eris --server {server.address} {words}{what}")
        screen.line(f"The server runs on; its log is {server.folder}/server.log. To end it: kill {server.process.pid} && "
                    f"rm -r {shlex.quote(str(server.folder))}")
        return
    for words, what in (("eris demo --keep", "the same, and the server stays for statements of your own"), ("eris serve", "an empty server on 127.0.0.1:7411"),
                        ("eris doctor", "what of this machine slows ERIS down, and how to change it")):
        screen.line(f"  {words:<18} # {what}")


def demonstrate(screen: Screen, args: argparse.Namespace) -> None:
    check_packages()
    machine.check_memory(args.scale)
    started = time.monotonic()
    kept: list[bool] = []
    screen.line(f"TPC-H at scale factor {args.scale:g}, in a server of its own")
    screen.line(f"[1/5] files of {', '.join(tables.TABLES)}")
    folder = tables.make(screen, args.scale, args.cache)
    with working_folder(kept) as work, serving(work, args.keep, lambda: any(kept)) as server:
        stats = server.eris("stats")
        limit = int(stats["memory_limit_bytes"])
        screen.line(f"[2/5] a server on {server.address}: {len(stats['aeus'])} AEUs, at most {machine.gb(limit)} for data")
        machine.check_server(args.scale, limit)
        screen.line("[3/5] the tables go in through gRPC")
        tables.load(screen, server, folder)
        screen.line("[4/5] TPC-H's questions")
        ask_everything(screen, args, server, folder)
        screen.line(f"done in {time.monotonic() - started:.0f} s")
        kept.append(args.keep)
        say_what_next(screen, server, args.keep)


def on_end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> None:
    args = arguments()
    signal.signal(signal.SIGTERM, on_end)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores it
        signal.signal(signal.SIGHUP, on_end)
    screen = Screen()
    try:
        demonstrate(screen, args)
    except Refusal as refusal:
        sys.stdout.flush()
        sys.exit(f"eris demo: {refusal}")
    except KeyboardInterrupt:
        print("\neris demo: interrupted; the server has been stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader has what it wants
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
