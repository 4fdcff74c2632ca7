"""Ranges that change hands in a real server: moved, split ahead, balanced, paused, interrupted.

The balancer's own cycles are off, but where they are the test: what moves is what was asked for.
"""
import json
import random
import signal
import subprocess

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED, _, UNVERIFIED = range(7)
AEUS = 4
ROWS = 100_000
LARGEST = 2**64 - 1


def server_of(programs, *args):
    return harness.Server(programs, "--aeus", str(AEUS), "--balancer-enabled", "false", *args)


def sparse_rows():
    """Clusters, gaps and both ends of the key space."""
    generator = random.Random(7)
    keys = {0, 1, LARGEST - 1, LARGEST}
    while len(keys) < ROWS:
        start = generator.randrange(400_000) * 1000
        keys.update(range(start, start + generator.randrange(1, 900)))
    keys = sorted(keys)[:ROWS - 2] + [LARGEST - 1, LARGEST]
    return [(key, key * 7 % 2**64) for key in keys]


def load(server, name, rows, *create):
    server.eris("create", name, *create)
    server.eris("put", name, "-", input="".join(f"{key} {value}\n" for key, value in rows))


def check_rows(server, name, rows):
    got = server.eris("scan", name).stdout.split()[2:]
    expected = [str(field) for row in rows for field in row]
    harness.check(got == expected, f"rows of {name}: {len(got) // 2}, expected {len(rows)}")
    some = rows[:: max(1, len(rows) // 500)]
    found = server.eris_json("get", name, "-", input="".join(f"{key}\n" for key, _ in some))
    harness.check_equal(found, [{"key": str(key), "value": str(value)} for key, value in some], "get")


def owners(server, name):
    return [(part.get("lo"), part["aeu"]) for part in server.eris_json("list", name)[0]["partitions"]]


def owner_of(server, name, key):
    return [aeu for lo, aeu in owners(server, name) if int(lo) <= key][-1]


def newest(server, *args):
    return server.eris_json("balancer", "history", *args)[0]


def status(server):
    return server.eris_json("balancer", "status")


def test_moved_ranges_are_where_they_should_be_and_nothing_is_lost(programs):
    rows = sparse_rows()
    with server_of(programs) as server:
        load(server, "o", rows, "--expect", "0:400000000")
        before = status(server)
        harness.check_equal(set(before["transfers"].values()), {"0"}, "transfers of a server in which nothing moved")
        harness.check_equal((before["running"], before["stalls"], before["paused"]), ([], "0", False),
                            "status of a server in which nothing moved")
        harness.check_equal(server.eris_json("balancer", "history"), [], "history")
        lo, hi = 50_000_000, 150_000_000
        inside = sum(lo <= key < hi for key, _ in rows)
        last = 0
        for kind, to in (("copy", 3), ("link", 0), ("copy", 2), (None, 1)):
            args = [] if kind is None else ["--kind", kind]
            moved = server.eris_json("balancer", "move", "o", "--from", str(lo), "--to", str(hi),
                                     "--aeu", str(to), *args)
            shown = moved.pop("transfers")
            harness.check_equal(moved, {"object": "o", "range": {"lo": str(lo), "hi": str(hi)},
                                        "aeu": to}, "move")
            harness.check_equal(shown, [one for one in server.eris_json("balancer", "history") if int(one["id"]) > last],
                                "the transfers that it took")
            harness.check_equal([owner_of(server, "o", key) for key in (lo, hi - 1)], [to, to], "owner")
            check_rows(server, "o", rows)
            record = newest(server)
            harness.check_equal((record["object"], record["to_aeu"], record["outcome"],
                                 record["reason"]), ("o", to, "done", ""), "history")
            harness.check(int(record["id"]) > last, "ids ascend")
            last = int(record["id"])
            if kind:
                harness.check_equal(record["kind"], kind, "kind")
            if kind == "copy":
                harness.check(int(record["rows"]) > 0 and int(record["bytes"]) > 0 and
                              int(record["chunks"]) > 0, f"figures of a copy: {record}")
        # The piece that the target owns already does not move.
        history = server.eris_json("balancer", "history")
        harness.check_equal([int(one["id"]) for one in history],
                            sorted((int(one["id"]) for one in history), reverse=True), "newest first")
        harness.check_equal(sum(int(one["rows"]) for one in history if one["to_aeu"] == 0), inside,
                            "rows of the link")
        after = status(server)
        done = {kind: int(count) for kind, count in after["transfers"].items()}
        harness.check_equal(done, {kind: sum(one["kind"] == kind for one in history) for kind in done},
                            "transfers done")
        harness.check_equal(sum(done.values()), len(history), "transfers done")
        harness.check(done["copy"] >= 2 and done["link"] >= 1, f"kinds: {done}")
        said = server.eris("balancer", "status").stdout
        harness.check(f"{done['link']} links, {done['copy']} copies, " in said, f"status as text: {said}")
        harness.check_equal(len(server.eris_json("balancer", "history", "--limit", "2")), 2, "limit")
        harness.check_equal(server.eris_json("balancer", "history", "nosuch"), [], "another's history")

        # Everything, over the end of the key space.
        server.eris("balancer", "move", "o", "--aeu", "2")
        harness.check_equal({aeu for _, aeu in owners(server, "o")}, {2}, "owner of everything")
        check_rows(server, "o", rows)
        server.eris("balancer", "move", "o", "--from", str(LARGEST), "--aeu", "0")
        harness.check_equal(owner_of(server, "o", LARGEST), 0, "owner of the last key")
        check_rows(server, "o", rows)
        server.eris("erase", "o", "0", str(LARGEST))
        server.eris("put", "o", "5=6")
        server.eris("get", "o", str(LARGEST), code=NOT_FOUND)
        text = server.eris("balancer", "history").stdout
        harness.check("LONGEST PAUSE" in text and " link " in text and " copy " in text, text)
        server.wait_until_quiet()


def test_presplit_gives_each_piece_to_another(programs):
    rows = sparse_rows()
    with server_of(programs) as server:
        load(server, "o", rows, "--split", "100,200,300")  # nearly all on the last AEU
        server.eris("balancer", "presplit", "o", "--from", "1000000", "--to", "5000000", "--parts", "4")
        inside = [owner_of(server, "o", key) for key in (1_000_000, 2_000_000, 3_000_000, 4_999_999)]
        harness.check_equal(sorted(inside), [0, 1, 2, 3], "an AEU for each quarter")
        check_rows(server, "o", rows)
        split = server.eris_json("balancer", "presplit", "o", "--from", "6000000", "--to", "7000000",
                                 "--parts", "1")
        harness.check_equal(split["parts"], 1, "one part")
        check_rows(server, "o", rows)


def largest_share(server):
    held = [int(aeu["rows"]) for aeu in server.stats()["aeus"]]
    return max(held) / sum(held)


def test_plan_moves_nothing_and_rebalance_does(programs):
    rows = sparse_rows()[:-2]  # nothing at the far end
    with server_of(programs) as server:
        load(server, "o", rows, "--split", "100,200,300")
        server.eris("balancer", "set", "--algorithm", "size")
        before = owners(server, "o")
        plan = server.eris_json("balancer", "plan", "o")
        harness.check_equal(plan["algorithm"], "size", "algorithm")
        harness.check_equal(sum(int(share["rows_before"]) for share in plan["shares"]), len(rows), "rows")
        harness.check(plan["transfers"], f"nothing would move: {plan['reason']}")
        harness.check(plan["imbalance_after"] < plan["imbalance_before"], str(plan))
        harness.check({one["kind"] for one in plan["transfers"]} <= {"link", "copy"}, str(plan))
        text = server.eris("balancer", "plan", "o").stdout
        harness.check("LOAD BEFORE" in text and "PREDICTED" in text and "to copy" in text, text)
        harness.check_equal(owners(server, "o"), before, "owners after a plan")
        harness.check_equal(server.eris_json("balancer", "history"), [], "history after a plan")
        # Where rows lie inside a range is estimated: some cycles, each from what the last has shown.
        for cycle in range(10):
            done = server.eris_json("balancer", "rebalance", "o")
            harness.check_equal(done["object"], "o", "object")
            check_rows(server, "o", rows)
            if largest_share(server) < 0.4:
                break
        harness.check(largest_share(server) < 0.4, f"of all rows one AEU has {largest_share(server)}")
        harness.check(server.eris_json("balancer", "history"), "nothing has moved")
        server.eris("balancer", "plan", "nosuch", code=NOT_FOUND)
        server.eris("balancer", "rebalance", "nosuch", code=NOT_FOUND)


def test_cycles_of_its_own_balance_sizes(programs):
    rows = sparse_rows()[:-2]
    with harness.Server(programs, "--aeus", str(AEUS), "--balancer-algorithm", "size",
                        "--balancer-period-ms", "50", "--balancer-threshold", "0.3") as server:
        load(server, "o", rows, "--split", "100,200,300")
        harness.wait_until(lambda: largest_share(server) < 0.5, "rows to be spread")
        harness.check(int(status(server)["cycles"]) > 0, "no cycle was counted")
        check_rows(server, "o", rows)
        server.eris("balancer", "set", "--enabled", "false")
        harness.check_equal(status(server)["options"]["enabled"], False, "enabled")


def test_pause_lets_nothing_move_until_it_is_resumed(programs):
    with server_of(programs) as server:
        load(server, "o", [(key, key) for key in range(0, 1000, 10)], "--expect", "0:1000")
        harness.check_equal(server.eris_json("balancer", "pause"), {"paused": True}, "pause")
        harness.check_equal(server.eris("balancer", "pause").stdout, "paused\n", "twice")
        harness.check_equal(status(server)["paused"], True, "paused")
        before = owners(server, "o")
        for refused in (["move", "o", "--aeu", "1"], ["rebalance", "o"],
                        ["presplit", "o", "--from", "1", "--to", "500", "--parts", "2"]):
            harness.check("paused" in server.eris("balancer", *refused, code=REFUSED).stderr, "message")
        harness.check_equal(owners(server, "o"), before, "owners")
        server.eris("balancer", "plan", "o")
        harness.check_equal(server.eris_json("balancer", "resume"), {"paused": False}, "resume")
        server.eris("balancer", "move", "o", "--aeu", "1")
        harness.check_equal({aeu for _, aeu in owners(server, "o")}, {1}, "owner")


def test_slow_copies_can_be_interrupted(programs):
    """A budget makes them slow. What has moved stays, nothing is lost, and a pause is not left."""
    rows = sparse_rows()
    with server_of(programs) as server:
        load(server, "o", rows, "--split", "100,200,300")
        server.eris("balancer", "set", "--max-bytes-per-s", "64KiB", "--max-pause-us", "50")
        command = [programs.eris, "balancer", "move", "o", "--from", "1000", "--to", "400000000",
                   "--aeu", "0", "--kind", "copy", "--timeout", "600"]

        def begin():
            process = subprocess.Popen(command, env=server.env, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            harness.wait_until(lambda: status(server)["running"], "the move to begin")
            return process

        move = begin()
        running, = status(server)["running"]
        harness.check_equal((running["object"], running["kind"], running["outcome"]),
                            ("o", "copy", "running"), "running")
        harness.check("moving now" in server.eris("balancer", "status").stdout, "status as text")
        check_rows(server, "o", rows)
        move.send_signal(signal.SIGINT)
        move.communicate(timeout=60)
        harness.wait_until(lambda: not status(server)["running"], "the move to stop")
        record = newest(server)
        harness.check_equal(record["outcome"], "stopped", "outcome")
        harness.check("the caller gave up" in record["reason"], f"reason {record['reason']!r}")
        harness.check(int(record["rows"]) < ROWS, "everything has moved")
        harness.check_equal(status(server)["paused"], False, "pause of the interrupted move")
        check_rows(server, "o", rows)

        move = begin()
        server.eris("balancer", "pause")
        _, said = move.communicate(timeout=60)
        harness.check_equal(move.returncode, REFUSED, "exit code of a move that is paused")
        harness.check_equal(newest(server)["reason"], "the balancer is paused", "reason of a pause")
        harness.check("paused" in said, said)
        check_rows(server, "o", rows)
        server.eris("balancer", "resume")

        server.refused("balancer", "move", "o", "--from", "1000", "--aeu", "0", "--kind", "copy", "--timeout", "0.5",
                       said="not done within --timeout 0.5: what has moved by then stays, `eris balancer history o`",
                       code=UNAVAILABLE)
        harness.wait_until(lambda: not status(server)["running"], "the move to end")
        reason = newest(server)["reason"]
        harness.check("the caller gave up" in reason, f"reason {reason!r} at a deadline")
        check_rows(server, "o", rows)

        move = begin()
        server.process.send_signal(signal.SIGTERM)
        move.communicate(timeout=60)
        harness.check_equal(move.returncode, UNAVAILABLE, "exit code of a move when the server stops")
        server.await_end()


def test_options_change_one_by_one(programs):
    with harness.Server(programs, "--aeus", "2", "--balancer-window", "3", "--balancer-threshold",
                        "0.5", "--balancer-max-bytes-per-s", "1MiB") as server:
        options = status(server)["options"]
        harness.check_equal((options["window"], options["threshold"], options["max_bytes_per_s"]),
                            (3, 0.5, str(2**20)), "flags")
        options["algorithm"] = "moving_average"
        harness.check_equal(server.eris_json("balancer", "set", "--algorithm", "moving_average"),
                            options, "algorithm alone")
        options.update(enabled=False, window=65536, threshold=0.01, period_ms=10,
                       max_pause_us=1_000_000, max_bytes_per_s="0")
        harness.check_equal(
            server.eris_json("balancer", "set", "--enabled", "false", "--window", "65536",
                             "--threshold", "0.01", "--period-ms", "10", "--max-pause-us", "1000000",
                             "--max-bytes-per-s", "0"), options, "the others")
        harness.check_equal(status(server)["options"], options, "in force")
        for arguments, said in (
                ([], "no option is given"),
                (["--window", "0"], "window is 0, must be between 1 and 65536"),
                (["--window", "65537"], "window is 65537"),
                (["--window", "-1"], "'-1'"),
                (["--threshold", "0"], "threshold is 0, must be between 0.01 and 100"),
                (["--threshold", "101"], "threshold is 101"),
                (["--threshold", "nan"], "threshold is nan"),
                (["--period-ms", "9"], "period_ms is 9, must be between 10 and 3600000"),
                (["--period-ms", "4294967296"], "4294967295"),
                (["--max-pause-us", "9"], "max_pause_us is 9, must be between 10 and 1000000"),
                (["--max-pause-us", "1000001"], "max_pause_us is 1000001"),
                (["--max-bytes-per-s", "fast"], "--max-bytes-per-s"),
                (["--algorithm", "fair"], "fair"),
                (["--enabled", "perhaps"], "perhaps"),
                (["--threshold", "0.2", "--window", "0"], "window is 0")):
            server.refused("balancer", "set", *arguments, said=said)
        harness.check_equal(status(server)["options"], options, "after refusals")
    refused = subprocess.run([programs.eris, "serve", "--balancer-period-ms", "1"],
                             capture_output=True, text=True, timeout=60)
    harness.check_equal(refused.returncode, INVALID, "exit code of serve")
    harness.check("balancer.period_ms is 1, must be between 10 and 3600000" in refused.stderr,
                  refused.stderr)


def test_wrong_moves_are_refused_and_change_nothing(programs):
    with server_of(programs) as server:
        load(server, "o", [(key, key) for key in range(0, 1000, 10)], "--expect", "0:1000")
        server.eris("create", "pairs", "--key-type", "uint64,date")
        server.eris("create", "heap", "--schema", "a:int64")
        before = owners(server, "o")
        for arguments, code, said in (
                (["move", "o", "--from", "1", "--to", "2", "--aeu", "4"], INVALID,
                 "--aeu is 4, must be from 0 to 3"),
                (["move", "o", "--from", "1", "--to", "2", "--aeu", "-1"], INVALID, "'-1'"),
                (["move", "o", "--from", "1", "--to", "2"], INVALID, "--aeu is required"),
                (["move", "o", "--from", "9", "--to", "5", "--aeu", "1"], INVALID, "inverted"),
                (["move", "o", "--from", "5", "--to", "5", "--aeu", "1"], INVALID, "empty"),
                (["move", "o", "--from", "x", "--aeu", "1"], INVALID, "--from: 'x' is no number"),
                (["move", "o", "--to", "1.5", "--aeu", "1"], INVALID, "--to: '1.5' is no number"),
                (["move", "o", "--aeu", "1", "--kind", "swap"], INVALID, "swap"),
                (["move", "pairs", "--from", "7/2024-01-01", "--aeu", "1"], INVALID, "is no number"),
                (["move", "nosuch", "--aeu", "1"], NOT_FOUND, "nosuch"),
                (["move", "heap", "--aeu", "1"], REFUSED, "heap"),
                (["presplit", "heap", "--parts", "2"], REFUSED, "heap"),
                (["presplit", "o", "--from", "1", "--to", "9", "--parts", "0"], INVALID,
                 "--parts is 0, must be from 1 to 4"),
                (["presplit", "o", "--from", "1", "--to", "9", "--parts", "5"], INVALID, "--parts is 5"),
                (["presplit", "o", "--from", "9", "--to", "1", "--parts", "2"], INVALID, "inverted"),
                (["presplit", "nosuch", "--parts", "2"], NOT_FOUND, "nosuch"),
                (["history", "--limit", "0"], INVALID, "limit"),
                (["frobnicate"], INVALID, ""),
                ([], INVALID, "")):
            server.refused("balancer", *arguments, said=said, code=code)
        harness.check_equal(owners(server, "o"), before, "owners")
        harness.check_equal(server.eris_json("balancer", "history"), [], "history")
    server.eris("balancer", "status", "--timeout", "0.2", code=UNAVAILABLE)


def on_two_numa_nodes(programs):
    return harness.Server(programs, "--topology", "numa:2 core:2 pu:1", "--balancer-enabled", "false")


def far_aeu(server):
    """An AEU of another NumaNode than the first AEU's."""
    nodes = [aeu["numa_node"] for aeu in server.stats()["aeus"]]
    return next(aeu for aeu in range(AEUS) if nodes[aeu] != nodes[0])


def test_links_stay_inside_a_numa_node(programs):
    rows = sparse_rows()
    with on_two_numa_nodes(programs) as server:
        load(server, "o", rows, "--expect", "0:400000000")
        far = far_aeu(server)
        server.refused("balancer", "move", "o", "--from", "10", "--to", "50000000", "--aeu", str(far), "--kind", "link",
                       said="NumaNode", code=REFUSED)
        server.eris("balancer", "move", "o", "--from", "10", "--to", "10000000", "--aeu", str(far))
        harness.check_equal(newest(server)["kind"], "copy", "kind between NumaNodes, of few rows")
        plan = server.eris_json("balancer", "plan", "o")
        harness.check("bytes_to_remap" in plan and "bytes_to_move" in plan, f"plan: {plan}")
        server.eris("balancer", "move", "o", "--from", "10", "--to", "350000000", "--aeu", str(far))
        harness.check("leap" in {one["kind"] for one in server.eris_json("balancer", "history")}, "kind of many rows")
        check_rows(server, "o", rows)


def test_memory_that_follows_is_within_the_rate(programs):
    rows = sparse_rows()
    with on_two_numa_nodes(programs) as server:
        load(server, "o", rows, "--expect", "0:400000000")
        far = far_aeu(server)
        server.eris("balancer", "set", "--max-bytes-per-s", "20KiB")
        move = ("balancer", "move", "o", "--to", "190000000", "--aeu", str(far), "--kind", "leap")
        server.refused(*move, "--until-home", "--timeout", "1", said="still being brought", code=UNAVAILABLE)
        record = newest(server)
        harness.check_equal((record["kind"], record["outcome"], record["home"]), ("leap", "done", "under_way"), "history")
        harness.check("under way" in server.eris("balancer", "history").stdout, "history as text")
        # A rate that is raised holds for an AEU that waits.
        server.eris("balancer", "set", "--max-bytes-per-s", "0")
        harness.wait_until(lambda: newest(server)["home"] == "home", "memory at home")
        record = newest(server)
        harness.check(int(record["home_us"]) >= 1_000_000, f"time until it was at home: {record}")
        harness.check(int(record["home_bytes"]) > 20 * 1024, f"bytes: {record}")
        check_rows(server, "o", rows)
        # Back again, and the command waits.
        moved = server.eris_json("balancer", "move", "o", "--to", "190000000", "--aeu", "0", "--kind", "leap", "--until-home")
        harness.check_equal({one["home"] for one in moved["transfers"]}, {"home"}, "the transfers that it took")
        check_rows(server, "o", rows)
        server.wait_until_quiet()


def test_a_leap_crosses_numa_nodes_and_its_memory_follows(programs):
    rows = sparse_rows()
    with on_two_numa_nodes(programs) as server:
        load(server, "o", rows, "--expect", "0:400000000")
        far = far_aeu(server)
        harness.check("LEAPS TO" not in server.eris("stats").stdout, "leaps of a server in which nothing leapt")
        used = server.stats()["aeus"][far]["memory_bytes"]
        server.eris("balancer", "move", "o", "--from", "10", "--to", "150000000", "--aeu", str(far), "--kind", "leap")
        record = newest(server)
        harness.check_equal((record["kind"], record["outcome"], record["bytes"]), ("leap", "done", "0"), "history")
        harness.check_equal([owner_of(server, "o", key) for key in (10, 149999999)], [far, far], "owner")
        check_rows(server, "o", rows)

        def at_home():
            aeu = server.stats()["aeus"][far]
            return aeu["homecomings"] == "0" and int(aeu["bytes_brought_home"]) > 4 * sum(10 <= key < 150000000 for key, _ in rows)
        harness.wait_until(at_home, "memory at home")
        aeu = server.stats()["aeus"][far]
        harness.check_equal(aeu["homecomings_refused"], "0", "refused")
        verified = server.eris("memory", "verify", "--rows", "--output", "json", code=UNVERIFIED).stdout
        remote = {(one["object"], one["aeu"]): one["remote_bytes"] for one in json.loads(verified)["rows"]}
        harness.check_equal(remote, {("o", aeu): "0" for aeu in range(AEUS)}, "rows on other NumaNodes")
        harness.check("PERCENT REMOTE" in server.eris("memory", "verify", "--rows", code=UNVERIFIED).stdout, "rows as text")
        harness.check(int(aeu["memory_bytes"]) > int(used), f"memory of the new owner: {aeu}, before {used}")
        check_rows(server, "o", rows)
        harness.check("LEAPS TO" in server.eris("stats").stdout, "leaps as text")
        # A hash cannot.
        server.eris("create", "h", "--kind", "hash")
        server.refused("balancer", "move", "h", "--aeu", str(far), "--kind", "leap", said="leap", code=REFUSED)
        server.wait_until_quiet()


def test_keys_of_every_type(programs):
    with server_of(programs) as server:
        server.eris("create", "i", "--key-type", "int64", "--expect", "-1000:1000")
        server.eris("put", "i", "-", input="".join(f"{n} {n + 1000}\n" for n in range(-1000, 1000)))
        server.eris("balancer", "move", "i", "--from", "-500", "--to", "-100", "--aeu", "3")
        record = newest(server, "i")
        harness.check_equal(record["to_aeu"], 3, "target")
        bounds = [one["range"] for one in server.eris_json("balancer", "history", "i")]
        harness.check("-500" in {bound["lo"] for bound in bounds}, f"bounds {bounds}")
        harness.check("-100" in {bound["hi"] for bound in bounds}, f"bounds {bounds}")
        harness.check_equal(server.eris("count", "i").stdout, "2000\n", "rows")

        server.eris("create", "d", "--key-type", "date", "--expect", "2000-01-01:2030-01-01")
        server.eris("put", "d", "2024-02-29=1", "1969-12-31=2", "2001-01-01=3")
        server.eris("balancer", "move", "d", "--from", "2024-01-01", "--aeu", "0")
        harness.check_equal(newest(server, "d")["range"]["lo"], "2024-01-01", "date")
        harness.check_equal(server.eris("count", "d").stdout, "3\n", "rows")

        server.eris("create", "v", "--key-type", "uint64,date", "--expect", "0:1000")
        server.eris("put", "v", "-", input="".join(
            f"{user}/2024-01-{day:02} {day}\n" for user in range(0, 1000, 5) for day in range(1, 29)))
        for kind in ("copy", "link"):
            server.eris("balancer", "move", "v", "--from", "333", "--to", "777", "--aeu",
                        "1" if kind == "copy" else "2", "--kind", kind)
            harness.check_equal(server.eris("count", "v").stdout, "5600\n", "rows")
        server.eris("create", "b", "--value-type", "string", "--expect", "0:1000")
        server.eris("put", "b", "7=a value that is longer than a word", "900=x")
        server.eris("balancer", "move", "b", "--aeu", "1", "--kind", "copy")
        harness.check_equal(server.eris("get", "b", "7", "--raw").stdout,
                            "a value that is longer than a word", "value")
        server.eris("drop", "i")
        harness.check_equal(newest(server, "i")["object"], "i", "history of what is gone")


def test_hashes_and_tables_move_by_the_ends_of_their_ranges(programs):
    with server_of(programs) as server:
        server.eris("create", "h", "--kind", "hash", "--expect", "0:4000")
        server.eris("put", "h", "-", input="".join(f"{key} {key}\n" for key in range(4000)))
        bounds = [int(lo) for lo, _ in owners(server, "h")]
        harness.check_equal(len(bounds), AEUS, "partitions")
        server.eris("balancer", "move", "h", "--from", str(bounds[1] + 10), "--to",
                    str(bounds[2] - 10), "--aeu", "3", code=REFUSED)
        server.eris("balancer", "move", "h", "--from", str(bounds[1]), "--to", str(bounds[2] - 10),
                    "--aeu", "3")
        server.eris("balancer", "move", "h", "--to", str(bounds[1]), "--aeu", "2", "--kind", "link",
                    code=REFUSED)
        found = server.eris_json("get", "h", "-", input="".join(f"{key}\n" for key in range(4000)))
        harness.check_equal([row["value"] for row in found], [str(key) for key in range(4000)], "rows")

        server.eris("create", "t", "--schema", "id:int64,day:date", "--key", "id", "--expect",
                    "-2000:2000")
        server.eris("import", "t", "-", "--schema", "id:int64,day:date", "--key", "id", "--no-header",
                    input="".join(f"{n},2024-01-{n % 28 + 1:02}\n" for n in range(-2000, 2000)))
        server.eris("balancer", "move", "t", "--to", "-1500", "--aeu", "3")
        harness.check_equal(newest(server, "t")["range"], {"lo": None, "hi": "-1500"}, "bounds")
        harness.check_equal(newest(server, "t")["kind"], "copy", "kind")
        total = server.eris_json("scan", "t", "--agg", "count(*), sum(id)")[0]
        harness.check_equal([str(value) for value in total.values()], ["4000", "-2000"], "sum")


def main():
    programs = harness.Programs(harness.parse_args().build)
    harness.run_tests(globals(), programs)


if __name__ == "__main__":
    main()
