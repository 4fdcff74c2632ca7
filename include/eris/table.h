// Tables: typed columns, and rows that come and go in columnar batches. A clustered table has a
// unique key and is partitioned by it; a heap table has none, grows at its end and is partitioned
// by size. Column buffers have Arrow's memory layout, little-endian, so that either side wraps the
// other's without a copy. Paper: ERIS 3.1 (data objects), 4.2.2.
#ifndef ERIS_TABLE_H_
#define ERIS_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace eris {

enum class ColumnType : uint8_t {
  kInt32 = 1,
  kInt64 = 2,
  kUint64 = 3,
  kFloat64 = 4,
  kDate = 5,     // i32, days since 1970-01-01
  kDecimal = 6,  // i64, times 10^-scale
  kString = 7,   // bytes, compared as such
  kInt128 = 8,   // of results alone (sums): 16 bytes, times 10^-scale
};

// Bytes of one value; of strings 0.
constexpr uint32_t ColumnValueBytes(ColumnType type) {
  switch (type) {
    case ColumnType::kInt32:
    case ColumnType::kDate:
      return 4;
    case ColumnType::kInt64:
    case ColumnType::kUint64:
    case ColumnType::kFloat64:
    case ColumnType::kDecimal:
      return 8;
    case ColumnType::kInt128:
      return 16;
    case ColumnType::kString:
      return 0;
  }
  return 0;
}

struct ColumnSchema {
  std::string name;  // 1 to kColumnNameBytesMax bytes, once in a table
  ColumnType type = ColumnType::kInt64;
  uint8_t scale = 0;  // of decimals, 0 to kDecimalScaleMax; of others 0
  bool nullable = false;
  friend bool operator==(const ColumnSchema&, const ColumnSchema&) = default;
};

struct TableSchema {
  std::vector<ColumnSchema> columns;  // 1 to kTableColumnsMax
  // Of a clustered table the columns of its key, in the order in which they sort: one to four, not
  // nullable, no strings, together at most kTableKeyBytesMax bytes wide. Rows are routed by the
  // first eight of those bytes. Empty: a heap table.
  std::vector<uint32_t> key{};

  bool clustered() const { return !key.empty(); }
  friend bool operator==(const TableSchema&, const TableSchema&) = default;
};

inline constexpr uint32_t kTableColumnsMax = 256;
inline constexpr uint32_t kTableKeyColumnsMax = 4;
inline constexpr uint32_t kTableKeyBytesMax = 16;
inline constexpr uint32_t kColumnNameBytesMax = 255;
inline constexpr uint8_t kDecimalScaleMax = 18;
inline constexpr uint32_t kTableStringBytesMax = 65535;      // of one string
inline constexpr uint32_t kTableBatchRowsMax = 1u << 20;     // of one batch
inline constexpr uint32_t kTableBatchBytesMax = 128u << 20;  // of its columns together

// One column of a batch. Borrowed.
struct ColumnView {
  // By type, one per row, aligned to its size; of strings their bytes, one behind the other. Where
  // a row is null the value says nothing, but must be there.
  const void* values = nullptr;
  // Bit i & 7 of byte i >> 3 is set where row i is not null. nullptr: no row is.
  const uint8_t* validity = nullptr;
  // Of strings: rows + 1 of them, not descending; row i is values[offsets[i] .. offsets[i + 1]).
  const uint32_t* offsets = nullptr;
};

// Columnar rows. Borrowed.
struct RowBatch {
  uint64_t rows = 0;
  absl::Span<const ColumnView> columns{};  // as many, and of the types, that the call asks for
};

// A column of an answer. std::string, so that a server can move it into a message without a copy.
struct ColumnBuffers {
  std::string values;
  std::string validity;  // empty: no row is null
  std::string offsets;   // of strings: rows + 1 little-endian u32
};

}  // namespace eris

#endif  // ERIS_TABLE_H_
