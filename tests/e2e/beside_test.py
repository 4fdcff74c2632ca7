"""Objects beside each other in a real server: loaded while the balancer moves their ranges, they are cut alike at the end, and joined as if they had
never moved. What cannot lie beside another object is refused with the reason.

The join is TPC-H's query 12, by its committed plan, over rows that are made here; Python computes what it has to answer.
"""
import datetime
import os
import pathlib
import random
import tempfile

import harness

NOT_FOUND, INVALID = 1, 2
AEUS = 4
ORDERS = 30_000
FAR = 10**9  # keys are expected up to it, so all rows begin at one AEU
PLAN = pathlib.Path(__file__).resolve().parent.parent / "tpch" / "plans" / "datafusion" / "q12.plan"
OBJECTS = ("orders", "lineitem", "totals")
URGENT = ("1-URGENT", "2-HIGH")
MODES = ("AIR", "MAIL", "SHIP", "TRUCK")
SEED = int(os.environ.get("ERIS_SEED", random.SystemRandom().randrange(2 ** 32)))


class Data:
    """Orders with one to seven items each, in the order of their keys, and the answer of query 12."""

    def __init__(self, rng):
        self.orders, self.items, self.totals = [], [], []
        counts = {}  # of urgent orders' and of other orders' items, by mode
        for key in range(1, ORDERS + 1):
            urgent = rng.random() < 0.4
            self.orders.append(f"{key}|1|O|1.00|1994-01-01|{rng.choice(URGENT) if urgent else '5-LOW'}|clerk|0|-|")
            lines = rng.randrange(1, 8)
            for line in range(1, lines + 1):
                mode = rng.choice(MODES)
                receipt = datetime.date(1993, 1, 1) + datetime.timedelta(days=rng.randrange(3 * 365))
                commit, ship = (receipt - datetime.timedelta(days=rng.randrange(-1, 5)) for _ in range(2))
                self.items.append(f"{key}|1|1|{line}|1.00|1.00|0.00|0.00|N|O|{ship}|{commit}|{receipt}|NONE|{mode}|-|")
                if mode in ("MAIL", "SHIP") and ship < commit < receipt and receipt.year == 1994:
                    counts.setdefault(mode, [0, 0])[0 if urgent else 1] += 1
            self.totals.append(f"{key}|{lines}|")
        self.answer = [[mode, *map(str, counts[mode])] for mode in sorted(counts)]


def load(server, directory, name, lines):
    path = os.path.join(directory, f"{name}.tbl")
    with open(path, "w") as file:
        file.writelines(line + "\n" for line in lines)
    loaded = server.eris_json("import", name, path, "--batch", "500")
    harness.check_equal((loaded["rows"], loaded["replaced"]), (str(len(lines)), "0"), f"rows of {name}")


def check_join(server, data, when):
    answer = server.eris("query", str(PLAN), "--format", "csv").stdout.split()[1:]
    harness.check_equal([line.split(",") for line in answer], data.answer, f"query 12 {when}")


def cuts(server, name):
    """Pairs (lowest key, AEU) of an object's ranges; neighbours of one AEU are one range."""
    ranges = []
    for part in server.eris_json("list", name)[0]["partitions"]:
        if not ranges or ranges[-1][1] != part["aeu"]:
            ranges.append((part["lo"], part["aeu"]))
    return ranges


def spread(server):
    held = [int(aeu["rows"]) for aeu in server.stats()["aeus"]]
    return max(held) / sum(held) < 0.5


def check_cut_alike(server):
    """Rows are spread, and every object has the ranges of the first one."""
    def alike():
        return len({tuple(cuts(server, name)) for name in OBJECTS}) == 1
    harness.wait_until(lambda: spread(server) and alike(), "objects to be spread, and cut alike", 60)
    server.eris("balancer", "set", "--enabled", "false")
    server.eris("balancer", "rebalance", "orders")  # it waits for the end of a period that moves ranges now
    harness.check(alike(), {name: cuts(server, name) for name in OBJECTS})
    ranges = cuts(server, "orders")
    harness.check(len({aeu for _, aeu in ranges}) >= 3, f"ranges of orders: {ranges}")
    moved = {one["object"] for one in server.eris_json("balancer", "history") if one["outcome"] == "done"}
    harness.check_equal(moved, set(OBJECTS), "objects that have moved")


def check_loads(programs, in_order):
    rng = random.Random(SEED)
    data = Data(rng)
    rows = {"orders": data.orders, "lineitem": data.items, "totals": data.totals}
    if not in_order:
        for lines in rows.values():
            rng.shuffle(lines)
    with harness.Server(programs, "--aeus", str(AEUS), "--balancer-algorithm", "size", "--balancer-period-ms", "50",
                        "--balancer-threshold", "0.3") as server, tempfile.TemporaryDirectory() as directory:
        server.eris("create", "orders", "--schema", "tpch:orders", "--expect", f"0:{FAR}")
        server.eris("create", "lineitem", "--schema", "tpch:lineitem", "--beside", "orders")
        server.eris("create", "totals", "--key-type", "int64", "--beside", "lineitem")
        beside = {each["name"]: each["beside"] for each in server.eris_json("list")}
        harness.check_equal(beside, {name: sorted(set(OBJECTS) - {name}) for name in OBJECTS}, "objects beside each")
        for name in OBJECTS:
            load(server, directory, name, rows[name])
            if name != "orders":
                check_join(server, data, f"while ranges move, after {name} has been loaded")
        check_cut_alike(server)
        check_join(server, data, "at the end")
        sums = server.eris_json("aggregate", "totals")
        harness.check_equal((sums["count"], sums["sum"]), (str(ORDERS), str(len(data.items))), "totals")
        # Equal keys are with one AEU, so a join brings rows to no other.
        lines = server.eris("query", str(PLAN), "--analyze").stdout.splitlines()
        join = [figures for step, figures in zip(lines, lines[1:]) if "inner join" in step]
        harness.check(len(join) == 1 and "at all 4 AEUs" in join[0] and "crossed" not in join[0], "\n".join(lines))
        # A move of one is a move of all, also when the first of them has gone.
        server.eris("balancer", "move", "totals", "--aeu", "2")
        for name in OBJECTS:
            harness.check_equal({aeu for _, aeu in cuts(server, name)}, {2}, f"owner of {name}")
        check_join(server, data, "with one owner")
        server.eris("drop", "orders")
        server.eris("balancer", "move", "lineitem", "--aeu", "1")
        harness.check_equal([{aeu for _, aeu in cuts(server, name)} for name in ("lineitem", "totals")], [{1}, {1}], "owners")
        server.wait_until_quiet()


