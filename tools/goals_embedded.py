"""The goals of the engine, embedded, compared with the same tree shared by all threads: the paper's baseline. Part of
tools/goals.py."""
from goals_run import Step, at_least

KEYS = 1 << 26
THREADS = 2
BATCH = 1024
# Upserts means inserting KEYS new keys into the empty index. The note reports rewriting.
GOALS = (("remote.embedded_lookups_over_shared", "shared", "lookups_s", at_least(2)),
         ("remote.embedded_upserts_over_shared", "shared", "inserts_s", at_least(1.5)),
         ("remote.embedded_lookups_over_shared_batched", "shared_batched", "lookups_s", at_least(0.8)))
WORDS = {"lookups_s": "lookups", "inserts_s": "inserts of new keys", "rewrites_s": "rewrites"}


def words_of(found):
    return f"{found['median'] / 1e6:.3g} ({found['min'] / 1e6:.3g} .. {found['max'] / 1e6:.3g})"


def embedded(run):
    size = ("--keys", 1 << 14, "--rounds", 1, "--rewrite-seconds", 0.1, "--lookup-seconds", 0.1) if run.tiny else \
        ("--keys", KEYS, "--rounds", 3)
    report = run.json([f"{run.build}/bench/shared/shared_index_lab", "--threads", THREADS, "--batch", BATCH, *size, "--json", "-"])
    structures, ratios = report["structures"], report["ratios"]
    others = max(one["cpus_taken_by_others"]["max"] for one in structures.values())
    for name, peer, what, _ in GOALS:
        note = (f"{report['keys'] / 1e6:.3g} M {report['layout']} keys, {THREADS} AEUs and {THREADS} sessions on "
                f"{min(THREADS, report['machine']['cpus'])} cpus: "
                f"{words_of(structures['eris'][what])} M {WORDS[what]}/s vs. {words_of(structures[peer][what])} of {peer}")
        if what == "inserts_s":
            rewriting = ratios[f"eris_over_{peer}_rewrites_s"]["median"]
            note += f"; rewriting {rewriting:.2f}; of shared_batched {ratios['eris_over_shared_batched_inserts_s']['median']:.2f}"
        run.goal(name, ratios[f"eris_over_{peer}_{what}"]["median"], note + f"; other programs took {others:.2f} cpus at most")


EMBEDDED = Step(embedded, {name: goal for name, _, _, goal in GOALS})
