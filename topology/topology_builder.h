// Turns what hwloc has loaded into a Topology. All corrections for unusual machines are here.
// Inside topology/ and its tests only.
#ifndef ERIS_TOPOLOGY_TOPOLOGY_BUILDER_H_
#define ERIS_TOPOLOGY_TOPOLOGY_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "topology/topology.h"

struct hwloc_topology;

namespace eris::topology {

// The limits of the real machine, whatever topology is used on it.
struct RealMachine {
  std::vector<uint32_t> allowed_cpus;  // ascending, never empty
  ProcessLimits limits{};
};

class TopologyBuilder {
 public:
  // The calling thread's affinity, and the limits of memory and time. Never fails: cpu 0 if nothing
  // is known.
  static RealMachine ReadRealMachine();

  // Cores of `loaded` inside `usable_cpus` (nullptr: all of them). If no NumaNode states its
  // memory, those of a description share the real memory evenly; on a real machine the first one
  // gets all. Errors: InvalidArgument (no usable core).
  static absl::StatusOr<Topology> FromHwloc(hwloc_topology* loaded, bool synthetic,
                                            const std::vector<uint32_t>* usable_cpus,
                                            const RealMachine& real);

  // From hwloc's XML export: machines that synthetic strings cannot describe. Binds nothing, like a
  // synthetic topology. Errors: InvalidArgument.
  static absl::StatusOr<Topology> FromXml(const std::string& xml,
                                          const std::vector<uint32_t>* usable_cpus,
                                          const RealMachine& real);

 private:
  TopologyBuilder(hwloc_topology* loaded, bool synthetic, const RealMachine& real);

  void AddNumaNodes();
  void AddCores(const std::vector<uint32_t>* usable_cpus);
  void AddUnknownCpus(const std::vector<uint32_t>& usable_cpus);
  void DropUseless();
  void AddDistances();
  void ReadDistances();
  void AddMemoryOwners();
  void OrderCores();

  hwloc_topology* const loaded_;
  Topology result_;
  uint64_t real_memory_bytes_;
  std::vector<uint32_t> hwloc_index_;  // by NumaNodeId: hwloc's logical index
};

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_TOPOLOGY_BUILDER_H_
