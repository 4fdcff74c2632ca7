// All memory of one engine: the budget, one pool per NumaNode that has memory, and their keeper
// thread. The engine owns one; each data object's MemoryManagers take memory from its pools.
// Thread-safe. Paper: ERIS 3.1.
#ifndef ERIS_MEMORY_MEMORY_SYSTEM_H_
#define ERIS_MEMORY_MEMORY_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "eris/types.h"
#include "memory/memory_keeper.h"
#include "memory/numa_node_pool.h"
#include "memory/system/memory_budget.h"
#include "topology/topology.h"

namespace eris::memory {

struct MemoryOptions {
  enum class Placement : uint8_t {
    kLocal,  // each NumaNode's pool from its own memory
    // all pools from all NumaNodes in turn, as for a program that does not know of NUMA
    kInterleaved,
    kOneNumaNode,  // everything from `one_numa_node`
  };
  uint64_t limit_bytes = 0;
  Placement placement = Placement::kLocal;
  NumaNodeId one_numa_node{};  // REQUIRES (kOneNumaNode): the topology has it, with memory
  // If a NumaNode is full: true takes superblocks from the nearest one that is not, false refuses.
  bool spill = false;
  PoolOptions pool{};
  // A background thread keeps superblocks ready and returns unused ones. Without it, both happen
  // only in calls of Maintain.
  bool keeper = false;
  absl::Duration tick = absl::Milliseconds(250);
};

class MemorySystem {
 public:
  // Takes nothing from the system. On a synthetic topology the pools are tags: nothing is
  // bound. `topology` is only read here.
  MemorySystem(const topology::Topology& topology, const MemoryOptions& options);
  ~MemorySystem();  // REQUIRES: every MemoryManager on its pools has been destroyed
  MemorySystem(const MemorySystem&) = delete;
  MemorySystem& operator=(const MemorySystem&) = delete;

  // The pool that serves `numa_node`: its own or, if it has no memory, that of the nearest NumaNode
  // with memory (see its id()). REQUIRES: the topology has `numa_node`. Valid as long as this
  // object.
  NumaNodePool& pool(NumaNodeId numa_node);
  const NumaNodePool& pool(NumaNodeId numa_node) const;
  // Whether `numa_node` has a pool of its own. REQUIRES: the topology has `numa_node`.
  bool has_own_pool(NumaNodeId numa_node) const { return pool(numa_node).id() == numa_node; }
  // The pools that superblocks for `numa_node` may come from when its own has none; nearest first.
  const std::vector<NumaNodePool*>& spill(NumaNodeId numa_node) const;
  uint32_t numa_node_count() const { return static_cast<uint32_t>(serving_pool_.size()); }

  // For memory that is not a pool's but counts too.
  MemoryBudget& budget() { return budget_; }
  uint64_t limit_bytes() const { return budget_.limit_bytes(); }
  // Taken from the system now, over all NumaNodes; never above limit_bytes().
  uint64_t reserved_bytes() const { return budget_.taken_bytes(); }
  // The kernel's first refusal to bind memory, over all pools; OK if there was none. Report it
  // once: the engine continues unbound.
  absl::Status binding_status() const;

 private:
  MemoryBudget budget_;
  // Immutable after construction.
  std::vector<std::unique_ptr<NumaNodePool>> pools_;
  std::vector<NumaNodePool*> serving_pool_;        // by NumaNodeId
  std::vector<std::vector<NumaNodePool*>> spill_;  // by NumaNodeId
  std::unique_ptr<MemoryKeeper> keeper_;           // must end before the pools
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_SYSTEM_H_
