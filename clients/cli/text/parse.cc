#include "clients/cli/text/parse.h"

#include <charconv>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/text/byte_text.h"
#include "eris/key_text.h"

namespace eris::cli {

bool ParseU64(absl::string_view text, uint64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && !text.empty();
}

std::string CheckNotEmpty(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == text.npos ? "is empty" : "";
}

std::string CheckName(const std::string& text) {
  if (IsUtf8(text)) return "";
  return absl::StrCat("'", ShowBytes(ByteFormat::kText, text), "' is no UTF-8");
}

std::string CheckU64(const std::string& text) {
  uint64_t value = 0;
  if (ParseU64(text, value)) return "";
  return absl::StrCat("'", text, "' is no ", KeyTypeRange(ColumnType::kUint64));
}

std::string KindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kIndex:
      return "index";
    case ObjectKind::kHash:
      return "hash";
    case ObjectKind::kTable:
      return "table";
    case ObjectKind::kHeapTable:
      return "heap table";
  }
  return absl::StrCat("kind ", static_cast<int>(kind));
}

absl::StatusOr<uint64_t> ParseBytes(absl::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  const absl::string_view unit =
      digits == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(text.substr(digits));
  uint64_t count = 0;
  uint64_t scale = 0;
  if (unit.empty() || unit == "B") scale = 1;
  if (unit == "KiB") scale = uint64_t{1} << 10;
  if (unit == "MiB") scale = uint64_t{1} << 20;
  if (unit == "GiB") scale = uint64_t{1} << 30;
  if (unit == "TiB") scale = uint64_t{1} << 40;
  if (scale == 0 || !ParseU64(text.substr(0, digits), count) ||
      count > std::numeric_limits<uint64_t>::max() / scale) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no size; expected e.g. 4GiB, 512MiB, 64KiB or bytes"));
  }
  return count * scale;
}

}  // namespace eris::cli
