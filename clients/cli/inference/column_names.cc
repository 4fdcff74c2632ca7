#include "clients/cli/inference/column_names.h"

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
  std::vector<std::string> names;
  for (size_t i = 0; i < given.size(); ++i) {
    names.push_back(ColumnName(given[i], absl::StrCat("c", i + 1), used));
  }
  return names;
}

}  // namespace eris::cli
