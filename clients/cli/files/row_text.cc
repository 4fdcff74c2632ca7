#include "clients/cli/files/row_text.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/text/byte_text.h"

namespace eris::cli {
namespace {

void AppendQuoted(absl::string_view text, std::string& out) {
  if (!text.empty() && text.find_first_of("\",\r\n") == text.npos) {
    out.append(text.data(), text.size());
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

void RowText::Head(const Schema& schema) {
  if (std::exchange(begun_, true) || tbl_) return;
  line_.clear();
  for (const ColumnSchema& column : schema.columns) {
    if (!line_.empty()) line_ += ',';
    AppendQuoted(column.name, line_);
  }
  output_.Write(line_ + "\n");
}

absl::Status RowText::AddString(const ColumnSchema& column, absl::string_view text) {
  if (!tbl_) {
    AppendQuoted(text, line_);
    return absl::OkStatus();
  }
  const char* problem = nullptr;
  if (text.find_first_of("|\n") != text.npos) {
    problem = "has a '|' or a line end in it, which a .tbl file cannot hold";
  } else if (text.empty() && column.nullable) {
    problem = "is an empty string, which a .tbl file cannot tell from a null";
  }
  if (problem != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", column.name, " of row ", rows_ + 1, " ", problem, "; csv can"));
  }
  line_.append(text.data(), text.size());
  return absl::OkStatus();
}

absl::Status RowText::Add(const Schema& schema, const client::OwnedRows& rows) {
  Head(schema);
  for (uint64_t row = 0; row < rows.rows && output_.open(); ++row) {
    line_.clear();
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      const ColumnSchema& column = schema.columns[i];
      if (i > 0 && !tbl_) line_ += ',';
      if (!rows.IsNull(i, row)) {
        if (column.type == ColumnType::kBytes) {
          absl::StrAppend(&line_, kHexPrefix, absl::BytesToHexString(rows.GetString(i, row)));
        } else if (column.type == ColumnType::kString) {
          absl::Status status = AddString(column, rows.GetString(i, row));
          if (!status.ok()) return status;
        } else {
          AppendCell(column, rows, i, row, &line_);
        }
      }
      if (tbl_) line_ += '|';
    }
    line_ += '\n';
    output_.Write(line_);
    ++rows_;
  }
  return absl::OkStatus();
}

}  // namespace eris::cli
