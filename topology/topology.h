// The machine: NumaNodes, cores, hardware threads, cache groups and distances, restricted to the
// cpus that the process may use. Real (hwloc) or synthetic (hwloc's synthetic strings). Plain
// values, immutable after construction; any thread. Paper: ERIS 2.
#ifndef ERIS_TOPOLOGY_TOPOLOGY_H_
#define ERIS_TOPOLOGY_TOPOLOGY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/process_limits.h"
#include "eris/types.h"

namespace eris::topology {

struct Core {
  NumaNodeId numa_node;       // where its memory comes from: its home, or the nearest with memory
  NumaNodeId home_numa_node;  // the one it belongs to, with memory or without
  // Cores with the same number share a last-level cache. If the machine shows no cache, the cores
  // of a NumaNode are one group.
  uint32_t cache_group = 0;
  // By level, the first one 0: cores with the same number share that cache; 0: there is none.
  std::array<uint32_t, 4> caches{};
  // Hardware threads, operating-system numbers (a synthetic topology: its own numbers); never
  // empty.
  std::vector<uint32_t> cpus;
};

struct NumaNode {
  NumaNodeId id{};            // dense, 0 .. n-1; not the operating system's number
  uint32_t os_index = 0;      // the number that mbind needs
  uint64_t memory_bytes = 0;  // 0: memory-less (or not allowed for us), not a place for data
  uint32_t core_count = 0;    // cores whose home it is; 0: memory only (CXL), no AEU here
};

class Topology {
 public:
  // Reads the machine; never fails on unusual ones. NumaNodes without memory or without cores are
  // kept and marked; a machine that shows no NUMA is one NumaNode. Uses the calling thread's
  // affinity (taskset, cgroup) as the allowed cpus, so call it before pinning the thread.
  // Errors: Internal (hwloc could not read the system at all).
  static absl::StatusOr<Topology> Discover();
  // Parses an hwloc synthetic description such as "numa:4 core:2 pu:1".
  // Errors: InvalidArgument (names the description).
  static absl::StatusOr<Topology> Synthetic(const std::string& description);

  bool synthetic() const { return synthetic_; }
  const std::vector<NumaNode>& numa_nodes() const { return numa_nodes_; }  // by id; never empty
  // Ordered by NumaNode, then as the machine numbers them. Never empty.
  const std::vector<Core>& cores() const { return cores_; }
  // Relative cost of reaching `to`'s memory from `from`; 10 is local.
  uint32_t Distance(NumaNodeId from, NumaNodeId to) const;
  // `from` itself if it has memory; else the nearest NumaNode that has, lowest id first.
  NumaNodeId NearestWithMemory(NumaNodeId from) const;
  // Memory the process may use, over all NumaNodes: at most limits().memory_bytes, less if some
  // NumaNodes are not allowed. For a synthetic topology: limits().memory_bytes.
  uint64_t memory_bytes() const { return memory_bytes_; }
  // The system's limits for the process. The processor quota applies to a real machine; a synthetic
  // description has none.
  const ProcessLimits& limits() const { return limits_; }
  // Cpus of the real machine that this process may use, ascending; never empty.
  const std::vector<uint32_t>& allowed_cpus() const { return allowed_cpus_; }

 private:
  friend class TopologyBuilder;

  bool synthetic_ = false;
  uint64_t memory_bytes_ = 0;
  ProcessLimits limits_;
  std::vector<NumaNode> numa_nodes_;
  std::vector<Core> cores_;
  std::vector<uint32_t> allowed_cpus_;
  std::vector<uint32_t> distances_;  // row-major, numa_nodes x numa_nodes
};

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_TOPOLOGY_H_
