"""ERIS compared with the same tree shared by all threads, and with one process per core: the runs of Figures 1 and 8."""
from common import PAPER_PHASE_S, SEED, point, points_of, scaled
from plot_panels import OURS, OURS_SECOND, PEER, SECOND, LinePanel

PROGRAM = "bench/shared/shared_index_lab"
LAYOUT, PLACEMENT = "dense", "interleaved"  # the paper's
UPSERTS, LOOK_UPS, ZIPF = "upserts", "lookups", "lookups by Zipf's law"
FIELDS = {UPSERTS: "inserts_s", LOOK_UPS: "lookups_s", ZIPF: "zipf_lookups_s"}
ASK, PROCESSES = "ERIS, AEUs ask", "N processes"
STRUCTURES = {"eris": "ERIS", "shared": "shared", "shared_batched": "shared, batched", "processes": PROCESSES}
# Lookups that no client thread asks for: the field, who asks, in what batches.
ASKING = {ASK: ("asks_s", "the AEUs, each the keys that its part of an index holds; answers go to client threads", "the engine's")}
COLOURS = {"ERIS": OURS, ASK: OURS_SECOND, "shared": PEER, "shared, batched": SECOND, PROCESSES: "#666"}
BATCH, IN_FLIGHT = 1024, 16
REWRITE_S = 0  # the paper has no such phase


def arguments(keys, threads, rounds, seconds, structures=STRUCTURES, ask_s=0, zipf_s=0, settle_s=0):
    return ("--keys", keys, "--threads", threads, "--layout", LAYOUT, "--placement", PLACEMENT, "--structures", ",".join(structures),
            "--rounds", rounds, "--rewrite-seconds", REWRITE_S, "--lookup-seconds", seconds, "--ask-seconds", ask_s, "--zipf-seconds", zipf_s,
            "--settle-seconds", settle_s, "--batch", BATCH, "--in-flight", IN_FLIGHT, "--seed", SEED, "--json", "-")


def measured(lab, x, keys, threads, rounds, seconds, zipf_s=0):
    """Points of all operations at `x`; lookups by Zipf's law for `zipf_s`. Errors: NotPossible, ProgramFailed."""
    structures = lab.json(PROGRAM, *arguments(keys, threads, rounds, seconds, ask_s=seconds, zipf_s=zipf_s, settle_s=lab.scale.index_settle_s))["structures"]
    wanted = [(panel, STRUCTURES[name], name, field) for name in structures for panel, field in FIELDS.items() if panel != ZIPF or zipf_s]
    wanted += [(LOOK_UPS, series, "eris", field) for series, (field, _, _) in ASKING.items()]
    return [point(panel, series, x, "M keys/s", scaled(structures[name][field], 1e-6)) for panel, series, name, field in wanted]


def panel_of(report, panel, title, note, **more):
    """The panel with a line for each curve; None if there is none."""
    lines = [{"name": name, "colour": colour,
              "points": [(one["x"], one["median"], one["min"], one["max"]) for one in points_of(report, panel, name)]}
             for name, colour in COLOURS.items() if points_of(report, panel, name)]
    return LinePanel(title, lines, note, **more) if lines else None


def protocol(lab, seconds):
    return {"layout": LAYOUT, "placement": PLACEMENT, "batch": BATCH, "in_flight": IN_FLIGHT, "rounds": lab.scale.index_rounds, "lookup_s": seconds,
            "settle_s": lab.scale.index_settle_s, "time_scale": seconds / PAPER_PHASE_S}


def described(did, keys):
    """`keys`: a description of the inserted keys."""
    return (f"{keys} keys, dense, are inserted in random order (upserts), then looked up at random for {did['lookup_s']} s (the paper: a "
            f"minute each), every answer checked, {did['rounds']} rounds in turns, each in a process of its own. ERIS is embedded, with its "
            f"balancer on as by default: one AEU per core, as many client threads, each with {did['in_flight']} batches of {did['batch']} keys "
            "under way, on the same cores and no others. Shared: the same kind of tree for all threads, optimistic latches, memory interleaved, "
            "one key at a time as in the paper; batched: with the group prefetch that an AEU has.")


def asking_described():
    return (f"*{ASK}*: as in the paper, where AEUs generate the lookups. Each AEU reads its own part of a second index, whose values are up to "
            "16.8 M random keys, and sends them to the AEUs that own them (an index join, `Session::OpenJoin`). In it are that read, the routing, the "
            "lookups, and their answers' way to client threads, 24 bytes a key, which compare them; not in it are clients that make keys and send them.")


def processes_described(threads):
    return (f"*{PROCESSES}*: what one does without an engine that knows of NumaNodes: {threads} processes, each "
            "bound to one core where one would bind it to a NumaNode, with an engine of one AEU, an equal range of the keys, and one client thread that "
            "asks for keys of that range alone. Nothing carries a key from a client to its process and no batch is cut, so this is the most that such a "
            "setup can reach. All clients would ask all processes: the slowest one's rate counts for each.")
