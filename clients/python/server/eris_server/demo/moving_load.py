"""A load that is hot on one half of the keys, and then on the other half. The balancer moves ranges of keys to AEUs that have less to do.

`eris bench` makes the load, and checks the value of every answer. The bars show each AEU's part of the keys that were asked for since the last ones.
"""
import time
from collections.abc import Sequence
from typing import Any

import grpc

from eris.v1 import admin_pb2, balancer_pb2

from eris_server.demo.programs import Server
from eris_server.demo.refusal import Refusal
from eris_server.demo.screen import Screen

KEYS = 4_000_000  # at scale factor 1 and above
KEYS_MIN = 200_000
PERIOD_SECONDS = 0.5  # between two drawings
AEUS_SHOWN = 12
BATCH = 4096
OBJECT = "keys"


class Counters:
    """The server's counters, by the calls of its service Admin."""

    def __init__(self, server: Server) -> None:
        self._channel = grpc.insecure_channel(server.address, [("grpc.enable_http_proxy", 0)])
        self._stats = self._channel.unary_unary("/eris.v1.Admin/GetStats", admin_pb2.GetStatsRequest.SerializeToString,
                                                admin_pb2.GetStatsResponse.FromString)
        self._transfers = self._channel.unary_unary("/eris.v1.Admin/ListTransfers", balancer_pb2.ListTransfersRequest.SerializeToString,
                                                    balancer_pb2.ListTransfersResponse.FromString)

    def stats(self) -> admin_pb2.GetStatsResponse:
        return self._stats(admin_pb2.GetStatsRequest(), timeout=30)

    def transfers(self) -> Sequence[balancer_pb2.Transfer]:
        return self._transfers(balancer_pb2.ListTransfersRequest(), timeout=30).transfers

    def close(self) -> None:
        self._channel.close()


def parts(before: Sequence[int], now: Sequence[int]) -> list[float]:
    """Each AEU's part of the keys in between; all 0 if there were none."""
    done = [after - its for its, after in zip(before, now, strict=True)]
    return [each / max(sum(done), 1) for each in done]


class Bars:
    """Draws the AEUs' parts, and remembers them."""

    def __init__(self, screen: Screen, counters: Counters, half_seconds: float) -> None:
        self._screen, self._counters = screen, counters
        self._half = half_seconds + PERIOD_SECONDS / 2  # what is drawn a little later is about the lower half
        self._before = self._count()
        self._last = self._began = time.monotonic()
        self.seen: list[tuple[float, list[float]]] = []  # seconds since the load began, parts

    def _count(self) -> list[int]:
        return [aeu.keys for aeu in self._counters.stats().aeus]

    def step(self) -> None:
        """Called every PERIOD_SECONDS. The load has begun by the first call that sees keys, and after the call before it."""
        before, last = self._before, self._last
        self._before, self._last = self._count(), time.monotonic()
        keys = sum(self._before) - sum(before)
        if keys == 0:
            return
        if not self.seen:
            self._began = last
        self.seen.append((self._last - self._began, parts(before, self._before)))
        self._show(keys / (self._last - last))

    def _show(self, rate: float) -> None:
        seconds, its = self.seen[-1]
        half = "lower" if seconds <= self._half else "upper"
        head = f"{seconds:5.1f} s  {half} half  {rate / 1e6:6.1f} M keys/s"
        if self._screen.moves:
            self._screen.draw([f"      {head}", *(f"      AEU {aeu:<3} {self._screen.bar(part)} {100 * part:5.1f} %"
                                                  for aeu, part in enumerate(its[:AEUS_SHOWN])), *others(its)])
        else:
            shown = "  ".join(f"AEU {aeu} {self._screen.bar(part, 10)} {100 * part:5.1f} %" for aeu, part in enumerate(its[:AEUS_SHOWN]))
            self._screen.line("  ".join([f"      {head}  {shown}", *others(its)]))

    def busiest(self, upper: bool) -> tuple[float, float]:
        """The part of the busiest AEU while a half was asked for: the most, and what it was in the end."""
        most = [max(its) for seconds, its in self.seen if (seconds > self._half) == upper]
        return (max(most), most[-1]) if most else (0.0, 0.0)


def others(its: Sequence[float]) -> list[str]:
    """A text about the AEUs that have no bar of their own, if there are any."""
    left = its[AEUS_SHOWN:]
    return [f"      {len(left)} more AEUs, {100 * min(left):.1f} to {100 * max(left):.1f} %"] if left else []


def run(screen: Screen, server: Server, scale: float, half_seconds: float) -> None:
    """Errors: Refusal (a wrong answer, or a load that fails)."""
    keys = max(KEYS_MIN, int(KEYS * min(scale, 1.0)))
    loaded = server.eris("bench", "load", "--object", OBJECT, "--keys", str(keys), "--batch", "16384", "--verify")
    screen.line(f"      an index of {keys:,} keys, loaded in {loaded['seconds']:.1f} s: one half is asked for at random, then the other")
    counters = Counters(server)
    try:
        bars = Bars(screen, counters, half_seconds)
        done = server.eris("bench", "lookup", "--object", OBJECT, "--keys", str(keys), "--verify", "--batch", str(BATCH), "--connections", "2",
                           "--distribution", "shifting", "--hot-part", "0.5", "--hot-percent", "100", "--shift-seconds", f"{half_seconds:g}",
                           "--seconds", f"{2 * half_seconds:g}", meanwhile=bars.step, step=PERIOD_SECONDS)
        screen.keep()
        summary(screen, done, bars, [each for each in counters.transfers() if each.object == OBJECT])
    finally:
        counters.close()
    if done["wrong"] or done["failed"]:
        raise Refusal(f"{done['wrong']:,} answers of the load were wrong, {done['failed']:,} requests failed: {done['first_error']}")


def summary(screen: Screen, done: dict[str, Any], bars: Bars, transfers: Sequence[balancer_pb2.Transfer]) -> None:
    for upper, name in ((False, "lower"), (True, "upper")):
        most, last = bars.busiest(upper)
        screen.line(f"      {name} half: the busiest AEU had {100 * most:.0f} % of the keys, and {100 * last:.0f} % in the end")
    rows, pause = sum(each.rows for each in transfers), max((each.longest_pause_us for each in transfers), default=0)
    screen.line(f"      {len(transfers)} ranges with {rows:,} keys changed hands; no turn of an AEU spent more than {pause} us on it")
    screen.line(f"      {done['keys']:,} answers checked, {done['wrong']:,} wrong; {done['failed']:,} requests failed")
    screen.line(f"      {done['keys_per_second'] / 1e6:.1f} M keys/s in batches of {BATCH}; half of them took {done['p50_us'] / 1e3:.1f} ms or less, "
                f"99 % took {done['p99_us'] / 1e3:.1f} ms or less")
