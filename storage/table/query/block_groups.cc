#include "storage/table/query/block_groups.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

bool IsNarrow(ColumnType type) { return ColumnValueBytes(type) == 4; }

uint64_t WordAt(const SegmentColumn& column, uint32_t row) {
  return VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) -> uint64_t {
    if constexpr (std::is_arithmetic_v<T>) {
      return GroupWord(static_cast<const T*>(column.values)[row]);
    } else {
      return 0;
    }
  });
}

}  // namespace

BlockGroups::BlockGroups(const PlanBody& plan) : plan_(plan), coders_(plan.group_columns.size()) {}

bool BlockGroups::SmallDomain(const SegmentColumn& column, Coder& coder) const {
  uint64_t values = 0;
  if (coder.dictionary) {
    values = column.dictionary->size;
  } else {
    if (column.type == ColumnType::kString || column.type == ColumnType::kFloat64 ||
        column.type == ColumnType::kInt128 || column.bounds == nullptr) {
      return false;
    }
    // Signed or not, the difference is the same modulo 2^64.
    coder.lo = column.bounds->min.u64;
    const uint64_t last = column.bounds->max.u64 - coder.lo;
    if (last >= uint64_t{1} << kCodeBitsMax) return false;
    values = last + 1;
  }
  // One more code, for null.
  coder.null_code = static_cast<uint32_t>(values);
  coder.bits = static_cast<uint32_t>(
      std::bit_width(column.validity != nullptr ? values : std::max<uint64_t>(values, 1) - 1));
  return coder.bits <= kCodeBitsMax;
}

void BlockGroups::BeginSegment(const SegmentView& segment) {
  const bool known = segment.id != 0 && segment.id == segment_;
  segment_ = segment.id;
  const bool was_direct = std::exchange(direct_, true);
  bool same = known && was_direct;  // each code still has the same meaning
  uint32_t bits = 0;
  for (size_t i = 0; i < coders_.size(); ++i) {
    const SegmentColumn& column = segment.columns[plan_.group_columns[i]];
    Coder& coder = coders_[i];
    coder.dictionary = column.dictionary != nullptr;
    if (coder.dictionary) {
      // Codes keep their strings, and strings keep their numbers.
      if (!known) coder.numbers.clear();
      coder.numbers.resize(column.dictionary->size, GroupTable::kNoGroup);
    }
    coder.shift = bits;
    const uint32_t bits_before = coder.bits;
    const uint32_t null_before = coder.null_code;
    const uint64_t lo_before = std::exchange(coder.lo, 0);
    direct_ = direct_ && SmallDomain(column, coder);
    same = same && coder.bits == bits_before && coder.null_code == null_before &&
           coder.lo == lo_before;
    bits += coder.bits;
  }
  direct_ = direct_ && bits <= kCodeBitsMax;
  if (direct_ && !same) groups_.assign(size_t{1} << bits, GroupTable::kNoGroup);
}

void BlockGroups::AddCodes(const SegmentColumn& column, const Coder& coder, uint32_t base,
                           uint32_t rows, bool first, uint32_t* codes) const {
  const auto add = [&](auto code_of) {
    if (first) {
      for (uint32_t i = 0; i < rows; ++i) codes[i] = code_of(i);
    } else {
      const uint32_t shift = coder.shift;
      for (uint32_t i = 0; i < rows; ++i) codes[i] |= code_of(i) << shift;
    }
  };
  const auto nullable = [&](auto code_of) {
    if (column.validity == nullptr) {
      add(code_of);
    } else {
      const uint64_t* const validity = column.validity + base / 64;
      add([&](uint32_t i) { return BitAt(validity, i) ? code_of(i) : coder.null_code; });
    }
  };
  if (coder.dictionary) {
    const auto* const values = static_cast<const uint16_t*>(column.values) + base;
    nullable([&](uint32_t i) { return uint32_t{values[i]}; });
  } else if (IsNarrow(column.type)) {
    const auto* const values = static_cast<const uint32_t*>(column.values) + base;
    const auto lo = static_cast<uint32_t>(coder.lo);
    nullable([&](uint32_t i) { return values[i] - lo; });
  } else {
    const auto* const values = static_cast<const uint64_t*>(column.values) + base;
    nullable([&](uint32_t i) { return static_cast<uint32_t>(values[i] - coder.lo); });
  }
}

bool BlockGroups::KeyOf(const SegmentView& segment, uint32_t row, GroupTable& table,
                        GroupKey& key) {
  key.nulls = 0;
  for (size_t i = 0; i < coders_.size(); ++i) {
    const SegmentColumn& column = segment.columns[plan_.group_columns[i]];
    uint64_t* const word = &key.words[table.word_of(i)];
    word[0] = 0;
    if (column.type == ColumnType::kInt128) word[1] = 0;
    if (column.validity != nullptr && !BitAt(column.validity, row)) {
      key.nulls = static_cast<uint16_t>(key.nulls | 1u << i);
    } else if (column.type == ColumnType::kInt128) {
      std::memcpy(word, static_cast<const Int128Halves*>(column.values) + row,
                  sizeof(Int128Halves));
    } else if (column.type != ColumnType::kString) {
      word[0] = WordAt(column, row);
    } else {
      uint32_t number = GroupTable::kNoGroup;
      const uint16_t code =
          coders_[i].dictionary ? static_cast<const uint16_t*>(column.values)[row] : uint16_t{0};
      if (coders_[i].dictionary) number = coders_[i].numbers[code];
      if (number == GroupTable::kNoGroup) number = table.Intern(StringAt(column, row));
      if (number == GroupTable::kNoGroup) return false;
      if (coders_[i].dictionary) coders_[i].numbers[code] = number;
      word[0] = number;
    }
  }
  return true;
}

bool BlockGroups::Find(const SegmentView& segment, uint32_t base, uint32_t rows,
                       const uint64_t* mask, GroupTable& table, uint32_t* ids) {
  bool fits = true;
  const auto find = [&](uint32_t row) {
    if (!fits) return GroupTable::kNoGroup;
    GroupKey key;
    uint32_t group = GroupTable::kNoGroup;
    if (KeyOf(segment, base + row, table, key)) group = table.FindOrAdd(key);
    fits = group != GroupTable::kNoGroup;
    return group;
  };
  if (!direct_) {
    ForRows(mask, rows, [&](uint32_t row) { ids[row] = find(row); });
    return fits;
  }
  alignas(64) uint32_t codes[kBlockRows];
  for (size_t i = 0; i < coders_.size(); ++i) {
    AddCodes(segment.columns[plan_.group_columns[i]], coders_[i], base, rows, i == 0, codes);
  }
  const uint32_t* const groups = groups_.data();
  // The value of a null is undefined, and a row that does not count may belong to an unknown group.
  const auto last = static_cast<uint32_t>(groups_.size() - 1);
  for (uint32_t i = 0; i < rows; ++i) ids[i] = groups[codes[i] & last];
  uint64_t unknown[kBlockWords];
  std::copy_n(mask, (rows + 63) / 64, unknown);
  kernels::KeepInRange(reinterpret_cast<const int32_t*>(ids), rows, -1, -1, false, unknown);
  ForRows(unknown, rows, [&](uint32_t row) {
    uint32_t& group = groups_[codes[row]];
    if (group == GroupTable::kNoGroup) group = find(row);
    ids[row] = group;
  });
  return fits;
}

}  // namespace eris::storage
