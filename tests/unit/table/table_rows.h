// What the tests of tables share: rows as plain bytes, batches made of them, and rows read back
// from segments and from chunks.
#ifndef ERIS_TESTS_UNIT_TABLE_TABLE_ROWS_H_
#define ERIS_TESTS_UNIT_TABLE_TABLE_ROWS_H_

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "storage/key.h"
#include "storage/table/rows/row_source.h"
#include "storage/table/rows/segment_view.h"
#include "storage/table/rows/table_keys.h"
#include "storage/table/rows/table_layout.h"

namespace eris::storage {

using Random = std::mt19937_64;
// The bytes of a value; nullopt: null.
using Cell = std::optional<std::string>;
using Row = std::vector<Cell>;

template <class T>
Cell CellOf(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T ValueOf(const Cell& cell) {
  T value;
  std::memcpy(&value, cell->data(), sizeof value);
  return value;
}

// Rows as a batch. Keeps the memory.
class RowColumns {
 public:
  RowColumns(const TableLayout& layout, const std::vector<Row>& rows) : columns_(layout.columns()) {
    for (uint32_t c = 0; c < layout.columns(); ++c) {
      Column& column = columns_[c];
      const uint32_t width = ColumnValueBytes(layout.column(c).type);
      column.validity.assign(rows.size() / 8 + 1, 0);
      column.offsets.push_back(0);
      bool nulls = false;
      for (size_t i = 0; i < rows.size(); ++i) {
        const Cell& cell = rows[i][c];
        nulls |= !cell;
        if (cell) column.validity[i / 8] |= static_cast<uint8_t>(1 << i % 8);
        // Under a null stands something that nobody may believe.
        column.values += cell ? *cell : std::string(width, '\x7f');
        column.offsets.push_back(static_cast<uint32_t>(column.values.size()));
      }
      views_.push_back({column.values.data(), nulls ? column.validity.data() : nullptr,
                        width == 0 ? column.offsets.data() : nullptr});
    }
    batch_ = {rows.size(), views_};
    heads_.resize(rows.size());
    tails_.resize(rows.size());
    if (layout.clustered()) layout.PackKeys(batch_, false, heads_.data(), tails_.data());
  }
  RowColumns(const RowColumns&) = delete;

  const RowBatch& batch() const { return batch_; }
  const uint64_t* heads() const { return heads_.data(); }
  const uint64_t* tails() const { return tails_.data(); }
  Key key(size_t i) const { return {heads_[i], tails_[i]}; }

 private:
  struct Column {
    std::string values;
    std::vector<uint8_t> validity;
    std::vector<uint32_t> offsets;
  };
  std::vector<Column> columns_;
  std::vector<ColumnView> views_;
  RowBatch batch_;
  std::vector<uint64_t> heads_;
  std::vector<uint64_t> tails_;
};

inline Cell ReadCell(const ColumnSource& source, ColumnType type, uint32_t row) {
  if (source.IsNull(row)) return std::nullopt;
  if (IsByteString(type)) {
    const absl::string_view text = source.StringAt(row);
    return std::string(text.data(), text.size());
  }
  const uint32_t width = ColumnValueBytes(type);
  return std::string(static_cast<const char*>(source.values) + size_t{row} * width, width);
}

inline Row ReadRow(const SegmentView& view, uint32_t row) {
  Row result;
  for (const SegmentColumn& column : view.columns) {
    result.push_back(ReadCell(ColumnSource::Of(column), column.type, row));
  }
  return result;
}

inline Key KeyIn(const TableLayout& layout, const SegmentView& view, uint32_t row) {
  std::vector<ColumnSource> sources;
  for (const SegmentColumn& column : view.columns) sources.push_back(ColumnSource::Of(column));
  return KeyOfRow(layout, sources.data(), row);
}

// Whether the value lies within the bounds that its segment tells.
inline bool WithinBounds(const SegmentColumn& column, const Cell& cell) {
  if (!cell || column.bounds == nullptr) return true;
  switch (column.type) {
    case ColumnType::kInt32:
    case ColumnType::kDate:
      return ValueOf<int32_t>(cell) >= column.bounds->min.i64 &&
             ValueOf<int32_t>(cell) <= column.bounds->max.i64;
    case ColumnType::kInt64:
    case ColumnType::kDecimal:
    case ColumnType::kTimestamp:
      return ValueOf<int64_t>(cell) >= column.bounds->min.i64 &&
             ValueOf<int64_t>(cell) <= column.bounds->max.i64;
    case ColumnType::kUint64:
      return ValueOf<uint64_t>(cell) >= column.bounds->min.u64 &&
             ValueOf<uint64_t>(cell) <= column.bounds->max.u64;
    case ColumnType::kFloat64:
      return ValueOf<double>(cell) >= column.bounds->min.f64 &&
             ValueOf<double>(cell) <= column.bounds->max.f64;
    default:
      return false;  // strings have none
  }
}

// A value of the type: small ones often, extremes now and then.
inline Cell RandomCell(ColumnType type, bool nullable, Random& random, uint64_t spread = 1000) {
  if (nullable && random() % 8 == 0) return std::nullopt;
  const bool extreme = random() % 16 == 0;
  switch (type) {
    case ColumnType::kInt32:
    case ColumnType::kDate:
      return CellOf(extreme ? (random() % 2 ? std::numeric_limits<int32_t>::min()
                                            : std::numeric_limits<int32_t>::max())
                            : static_cast<int32_t>(random() % spread) - 100);
    case ColumnType::kInt64:
    case ColumnType::kDecimal:
    case ColumnType::kTimestamp:
      return CellOf(extreme ? (random() % 2 ? std::numeric_limits<int64_t>::min()
                                            : std::numeric_limits<int64_t>::max())
                            : static_cast<int64_t>(random() % spread) - 100);
    case ColumnType::kUint64:
      return CellOf(extreme ? ~uint64_t{0} : uint64_t{random() % spread});
    case ColumnType::kFloat64: {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const double odd[] = {kInfinity, -kInfinity, -0.0, 0.0, 1e-310, std::nan("")};
      // NaNs seldom: they end what is known of a segment's values.
      return CellOf(extreme ? odd[random() % (random() % 256 == 0 ? 6 : 5)]
                            : static_cast<double>(random() % spread) / 7 - 20);
    }
    case ColumnType::kString: {
      const uint64_t kind = random() % 1000;
      const size_t size = kind == 0 ? 65535 : kind < 20 ? random() % 300 : random() % 12;
      return std::string(size, static_cast<char>('a' + random() % 20));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_TABLE_ROWS_H_
