#include "storage/table/kernels/exact_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/seed.h"

namespace eris::storage {
namespace {

__extension__ using Float128 = __float128;

TEST(ExactNumberTest, FloorsOfDecimalsGoDownwards) {
  EXPECT_TRUE(FloorOf(Int128{1005}, 3, 2).value == 100);
  EXPECT_FALSE(FloorOf(Int128{1005}, 3, 2).exact);
  EXPECT_TRUE(FloorOf(Int128{-1005}, 3, 2).value == -101);
  EXPECT_TRUE(FloorOf(Int128{-1000}, 3, 2).value == -100);
  EXPECT_TRUE(FloorOf(Int128{-1000}, 3, 2).exact);
  EXPECT_TRUE(FloorOf(Int128{7}, 0, 18).value == Int128{7} * 1'000'000'000'000'000'000);
}

TEST(ExactNumberTest, FloorsOfDoublesAreExactWhereTheyCanBe) {
  EXPECT_TRUE(FloorOf(-0.5, 0).value == -1);
  EXPECT_FALSE(FloorOf(-0.5, 0).exact);
  EXPECT_TRUE(FloorOf(-0.5, 1).value == -5);
  EXPECT_TRUE(FloorOf(-0.5, 1).exact);
  EXPECT_TRUE(FloorOf(0.1, 1).value == 1);  // the double lies above one tenth
  EXPECT_FALSE(FloorOf(0.1, 1).exact);
  EXPECT_TRUE(FloorOf(-1e-300, 18).value == -1);
  EXPECT_TRUE(FloorOf(1e300, 0).value > Int128{std::numeric_limits<uint64_t>::max()});
  EXPECT_TRUE(FloorOf(-std::numeric_limits<double>::infinity(), 4).value <
              Int128{std::numeric_limits<int64_t>::min()});
  EXPECT_TRUE(FloorOf(-0.0, 3).value == 0);
}

TEST(ExactNumberTest, DecimalsCompareWithDoublesAsNumbersDo) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20000; ++round) {
    const auto unscaled = static_cast<int64_t>(random()) >> random() % 64;
    const auto scale = static_cast<uint8_t>(random() % 19);
    // Near to the number, or anything.
    double value = static_cast<double>(unscaled) / static_cast<double>(kPowersOfTen[scale]);
    if (random() % 4 == 0) value = std::nextafter(value, random() % 2 == 0 ? -1e30 : 1e30);
    if (random() % 8 == 0) value = std::ldexp(value, static_cast<int>(random() % 80) - 40);
    const auto a = static_cast<Float128>(unscaled);
    const Float128 b = static_cast<Float128>(value) * static_cast<Float128>(kPowersOfTen[scale]);
    const auto order = Compare(unscaled, scale, value);
    ASSERT_EQ(order < 0, a < b);
    ASSERT_EQ(order == 0, a == b);
    ASSERT_EQ(order > 0, a > b);
    const double below = LargestNotAbove(unscaled, scale);
    const double above = SmallestNotBelow(unscaled, scale);
    ASSERT_TRUE(Compare(unscaled, scale, below) >= 0);
    ASSERT_TRUE(Compare(unscaled, scale, above) <= 0);
    ASSERT_TRUE(below == above || std::nextafter(below, above) == above);
    const double nearest = NearestDouble(unscaled, scale);
    ASSERT_TRUE(nearest == below || nearest == above);
  }
}

TEST(ExactNumberTest, NearestDoubleRoundsSumsOnce) {
  // 16519469734641841.32: its whole part alone would be rounded down.
  EXPECT_EQ(NearestDouble(Int128{1651946973464184132}, 2), 16519469734641842.0);
  EXPECT_EQ(NearestDouble(Int128{-1651946973464184132}, 2), -16519469734641842.0);
  EXPECT_EQ(NearestDouble(Int128{125}, 2), 1.25);
  EXPECT_EQ(NearestDouble(Int128{0}, 18), 0.0);
  EXPECT_EQ(NearestDouble((Int128{1} << 100) + 1, 0), std::ldexp(1, 100));
}

TEST(ExactNumberTest, DecimalTextsKeepTheirDigits) {
  EXPECT_EQ(DecimalText(-1250, 2), "-12.50");
  EXPECT_EQ(DecimalText(5, 3), "0.005");
  EXPECT_EQ(DecimalText(0, 0), "0");
  EXPECT_EQ(DecimalText(0, 2), "0.00");
  EXPECT_EQ(DecimalText(std::numeric_limits<int64_t>::min(), 0), "-9223372036854775808");
}

}  // namespace
}  // namespace eris::storage
