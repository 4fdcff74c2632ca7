"""What `eris memory` shows and verifies, and the server's settings of memory, as scripts see them."""
import json
import os
import tempfile

import harness

OK, NOT_FOUND, INVALID, UNAVAILABLE, REFUSED, MISPLACED, UNVERIFIED = range(7)


def contradiction(memory):
    """Why the accounts do not add up; None: they do."""
    total = 0
    for numa_node in memory["numa_nodes"]:
        have = {name: int(value) for name, value in numa_node.items() if name.endswith("_bytes")}
        total += have["reserved_bytes"]
        committed = sum(int(one["committed_bytes"]) for one in memory["objects"]
                        if one["numa_node"] == numa_node["id"])
        if have["in_use_bytes"] != have["buffers_bytes"] + committed:
            return f"in use: {numa_node}, committed {committed}"
        if have["reserved_bytes"] != sum(have[name] for name in ("in_use_bytes", "kept_bytes",
                                                                 "ready_bytes")):
            return f"reserved: {numa_node}"
    if total + int(memory["heap_bytes"]) != int(memory["reserved_bytes"]):
        return f"reserved {memory['reserved_bytes']}, by NumaNode {total}"
    for one in memory["objects"]:
        parts = ("used", "cached", "spare", "header", "extent")
        if int(one["committed_bytes"]) != sum(int(one[f"{part}_bytes"]) for part in parts):
            return f"object: {one}"
        used = sum(int(c["block_bytes"]) * int(c["used_blocks"]) for c in one["classes"])
        if used != int(one["used_bytes"]):
            return f"classes: {one}"
    return None


def memory_at_rest(server):
    """AEUs and the pools' keeper tidy up for a while after the last answer."""
    harness.wait_until(lambda: contradiction(server.eris_json("memory")) is None,
                       "accounts that add up")
    return server.eris_json("memory")


def test_memory_adds_up(programs):
    rows = "".join(f"{key},{key}\n" for key in range(200_000))
    with harness.Server(programs, "--topology", "numa:2 core:1 pu:1", "--memory-limit",
                        "512MiB") as server:
        server.eris("import", "a", "-", "--kind", "index", "--no-header", "--expect", "0:200000", input=rows)
        memory = memory_at_rest(server)
        harness.check_equal(memory["limit_bytes"], str(512 << 20), "limit")
        harness.check_equal([(one["name"], one["numa_node"]) for one in memory["objects"]],
                            [("a", 0), ("a", 1)], "objects")
        for one in memory["objects"]:
            harness.check(int(one["used_bytes"]) >= 100_000 * 8, one)
        text = server.eris("memory").stdout
        for part in ("NUMANODE", "BUFFERS", "COMMITTED", "limit 512.0 MiB", "superblocks of 2.0 MiB"):
            harness.check(part in text, f"'{part}' is not in:\n{text}")
        harness.check("BLOCK BYTES" not in text, text)
        harness.check("BLOCK BYTES" in server.eris("memory", "--classes").stdout, "--classes")
        server.eris("drop", "a")
        memory = memory_at_rest(server)
        harness.check_equal(memory["objects"], [], "objects after the drop")
        for numa_node in memory["numa_nodes"]:
            harness.check_equal(numa_node["in_use_bytes"], numa_node["buffers_bytes"], "in use")
    server.eris("memory", "--timeout", "0.2", code=UNAVAILABLE)


