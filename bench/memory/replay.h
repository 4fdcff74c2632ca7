// Runs the records of a trace against an allocator, touching memory as the tree does: it writes a
// new block's first words, and reads a block's first word before it is freed. A lookup of the tree
// would already have fetched the slot and the block to free; so these are prefetched, and the
// measured time is the allocator's and not the trace's. One thread.
#ifndef ERIS_BENCH_MEMORY_REPLAY_H_
#define ERIS_BENCH_MEMORY_REPLAY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cache_line.h"
#include "bench/memory/trace.h"
#include "bench/routing/machine.h"

namespace eris::bench {

inline constexpr size_t kBlockLookAhead = 24;
static_assert(kBlockLookAhead < kLookAhead);

inline void Touch(void* block, uint64_t value) {
  auto* words = static_cast<volatile uint64_t*>(block);
  words[0] = value;
  words[1] = value;
}

// The touched part of a block: the header of a TreeNode.
struct TouchHeader {
  void Write(void* block, uint32_t, uint64_t value) const { Touch(block, value); }
  uint64_t Read(void* block, uint32_t) const { return *static_cast<volatile uint64_t*>(block); }
};
// Touches each of its cache lines.
struct TouchLines {
  void Write(void* block, uint32_t size_class, uint64_t value) const {
    for (size_t at = 0; at < bytes[size_class]; at += base::kCacheLineBytes) {
      *reinterpret_cast<volatile uint64_t*>(static_cast<std::byte*>(block) + at) = value;
    }
  }
  uint64_t Read(void* block, uint32_t size_class) const {
    uint64_t sum = 0;
    for (size_t at = 0; at < bytes[size_class]; at += base::kCacheLineBytes) {
      sum += *reinterpret_cast<volatile uint64_t*>(static_cast<std::byte*>(block) + at);
    }
    return sum;
  }
  const std::array<uint32_t, kTraceClassesMax>& bytes;
};

// Returns the sum of the read words, so that the compiler keeps the reads. Records after the end of
// `records` are read ahead too (trace.h).
template <class Allocator, class TouchPolicy = TouchHeader>
uint64_t Replay(Allocator& allocator, std::span<const TraceRecord> records, void** slots,
                const TouchPolicy& touch = {}) {
  uint64_t sum = 0;
  const TraceRecord* const begin = records.data();
  for (size_t i = 0; i < records.size(); ++i) {
    __builtin_prefetch(&slots[begin[i + kLookAhead - 1].slot()], 1);
    const TraceRecord soon = begin[i + kBlockLookAhead];
    // A block that no record has allocated is unknown here, and a stale address must not help: uses
    // the slot again. Without a branch, which would be unpredictable.
    void** slot_soon = &slots[soon.slot()];
    const auto known = reinterpret_cast<uintptr_t>(*slot_soon);
    const auto unknown = reinterpret_cast<uintptr_t>(slot_soon);
    const uintptr_t mask = uintptr_t{0} - uintptr_t{soon.is_free()};
    __builtin_prefetch(reinterpret_cast<const void*>((known & mask) | (unknown & ~mask)), 1);
    const TraceRecord record = begin[i];
    void*& slot = slots[record.slot()];
    if (record.is_free()) {
      void* block = slot;
      sum += touch.Read(block, record.size_class());
      allocator.Free(block, record.size_class());
    } else {
      void* block = allocator.Allocate(record.size_class(), slot);
      if (block == nullptr) [[unlikely]]
        Die("no memory");
      slot = block;
      touch.Write(block, record.size_class(), i);
    }
  }
  return sum;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_REPLAY_H_
