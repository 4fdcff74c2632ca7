// All the memory of one engine: the budget, one pool per NumaNode that has memory, and the keeper
// that looks after them. The engine owns one; each data object's MemoryManagers take from its
// pools. Thread-safe. Paper: ERIS 3.1.
#ifndef ERIS_MEMORY_MEMORY_SYSTEM_H_
#define ERIS_MEMORY_MEMORY_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "eris/types.h"
#include "memory/memory_budget.h"
#include "memory/memory_keeper.h"
#include "memory/numa_node_pool.h"
#include "topology/topology.h"

namespace eris::memory {

struct MemoryOptions {
  enum class Placement : uint8_t {
    kLocal,        // each NumaNode's pool from its own memory
    kInterleaved,  // all pools from all NumaNodes in turn, as a program blind to them would
    kOneNumaNode,  // everything from `one_numa_node`
  };
  uint64_t limit_bytes = 0;
  Placement placement = Placement::kLocal;
  NumaNodeId one_numa_node{};  // REQUIRES (kOneNumaNode): the topology has it, with memory
  // When a NumaNode is full: superblocks from the nearest that is not, or a refusal.
  bool spill = false;
  PoolOptions pool{};
  // A background thread keeps superblocks ready and gives unused ones back; without, both happen
  // only when somebody calls Maintain.
  bool keeper = false;
  absl::Duration tick = absl::Milliseconds(250);
};

class MemorySystem {
 public:
  // Takes nothing from the system. On a synthetic topology the pools are tags: nothing is
  // bound. `topology` is only read here.
  MemorySystem(const topology::Topology& topology, const MemoryOptions& options);
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
  // Where superblocks for `numa_node` may come from when its pool has none; nearest first.
  const std::vector<NumaNodePool*>& spill(NumaNodeId numa_node) const;
  uint32_t numa_node_count() const { return static_cast<uint32_t>(serving_pool_.size()); }

  // For memory that is not a pool's, and counts all the same.
  MemoryBudget& budget() { return budget_; }
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
  std::vector<NumaNodePool*> serving_pool_;        // by NumaNodeId
  std::vector<std::vector<NumaNodePool*>> spill_;  // by NumaNodeId
  std::unique_ptr<MemoryKeeper> keeper_;           // ends before the pools
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_SYSTEM_H_
