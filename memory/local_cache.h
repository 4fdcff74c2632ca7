// An AEU's own cache in front of a MemoryManager: size classes with a free list each. The common
// allocation takes no lock and no atomic read-modify-write. Used by the owning AEU's thread only; the
// usage counter alone may be read from elsewhere. Papers: ERIS 3.1; Bobox, 5.1.
#ifndef ERIS_MEMORY_LOCAL_CACHE_H_
#define ERIS_MEMORY_LOCAL_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/memory_manager.h"

namespace eris::memory {

class LocalCache {
 public:
  explicit LocalCache(MemoryManager& manager);  // outlives the cache
  ~LocalCache();  // returns spans; blocks still allocated go with them (dropping an object is O(spans))
  LocalCache(const LocalCache&) = delete;
  LocalCache& operator=(const LocalCache&) = delete;

  // At least `bytes` (>= 1), aligned to 16, to 64 from 64 bytes on; contents unspecified.
  // nullptr at the memory limit or by an injected failure: the caller's structure must be unchanged.
  [[nodiscard]] void* Allocate(size_t bytes);
  // `bytes` as given to Allocate.
  void Free(void* block, size_t bytes);

  // Sum of the size-class bytes of live blocks. Any thread (relaxed: a figure, it orders nothing).
  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  // What a block of `bytes` really occupies.
  static size_t ClassBytes(size_t bytes);

  // Tests: the n-th Allocate from now on (1 = the next) fails, and every one after it until called
  // with 0.
  void FailAllocationsFrom(uint64_t nth) { fail_from_ = nth; }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  static constexpr size_t kClassesMax = 64;

  void* Refill(size_t size_class);

  // Immutable after construction.
  MemoryManager& manager_;

  // Owned by the AEU thread.
  std::array<FreeBlock*, kClassesMax> free_{};
  // The untouched rest of each class's newest span.
  std::array<std::byte*, kClassesMax> fresh_{};
  std::array<std::byte*, kClassesMax> fresh_end_{};
  std::vector<void*> spans_;
  uint64_t fail_from_ = 0;

  // Shared: written by the AEU thread, read by anyone.
  std::atomic<uint64_t> used_bytes_{0};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_LOCAL_CACHE_H_
