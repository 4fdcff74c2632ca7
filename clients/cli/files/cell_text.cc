#include "clients/cli/files/cell_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "clients/cli/files/field_text.h"
#include "clients/cli/files/key_sample.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/parse.h"
#include "clients/expression_text.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

constexpr absl::string_view kNull = "-";

// A sum: i128, low half first.
void AppendWide(const client::OwnedRows& rows, size_t index, uint64_t row, uint8_t scale,
                std::string* text) {
  struct Halves {
    uint64_t low, high;
  };
  const auto halves = rows.Get<Halves>(index, row);
  const absl::uint128 bits = absl::MakeUint128(halves.high, halves.low);
  const bool negative = halves.high >> 63 != 0;
  std::ostringstream digits;
  digits << (negative ? 0 - bits : bits);
  std::string all = digits.str();
  if (all.size() <= scale) all.insert(0, scale + 1 - all.size(), '0');
  if (negative) *text += '-';
  text->append(all, 0, all.size() - scale);
  if (scale > 0) absl::StrAppend(text, ".", absl::string_view(all).substr(all.size() - scale));
}

void AppendDouble(double number, std::string* text) {
  char digits[64];
  text->append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

bool IsRight(ColumnType type) { return type != ColumnType::kString && type != ColumnType::kDate; }

// For a table: strings without what would break its lines.
void AppendShown(const ColumnSchema& column, const client::OwnedRows& rows, size_t index,
                 uint64_t row, std::string* text) {
  if (rows.IsNull(index, row)) {
    absl::StrAppend(text, kNull);
  } else if (column.type == ColumnType::kString) {
    *text += ShowBytes(ByteFormat::kText, rows.GetString(index, row));
  } else {
    AppendCell(column, rows, index, row, text);
  }
}

}  // namespace

void AppendCell(const ColumnSchema& column, const client::OwnedRows& rows, size_t index,
                uint64_t row, std::string* text) {
  switch (column.type) {
    case ColumnType::kInt32:
      return absl::StrAppend(text, rows.Get<int32_t>(index, row));
    case ColumnType::kInt64:
      return absl::StrAppend(text, rows.Get<int64_t>(index, row));
    case ColumnType::kUint64:
      return absl::StrAppend(text, rows.Get<uint64_t>(index, row));
    case ColumnType::kFloat64:
      return AppendDouble(rows.Get<double>(index, row), text);
    case ColumnType::kDate:
      return absl::StrAppend(text, DateText(rows.Get<int32_t>(index, row)));
    case ColumnType::kDecimal:
      return client::AppendDecimal(rows.Get<int64_t>(index, row), column.scale, text);
    case ColumnType::kInt128:
      return AppendWide(rows, index, row, column.scale, text);
    case ColumnType::kString:
      return absl::StrAppend(text, rows.GetString(index, row));
  }
}

void CellPrinter::Collect(const Schema& schema, const client::OwnedRows& rows,
                          const client::RowBits* present) {
  constexpr size_t kWidthMax = 60;
  widths_.resize(schema.columns.size());
  for (uint64_t row = 0; row < rows.rows; ++row) {
    if (present != nullptr && !(*present)[row]) continue;
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      const ColumnSchema& column = schema.columns[i];
      std::string& cell = cells_.emplace_back();
      AppendShown(column, rows, i, row, &cell);
      const size_t width = CharactersOf(cell);
      if (column.type != ColumnType::kString || width <= kWidthMax) {
        widths_[i] = std::max(widths_[i], width);
      }
    }
  }
}

void CellPrinter::WriteCells(const Schema& schema) {
  const size_t columns = schema.columns.size();
  if (!std::exchange(begun_, true)) {
    std::vector<std::string> names;
    for (size_t i = 0; i < columns; ++i) {
      names.push_back(ShowBytes(ByteFormat::kText, schema.columns[i].name));
      widths_[i] = std::max(widths_[i], CharactersOf(names[i]));
    }
    for (size_t i = 0; i < columns; ++i) AppendAligned(schema.columns[i], names[i], i);
    WriteLine();
  }
  for (size_t at = 0; at < cells_.size() && output_.open(); ++at) {
    AppendAligned(schema.columns[at % columns], cells_[at], at % columns);
    if (at % columns == columns - 1) WriteLine();
  }
  cells_.clear();
}

