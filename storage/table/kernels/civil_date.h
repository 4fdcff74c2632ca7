// The parts of dates and timestamps in the Gregorian calendar. Pure functions, any thread.
#ifndef ERIS_STORAGE_TABLE_CIVIL_DATE_H_
#define ERIS_STORAGE_TABLE_CIVIL_DATE_H_

#include <cstdint>

#include "eris/calendar_text.h"
#include "eris/expression.h"

namespace eris::storage {

struct CivilDate {
  int64_t year = 0;
  int64_t month = 0;  // from 1
  int64_t day = 0;    // from 1
};

// `days` since 1970-01-01, at most 2^31 of them either way.
constexpr CivilDate CivilDateOf(int64_t days) {
  // A year that begins in March ends with its leap day, and its months have 153 days in five. The
  // calendar repeats after 400 years, and day 0 of this count is the first of March of one of them,
  // so long ago that nothing is negative.
  constexpr int64_t kDaysIn400Years = 146'097;
  constexpr int64_t kYearsBefore = 400 * 15'000;
  constexpr int64_t kEpoch = 719'468;  // days from the first of March of year 0 to 1970-01-01
  const int64_t since = days + kEpoch + kYearsBefore / 400 * kDaysIn400Years;
  // In quarters of a day a century has 146,097 of them, and a year within one 1,461.
  const int64_t century = (4 * since + 3) / kDaysIn400Years;
  const int64_t in_century = since - century * kDaysIn400Years / 4;
  const int64_t year_in_century = (4 * in_century + 3) / 1461;
  const int64_t in_year = in_century - 1461 * year_in_century / 4;
  const int64_t month_from_march = (5 * in_year + 2) / 153;
  const bool next_year = month_from_march >= 10;
  return {.year = 100 * century + year_in_century + (next_year ? 1 : 0) - kYearsBefore,
          .month = month_from_march + (next_year ? -9 : 3),
          .day = in_year - (153 * month_from_march + 2) / 5 + 1};
}

// Whether a timestamp has the part, and a date has not.
constexpr bool IsTimePart(DatePart part) { return part >= DatePart::kHour; }

// REQUIRES: !IsTimePart(part).
constexpr int64_t PartOfDate(DatePart part, int64_t days) {
  const CivilDate date = CivilDateOf(days);
  switch (part) {
    case DatePart::kYear:
      return date.year;
    case DatePart::kQuarter:
      return (date.month + 2) / 3;
    case DatePart::kMonth:
      return date.month;
    case DatePart::kDay:
      return date.day;
    default:
      return 0;
  }
}

constexpr int64_t PartOfTimestamp(DatePart part, int64_t micros) {
  const int64_t day = DayOfTimestamp(micros);
  if (!IsTimePart(part)) return PartOfDate(part, day);
  int64_t second = micros % kMicrosPerDay;  // of the day
  second = (second < 0 ? second + kMicrosPerDay : second) / kMicrosPerSecond;
  return part == DatePart::kHour     ? second / 3600
         : part == DatePart::kMinute ? second / 60 % 60
                                     : second % 60;
}

// The part of a value of kDate or kTimestamp.
constexpr int64_t PartOfTime(ColumnType type, DatePart part, int64_t value) {
  return type == ColumnType::kTimestamp ? PartOfTimestamp(part, value) : PartOfDate(part, value);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_CIVIL_DATE_H_
