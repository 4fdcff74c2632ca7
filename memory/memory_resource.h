// A LocalCache as a std::pmr::memory_resource. So the standard containers of an AEU count in its
// object's memory, lie on its NumaNode and need no lock. Used only by the cache's owner. When the
// cache returns nullptr this throws std::bad_alloc, because containers have no other error: catch
// it where the container grows.
#ifndef ERIS_MEMORY_MEMORY_RESOURCE_H_
#define ERIS_MEMORY_MEMORY_RESOURCE_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>

#include "base/cache_line.h"
#include "memory/local_cache.h"

namespace eris::memory {

class CacheMemoryResource final : public std::pmr::memory_resource {
 public:
  explicit CacheMemoryResource(LocalCache& cache) : cache_(cache) {}  // outlives the resource

 private:
  static constexpr size_t kBytesMax = std::numeric_limits<ptrdiff_t>::max();
  // Alignments above a cache line are refused: no class has them.
  static size_t BytesFor(size_t bytes, size_t alignment) {
    bytes = std::max<size_t>(bytes, 1);
    return alignment > kBlockAlignment ? base::RoundUp(bytes, base::kCacheLineBytes) : bytes;
  }
  void* do_allocate(size_t bytes, size_t alignment) override {
    if (alignment > base::kCacheLineBytes || bytes > kBytesMax) throw std::bad_alloc();
    void* block = cache_.Allocate(BytesFor(bytes, alignment));
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void do_deallocate(void* block, size_t bytes, size_t alignment) override {
    cache_.Free(block, BytesFor(bytes, alignment));
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* same = dynamic_cast<const CacheMemoryResource*>(&other);
    return same != nullptr && &same->cache_ == &cache_;
  }

  LocalCache& cache_;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_RESOURCE_H_
