#include "memory/memory_system.h"

#include "base/check.h"

namespace eris::memory {

MemorySystem::MemorySystem(const topology::Topology& topology, uint64_t limit_bytes)
    : budget_(limit_bytes) {
  const auto& numa_nodes = topology.numa_nodes();
  serving_pool_.resize(numa_nodes.size());
  for (const topology::NumaNode& numa_node : numa_nodes) {
    if (numa_node.memory_bytes == 0) continue;
    pools_.push_back(
        std::make_unique<NumaNodePool>(numa_node, /*bind=*/!topology.synthetic(), budget_));
    serving_pool_[numa_node.id.value] = pools_.back().get();
  }
  for (const topology::NumaNode& numa_node : numa_nodes) {
    if (numa_node.memory_bytes != 0) continue;
    const NumaNodeId nearest = topology.NearestWithMemory(numa_node.id);
    serving_pool_[numa_node.id.value] = serving_pool_[nearest.value];
  }
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

absl::Status MemorySystem::binding_status() const {
  for (const auto& pool : pools_) {
    if (absl::Status status = pool->binding_status(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace eris::memory
