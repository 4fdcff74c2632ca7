#include "storage/table/query/block_groups.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/cache_line.h"
#include "base/prefetch.h"
#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

bool IsNarrow(ColumnType type) { return ColumnValueBytes(type) == 4; }

constexpr uint32_t kRowsAhead = 512;

// Whether rows, which are ascending, follow each other.
bool Follow(const uint16_t* picks, uint32_t count) {
  return count > 0 && uint32_t{picks[count - 1]} - picks[0] == count - 1;
}

// Writes the words of picked values, every so many words.
template <class T>
void PutWords(const T* values, const uint16_t* picks, uint32_t count, uint32_t stride,
              uint64_t* words) {
  if (stride == 1 && Follow(picks, count)) {
    const T* const from = values + picks[0];
    for (uint32_t k = 0; k < count; ++k) words[k] = GroupWord(from[k]);
    // What is done between two such pieces keeps the core's own prefetcher from following.
    for (uint32_t k = 0; k < count; k += base::kCacheLineBytes / sizeof(T)) {
      base::Prefetch(from + kRowsAhead + k);
    }
    return;
  }
  for (uint32_t k = 0; k < count; ++k) words[k * stride] = GroupWord(values[picks[k]]);
}

}  // namespace

BlockGroups::BlockGroups(const PlanBody& plan) : plan_(plan), coders_(plan.group_columns.size()) {}

bool BlockGroups::SmallDomain(const SegmentColumn& column, Coder& coder) const {
  uint64_t values = 0;
  if (coder.dictionary) {
    values = column.dictionary->size;
  } else {
    if (IsByteString(column.type) || column.type == ColumnType::kFloat64 ||
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
    if (plan_.IsCarried(i)) continue;
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

bool BlockGroups::AddStrings(Coder& coder, const SegmentColumn& column, uint32_t base,
                             const uint16_t* picks, uint32_t count, GroupTable& table,
                             uint64_t* words) {
  const uint32_t stride = table.key_words();
  // The rows that are not null and whose strings have no known numbers.
  uint32_t unknown = 0;
  uint32_t places[kGroupsAtOnce];
  std::string_view texts[kGroupsAtOnce];
  uint32_t numbers[kGroupsAtOnce];
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t row = base + picks[k];
    if (column.validity != nullptr && !BitAt(column.validity, row)) continue;
    if (coder.dictionary) {
      words[k * stride] = coder.numbers[static_cast<const uint16_t*>(column.values)[row]];
      if (words[k * stride] != GroupTable::kNoGroup) continue;
    }
    texts[unknown] = StringAt(column, row);
    places[unknown++] = k;
  }
  if (!table.InternAll(texts, unknown, numbers)) return false;
  for (uint32_t i = 0; i < unknown; ++i) {
    words[places[i] * stride] = numbers[i];
    if (!coder.dictionary) continue;
    const uint32_t row = base + picks[places[i]];
    coder.numbers[static_cast<const uint16_t*>(column.values)[row]] = numbers[i];
  }
  return true;
}

bool BlockGroups::PlaceStrings(const SegmentColumn& column, uint32_t base, const uint16_t* picks,
                               uint32_t count, GroupTable& table, uint64_t* words) {
  for (uint32_t k = 0; k < count; ++k, words += table.carried_words()) {
    const uint32_t row = base + picks[k];
    if (column.validity != nullptr && !BitAt(column.validity, row)) continue;
    if (!table.PlaceCarried(StringAt(column, row), words)) return false;
  }
  return true;
}

bool BlockGroups::AddToKeys(size_t i, const SegmentColumn& column, uint32_t base,
                            const uint16_t* picks, uint32_t count, GroupTable& table,
                            GroupKeys& keys) {
  const bool carried = plan_.IsCarried(i);
  const uint32_t stride = carried ? table.carried_words() : table.key_words();
  uint64_t* const words = keys.words.data() + table.row_word_of(i);
  if (IsByteString(column.type) && carried) {
    if (!PlaceStrings(column, base, picks, count, table, words)) return false;
  } else if (IsByteString(column.type)) {
    if (!AddStrings(coders_[i], column, base, picks, count, table, words)) return false;
  } else if (column.type == ColumnType::kInt128) {
    const auto* const values = static_cast<const Int128Halves*>(column.values) + base;
    for (uint32_t k = 0; k < count; ++k) {
      std::memcpy(words + k * stride, values + picks[k], sizeof(Int128Halves));
    }
  } else {
    VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
      if constexpr (std::is_arithmetic_v<T>) {
        PutWords(static_cast<const T*>(column.values) + base, picks, count, stride, words);
      }
    });
  }
  if (column.validity == nullptr) return true;
  for (uint32_t k = 0; k < count; ++k) {
    if (BitAt(column.validity, base + picks[k])) continue;
    keys.nulls[k] = static_cast<uint16_t>(keys.nulls[k] | 1u << i);
    std::fill_n(words + k * stride, table.words_of(i), 0);
  }
  return true;
}

