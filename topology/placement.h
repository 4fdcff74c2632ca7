// Where the AEUs go: a pure function of topology and options, and the text that explains it.
#ifndef ERIS_TOPOLOGY_PLACEMENT_H_
#define ERIS_TOPOLOGY_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/options.h"
#include "eris/types.h"
#include "topology/topology.h"

namespace eris::topology {

inline constexpr uint32_t kAeusMax = 4096;

struct AeuPlace {
  AeuId aeu;
  NumaNodeId numa_node;  // where its memory comes from
  int32_t cpu = -1;      // cpu of the real machine to pin to; -1: not pinned
  uint32_t core = 0;     // index into Topology::cores(); not pinned: where it would be
};

struct PlacementPlan {
  std::vector<AeuPlace> aeus;          // by AeuId
  std::vector<uint32_t> network_cpus;  // kept free of AEUs; empty: network threads run anywhere
  std::vector<std::string> notes;      // what the plan could not provide, one sentence each
};

// Reads placement, aeu_count, aeu_per_hardware_thread, network_cores and aeu_cpus of `options`.
//
// Number: without aeu_count there is one AEU per core (or hardware thread) that is left after the
// network cores. It is at least one, and together with the network cores at most the quota of
// processors, rounded up.
// Placement: an AEU takes a core (or a hardware thread) of the topology. Dense fills a NumaNode
// before the next, sparse goes round robin over the NumaNodes, none uses the NumaNodes of dense but
// pins nothing. AEUs beyond the number of cores start over at the first core. On a synthetic
// topology, whose cpus do not exist, AEUs are pinned round robin on the allowed cpus; aeu_cpus then
// names the topology's own cpus.
// Network cores are taken one by one from the NumaNode with the most cores left, last core first.
// More network cores than the machine can spare is a note, not an error.
// Errors: InvalidArgument (an unknown or repeated cpu in aeu_cpus, more than kAeusMax AEUs).
absl::StatusOr<PlacementPlan> PlanPlacement(const Topology& topology, const Options& options);

// Whether each NumaNode has a cpu left for other threads if each of its AEUs takes one.
bool LeavesCpusOnEachNumaNode(const Topology& topology, const PlacementPlan& plan);

// The machine and the plan as text for a person.
std::string Explain(const Topology& topology, const PlacementPlan& plan);

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_PLACEMENT_H_
