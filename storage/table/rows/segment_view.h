// A column segment as kernels see it: arrays of a fixed number of rows, and which of the rows count
// for one snapshot. A view is valid until its partition changes: a scan gets a new one in each
// slice. Plain data. Paper: ERIS 3.1 (column store), 4.2.2.
#ifndef ERIS_STORAGE_TABLE_SEGMENT_VIEW_H_
#define ERIS_STORAGE_TABLE_SEGMENT_VIEW_H_

#include <cstdint>
#include <span>

#include "eris/batch.h"

namespace eris::storage {

// Rows of a full segment, and of the blocks in which kernels process it: a block's eight-byte
// columns and the values computed from them fit in the core's first caches.
inline constexpr uint32_t kSegmentRows = 1u << 16;
inline constexpr uint32_t kBlockRows = 1u << 11;
inline constexpr uint32_t kBlockWords = kBlockRows / 64;  // words of a bitmap
static_assert(kSegmentRows % kBlockRows == 0);

// Distinct strings of one segment's column: code c is bytes[offsets[c] .. offsets[c + 1]).
struct DictionaryView {
  uint32_t size = 0;
  const uint32_t* offsets = nullptr;
  const char* bytes = nullptr;
};

// Arrays are aligned to 64 bytes and may be read up to the next multiple of 64; the values beyond
// the end are undefined.
struct SegmentColumn {
  ColumnType type = ColumnType::kInt64;
  // By type, in row order. For strings: u16 codes if there is a dictionary, else the bytes.
  const void* values = nullptr;
  const uint64_t* validity = nullptr;          // bit i of word i / 64: not null. nullptr: no nulls
  const uint32_t* offsets = nullptr;           // for strings without a dictionary
  const DictionaryView* dictionary = nullptr;  // for strings, if few are distinct
  // Every non-null value of every row that the segment has ever had is between these: they only
  // widen. By type: int64 for int32, int64, date and decimal. Strings have none.
  struct Bounds {
    union {
      int64_t i64;
      uint64_t u64;
      double f64;
    } min, max;
  };
  const Bounds* bounds = nullptr;  // nullptr: unknown, or there is a NaN
  // Null rows among all that the segment has ever had (SegmentView::ever).
  uint32_t nulls = 0;
};

struct SegmentView {
  uint32_t rows = 0;                         // rows to process: [0, rows)
  std::span<const SegmentColumn> columns{};  // as in the table's schema
  // Bit i of word i / 64: row i counts. nullptr: all of them. Bits from `rows` on are 0. Valid for
  // blocks that have been made (SegmentMask::Make).
  const uint64_t* kept = nullptr;
  // Rows that the segment has ever had, including dead and newer ones. 0: nulls have not been
  // counted.
  uint32_t ever = 0;
  // The segment: facts found about its values also hold for a later view of it. 0: unknown.
  uint64_t id = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_SEGMENT_VIEW_H_
