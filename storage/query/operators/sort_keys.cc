#include "storage/query/operators/sort_keys.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/lean_status.h"
#include "storage/table/kernels/kernels.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;

// Unsigned numbers in the order of the values; of 128 bits and strings the leading part.
uint64_t OrderCode(uint64_t value) { return value; }
uint64_t OrderCode(int64_t value) { return static_cast<uint64_t>(value) ^ kSignBit; }
uint64_t OrderCode(int32_t value) { return OrderCode(int64_t{value}); }
uint64_t OrderCode(double value) { return kernels::UnsignedOfKey(kernels::OrderKey(value)); }
uint64_t OrderCode(const Int128Halves& value) { return value.high ^ kSignBit; }
uint64_t OrderCode(std::string_view text) {
  uint64_t word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
  return __builtin_bswap64(word);
}

// Calls function(read) with read(row): the value of a row of the column, for OrderCode and Order.
template <class Function>
auto WithReader(const SegmentColumn& column, Function function) {
  return VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_void_v<T>) {
      return function([&column](uint32_t row) { return StringAt(column, row); });
    } else {
      return function([values = static_cast<const T*>(column.values)](uint32_t row) -> const T& {
        return values[row];
      });
    }
  });
}

int Sign(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

template <class T>
int Order(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return Sign(a.compare(b) <=> 0);
  } else if constexpr (std::is_same_v<T, Int128Halves>) {
    const int high = Sign(OrderCode(a) <=> OrderCode(b));
    return high != 0 ? high : Sign(a.low <=> b.low);
  } else {
    return Sign(OrderCode(a) <=> OrderCode(b));
  }
}

bool IsNullAt(const SegmentColumn& column, uint32_t row) {
  return column.validity != nullptr && !BitAt(column.validity, row);
}

bool HasIntegers(ColumnType type) {
  return VisitColumnType(type, []<class T>(ColumnTraits<T>) { return std::is_integral_v<T>; });
}

}  // namespace

absl::Status SortKeys::Check(std::span<const EnvelopeColumn> columns,
                             std::span<const SortKey> keys) {
  static_assert(kSortKeysMax == 64);
  if (keys.empty() || keys.size() > kSortKeysMax) {
    return base::LeanStatus(absl::StatusCode::kInvalidArgument, "a sort needs 1 to 64 keys");
  }
  for (const SortKey& key : keys) {
    if (key.column >= columns.size()) {
      return base::LeanStatus(absl::StatusCode::kInvalidArgument,
                              "the key of a sort is no column of its input");
    }
  }
  return absl::OkStatus();
}

SortKeys::SortKeys(const EnvelopeList& list, std::span<const SortKey> keys)
    : list_(list), count_(static_cast<uint32_t>(keys.size())) {
  ERIS_CHECK(count_ >= 1 && count_ <= kSortKeysMax);
  for (uint32_t i = 0; i < count_; ++i) {
    parts_[i].key = keys[i];
    parts_[i].type = list.columns()[keys[i].column].type;
  }
}

void SortKeys::Widen(const Envelope& envelope) {
  for (Part& part : std::span(parts_).first(count_)) {
    const SegmentColumn& column = envelope.column(part.key.column);
    part.nulls |= column.nulls > 0;
    if (column.bounds == nullptr || !HasIntegers(part.type)) continue;
    const bool is_unsigned = part.type == ColumnType::kUint64;
    uint64_t min = column.bounds->min.u64 ^ (is_unsigned ? 0 : kSignBit);
    uint64_t max = column.bounds->max.u64 ^ (is_unsigned ? 0 : kSignBit);
    if (part.any) {
      min = std::min(min, part.min);
      max = std::max(max, part.min + part.last);
    }
    part.any = true;
    part.min = min;
    part.last = max - min;
  }
}

void SortKeys::Decide() {
  uint32_t left = 64;
  for (rest_ = 0; rest_ < count_; ++rest_) {
    Part& part = parts_[rest_];
    const bool integers = HasIntegers(part.type);
    if (integers && !part.any) part.last = 0;  // only nulls
    const auto width = static_cast<uint32_t>(std::bit_width(part.last));
    const uint32_t null_bits = part.nulls ? 1 : 0;
    if (left <= null_bits) return;
    part.in_prefix = true;
    part.bits = std::min(width, left - null_bits);
    part.shift = width - part.bits;
    left -= part.bits + null_bits;
    if (!integers || part.shift > 0) return;
  }
}

void SortKeys::Prefixes(const Envelope& envelope, uint32_t first, uint32_t count,
                        uint64_t* prefixes) const {
  std::fill_n(prefixes, count, 0);
  for (const Part& part : std::span(parts_).first(count_)) {
    if (!part.in_prefix) return;
    AddToPrefixes(part, envelope.column(part.key.column), first, count, prefixes);
  }
}

void SortKeys::AddToPrefixes(const Part& part, const SegmentColumn& column, uint32_t first,
                             uint32_t count, uint64_t* prefixes) const {
  // REQUIRES of a shift: below 64. With 64 bits it is the only part, and there are no nulls.
  const uint64_t null_bit = part.nulls ? uint64_t{1} << part.bits : 0;
  const uint64_t of_null = part.key.nulls_first ? 0 : null_bit;
  const uint64_t of_value = part.key.nulls_first ? null_bit : 0;
  const uint32_t bits = part.bits + (part.nulls ? 1 : 0);
  const auto add = [=](uint64_t prefix, uint64_t field) {
    return bits == 64 ? field : prefix << bits | field;
  };
  WithReader(column, [&](auto read) {
    for (uint32_t i = 0; i < count; ++i) {
      if (IsNullAt(column, first + i)) {
        prefixes[i] = add(prefixes[i], of_null);
        continue;
      }
      const uint64_t code = OrderCode(read(first + i)) - part.min;
      const uint64_t value = part.key.descending ? part.last - code : code;
      prefixes[i] = add(prefixes[i], value >> part.shift | of_value);
    }
  });
}

int SortKeys::CompareRest(RowNumber a, RowNumber b) const {
  for (uint32_t i = rest_; i < count_; ++i) {
    const Part& part = parts_[i];
    const int order = Compare(part, list_[EnvelopeOf(a)].column(part.key.column), RowOf(a),
                              list_[EnvelopeOf(b)].column(part.key.column), RowOf(b));
    if (order != 0) return order;
  }
  return 0;
}

int SortKeys::Compare(const Part& part, const SegmentColumn& a, uint32_t row_a,
                      const SegmentColumn& b, uint32_t row_b) {
  const bool null_a = IsNullAt(a, row_a);
  const bool null_b = IsNullAt(b, row_b);
  if (null_a || null_b) {
    if (null_a == null_b) return 0;
    return null_a == part.key.nulls_first ? -1 : 1;
  }
  const int order = WithReader(a, [&](auto read_a) {
    return WithReader(b, [&](auto read_b) {
      if constexpr (std::is_same_v<decltype(read_a(row_a)), decltype(read_b(row_b))>) {
        return Order(read_a(row_a), read_b(row_b));
      } else {
        return 0;  // not met: both are of the list's type
      }
    });
  });
  return part.key.descending ? -order : order;
}

}  // namespace eris::storage
