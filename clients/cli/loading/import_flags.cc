#include "clients/cli/loading/import_flags.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace eris::cli {

bool IsTblPath(absl::string_view path) {
  return absl::EndsWith(path, ".tbl") || absl::StrContains(path, ".tbl.");
}

bool ImportFlags::IsTbl() const { return format.empty() ? IsTblPath(path) : format == "tbl"; }

absl::StatusOr<DelimitedFormat> ImportFlags::Delimited() const {
  DelimitedFormat delimited = IsTbl() ? DelimitedFormat{'|', false, true} : DelimitedFormat{};
  if (delimiter == "\\t" || delimiter == "tab") {
    delimited.delimiter = '\t';
  } else if (delimiter.size() == 1 && delimiter != "\"" && delimiter != "\n") {
    delimited.delimiter = delimiter[0];
  } else if (!delimiter.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--delimiter '", delimiter,
                     "' is not one character (or tab), or is a quote or a line end"));
  }
  if (escape.size() > 1 || escape == "\"" || escape == "\n") {
    return absl::InvalidArgumentError(
        absl::StrCat("--escape '", escape, "' is not one character, or is a quote or a line end"));
  }
  if (!escape.empty()) delimited.escape = escape[0];
  return delimited;
}

std::vector<std::string> ImportFlags::KeyColumns(size_t parts) const {
  std::vector<std::string> columns;
  if (key.empty()) {
    for (size_t i = 1; i <= parts; ++i) columns.push_back(absl::StrCat(i));
    return columns;
  }
  for (const absl::string_view column : absl::StrSplit(key, ',')) {
    columns.emplace_back(absl::StripAsciiWhitespace(column));
  }
  return columns;
}

}  // namespace eris::cli
