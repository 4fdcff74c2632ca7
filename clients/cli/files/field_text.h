// Fields of files as values of table columns: numbers, decimals and times eight digits at a time,
// with ordinary parsing for what is rare. Pure functions; any thread.
//
// REQUIRES of all: eight readable bytes from each byte of the text on, whatever follows it.
#ifndef ERIS_CLIENTS_CLI_FILES_FIELD_TEXT_H_
#define ERIS_CLIENTS_CLI_FILES_FIELD_TEXT_H_

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "eris/key_text.h"
#include "eris/schema.h"

namespace eris::cli {

// The most bytes of a numeric field. A longer field is no number.
inline constexpr size_t kNumberBytesMax = 400;

// Whether a number, of which `text` is one, would not show its text again: 007, or a whole number
// that a float64 rounds. `text` without spaces around it. Of other types false.
inline bool LosesDigits(ColumnType type, absl::string_view text) {
  const bool is_double = type == ColumnType::kFloat64;
  if (!is_double && type != ColumnType::kInt64 && type != ColumnType::kUint64) return false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) return true;
  if (!is_double || text.size() < std::numeric_limits<double>::digits10 + 1) return false;
  // Whole, and a double has it if what is left without its factors 2 is below 2^53.
  __extension__ using Wide = unsigned __int128;
  Wide whole = 0;
  for (const char c : text) {
    if (!is_digit(c)) return false;
    if (whole > ~Wide{0} / 16) return true;
    whole = whole * 10 + static_cast<unsigned>(c - '0');
  }
  while (whole != 0 && whole % 2 == 0) whole /= 2;
  return whole >> std::numeric_limits<double>::digits != 0;
}

