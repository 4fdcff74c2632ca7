#include "clients/cli/files/cell_text.h"

#include <charconv>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/files/field_text.h"
#include "clients/cli/files/schema_text.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "text/expression_text.h"

namespace eris::cli {
namespace {

void AppendDouble(double number, std::string* text) {
  char digits[64];
  text->append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

// As a key -0.0 is 0.0, and is shown so.
void DropSignOfZero(const ColumnSchema& column, char* cell) {
  double number = 0;
  if (column.type != ColumnType::kFloat64) return;
  std::memcpy(&number, cell, sizeof(number));
  if (number != 0) return;
  number = 0;
  std::memcpy(cell, &number, sizeof(number));
}

bool IsNanCell(const ColumnSchema& column, const char* cell) {
  double number = 0;
  if (column.type == ColumnType::kFloat64) std::memcpy(&number, cell, sizeof(number));
  return IsNan(number);
}

}  // namespace

void AppendCell(const ColumnSchema& column, const client::OwnedRows& rows, size_t index,
                uint64_t row, std::string* text) {
  if (column.type == ColumnType::kDate) {
    return absl::StrAppend(text, DateText(rows.Get<int32_t>(index, row)));
  }
  if (column.type == ColumnType::kTimestamp) {
    return absl::StrAppend(text, TimestampText(rows.Get<int64_t>(index, row)));
  }
  if (column.type == ColumnType::kDecimal) {
    return text::AppendDecimal(rows.Get<int64_t>(index, row), column.scale, text);
  }
  VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_void_v<T>) {
      absl::StrAppend(text, rows.GetString(index, row));
    } else if constexpr (std::is_integral_v<T>) {
      absl::StrAppend(text, rows.Get<T>(index, row));
    } else if constexpr (std::is_floating_point_v<T>) {
      AppendDouble(rows.Get<T>(index, row), text);
    } else {
      text::AppendDecimal(rows.Get<T>(index, row), column.scale, text);
    }
  });
}

bool ParseCell(const ColumnSchema& column, absl::string_view text, char* cell) {
  if (text.size() > kNumberBytesMax) return false;
  std::string padded(text);
  padded.append(sizeof(uint64_t), '\0');
  return StoreField(column.type, column.scale, absl::string_view(padded).substr(0, text.size()),
                    cell);
}

absl::Status AddCell(const ColumnSchema& column, absl::string_view text, ColumnBuffers& to) {
  char cell[8];
  if (!ParseCell(column, text, cell)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no ", ColumnRangeText(column, /*key=*/false)));
  }
  to.values.append(cell, ColumnValueBytes(column.type));
  return absl::OkStatus();
}

void AddString(absl::string_view bytes, ColumnBuffers& to) {
  if (to.offsets.empty()) to.offsets.assign(sizeof(uint32_t), '\0');
  to.values.append(bytes.data(), bytes.size());
  const auto end = static_cast<uint32_t>(to.values.size());
  to.offsets.append(reinterpret_cast<const char*>(&end), sizeof(end));
}

absl::Status AddKey(const Schema& schema, absl::string_view text, client::OwnedRows& rows) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, kKeyPartSeparator);
  const size_t expected = schema.key.size();
  if (parts.size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' has ", parts.size(),
                                                   parts.size() == 1 ? " part" : " parts",
                                                   ", the key has ", KeyForm(schema)));
  }
  if (rows.columns.size() < expected) rows.columns.resize(expected);
  for (size_t i = 0; i < expected; ++i) {
    const ColumnSchema& column = schema.columns[schema.key[i]];
    char cell[8];
    if (!ParseCell(column, parts[i], cell) || IsNanCell(column, cell)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", parts[i], "' is no ", ColumnRangeText(column, /*key=*/true),
          expected == 1 ? "" : absl::StrCat(" (column ", column.name, " of '", text, "')")));
    }
    DropSignOfZero(column, cell);
    rows.columns[i].values.append(cell, ColumnValueBytes(column.type));
  }
  ++rows.rows;
  return absl::OkStatus();
}

std::string KeyTextOf(const Schema& schema, const client::OwnedRows& keys, uint64_t row) {
  std::string text;
  for (size_t i = 0; i < schema.key.size(); ++i) {
    if (i > 0) text += kKeyPartSeparator;
    AppendCell(schema.columns[schema.key[i]], keys, i, row, &text);
  }
  return text;
}

}  // namespace eris::cli
