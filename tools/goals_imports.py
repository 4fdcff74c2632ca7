"""The goals of imports under the balancer: whatever the order and the speed of a file, the AEUs share its rows evenly
after a while, and no rows move back and forth. Part of tools/goals.py."""
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import tempfile
import time

from goals_import_speed import IMPORT_SPEED
from goals_run import Part, Step, at_most
from goals_server import server

ALL_AEUS = (2, 3, 8)
# Scale factor, AEUs, order, speed.
Import = collections.namedtuple("Import", "scale aeus order speed")
IMPORTS_MEASURED = (
    *(Import(scale, aeus, order, "full") for scale in (0.1, 0.5) for aeus in ALL_AEUS for order in ("ordered", "shuffled")),
    *(Import(0.1, aeus, order, "a tenth") for aeus in ALL_AEUS for order in ("ordered", "shuffled")),
    *(Import(0.5, 2, order, "a tenth") for order in ("ordered", "shuffled")))
IMPORTS_TINY = (Import(0.001, 2, "ordered", "full"), Import(0.001, 3, "shuffled", "a tenth"))

SETTLED_SECONDS = 16  # slightly more than the balancer's rest before it evens out rows
SETTLED_SECONDS_MAX = 90


class Server:
    """A server with this many AEUs, and its clients' calls."""

    def __init__(self, run, aeus):
        self.run, self.eris, self.aeus = run, f"{run.build}/clients/cli/eris", aeus

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        _, self.env = self._stack.enter_context(server(self.run, "--aeus", self.aeus))
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def ask(self, *words):
        return self.run.program([self.eris, *words], self.env)

    def json(self, *words):
        return json.loads(self.ask(*words, "--output", "json"))

    def import_file(self, *words, speed="full"):
        """`a tenth`: the client runs for a hundredth of each tenth of a second."""
        client = subprocess.Popen([self.eris, "import", *map(str, words)], env={**os.environ, **self.env}, stdout=subprocess.DEVNULL)
        while speed != "full" and client.poll() is None:
            client.send_signal(signal.SIGSTOP)
            time.sleep(0.09)
            client.send_signal(signal.SIGCONT)
            time.sleep(0.01)
        if code := client.wait():
            raise OSError(f"eris import {' '.join(map(str, words))} ended with {code}")

    def rows(self):
        return [int(aeu["rows"]) for aeu in self.json("stats")["aeus"]]

    def max_over_mean(self):
        rows = self.rows()
        return max(rows) / statistics.mean(rows)

    def rows_moved(self):
        return int(self.json("balancer", "status")["rows_moved"])

    def settle(self):
        """Waits until nothing has moved for a while."""
        quiet = 0.5 if self.run.tiny else SETTLED_SECONDS
        began = since = time.monotonic()
        moved = self.rows_moved()
        while time.monotonic() - since < quiet and time.monotonic() - began < SETTLED_SECONDS_MAX:
            time.sleep(0.25)
            if (now := self.rows_moved()) != moved:
                moved, since = now, time.monotonic()
        return moved


def files(run, folder, scale):
    """lineitem in the order of its key, and shuffled."""
    ordered, shuffled = (pathlib.Path(folder, f"{scale}.{name}.tbl") for name in ("ordered", "shuffled"))
    if not ordered.exists():
        run.program([f"{run.build}/clients/cli/eris", "generate", "lineitem", ordered, "--scale", scale])
        lines = ordered.read_text(encoding="utf-8").splitlines(keepends=True)
        random.Random(1).shuffle(lines)
        shuffled.write_text("".join(lines), encoding="utf-8")
    return {"ordered": ordered, "shuffled": shuffled}


def lineitem(run):
    worst, moved_most, words = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for one in IMPORTS_TINY if run.tiny else IMPORTS_MEASURED:
            path = files(run, folder, one.scale)[one.order]
            with Server(run, one.aeus) as it:
                it.import_file("lineitem", path, "--schema", "tpch:lineitem", speed=one.speed)
                moved = it.settle()
                rows, uneven = sum(it.rows()), it.max_over_mean()
                with open(path, "rb") as file:
                    lines = sum(1 for _ in file)
                if rows != lines:
                    raise ValueError(f"{rows} rows of {path.name}, which has {lines}")
            worst, moved_most = max(worst, uneven), max(moved_most, moved / rows)
            words.append(f"SF {one.scale:g} {one.aeus} AEUs {one.order} {one.speed}: {uneven:.3f}, {moved / rows:.3f} moved")
    run.goal("imports.lineitem_max_over_mean", worst, f"the worst of {len(words)}, when settled; " + "; ".join(words))
    run.goal("imports.lineitem_rows_moved", moved_most, "of the rows, the most of any of these imports")


def ascending(run):
    keys = 20_000 if run.tiny else 6_000_000
    worst, moved_most, words = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "ascending.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{key},{key}\n" for key in range(keys))
        for aeus in ALL_AEUS[:1] if run.tiny else ALL_AEUS:
            with Server(run, aeus) as it:
                it.import_file("keys", path, "--kind", "index")
                moved, uneven = it.settle(), it.max_over_mean()
            worst, moved_most = max(worst, uneven), max(moved_most, moved / keys)
            words.append(f"{aeus} AEUs: {uneven:.3f}, {moved / keys:.3f} moved")
    run.goal("imports.ascending_index_max_over_mean", worst, f"{keys / 1e6:g} M keys; " + "; ".join(words))
    run.goal("imports.ascending_index_rows_moved", moved_most, "of the rows")


def scans(run):
    """A table that is divided 98 : 2, and 30 seconds of scans of it."""
    scale, seconds = (0.001, 0.5) if run.tiny else (0.5, 30)
    with tempfile.TemporaryDirectory() as folder, Server(run, 2) as it:
        path = files(run, folder, scale)["ordered"]
        it.ask("balancer", "set", "--enabled", "false")
        last = 4 * 1_500_000 * scale  # of 32 numbers eight are keys
        it.ask("create", "lineitem", "--schema", "tpch:lineitem", "--split", f"{last * 0.98:.0f}")
        it.import_file("lineitem", path)
        before = it.max_over_mean()
        it.ask("balancer", "set", "--enabled", "true")
        end, passes = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            it.ask("scan", "lineitem", "--agg", "sum(l_quantity)", "--group-by", "l_returnflag")
            passes += 1
        after = it.max_over_mean()
    run.goal("imports.scanned_98_2_max_over_mean", after, f"{before:.2f} before, {passes} scans in {seconds:g} s")


IMPORTS = Part(9, (
    Step(lineitem, {"imports.lineitem_max_over_mean": at_most(1.2), "imports.lineitem_rows_moved": at_most(0.05)}),
    Step(ascending, {"imports.ascending_index_max_over_mean": at_most(1.2), "imports.ascending_index_rows_moved": at_most(0.05)}),
    Step(scans, {"imports.scanned_98_2_max_over_mean": at_most(1.2)}),
    IMPORT_SPEED,
))
