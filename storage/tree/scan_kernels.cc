#include "storage/tree/scan_kernels.h"

#include <algorithm>
#include <limits>

#include "storage/tree/scan_copy.h"

namespace eris::storage {
namespace {

using internal::ForBytes;
using internal::ForStretches;
using internal::TakeAll;

// Writes each row, and then keeps its place or not: no branch depends on the values.
template <bool kBackward, bool kKeysOnly>
uint32_t TakeSome(const ScanPiece& piece, const ScanQuery& query, uint64_t* keys, uint64_t* values,
                  uint32_t room) {
  const uint64_t lo = query.values.lo;
  const uint64_t width = query.values.last - lo;
  uint32_t kept = 0;
  const auto look = [&](uint64_t key, uint64_t value) {
    keys[kept] = key;
    if constexpr (!kKeysOnly) values[kept] = value;
    kept += value - lo <= width;
  };
  if (kBackward && piece.rows <= room) {
    // Upwards, as in a copy; the result is reversed in the cache.
    const uint32_t rows = TakeSome<false, kKeysOnly>(piece, query, keys, values, room);
    std::reverse(keys, keys + rows);
    if constexpr (!kKeysOnly) std::reverse(values, values + rows);
    return rows;
  }
  if (piece.page != nullptr) {
    const uint64_t prefix = piece.page->header.prefix;
    ForBytes<kBackward>(piece, [&](unsigned byte) {
      look(prefix | byte, piece.page->slots[byte]);
      return kept < room;
    });
    return kept;
  }
  for (uint32_t i = 0; i < piece.rows && kept < room; ++i) {
    const Pair& pair = piece.pairs[kBackward ? piece.rows - 1 - i : i];
    look(pair.key, pair.value);
  }
  return kept;
}

template <bool kBackward>
TakeFunction TakeFunctionTowards(const ScanQuery& query) {
  if (query.Filters()) {
    return query.keys_only ? &TakeSome<kBackward, true> : &TakeSome<kBackward, false>;
  }
  return query.keys_only ? &TakeAll<kBackward, true> : &TakeAll<kBackward, false>;
}

// Sums in halves of 32 bits: without carries, so that the compiler vectorizes it.
struct HalfSums {
  uint64_t low = 0;
  uint64_t high = 0;
  void Add(uint64_t value) {
    low += value & 0xffffffff;
    high += value >> 32;
  }
  void AddTo(RangeAggregate& out) const {
    out.AddToSum(low, 0);
    out.AddToSum(high << 32, high >> 32);
  }
};

struct Added {
  uint32_t rows = 0;
  uint32_t last = 0;  // index of the last one added; valid if rows > 0
};

// `value_of(i)` for all i below `rows`, which is below 2^32.
template <bool kFilter, class ValueOf>
Added AddValues(uint32_t rows, const ValueRange& range, ValueOf value_of, RangeAggregate& out) {
  HalfSums sums;
  uint64_t min = out.min;
  uint64_t max = out.max;
  Added added{rows, rows - 1};
  if constexpr (kFilter) {
    added = {};
    const uint64_t width = range.last - range.lo;
    for (uint32_t i = 0; i < rows; ++i) {
      const uint64_t value = value_of(i);
      const bool keep = value - range.lo <= width;
      added.rows += keep;
      added.last = keep ? i : added.last;
      sums.Add(keep ? value : 0);
      const uint64_t low = keep ? value : std::numeric_limits<uint64_t>::max();
      const uint64_t high = keep ? value : 0;
      min = low < min ? low : min;
      max = high > max ? high : max;
    }
  } else {
    for (uint32_t i = 0; i < rows; ++i) {
      const uint64_t value = value_of(i);
      sums.Add(value);
      min = value < min ? value : min;
      max = value > max ? value : max;
    }
  }
  sums.AddTo(out);
  out.min = min;
  out.max = max;
  out.count += added.rows;
  return added;
}

template <bool kFilter>
void AddRows(const ScanPiece& piece, const ValueRange& range, RangeAggregate& out) {
  if (piece.page == nullptr) {
    const Pair* const pairs = piece.pairs;
    const Added added = AddValues<kFilter>(
        piece.rows, range, [pairs](uint32_t i) { return pairs[i].value; }, out);
    if (added.rows > 0) out.last_key = std::max(out.last_key, pairs[added.last].key);
    return;
  }
  ForStretches(piece, [&](unsigned byte, unsigned rows) {
    const uint64_t* const values = piece.page->slots + byte;
    const Added added = AddValues<kFilter>(
        rows, range, [values](uint32_t i) { return values[i]; }, out);
    const uint64_t last = piece.page->header.prefix | (byte + added.last);
    if (added.rows > 0) out.last_key = std::max(out.last_key, last);
  });
}

uint64_t FirstKept(const ScanPiece& piece, const ScanQuery& query) {
  uint64_t key = 0;
  TakeSome<false, true>(piece, query, &key, nullptr, 1);
  return key;
}

}  // namespace

TakeFunction TakeFunctionFor(const ScanQuery& query) {
  return query.Backward() ? TakeFunctionTowards<true>(query) : TakeFunctionTowards<false>(query);
}

void AddPiece(const ScanPiece& piece, const ScanQuery& query, RangeAggregate& out) {
  if (query.count_only) {
    RangeAggregate all{.count = piece.rows};
    if (query.Filters()) {
      all.count = 0;
      AddRows<true>(piece, query.values, all);
    }
    out.count += all.count;
    return;
  }
  if (!query.Filters()) {
    AddRows<false>(piece, query.values, out);
    out.first_key = std::min(out.first_key, piece.FirstKey());
    return;
  }
  const bool first = out.count == 0;
  AddRows<true>(piece, query.values, out);
  if (first && out.count > 0) out.first_key = std::min(out.first_key, FirstKept(piece, query));
}

}  // namespace eris::storage
