// Operations of all kinds of partitions on key ranges, whose boundaries have 8 bytes, and on the
// chunks of copy transfers. Any thread. Paper: ERIS 3.3.2.
#ifndef ERIS_STORAGE_RANGE_OPS_H_
#define ERIS_STORAGE_RANGE_OPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "storage/exchange.h"
#include "storage/key.h"

namespace eris::memory {
class LocalCache;
}

namespace eris::storage {

std::string Text(const Range& range);

// Errors: InvalidArgument (a boundary longer than 8 bytes).
absl::Status CheckWidth(const Key& key);
absl::Status CheckWidth(const Range& range);

// Errors: InvalidArgument (neither an end of `range` nor all of it; boundaries).
absl::Status CheckEnd(const Range& end, const Range& range);

// The range that moves with the rows of `keys`, ascending, which are all of `leaving` or those at
// its end `from`.
Range ChunkRange(const Range& leaving, Exchange::End from, bool all,
                 const std::vector<uint64_t>& keys);

// Whether a chunk is valid by itself, whatever its target. Errors: InvalidArgument (boundaries,
// unequal columns, second parts of one-part keys, keys outside `covers` or not ascending).
absl::Status CheckChunk(const ExchangeChunk& chunk, bool two_parts = false);
// The same, for chunks without a value column.
absl::Status CheckChunkKeys(const ExchangeChunk& chunk, bool two_parts = false);

absl::Status NoMemory(absl::string_view what);

// For a partition's Rehome. Errors: InvalidArgument (the caches are of different objects: blocks
// could not be returned).
absl::Status CheckHome(const memory::LocalCache& from, const memory::LocalCache& to);

constexpr void MakeEmpty(Range& range) { range.hi = range.lo; }

// An empty range is adjacent to any.
constexpr bool Adjacent(const Range& a, const Range& b) {
  return a.Empty() || b.Empty() || a.hi == b.lo || b.hi == a.lo;
}

// Adds an adjacent range.
constexpr void Widen(Range& range, const Range& by) {
  if (by.Empty()) return;
  if (range.Empty()) {
    range = by;
  } else if (range.hi == by.lo) {
    range.hi = by.hi;
  } else {
    range.lo = by.lo;
  }
}

// Removes `end`, an end of `range` or all of it.
constexpr void CutOff(Range& range, const Range& end) {
  if (end.Empty()) return;
  if (end == range) {
    MakeEmpty(range);
  } else if (end.lo == range.lo) {
    range.lo = *end.hi;
  } else {
    range.hi = end.lo;
  }
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_RANGE_OPS_H_
