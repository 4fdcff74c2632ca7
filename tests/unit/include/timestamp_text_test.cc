// Timestamps as text. Abseil's own calendar, which knows zones, too, is the oracle.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "eris/calendar_text.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

std::optional<int64_t> Parsed(absl::string_view text) {
  int64_t micros = 0;
  return ParseTimestamp(text, micros) ? std::optional(micros) : std::nullopt;
}
// As it is printed; empty if it is none.
std::string Plain(absl::string_view text) {
  const std::optional<int64_t> micros = Parsed(text);
  return micros ? TimestampText(*micros) : "";
}

TEST(TimestampTextTest, LimitsAndFractionsGoRound) {
  for (const char* text :
       {"-290308-12-21 19:59:05.224192", "294247-01-10 04:00:54.775807", "1970-01-01 00:00:00",
        "1969-12-31 23:59:59.999999", "1969-12-31 23:59:58.5", "0000-02-29 00:00:00.000001",
        "-0001-12-31 23:59:59", "2024-02-29 03:04:05.12345", "10000-01-01 00:00:00"}) {
    EXPECT_EQ(Plain(text), text);
  }
  EXPECT_EQ(*Parsed("-290308-12-21 19:59:05.224192"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(*Parsed("294247-01-10 04:00:54.775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*Parsed("1969-12-31 23:59:59.999999"), -1);
}

TEST(TimestampTextTest, OtherFormsAreRead) {
  const std::pair<const char*, const char*> forms[] = {
      {"2024-01-02T03:04:05", "2024-01-02 03:04:05"},
      {"2024-01-02t03:04:05.250", "2024-01-02 03:04:05.25"},
      {"2024-01-02 03:04", "2024-01-02 03:04:00"},
      {"2024-01-02", "2024-01-02 00:00:00"},
      {"2024-01-02 03:04:05.123456000", "2024-01-02 03:04:05.123456"},
      {"2024-01-02 03:04:05Z", "2024-01-02 03:04:05"},
      {"2024-01-02 03:04:05 UTC", "2024-01-02 03:04:05"},
      {"2024-01-02 03:04:05+02:00", "2024-01-02 01:04:05"},
      {"2024-01-02 03:04:05 +02", "2024-01-02 01:04:05"},
      {"2024-01-02T03:04-0530", "2024-01-02 08:34:00"},
      {"2024-01-01 00:30:00+01:00", "2023-12-31 23:30:00"},
      // A day that has no midnight, or is one only elsewhere.
      {"-290308-12-21 21:59:06+02:00", "-290308-12-21 19:59:06"},
      {"294247-01-11 00:00:00+23:59", "294247-01-10 00:01:00"}};
  for (const auto& [text, plain] : forms) EXPECT_EQ(Plain(text), plain) << text;
}

TEST(TimestampTextTest, WhatIsNoTimestampIsRefused) {
  for (const char* text : {"",
                           "now",
                           "03:04:05",
                           "2024-02-30 00:00:00",
                           "2024-01-02 ",
                           "2024-01-02T",
                           "2024-01-02 3:04:05",
                           "2024-01-02 03",
                           "2024-01-02 03:4:05",
                           "2024-01-02 24:00:00",
                           "2024-01-02 03:60:00",
                           "2024-01-02 23:59:60",
                           "2016-12-31 23:59:60",
                           "2024-01-02 03:04:05.",
                           "2024-01-02 03:04:05.1234567",
                           "2024-01-02 03:04:05,5",
                           "2024-01-02 03:04:05 ",
                           "2024-01-02 03:04:05 CET",
                           "2024-01-02 03:04:05+",
                           "2024-01-02 03:04:05+2",
                           "2024-01-02 03:04:05+24:00",
                           "2024-01-02 03:04:05+02:60",
                           "2024-01-02 03:04:05+02:",
                           "2024-01-02+02:00",
                           "2024-01-02  03:04:05",
                           "-290308-12-21 19:59:05.224191",
                           "294247-01-10 04:00:54.775808",
                           "300000-01-01 00:00:00"}) {
    EXPECT_FALSE(Parsed(text)) << text;
  }
}

TEST(TimestampTextTest, RandomOnesAreThoseOfAbseil) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (int i = 0; i < 50'000; ++i) {
    // The years 0 to 9999: further ones have other texts in Abseil.
    const auto micros =
        static_cast<int64_t>(random() % 315'569'520'000'000'000) - 62'167'219'200'000'000;
    const absl::Time time = absl::FromUnixMicros(micros);
    const std::string text = TimestampText(micros);
    ASSERT_EQ(text, absl::FormatTime("%E4Y-%m-%d %H:%M:%E*S", time, absl::UTCTimeZone()));
    ASSERT_EQ(Parsed(text), micros) << text;
    const auto minutes = static_cast<int>(random() % 1440);
    const absl::TimeZone zone = absl::FixedTimeZone(60 * minutes);
    const std::string away = absl::FormatTime("%E4Y-%m-%dT%H:%M:%E*S%Ez", time, zone);
    if (away.size() > 4 && away[4] == '-') ASSERT_EQ(Parsed(away), micros) << away;
    ASSERT_EQ(DayOfTimestamp(micros),
              absl::ToCivilDay(time, absl::UTCTimeZone()) - absl::CivilDay(1970, 1, 1));
  }
  for (int i = 0; i < 50'000; ++i) {
    const auto micros = static_cast<int64_t>(random()) >> random() % 64;
    ASSERT_EQ(Parsed(TimestampText(micros)), micros) << TimestampText(micros);
  }
}

TEST(TimestampTextTest, ZonesLeadBackFromDaysOutside) {
  EXPECT_EQ(TimestampText(*Parsed("-290308-12-20 23:59:06-23:00")), "-290308-12-21 22:59:06");
  EXPECT_EQ(TimestampText(*Parsed("294247-01-11 00:00:00+20:00")), "294247-01-10 04:00:00");
  EXPECT_FALSE(Parsed("-290308-12-20 19:59:05-23:00"));
  EXPECT_FALSE(Parsed("294247-01-11 00:01:00+20:00"));
}

TEST(TimestampTextTest, MidnightsAreThoseOfDays) {
  for (const int32_t day : {-106'751'991, -1, 0, 1, 19'724, 106'751'991}) {
    EXPECT_EQ(DayOfTimestamp(*TimestampOfDay(day)), day);
  }
  for (const int32_t day : {std::numeric_limits<int32_t>::min(), -106'751'992, 106'751'992,
                            std::numeric_limits<int32_t>::max()}) {
    EXPECT_EQ(TimestampOfDay(day), std::nullopt) << day;
  }
}

}  // namespace
}  // namespace eris
