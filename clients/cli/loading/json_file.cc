#include "clients/cli/loading/json_file.h"

#include <unistd.h>

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace eris::cli {
namespace {

// The first character that is no space; 0: none in the first bytes.
char FirstCharacter(const InputFile& input) {
  std::array<char, 4096> buffer{};
  const ssize_t got = pread(input.fd(), buffer.data(), buffer.size(), 0);
  if (got <= 0) return '\0';
  absl::string_view text(buffer.data(), static_cast<size_t>(got));
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at == text.npos ? '\0' : text[at];
}

absl::Status CheckFlags(const ImportFlags& flags) {
  const char* const given = !flags.delimiter.empty()    ? "--delimiter"
                            : !flags.escape.empty()     ? "--escape"
                            : flags.header.has_value()  ? "--header"
                            : flags.forms.decimal_comma ? "--decimal-comma"
                            : !flags.table.empty()      ? "--table"
                                                        : nullptr;
  if (given == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(given, " is for delimited text, and ", flags.path, " is NDJSON"));
}

}  // namespace

JsonName JsonNameOf(absl::string_view path) {
  for (const absl::string_view packed : {".gz", ".zst"}) absl::ConsumeSuffix(&path, packed);
  if (absl::EndsWith(path, ".ndjson") || absl::EndsWith(path, ".jsonl")) return JsonName::kLines;
  return absl::EndsWith(path, ".json") ? JsonName::kJson : JsonName::kNone;
}

absl::Status SetJsonFormat(const InputFile& input, ImportFlags& flags) {
  if (flags.format.empty()) {
    const JsonName name = JsonNameOf(flags.path);
    const char first = name == JsonName::kJson && input.seekable() ? FirstCharacter(input) : '\0';
    if (first == '[') {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.path,
                       " is one array of JSON, and one object a line is read, as `jq -c "
                       "'.[]' ",
                       flags.path, "` writes it"));
    }
    if (name == JsonName::kLines || first == '{') flags.format = kNdjson;
  }
  return flags.IsJson() ? CheckFlags(flags) : absl::OkStatus();
}

}  // namespace eris::cli
