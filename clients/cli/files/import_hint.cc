#include "clients/cli/files/import_hint.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

// The narrowest type of keys that has this one.
std::optional<ColumnType> KeyTypeOf(absl::string_view text) {
  uint64_t key = 0;
  for (const ColumnType type :
       {ColumnType::kUint64, ColumnType::kInt64, ColumnType::kDate, ColumnType::kTimestamp}) {
    if (ParseKeyText(type, text, key)) return type;
  }
  // Names such as "inf" are rather text.
  const bool number = !text.empty() && !absl::ascii_isalpha(text.back());
  if (number && ParseKeyText(ColumnType::kFloat64, text, key)) return ColumnType::kFloat64;
  return std::nullopt;
}

// The type of a table's column that may be meant.
std::string ColumnTypeOf(absl::string_view text) {
  const std::optional<ColumnType> type = KeyTypeOf(text);
  if (!type) return "string";
  if (IsTimeType(*type)) return ColumnTypeName(*type);
  if (*type != ColumnType::kFloat64) return "int64";
  const size_t point = text.find('.');
  const bool exponent = text.find_first_of("eE") != text.npos;
  if (point == text.npos || exponent) return "float64";
  return absl::StrCat("decimal(", text.size() - point - 1, ")");
}

bool IsPlainName(absl::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace

std::string DelimiterHint(absl::Span<const absl::string_view> fields, char delimiter) {
  if (fields.size() != 1) return "";
  for (const char other : {';', '\t', '|', ','}) {
    if (other == delimiter || !absl::StrContains(fields[0], other)) continue;
    const std::string name = other == '\t' ? "tab" : absl::StrCat("'", std::string(1, other), "'");
    const std::string without =
        delimiter == '\t' ? "tab" : absl::StrCat("'", std::string(1, delimiter), "'");
    return absl::StrCat("; the line has no ", without, " but ", name, ": give --delimiter ", name);
  }
  return "";
}

std::string CaseHint(absl::Span<const absl::string_view> header, absl::string_view name) {
  for (const absl::string_view field : header) {
    if (!absl::EqualsIgnoreCase(field, name) || field == name) continue;
    return absl::StrCat("; it has '", field, "', and upper and lower case differ");
  }
  return "";
}

std::string TableHint(const std::vector<std::string>& names,
                      absl::Span<const absl::string_view> fields, size_t key_column) {
  std::vector<std::string> columns;
  std::string key;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool named = i < names.size() && IsPlainName(names[i]);
    const std::string name = named ? names[i] : absl::StrCat("c", i + 1);
    if (i == key_column) key = name;
    columns.push_back(absl::StrCat(name, ":", ColumnTypeOf(fields[i])));
  }
  return absl::StrCat("; a table keeps others, as with --schema '", absl::StrJoin(columns, ","),
                      "' --key ", key);
}

std::string KeyHint(const KeyTypes& types, bool second_part, absl::string_view key) {
  const std::optional<ColumnType> type = KeyTypeOf(key);
  if (!type) return "";
  KeyTypes meant = types;
  (second_part ? *meant.second : meant.first) = *type;
  return absl::StrCat("; for such keys give --key-type ", KeyTypesName(meant));
}

}  // namespace eris::cli
