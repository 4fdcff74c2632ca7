"""Goals that are counted in the NUMA lab: local accesses of the data path, and remote accesses and lines from other
NumaNodes compared with a tree that all threads share. Part of tools/goals.py."""
import sys

from goals_run import ROOT, Step, at_least, at_most

sys.path.insert(0, str(ROOT / "tests" / "numa"))

import local_access  # noqa: E402
import shared_access  # noqa: E402
from local_access import BLIND, GOAL, INTERLEAVED, LOCAL, counting  # noqa: E402

NAME = "memory.local_access_ratio"
REMOTE_ACCESSES = "remote.remote_accesses_over_shared"
# Transfers of lines between NumaNodes, invalidations included: batch -> goal of lookups; upserts, the worst batch.
FAR_LOOKUPS = {1024: ("remote.far_transfers_lookups_1024_over_shared", at_most(0.25)),
               4096: ("remote.far_transfers_lookups_4096_over_shared", at_most(0.2))}
FAR_UPSERTS = "remote.far_transfers_upserts_over_shared"
FALSE_SHARING = "remote.lines_taken_for_nothing_a_key"


def memory_local_access(run):
    """Loads and stores of AEUs that go to their own NumaNode, compared with memory placed blindly."""
    try:
        result = local_access.measure(run.build)
    except counting.CANNOT_COUNT as error:
        run.no_goal(NAME, str(error).strip())
        return
    local, interleaved, blind = LOCAL.values(), INTERLEAVED.values(), BLIND.values()
    apart = ", ".join(f"{name} {result.local_ratio([phase]):.4f}" for name, phase in LOCAL.items())
    run.goal(NAME, result.local_ratio(local),
             f"{apart}; {result.total(local) / 1e6:.0f} M loads and stores of 8 AEUs on 4 NumaNodes; NUMA-blind "
             f"{result.local_ratio(blind):.2f}, with the engine's memory interleaved {result.local_ratio(interleaved):.2f}; "
             f"misses of a simulated cache of {local_access.CACHE['cache_kib']} KiB: {result.local_ratio(local, 'misses'):.4f}, "
             f"blind {result.local_ratio(blind, 'misses'):.2f}, interleaved {result.local_ratio(interleaved, 'misses'):.2f}")


def words_of(structures):
    """The transfers between NumaNodes of a key."""
    eris, shared = structures["eris"], structures[shared_access.PEER]
    return (f"{eris.far:.3f} vs. {shared.far:.3f} a key, of them lines {eris.far_lines:.3f} vs. {shared.far_lines:.3f}, "
            f"invalidations {eris.upgrades_far + eris.claims_far:.3f} vs. {shared.upgrades_far + shared.claims_far:.3f}")


def compared_with_shared(run):
    """Accesses, misses and transfers of a key, compared with the tree that all threads share."""
    try:
        found = shared_access.measure(run.build)
    except counting.CANNOT_COUNT as error:
        for name in SHARED_ACCESS.goals:
            run.no_goal(name, str(error).strip())
        return
    eris, shared = found.lookups["eris"], found.lookups["shared"]
    run.goal(REMOTE_ACCESSES, eris.remote_accesses / shared.remote_accesses,
             f"a lookup, batches of 1024 on 4 NumaNodes, interleaved tree: {eris.remote_accesses:.1f} remote ones vs. "
             f"{shared.remote_accesses:.1f}, sessions and AEUs; misses of a simulated cache of {shared_access.CACHE['cache_kib']} KiB: "
             f"{eris.remote_misses:.2f} vs. {shared.remote_misses:.2f}, {eris.remote_misses / shared.remote_misses:.2f}")
    emulated = f"emulated caches of {shared_access.CACHE['cache_kib']} KiB"
    for batch, (name, _) in FAR_LOOKUPS.items():
        run.goal(name, found.far_ratio("lookups", batch), f"{words_of(found.jobs['lookups', batch])}; {emulated}")
    worst = max(shared_access.BATCHES, key=lambda batch: found.far_ratio("upserts", batch))
    run.goal(FAR_UPSERTS, found.far_ratio("upserts", worst),
             f"keys that are there, the worst of batches of {', '.join(map(str, shared_access.BATCHES))}: {worst}, "
             f"{words_of(found.jobs['upserts', worst])}; {emulated}")
    each = ", ".join(f"{operation} {batch}: {job['eris'].for_nothing:.4f}" for (operation, batch), job in found.jobs.items())
    run.goal(FALSE_SHARING, max(job["eris"].for_nothing for job in found.jobs.values()),
             f"lines that a cpu takes from another one's cache without touching what was written there; {each}; {emulated}")


LOCAL_ACCESS = Step(memory_local_access, {NAME: at_least(GOAL)}, test="tests/numa/local_access_test.py")
SHARED_ACCESS = Step(compared_with_shared, {REMOTE_ACCESSES: at_most(0.25), **dict(FAR_LOOKUPS.values()), FAR_UPSERTS: at_most(0.35),
                                             FALSE_SHARING: at_most(0)},
                     test="tests/numa/shared_access_test.py")
