#include "storage/table/rows/table_layout.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/utf8.h"
#include "eris/key_encoding.h"

namespace eris::storage {
namespace {

absl::Status CheckSchema(const ColumnSchema& column, uint32_t number) {
  if (column.name.empty() || column.name.size() > kColumnNameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the name of column ", number, " has ",
                                                   column.name.size(), " bytes, not 1 to ",
                                                   kColumnNameBytesMax));
  }
  if (!base::IsUtf8(column.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of column ", number, " is not UTF-8: names are text"));
  }
  if (!IsColumnType(column.type)) {
    return absl::InvalidArgumentError(absl::StrCat("column ", column.name, " has the type ",
                                                   static_cast<int>(column.type),
                                                   ", which is not stored"));
  }
  const uint8_t most = column.type == ColumnType::kDecimal ? kDecimalScaleMax : 0;
  if (column.scale > most) {
    return absl::InvalidArgumentError(absl::StrCat("column ", column.name, " has the scale ",
                                                   column.scale, "; its limit is ", most));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> CheckKey(const Schema& schema) {
  if (schema.key.size() > kTableKeyColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a key of ", schema.key.size(),
                                                   " columns; the limit is ", kTableKeyColumnsMax));
  }
  uint32_t bytes = 0;
  for (size_t i = 0; i < schema.key.size(); ++i) {
    if (schema.key[i] >= schema.columns.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "key column ", schema.key[i], " is not among the schema's ", schema.columns.size()));
    }
    const ColumnSchema& column = schema.columns[schema.key[i]];
    if (std::count(schema.key.begin(), schema.key.end(), schema.key[i]) > 1) {
      return absl::InvalidArgumentError(absl::StrCat("key column ", column.name, " comes twice"));
    }
    if (column.nullable || IsByteString(column.type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("key column ", column.name, " is ",
                       column.nullable ? "nullable" : ColumnTypeName(column.type)));
    }
    bytes += ColumnValueBytes(column.type);
  }
  if (bytes > kTableKeyBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", bytes, " bytes; the limit is ", kTableKeyBytesMax));
  }
  return bytes;
}

// The first row that is null; batch.rows: none.
uint64_t FirstNull(const uint8_t* validity, uint64_t rows) {
  for (uint64_t byte = 0; byte < rows / 8; ++byte) {
    if (validity[byte] == 0xff) continue;
    uint64_t row = byte * 8;
    while ((validity[byte] >> (row & 7) & 1) != 0) ++row;
    return row;
  }
  for (uint64_t row = rows / 8 * 8; row < rows; ++row) {
    if ((validity[row >> 3] >> (row & 7) & 1) == 0) return row;
  }
  return rows;
}

absl::Status CheckStrings(const ColumnSchema& column, const ColumnView& view, uint64_t rows,
                          uint32_t bytes_max) {
  if (view.offsets == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("column ", column.name, " has no offsets"));
  }
  const uint32_t* const offsets = view.offsets;
  uint32_t longest = 0;
  bool descend = false;
  for (uint64_t row = 0; row < rows; ++row) {
    longest = std::max(longest, offsets[row + 1] - offsets[row]);
    descend |= offsets[row + 1] < offsets[row];
  }
  if (longest > bytes_max || descend) {
    uint64_t row = 0;
    while (offsets[row + 1] >= offsets[row] && offsets[row + 1] - offsets[row] <= bytes_max) ++row;
    if (offsets[row + 1] < offsets[row]) {
      return absl::InvalidArgumentError(
          absl::StrCat("column ", column.name, ": the offsets descend at row ", row));
    }
    return absl::InvalidArgumentError(absl::StrCat("column ", column.name, ", row ", row, ": ",
                                                   offsets[row + 1] - offsets[row],
                                                   " bytes; the limit is ", bytes_max));
  }
  if (view.values == nullptr && offsets[rows] > offsets[0]) {
    return absl::InvalidArgumentError(absl::StrCat("column ", column.name, " has no bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TableLayout>> TableLayout::Create(const Schema& schema) {
  if (schema.columns.empty() || schema.columns.size() > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a schema of ", schema.columns.size(),
                                                   " columns, not 1 to ", kTableColumnsMax));
  }
  std::set<std::string> names;
  for (uint32_t i = 0; i < schema.columns.size(); ++i) {
    if (absl::Status status = CheckSchema(schema.columns[i], i); !status.ok()) return status;
    if (!names.insert(schema.columns[i].name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two columns have the name ", schema.columns[i].name));
    }
  }
  const absl::StatusOr<uint32_t> key_bytes = CheckKey(schema);
  if (!key_bytes.ok()) return key_bytes.status();
  std::shared_ptr<TableLayout> layout(new TableLayout(schema));
  layout->key_bytes_ = *key_bytes;
  return layout;
}

std::optional<uint32_t> TableLayout::Find(absl::string_view name) const {
  for (uint32_t i = 0; i < columns(); ++i) {
    if (absl::string_view(schema_.columns[i].name) == name) return i;
  }
  return std::nullopt;
}

absl::Status TableLayout::CheckColumn(const ColumnSchema& column, const ColumnView& view,
                                      uint64_t rows, uint32_t string_bytes_max) {
  if (IsByteString(column.type)) {
    absl::Status status = CheckStrings(column, view, rows, string_bytes_max);
    if (!status.ok()) return status;
  } else if (view.values == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("column ", column.name, " has no values"));
  }
  if (column.nullable || view.validity == nullptr) return absl::OkStatus();
  const uint64_t row = FirstNull(view.validity, rows);
  if (row == rows) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("column ", column.name, ", row ", row, ": null, which it may not be"));
}

absl::Status TableLayout::Check(const RowBatch& batch, bool keys_only,
                                uint32_t string_bytes_max) const {
  const size_t wanted = keys_only ? schema_.key.size() : schema_.columns.size();
  if (batch.columns.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows of ", batch.columns.size(), " columns, not of ", wanted));
  }
  if (batch.rows == 0) return absl::OkStatus();
  for (size_t i = 0; i < wanted; ++i) {
    const ColumnSchema& column = schema_.columns[keys_only ? schema_.key[i] : i];
    absl::Status status = CheckColumn(column, batch.columns[i], batch.rows, string_bytes_max);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < schema_.key.size(); ++i) {
    const ColumnSchema& column = schema_.columns[schema_.key[i]];
    if (column.type != ColumnType::kFloat64) continue;
    const auto* const numbers =
        static_cast<const double*>(batch.columns[keys_only ? i : schema_.key[i]].values);
    uint64_t nans = 0;
    for (uint64_t row = 0; row < batch.rows; ++row) nans |= NanMark(numbers[row]);
    if (nans >> 63 == 0) continue;
    uint64_t row = 0;
    while (!IsNan(numbers[row])) ++row;
    return absl::InvalidArgumentError(
        absl::StrCat("column ", column.name, ", row ", row, ": NaN, which is no key"));
  }
  return absl::OkStatus();
}

}  // namespace eris::storage
