// Keys of any type as text: for program input, output and messages. Header-only; pure functions,
// any thread.
//
//   uint64   decimal digits                          0 .. 18446744073709551615
//   int64    the same, with '-' where below 0        -9223372036854775808 .. 9223372036854775807
//   float64  decimal, also 1e-7; inf, -inf; no nan   printed so short as to be read back the same
//   date, timestamp                                  see calendar_text.h
#ifndef ERIS_KEY_TEXT_H_
#define ERIS_KEY_TEXT_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eris/calendar_text.h"
#include "eris/key_encoding.h"
#include "eris/types.h"

namespace eris {

inline constexpr ColumnType kKeyTypes[] = {ColumnType::kUint64, ColumnType::kInt64,
                                           ColumnType::kFloat64, ColumnType::kDate,
                                           ColumnType::kTimestamp};

inline absl::string_view KeyTypeName(ColumnType type) { return ColumnTypeName(type); }
inline std::optional<ColumnType> KeyTypeFromName(absl::string_view name) {
  for (const ColumnType type : kKeyTypes) {
    if (name == KeyTypeName(type)) return type;
  }
  return std::nullopt;
}

// "uint64"; for two parts "uint64,date".
inline std::string KeyTypesName(const KeyTypes& types) {
  if (!types.two_parts()) return std::string(KeyTypeName(types.first));
  return absl::StrCat(KeyTypeName(types.first), ",", KeyTypeName(*types.second));
}
// "one part (uint64)", "two parts (uint64,date)".
inline std::string KeyPartsText(const KeyTypes& types) {
  return absl::StrCat(types.two_parts() ? "two parts (" : "one part (", KeyTypesName(types), ")");
}

// The valid keys of the type, as text: "number from 0 to 18446744073709551615".
inline absl::string_view KeyTypeRange(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
      return "number from -9223372036854775808 to 9223372036854775807";
    case ColumnType::kFloat64:
      return "number within the range of 64-bit floats (inf and -inf are, nan is not)";
    case ColumnType::kDate:
      return "date YYYY-MM-DD from -5877641-06-23 to 5881580-07-11";
    case ColumnType::kTimestamp:
      return kTimestampRange;
    default:
      return "number from 0 to 18446744073709551615";
  }
}

// Appends a key's text. A key outside its type's range (only an embedder can write one) shows as
// "key N".
inline void AppendKeyText(ColumnType type, uint64_t key, std::string* text) {
  if (key < LowestKey(type) || key > HighestKey(type)) return absl::StrAppend(text, "key ", key);
  switch (type) {
    case ColumnType::kInt64:
      return absl::StrAppend(text, Int64FromKey(key));
    case ColumnType::kFloat64: {
      char buffer[32];  // the longest is -2.2250738585072014e-308
      const std::to_chars_result end =
          std::to_chars(buffer, buffer + sizeof buffer, Float64FromKey(key));
      text->append(buffer, end.ptr);
      return;
    }
    case ColumnType::kDate:
      return absl::StrAppend(text, DateText(DateFromKey(key)));
    case ColumnType::kTimestamp:
      return absl::StrAppend(text, TimestampText(Int64FromKey(key)));
    default:
      return absl::StrAppend(text, key);
  }
}
inline std::string KeyText(ColumnType type, uint64_t key) {
  std::string text;
  AppendKeyText(type, key, &text);
  return text;
}

// False unless the whole text is a key of the type: no '+' sign, no blank, nothing after it.
inline bool ParseKeyText(ColumnType type, absl::string_view text, uint64_t& key) {
  const char* end = text.data() + text.size();
  const auto whole = [&](const std::from_chars_result& result) {
    return result.ec == std::errc() && result.ptr == end && !text.empty();
  };
  switch (type) {
    case ColumnType::kInt64: {
      int64_t number = 0;
      if (!whole(std::from_chars(text.data(), end, number))) return false;
      key = KeyFromInt64(number);
      return true;
    }
    case ColumnType::kFloat64: {
      double number = 0;
      if (!whole(std::from_chars(text.data(), end, number)) || IsNan(number)) return false;
      key = KeyFromFloat64(number);
      return true;
    }
    case ColumnType::kDate: {
      int32_t days = 0;
      if (!ParseDate(text, days)) return false;
      key = KeyFromDate(days);
      return true;
    }
    case ColumnType::kTimestamp: {
      int64_t micros = 0;
      if (!ParseTimestamp(text, micros)) return false;
      key = KeyFromInt64(micros);
      return true;
    }
    default:
      return whole(std::from_chars(text.data(), end, key));
  }
}
// Errors: InvalidArgument, naming the text and what was expected.
inline absl::StatusOr<uint64_t> KeyFromText(ColumnType type, absl::string_view text) {
  uint64_t key = 0;
  if (ParseKeyText(type, text, key)) return key;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no ", KeyTypeRange(type)));
}

}  // namespace eris

#endif  // ERIS_KEY_TEXT_H_
