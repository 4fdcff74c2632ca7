// Order and round trip, at the extremes of each type and for random pairs.
#include "eris/key_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace eris {
namespace {

using Doubles = std::numeric_limits<double>;
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int32_t kDateMin = std::numeric_limits<int32_t>::min();
constexpr int32_t kDateMax = std::numeric_limits<int32_t>::max();

// A constant expression: what is encoded may be an array's size or a case's label.
static_assert(KeyFromInt64(kInt64Min) == 0);
static_assert(KeyFromInt64(-1) == 0x7fffffffffffffff);
static_assert(KeyFromInt64(0) == 0x8000000000000000);
static_assert(KeyFromInt64(kInt64Max) == ~uint64_t{0});
static_assert(KeyFromDate(kDateMin) == 0 && KeyFromDate(kDateMax) == 0xffffffff);
static_assert(KeyFromFloat64(0.0) == KeyFromFloat64(-0.0));
static_assert(KeyFromFloat64(1.0) == 0xbff0000000000000);
static_assert(KeyFromFloat64(-1.0) == 0x4010000000000000);
static_assert(Float64FromKey(KeyFromFloat64(-1.5)) == -1.5);
static_assert(Int64Range(-5, 5).lo == KeyFromInt64(-5));

static_assert(EncodeKey(int32_t{-7}) == KeyFromDate(-7) &&
              EncodeKey(int64_t{-7}) == KeyFromInt64(-7));
static_assert(EncodeKey(uint64_t{7}) == 7 && EncodeKey(uint32_t{0xffffffff}) == 0xffffffff);
static_assert(EncodeKey(-1.5) == KeyFromFloat64(-1.5));
static_assert(NearestKeyType(ColumnType::kInt32) == ColumnType::kInt64);
static_assert(NearestKeyType(ColumnType::kDecimal) == ColumnType::kInt64);
static_assert(NearestKeyType(ColumnType::kUint64) == ColumnType::kUint64);
static_assert(NearestKeyType(ColumnType::kFloat64) == ColumnType::kFloat64);
static_assert(NearestKeyType(ColumnType::kDate) == ColumnType::kDate);
static_assert(NearestKey(ColumnType::kInt32, EncodeKey(kDateMin)) == KeyFromInt64(kDateMin));
static_assert(NearestKey(ColumnType::kDecimal, EncodeKey(kInt64Min)) == KeyFromInt64(kInt64Min));
static_assert(NearestKey(ColumnType::kDate, EncodeKey(kDateMax)) == KeyFromDate(kDateMax));
static_assert(NearestKey(ColumnType::kUint64, 42) == 42);

template <class T>
void ComesBack(std::vector<T> ascending) {
  for (size_t i = 0; i < ascending.size(); ++i) {
    EXPECT_EQ(DecodeKey<T>(EncodeKey(ascending[i])), ascending[i]);
    if (i > 0) {
      EXPECT_LT(EncodeKey(ascending[i - 1]), EncodeKey(ascending[i]));
    }
  }
}

TEST(KeyEncodingTest, ValuesOfEveryTypeComeBackAndKeepTheirOrder) {
  ComesBack<int32_t>({kDateMin, kDateMin + 1, -1, 0, 1, kDateMax - 1, kDateMax});
  ComesBack<uint32_t>({0, 1, 0x7fffffff, 0x80000000, 0xffffffff});
  ComesBack<int64_t>({kInt64Min, kInt64Min + 1, -1, 0, 1, kInt64Max});
  ComesBack<uint64_t>({0, 1, uint64_t{1} << 63, ~uint64_t{0}});
  ComesBack<double>({-Doubles::infinity(), -1.5, 0.0, Doubles::denorm_min(), Doubles::infinity()});
}

TEST(KeyEncodingTest, IntegersKeepTheirOrderAtTheExtremes) {
  const std::vector<int64_t> numbers = {kInt64Min, kInt64Min + 1, -1000,    -2, -1, 0, 1,
                                        2,         kInt64Max - 1, kInt64Max};
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(Int64FromKey(KeyFromInt64(numbers[i])), numbers[i]);
    if (i > 0) {
      EXPECT_LT(KeyFromInt64(numbers[i - 1]), KeyFromInt64(numbers[i])) << numbers[i];
    }
  }
}

