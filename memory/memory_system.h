// All the memory of one engine: the budget and one pool per NumaNode that has memory. The engine
// owns one; each data object's MemoryManagers take from its pools. Thread-safe. Paper: ERIS 3.1.
#ifndef ERIS_MEMORY_MEMORY_SYSTEM_H_
#define ERIS_MEMORY_MEMORY_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "eris/types.h"
#include "memory/memory_budget.h"
#include "memory/numa_node_pool.h"
#include "topology/topology.h"

namespace eris::memory {

class MemorySystem {
 public:
  // Takes nothing from the system yet. On a synthetic topology the pools are tags: nothing is
  // bound. `topology` is only read here.
  MemorySystem(const topology::Topology& topology, uint64_t limit_bytes);
  ~MemorySystem();  // REQUIRES: every MemoryManager on its pools is gone
  MemorySystem(const MemorySystem&) = delete;
  MemorySystem& operator=(const MemorySystem&) = delete;

  // The pool that serves `numa_node`: its own or, where it has no memory, that of the nearest
  // NumaNode with memory (its id() tells which). REQUIRES: the topology has `numa_node`. Lives as
  // long as this.
  NumaNodePool& pool(NumaNodeId numa_node);
  const NumaNodePool& pool(NumaNodeId numa_node) const;
  // Whether `numa_node` has a pool of its own. REQUIRES: the topology has `numa_node`.
  bool has_own_pool(NumaNodeId numa_node) const { return pool(numa_node).id() == numa_node; }
  uint32_t numa_node_count() const { return static_cast<uint32_t>(serving_pool_.size()); }

  uint64_t limit_bytes() const { return budget_.limit_bytes(); }
  // Taken from the system now, over all NumaNodes; never above limit_bytes().
  uint64_t reserved_bytes() const { return budget_.taken_bytes(); }
  // The first refusal of the kernel to bind memory, over all pools; OK while there was none. To be
  // told once: the engine goes on unbound.
  absl::Status binding_status() const;

 private:
  MemoryBudget budget_;
  // Immutable after construction.
  std::vector<std::unique_ptr<NumaNodePool>> pools_;
  std::vector<NumaNodePool*> serving_pool_;  // by NumaNodeId
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_SYSTEM_H_
