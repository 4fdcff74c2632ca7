// The lowest level of the prefix tree: a run of up to 56 pairs of key and value, in one block of 1
// to 15 cache lines. There are ten sizes: each size needs its own spans, and a run that grew line
// by line would be copied twice as often. Plain memory and pure functions; PrefixTree allocates.
// Single-threaded.
//
//   0        8                    16-aligned
//   |header  |tags[capacity]      |pairs[capacity]
//
// A tag is a byte of the key's hash. All tags are in the run's first cache line, and select the
// pair to read. So a lookup costs two cache misses, whatever the keys are, and a new pair is
// appended. Reading in order sorts the pairs first, if they are unsorted.
#ifndef ERIS_STORAGE_TREE_TREE_RUN_H_
#define ERIS_STORAGE_TREE_TREE_RUN_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/cache_line.h"
#include "base/check.h"
#include "storage/tree/tree_node.h"

namespace eris::storage {

struct Pair {
  uint64_t key;
  uint64_t value;
};
static_assert(sizeof(Pair) == 16);

inline constexpr unsigned kRunLinesMax = 15;
inline constexpr unsigned kRunPairsMax = 56;

// RunCapacity: the pairs, each with its tag, that fit in the lines next to the header. RunPairsAt:
// the offset of the pairs. RunLinesFor: the fewest lines of a run for this number of pairs (at
// least 1).
constexpr unsigned RunCapacity(unsigned lines) {
  return (lines * base::kCacheLineBytes - 8) / (sizeof(Pair) + 1);
}
constexpr unsigned RunPairsAt(unsigned lines) { return (8 + RunCapacity(lines) + 15) & ~15u; }
constexpr unsigned RunLinesFor(unsigned pairs) {
  const unsigned lines =
      (pairs * (sizeof(Pair) + 1) + 8 + base::kCacheLineBytes - 1) / base::kCacheLineBytes;
  return lines <= 4 ? lines : lines | 1;
}
// The next smaller size, 0 below the smallest.
constexpr unsigned SmallerRunLines(unsigned lines) { return lines <= 5 ? lines - 1 : lines - 2; }
constexpr bool RunFits(unsigned lines) {
  const unsigned capacity = RunCapacity(lines);
  return RunPairsAt(lines) + capacity * sizeof(Pair) <= lines * base::kCacheLineBytes &&
         8 + capacity <= base::kCacheLineBytes && RunLinesFor(capacity) == lines &&
         RunLinesFor(capacity + 1) > lines &&
         (lines == 1 ||
          (SmallerRunLines(RunLinesFor(capacity + 1)) == lines && RunFits(SmallerRunLines(lines))));
}
static_assert(RunFits(kRunLinesMax) && RunCapacity(kRunLinesMax) == kRunPairsMax);
inline constexpr unsigned kRunSizes = [] {
  unsigned sizes = 0;
  for (unsigned lines = kRunLinesMax; lines > 0; lines = SmallerRunLines(lines)) ++sizes;
  return sizes;
}();

// A byte that differs when any bit of the key differs: every bit influences the top byte of the
// product.
inline uint8_t TagOf(uint64_t key) {
  return static_cast<uint8_t>(((key ^ key >> 32) * 0x9e3779b97f4a7c15) >> 56);
}

struct TreeRun {
  uint8_t count;
  uint8_t sorted;  // this many of the first pairs ascend; all others are above them or unsorted
  uint8_t lines;
  uint8_t pairs_at;  // where the pairs begin, in units of 16 bytes
  uint8_t unused[4];

  uint8_t* tags() { return reinterpret_cast<uint8_t*>(this) + 8; }
  Pair* pairs() {
    return reinterpret_cast<Pair*>(reinterpret_cast<char*>(this) + size_t{pairs_at} * 16);
  }
  unsigned capacity() const { return RunCapacity(lines); }

  // A bit for each pair with the key's tag.
  uint64_t Candidates(uint64_t key) {
    const uint8_t tag = TagOf(key);
#ifdef __SSE2__
    // Compares the whole line at once, including the header: no branch depends on the number of
    // tags.
    const auto* line = reinterpret_cast<const __m128i*>(this);
    const __m128i all = _mm_set1_epi8(static_cast<char>(tag));
    const auto equal = [&](unsigned i) {
      const __m128i is = _mm_cmpeq_epi8(_mm_load_si128(line + i), all);
      return uint64_t{static_cast<unsigned>(_mm_movemask_epi8(is))} << (16 * i);
    };
    const uint64_t tags_equal = (equal(0) | equal(1) | equal(2) | equal(3)) >> 8;
    return tags_equal & ((uint64_t{1} << count) - 1);
#else
    uint64_t equal = 0;
    for (unsigned i = 0; i < count; ++i) equal |= uint64_t{tags()[i] == tag} << i;
    return equal;
#endif
  }
  // The pair of the key among the candidates, or nullptr.
  Pair* FindAmong(uint64_t candidates, uint64_t key) {
    for (; candidates != 0; candidates &= candidates - 1) {
      Pair* pair = pairs() + std::countr_zero(candidates);
      if (pair->key == key) return pair;
    }
    return nullptr;
  }
  Pair* Find(uint64_t key) { return FindAmong(Candidates(key), key); }

  // REQUIRES: room for it; the key is absent.
  void Append(uint64_t key, uint64_t value) {
    ERIS_DCHECK(count < capacity());
    Pair* all = pairs();
    if (sorted == count && (count == 0 || all[count - 1].key < key)) ++sorted;
    tags()[count] = TagOf(key);
    all[count++] = {key, value};
  }
  // The last pair takes its place.
  void Remove(Pair* pair);
  void Sort();
  // For sorted pairs: the first with a key >= `key`, or count.
  unsigned LowerBound(uint64_t key);
  // Truncate keeps the first `pairs`, DropFirst removes them. REQUIRES: sorted.
  void Truncate(unsigned pairs);
  void DropFirst(unsigned pairs);
  // Keeps the first `pairs` in their current order.
  void DropLast(unsigned pairs) {
    count = static_cast<uint8_t>(pairs);
    sorted = std::min(sorted, count);
  }
};
static_assert(sizeof(TreeRun) == 8);

// Makes a run of ascending pairs in `block` (lines x 64 bytes).
TreeRef WriteRun(void* block, unsigned lines, const Pair* pairs, unsigned count);
// The same pairs, in a block of another size. REQUIRES: room for them.
TreeRef CopyRun(TreeRun* from, unsigned lines, void* block);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_TREE_RUN_H_
