// The memory of one data object on one NumaNode: takes superblocks from the node's pool and hands
// them, cut into spans, to the AEUs' caches. Thread-safe (a mutex: one call per span). Paper:
// ERIS 3.1
// ("one memory manager per multiprocessor and data object").
#ifndef ERIS_MEMORY_MEMORY_MANAGER_H_
#define ERIS_MEMORY_MEMORY_MANAGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/types.h"
#include "memory/numa_node_pool.h"

namespace eris::memory {

// What an AEU's cache takes at a time.
inline constexpr size_t kSpanBytes = 64u << 10;
static_assert(kSuperblockBytes % kSpanBytes == 0);

class MemoryManager {
 public:
  MemoryManager(ObjectId object, NumaNodePool& pool);  // `pool` outlives the manager
  // Returns every superblock, also those with spans not returned.
  ~MemoryManager();  // REQUIRES: no cache of it is left, every extent has been returned
  MemoryManager(const MemoryManager&) = delete;
  MemoryManager& operator=(const MemoryManager&) = delete;

  // kSpanBytes, aligned to that; nullptr at the limit. Spans come home with ReturnSpan or, all at
  // once, with the manager's end.
  [[nodiscard]] void* TakeSpan();
  void ReturnSpan(void* span);
  [[nodiscard]] void* TakeExtent(size_t bytes);  // for allocations over a span
  void ReturnExtent(void* extent, size_t bytes);

  ObjectId object() const { return object_; }
  NumaNodeId numa_node() const { return pool_.id(); }
  uint64_t reserved_bytes() const;  // superblocks and extents held now

 private:
  // Immutable after construction.
  const ObjectId object_;
  NumaNodePool& pool_;

  // Guarded by mu_.
  mutable base::Mutex mu_;
  std::vector<void*> superblocks_ ABSL_GUARDED_BY(mu_);
  std::vector<void*> free_spans_ ABSL_GUARDED_BY(mu_);  // last in, first out
  uint64_t extent_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_MANAGER_H_
