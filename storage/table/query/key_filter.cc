#include "storage/table/query/key_filter.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/check.h"
#include "storage/table/kernels/kernels.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {

// Words of the mask with at least so many rows are tested row by row, without looking at the mask.
constexpr int kDenseWord = 24;

bool KeyFilter::MayHave(const SegmentColumn& column) const {
  if (form_ == Form::kNone && known_.all()) return false;
  if (column.bounds == nullptr) return true;
  const uint64_t lo = column.bounds->min.u64;
  const uint64_t hi = column.bounds->max.u64;
  if (!known_.Has(lo) || !known_.Has(hi)) return true;
  if (form_ == Form::kNone) return false;
  const uint64_t most = min_ + last_;
  if (!is_signed_) return lo <= most && hi >= min_;
  return static_cast<int64_t>(lo) <= static_cast<int64_t>(most) &&
         static_cast<int64_t>(hi) >= static_cast<int64_t>(min_);
}

template <class T, class Test>
void KeyFilter::KeepRows(const T* values, uint32_t rows, uint64_t* mask, Test test) {
  for (uint32_t first = 0; first < rows; first += 64, values += 64) {
    uint64_t& word = mask[first / 64];
    if (word == 0) continue;
    uint64_t kept = 0;
    if (std::popcount(word) >= kDenseWord) {
      const uint32_t count = rows - first < 64 ? rows - first : 64;
      for (uint32_t i = 0; i < count; ++i) kept |= uint64_t{test(values[i])} << i;
      word &= kept;
      continue;
    }
    for (uint64_t left = word; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      kept |= uint64_t{test(values[i])} << i;
    }
    word = kept;
  }
}

template <bool kKnowsAll, class T>
void KeyFilter::KeepValues(const T* values, uint32_t rows, uint64_t* mask) const {
  const uint64_t min = min_;
  const uint64_t last = last_;
  const NumberRange known = known_;
  const auto number = [](T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  const auto unknown = [&](T value) { return !kKnowsAll && !known.Has(number(value)); };
  if (form_ == Form::kNone) {
    KeepRows(values, rows, mask, unknown);
    return;
  }
  if (form_ == Form::kBits) {
    KeepRows(values, rows, mask, [&](T value) -> bool {
      const uint64_t at = number(value) - min;
      const uint64_t bit = at <= last ? at : 0;
      return unknown(value) | ((at <= last) & (WordAt(bit / 64) >> bit % 64));
    });
    return;
  }
  KeepRows(values, rows, mask, [&](T value) -> bool {
    const uint64_t hash = HashOf(number(value));
    const uint64_t bits = BloomBits(hash);
    return unknown(value) | ((WordAt(BloomWord(hash)) & bits) == bits);
  });
}

void KeyFilter::Keep(const SegmentColumn& column, uint32_t base, uint32_t rows,
                     uint64_t* mask) const {
  ERIS_DCHECK(base % 64 == 0);
  const uint32_t words = (rows + 63) / 64;
  if (form_ == Form::kNone && known_.all()) {
    std::fill_n(mask, words, 0);
    return;
  }
  if (column.validity != nullptr) {
    for (uint32_t w = 0; w < words; ++w) mask[w] &= column.validity[base / 64 + w];
  }
  VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_integral_v<T>) {
      const T* const values = static_cast<const T*>(column.values) + base;
      known_.all() ? KeepValues<true>(values, rows, mask) : KeepValues<false>(values, rows, mask);
    }
  });
}

bool ColumnFilters::BeginSegment(const SegmentView& segment) {
  const bool known = segment.id != 0 && segment.id == segment_;
  segment_ = segment.id;
  bool may_pass = true;
  for (One& one : filters_) {
    may_pass = may_pass && one.what.filter->MayHave(segment.columns[one.what.column]);
    if (!known) one = {.what = one.what};
  }
  return may_pass;
}

uint32_t ColumnFilters::Keep(const SegmentView& segment, uint32_t base, uint32_t rows,
                             uint64_t* mask, uint32_t count) {
  for (One& one : filters_) {
    if (count == 0) return 0;
    if (one.off) continue;
    one.what.filter->Keep(segment.columns[one.what.column], base, rows, mask);
    one.looked += count;
    count = kernels::CountRows(mask, rows);
    one.passed += count;
    one.off = !one.what.required && one.looked >= kTriedRows &&
              uint64_t{one.passed} * 8 > uint64_t{one.looked} * kPassingMax;
  }
  return count;
}

}  // namespace eris::storage
