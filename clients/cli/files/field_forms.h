// How a file writes its dates and fractions, where that is not as ERIS does: 31.12.2024, 1,5. Pure
// functions; any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_FIELD_FORMS_H_
#define ERIS_CLIENTS_CLI_FILES_FIELD_FORMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eris/schema.h"

namespace eris::cli {

struct FieldForms {
  // YYYY, MM and DD with other characters between them; a month or a day may have one digit.
  // YYYY-MM-DD is a date whatever the form is. Empty: only that.
  std::string date{};
  // 1,5 is 1.5, and 1.234.567,5 is 1234567.5.
  bool decimal_comma = false;

  // Whether fields of the type may be written in another form.
  bool Change(ColumnType type) const {
    if (type == ColumnType::kDate) return !date.empty();
    return decimal_comma && (type == ColumnType::kFloat64 || type == ColumnType::kDecimal);
  }
};

// What is wrong with a form of dates; empty: nothing.
inline std::string CheckDateForm(const std::string& form) {
  size_t letters = 0;
  for (const absl::string_view part : {"YYYY", "MM", "DD"}) {
    if (absl::StrContains(form, part)) letters += part.size();
  }
  size_t other = 0;
  for (const char c : form) {
    if (c == 'Y' || c == 'M' || c == 'D') continue;
    ++other;
    if (c >= '0' && c <= '9') return absl::StrCat("'", form, "' has a digit");
  }
  if (letters == 8 && letters + other == form.size()) return "";
  return absl::StrCat("'", form, "' is no form of dates: give YYYY, MM and DD, as in DD.MM.YYYY");
}

// A field of a type that has another form, as ERIS writes it.
class PlainField {
 public:
  PlainField(const FieldForms& forms, ColumnType type, absl::string_view text) : text_(text) {
    if (type == ColumnType::kDate) {
      if (TakeDate(forms.date, text)) text_ = absl::string_view(plain_.data(), bytes_);
    } else if (TakeNumber(text)) {
      text_ = absl::string_view(plain_.data(), bytes_);
    } else {
      good_ = false;
    }
  }
  PlainField(const PlainField&) = delete;
  PlainField& operator=(const PlainField&) = delete;
  // False: it is in no form. A point that is a decimal one elsewhere is none among commas.
  bool good() const { return good_; }
  // The field itself if it is not in the other form. Eight bytes behind it are readable, if they
  // are behind the field.
  absl::string_view text() const { return text_; }

 private:
  static constexpr size_t kBytesMax = 64;

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  bool TakeDate(absl::string_view form, absl::string_view text) {
    std::array<int, 3> numbers{};  // year, month, day
    size_t at = 0;
    for (size_t i = 0; i < form.size();) {
      const char c = form[i];
      if (c != 'Y' && c != 'M' && c != 'D') {
        if (at == text.size() || text[at++] != c) return false;
        ++i;
        continue;
      }
      const size_t digits_max = c == 'Y' ? 4 : 2;
      const size_t begin = at;
      int& number = numbers[c == 'Y' ? 0 : c == 'M' ? 1 : 2];
      while (at < text.size() && at - begin < digits_max && IsDigit(text[at])) {
        number = number * 10 + (text[at++] - '0');
      }
      if (at == begin || (c == 'Y' && at - begin < digits_max)) return false;
      i += digits_max;
    }
    if (at != text.size()) return false;
    bytes_ = 0;
    const auto put = [&](int number, int power) {
      for (; power > 0; power /= 10)
        plain_[bytes_++] = static_cast<char>('0' + number / power % 10);
    };
    put(numbers[0], 1000);
    plain_[bytes_++] = '-';
    put(numbers[1], 10);
    plain_[bytes_++] = '-';
    put(numbers[2], 10);
    return true;
  }

  // Points are between groups of three digits, before the comma.
  bool TakeNumber(absl::string_view text) {
    if (text.size() > kBytesMax) return false;
    bytes_ = 0;
    bool comma = false, points = false;
    size_t digits = 0;  // since the last point, or the beginning
    for (const char c : text) {
      if (c == '.') {
        if (comma || digits == 0 || digits > 3 || (points && digits != 3)) return false;
        points = true;
        digits = 0;
        continue;
      }
      if (c == ',') {
        if (comma || (points && digits != 3)) return false;
        comma = true;
      }
      if (points && !comma && c != ',' && !IsDigit(c)) return false;
      digits += IsDigit(c) && !comma ? 1 : 0;
      plain_[bytes_++] = c == ',' ? '.' : c;
    }
    return !points || comma || digits == 3;
  }

  bool good_ = true;
  absl::string_view text_;
  std::array<char, kBytesMax + 8> plain_{};
  size_t bytes_ = 0;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_FIELD_FORMS_H_