TEST(KeyEncodingTest, FloatsKeepTheirOrderAtTheExtremes) {
  const std::vector<double> numbers = {-Doubles::infinity(),
                                       -Doubles::max(),
                                       -1e300,
                                       std::nextafter(-1.0, -2.0),
                                       -1.0,
                                       -Doubles::min(),
                                       std::nextafter(-Doubles::min(), 0.0),
                                       -Doubles::denorm_min(),
                                       0.0,
                                       Doubles::denorm_min(),
                                       std::nextafter(Doubles::min(), 0.0),
                                       Doubles::min(),
                                       1.0,
                                       std::nextafter(1.0, 2.0),
                                       1e300,
                                       Doubles::max(),
                                       Doubles::infinity()};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double back = Float64FromKey(KeyFromFloat64(numbers[i]));
    EXPECT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(numbers[i])) << numbers[i];
    if (i > 0) {
      EXPECT_LT(KeyFromFloat64(numbers[i - 1]), KeyFromFloat64(numbers[i])) << numbers[i];
    }
  }
  EXPECT_EQ(KeyFromFloat64(-Doubles::infinity()), LowestKey(ColumnType::kFloat64));
  EXPECT_EQ(KeyFromFloat64(Doubles::infinity()), HighestKey(ColumnType::kFloat64));
}

TEST(KeyEncodingTest, NeighboursAroundZeroAreAdjacentKeys) {
  const uint64_t zero = KeyFromFloat64(0.0);
  EXPECT_EQ(KeyFromFloat64(-0.0), zero);
  EXPECT_FALSE(std::signbit(Float64FromKey(KeyFromFloat64(-0.0))));
  EXPECT_EQ(KeyFromFloat64(Doubles::denorm_min()), zero + 1);
  EXPECT_EQ(KeyFromFloat64(-Doubles::denorm_min()), zero - 1);
}

TEST(KeyEncodingTest, DatesKeepTheirOrderAtTheExtremes) {
  const std::vector<int32_t> days = {kDateMin, kDateMin + 1, -1, 0, 1, 19'782, kDateMax};
  for (size_t i = 0; i < days.size(); ++i) {
    EXPECT_EQ(DateFromKey(KeyFromDate(days[i])), days[i]);
    EXPECT_LE(KeyFromDate(days[i]), HighestKey(ColumnType::kDate));
    if (i > 0) {
      EXPECT_LT(KeyFromDate(days[i - 1]), KeyFromDate(days[i])) << days[i];
    }
  }
}

// Bit patterns at random: all exponents, denormals, infinities and NaNs come up.
TEST(KeyEncodingTest, RandomPairsCompareAsTheirKeys) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  int compared = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const uint64_t a = random() >> (random() % 64), b = random();
    const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    ASSERT_EQ(x < y, KeyFromInt64(x) < KeyFromInt64(y)) << x << ' ' << y;
    ASSERT_EQ(Int64FromKey(KeyFromInt64(x)), x);
    const auto d = static_cast<int32_t>(a), e = static_cast<int32_t>(b);
    ASSERT_EQ(d < e, KeyFromDate(d) < KeyFromDate(e)) << d << ' ' << e;
    ASSERT_EQ(DateFromKey(KeyFromDate(d)), d);
    const auto f = std::bit_cast<double>(a), g = std::bit_cast<double>(b);
    ASSERT_EQ(NanMark(f) >> 63 != 0, std::isnan(f)) << std::hex << a;
    if (std::isnan(f) || std::isnan(g)) continue;
    ++compared;
    ASSERT_EQ(f < g, KeyFromFloat64(f) < KeyFromFloat64(g)) << f << ' ' << g;
    ASSERT_EQ(f == g, KeyFromFloat64(f) == KeyFromFloat64(g)) << f << ' ' << g;
    ASSERT_EQ(Float64FromKey(KeyFromFloat64(f)), f);
  }
  EXPECT_GT(compared, 900'000);
}