void CellPrinter::AppendAligned(const ColumnSchema& column, absl::string_view text, size_t i) {
  if (i > 0) {
    line_ += "  ";
    line_width_ += 2;
    line_planned_ += 2;
  }
  line_planned_ += widths_[i];
  const size_t width = CharactersOf(text);
  const size_t pad = line_planned_ - std::min(line_planned_, line_width_ + width);
  const bool right = IsRight(column.type);
  if (right) line_.append(pad, ' ');
  line_.append(text.data(), text.size());
  if (!right) line_.append(pad, ' ');
  line_width_ += width + pad;
}

void CellPrinter::WriteLine() {
  line_.erase(line_.find_last_not_of(' ') + 1);
  line_ += '\n';
  output_.Write(line_);
  line_.clear();
  line_width_ = line_planned_ = 0;
}

void CellPrinter::Add(const Schema& schema, const client::OwnedRows& rows,
                      const client::RowBits* present) {
  if (!json_) {
    Collect(schema, rows, present);
    if (begun_ || cells_.size() >= kRowsBeforeHead * schema.columns.size()) WriteCells(schema);
    return;
  }
  if (!std::exchange(begun_, true)) output_.Write("[");
  for (uint64_t row = 0; row < rows.rows && output_.open(); ++row) {
    if (present == nullptr || (*present)[row]) {
      AddJson(schema, rows, row);
    } else {
      output_.Write(std::exchange(first_, false) ? "\n  null" : ",\n  null");
    }
  }
}

void CellPrinter::AddJson(const Schema& schema, const client::OwnedRows& rows, uint64_t row) {
  std::string line = first_ ? "\n  {" : ",\n  {";
  first_ = false;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    if (i > 0) line += ", ";
    const bool is_null = rows.IsNull(i, row);
    if (!is_null && column.type == ColumnType::kString) {
      line += ToJsonMember(ByteFormat::kText, column.name, rows.GetString(i, row));
      continue;
    }
    absl::StrAppend(&line, Json(column.name).Dump(), ": ");
    if (is_null) {
      line += "null";
      continue;
    }
    const bool is_number =
        column.type == ColumnType::kInt32 ||
        (column.type == ColumnType::kFloat64 && std::isfinite(rows.Get<double>(i, row)));
    if (!is_number) line += '"';
    AppendCell(column, rows, i, row, &line);
    if (!is_number) line += '"';
  }
  output_.Write(line + "}");
}

void CellPrinter::End(const Schema& schema) {
  Add(schema, {}, nullptr);
  if (!json_) return WriteCells(schema);
  output_.Write(first_ ? "]\n" : "\n]\n");
}

absl::StatusOr<ColumnType> SampleTypeOf(const ColumnSchema& column) {
  switch (column.type) {
    case ColumnType::kInt32:
    case ColumnType::kInt64:
      return ColumnType::kInt64;
    case ColumnType::kUint64:
      return ColumnType::kUint64;
    case ColumnType::kFloat64:
      return ColumnType::kFloat64;
    case ColumnType::kDate:
      return ColumnType::kDate;
    default:
      return absl::InvalidArgumentError(absl::StrCat("bounds of key column ", column.name,
                                                     " of type ", ColumnTypeText(column),
                                                     " cannot be given"));
  }
}

Value BoundOf(ColumnType type, uint64_t key) {
  switch (type) {
    case ColumnType::kInt64:
      return Int64FromKey(key);
    case ColumnType::kFloat64:
      return Float64FromKey(key);
    case ColumnType::kDate:
      return Date{DateFromKey(key)};
    default:
      return key;
  }
}