namespace internal {

static_assert(std::endian::native == std::endian::little);

inline uint64_t Load8(const char* text) {
  uint64_t word;
  std::memcpy(&word, text, sizeof(word));
  return word;
}
// Every byte is 0 to 9.
inline bool AreDigits(uint64_t bytes) {
  return ((bytes + 0x7676767676767676) & 0x8080808080808080) == 0 &&
         (bytes & 0x8080808080808080) == 0;
}
// The number of eight digits, the first in the lowest byte.
inline uint32_t NumberOf(uint64_t digits) {
  digits = digits * 10 + (digits >> 8);
  return static_cast<uint32_t>(((digits & 0x000000FF000000FF) * 0x000F424000000064 +
                                ((digits >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >>
                               32);
}
// The first `length` bytes, 1 to 8, as digits behind zeros.
inline uint64_t Digits(const char* text, size_t length) {
  return (Load8(text) ^ 0x3030303030303030) << (8 * (8 - length));
}

inline constexpr std::array<uint64_t, 20> kPowersOfTen = [] {
  std::array<uint64_t, 20> powers{};
  uint64_t power = 1;
  for (uint64_t& one : powers) {
    one = power;
    power *= 10;
  }
  return powers;
}();

// 1 to 16 digits alone.
inline bool ParseShortDigits(const char* text, size_t length, uint64_t& number) {
  if (length <= 8) {
    if (length == 0) return false;
    const uint64_t digits = Digits(text, length);
    number = NumberOf(digits);
    return AreDigits(digits);
  }
  if (length > 16) return false;
  const uint64_t high = Digits(text, length - 8);
  const uint64_t low = Digits(text + length - 8, 8);
  number = uint64_t{NumberOf(high)} * 100'000'000 + NumberOf(low);
  return AreDigits(high) && AreDigits(low);
}

// The first day of each month of 1900 to 2099, and of January 2100.
inline constexpr int kTableYear = 1900;
inline constexpr int kTableYears = 200;
inline constexpr std::array<int32_t, kTableYears* 12 + 1> kMonthStarts = [] {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::array<int32_t, kTableYears * 12 + 1> starts{};
  int32_t day = -25567;  // 1900-01-01
  for (int month = 0; month < kTableYears * 12; ++month) {
    starts[static_cast<size_t>(month)] = day;
    const int year = kTableYear + month / 12;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    day += kDays[month % 12] + (month % 12 == 1 && leap ? 1 : 0);
  }
  starts.back() = day;
  return starts;
}();

// One to seven digits with a point between two of them, as the number without it.
inline bool ParseTinyFraction(const char* text, size_t length, uint64_t& digits, size_t& behind) {
  const uint64_t word = Load8(text);
  const uint64_t points = word ^ 0x2E2E2E2E2E2E2E2E;
  const uint64_t found = (points - 0x0101010101010101) & ~points & 0x8080808080808080;
  const auto point = static_cast<size_t>(std::countr_zero(found)) / 8;
  if (point == 0 || point + 1 >= length) return false;
  const uint64_t before = (uint64_t{1} << (8 * point)) - 1;
  const uint64_t joined = (word & before) | ((word >> 8) & ~before);
  const uint64_t aligned = (joined ^ 0x3030303030303030) << (8 * (9 - length));
  digits = NumberOf(aligned);
  behind = length - point - 1;
  return AreDigits(aligned);
}

// Digits, maybe with a point, few enough that a double is the number without the point, and another
// one the power of ten. Their quotient is rounded once, as from_chars rounds.
inline bool ParseShortDouble(absl::string_view text, double& number) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  uint64_t digits = 0;
  size_t behind = 0;
  if (text.size() > 8 || !ParseTinyFraction(text.data(), text.size(), digits, behind)) {
    const size_t point = std::min(text.find('.'), text.size());
    if (text.size() > std::numeric_limits<double>::digits10 + size_t{point < text.size()}) {
      return false;
    }
    if (!ParseShortDigits(text.data(), point, digits)) return false;
    if (point < text.size()) {
      uint64_t fraction = 0;
      behind = text.size() - point - 1;
      if (!ParseShortDigits(text.data() + point + 1, behind, fraction)) return false;
      digits = digits * kPowersOfTen[behind] + fraction;
    }
  }
  number = static_cast<double>(digits) / static_cast<double>(kPowersOfTen[behind]);
  if (negative) number = -number;
  return true;
}

template <class Integer>
bool ParseWhole(absl::string_view text, Integer& number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return !text.empty() && read.ec == std::errc() && read.ptr == end;
}

// Any number of digits, a point wherever, of 19 significant digits at most.
inline bool ParseDecimalSlowly(absl::string_view text, uint8_t scale, int64_t& unscaled) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const size_t point = text.find('.');
  const absl::string_view whole = text.substr(0, point);
  absl::string_view fraction = point == text.npos ? "" : text.substr(point + 1);
  if (whole.empty() && fraction.empty()) return false;
  while (fraction.size() > scale && fraction.back() == '0') fraction.remove_suffix(1);
  if (fraction.size() > scale) return false;
  uint64_t number = 0;
  const auto add = [&number](absl::string_view digits) {
    for (const char c : digits) {
      const auto digit = static_cast<uint64_t>(static_cast<unsigned char>(c)) - '0';
      if (digit > 9 || number > (std::numeric_limits<uint64_t>::max() - digit) / 10) return false;
      number = number * 10 + digit;
    }
    return true;
  };
  if (!add(whole) || !add(fraction)) return false;
  const uint64_t power = kPowersOfTen[scale - fraction.size()];
  const uint64_t limit = (uint64_t{1} << 63) - (negative ? 0 : 1);
  if (number > limit / power) return false;
  number *= power;
  unscaled = static_cast<int64_t>(negative ? 0 - number : number);
  return true;
}

}  // namespace internal

// Each: false for anything but a value of the type.
inline bool ParseField(absl::string_view text, uint64_t& number) {
  if (internal::ParseShortDigits(text.data(), text.size(), number)) return true;
  return internal::ParseWhole(text, number);
}
inline bool ParseField(absl::string_view text, int64_t& number) {
  uint64_t digits = 0;
  if (internal::ParseShortDigits(text.data(), text.size(), digits)) {
    number = static_cast<int64_t>(digits);
    return true;
  }
  return internal::ParseWhole(text, number);
}
// Parses a number of 1, 2 or 4 bytes as a wide one, and checks its range.
template <std::integral Integer>
bool ParseField(absl::string_view text, Integer& number) {
  std::conditional_t<std::is_signed_v<Integer>, int64_t, uint64_t> wide = 0;
  if (!ParseField(text, wide)) return false;
  number = static_cast<Integer>(wide);
  return number == wide;
}
// As from_chars: also inf and nan.
inline bool ParseField(absl::string_view text, double& number) {
  return internal::ParseShortDouble(text, number) || internal::ParseWhole(text, number);
}
inline bool ParseDecimalField(absl::string_view text, uint8_t scale, int64_t& unscaled) {
  const char* const begin = text.data();
  const size_t length = text.size();
  // Nearly every one: digits, a point, and as many digits as the scale.
  if (scale > 0 && length > scale + size_t{1} && begin[length - scale - 1] == '.') {
    if (length <= 8) {
      const uint64_t all = internal::Digits(begin, length);
      const uint64_t behind = ~uint64_t{0} << (64 - 8 * scale);
      const uint64_t before = (uint64_t{1} << (8 * (7 - scale))) - 1;
      const uint64_t digits = (all & behind) | ((all & before) << 8);
      unscaled = internal::NumberOf(digits);
      if (internal::AreDigits(digits)) return true;
    } else {
      uint64_t whole = 0, fraction = 0;
      if (length - 1 <= 16 && internal::ParseShortDigits(begin, length - scale - 1, whole) &&
          internal::ParseShortDigits(begin + length - scale, scale, fraction)) {
        unscaled = static_cast<int64_t>(whole * internal::kPowersOfTen[scale] + fraction);
        return true;
      }
    }
  }
  // Or digits alone, whose power of ten leaves room.
  uint64_t whole = 0;
  if (length + scale <= 18 && internal::ParseShortDigits(begin, length, whole)) {
    unscaled = static_cast<int64_t>(whole * internal::kPowersOfTen[scale]);
    return true;
  }
  return internal::ParseDecimalSlowly(text, scale, unscaled);
}
inline bool ParseDateField(absl::string_view text, int32_t& days) {
  if (text.size() == 10) {
    const char* const begin = text.data();
    // Behind the century: "96-03-13".
    const uint64_t rest = internal::Load8(begin + 2) ^ 0x30302D30302D3030;
    const auto century = static_cast<uint32_t>((begin[0] - '0') * 10 + (begin[1] - '0'));
    const uint64_t pairs = rest * 10 + (rest >> 8);
    const auto year = static_cast<uint32_t>(century * 100 + (pairs & 0xFF)) - internal::kTableYear;
    const auto month = static_cast<uint32_t>(pairs >> 24 & 0xFF) - 1;
    const auto day = static_cast<uint32_t>(pairs >> 48 & 0xFF) - 1;
    constexpr uint64_t kDashes = 0x0000FF0000FF0000;
    if (internal::AreDigits(rest) && (rest & kDashes) == 0 &&
        static_cast<unsigned char>(begin[1] - '0') <= 9 && year < internal::kTableYears &&
        month < 12) {
      const int32_t* const start = &internal::kMonthStarts[year * 12 + month];
      days = start[0] + static_cast<int32_t>(day);
      return day < static_cast<uint32_t>(start[1] - start[0]);
    }
  }
  return ParseDate(text, days);
}

inline bool ParseTimestampField(absl::string_view text, int64_t& micros) {
  constexpr size_t kDateBytes = 10, kSecondsEnd = 19, kMicrosEnd = 26;
  const size_t length = text.size();
  const char* const begin = text.data();
  // Nearly every one: "2024-01-02 03:04:05", and maybe a point and up to six digits behind it.
  int32_t day = 0;
  const bool plain = length == kSecondsEnd || (length > kSecondsEnd + 1 && length <= kMicrosEnd &&
                                               begin[kSecondsEnd] == '.');
  if (plain && (begin[kDateBytes] == ' ' || begin[kDateBytes] == 'T') &&
      ParseDateField(text.substr(0, kDateBytes), day)) {
    const uint64_t time = internal::Load8(begin + kDateBytes + 1) ^ 0x30303A30303A3030;
    const uint64_t pairs = time * 10 + (time >> 8);
    const uint64_t hours = pairs & 0xFF, minutes = pairs >> 24 & 0xFF, seconds = pairs >> 48 & 0xFF;
    constexpr uint64_t kColons = 0x0000FF0000FF0000;
    uint64_t fraction = 0;
    const size_t digits = length == kSecondsEnd ? 0 : length - kSecondsEnd - 1;
    if (internal::AreDigits(time) && (time & kColons) == 0 && hours < 24 && minutes < 60 &&
        seconds < 60 &&
        (digits == 0 || internal::ParseShortDigits(begin + kSecondsEnd + 1, digits, fraction))) {
      const auto of_day = static_cast<int64_t>(((hours * 60 + minutes) * 60 + seconds) * 1'000'000 +
                                               fraction * internal::kPowersOfTen[6 - digits]);
      micros = day * kMicrosPerDay + of_day;  // years of four digits are far from the limits
      return true;
    }
  }
  return ParseTimestamp(text, micros);
}

// A value of a column of fixed width, which is stored at `to` in any case.
inline bool StoreField(ColumnType type, uint8_t scale, absl::string_view text, char* to) {
  const auto store = [to](auto value, auto parse) {
    const bool good = parse(value);
    std::memcpy(to, &value, sizeof(value));
    return good;
  };
  if (type == ColumnType::kDate) {
    return store(int32_t{}, [&](int32_t& value) { return ParseDateField(text, value); });
  }
  if (type == ColumnType::kTimestamp) {
    return store(int64_t{}, [&](int64_t& value) { return ParseTimestampField(text, value); });
  }
  if (type == ColumnType::kDecimal) {
    return store(int64_t{}, [&](int64_t& value) { return ParseDecimalField(text, scale, value); });
  }
  if (type == ColumnType::kFloat64) {
    return store(double{}, [&](double& value) { return ParseField(text, value); });
  }
  if (type == ColumnType::kInt64) {
    return store(int64_t{}, [&](int64_t& value) { return ParseField(text, value); });
  }
  return VisitColumnType(type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      return store(T{}, [&](T& value) { return ParseField(text, value); });
    } else {
      return false;
    }
  });
}

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_FIELD_TEXT_H_
