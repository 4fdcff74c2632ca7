"""Attacks a server of its own with raw sockets, and says for each attack whether it stood: alive, an honest neighbour
answered, file descriptors back, memory within its bound. Ends with 1 if one has not.

  run.py --build build/release [name ...]     all attacks, or those named: 30 s each, each on a server of its own
  run.py --build build/dev --short            half a second each, on one server: for the tests

The neighbour is `eris bench lookup`, one key at a time over one connection. Its times are shown, not judged.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import attacks  # noqa: E402
import harness  # noqa: E402

NOFILE = 1024
PROCESS_BYTES = 2 << 30
KEYS = 200_000
ESTABLISHED = "01"  # the state of a connection in /proc/net/tcp
CALL_MS_MAX = 5000


class Target(harness.Server):
    """The server, and what an attack may ask."""
    nofile = NOFILE

    def __init__(self, programs, seconds):
        super().__init__(programs, "--process-memory", str(PROCESS_BYTES), "--aeus", "2", "--call-ms-max",
                         str(CALL_MS_MAX if seconds >= 10 else 1000))
        self.seconds = seconds
        self.seed = int(time.time())
        with open(os.path.join(programs.build, "CMakeCache.txt")) as file:
            self.sanitized = re.search(r"^ERIS_SANITIZE:\w+=.", file.read(), re.M) is not None

    def __enter__(self):
        super().__enter__()
        self.bench("load", "--object", "v", "--keys", str(KEYS))
        self.bench("load", "--object", "big", "--keys", "1000000")
        self.alone = Neighbour(self, 1 if self.seconds < 10 else 5).result()
        return self

    def popen_args(self):
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (NOFILE, NOFILE))}

    def status(self, name):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(line.split()[1] for line in file if line.startswith(name + ":"))

    def rss_mib(self):
        return int(self.status("VmRSS")) / 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def scan(self):
        done = subprocess.run([self.programs.eris, "count", "v", "--timeout", "10"], env=self.env, capture_output=True,
                              text=True, timeout=60)
        return done.stdout.strip() or done.stderr.strip()

    def answers(self):
        done = subprocess.run([self.programs.eris, "list", "--timeout", "2"], env=self.env,
                              capture_output=True, text=True, timeout=60)
        return done.returncode == 0


class Neighbour:
    """Looks one key up after the other, until told to stop."""

    def __init__(self, server, seconds):
        self.process = subprocess.Popen(
            [server.programs.eris, "bench", "lookup", "--object", "v", "--keys", str(KEYS), "--batch", "1",
             "--connections", "1", "--in-flight", "1", "--seconds", str(seconds), "--output", "json"],
            env=server.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def connected(self):
        """Whether it has a connection, or has ended."""
        if self.process.poll() is not None:
            return True
        folder = f"/proc/{self.process.pid}/fd"
        try:
            sockets = {os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}
        except OSError:  # one was closed meanwhile, or it is gone
            return False
        for name in ("tcp", "tcp6"):
            with open(f"/proc/net/{name}") as file:
                lines = [line.split() for line in file][1:]
            if any(line[3] == ESTABLISHED and f"socket:[{line[9]}]" in sockets for line in lines):
                return True
        return False

    def result(self):
        out, error = self.process.communicate(timeout=180)
        try:
            return json.loads(out)
        except json.JSONDecodeError:
            return {"answered": 0, "failed": 1, "p99_us": 0, "max_us": 0, "first_error": error[-300:]}


class Peak(threading.Thread):
    """The most memory and descriptors that the server has had."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.over = server, threading.Event()
        self.rss_mib = self.descriptors = 0
        self.start()

    def run(self):
        while not self.over.wait(0.05):
            try:
                self.rss_mib = max(self.rss_mib, self.server.rss_mib())
                self.descriptors = max(self.descriptors, self.server.descriptors())
            except (OSError, StopIteration):
                return  # it is gone

    def end(self):
        self.over.set()
        self.join()
        return self


def seconds_until(condition, most):
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > most:
            return None
        time.sleep(0.05)
    return time.monotonic() - begin


def attack(server, one):
    """Attacks a server that has been started; prints the figures. Returns what was wrong, if it has not stood."""
    time.sleep(0.1)
    rss, descriptors, lines = server.rss_mib(), server.descriptors(), len(server.log().splitlines())
    neighbour, peak = Neighbour(server, max(1, round(server.seconds + 0.5))), Peak(server)
    # It is there before the attack, in which it may find that its address has no connection left.
    seconds_until(neighbour.connected, 30)
    time.sleep(min(0.5, server.seconds / 2))
    try:
        did = one(server)
    except OSError as error:
        did = f"ended by {error!r}"
    accepting = seconds_until(server.answers, 30)
    beside = neighbour.result()
    back = seconds_until(lambda: server.descriptors() <= descriptors + 2, 30)
    peak.end()
    time.sleep(5 if server.seconds >= 10 else 0)
    alive = server.process.poll() is None
    wrong = []
    if not alive:
        wrong.append(f"the server has ended with {server.process.returncode}")
    if accepting is None:
        wrong.append("no new connection is answered within 30 s")
    if back is None:
        wrong.append(f"descriptors do not come back: {descriptors} before, {peak.descriptors} at most")
    if beside["answered"] == 0 or beside["failed"] > 0:
        wrong.append(f"the neighbour: {beside['answered']} answered, {beside['failed']} failed, {beside['first_error']}")
    # A sanitizer keeps what is freed, and has its shadow.
    if peak.rss_mib > PROCESS_BYTES / attacks.MIB and not server.sanitized:
        wrong.append(f"{peak.rss_mib:.0f} MiB of memory, more than {PROCESS_BYTES / attacks.MIB:.0f}")
    if did.startswith("ended by"):
        wrong.append(did)
    print(f"{'FELL ' if wrong else 'STOOD'} {one.__name__}: {did}\n"
          f"      neighbour p99 {beside['p99_us']:.0f} us (alone {server.alone['p99_us']:.0f}), longest "
          f"{beside['max_us'] / 1000:.1f} ms (alone {server.alone['max_us'] / 1000:.1f}); memory {rss:.0f} MiB, at most "
          f"{peak.rss_mib:.0f}, then {server.rss_mib() if alive else 0:.0f}; descriptors {descriptors}, at most "
          f"{peak.descriptors}; accepting after {-1 if accepting is None else accepting:.1f} s", flush=True)
    for text in server.log().splitlines()[lines:][:3] + wrong:
        print(f"      {text}", flush=True)
    return wrong


def attack_each(programs, chosen, seconds, servers):
    """Returns those that have not been withstood, and why. `servers`: one for each attack, otherwise one for all."""
    fell = []
    for some in [[one] for one in chosen] if servers else [chosen]:
        with Target(programs, seconds) as server:
            for one in some:
                if wrong := attack(server, one):
                    fell.append(f"{one.__name__} ({'; '.join(wrong)})")
                    server.kill()
                    print(server.log()[-3000:], flush=True)
                    break
    return fell


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    known = {one.__name__: one for one in attacks.ALL}
    for name in args.names:
        if name not in known:
            parser.error(f"no attack {name}; there are {', '.join(known)}")
    attacks.raise_descriptors()
    programs = harness.Programs(args.build)
    seconds = args.seconds or (0.5 if args.short else 30)
    chosen = [one for name, one in known.items() if not args.names or name in args.names]
    fell = attack_each(programs, chosen, seconds, servers=not args.short)
    sys.exit(f"FAIL: not withstood: {', '.join(fell)}" if fell else 0)


if __name__ == "__main__":
    main()
