#include "clients/cli/files/row_printer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/cell_text.h"

namespace eris::cli {
namespace {

bool IsRight(ColumnType type) { return !IsByteString(type) && !IsTimeType(type); }

// Whether readers, which have doubles, get each value as it is.
bool IsJsonNumber(ColumnType type) {
  return type == ColumnType::kFloat64 || (ColumnValueBytes(type) == 4 && !IsTimeType(type));
}

}  // namespace

void RowPrinter::Collect(const Schema& schema, const client::OwnedRows& rows,
                         const client::RowBits* present) {
  constexpr size_t kWidthMax = 60;
  widths_.resize(schema.columns.size());
  for (uint64_t row = 0; row < rows.rows; ++row) {
    if (present != nullptr && !(*present)[row]) continue;
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      const ColumnSchema& column = schema.columns[i];
      std::string& cell = cells_.emplace_back();
      // Strings without what would break their lines.
      if (rows.IsNull(i, row)) {
        cell = "-";
      } else if (IsByteString(column.type)) {
        cell = ShowBytes(format_, rows.GetString(i, row));
      } else if (i == truths_) {
        cell = rows.Get<int32_t>(i, row) != 0 ? "yes" : "no";
      } else {
        AppendCell(column, rows, i, row, &cell);
      }
      const size_t width = CharactersOf(cell);
      if (!IsByteString(column.type) || width <= kWidthMax) {
        widths_[i] = std::max(widths_[i], width);
      }
    }
  }
}

void RowPrinter::WriteCells(const Schema& schema) {
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

void RowPrinter::AppendAligned(const ColumnSchema& column, absl::string_view text, size_t i) {
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

void RowPrinter::WriteLine() {
  line_.erase(line_.find_last_not_of(' ') + 1);
  line_ += '\n';
  output_.Write(line_);
  line_.clear();
  line_width_ = line_planned_ = 0;
}

void RowPrinter::Add(const Schema& schema, const client::OwnedRows& rows,
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

void RowPrinter::AddJson(const Schema& schema, const client::OwnedRows& rows, uint64_t row) {
  std::string line = first_ ? "\n  {" : ",\n  {";
  first_ = false;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    if (i > 0) line += ", ";
    const bool is_null = rows.IsNull(i, row);
    if (!is_null && IsByteString(column.type)) {
      line += ToJsonMember(format_, column.name, rows.GetString(i, row));
      continue;
    }
    absl::StrAppend(&line, Json(column.name).Dump(), ": ");
    if (is_null) {
      line += "null";
      continue;
    }
    if (i == truths_) {
      line += rows.Get<int32_t>(i, row) != 0 ? "true" : "false";
      continue;
    }
    const bool is_number = IsJsonNumber(column.type) && (column.type != ColumnType::kFloat64 ||
                                                         std::isfinite(rows.Get<double>(i, row)));
    if (!is_number) line += '"';
    AppendCell(column, rows, i, row, &line);
    if (!is_number) line += '"';
  }
  output_.Write(line + "}");
}

void RowPrinter::End(const Schema& schema) {
  Add(schema, {}, nullptr);
  if (!json_) return WriteCells(schema);
  output_.Write(first_ ? "]\n" : "\n]\n");
}

}  // namespace eris::cli
