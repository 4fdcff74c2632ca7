"""ERIS compared with the same tree shared by all threads: the runs of Figures 1, 8 and 10 to 12."""
from common import PAPER_PHASE_S, SEED, point, scaled

PROGRAM = "bench/shared/shared_index_lab"
LAYOUT, PLACEMENT = "dense", "interleaved"  # the paper's
UPSERTS, LOOK_UPS = "upserts", "lookups"
FIELDS = {UPSERTS: "inserts_s", LOOK_UPS: "lookups_s"}
STRUCTURES = {"eris": "ERIS", "shared": "shared", "shared_batched": "shared, batched"}
ASKING = {}  # curves that no client thread asks for -> who does, in what batches
BATCH, IN_FLIGHT = 1024, 16
REWRITE_S = 0  # the paper has no such phase


def arguments(keys, threads, rounds, seconds, structures=STRUCTURES):
    return ("--keys", keys, "--threads", threads, "--layout", LAYOUT, "--placement", PLACEMENT, "--structures", ",".join(structures),
            "--rounds", rounds, "--rewrite-seconds", REWRITE_S, "--lookup-seconds", seconds, "--batch", BATCH,
            "--in-flight", IN_FLIGHT, "--seed", SEED, "--json", "-")


def measured(lab, x, keys, threads, rounds, seconds):
    """Points of both operations at `x`. Errors: NotPossible, ProgramFailed."""
    report = lab.json(PROGRAM, *arguments(keys, threads, rounds, seconds))
    return [point(panel, STRUCTURES[name], x, "M keys/s", scaled(found[field], 1e-6))
            for name, found in report["structures"].items() for panel, field in FIELDS.items()]


def protocol(lab, seconds):
    return {"layout": LAYOUT, "placement": PLACEMENT, "batch": BATCH, "in_flight": IN_FLIGHT, "rounds": lab.scale.index_rounds, "lookup_s": seconds,
            "time_scale": seconds / PAPER_PHASE_S}


def described(did, keys):
    """`keys`: a description of the inserted keys."""
    return (f"{keys} keys, dense, are inserted in random order (upserts), then looked up at random for {did['lookup_s']} s (the paper: a "
            f"minute each), every answer checked, {did['rounds']} rounds in turns, each in a process of its own. ERIS is embedded: one "
            f"AEU per core, as many client threads, each with {did['in_flight']} batches of {did['batch']} keys under way, on the same cores "
            "and no others. Shared: the same kind of tree for all threads, optimistic latches, memory interleaved, one key at a time as in the paper; batched: with the group prefetch that "
            "an AEU has.")
