// The core groups of the AEUs: those that share a cache, and how far they are from each other.
// Plain data, immutable. Paper: locality-aware scheduling in Bobox, 4.1 and 4.2.
#ifndef ERIS_TASKS_CORE_GROUPS_H_
#define ERIS_TASKS_CORE_GROUPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "topology/placement.h"
#include "topology/topology.h"

namespace eris::tasks {

struct CoreGroup {
  uint32_t numa_node = 0;           // of their memory
  std::vector<uint32_t> members{};  // AEUs, ascending
  // All other groups, those of the same NumaNode first, then by distance. Among equal ones each
  // group begins behind itself, so not all AEUs without work come to the same one.
  std::vector<uint32_t> others{};
  uint32_t near = 0;  // how many of `others` are on the same NumaNode
};

struct CoreGroups {
  std::vector<CoreGroup> groups;
  std::vector<uint32_t> group_of;   // by AEU
  std::vector<uint32_t> member_of;  // by AEU: its place among the members
  // By AEU: the other members of its group, those with which it shares a lower cache first.
  std::vector<std::vector<uint32_t>> near;

  uint32_t aeus() const { return static_cast<uint32_t>(group_of.size()); }
  uint32_t NumaNodeOf(uint32_t aeu) const { return groups[group_of[aeu]].numa_node; }
};

// AEUs are in one group if their cores share the last cache and their memory comes from one
// NumaNode. `places`: by AEU, its core is one of the topology's.
CoreGroups GroupCores(const topology::Topology& topology,
                      std::span<const topology::AeuPlace> places);

}  // namespace eris::tasks

#endif  // ERIS_TASKS_CORE_GROUPS_H_
