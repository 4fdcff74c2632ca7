"""The memory goal that is counted in the NUMA lab: local accesses of the data path. Part of tools/goals.py."""
import sys

from goals_run import ROOT, Step, at_least

sys.path.insert(0, str(ROOT / "tests" / "numa"))

import local_access  # noqa: E402
from local_access import BLIND, GOAL, INTERLEAVED, LOCAL, counting  # noqa: E402

NAME = "memory.local_access_ratio"


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


LOCAL_ACCESS = Step(memory_local_access, {NAME: at_least(GOAL)}, test="tests/numa/local_access_test.py")
