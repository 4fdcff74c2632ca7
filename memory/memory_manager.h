// The memory of one data object on one NumaNode: takes superblocks from the node's pool and hands
// runs of spans to the AEUs' caches, which it owns. Thread-safe (a mutex: one call per run of
// spans). Papers: ERIS 3.1 ("one memory manager per multiprocessor and data object"); Hoard, as
// told in locality-aware scheduling in Bobox, 3.2 (the fullest superblock first).
//
// A cache that holds little shares superblocks with others, so that small objects stay small; one
// that holds more gets superblocks of its own, so that its pages can move with its data.
#ifndef ERIS_MEMORY_MEMORY_MANAGER_H_
#define ERIS_MEMORY_MEMORY_MANAGER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/types.h"
#include "memory/local_cache.h"
#include "memory/memory_account.h"
#include "memory/numa_node_pool.h"
#include "memory/superblock.h"

namespace eris::memory {

// Caches of one manager, at most: one per AEU of the NumaNode.
inline constexpr uint32_t kCachesMax = 4096;
// Up to so many spans a cache takes them from superblocks that it shares: one of each size that a
// small tree has.
inline constexpr size_t kSharedSpansMax = 16;

class MemoryManager {
 public:
  // `pool`, and `spill` to which superblocks are taken from when the pool has none (nearest first;
  // empty: then it refuses), outlive the manager and have superblocks of one size.
  MemoryManager(ObjectId object, NumaNodePool& pool, std::vector<NumaNodePool*> spill = {});
  // Returns every superblock and extent, whatever is allocated in them: dropping an object touches
  // no row. REQUIRES: no cache of it is used any more.
  ~MemoryManager();
  MemoryManager(const MemoryManager&) = delete;
  MemoryManager& operator=(const MemoryManager&) = delete;

  // A cache for the calling thread's AEU, as long as the manager lives: blocks may outlive their
  // AEU's interest in the object. nullptr: no memory, or kCachesMax of them.
  [[nodiscard]] LocalCache* NewCache();

  ObjectId object() const { return object_; }
  NumaNodeId numa_node() const { return pool_.id(); }
  uint64_t reserved_bytes() const;  // superblocks and extents held now
  uint64_t spilled_bytes() const;   // of those, on other NumaNodes
  ObjectAccount Account() const;    // O(caches x size classes)

  // Tests: refusals of runs and extents.
  FailurePoint& run_failures() { return run_failures_; }

 private:
  friend class LocalCache;

  // The first of a run of spans for blocks of that class; the caller fills its entry in. nullptr at
  // the limit.
  Span* TakeRun(LocalCache& cache, size_t size_class);
  void ReturnRun(LocalCache& cache, Span* run);
  [[nodiscard]] void* TakeExtent(size_t bytes);
  void ReturnExtent(void* extent, size_t bytes);
  // Of a block's owner. REQUIRES: 1 <= id.
  LocalCache& CacheOf(OwnerId id) const {
    // acquire: pairs with NewCache. Who holds a block of it has been handed that in order already.
    return *caches_[id].load(std::memory_order_acquire);
  }

  // `tries`: superblocks of each bucket that are looked at.
  Span* TakeFrom(SuperblockList& list, LocalCache& cache, size_t size_class, uint64_t tries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Span* TakeFrom(Superblock* superblock, LocalCache& cache, size_t size_class)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Span* TakeFromAny(LocalCache& cache, size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A superblock of the pools for `list`. The lock is given up meanwhile.
  Superblock* TakeSuperblock(SuperblockList& list) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const std::byte* SpanAt(const Superblock* superblock, size_t span) const;
  void Link(Superblock* superblock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unlink(Superblock* superblock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const ObjectId object_;
  NumaNodePool& pool_;
  const std::vector<NumaNodePool*> spill_;
  const SuperblockLayout layout_;
  FailurePoint run_failures_;

  // Guarded by mu_.
  mutable base::Mutex mu_;
  SuperblockList shared_ ABSL_GUARDED_BY(mu_);
  bool taking_shared_ ABSL_GUARDED_BY(mu_) = false;  // a superblock for it is on its way
  base::CondVar shared_taken_ ABSL_GUARDED_BY(mu_);
  Superblock* all_ ABSL_GUARDED_BY(mu_) = nullptr;
  uint64_t superblocks_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t spilled_ ABSL_GUARDED_BY(mu_) = 0;  // of those
  uint64_t free_span_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t extent_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<void*, size_t> extents_ ABSL_GUARDED_BY(mu_);
  uint32_t cache_count_ ABSL_GUARDED_BY(mu_) = 0;

  // Shared: written by NewCache, read by every cache. By OwnerId.
  std::array<std::atomic<LocalCache*>, kCachesMax + 1> caches_{};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_MANAGER_H_
