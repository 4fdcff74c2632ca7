// A value near the middle of some, and those at a rank among a few. Pure functions. Not from the
// papers.
#ifndef ERIS_STORAGE_TABLE_RANK_PICK_H_
#define ERIS_STORAGE_TABLE_RANK_PICK_H_

#include <algorithm>
#include <cstdint>

namespace eris::storage {

// The middle one of three.
template <class Value>
Value MiddleOf(Value a, Value b, Value c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// One that is near the middle of `count` values, at least 9.
template <class Value>
Value PivotOf(const Value* values, uint64_t count) {
  const uint64_t step = (count - 1) / 8;
  const auto three = [&](uint64_t i) {
    return MiddleOf(values[i * step], values[(i + 1) * step], values[(i + 2) * step]);
  };
  return count < 40 ? MiddleOf(values[0], values[count / 2], values[count - 1])
                    : MiddleOf(three(0), three(3), three(6));
}

// The values at `rank` and behind it, of which `values` are put into another order, and nothing is
// computed with vectors. REQUIRES: rank < count; for `behind` rank + 1 < count; nullptr: not asked.
template <class Value>
void ValuesAtRank(Value* values, uint64_t count, uint64_t rank, Value* at, Value* behind) {
  Value* const middle = values + rank;
  std::nth_element(values, middle, values + count);
  *at = *middle;
  if (behind != nullptr) *behind = *std::min_element(middle + 1, values + count);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_RANK_PICK_H_
