#include "server/log/log.h"

#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace eris::server {
namespace {

absl::string_view Prefix(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

}  // namespace

void Log(LogLevel level, absl::string_view text, std::initializer_list<LogField> fields) {
  std::string line = absl::StrCat("eris: ", Prefix(level), text);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=\"", absl::Utf8SafeCEscape(field.value), "\"");
  }
  absl::StrAppend(&line, "\n");
  std::fputs(line.c_str(), stderr);
}

}  // namespace eris::server
