"""The goals of routing and of the engine above it. Part of tools/goals.py."""
import pathlib

from goals_run import Absent, Part, Step, at_least, at_most

RAW = "bench/routing/raw_routing"

# Whole turns: an outgoing buffer of 4096 commands fills within one. The peer with commands as its elements, and with
# the smallest equivalent element; the better of two block sizes each.
WHOLE, SMALLEST = ("queue", "queue_512"), ("queue32", "queue32_512")


def raw(run):
    """Raw routing against moodycamel's queue and plain memcpys, and AEUs that share cores."""
    peers = WHOLE + SMALLEST
    if not pathlib.Path(run.build, RAW).exists():
        raise Absent(f"libconcurrentqueue-dev cannot be installed: {RAW} is not built")
    size = ("--rounds", 1, "--ms", 5) if run.tiny else ("--rounds", 7)
    found = run.json([f"{run.build}/{RAW}", "--aeus", "2,8", "--turn", 4096, "--batches", "256,1024,4096",
                      "--modes", "plain", "--json", "-", "--methods", ",".join(["port", *peers, "memcpy20"]), *size])
    best = {}
    for point in found["points"]:
        name = point["method"], point["aeus"]
        best[name] = max(best.get(name, 0), point["commands_s"] / 1e6)
    ratios = found["ratios"]
    others = f"other programs took {found['cpus_taken_by_others']:.2f} cpus"
    for name, elements in ("", WHOLE), ("_smallest_element", SMALLEST):
        peer = min(elements, key=lambda name: ratios[f"port_over_{name}_2_plain"])
        run.goal(f"routing.raw_over_moodycamel{name}", ratios[f"port_over_{peer}_2_plain"],
                 f"{best['port', 2]:.0f} vs. {best[peer, 2]:.0f} M commands/s of {peer}; {others}")
    run.goal("routing.raw_over_two_memcpys", ratios["port_over_memcpy20_bytes_2_plain"],
             f"vs. {best['memcpy20', 2]:.0f} M commands/s; {others}")
    run.goal("routing.aeus_8_over_2", ratios["port_8_plain_over_2_aeus"],
             f"{best['port', 8]:.0f} M commands/s with 8 AEUs on {found['cpus']} cores")


def key(run):
    """The cost that routing adds to the lookup of a key that an AEU sends, and a session."""
    size = ("--keys", 16_000, "--rounds", 1, "--ms", 5) if run.tiny else ()
    for way, name in ("aeus", "routing.ns_per_routed_key"), ("sessions", "routing.ns_per_key_of_a_session"):
        keys = run.json([f"{run.build}/bench/routing/routed_keys", "--batches", "256,1024,4096,16384", *size, "--way", way, "--json", "-"])
        worst = max(keys["points"], key=lambda point: point["routing_ns"])
        run.goal(name, worst["routing_ns"],
                 f"worst: batches of {worst['batch']}, {worst['keys']} keys, {worst['routed_ns']:.1f} vs. "
                 f"{worst['bare_ns']:.1f} ns of the bare partition; other programs took {keys['cpus_taken_by_others']:.2f} cpus, "
                 f"a line goes from core to core in {keys['cache_line_ns']:.0f} ns")


def turn(run):
    """A turn with many AEUs, only one of which is addressed."""
    size = ("--benchmark_repetitions=2", "--benchmark_min_time=0.001") if run.tiny else \
        ("--benchmark_repetitions=7", "--benchmark_min_time=0.1")
    report = run.json([f"{run.build}/bench/routing/turn_bench", "--benchmark_filter=^turn/aeus:(2|512)$", "--benchmark_format=json",
                       "--benchmark_enable_random_interleaving=true", *size])
    turns = {one["run_name"]: one["real_time"]
             for one in report["benchmarks"] if one.get("aggregate_name") == "median"}
    few, many = turns["turn/aeus:2"], turns["turn/aeus:512"]
    run.goal("routing.turn_512_over_2", many / few,
             f"{many:.0f} vs. {few:.0f} ns, a lookup of one key with 512 and with 2 AEUs, one addressed")


def routed_lookup(run):
    """The throughput of the bare partition's batched lookups that remains with routing, reply and completion."""
    size = (16_384, 0.01, 1) if run.tiny else ()
    one = run.json([f"{run.build}/bench/engine/routed_lookup", *size])
    run.goal("engine.routed_over_bare_lookup", one["routed_over_bare"],
             f"{one['routed_mkeys_s']:.1f} vs. {one['bare_mkeys_s']:.1f} M keys/s, one AEU, {one['keys']} sparse keys")


ROUTING = Part(3, (
    Step(raw, {"routing.raw_over_moodycamel": at_least(3), "routing.raw_over_moodycamel_smallest_element": at_least(3),
               "routing.raw_over_two_memcpys": at_least(0.4), "routing.aeus_8_over_2": at_least(0.7)}),
    Step(key, {"routing.ns_per_routed_key": at_most(6), "routing.ns_per_key_of_a_session": at_most(4)}),
    Step(turn, {"routing.turn_512_over_2": at_most(1.3)})))
ENGINE = Part(1, (Step(routed_lookup, {"engine.routed_over_bare_lookup": at_least(0.7)}),))