def test_loads_in_key_order(programs):
    check_loads(programs, True)


def test_loads_in_random_order(programs):
    check_loads(programs, False)


def test_what_cannot_lie_beside_is_refused(programs):
    with harness.Server(programs, "--aeus", "2") as server, tempfile.TemporaryDirectory() as directory:
        server.eris("create", "numbers")
        server.eris("create", "days", "--key-type", "date")
        server.eris("create", "bookings", "--schema", "day:date,seat:int32", "--key", "day,seat")
        server.eris("create", "buckets", "--kind", "hash")
        server.eris("create", "prices", "--schema", "at:decimal(2)", "--key", "at")
        server.eris("create", "log", "--schema", "at:uint64")
        objects = sorted(each["name"] for each in server.eris_json("list"))
        refused = 'object "x" cannot lie beside '
        alike = "; give both the same type"
        kinds = ("keys that begin with date are cut otherwise in a table than in an index or a hash; "
                 "make both tables, or neither of them")
        for arguments, code, said in (
                (["--beside", "nothing"], NOT_FOUND, '"nothing"'),
                (["--beside", "x"], NOT_FOUND, '"x"'),
                (["--key-type", "int64", "--beside", "numbers"], INVALID,
                 f'{refused}"numbers": its keys begin with int64, those of "numbers" with uint64{alike}'),
                (["--key-type", "int64", "--beside", "buckets"], INVALID,
                 f'{refused}"buckets": its keys begin with int64, those of "buckets" with uint64{alike}'),
                (["--kind", "hash", "--key-type", "date", "--beside", "buckets"], INVALID,
                 f'{refused}"buckets": its keys begin with date, those of "buckets" with uint64{alike}'),
                (["--schema", "day:date", "--key", "day", "--beside", "numbers"], INVALID,
                 f'{refused}"numbers": its keys begin with date, those of "numbers" with uint64{alike}'),
                (["--schema", "at:decimal(4)", "--key", "at", "--beside", "prices"], INVALID,
                 f'{refused}"prices": its keys begin with decimal(4), those of "prices" with decimal(2){alike}'),
                (["--schema", "day:date", "--key", "day", "--beside", "days"], INVALID, f'{refused}"days": {kinds}'),
                (["--key-type", "date", "--beside", "bookings"], INVALID, f'{refused}"bookings": {kinds}'),
                (["--kind", "hash", "--key-type", "date", "--beside", "bookings"], INVALID, f'{refused}"bookings": {kinds}'),
                (["--beside", "log"], INVALID, f'{refused}"log": "log" has no key by which it could be cut'),
                (["--schema", "at:uint64", "--beside", "numbers"], INVALID,
                 f'{refused}"numbers": "x" has no key by which it could be cut'),
                (["--beside", "numbers", "--expect", "0:5"], INVALID, "--beside"),
                (["--beside", "numbers", "--split", "5"], INVALID, "--beside"),
                (["--beside", ""], INVALID, "--beside")):
            server.refused("create", "x", *arguments, said=said, code=code)
        harness.check_equal(sorted(each["name"] for each in server.eris_json("list")), objects, "objects")
        # Keys of dates lie beside each other in tables, and in indexes and hashes; so do an index and a hash.
        server.eris("create", "seats", "--schema", "day:date,name:string", "--key", "day", "--beside", "bookings")
        server.eris("create", "nights", "--kind", "hash", "--key-type", "date", "--beside", "days")
        server.eris("create", "others", "--beside", "buckets")
        beside = {each["name"]: each["beside"] for each in server.eris_json("list") if each["beside"]}
        harness.check_equal(beside, {"bookings": ["seats"], "seats": ["bookings"], "days": ["nights"], "nights": ["days"],
                                     "buckets": ["others"], "others": ["buckets"]}, "objects beside each")
        path = os.path.join(directory, "numbers.csv")
        with open(path, "w") as file:
            file.write("key,value\n1,2\n")
        server.refused("import", "x", path, "--kind", "index", "--beside", "nothing", said='"nothing"', code=NOT_FOUND)
        server.refused("import", "numbers", path, "--beside", "days", said="--beside is days, but numbers")
        server.eris("import", "x", path, "--kind", "index", "--beside", "numbers")
        harness.check_equal(server.eris_json("list", "x")[0]["beside"], ["numbers"], "an imported object")


if __name__ == "__main__":
    print(f"run again with ERIS_SEED={SEED}", flush=True)
    os.environ.pop("ERIS_SEED", None)  # eris refuses variables that it does not know
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
