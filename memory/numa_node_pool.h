// Superblocks of one NumaNode: big aligned extents, bound to it before their first touch, reused
// last in, first out. Thread-safe (a mutex: one call per superblock, not per allocation). Papers:
// ERIS 3.1; locality-aware scheduling in Bobox, 5.1.
#ifndef ERIS_MEMORY_NUMA_NODE_POOL_H_
#define ERIS_MEMORY_NUMA_NODE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "memory/memory_budget.h"
#include "topology/topology.h"

namespace eris::memory {

// The unit of binding, and later of migration. One huge page, so that a small object costs little.
inline constexpr size_t kSuperblockBytes = 2u << 20;
// Returned superblocks that a pool keeps for reuse: their pages are already there, which saves the
// kernel's zeroing. What is beyond goes back to the system, and to the budget.
inline constexpr size_t kKeptSuperblocksMax = 4;

class NumaNodePool {
 public:
  // `bind`: ask the kernel for the node's memory (false on a synthetic topology: a tag only).
  // `budget` outlives the pool.
  NumaNodePool(const topology::NumaNode& node, bool bind, MemoryBudget& budget);
  ~NumaNodePool();  // REQUIRES: every superblock and extent has been returned
  NumaNodePool(const NumaNodePool&) = delete;
  NumaNodePool& operator=(const NumaNodePool&) = delete;

  // kSuperblockBytes, aligned to that; nullptr at the limit or when the system refuses. Contents
  // unspecified. May block on the system's mmap, not on other threads' work.
  // A bound pool also refuses near the end of its NumaNode's own memory (1/16 before), since the
  // kernel answers a bound page fault without a free page by killing the process.
  [[nodiscard]] void* TakeSuperblock();
  // A single extent of its own, `bytes` rounded up to superblocks; for what is larger than one.
  [[nodiscard]] void* TakeExtent(size_t bytes);
  void ReturnSuperblock(void* superblock);
  void ReturnExtent(void* extent, size_t bytes);  // `bytes` as given to TakeExtent

  NumaNodeId id() const { return node_.id; }
  uint64_t reserved_bytes()
      const;                      // taken from the system now, whether handed out or kept for reuse
  uint64_t in_use_bytes() const;  // handed out now
  // Whether the kernel accepts the binding. OK until it has refused once; the reason after that,
  // and no further attempt is made.
  absl::Status binding_status() const;

 private:
  // nullptr when budget, NumaNode or system refuse; accounted as reserved and in use otherwise.
  void* TakeFromSystem(size_t bytes);
  bool TryReserve(size_t bytes);
  void Unreserve(size_t bytes);
  void Bind(void* memory, size_t bytes);
  // Gives memory that is no longer in use back to the system.
  void ReturnToSystem(void* memory, size_t bytes);

  // Immutable after construction.
  const topology::NumaNode node_;
  const bool bind_;
  MemoryBudget& budget_;

  // Guarded by mu_.
  mutable base::Mutex mu_;
  std::vector<void*> free_superblocks_ ABSL_GUARDED_BY(mu_);
  uint64_t reserved_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t in_use_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status binding_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_NUMA_NODE_POOL_H_
