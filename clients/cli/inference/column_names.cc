#include "clients/cli/inference/column_names.h"

#include <cstddef>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/text/parse.h"
#include "eris/schema.h"

namespace eris::cli {
namespace {

// The name changed so that the command line can write it; empty: it cannot be.
std::string FitName(const std::string& given) {
  std::string name(absl::StripAsciiWhitespace(given));
  for (char& c : name) {
    if (c == ',' || c == ':' || absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '_';
  }
  return name.size() > kColumnNameBytesMax || !CheckName(name).empty() ? "" : name;
}

}  // namespace

std::string ColumnName(const std::string& given, const std::string& other,
                       std::set<std::string>& used) {
  const std::string fit = FitName(given);
  const std::string base = fit.empty() ? other : fit;
  std::string name = base;
  for (int more = 2; !used.insert(name).second; ++more) name = absl::StrCat(base, "_", more);
  return name;
}

std::vector<std::string> ColumnNames(const std::vector<std::string>& given) {
  std::set<std::string> used;
  std::vector<std::string> names(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const bool is_fit = !given[i].empty() && FitName(given[i]) == given[i];
    if (is_fit && used.insert(given[i]).second) names[i] = given[i];
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (names[i].empty()) names[i] = ColumnName(given[i], absl::StrCat("c", i + 1), used);
  }
  return names;
}

std::vector<std::string> KeysOfColumns(const std::vector<std::string>& keys, const Schema& schema) {
  std::set<std::string> names;
  for (const ColumnSchema& column : schema.columns) names.insert(column.name);
  const std::set<std::string> different(keys.begin(), keys.end());
  std::map<std::string, std::vector<std::string>> changed;  // by the name that they would have
  for (const std::string& key : different) {
    if (names.count(key) == 0) changed[FitName(key)].push_back(key);
  }
  std::vector<std::string> found;
  for (const ColumnSchema& column : schema.columns) {
    const auto others = changed.find(column.name);
    const bool is_clear = different.count(column.name) == 0 && others != changed.end() &&
                          others->second.size() == 1 &&
                          names.count(absl::StrCat(column.name, "_2")) == 0;
    found.push_back(is_clear ? others->second[0] : column.name);
  }
  return found;
}

}  // namespace eris::cli
