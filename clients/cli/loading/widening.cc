#include "clients/cli/loading/widening.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/inference/inference.h"
#include "clients/cli/inference/value_types.h"
#include "eris/schema.h"

namespace eris::cli {
namespace {

// Rows that are read at once, and forgotten. They stay in the cache.
constexpr uint64_t kRows = 1024;

class Widening {
 public:
  Widening(RowFile& file, InferredTable& table) : file_(file), table_(table) {}

  // Takes the bad values of a line. False: they cannot be taken.
  bool Add() {
    const std::vector<RowFile::BadValue> values = file_.bad_values();
    const auto takes = [&](const RowFile::BadValue& value) { return Takes(value); };
    const auto is_new = [](const RowFile::BadValue& value) {
      return value.column == RowFile::BadValue::kNone;
    };
    const auto more = static_cast<size_t>(std::count_if(values.begin(), values.end(), is_new));
    if (table_.schema.columns.size() + more > kTableColumnsMax) return false;
    if (values.empty() || !std::all_of(values.begin(), values.end(), takes)) return false;
    for (const RowFile::BadValue& value : values) Take(value);
    return true;
  }
  void Tell() const {
    constexpr size_t kKeysTold = 60;
    for (size_t i = 0; i < std::min(keys_.size(), kKeysTold); ++i) {
      std::fprintf(stderr, "eris: once more, %s\n", keys_[i].c_str());
    }
    if (keys_.size() > kKeysTold) {
      std::fprintf(stderr, "eris: once more, with %zu more columns\n", keys_.size() - kKeysTold);
    }
    for (const auto& [column, complaint] : widened_) {
      const ColumnSchema& wide = table_.schema.columns[column];
      std::fprintf(stderr, "eris: once more, with %s for column %s: %s\n",
                   ColumnTypeText(wide).c_str(), wide.name.c_str(), complaint.c_str());
    }
    for (const auto& [text, complaint] : nulls_) {
      std::fprintf(stderr, "eris: once more, with '%s' as null: %s\n", text.c_str(),
                   complaint.c_str());
    }
  }

 private:
  bool IsNull(const RowFile::BadValue& value) const {
    const ColumnSchema& column = table_.schema.columns[value.column];
    return column.nullable && !table_.file.nulls_given && IsNullText(value.text) &&
           NullsHold(table_.file, column.type);
  }
  ColumnType Wider(const RowFile::BadValue& value) const {
    return WidenedType(table_.schema.columns[value.column].type, value.text, table_.file.forms);
  }
  bool Takes(const RowFile::BadValue& value) const {
    if (value.column == RowFile::BadValue::kNone) return true;
    const std::vector<uint32_t>& key = table_.schema.key;
    if (std::count(key.begin(), key.end(), value.column) > 0) return false;
    if (IsNull(value)) return true;
    return !table_.given_types[value.column] &&
           Wider(value) != table_.schema.columns[value.column].type;
  }
  void Take(const RowFile::BadValue& value) {
    if (value.column == RowFile::BadValue::kNone) return AddColumn(value);
    if (IsNull(value)) {
      if (!nulls_.emplace(value.text, value.complaint).second) return;  // twice in one line
      table_.file.nulls.push_back(value.text);
      file_.AddNull(value.text);
      return;
    }
    ColumnType& type = table_.schema.columns[value.column].type;
    type = Wider(value);
    file_.SetType(value.column, type);
    widened_[value.column] = value.complaint;
  }

  void AddColumn(const RowFile::BadValue& value) {
    cli::AddColumn(value.key, value.text, value.is_string, table_.file);
    const ColumnSchema& column = table_.file.columns.back();
    table_.schema.columns.push_back(column);
    table_.given_types.push_back(false);
    file_.AddColumn(value.key, column);
    keys_.push_back(absl::StrCat("with column ", column.name, ": ", value.complaint));
  }

  RowFile& file_;
  InferredTable& table_;
  std::vector<std::string> keys_;             // that are columns now
  std::map<size_t, std::string> widened_;     // columns, and the last complaints about them
  std::map<std::string, std::string> nulls_;  // texts, and the first complaints
};

}  // namespace

absl::StatusOr<bool> WidenColumns(RowFile& file, InferredTable& table) {
  Widening widening(file, table);
  if (!widening.Add()) return false;
  client::OwnedRows rows;
  for (bool more = true; more;) {
    RowFile::Reset(rows);
    const auto result = file.Read(kRows, rows, [](const std::string&) { return false; });
    if (!result.ok()) return result.status();
    more = *result == RowFile::Result::kFull ||
           (*result == RowFile::Result::kBadLine && widening.Add());
  }
  widening.Tell();
  return true;
}

}  // namespace eris::cli
