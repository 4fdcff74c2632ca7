"""The goals of the engine, embedded, beside the same tree shared by all threads: the paper's baseline. Part of tools/goals.py."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "numa"))

import shared_access  # noqa: E402
from shared_access import counting  # noqa: E402

KEYS = 1 << 26
THREADS = 2
BATCH = 1024
# What is counted as upserts: inserting KEYS new keys into the empty index. Rewriting is told beside it.
GOALS = (("embedded_lookups_over_shared", "shared", "lookups_s", 2),
         ("embedded_upserts_over_shared", "shared", "inserts_s", 1.5),
         ("embedded_lookups_over_shared_batched", "shared_batched", "lookups_s", 0.8))
WORDS = {"lookups_s": "look-ups", "inserts_s": "inserts of new keys", "rewrites_s": "rewrites"}


def words_of(found):
    return f"{found['median'] / 1e6:.3g} ({found['min'] / 1e6:.3g} .. {found['max'] / 1e6:.3g})"


def remote_accesses(build, goal, no_goal):
    """Counted in the NUMA lab, not timed."""
    name, wanted = "remote.remote_accesses_over_shared", 0.25
    try:
        found = shared_access.measure(build)
    except counting.CANNOT_COUNT as error:
        no_goal(name, "<=", wanted, str(error).strip())
        return
    except counting.CountFailed as error:
        raise OSError(f"{name}: {error}") from error  # goals.py goes on with the next folder, and fails at the end
    eris, shared = found["eris"], found["shared"]
    goal(name, eris.remote_accesses / shared.remote_accesses, "<=", wanted,
         f"a look-up, batches of 1024 on 4 NumaNodes, interleaved tree: {eris.remote_accesses:.1f} remote ones beside "
         f"{shared.remote_accesses:.1f}, sessions and AEUs; misses of a simulated cache of {shared_access.CACHE['cache_kib']} KiB: "
         f"{eris.remote_misses:.2f} beside {shared.remote_misses:.2f}, {eris.remote_misses / shared.remote_misses:.2f}")


def embedded(build, goal, no_goal):
    """Each goal's figure of one run; `goal` and `no_goal` are goals.py's."""
    remote_accesses(build, goal, no_goal)
    report = json.loads(subprocess.run([f"{build}/bench/shared/shared_index_lab", "--keys", str(KEYS), "--threads", str(THREADS),
                                        "--batch", str(BATCH), "--rounds", "3", "--json", "-"],
                                       text=True, stdout=subprocess.PIPE, check=True).stdout)
    structures, ratios = report["structures"], report["ratios"]
    others = max(one["cpus_taken_by_others"]["max"] for one in structures.values())
    for name, peer, what, wanted in GOALS:
        note = (f"{KEYS >> 20} M {report['layout']} keys, {THREADS} AEUs and {THREADS} sessions on {min(THREADS, report['machine']['cpus'])} cpus: "
                f"{words_of(structures['eris'][what])} M {WORDS[what]}/s beside {words_of(structures[peer][what])} of {peer}")
        if what == "inserts_s":
            rewriting = ratios[f"eris_over_{peer}_rewrites_s"]["median"]
            note += f"; rewriting {rewriting:.2f}; of shared_batched {ratios['eris_over_shared_batched_inserts_s']['median']:.2f}"
        goal(f"remote.{name}", ratios[f"eris_over_{peer}_{what}"]["median"], ">=", wanted,
             note + f"; other programs took {others:.2f} cpus at most")