TEST(KeyEncodingTest, BatchesAgreeWithSingleKeys) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (const size_t count : {0, 1, 2, 3, 7, 8, 9, 100, 1001}) {
    std::vector<int64_t> ints(count), ints_back(count);
    std::vector<double> floats(count), floats_back(count);
    std::vector<int32_t> dates(count), dates_back(count);
    std::vector<uint64_t> keys(count);
    for (size_t i = 0; i < count; ++i) {
      ints[i] = static_cast<int64_t>(random());
      floats[i] = static_cast<double>(ints[i]) / 3;
      dates[i] = static_cast<int32_t>(random());
    }
    KeysFromInt64(ints, absl::MakeSpan(keys));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(keys[i], KeyFromInt64(ints[i]));
    Int64FromKeys(keys, absl::MakeSpan(ints_back));
    EXPECT_EQ(ints_back, ints);
    ASSERT_TRUE(KeysFromFloat64(floats, absl::MakeSpan(keys)).ok());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(keys[i], KeyFromFloat64(floats[i]));
    Float64FromKeys(keys, absl::MakeSpan(floats_back));
    EXPECT_EQ(floats_back, floats);
    KeysFromDates(dates, absl::MakeSpan(keys));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(keys[i], KeyFromDate(dates[i]));
    DatesFromKeys(keys, absl::MakeSpan(dates_back));
    EXPECT_EQ(dates_back, dates);
  }
}

// Quiet and signalling, of both signs, with the least and the largest payload.
TEST(KeyEncodingTest, EveryNanIsRefusedWithItsPosition) {
  const uint64_t nans[] = {0x7ff0000000000001, 0x7ff8000000000000, 0x7fffffffffffffff,
                           0xfff0000000000001, 0xfff8000000000000, 0xffffffffffffffff};
  for (const uint64_t bits : nans) {
    for (const size_t at : {0, 1, 17, 99}) {
      std::vector<double> numbers(100, 1.5);
      numbers[at] = std::bit_cast<double>(bits);
      numbers[99] = std::bit_cast<double>(bits);
      std::vector<uint64_t> keys(100);
      const absl::Status status = KeysFromFloat64(numbers, absl::MakeSpan(keys));
      EXPECT_EQ(status, absl::InvalidArgumentError("element " + std::to_string(at) +
                                                   " is NaN, which is no key"));
    }
  }
  std::vector<double> numbers = {Doubles::infinity(), -Doubles::infinity(), -0.0};
  std::vector<uint64_t> keys(3);
  EXPECT_TRUE(KeysFromFloat64(numbers, absl::MakeSpan(keys)).ok());
}

TEST(KeyEncodingTest, RangesHoldTheirTypesNumbers) {
  EXPECT_EQ(Int64Range(std::nullopt, std::nullopt), KeyRange{});
  EXPECT_TRUE(Int64Range(std::nullopt, -1).Contains(KeyFromInt64(kInt64Min)));
  EXPECT_FALSE(Int64Range(std::nullopt, -1).Contains(KeyFromInt64(-1)));
  EXPECT_TRUE(Int64Range(-1, std::nullopt).Contains(KeyFromInt64(kInt64Max)));
  EXPECT_TRUE(DateRange(-10, 10).Contains(KeyFromDate(-10)));
  EXPECT_FALSE(DateRange(-10, 10).Contains(KeyFromDate(10)));
  // From -0.0 is from 0.0: both are the same number.
  EXPECT_TRUE(Float64Range(-0.0, 1.0)->Contains(KeyFromFloat64(0.0)));
  EXPECT_FALSE(Float64Range(std::nullopt, -0.0)->Contains(KeyFromFloat64(0.0)));
  EXPECT_TRUE(Float64Range(0.0, std::nullopt)->Contains(KeyFromFloat64(Doubles::infinity())));
  EXPECT_EQ(Float64Range(Doubles::quiet_NaN(), 1).status().message(), "the lower bound is NaN");
  EXPECT_EQ(Float64Range(1, Doubles::quiet_NaN()).status().message(), "the upper bound is NaN");
}

}  // namespace
}  // namespace eris
