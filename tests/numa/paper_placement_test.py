#!/usr/bin/env python3
"""Programs of the paper's figures put memory where they say, on several NumaNodes: bench/paper/node_matrix.cc has every
pair, bench/paper/shared_scan.cc each placement. Usage: paper_placement_test.py --build DIR. Ends with 77 where the guest
cannot run. Speeds say nothing there and are not looked at.
"""
import json
import pathlib
import subprocess
import sys

GUEST = pathlib.Path(__file__).resolve().parent / "guest.py"
NUMA_NODES = 4
MARGIN = 0.02  # pages that are shared out one by one


def problems(matrix, scans):
    found = {(pair["cpus_of"], pair["memory_of"]): pair for pair in matrix["pairs"]}
    if len(matrix["pairs"]) != NUMA_NODES ** 2 or len(found) != NUMA_NODES ** 2:
        yield f"not every pair of {NUMA_NODES} NumaNodes once: {sorted(found)}"
    for name, pair in found.items():
        if pair["pages_there"] != 1:
            yield f"pair {name}: {pair['pages_there']} of the pages are there"
        if (pair["distance"] == 10) != (pair["cpus_of"] == pair["memory_of"]):
            yield f"pair {name}: distance {pair['distance']}"
        for key in ("all_cores_gb_s", "one_core_gb_s", "latency_ns"):
            if pair[key]["median"] <= 0:
                yield f"pair {name}: {key} is {pair[key]['median']}"
    wanted = {"interleaved": [1 / NUMA_NODES] * NUMA_NODES, "single": [1] + [0] * (NUMA_NODES - 1)}
    parts = {scan["placement"]: scan["pages_of_numa_nodes"] for scan in scans}
    if set(parts) != {*wanted, "first_touch"}:
        yield f"placements {sorted(parts)}"
    for placement, expected in wanted.items():
        if any(abs(part - one) > MARGIN for part, one in zip(parts.get(placement, []), expected)):
            yield f"{placement}: {parts[placement]} of the pages on the NumaNodes, expected {expected}"


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "--build":
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[2])
    programs = build / "bench" / "paper"
    done = subprocess.run(
        [sys.executable, "-B", str(GUEST), "--timeout", "100", "--init", str(build / "tests" / "numa" / "numa_guest_init"),
         f"{NUMA_NODES}x1", str(programs / "node_matrix"), "--mib", "8", "--rounds", "1", "++",
         str(programs / "shared_scan"), "--rows", "2000000", "--rounds", "1"], text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    if done.returncode != 0:
        return done.returncode
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = list(problems(answers[0], answers[1:]))
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
