"""A server with more to do than it can, and with clients that do not read: it refuses, says why and when to come again, answers
right what it has accepted, and leaves something for everybody.
"""
import subprocess

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED = range(5)
KEYS = ["--keys", "400000"]
# A queue that is soon too long: batches of 16,384 keys, of which a machine does some hundreds in a second.
BATCHES = ["--unary", "--batch", "16384", "--connections", "2", "--in-flight", "128", "--seconds", "2", "--verify"]
SCANS = 40  # the pool has room for 32
ROWS = 2_000_000


def test_open_loop_beyond_what_the_server_can_do(programs):
    with harness.Server(programs, "--aeus", "2", "--queue-ms-max", "1") as server:
        server.bench("load", *KEYS)
        run = server.eris_json("bench", "lookup", *KEYS, *BATCHES, "--rate", "20000", "--tolerate-refusals")
        harness.check(run["refused"] > 0, "nothing was refused")
        harness.check(run["answered"] > 0, "nothing was accepted")
        harness.check_equal((run["wrong"], run["failed"]), (0, 0), "wrong answers and other failures")
        harness.check(run["refusal_p99_us"] > 0, "the refusals' time")
        # Without the flag the first refusal ends the run, and says what helps.
        done = server.eris("bench", "lookup", *KEYS, *BATCHES, "--rate", "20000", code=REFUSED)
        harness.check("server.queue_ms_max" in done.stdout + done.stderr, done.stdout + done.stderr)
        server.bench("lookup", *KEYS, "--requests", "100")
        server.check_nothing_lost()


def test_closed_loop_comes_again_when_the_server_asks(programs):
    with harness.Server(programs, "--aeus", "2", "--queue-ms-max", "1") as server:
        server.bench("load", *KEYS)
        run = server.eris_json("bench", "lookup", *KEYS, *BATCHES, "--tolerate-refusals")
        harness.check(run["retried"] > 0, "no request was sent again")
        harness.check(run["answered"] > 0, "nothing was accepted")
        harness.check_equal((run["wrong"], run["failed"]), (0, 0), "wrong answers and other failures")


def test_scans_that_nobody_reads_leave_room_for_others(programs):
    # On a slow machine some of them are unread for longer than a client is given.
    with harness.Server(programs, "--aeus", "2", "--stall-ms-max", "0") as server:
        server.bench("load", "--keys", str(ROWS))
        command = [server.programs.eris, "scan", "bench", "--format", "csv"]
        unread = [subprocess.Popen(command, env=server.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(SCANS)]
        try:
            for scan in unread:  # each has begun
                harness.check(scan.stdout.readline() != "", "an unread scan has brought nothing")
            # More than once: it comes again by itself if it is refused, while the others still hold all.
            for _ in range(3):
                lines = server.eris("scan", "bench", "--limit", "10", "--format", "csv").stdout.splitlines()
                harness.check(len(lines) in (10, 11), f"{len(lines)} lines of ten rows")
            # The unread ones go on from their place: all rows, each once, in order.
            for scan in unread[:3]:
                keys = [int(line.split(",")[0]) for line in scan.stdout if line[0].isdigit()]
                harness.check_equal(scan.wait(timeout=60), OK, scan.stderr.read())
                harness.check(keys == sorted(set(keys)), "keys twice, or out of order")
                # The first line has been read before: the titles, or a row.
                harness.check(len(keys) in (ROWS, ROWS - 1), f"{len(keys)} of {ROWS} rows")
        finally:
            for scan in unread:
                scan.kill()
                scan.communicate()


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