std::vector<Value> SampledBounds(const ColumnSchema& column, std::vector<uint64_t> sample,
                                 size_t partitions,
                                 const std::vector<std::vector<uint64_t>>& others) {
  const absl::StatusOr<ColumnType> type = SampleTypeOf(column);
  if (!type.ok()) return {};
  if (column.type == ColumnType::kInt32) {
    std::erase_if(sample, [](uint64_t key) {
      const int64_t number = Int64FromKey(key);
      return number != static_cast<int32_t>(number);
    });
  }
  std::vector<Value> bounds;
  for (const uint64_t point : SplitPoints(std::move(sample), partitions, others)) {
    bounds.push_back(BoundOf(*type, point));
  }
  return bounds;
}

absl::StatusOr<client::TableBounds> ParseTableBounds(const Schema& schema,
                                                     absl::string_view expect,
                                                     absl::string_view split) {
  client::TableBounds bounds;
  if (expect.empty() && split.empty()) return bounds;
  if (!schema.clustered()) {
    return absl::InvalidArgumentError("bounds are of a table's key: give --key");
  }
  const absl::StatusOr<ColumnType> type = SampleTypeOf(schema.columns[schema.key[0]]);
  if (!type.ok()) return type.status();
  if (!expect.empty()) {
    const absl::StatusOr<KeyRange> range = ParseRange(expect, *type);
    if (!range.ok()) return range.status();
    if (range->Empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the expected range [",
                                                     KeyText(*type, range->lo), ", ",
                                                     KeyText(*type, *range->hi), ") holds no key"));
    }
    const bool narrow = schema.columns[schema.key[0]].type == ColumnType::kInt32;
    for (const std::optional<uint64_t> end : {std::optional(range->lo), range->hi}) {
      const int64_t number = narrow && end ? Int64FromKey(*end) : 0;
      if (number != static_cast<int32_t>(number)) {
        return absl::InvalidArgumentError(absl::StrCat("--expect has ", number, ", no int32"));
      }
    }
    bounds.start = BoundOf(*type, range->lo);
    if (range->hi) bounds.end = BoundOf(*type, *range->hi);
    return bounds;
  }
  const absl::StatusOr<std::vector<uint64_t>> points = ParseKeyList(split, *type);
  if (!points.ok()) return points.status();
  for (const uint64_t point : *points) bounds.splits.push_back(BoundOf(*type, point));
  return bounds;
}

absl::Status AddKeyRow(const Schema& schema, absl::string_view text, client::OwnedRows& keys) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() != schema.key.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' has ", parts.size(), parts.size() == 1 ? " part" : " parts", ", the key has ",
        schema.key.size(), " (", absl::StrReplaceAll(TableKeyText(schema), {{",", "/"}}), ")"));
  }
  keys.columns.resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const ColumnSchema& column = schema.columns[schema.key[i]];
    std::string padded(parts[i]);
    padded.append(sizeof(uint64_t), '\0');
    const auto part = absl::string_view(padded).substr(0, parts[i].size());
    char bytes[8];
    bool good = false;
    const auto take = [&](auto value, auto parse) {
      good = part.size() <= kNumberBytesMax && parse(value);
      std::memcpy(bytes, &value, sizeof(value));
    };
    const auto plain = [&](auto& value) { return ParseField(part, value); };
    switch (column.type) {
      case ColumnType::kInt32:
        take(int32_t{}, plain);
        break;
      case ColumnType::kInt64:
        take(int64_t{}, plain);
        break;
      case ColumnType::kUint64:
        take(uint64_t{}, plain);
        break;
      case ColumnType::kFloat64:
        take(double{}, plain);
        break;
      case ColumnType::kDate:
        take(int32_t{}, [&](int32_t& days) { return ParseDateField(part, days); });
        break;
      default:
        take(int64_t{},
             [&](int64_t& unscaled) { return ParseDecimalField(part, column.scale, unscaled); });
    }
    if (!good) {
      return absl::InvalidArgumentError(absl::StrCat("'", parts[i], "' of key column ", column.name,
                                                     " is no ", ColumnRangeText(column)));
    }
    keys.columns[i].values.append(bytes, ColumnValueBytes(column.type));
  }
  ++keys.rows;
  return absl::OkStatus();
}

}  // namespace eris::cli
