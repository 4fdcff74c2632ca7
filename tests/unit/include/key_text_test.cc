#include "eris/key_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace eris {
namespace {

TEST(KeyTextTest, NamesGoRound) {
  for (const ColumnType type : kKeyTypes) EXPECT_EQ(KeyTypeFromName(KeyTypeName(type)), type);
  EXPECT_EQ(KeyTypeFromName("u32"), std::nullopt);
  EXPECT_EQ(KeyTypeFromName(""), std::nullopt);
}

TEST(KeyTextTest, ExtremesAreReadAndShown) {
  const std::pair<ColumnType, const char*> extremes[] = {
      {ColumnType::kUint64, "0"},
      {ColumnType::kUint64, "18446744073709551615"},
      {ColumnType::kInt64, "-9223372036854775808"},
      {ColumnType::kInt64, "-1"},
      {ColumnType::kInt64, "9223372036854775807"},
      {ColumnType::kFloat64, "-inf"},
      {ColumnType::kFloat64, "-1.7976931348623157e+308"},
      {ColumnType::kFloat64, "-2.2250738585072014e-308"},
      {ColumnType::kFloat64, "-5e-324"},
      {ColumnType::kFloat64, "0"},
      {ColumnType::kFloat64, "0.1"},
      {ColumnType::kFloat64, "inf"},
      {ColumnType::kDate, "-5877641-06-23"},
      {ColumnType::kDate, "-0001-12-31"},
      {ColumnType::kDate, "0000-02-29"},
      {ColumnType::kDate, "1970-01-01"},
      {ColumnType::kDate, "2024-02-29"},
      {ColumnType::kDate, "10000-01-01"},
      {ColumnType::kDate, "5881580-07-11"},
      {ColumnType::kTimestamp, "-290308-12-21 19:59:05.224192"},
      {ColumnType::kTimestamp, "1969-12-31 23:59:59.999999"},
      {ColumnType::kTimestamp, "1970-01-01 00:00:00"},
      {ColumnType::kTimestamp, "294247-01-10 04:00:54.775807"},
  };
  for (const auto& [type, text] : extremes) {
    const absl::StatusOr<uint64_t> key = KeyFromText(type, text);
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(KeyText(type, *key), text);
  }
  EXPECT_EQ(*KeyFromText(ColumnType::kDate, "1970-01-02"), KeyFromDate(1));
  EXPECT_EQ(*KeyFromText(ColumnType::kDate, "-5877641-06-23"), LowestKey(ColumnType::kDate));
  EXPECT_EQ(*KeyFromText(ColumnType::kDate, "5881580-07-11"), HighestKey(ColumnType::kDate));
  EXPECT_EQ(*KeyFromText(ColumnType::kFloat64, "-0.0"), KeyFromFloat64(0));
  EXPECT_EQ(*KeyFromText(ColumnType::kFloat64, "1e2"), KeyFromFloat64(100));
}

TEST(KeyTextTest, WhatIsNoKeyIsRefusedWithTheTextAndTheRange) {
  const std::pair<ColumnType, std::vector<std::string>> refused[] = {
      {ColumnType::kUint64, {"", "-1", "+1", "1.0", " 1", "1 ", "18446744073709551616"}},
      {ColumnType::kInt64, {"", "-", "+1", "1.0", "9223372036854775808", "-9223372036854775809"}},
      {ColumnType::kFloat64,
       {"", "nan", "-nan", "NaN", "+1", "1e999", "-1e999", "1e-999", "1,5", "1x", "0x1p3", " 1"}},
      {ColumnType::kDate,
       {"",
        "2024-02-30",
        "2023-02-29",
        "1900-02-29",
        "2024-13-01",
        "2024-00-01",
        "2024-01-00",
        "2024-01-32",
        "2024-1-1",
        "24-01-01",
        "2024/01/01",
        "2024-01-01x",
        " 2024-01-01",
        "+2024-01-01",
        "02024-01-01",
        "-0000-01-01",
        "5881580-07-12",
        "-5877641-06-22",
        "99999999-01-01",
        "2024-01--1",
        "--024-01-01",
        "today",
        "2024-01-01T00:00"}},
      {ColumnType::kTimestamp, {"", "2024-02-30 00:00:00", "2024-01-01 24:00:00", "7"}},
  };
  for (const auto& [type, texts] : refused) {
    for (const std::string& text : texts) {
      const absl::Status status = KeyFromText(type, text).status();
      ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
          << KeyTypeName(type) << " '" << text << "'";
      EXPECT_EQ(status.message(), absl::StrCat("'", text, "' is no ", KeyTypeRange(type)));
    }
  }
}

TEST(KeyTextTest, RandomKeysGoRound) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (int i = 0; i < 100'000; ++i) {
    for (const ColumnType type : kKeyTypes) {
      uint64_t key = random() >> (random() % 64);
      if (type == ColumnType::kDate) key &= HighestKey(type);
      if (key < LowestKey(type) || key > HighestKey(type)) continue;
      const std::string text = KeyText(type, key);
      uint64_t back = 0;
      ASSERT_TRUE(ParseKeyText(type, text, back)) << KeyTypeName(type) << ' ' << text;
      ASSERT_EQ(back, key) << KeyTypeName(type) << ' ' << text;
    }
  }
}

// Every day of four centuries, counted one by one.
TEST(KeyTextTest, DatesAreTheDaysOfTheGregorianCalendar) {
  const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int32_t days = 0;
  ASSERT_TRUE(ParseDate("1800-01-01", days));
  for (int year = 1800; year < 2200; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    for (int month = 1; month <= 12; ++month) {
      const int length = lengths[month - 1] + (month == 2 && leap ? 1 : 0);
      for (int day = 1; day <= length; ++day, ++days) {
        ASSERT_EQ(DateText(days), absl::StrFormat("%04d-%02d-%02d", year, month, day));
      }
    }
  }
}

TEST(KeyTextTest, KeysThatNoNumberHasShowAsSuch) {
  EXPECT_EQ(KeyText(ColumnType::kDate, uint64_t{1} << 32), "key 4294967296");
  EXPECT_EQ(KeyText(ColumnType::kFloat64, 0), "key 0");
}

}  // namespace
}  // namespace eris