bool BlockGroups::CarrySome(const SegmentView& segment, uint32_t base, const uint16_t* picks,
                            uint32_t count, GroupTable& table, const uint32_t* groups,
                            uint32_t known, GroupKeys& keys) {
  uint16_t firsts[kGroupsAtOnce];  // the first rows of the new groups
  uint32_t added = 0;
  for (uint32_t k = 0; k < count; ++k) {
    if (groups[k] == known + added) firsts[added++] = picks[k];
  }
  std::fill_n(keys.nulls.begin(), added, 0);
  for (size_t i = 0; i < coders_.size(); ++i) {
    if (!plan_.IsCarried(i)) continue;
    const SegmentColumn& column = segment.columns[plan_.group_columns[i]];
    if (!AddToKeys(i, column, base, firsts, added, table, keys)) return false;
  }
  table.Carry(keys, added, known);
  return true;
}

bool BlockGroups::FindSome(const SegmentView& segment, uint32_t base, const uint16_t* picks,
                           uint32_t count, GroupTable& table, uint32_t* groups) {
  GroupKeys keys;
  std::fill_n(keys.nulls.begin(), count, 0);
  for (size_t i = 0; i < coders_.size(); ++i) {
    if (plan_.IsCarried(i)) continue;
    const SegmentColumn& column = segment.columns[plan_.group_columns[i]];
    if (!AddToKeys(i, column, base, picks, count, table, keys)) return false;
  }
  const uint32_t known = table.size();
  if (!table.FindOrAddAll(keys, count, groups)) return false;
  if (plan_.carried == 0 || table.size() == known) return true;
  return CarrySome(segment, base, picks, count, table, groups, known, keys);
}

bool BlockGroups::Find(const SegmentView& segment, uint32_t base, uint32_t rows,
                       const uint64_t* mask, GroupTable& table, uint32_t* ids) {
  if (!direct_) {
    uint16_t picks[kBlockRows];
    const uint32_t picked = PickRows(mask, rows, picks);
    for (uint32_t first = 0; first < picked; first += kGroupsAtOnce) {
      const uint32_t count = std::min(kGroupsAtOnce, picked - first);
      if (Follow(picks + first, count)) {
        if (!FindSome(segment, base, picks + first, count, table, ids + picks[first])) return false;
        continue;
      }
      uint32_t groups[kGroupsAtOnce];
      if (!FindSome(segment, base, picks + first, count, table, groups)) return false;
      for (uint32_t i = 0; i < count; ++i) ids[picks[first + i]] = groups[i];
    }
    return true;
  }
  alignas(64) uint32_t codes[kBlockRows];
  bool first = true;
  for (size_t i = 0; i < coders_.size(); ++i) {
    if (plan_.IsCarried(i)) continue;
    AddCodes(segment.columns[plan_.group_columns[i]], coders_[i], base, rows, first, codes);
    first = false;
  }
  const uint32_t* const groups = groups_.data();
  // The value of a null is undefined, and a row that does not count may belong to an unknown group.
  const auto last = static_cast<uint32_t>(groups_.size() - 1);
  for (uint32_t i = 0; i < rows; ++i) ids[i] = groups[codes[i] & last];
  uint64_t unknown[kBlockWords];
  std::copy_n(mask, (rows + 63) / 64, unknown);
  kernels::KeepInRange(reinterpret_cast<const int32_t*>(ids), rows, -1, -1, false, unknown);
  bool fits = true;
  ForRows(unknown, rows, [&](uint32_t row) {
    uint32_t& group = groups_[codes[row]];
    if (fits && group == GroupTable::kNoGroup) {
      const auto pick = static_cast<uint16_t>(row);
      uint32_t found = 0;
      fits = FindSome(segment, base, &pick, 1, table, &found);
      if (fits) group = found;
    }
    ids[row] = group;
  });
  return fits;
}

}  // namespace eris::storage
