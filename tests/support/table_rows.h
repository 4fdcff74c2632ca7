// Rows of tables as lists of values: into batches, and out of chunks and answers.
#ifndef ERIS_TESTS_SUPPORT_TABLE_ROWS_H_
#define ERIS_TESTS_SUPPORT_TABLE_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "eris/expression.h"
#include "eris/query.h"
#include "eris/schema.h"
#include "tests/support/objects.h"

namespace eris::test {

using Row = std::vector<Value>;

// A batch that owns its memory. Values: int64_t of int32 and int64 columns, else the column's own
// type; std::monostate is null.
class Rows {
 public:
  explicit Rows(std::vector<ColumnSchema> columns)
      : columns_(std::move(columns)), data_(columns_.size()) {}

  void Add(const Row& row) {
    ERIS_CHECK(row.size() == columns_.size());
    for (size_t i = 0; i < row.size(); ++i) AddTo(i, row[i]);
    ++rows_;
  }
  // Until the next Add.
  RowBatch batch() {
    views_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      Data& data = data_[i];
      data.values.reserve(1);  // not nullptr where all strings are empty
      views_.push_back({.values = data.values.data(),
                        .validity = data.any_null ? data.validity.data() : nullptr,
                        .offsets = IsByteString(columns_[i].type) ? data.offsets.data() : nullptr});
    }
    return {rows_, views_};
  }
  uint64_t size() const { return rows_; }

 private:
  struct Data {
    std::vector<unsigned char> values;  // from malloc: aligned for all types
    std::vector<uint8_t> validity;
    std::vector<uint32_t> offsets{0};
    bool any_null = false;
  };

  template <class T>
  static void Append(Data& data, T value) {
    const size_t at = data.values.size();
    data.values.resize(at + sizeof value);
    std::memcpy(&data.values[at], &value, sizeof value);
  }

  void AddTo(size_t i, const Value& value) {
    Data& data = data_[i];
    const bool null = std::holds_alternative<std::monostate>(value);
    if (rows_ % 8 == 0) data.validity.push_back(0);
    if (!null) data.validity.back() |= static_cast<uint8_t>(1u << (rows_ % 8));
    data.any_null |= null;
    switch (columns_[i].type) {
      case ColumnType::kInt32:
        return Append(data, null ? int32_t{-77} : static_cast<int32_t>(std::get<int64_t>(value)));
      case ColumnType::kInt64:
        return Append(data, null ? int64_t{-77} : std::get<int64_t>(value));
      case ColumnType::kUint64:
        return Append(data, null ? uint64_t{77} : std::get<uint64_t>(value));
      case ColumnType::kFloat64:
        return Append(data, null ? 7.7 : std::get<double>(value));
      case ColumnType::kDate:
        return Append(data, null ? int32_t{-77} : std::get<Date>(value).days);
      case ColumnType::kTimestamp:
        return Append(data, null ? int64_t{-77} : std::get<Timestamp>(value).micros);
      case ColumnType::kDecimal:
        return Append(data, null ? int64_t{-77} : std::get<Decimal>(value).unscaled);
      case ColumnType::kString:
      case ColumnType::kBytes: {
        if (!null) {
          const auto* const bytes = std::get_if<Bytes>(&value);
          const auto& text = bytes != nullptr ? bytes->bytes : std::get<std::string>(value);
          data.values.insert(data.values.end(), text.begin(), text.end());
        }
        data.offsets.push_back(static_cast<uint32_t>(data.values.size()));
        return;
      }
      case ColumnType::kInt128:
        ERIS_CHECK(false);
    }
  }

  const std::vector<ColumnSchema> columns_;
  std::vector<Data> data_;
  std::vector<ColumnView> views_;
  uint64_t rows_ = 0;
};

// The value in a row. An i128 must fit 64 bits.
inline Value ValueAt(const ColumnView& view, const ColumnSchema& column, uint64_t row) {
  if (view.validity != nullptr && (view.validity[row >> 3] >> (row & 7) & 1) == 0) return {};
  switch (column.type) {
    case ColumnType::kInt32:
      return int64_t{ReadAt<int32_t>(view.values, row)};
    case ColumnType::kInt64:
      return ReadAt<int64_t>(view.values, row);
    case ColumnType::kUint64:
      return ReadAt<uint64_t>(view.values, row);
    case ColumnType::kFloat64:
      return ReadAt<double>(view.values, row);
    case ColumnType::kDate:
      return Date{ReadAt<int32_t>(view.values, row)};
    case ColumnType::kTimestamp:
      return Timestamp{ReadAt<int64_t>(view.values, row)};
    case ColumnType::kDecimal:
      return Decimal{ReadAt<int64_t>(view.values, row), column.scale};
    case ColumnType::kInt128: {
      const auto low = ReadAt<int64_t>(view.values, 2 * row);
      ERIS_CHECK(ReadAt<int64_t>(view.values, 2 * row + 1) == (low < 0 ? -1 : 0));
      return low;
    }
    case ColumnType::kString:
      return StringAt(view, row);
    case ColumnType::kBytes:
      return Bytes{StringAt(view, row)};
  }
  return {};
}

inline void AppendRows(const Chunk& chunk, std::vector<Row>& rows) {
  const auto& columns = chunk.schema().columns;
  for (uint64_t row = 0; row < chunk.rows(); ++row) {
    Row values;
    for (size_t i = 0; i < columns.size(); ++i) {
      values.push_back(ValueAt(chunk.column(i), columns[i], row));
    }
    rows.push_back(std::move(values));
  }
}

// Every row of the scan; `status` is set where it ends with an error.
inline std::vector<Row> ReadAll(Scan& scan, absl::Status* status = nullptr) {
  std::vector<Row> rows;
  const absl::Status end = ForEachChunk(scan, [&](const Chunk& chunk) { AppendRows(chunk, rows); });
  ERIS_CHECK(end.ok() || status != nullptr);
  if (status != nullptr) *status = end;
  return rows;
}

inline std::string TextOf(const Value& value) {
  return std::visit(
      [](const auto& one) -> std::string {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "null";
        } else if constexpr (std::is_same_v<T, Decimal>) {
          return absl::StrCat(one.unscaled, "e-", one.scale);
        } else if constexpr (std::is_same_v<T, WideDecimal>) {
          return absl::StrCat(one.unscaled.high, ":", one.unscaled.low, "e-", one.scale);
        } else if constexpr (std::is_same_v<T, Date>) {
          return absl::StrCat("day ", one.days);
        } else if constexpr (std::is_same_v<T, Timestamp>) {
          return absl::StrCat("us ", one.micros);
        } else if constexpr (std::is_same_v<T, Bytes>) {
          return absl::StrCat("bytes ", one.bytes);
        } else if constexpr (std::is_same_v<T, double>) {
          uint64_t bits;
          std::memcpy(&bits, &one, sizeof bits);
          return absl::StrCat("bits ", bits);
        } else {
          return absl::StrCat(one);
        }
      },
      value);
}
inline std::string TextOf(const Row& row) {
  std::string text;
  for (const Value& value : row) absl::StrAppend(&text, TextOf(value), "|");
  return text;
}
// For comparison of rows that come in no order.
inline std::vector<std::string> Sorted(const std::vector<Row>& rows) {
  std::vector<std::string> texts;
  for (const Row& row : rows) texts.push_back(TextOf(row));
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TABLE_ROWS_H_
