#include "tasks/core_groups.h"

#include <algorithm>
#include <map>
#include <utility>

namespace eris::tasks {
namespace {

// The lowest level of cache that the cores share; one more than all levels: none.
uint32_t CacheDistance(const topology::Core& core, const topology::Core& other) {
  for (uint32_t level = 0; level < core.caches.size(); ++level) {
    if (core.caches[level] != 0 && core.caches[level] == other.caches[level]) return level;
  }
  return static_cast<uint32_t>(core.caches.size());
}

}  // namespace

CoreGroups GroupCores(const topology::Topology& topology,
                      std::span<const topology::AeuPlace> places) {
  CoreGroups all;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;  // by NumaNode and cache
  for (uint32_t aeu = 0; aeu < places.size(); ++aeu) {
    const topology::AeuPlace& place = places[aeu];
    const std::pair key{place.numa_node.value, topology.cores()[place.core].cache_group};
    const auto [found, is_new] = known.try_emplace(key, static_cast<uint32_t>(all.groups.size()));
    if (is_new) all.groups.push_back({.numa_node = place.numa_node.value});
    CoreGroup& group = all.groups[found->second];
    all.group_of.push_back(found->second);
    all.member_of.push_back(static_cast<uint32_t>(group.members.size()));
    group.members.push_back(aeu);
  }
  for (uint32_t g = 0; g < all.groups.size(); ++g) {
    CoreGroup& group = all.groups[g];
    const auto groups = static_cast<uint32_t>(all.groups.size());
    for (uint32_t next = 1; next < groups; ++next) {
      const uint32_t other = (g + next) % groups;
      group.others.push_back(other);
      group.near += all.groups[other].numa_node == group.numa_node;
    }
    const auto distance = [&](uint32_t other) {
      const uint32_t node = all.groups[other].numa_node;
      return std::pair(node != group.numa_node,
                       topology.Distance(NumaNodeId{group.numa_node}, NumaNodeId{node}));
    };
    std::stable_sort(group.others.begin(), group.others.end(),
                     [&](uint32_t a, uint32_t b) { return distance(a) < distance(b); });
  }
  for (uint32_t aeu = 0; aeu < places.size(); ++aeu) {
    std::vector<uint32_t> near = all.groups[all.group_of[aeu]].members;
    std::erase(near, aeu);
    const auto distance = [&](uint32_t other) {
      return CacheDistance(topology.cores()[places[aeu].core],
                           topology.cores()[places[other].core]);
    };
    std::stable_sort(near.begin(), near.end(),
                     [&](uint32_t a, uint32_t b) { return distance(a) < distance(b); });
    all.near.push_back(std::move(near));
  }
  return all;
}

}  // namespace eris::tasks
