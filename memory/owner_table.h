// The owner of each span of a pool's address space: one entry per span, found by a subtraction and
// a shift. Free looks here first. The table is small (2 bytes per 64 KiB) and stays in the core's
// cache, unlike the superblocks' headers.
#ifndef ERIS_MEMORY_OWNER_TABLE_H_
#define ERIS_MEMORY_OWNER_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "memory/size_class.h"

namespace eris::memory {

// A LocalCache's number within its data object; 0: the span is free.
using OwnerId = uint16_t;
// In an entry: the span is on its way to that owner, which has not taken it in so far.
inline constexpr OwnerId kOnItsWay = 0x8000;
// In an entry: the span is the owner's, and its pages are on another NumaNode. So a block of it is
// not freed on the short way.
inline constexpr OwnerId kPagesElsewhere = 0x4000;

// A value: the beginning of a window of address space, and the entries of its spans. An entry is
// written when a span without blocks changes hands, which nobody reads meanwhile; and when a
// superblock changes hands with its blocks, or its pages come home (superblock_claim.h). A thread
// that holds one of those may read the entry before or after it, and either tells where the block
// belongs. relaxed, hence.
class OwnerTable {
 public:
  OwnerTable() = default;
  OwnerTable(const std::byte* begin, size_t bytes, OwnerId* entries)
      : begin_(reinterpret_cast<uintptr_t>(begin)), spans_(bytes / kSpanBytes), entries_(entries) {}

  bool Covers(const void* block) const {
    return (reinterpret_cast<uintptr_t>(block) - begin_) / kSpanBytes < spans_;
  }
  // Without kPagesElsewhere. 0 also for addresses outside.
  OwnerId Of(const void* block) const {
    return static_cast<OwnerId>(EntryOf(block) & ~kPagesElsewhere);
  }
  OwnerId EntryOf(const void* block) const {
    const uintptr_t span = (reinterpret_cast<uintptr_t>(block) - begin_) / kSpanBytes;
    return span < spans_ ? Entry(span).load(std::memory_order_relaxed) : OwnerId{0};
  }
  // REQUIRES: inside.
  void Set(const void* span, OwnerId owner) const {
    const uintptr_t at = (reinterpret_cast<uintptr_t>(span) - begin_) / kSpanBytes;
    ERIS_DCHECK(at < spans_);
    Entry(at).store(owner, std::memory_order_relaxed);
  }

 private:
  std::atomic_ref<OwnerId> Entry(uintptr_t span) const {
    return std::atomic_ref<OwnerId>(entries_[span]);
  }

  uintptr_t begin_ = 0;
  size_t spans_ = 0;
  OwnerId* entries_ = nullptr;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_OWNER_TABLE_H_
