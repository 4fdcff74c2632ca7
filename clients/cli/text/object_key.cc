#include "clients/cli/text/object_key.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

absl::Status WrongParts(absl::string_view text, size_t parts, const KeyTypes& types,
                        bool first_alone) {
  std::string expected;
  if (types.two_parts()) {
    expected = absl::StrCat("2 (", KeyTypesName(types), "): FIRST/SECOND",
                            first_alone ? ", or FIRST alone" : "");
  } else {
    expected = absl::StrCat("1 (", KeyTypesName(types), ")");
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' has ", parts,
                                                 parts == 1 ? " part" : " parts",
                                                 ", the keys of the object have ", expected));
}

absl::StatusOr<ObjectKey> Parse(absl::string_view text, const KeyTypes& types, bool first_alone) {
  const size_t parts = 1 + std::count(text.begin(), text.end(), kKeyPartSeparator);
  const size_t parts_max = types.two_parts() ? 2 : 1;
  if (parts > parts_max || (parts < parts_max && !first_alone)) {
    return WrongParts(text, parts, types, first_alone && types.two_parts());
  }
  ObjectKey key;
  const size_t separator = text.find(kKeyPartSeparator);
  const auto read = [&](ColumnType type, absl::string_view part, const char* which, uint64_t& out) {
    const absl::StatusOr<uint64_t> number = KeyFromText(type, part);
    if (number.ok()) {
      out = *number;
      return absl::OkStatus();
    }
    if (parts == 1) return number.status();
    return absl::InvalidArgumentError(
        absl::StrCat(number.status().message(), " (the ", which, " part of '", text, "')"));
  };
  absl::Status status = read(types.first, text.substr(0, separator), "first", key.first);
  if (status.ok() && parts == 2) {
    status = read(*types.second, text.substr(separator + 1), "second", key.second);
  }
  if (!status.ok()) return status;
  return key;
}

}  // namespace

absl::StatusOr<KeyTypes> ParseKeyTypes(absl::string_view text) {
  const size_t comma = text.find(',');
  const std::optional<ColumnType> first =
      KeyTypeFromName(absl::StripAsciiWhitespace(text.substr(0, comma)));
  std::optional<ColumnType> second;
  if (comma != absl::string_view::npos) {
    second = KeyTypeFromName(absl::StripAsciiWhitespace(text.substr(comma + 1)));
  }
  if (!first || (comma != absl::string_view::npos && !second)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is no type of keys: u64, i64, f64 or date, or two of them as in u64,date"));
  }
  return KeyTypes(*first, second);
}

std::string CheckKeyTypes(const std::string& text) {
  return std::string(ParseKeyTypes(text).status().message());
}

void AppendObjectKey(const KeyTypes& types, const ObjectKey& key, std::string* text) {
  AppendKeyText(types.first, key.first, text);
  if (!types.two_parts()) return;
  text->push_back(kKeyPartSeparator);
  AppendKeyText(*types.second, key.second, text);
}

std::string ObjectKeyText(const KeyTypes& types, const ObjectKey& key) {
  std::string text;
  AppendObjectKey(types, key, &text);
  return text;
}

absl::StatusOr<ObjectKey> ParseKey(absl::string_view text, const KeyTypes& types) {
  return Parse(text, types, /*first_alone=*/false);
}

absl::StatusOr<ObjectKey> ParseBound(absl::string_view text, const KeyTypes& types) {
  return Parse(text, types, /*first_alone=*/true);
}

}  // namespace eris::cli
