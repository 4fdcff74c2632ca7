#include "topology/topology.h"

#include <hwloc.h>

#include <cctype>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "topology/topology_builder.h"

namespace eris::topology {
namespace {

// The largest machine that makes sense to describe; a typing error must not use up the memory.
constexpr uint64_t kSyntheticCpusMax = 1u << 16;

struct HwlocDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, HwlocDeleter>;

HwlocTopology NewHwloc() {
  hwloc_topology_t topology = nullptr;
  return HwlocTopology(hwloc_topology_init(&topology) == 0 ? topology : nullptr);
}

absl::Status BadDescription(const std::string& description, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("synthetic topology \"", description, "\": ", reason,
                   "; expected an hwloc description such as \"numa:4 core:2 pu:1\""));
}

// The product of the counts of "type:count" levels; attributes in parentheses have no counts.
uint64_t DescribedCpus(const std::string& description) {
  uint64_t cpus = 1;
  int depth = 0;
  for (size_t i = 0; i < description.size(); ++i) {
    if (description[i] == '(') ++depth;
    if (description[i] == ')') --depth;
    const bool count_starts = depth == 0 &&
                              std::isdigit(static_cast<unsigned char>(description[i])) &&
                              (i == 0 || description[i - 1] == ':' || description[i - 1] == ' ');
    if (!count_starts) continue;
    uint64_t count = 0;
    while (i < description.size() && std::isdigit(static_cast<unsigned char>(description[i]))) {
      count = count * 10 + static_cast<uint64_t>(description[i++] - '0');
      if (count > kSyntheticCpusMax) return count;
    }
    --i;  // the loop's own step
    cpus *= count;
    if (cpus > kSyntheticCpusMax) return cpus;
  }
  return cpus;
}

}  // namespace

absl::StatusOr<Topology> Topology::Discover() {
  const RealMachine real = TopologyBuilder::ReadRealMachine();
  const HwlocTopology loaded = NewHwloc();
  if (loaded == nullptr) return absl::InternalError("hwloc cannot start");
  // Reads disallowed parts too, so that a core keeps its NumaNode if only that NumaNode's memory is
  // disallowed; `real.allowed_cpus` then restricts the cpus.
  if (hwloc_topology_set_flags(loaded.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
      hwloc_topology_load(loaded.get()) != 0) {
    return absl::InternalError("hwloc cannot read this system");
  }
  // HWLOC_XMLFILE and similar variables replace our machine by another one: nothing can be bound on
  // that.
  if (!hwloc_topology_is_thissystem(loaded.get())) {
    return TopologyBuilder::FromHwloc(loaded.get(), /*synthetic=*/true, nullptr, real);
  }
  return TopologyBuilder::FromHwloc(loaded.get(), /*synthetic=*/false, &real.allowed_cpus, real);
}

absl::StatusOr<Topology> Topology::Synthetic(const std::string& description) {
  if (const uint64_t cpus = DescribedCpus(description); cpus == 0 || cpus > kSyntheticCpusMax) {
    return BadDescription(
        description, absl::StrCat("more than ", kSyntheticCpusMax, " hardware threads, or none"));
  }
  const HwlocTopology loaded = NewHwloc();
  if (loaded == nullptr) return absl::InternalError("hwloc cannot start");
  if (hwloc_topology_set_synthetic(loaded.get(), description.c_str()) != 0 ||
      hwloc_topology_load(loaded.get()) != 0) {
    return BadDescription(description, "not understood");
  }
  // A described machine gets as many AEUs as it has cores.
  RealMachine real = TopologyBuilder::ReadRealMachine();
  real.limits.cpu_quota = 0;
  absl::StatusOr<Topology> result =
      TopologyBuilder::FromHwloc(loaded.get(), /*synthetic=*/true, nullptr, real);
  if (!result.ok()) return BadDescription(description, result.status().message());
  return result;
}

uint32_t Topology::Distance(NumaNodeId from, NumaNodeId to) const {
  ERIS_CHECK(from.value < numa_nodes_.size());
  ERIS_CHECK(to.value < numa_nodes_.size());
  return distances_[from.value * numa_nodes_.size() + to.value];
}

NumaNodeId Topology::NearestWithMemory(NumaNodeId from) const {
  ERIS_CHECK(from.value < numa_nodes_.size());
  if (numa_nodes_[from.value].memory_bytes > 0) return from;
  const NumaNode* nearest = nullptr;
  for (const NumaNode& candidate : numa_nodes_) {
    if (candidate.memory_bytes == 0) continue;
    if (nearest == nullptr || Distance(from, candidate.id) < Distance(from, nearest->id)) {
      nearest = &candidate;
    }
  }
  ERIS_CHECK(nearest != nullptr);  // the builder returns no topology without memory
  return nearest->id;
}

}  // namespace eris::topology
