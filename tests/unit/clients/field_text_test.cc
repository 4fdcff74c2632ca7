#include "clients/cli/files/field_text.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "eris/key_text.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"

namespace eris::cli {
namespace {

template <class T>
bool Parses(absl::string_view text, T expected) {
  std::string padded(text);
  padded.append(16, '7');  // what lies behind a field must not matter
  T number{};
  return ParseField(absl::string_view(padded).substr(0, text.size()), number) && number == expected;
}
bool ParsesDecimal(absl::string_view text, uint8_t scale, int64_t expected) {
  std::string padded(text);
  padded.append(16, '7');
  int64_t number = 0;
  return ParseDecimalField(absl::string_view(padded).substr(0, text.size()), scale, number) &&
         number == expected;
}
bool ParsesDate(absl::string_view text, absl::string_view expected) {
  std::string padded(text);
  padded.append(16, '7');
  int32_t days = 0;
  return ParseDateField(absl::string_view(padded).substr(0, text.size()), days) &&
         DateText(days) == expected;
}

// Short ones have a way of their own.
TEST(FieldTextTest, FractionsAreRoundedAsFromCharsRounds) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200'000; ++i) {
    std::string text = absl::StrCat(random() >> (random() % 64));
    text.insert(random() % text.size(), ".");
    if (random() % 2 == 0) text.insert(0, "-");
    double expected = 0;
    std::from_chars(text.data(), text.data() + text.size(), expected);
    ASSERT_TRUE(Parses(text, expected)) << text;
  }
  EXPECT_TRUE(Parses("0.000000000000001", 1e-15));
  EXPECT_TRUE(Parses("-0.0", -0.0));
  double number = 0;
  for (const absl::string_view bad : {".", "-.", "1.-5", "1..5", "--1.5", "1.5x", "+1.5"}) {
    const std::string padded = std::string(bad) + std::string(16, '7');
    EXPECT_FALSE(ParseField(absl::string_view(padded).substr(0, bad.size()), number)) << bad;
  }
}

TEST(FieldTextTest, NumbersToTheirLimits) {
  EXPECT_TRUE(Parses<uint64_t>("0", 0));
  EXPECT_TRUE(Parses<uint64_t>("00000000000000000012", 12));
  EXPECT_TRUE(Parses<uint64_t>("18446744073709551615", ~uint64_t{0}));
  EXPECT_TRUE(Parses<int64_t>("-9223372036854775808", std::numeric_limits<int64_t>::min()));
  EXPECT_TRUE(Parses<int32_t>("2147483647", 2147483647));
  EXPECT_TRUE(Parses<int32_t>("-2147483648", std::numeric_limits<int32_t>::min()));
  EXPECT_TRUE(Parses<double>("1e-7", 1e-7));
  uint64_t u = 0;
  int64_t i = 0;
  int32_t n = 0;
  double d = 0;
  for (const char* bad :
       {"", "-", "+1", " 1", "1 ", "1a", "18446744073709551616", "1.0", "/", ":"}) {
    const std::string padded = std::string(bad) + "00000000";
    const absl::string_view text = absl::string_view(padded).substr(0, std::strlen(bad));
    EXPECT_FALSE(ParseField(text, u)) << bad;
    EXPECT_FALSE(ParseField(text, i)) << bad;
    EXPECT_FALSE(ParseField(text, n)) << bad;
  }
  const std::string too_large = "2147483648        ", words = "abc             ";
  EXPECT_FALSE(ParseField(absl::string_view(too_large).substr(0, 10), n));
  EXPECT_FALSE(ParseField(absl::string_view(words).substr(0, 3), d));
}

