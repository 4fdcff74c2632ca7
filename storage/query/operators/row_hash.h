// Where rows go by the values of their keys: a hash that is the same for equal keys of one class
// (JoinKeys::Check), whichever side of a join they come from. Pure functions; any thread. Not from
// the papers.
#ifndef ERIS_STORAGE_QUERY_ROW_HASH_H_
#define ERIS_STORAGE_QUERY_ROW_HASH_H_

#include <cstdint>
#include <span>

#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// The hashes of the rows [base, base + rows) of a view, at most kBlockRows, from a multiple of 64
// on. Nulls are equal, and so are zeros and NaNs, as in groups.
void HashRows(const SegmentView& view, std::span<const uint32_t> keys, uint32_t base, uint32_t rows,
              uint64_t* hashes);

// One of `targets` by a hash.
constexpr uint32_t TargetOf(uint64_t hash, uint32_t targets) {
  return static_cast<uint32_t>((hash >> 32) * targets >> 32);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_ROW_HASH_H_
