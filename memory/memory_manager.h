// The memory of one data object on one NumaNode: takes superblocks from the NumaNode's pool and
// hands runs of spans to the AEUs' caches, which it owns. Thread-safe (a mutex: one call per run of
// spans). Papers: ERIS 3.1 ("one memory manager per multiprocessor and data object"); Hoard, as
// described in locality-aware scheduling in Bobox, 3.2 (the fullest superblock first).
//
// A cache with few spans shares superblocks with others, so that small objects stay small. A larger
// one gets superblocks of its own, so that its pages can move with its data.
#ifndef ERIS_MEMORY_MEMORY_MANAGER_H_
#define ERIS_MEMORY_MEMORY_MANAGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "base/mutex.h"
#include "eris/types.h"
#include "memory/cache_directory.h"
#include "memory/local_cache.h"
#include "memory/memory_account.h"
#include "memory/numa_node_pool.h"
#include "memory/superblock.h"

namespace eris::memory {

// A cache with up to this many spans takes them from shared superblocks: one of each size that a
// small tree has.
inline constexpr size_t kSharedSpansMax = 16;
// A pool that has refused memory is asked again after so many times that some was needed, if there
// is remote memory meanwhile.
inline constexpr uint32_t kHomeAskedEvery = 32;

class MemoryManager {
 public:
  // `pool` and `spill` outlive the manager, and have superblocks of one size. Superblocks come from
  // `spill`, nearest first, when `pool` has none; if it is empty the request is refused.
  // `directory`: the object's, for a manager whose blocks may be freed by caches of its others;
  // they all have superblocks of one size. nullptr: it is alone. Throws std::bad_alloc.
  MemoryManager(ObjectId object, NumaNodePool& pool, std::vector<NumaNodePool*> spill = {},
                std::shared_ptr<CacheDirectory> directory = nullptr);
  // Returns every superblock and extent, with everything allocated in them: dropping an object
  // touches no row. REQUIRES: no cache of it is used any more.
  ~MemoryManager();
  MemoryManager(const MemoryManager&) = delete;
  MemoryManager& operator=(const MemoryManager&) = delete;

  // A cache for the calling thread's AEU. It exists as long as the manager, because its blocks may
  // be used after the AEU has no more part of the object. nullptr: no memory, or the object has
  // kCachesMax caches.
  [[nodiscard]] LocalCache* NewCache();

  ObjectId object() const { return object_; }
  NumaNodeId numa_node() const { return pool_.id(); }
  // Whether blocks of either may be freed by caches of the other.
  bool SharesCachesWith(const MemoryManager& other) const { return directory_ == other.directory_; }
  uint64_t reserved_bytes() const;  // superblocks and extents held now
  uint64_t spilled_bytes() const;   // part of reserved: on other NumaNodes
  ObjectAccount Account() const;    // O(caches x size classes)

  // For tests: refusals of runs and extents.
  FailurePoint& run_failures() { return run_failures_; }

 private:
  friend class LocalCache;

  // The first span of a run for blocks of that class; the caller fills in its entry. nullptr at the
  // limit.
  Span* TakeRun(LocalCache& cache, size_t size_class);
  // The same, of the own NumaNode's pool alone.
  Span* TakeRunAtHome(LocalCache& cache, size_t size_class);
  void ReturnRun(LocalCache& cache, Span* run);
  [[nodiscard]] void* TakeExtent(size_t bytes, std::atomic<uint64_t>& taken_bytes);
  // The extent may be another manager's of the object.
  void ReturnExtent(void* extent);
  bool HasExtent(const void* extent) const;
  // False: the extent is not this manager's.
  bool TryReturnExtent(void* extent);
  // The cache that owns a block. REQUIRES: 1 <= id.
  LocalCache& CacheOf(OwnerId id) const { return directory_->Of(id); }

  // From a superblock at home, or from a remote one. `tries`: how many of each bucket to try.
  Span* TakeFrom(const SuperblockList& list, LocalCache& cache, size_t size_class, uint64_t tries,
                 bool remote = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // When the list has none at home: from a new superblock, from one of the list that is remote, or
  // from any.
  Span* TakeFromNew(SuperblockList& list, LocalCache& cache, size_t size_class)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Span* TakeFrom(Superblock* superblock, LocalCache& cache, size_t size_class)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Span* TakeFromAny(LocalCache& cache, size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Superblocks that change hands with their blocks; see superblock_claim.cc.
  //
  // Whether `is_whole` is true of a superblock from which `cache` has spans. False: it has been
  // returned.
  bool Check(LocalCache& cache, const SuperblockPlace& place,
             absl::FunctionRef<bool(Superblock*)> is_whole);
  // If so, calls `give` and takes the superblock off all lists.
  bool GiveUp(LocalCache& cache, const SuperblockPlace& place,
              absl::FunctionRef<bool(Superblock*)> is_whole,
              absl::FunctionRef<void(Superblock*)> give);
  // For a superblock that another manager has given up. It is in no figure until `cache` adopts it;
  // true: its pages are at home.
  void Receive(const SuperblockPlace& place);
  bool Adopt(LocalCache& cache, const SuperblockPlace& place);
  // Takes a superblock of `cache` off the lists, so that no other thread writes to its header while
  // its pages move. nullptr: it is at home, has been returned, or other caches have spans of it.
  Superblock* BeginMove(LocalCache& cache, const SuperblockPlace& place);
  void EndMove(LocalCache& cache, Superblock* superblock, bool moved);
  // nullptr: it is not this manager's.
  Superblock* Held(const SuperblockPlace& place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t UsedSpans(const Superblock& superblock) const;
  uint64_t FreeSpanBytes(const Superblock& superblock) const;

  // Takes a superblock for `list` from the own pool, or, if `spill`, from the others. Releases the
  // lock meanwhile.
  Superblock* TakeSuperblock(SuperblockList& list, bool spill) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const std::byte* SpanAt(const Superblock* superblock, size_t span) const;
  void Link(Superblock* superblock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unlink(Superblock* superblock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same for `all`, which is all_ or arriving_.
  static void LinkTo(Superblock*& all, Superblock* superblock);
  static void UnlinkFrom(Superblock*& all, Superblock* superblock);
  // Returns one that is in no list to its pool.
  void Return(Superblock* superblock) const;

  // Immutable after construction.
  const ObjectId object_;
  NumaNodePool& pool_;
  const std::vector<NumaNodePool*> spill_;
  const SuperblockLayout layout_;
  const std::shared_ptr<CacheDirectory> directory_;
  FailurePoint run_failures_;

  // Guarded by mu_.
  mutable base::Mutex mu_;
  SuperblockList shared_ ABSL_GUARDED_BY(mu_);
  bool taking_shared_ ABSL_GUARDED_BY(mu_) = false;  // a thread is taking a superblock for it
  base::CondVar shared_taken_ ABSL_GUARDED_BY(mu_);
  Superblock* all_ ABSL_GUARDED_BY(mu_) = nullptr;
  Superblock* arriving_ ABSL_GUARDED_BY(mu_) = nullptr;  // received, not adopted so far
  // How often runs are still taken from remote superblocks before the own pool is asked.
  uint32_t home_refused_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t superblocks_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t spilled_ ABSL_GUARDED_BY(mu_) = 0;  // of those
  uint64_t free_span_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t extent_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  struct Extent {
    size_t bytes;
    std::atomic<uint64_t>* taken_bytes;  // of the cache that has taken it
  };
  std::map<void*, Extent> extents_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<LocalCache>> caches_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_MANAGER_H_