TEST(FieldTextTest, DecimalsKeepTheirScale) {
  EXPECT_TRUE(ParsesDecimal("0.05", 2, 5));
  EXPECT_TRUE(ParsesDecimal("901.00", 2, 90100));
  EXPECT_TRUE(ParsesDecimal("104949.50", 2, 10494950));
  EXPECT_TRUE(ParsesDecimal("17", 2, 1700));
  EXPECT_TRUE(ParsesDecimal("-17.5", 2, -1750));
  EXPECT_TRUE(ParsesDecimal(".5", 2, 50));
  EXPECT_TRUE(ParsesDecimal("5.", 2, 500));
  EXPECT_TRUE(ParsesDecimal("1.2300", 2, 123));
  EXPECT_TRUE(ParsesDecimal("-92233720368547758.08", 2, std::numeric_limits<int64_t>::min()));
  EXPECT_TRUE(ParsesDecimal("9223372036854775807", 0, std::numeric_limits<int64_t>::max()));
  EXPECT_TRUE(ParsesDecimal("9.223372036854775807", 18, std::numeric_limits<int64_t>::max()));
  for (const char* bad :
       {"", ".", "-", "1.234", "1e3", "1.2.3", "--1", "a.bc", "1.x0", "x1.00",
        "92233720368547758.08", "99999999999999999999", "12345678901234567.89x"}) {
    const std::string padded = std::string(bad) + "0000000000000000";
    int64_t number = 0;
    EXPECT_FALSE(
        ParseDecimalField(absl::string_view(padded).substr(0, std::strlen(bad)), 2, number))
        << bad;
  }
}

TEST(FieldTextTest, EveryDayIsReadAndNoOtherOne) {
  for (int32_t days = -40'000; days < 60'000; ++days) {
    const std::string text = DateText(days);
    ASSERT_TRUE(ParsesDate(text, text));
  }
  EXPECT_TRUE(ParsesDate("0001-01-01", "0001-01-01"));
  EXPECT_TRUE(ParsesDate("10000-01-01", "10000-01-01"));
  for (const char* bad :
       {"1999-02-29", "1900-02-29", "2000-13-01", "2000-00-01", "2000-01-00", "2000-01-32",
        "2000/01/01", "2000-1-001", "20x0-01-01", "x000-01-01", ""}) {
    std::string padded = std::string(bad) + "0000000000";
    int32_t days = 0;
    EXPECT_FALSE(ParseDateField(absl::string_view(padded).substr(0, std::strlen(bad)), days))
        << bad;
  }
}

TEST(FieldTextTest, TimestampsAreReadAsTheirTextSays) {
  const auto parsed = [](const std::string& text) {
    const std::string padded = text + "00000000";
    int64_t micros = 0;
    const bool good = ParseTimestampField(absl::string_view(padded).substr(0, text.size()), micros);
    return good ? TimestampText(micros) : "";
  };
  for (int64_t i = -2000; i < 2000; ++i) {
    const int64_t micros = i * 86'399'123'457 + i;
    std::string text = TimestampText(micros);
    ASSERT_EQ(parsed(text), text);
    text[10] = 'T';
    ASSERT_EQ(parsed(text + "Z"), TimestampText(micros));
  }
  const std::pair<const char*, const char*> forms[] = {
      {"2024-01-02 03:04:05", "2024-01-02 03:04:05"},
      {"2024-01-02T03:04:05.5", "2024-01-02 03:04:05.5"},
      {"2024-01-02 23:59:59.999999", "2024-01-02 23:59:59.999999"},
      {"1850-01-02 03:04:05", "1850-01-02 03:04:05"},
      {"2024-01-02 03:04:05+01:00", "2024-01-02 02:04:05"},
      {"2024-01-02 03:04:05.1200000", "2024-01-02 03:04:05.12"},
      {"2024-01-02", "2024-01-02 00:00:00"}};
  for (const auto& [text, plain] : forms) EXPECT_EQ(parsed(text), plain);
  for (const char* bad :
       {"", "2024-01-02 24:00:00", "2024-01-02 03:60:05", "2024-01-02 03:04:60",
        "2024-01-02x03:04:05", "2024-01-02 03-04-05", "2024-01-02 03:04:0x", "2024-01-32 03:04:05",
        "2024-01-02 03:04:05.", "2024-01-02 03:04:05.12x456", "2024-01-02 03:04:05.1234567"}) {
    EXPECT_EQ(parsed(bad), "") << bad;
  }
}

}  // namespace
}  // namespace eris::cli
