#include "clients/cli/text/parse.h"

#include <charconv>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

absl::StatusOr<uint64_t> ParseValue(absl::string_view text) {
  return KeyFromText(ColumnType::kUint64, text);
}

namespace {

// Cuts `text` at the first of `separators`; false: there is none.
bool Cut(absl::string_view text, const char* separators, absl::string_view& left,
         absl::string_view& right) {
  const size_t separator = text.find_first_of(separators);
  if (separator == absl::string_view::npos) return false;
  left = text.substr(0, separator);
  right = absl::StripLeadingAsciiWhitespace(text.substr(separator + 1));
  return true;
}

absl::Status NoPair(absl::string_view text, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no pair; expected ", expected));
}

}  // namespace

absl::StatusOr<std::pair<ObjectKey, uint64_t>> ParseKeyValue(absl::string_view text,
                                                             const KeyTypes& types) {
  text = absl::StripAsciiWhitespace(text);
  absl::string_view left, right;
  if (!Cut(text, "= \t", left, right)) return NoPair(text, "key=value or 'key value'");
  const absl::StatusOr<ObjectKey> key = ParseKey(left, types);
  if (!key.ok()) return key.status();
  const absl::StatusOr<uint64_t> value = ParseValue(right);
  if (!value.ok()) return value.status();
  return std::pair(*key, *value);
}

absl::StatusOr<uint64_t> ParseDelta(absl::string_view text) {
  uint64_t delta = 0;
  if (ParseU64(text, delta)) return delta;
  constexpr uint64_t kLowest = uint64_t{1} << 63;
  if (!text.empty() && text[0] == '-' && ParseU64(text.substr(1), delta) && delta <= kLowest) {
    return 0 - delta;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no number from -9223372036854775808 to 18446744073709551615"));
}

absl::StatusOr<KeyWrite> ParseWrite(WriteMode mode, absl::string_view text, const KeyTypes& types) {
  text = absl::StripAsciiWhitespace(text);
  const bool compares = mode == WriteMode::kCompareAndSet;
  absl::string_view key_text, expected_text, value_text;
  bool pair = Cut(text, "= \t", key_text, value_text);
  if (pair && compares) pair = Cut(value_text, ": \t", expected_text, value_text);
  if (!pair) {
    return NoPair(text, compares                  ? "key=expected:value or 'key expected value'"
                        : mode == WriteMode::kAdd ? "key=delta or 'key delta'"
                                                  : "key=value or 'key value'");
  }
  const absl::StatusOr<ObjectKey> key = ParseKey(key_text, types);
  if (!key.ok()) return key.status();
  const absl::StatusOr<uint64_t> expected = compares ? ParseValue(expected_text) : 0;
  if (!expected.ok()) return expected.status();
  const absl::StatusOr<uint64_t> value =
      mode == WriteMode::kAdd ? ParseDelta(value_text) : ParseValue(value_text);
  if (!value.ok()) return value.status();
  return KeyWrite{.key = *key, .value = *value, .expected = *expected};
}

absl::StatusOr<ObjectKind> ParseKind(absl::string_view text) {
  if (text == "index") return ObjectKind::kIndex;
  if (text == "hash") return ObjectKind::kHash;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no kind: index or hash"));
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

std::string ValueTypeName(ColumnType type) { return type == ColumnType::kString ? "bytes" : "u64"; }

absl::StatusOr<KeyRange> ParseRange(absl::string_view text, ColumnType type) {
  const size_t colon = text.find(':');
  KeyRange range;
  uint64_t hi = 0;
  if (colon == absl::string_view::npos || !ParseKeyText(type, text.substr(0, colon), range.lo) ||
      (colon + 1 < text.size() && !ParseKeyText(type, text.substr(colon + 1), hi))) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no range; expected LO:HI (HI not included) or LO:, each a ",
                     KeyTypeRange(type)));
  }
  if (colon + 1 < text.size()) range.hi = hi;
  return range;
}

absl::StatusOr<std::vector<uint64_t>> ParseKeyList(absl::string_view text, ColumnType type) {
  std::vector<uint64_t> keys;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::StatusOr<uint64_t> key = KeyFromText(type, absl::StripAsciiWhitespace(part));
    if (!key.ok()) return key.status();
    keys.push_back(*key);
  }
  return keys;
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
