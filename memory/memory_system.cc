#include "memory/memory_system.h"

#include <algorithm>

#include "base/check.h"

namespace eris::memory {

MemorySystem::MemorySystem(const topology::Topology& topology, const MemoryOptions& options)
    : budget_(options.limit_bytes) {
  const auto& numa_nodes = topology.numa_nodes();
  std::vector<topology::NumaNode> with_memory;
  for (const topology::NumaNode& numa_node : numa_nodes) {
    if (numa_node.memory_bytes > 0) with_memory.push_back(numa_node);
  }
  const bool bind = !topology.synthetic();
  serving_pool_.resize(numa_nodes.size());
  for (const topology::NumaNode& numa_node : with_memory) {
    if (options.placement == MemoryOptions::Placement::kOneNumaNode &&
        numa_node.id != options.one_numa_node) {
      continue;
    }
    pools_.push_back(
        std::make_unique<NumaNodePool>(numa_node, bind, budget_, options.pool,
                                       options.placement == MemoryOptions::Placement::kInterleaved
                                           ? with_memory
                                           : std::vector<topology::NumaNode>{}));
    serving_pool_[numa_node.id.value] = pools_.back().get();
  }
  ERIS_CHECK(!pools_.empty());
  for (const topology::NumaNode& numa_node : numa_nodes) {
    NumaNodePool*& serving = serving_pool_[numa_node.id.value];
    if (serving != nullptr) continue;
    serving = options.placement == MemoryOptions::Placement::kOneNumaNode
                  ? pools_.front().get()
                  : serving_pool_[topology.NearestWithMemory(numa_node.id).value];
  }
  spill_.resize(numa_nodes.size());
  for (const topology::NumaNode& numa_node : numa_nodes) {
    if (!options.spill) break;
    std::vector<NumaNodePool*>& others = spill_[numa_node.id.value];
    for (const auto& pool : pools_) {
      if (pool.get() != serving_pool_[numa_node.id.value]) others.push_back(pool.get());
    }
    std::stable_sort(others.begin(), others.end(),
                     [&](const NumaNodePool* one, const NumaNodePool* other) {
                       return topology.Distance(numa_node.id, one->id()) <
                              topology.Distance(numa_node.id, other->id());
                     });
  }
  if (!options.keeper) return;
  std::vector<NumaNodePool*> kept;
  for (const auto& pool : pools_) kept.push_back(pool.get());
  keeper_ = std::make_unique<MemoryKeeper>(std::move(kept), options.tick);
}

MemorySystem::~MemorySystem() = default;

NumaNodePool& MemorySystem::pool(NumaNodeId numa_node) {
  ERIS_CHECK(numa_node.value < serving_pool_.size());
  return *serving_pool_[numa_node.value];
}

const NumaNodePool& MemorySystem::pool(NumaNodeId numa_node) const {
  ERIS_CHECK(numa_node.value < serving_pool_.size());
  return *serving_pool_[numa_node.value];
}

const std::vector<NumaNodePool*>& MemorySystem::spill(NumaNodeId numa_node) const {
  ERIS_CHECK(numa_node.value < spill_.size());
  return spill_[numa_node.value];
}

absl::Status MemorySystem::binding_status() const {
  for (const auto& pool : pools_) {
    if (absl::Status status = pool->binding_status(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace eris::memory
