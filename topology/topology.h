// What the machine is: NumaNodes, cores, hardware threads, cache groups and distances, inside the
// set of cpus that the process may use. Real (hwloc) or synthetic (hwloc's synthetic strings).
// Plain values, immutable after construction; any thread. Paper: ERIS 2.
#ifndef ERIS_TOPOLOGY_TOPOLOGY_H_
#define ERIS_TOPOLOGY_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/types.h"

namespace eris::topology {

struct Core {
  NumaNodeId numa_node;        // the node its memory comes from: its own, or the nearest with memory
  uint32_t cache_group = 0;    // cores with the same number share a last-level cache
  std::vector<uint32_t> cpus;  // hardware threads, operating-system numbers; never empty
};

struct NumaNode {
  NumaNodeId id;            // dense, 0 .. n-1; not the operating system's number
  uint32_t os_index = 0;    // what mbind wants
  uint64_t memory_bytes = 0;  // 0: memory-less, not a place for data
  uint32_t core_count = 0;    // 0: memory only (CXL), no AEU here
};

class Topology {
 public:
  // Reads the machine; never fails on odd ones: memory-less NumaNodes and ones without cores are
  // kept and marked, a machine that shows no NUMA is one NumaNode.
  // Errors: Internal (hwloc could not read the system at all).
  static absl::StatusOr<Topology> Discover();
  // Parses an hwloc synthetic description such as "numa:4 core:2 pu:1".
  // Errors: InvalidArgument (names the description).
  static absl::StatusOr<Topology> Synthetic(const std::string& description);

  bool synthetic() const { return synthetic_; }
  const std::vector<NumaNode>& numa_nodes() const { return numa_nodes_; }
  // Ordered by NumaNode, then as the machine numbers them.
  const std::vector<Core>& cores() const { return cores_; }
  // Relative cost of reaching `to`'s memory from `from`; 10 is local.
  uint32_t Distance(NumaNodeId from, NumaNodeId to) const;
  // Memory the process may use, over all NumaNodes. For a synthetic topology: the real machine's.
  uint64_t memory_bytes() const { return memory_bytes_; }
  // Cpus of the real machine that this process may use, ascending; never empty.
  const std::vector<uint32_t>& allowed_cpus() const { return allowed_cpus_; }

 private:
  friend class TopologyBuilder;

  bool synthetic_ = false;
  uint64_t memory_bytes_ = 0;
  std::vector<NumaNode> numa_nodes_;
  std::vector<Core> cores_;
  std::vector<uint32_t> allowed_cpus_;
  std::vector<uint32_t> distances_;  // row-major, numa_nodes x numa_nodes
};

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_TOPOLOGY_H_
