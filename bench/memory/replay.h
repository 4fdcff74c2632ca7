// Runs the records of a trace against an allocator, touching memory as the tree does: a new block's
// first words are written, a block's first word is read before it is freed. What a look-up of the
// tree would have brought into the cache by then - the slot and the block to be freed - is
// prefetched, so that the time is the allocator's and not the trace's. One thread.
#ifndef ERIS_BENCH_MEMORY_REPLAY_H_
#define ERIS_BENCH_MEMORY_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <span>

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

// Returns the sum of what was read, for the compiler's sake. The look-ahead is read behind the end
// of `records` too (trace.h).
template <class Allocator>
uint64_t Replay(Allocator& allocator, std::span<const TraceRecord> records, void** slots) {
  uint64_t sum = 0;
  const TraceRecord* const begin = records.data();
  for (size_t i = 0; i < records.size(); ++i) {
    __builtin_prefetch(&slots[begin[i + kLookAhead - 1].slot()], 1);
    const TraceRecord soon = begin[i + kBlockLookAhead];
    // A block that is yet to be allocated is not known here, and a stale address must not help.
    const void* block_soon = soon.is_free() ? slots[soon.slot()] : &slots[soon.slot()];
    __builtin_prefetch(block_soon, 1);
    const TraceRecord record = begin[i];
    void*& slot = slots[record.slot()];
    if (record.is_free()) {
      void* block = slot;
      sum += *static_cast<volatile uint64_t*>(block);
      allocator.Free(block, record.size_class());
    } else {
      void* block = allocator.Allocate(record.size_class(), slot);
      if (block == nullptr) [[unlikely]]
        Die("no memory");
      slot = block;
      Touch(block, i);
    }
  }
  return sum;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_REPLAY_H_
