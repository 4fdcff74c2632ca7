// The caches of one data object on all NumaNodes, by number: any of them frees a block, and finds
// the one that it came from here. Shared by the object's managers. Any thread.
#ifndef ERIS_MEMORY_CACHE_DIRECTORY_H_
#define ERIS_MEMORY_CACHE_DIRECTORY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/check.h"
#include "base/mutex.h"
#include "memory/owner_table.h"

namespace eris::memory {

class LocalCache;
class MemoryManager;

// Caches of one object, at most: one per AEU.
inline constexpr uint32_t kCachesMax = 4096;
static_assert(kCachesMax < kPagesElsewhere);

class CacheDirectory {
 public:
  CacheDirectory() = default;
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;

  // The number of a cache that is about to be made; 0: kCachesMax have been given. Numbers are
  // never given again.
  OwnerId NewId() {
    base::MutexLock lock(&mu_);
    return count_ == kCachesMax ? OwnerId{0} : static_cast<OwnerId>(++count_);
  }
  void Set(OwnerId id, LocalCache* cache) {
    caches_[id].store(cache, std::memory_order_release);  // pairs with Of
  }
  // REQUIRES: a number that has been Set. The cache exists as long as its manager.
  LocalCache& Of(OwnerId id) const {
    // acquire: pairs with Set. A thread that holds a block of the cache was handed it in order
    // already.
    LocalCache* const cache = caches_[id].load(std::memory_order_acquire);
    ERIS_DCHECK(cache != nullptr);
    return *cache;
  }

  // The object's managers, for what has no cache as its owner. Throws std::bad_alloc.
  void Add(MemoryManager& manager) {
    base::MutexLock lock(&mu_);
    managers_.push_back(&manager);
  }
  void Remove(MemoryManager& manager) {
    base::MutexLock lock(&mu_);
    std::erase(managers_, &manager);
  }
  // The first manager for which `is` is true, in no order; nullptr: none.
  template <class Is>
  MemoryManager* Find(const Is& is) const {
    base::MutexLock lock(&mu_);
    for (MemoryManager* const manager : managers_) {
      if (is(*manager)) return manager;
    }
    return nullptr;
  }

 private:
  mutable base::Mutex mu_;
  uint32_t count_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<MemoryManager*> managers_ ABSL_GUARDED_BY(mu_);
  // Shared: written by Set, read by every cache. By OwnerId.
  std::array<std::atomic<LocalCache*>, kCachesMax + 1> caches_{};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_CACHE_DIRECTORY_H_
