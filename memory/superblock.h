// A superblock's inside: a header with the owners of its spans, then the spans. Paper:
// locality-aware scheduling in Bobox, 5.1 and 5.2.
//
//   base                                                                          base + bytes
//   |colour|head|Span x n|bitmaps x n| rest of that span | span | span | ... | span |
//
// All information about a block is found from its address, inside its own superblock: on the same
// NumaNode and, with huge pages, behind the same TLB entry. Superblocks start at equal addresses
// modulo their size, so headers at their beginning would compete for one set of each cache. A
// colour of 0 .. 63 lines spreads them.
//
// Access: the head and the lists are guarded by the manager's mutex, but for `pool` and `home`,
// which the thread of a cache with a block of it may read. A Span in use and its bitmap belong to
// the thread of the LocalCache that owns it; a Span's place in its run is written only when spans
// without blocks change hands.
#ifndef ERIS_MEMORY_SUPERBLOCK_H_
#define ERIS_MEMORY_SUPERBLOCK_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "memory/size_class.h"

namespace eris::memory {

class LocalCache;
class NumaNodePool;
struct SuperblockList;

inline constexpr size_t kSuperblockBytesMin = 2u << 20;  // one huge page
inline constexpr size_t kSuperblockBytesMax = 32u << 20;
inline constexpr size_t kSpansMax = kSuperblockBytesMax / kSpanBytes;

// A run of spans in use; the entry of its first span describes it.
struct alignas(base::kCacheLineBytes) Span {
  Span* next;  // in its cache's list of spans with free blocks
  Span* prev;
  uint64_t* free_bits;  // a bit per block: free, and not in a magazine
  std::byte* blocks;    // the first one
  uint32_t capacity;    // blocks
  uint32_t used;        // blocks not marked free
  uint64_t reciprocal;  // of the blocks' size, for BlockIndex
  uint16_t size_class;
  uint16_t spans;      // length of the run
  uint16_t run_first;  // for every span of a run: the index of its first
  uint8_t bucket;      // the index of its list
  // How often blocks have been taken out of it. Shared: written by the owner, read by a census
  // on the thread of an AEU that has a block of it. relaxed: an old value is as good
  // (LocalCache::IsWhole).
  std::atomic<uint64_t> taken;
};
static_assert(sizeof(Span) == base::kCacheLineBytes);

struct alignas(base::kCacheLineBytes) Superblock {
  // Guarded by the manager's mutex.
  NumaNodePool* pool;    // in whose address space it is
  NumaNodePool* home;    // whose pages it has
  SuperblockList* list;  // the cache's (only that one uses it) or the manager's (shared)
  Superblock* next;      // in the bucket of `list`
  Superblock* prev;
  Superblock* all_next;  // of the manager
  Superblock* all_prev;
  uint32_t free_spans;
  uint32_t bucket;
  std::array<uint64_t, kSpansMax / 64> free_bits;  // a bit per free span
};
static_assert(sizeof(Superblock) % base::kCacheLineBytes == 0);

// Offsets inside a superblock of a given size. A value; any thread.
class SuperblockLayout {
 public:
  // REQUIRES: a power of two, kSuperblockBytesMin .. kSuperblockBytesMax.
  constexpr explicit SuperblockLayout(size_t bytes)
      : mask_(bytes - 1), shift_(static_cast<uint32_t>(std::countr_zero(bytes))) {}

  constexpr size_t bytes() const { return mask_ + 1; }
  constexpr size_t spans() const { return bytes() / kSpanBytes; }

  void* Base(const void* inside) const {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(inside) & ~mask_);
  }
  Superblock* HeaderOf(const void* inside) const {
    const uintptr_t base = reinterpret_cast<uintptr_t>(inside) & ~mask_;
    const uintptr_t colour = (base >> shift_) % kColours;
    return reinterpret_cast<Superblock*>(base + colour * base::kCacheLineBytes);
  }
  size_t SpanIndex(const void* inside) const {
    return (reinterpret_cast<uintptr_t>(inside) & mask_) / kSpanBytes;
  }
  Span* Spans(Superblock* superblock) const {
    return reinterpret_cast<Span*>(reinterpret_cast<std::byte*>(superblock) + SpansOffset());
  }
  // The run that holds `block`. REQUIRES: it is in use.
  Span* RunOf(const void* block) const {
    Superblock* superblock = HeaderOf(block);
    Span* spans = Spans(superblock);
    return &spans[spans[SpanIndex(block)].run_first];
  }
  uint64_t* FreeBits(Superblock* superblock, size_t span) const {
    return reinterpret_cast<uint64_t*>(reinterpret_cast<std::byte*>(superblock) + BitsOffset()) +
           FreeBitsWord(span);
  }
  // The first word of a span among those of all spans.
  static constexpr size_t FreeBitsWord(size_t span) { return span * kWordsPerSpan; }
  constexpr size_t FreeBitsWords() const { return spans() * kWordsPerSpan; }
  // Everything before this offset from the base is header, for every colour.
  constexpr size_t HeaderBytes() const {
    return base::RoundUp(
        kColours * base::kCacheLineBytes + BitsOffset() + spans() * kWordsPerSpan * 8, 4096);
  }
  // How many bytes at the beginning of a span are header.
  constexpr size_t HeaderBytesIn(size_t span) const {
    const size_t begin = span * kSpanBytes;
    return HeaderBytes() <= begin ? 0 : std::min(HeaderBytes() - begin, kSpanBytes);
  }

 private:
  static constexpr size_t kColours = 64;
  static constexpr size_t kWordsPerSpan = kBlocksPerSpanMax / 64;

  constexpr size_t SpansOffset() const { return sizeof(Superblock); }
  constexpr size_t BitsOffset() const { return SpansOffset() + spans() * sizeof(Span); }

  uintptr_t mask_;
  uint32_t shift_;
};
static_assert(SuperblockLayout(kSuperblockBytesMin).HeaderBytes() < kSpanBytes);

// Superblocks with free spans, by how full they are: the fullest is used first, so that the
// emptiest can become empty and be returned.
struct SuperblockList {
  // By quarters. The last bucket holds superblocks that have nothing free but the span that the
  // header ends in, which serves only small blocks.
  static constexpr uint32_t kQuarters = 4;
  static constexpr uint32_t kBesideHeader = kQuarters;
  static constexpr uint32_t kBuckets = kQuarters + 1;
  // From kRemote on the same for superblocks on other NumaNodes, which are used when there are no
  // others, so that they become empty.
  static constexpr uint32_t kRemote = kBuckets;
  static constexpr uint32_t kFull = 2 * kBuckets;  // in no bucket
  std::array<Superblock*, kFull> buckets{};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SUPERBLOCK_H_
