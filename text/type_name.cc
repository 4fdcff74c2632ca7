#include "text/type_name.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "text/nearest.h"

namespace eris::text {
namespace {

struct Alias {
  const char* name;
  ColumnType type;
};
constexpr Alias kAliases[] = {
    {"integer", ColumnType::kInt32},   {"int", ColumnType::kInt32},
    {"bigint", ColumnType::kInt64},    {"double", ColumnType::kFloat64},
    {"real", ColumnType::kFloat64},    {"float", ColumnType::kFloat64},
    {"numeric", ColumnType::kDecimal}, {"varchar", ColumnType::kString},
    {"text", ColumnType::kString},     {"char", ColumnType::kString},
    {"blob", ColumnType::kBytes},      {"bytea", ColumnType::kBytes},
    {"binary", ColumnType::kBytes},    {"datetime", ColumnType::kTimestamp}};

}  // namespace

std::optional<ColumnType> ColumnTypeFromName(absl::string_view name) {
  for (const ColumnType type : kColumnTypes) {
    if (absl::EqualsIgnoreCase(name, ColumnTypeName(type))) return type;
  }
  for (const Alias& alias : kAliases) {
    if (absl::EqualsIgnoreCase(name, alias.name)) return alias.type;
  }
  return std::nullopt;
}

std::string TypeNameHint(absl::string_view name) {
  std::vector<std::string> names;
  for (const ColumnType type : kColumnTypes) names.emplace_back(ColumnTypeName(type));
  for (const Alias& alias : kAliases) names.emplace_back(alias.name);
  const std::string nearest = NearestOf(names, absl::AsciiStrToLower(name));
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace eris::text
