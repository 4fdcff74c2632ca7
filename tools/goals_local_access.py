"""The memory goal that is counted in the NUMA lab: local accesses of the data path. Part of tools/goals.py."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "numa"))

import local_access  # noqa: E402
from local_access import BLIND, GOAL, INTERLEAVED, LOCAL, counting  # noqa: E402

NAME = "memory.local_access_ratio"


def memory_local_access(build, goal, no_goal):
    """Loads and stores of AEUs that go to their own NumaNode, beside memory placed blindly. `goal` and `no_goal` are goals.py's."""
    try:
        result = local_access.measure(build)
    except counting.CANNOT_COUNT as error:
        no_goal(NAME, ">=", GOAL, str(error).strip())
        return
    except counting.CountFailed as error:
        raise OSError(f"{NAME}: {error}") from error  # goals.py goes on with the next folder, and fails at the end
    local, interleaved, blind = LOCAL.values(), INTERLEAVED.values(), BLIND.values()
    apart = ", ".join(f"{name} {result.local_ratio([phase]):.4f}" for name, phase in LOCAL.items())
    goal(NAME, result.local_ratio(local), ">=", GOAL,
         f"{apart}; {result.total(local) / 1e6:.0f} M loads and stores of 8 AEUs on 4 NumaNodes; NUMA-blind "
         f"{result.local_ratio(blind):.2f}, with the engine's memory interleaved {result.local_ratio(interleaved):.2f}; "
         f"misses of a simulated cache of {local_access.CACHE['cache_kib']} KiB: {result.local_ratio(local, 'misses'):.4f}, "
         f"blind {result.local_ratio(blind, 'misses'):.2f}, interleaved {result.local_ratio(interleaved, 'misses'):.2f}")
