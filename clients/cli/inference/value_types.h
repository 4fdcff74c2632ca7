// Which types a text of a file may have. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_INFERENCE_VALUE_TYPES_H_
#define ERIS_CLIENTS_CLI_INFERENCE_VALUE_TYPES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "clients/cli/files/field_forms.h"
#include "clients/cli/files/field_text.h"
#include "eris/schema.h"

namespace eris::cli {

// From narrow to wide. What is none of these is a string.
inline constexpr std::array<ColumnType, 5> kValueTypes = {ColumnType::kInt64, ColumnType::kUint64,
                                                          ColumnType::kFloat64, ColumnType::kDate,
                                                          ColumnType::kTimestamp};

// In JSON a text in quotes is no number.
inline bool IsNumber(ColumnType type) {
  return type == ColumnType::kInt64 || type == ColumnType::kUint64 || type == ColumnType::kFloat64;
}

// Whether a text of a file is a value of the type.
inline bool Reads(ColumnType type, absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty() || text.size() > kNumberBytesMax) return false;
  std::array<char, kNumberBytesMax + 8> padded{};
  std::copy(text.begin(), text.end(), padded.begin());
  uint64_t value = 0;
  return StoreField(type, 0, {padded.data(), text.size()}, reinterpret_cast<char*>(&value));
}
// The same, and loses no digit.
inline bool IsOf(ColumnType type, absl::string_view text) {
  return Reads(type, text) && !LosesDigits(type, absl::StripAsciiWhitespace(text));
}
// The same of a text that may be in another form.
inline bool IsOf(ColumnType type, absl::string_view text, const FieldForms& forms) {
  if (!forms.Change(type)) return IsOf(type, text);
  const PlainField plain(forms, type, absl::StripAsciiWhitespace(text));
  return plain.good() && IsOf(type, plain.text());
}
inline bool IsOfAny(absl::string_view text) {
  return std::any_of(kValueTypes.begin(), kValueTypes.end(),
                     [&](ColumnType type) { return IsOf(type, text); });
}

// The narrowest type of inference that has both the values of `type`, of which there are some, and
// `text`, and loses no digit of it.
ColumnType WidenedType(ColumnType type, absl::string_view text, const FieldForms& forms = {});

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_INFERENCE_VALUE_TYPES_H_
