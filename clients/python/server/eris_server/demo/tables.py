"""The tables customer, orders and lineitem of TPC-H: made by tpchgen-cli into a folder that keeps them, and loaded by `eris import`."""
import os
import pathlib
import shutil
import sys
import tempfile
import time

from eris_server.demo import machine
from eris_server.demo.programs import Server, run
from eris_server.demo.refusal import Refusal
from eris_server.demo.screen import Screen

TABLES = ("customer", "orders", "lineitem")


def generator() -> str:
    """The program tpchgen-cli. Errors: Refusal."""
    if found := shutil.which("tpchgen-cli"):
        return found
    raise Refusal("tpchgen-cli, which makes TPC-H's tables, is not in PATH: pip install tpchgen-cli")


def cache_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "eris" / "tpch"


def short(folder: pathlib.Path) -> str:
    """With ~ for the user's folder."""
    home = pathlib.Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def make(screen: Screen, scale: float, cache: pathlib.Path) -> pathlib.Path:
    """The folder with the tables of a scale factor, made if it is not there. A folder that is there is whole."""
    folder = cache / f"sf{scale:g}"
    if folder.is_dir():
        screen.line(f"      {short(folder)} has them from an earlier run")
        return folder
    program = generator()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        made = pathlib.Path(tempfile.mkdtemp(prefix=f".sf{scale:g}-", dir=cache))
    except OSError as error:
        raise Refusal(f"the folder for TPC-H's tables cannot be made: {error}; name another one with --cache") from None
    try:
        machine.check_disk(scale, cache)
        started = time.monotonic()

        def progress() -> None:
            part = sum(path.stat().st_size for path in made.glob("*.tbl")) / (scale * machine.DISK_BYTES)
            screen.draw([f"      [{screen.bar(part)}] {100 * min(part, 1):3.0f} %"])

        run([program, "-s", f"{scale:g}", "--tables", ",".join(TABLES), "--output-dir", str(made), "--quiet"], progress)
        size = sum(path.stat().st_size for path in made.glob("*.tbl"))
        try:
            made.rename(folder)
        except OSError:  # another demo has made them meanwhile
            if not folder.is_dir():
                raise
        screen.line(f"      {size / 1e6:,.0f} MB of text in {time.monotonic() - started:.1f} s, kept in {short(folder)}")
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def load(screen: Screen, server: Server, folder: pathlib.Path) -> None:
    """Loads all of them. On a terminal `eris import` shows its own progress."""
    for table in TABLES:
        done = server.eris("import", table, str(folder / f"{table}.tbl"), "--schema", f"tpch:{table}", progress=sys.stderr if screen.moves else None)
        screen.line(f"      {table:<9} {int(done['rows']):>11,} rows  {done['seconds']:6.2f} s  {done['rows_per_second'] / 1e6:5.2f} M rows/s")