def test_memory_verify_finds_every_page_where_it_should_be(programs):
    rows = "".join(f"{key},{key}\n" for key in range(200_000))
    with harness.Server(programs) as server:
        server.eris("import", "a", "-", "--kind", "index", "--no-header", "--expect", "0:200000", input=rows)
        bound = all(one["bound"] for one in server.eris_json("memory")["numa_nodes"])
        done = server.run(programs.eris, "memory", "verify", "--pages", "0", "--output", "json",
                          code=OK if bound else UNVERIFIED)
        if not done.stdout:
            print("this system does not tell where pages lie:", done.stderr.strip())
            return
        found = 0
        for one in json.loads(done.stdout)["numa_nodes"]:
            harness.check_equal(one["pages_elsewhere"], "0", f"pages elsewhere in {one}")
            harness.check_equal(one["bound"], bound, "bound")
            if bound and int(one["pages_local"]) > 0:
                harness.check_equal(one["percent_local"], 100.0, "percent")
            found += int(one["pages_asked"]) - int(one["pages_absent"])
            huge = sum(int(one[f"{kind}_huge_bytes"]) for kind in ("anonymous", "shared", "reserved"))
            harness.check(huge <= int(one["resident_bytes"]), one)
        harness.check(found >= 512, f"{found} pages found")
        if bound:
            text = server.eris("memory", "verify").stdout
            harness.check("all where they should be" in text and "PERCENT LOCAL" in text, text)
            sample = server.eris_json("memory", "verify", "--pages", "7")["numa_nodes"]
            harness.check_equal([one["pages_asked"] for one in sample], ["7"] * len(sample), "asked")
        for pages in ("-1", "many", "", "4294967297", "99999999999999999999", "0x10"):
            server.refused("memory", "verify", f"--pages={pages}", said="4294967296" if pages else "")
    server.eris("memory", "verify", "--timeout", "0.2", code=UNAVAILABLE)


def test_memory_verify_of_unbound_memory_is_neither_good_nor_bad(programs):
    with harness.Server(programs, "--topology", "numa:2 core:1 pu:1") as server:
        server.eris("create", "a", "--expect", "0:100")
        done = server.run(programs.eris, "memory", "verify", code=UNVERIFIED)
        harness.check("not bound" in done.stdout or done.stderr, done.stdout)
        if done.stdout:
            for one in server.eris_json("memory", "verify", code=UNVERIFIED)["numa_nodes"]:
                harness.check_equal((one["bound"], one["percent_local"], one["pages_local"]),
                                    (False, None, "0"), "unbound")


def test_memory_settings_reach_the_engine(programs):
    with harness.Server(programs, "--topology", "numa:2 core:1 pu:1", "--memory-placement",
                        "one_numa_node", "--memory-numa-node", "1", "--huge-pages", "none",
                        "--superblock", "4MiB") as server:
        server.eris("create", "a", "--expect", "0:100")
        memory = server.eris_json("memory")
        harness.check_equal(memory["superblock_bytes"], str(4 << 20), "superblock")
        harness.check_equal(memory["pages"], ["anonymous"], "pages")
        harness.check_equal([one["id"] for one in memory["numa_nodes"]], [1], "NumaNodes")
        harness.check_equal([one["numa_node"] for one in memory["objects"]], [1], "object")
        topology = server.eris("topology").stdout
        harness.check("all on NumaNode 1" in topology, topology)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "eris.toml")
        with open(path, "w") as file:
            file.write('[engine]\nmemory_placement = "interleaved"\nhuge_pages = "advised"\n'
                       'memory_spill = true\n')
        with harness.Server(programs, "--config", path, "--no-memory-spill") as server:
            topology = server.eris("topology").stdout
            harness.check("on all NumaNodes in turn\n" in topology, topology)
            harness.check("Pages: anonymous, huge pages advised;" in topology, topology)


def test_memory_settings_that_make_no_sense_are_refused_by_name(programs):
    for flags, part in ((["--superblock", "3MiB"], "superblock_bytes"),
                        (["--superblock", "64MiB"], "superblock_bytes"),
                        (["--memory-decay-ms", "7"], "memory_decay_ms"),
                        (["--memory-placement", "one_numa_node", "--memory-numa-node", "99"],
                         "memory_numa_node"),
                        (["--memory-placement", "remote"], "memory-placement"),
                        (["--huge-pages", "all"], "huge-pages"),
                        (["--memory-kept", "-1"], "--memory-kept")):
        programs.refused("topology", "--explain", *flags, said=part)


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
