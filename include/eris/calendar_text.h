// Dates and timestamps as text. Header-only; pure functions, any thread.
//
//   date       YYYY-MM-DD, proleptic Gregorian     -5877641-06-23 .. 5881580-07-11
//   timestamp  YYYY-MM-DD HH:MM:SS[.ffffff], UTC   -290308-12-21 19:59:05.224192 ..
//                                                  294247-01-10 04:00:54.775807
//
// Years beyond 9999 have more digits, those before year 0 (which is 1 BC) a '-'. A timestamp is
// printed with as many digits behind its point as it needs, none for whole seconds.
//
// Timestamps are read in more forms: with a T before the time; without seconds, or without a time,
// which is 00:00:00; and with a zone behind the time (Z, UTC, +02, +0200, +02:00), which is
// converted to UTC. There are no leap seconds: 23:59:60 is refused, as are digits of a fraction
// that microseconds do not have.
#ifndef ERIS_CALENDAR_TEXT_H_
#define ERIS_CALENDAR_TEXT_H_

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/civil_time.h"

namespace eris {

inline constexpr absl::CivilDay kDateEpoch{1970, 1, 1};

inline absl::CivilDay CivilDayFromDate(int32_t days) { return kDateEpoch + days; }
// nullopt if more than 2^31 days from 1970-01-01.
inline std::optional<int32_t> DateFromCivilDay(absl::CivilDay day) {
  const absl::civil_diff_t days = day - kDateEpoch;
  if (days < std::numeric_limits<int32_t>::min() || days > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(days);
}

inline std::string DateText(int32_t days) {
  const absl::CivilDay day = CivilDayFromDate(days);
  const int64_t year = day.year();
  return absl::StrFormat("%s%04d-%02d-%02d", year < 0 ? "-" : "", year < 0 ? -year : year,
                         day.month(), day.day());
}

// False unless the text is a calendar day in the form above.
inline bool ParseDate(absl::string_view text, int32_t& days) {
  const bool before_0 = !text.empty() && text[0] == '-';
  if (before_0) text.remove_prefix(1);
  // Parse from the end, YYYY-MM-DD: the year may be longer.
  if (text.size() < 10 || text.size() > 13 || text[text.size() - 3] != '-' ||
      text[text.size() - 6] != '-') {
    return false;
  }
  const auto parse = [](absl::string_view digits, uint32_t& number) {
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, number);
    return error == std::errc() && stop == end;
  };
  const absl::string_view year_text = text.substr(0, text.size() - 6);
  uint32_t year = 0, month = 0, day = 0;
  if (!parse(year_text, year) || !parse(text.substr(text.size() - 5, 2), month) ||
      !parse(text.substr(text.size() - 2), day) || (year_text.size() > 4 && year_text[0] == '0') ||
      (before_0 && year == 0)) {
    return false;
  }
  const int64_t signed_year = before_0 ? -static_cast<int64_t>(year) : year;
  // CivilDay carries over a day that its month does not have, which changes the month.
  const absl::CivilDay civil(signed_year, month, day);
  if (civil.year() != signed_year || civil.month() != static_cast<int>(month)) return false;
  const std::optional<int32_t> date = DateFromCivilDay(civil);
  if (date) days = *date;
  return date.has_value();
}

inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;
inline constexpr absl::string_view kTimestampRange =
    "timestamp YYYY-MM-DD HH:MM:SS with up to 6 digits behind the point, without leap seconds, "
    "from "
    "-290308-12-21 19:59:05.224192 to 294247-01-10 04:00:54.775807";

// The day of a timestamp: rounded down, also before 1970.
constexpr int32_t DayOfTimestamp(int64_t micros) {
  return static_cast<int32_t>(micros / kMicrosPerDay - (micros % kMicrosPerDay < 0 ? 1 : 0));
}
// nullopt beyond an i64, which has years up to 294247.
constexpr std::optional<int64_t> TimestampOfDay(int64_t days, int64_t micros_of_day = 0) {
  // The midnight may be outside: the first day that there is begins without one, and a zone may
  // lead back from the days around.
  __extension__ using Wide = __int128;
  const Wide micros = Wide{days} * kMicrosPerDay + micros_of_day;
  if (micros < std::numeric_limits<int64_t>::min() ||
      micros > std::numeric_limits<int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(micros);
}

inline std::string TimestampText(int64_t micros) {
  const int32_t day = DayOfTimestamp(micros);
  // In an unsigned number, since the first day that there is has no midnight.
  const uint64_t of_day = static_cast<uint64_t>(micros) -
                          static_cast<uint64_t>(day) * static_cast<uint64_t>(kMicrosPerDay);
  const uint64_t seconds = of_day / kMicrosPerSecond;
  std::string text = absl::StrFormat("%s %02d:%02d:%02d", DateText(day), seconds / 3600,
                                     seconds / 60 % 60, seconds % 60);
  if (const uint64_t fraction = of_day % kMicrosPerSecond; fraction != 0) {
    absl::StrAppend(&text, absl::StrFormat(".%06d", fraction));
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

namespace calendar_internal {

// Takes two digits below `end` from the front.
inline bool TakePair(absl::string_view& text, int64_t end, int64_t& number) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() < 2 || !is_digit(text[0]) || !is_digit(text[1])) return false;
  number = (text[0] - '0') * 10 + (text[1] - '0');
  text.remove_prefix(2);
  return number < end;
}

// Takes a point and digits from the front. Those behind the sixth must be 0.
inline bool TakeFraction(absl::string_view& text, int64_t& micros) {
  if (!absl::ConsumePrefix(&text, ".")) return true;
  int64_t unit = kMicrosPerSecond / 10;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    const int64_t digit = text[digits] - '0';
    if (unit == 0 && digit != 0) return false;
    micros += digit * unit;
    unit /= 10;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

// The whole text is a zone, or empty. `minutes`: how far it is ahead of UTC.
inline bool ParseZone(absl::string_view text, int64_t& minutes) {
  minutes = 0;
  if (text.empty()) return true;
  absl::ConsumePrefix(&text, " ");
  if (text == "Z" || text == "z" || text == "UTC") return true;
  if (text.empty()) return false;
  const int64_t sign = text[0] == '+' ? 1 : text[0] == '-' ? -1 : 0;
  text.remove_prefix(1);
  int64_t hours = 0;
  if (sign == 0 || !TakePair(text, 24, hours)) return false;
  if (!text.empty()) {
    absl::ConsumePrefix(&text, ":");
    if (!TakePair(text, 60, minutes)) return false;
  }
  minutes = sign * (hours * 60 + minutes);
  return text.empty();
}

}  // namespace calendar_internal

// False unless the text is a timestamp in one of the forms above.
inline bool ParseTimestamp(absl::string_view text, int64_t& micros) {
  using calendar_internal::TakePair;
  const size_t end = text.find_first_of(" Tt");
  int32_t day = 0;
  if (!ParseDate(text.substr(0, end), day)) return false;
  int64_t hours = 0, minutes = 0, seconds = 0, ahead = 0, fraction = 0;
  if (end != text.npos) {
    absl::string_view rest = text.substr(end + 1);
    if (!TakePair(rest, 24, hours) || !absl::ConsumePrefix(&rest, ":") ||
        !TakePair(rest, 60, minutes)) {
      return false;
    }
    if (absl::ConsumePrefix(&rest, ":") &&
        (!TakePair(rest, 60, seconds) || !calendar_internal::TakeFraction(rest, fraction))) {
      return false;
    }
    if (!calendar_internal::ParseZone(rest, ahead)) return false;
  }
  const int64_t of_day = ((hours * 60 + minutes - ahead) * 60 + seconds) * kMicrosPerSecond;
  const std::optional<int64_t> made = TimestampOfDay(day, of_day + fraction);
  if (made) micros = *made;
  return made.has_value();
}

}  // namespace eris

#endif  // ERIS_CALENDAR_TEXT_H_
