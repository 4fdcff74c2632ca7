// For benchmarks whose memory accesses are counted (tests/numa): placements of memory by name, and
// cpus on which nothing but AEUs runs. What must not fail ends the program.
#ifndef ERIS_BENCH_COUNTED_CPUS_H_
#define ERIS_BENCH_COUNTED_CPUS_H_

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/must.h"
#include "bench/routing/machine.h"
#include "eris/options.h"
#include "topology/topology.h"

namespace eris::bench {

inline MemoryPlacement PlacementOf(const std::string& name) {
  if (name == "local") return MemoryPlacement::kLocal;
  if (name == "interleaved") return MemoryPlacement::kInterleaved;
  if (name == "one") return MemoryPlacement::kOneNumaNode;
  Die("no placement " + name);
}

inline void AllowThread(pid_t thread, const std::vector<uint32_t>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const uint32_t cpu : cpus) CPU_SET(cpu, &set);
  if (sched_setaffinity(thread, sizeof set, &set) != 0) Die("pinning failed");
}

// Which cpus AEUs get when accesses are counted, and which ones are left for all other threads.
struct CountedCpus {
  std::vector<uint32_t> aeus;
  std::vector<uint32_t> others;

  static CountedCpus Find() {
    const auto topology = Must(topology::Topology::Discover());
    CountedCpus found;
    std::vector<bool> has_aeu(topology.numa_nodes().size());
    for (const topology::Core& core : topology.cores()) {
      const bool first = !has_aeu[core.home_numa_node.value];
      has_aeu[core.home_numa_node.value] = true;
      for (const uint32_t cpu : core.cpus) {
        (first && cpu == core.cpus.front() ? found.aeus : found.others).push_back(cpu);
      }
    }
    if (found.aeus.size() < 2 || found.others.empty()) {
      Die("--counted needs two NumaNodes, and a cpu that no AEU has");
    }
    return found;
  }

  // Call it before an engine reads the machine, and after it has pinned its AEUs.
  void AllowAll() const {
    std::vector<uint32_t> all = aeus;
    all.insert(all.end(), others.begin(), others.end());
    AllowThread(0, all);
  }
  void KeepOthersAway() const {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      const auto thread = static_cast<pid_t>(std::stol(task.path().filename()));
      cpu_set_t set;
      if (sched_getaffinity(thread, sizeof set, &set) != 0) continue;  // it has ended
      if (CPU_COUNT(&set) > 1) AllowThread(thread, others);
    }
  }
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_COUNTED_CPUS_H_
