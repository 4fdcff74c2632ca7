// Turns what hwloc has loaded into a Topology; the one place that knows how odd machines are
// mended. Inside topology/ and its tests only.
#ifndef ERIS_TOPOLOGY_TOPOLOGY_BUILDER_H_
#define ERIS_TOPOLOGY_TOPOLOGY_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "topology/topology.h"

struct hwloc_topology;

namespace eris::topology {

// What the real machine allows, whatever topology is laid over it.
struct RealMachine {
  std::vector<uint32_t> allowed_cpus;  // ascending, never empty
  ProcessLimits limits{};
};

class TopologyBuilder {
 public:
  // The calling thread's affinity, and the limits of memory and time. Never fails: cpu 0 if nothing
  // is known.
  static RealMachine ReadRealMachine();

  // Cores of `loaded` inside `usable_cpus` (nullptr: all of them). Where no NumaNode tells its
  // memory, a description's share the real memory evenly; a real machine's first one stands for
  // all. Errors: InvalidArgument (no usable core).
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
