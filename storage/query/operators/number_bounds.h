// Where the keys of a column lie: the numbers from `min` on, as far as `last` above it, so that a
// range of all 64 bits has a length. Any thread, no state. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_NUMBER_BOUNDS_H_
#define ERIS_STORAGE_QUERY_NUMBER_BOUNDS_H_

#include <algorithm>
#include <cstdint>

#include "storage/table/rows/segment_view.h"

namespace eris::storage {

struct NumberBounds {
  bool any = false;  // there is a key
  uint64_t min = 0;
  uint64_t last = 0;

  // Takes in the bounds of integers, dates or decimals.
  void Widen(const SegmentColumn::Bounds& bounds, bool is_signed) {
    const auto less = [=](uint64_t a, uint64_t b) {
      return is_signed ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
    };
    const uint64_t least = any ? std::min(bounds.min.u64, min, less) : bounds.min.u64;
    const uint64_t most = any ? std::max(bounds.max.u64, min + last, less) : bounds.max.u64;
    *this = {.any = true, .min = least, .last = most - least};
  }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_NUMBER_BOUNDS_H_
