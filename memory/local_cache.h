// An AEU's own cache in front of a MemoryManager: size classes with a free list each, and one span
// that all classes cut fresh blocks from. The common allocation takes no lock and no atomic
// read-modify-write. Used by the owning AEU's thread only; the usage counter alone may be read from
// elsewhere. Papers: ERIS 3.1; Bobox, 5.1.
#ifndef ERIS_MEMORY_LOCAL_CACHE_H_
#define ERIS_MEMORY_LOCAL_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/memory_manager.h"
#include "memory/size_class.h"

namespace eris::memory {

class LocalCache {
 public:
  explicit LocalCache(MemoryManager& manager);  // outlives the cache
  ~LocalCache();  // returns spans; blocks still allocated go with them (dropping an object is
                  // O(spans))
  LocalCache(const LocalCache&) = delete;
  LocalCache& operator=(const LocalCache&) = delete;

  // At least `bytes` (>= 1), aligned to 16; to 64 if `bytes` is a multiple of 64 (what alignas(64)
  // types are) or above 1 KiB. Contents unspecified. nullptr at the memory limit or by an injected
  // failure: the caller's structure must be unchanged.
  [[nodiscard]] void* Allocate(size_t bytes);
  // `bytes` as given to Allocate. REQUIRES: `block` comes from this cache.
  void Free(void* block, size_t bytes);

  // Sum of the ClassBytes of live blocks. Any thread (relaxed: a figure, it orders nothing).
  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  // What a block of `bytes` really occupies: its size class (size_class.h); a whole span above half
  // of one; whole superblocks above a span.
  static size_t ClassBytes(size_t bytes);

  // Tests: the n-th Allocate from now on (1 = the next) fails, and every one after it until called
  // with 0.
  void FailAllocationsFrom(uint64_t nth) { fail_from_ = nth; }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  // A block with a span or an extent of its own.
  struct LargeBlock {
    void* memory;
    size_t bytes;
  };
  static_assert(kClassedBytesMax <= kSpanBytes / 2);

  void* AllocateFresh(size_t size_class);
  void* AllocateLarge(size_t bytes);
  void FreeLarge(void* block);
  void ReturnLarge(const LargeBlock& large);
  // Puts [begin, end) on the free lists, as few blocks as possible; nothing of it is lost.
  void Recycle(std::byte* begin, std::byte* end);
  void PushFree(void* block, size_t size_class);
  // Only the owner writes, so a load and a store do.
  void AddUsed(uint64_t bytes) {
    used_bytes_.store(used_bytes_.load(std::memory_order_relaxed) + bytes,
                      std::memory_order_relaxed);
  }

  // Immutable after construction.
  MemoryManager& manager_;

  // Owned by the AEU thread.
  std::array<FreeBlock*, kSizeClasses> free_{};
  std::byte* fresh_ = nullptr;  // the untouched rest of the newest span
  std::byte* fresh_end_ = nullptr;
  std::vector<void*> spans_;
  std::vector<LargeBlock> large_;  // few: storage structures stay below half a span
  uint64_t fail_from_ = 0;

  // Shared: written by the AEU thread, read by anyone.
  std::atomic<uint64_t> used_bytes_{0};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_LOCAL_CACHE_H_
