// The source of rows that are appended to a segment: a client's batch, another segment, or a chunk
// of a transfer; and which of the rows are meant. Borrowed, plain data.
#ifndef ERIS_STORAGE_TABLE_ROW_SOURCE_H_
#define ERIS_STORAGE_TABLE_ROW_SOURCE_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "base/prefetch.h"
#include "eris/batch.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// Rows that are appended at once. Few enough that the strings of one piece, however long, fit in a
// segment, and that per-row arrays can be on the stack.
inline constexpr uint32_t kPieceRows = 256;

// Made by Of. It has no initializers, so that arrays of it for all columns need not be cleared:
// rows often come one by one.
struct ColumnSource {
  const void* values;
  const uint8_t* validity;  // bit i & 7 of byte i >> 3; nullptr: no nulls
  const uint32_t* offsets;
  const DictionaryView* dictionary;  // for strings: if set, `values` are u16 codes

  static ColumnSource Of(const ColumnView& column) {
    return {column.values, column.validity, column.offsets, nullptr};
  }
  static ColumnSource Of(const SegmentColumn& column) {
    return {column.values, reinterpret_cast<const uint8_t*>(column.validity), column.offsets,
            column.dictionary};
  }

  bool IsNull(uint32_t row) const {
    return validity != nullptr && (validity[row >> 3] >> (row & 7) & 1) == 0;
  }
  template <class T>
  T At(uint32_t row) const {
    T value;
    std::memcpy(&value, static_cast<const char*>(values) + row * sizeof(T), sizeof(T));
    return value;
  }
  // REQUIRES: a column of strings.
  absl::string_view StringAt(uint32_t row) const {
    if (dictionary == nullptr) {
      return {static_cast<const char*>(values) + offsets[row], offsets[row + 1] - offsets[row]};
    }
    const uint16_t code = static_cast<const uint16_t*>(values)[row];
    return {dictionary->bytes + dictionary->offsets[code],
            dictionary->offsets[code + 1] - dictionary->offsets[code]};
  }

  // For strings: fetches in two steps what StringAt(row) will read.
  void PrefetchOffsets(uint32_t row) const {
    if (dictionary == nullptr) base::Prefetch(offsets + row);
  }
  void PrefetchString(uint32_t row) const {
    if (dictionary == nullptr) {
      base::Prefetch(static_cast<const char*>(values) + offsets[row]);
    }
  }
};

// Rows positions[0 .. count) of a source; without `positions` rows [first, first + count).
struct RowPick {
  uint32_t count = 0;
  uint32_t first = 0;
  const uint32_t* positions = nullptr;

  uint32_t operator[](uint32_t i) const { return positions == nullptr ? first + i : positions[i]; }

  // Strings of scattered rows are fetched ahead, their offsets even further ahead.
  static constexpr uint32_t kAhead = 8;
  void PrefetchFrom(const ColumnSource& source, uint32_t i) const {
    if (positions == nullptr) return;
    if (i + 2 * kAhead < count) source.PrefetchOffsets(positions[i + 2 * kAhead]);
    if (i + kAhead < count) source.PrefetchString(positions[i + kAhead]);
  }

  static RowPick Of(const uint32_t* positions, uint32_t count) {
    // A command's rows are mostly adjacent: their columns are copied as they are.
    for (uint32_t i = 1; i < count; ++i) {
      if (positions[i] != positions[0] + i) return {count, 0, positions};
    }
    return {count, count == 0 ? 0 : positions[0], nullptr};
  }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_ROW_SOURCE_H_
