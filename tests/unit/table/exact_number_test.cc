#include "storage/table/kernels/exact_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"
#include "tests/unit/table/query_numbers.h"

namespace eris::storage {
namespace {

__extension__ using Quad = __float128;

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
    const auto a = static_cast<Quad>(unscaled);
    const Quad b = static_cast<Quad>(value) * static_cast<Quad>(kPowersOfTen[scale]);
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

// Numbers at which sizes of integers and of mantissas change, and their neighbours.
std::vector<Int128> EdgesOf128Bits() {
  std::vector<Int128> edges = {kInt128Max, kInt128Min, kInt128Min + 1, kInt128Max - 1, 0};
  for (const int bit : {52, 53, 54, 62, 63, 64, 65, 106, 112, 113, 124, 125, 126}) {
    for (int near = -2; near <= 2; ++near) {
      edges.push_back((Int128{1} << bit) + near);
      edges.push_back(-(Int128{1} << bit) + near);
    }
  }
  for (const int64_t power : kPowersOfTen) {
    for (const int64_t half : {power / 2 - 1, power / 2, power / 2 + 1}) {
      edges.push_back(half);
      edges.push_back(-half);
      edges.push_back(Int128{power} * power - half);
    }
  }
  return edges;
}

TEST(ExactNumberTest, WideNumbersCompareAsTheirDigitsDo) {
  const std::vector<Int128> edges = EdgesOf128Bits();
  for (const Int128 a : edges) {
    for (const uint8_t a_scale : {0, 1, 9, 18}) {
      const Digits left(a, a_scale);
      for (const Int128 b : edges) {
        for (const uint8_t b_scale : {0, 2, 18}) {
          const int order = left.CompareTo(Digits(b, b_scale));
          const std::strong_ordering got = Compare(a, a_scale, b, b_scale);
          ASSERT_EQ(got < 0 ? -1 : got > 0, order)
              << DecimalText(a, a_scale) << " " << DecimalText(b, b_scale);
        }
      }
    }
  }
}

TEST(ExactNumberTest, WideNumbersCompareWithDoublesNearThem) {
  for (const Int128 unscaled : EdgesOf128Bits()) {
    for (uint8_t scale = 0; scale <= 18; ++scale) {
      const Digits digits(unscaled, scale);
      const double nearest = digits.Nearest();
      ASSERT_EQ(NearestDouble(unscaled, scale), nearest) << DecimalText(unscaled, scale);
      for (const double value :
           {nearest, std::nextafter(nearest, 1e300), std::nextafter(nearest, -1e300), 2 * nearest,
            nearest / 2, -nearest, 0.0, 0x1p127, -0x1p127, 0x1p128, 1e300, -1e300}) {
        const int order = digits.CompareTo(Digits(value));
        const std::partial_ordering got = Compare(unscaled, scale, value);
        ASSERT_EQ(got < 0 ? -1 : got > 0, order) << DecimalText(unscaled, scale) << " " << value;
      }
      const double below = LargestNotAbove(unscaled, scale);
      const double above = SmallestNotBelow(unscaled, scale);
      ASSERT_LE(Digits(below).CompareTo(digits), 0) << DecimalText(unscaled, scale);
      ASSERT_GE(Digits(above).CompareTo(digits), 0) << DecimalText(unscaled, scale);
      ASSERT_TRUE(below == above || std::nextafter(below, above) == above);
    }
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Compare(kInt128Max, 0, kInfinity) < 0);
  EXPECT_TRUE(Compare(kInt128Min, 18, -kInfinity) > 0);
  EXPECT_TRUE(Compare(kInt128Max, 0, std::nan("")) == std::partial_ordering::unordered);
}

TEST(ExactNumberTest, FloorsOfWideNumbersAreExactUpTo125Bits) {
  const Int128 beyond = Int128{1} << 125;
  for (const Int128 unscaled : EdgesOf128Bits()) {
    for (const uint8_t from : {0, 1, 9, 17, 18}) {
      for (const uint8_t to : {0, 1, 2, 9, 18}) {
        const Floor floor = FloorOf(unscaled, from, to);
        const Digits digits(unscaled, from);
        SCOPED_TRACE(DecimalText(unscaled, from) + " at " + std::to_string(to));
        if (digits.CompareTo(Digits(beyond, to)) > 0 || digits.CompareTo(Digits(-beyond, to)) < 0) {
          ASSERT_TRUE((unscaled > 0 ? floor.value : -floor.value) >= beyond);
          continue;
        }
        ASSERT_EQ(floor.exact, digits.CompareTo(Digits(floor.value, to)) == 0);
        ASSERT_GE(digits.CompareTo(Digits(floor.value, to)), 0);
        ASSERT_LT(digits.CompareTo(Digits(floor.value + 1, to)), 0);
      }
    }
  }
}

void ExpectRescaled(const Digits& digits, uint8_t to, bool half_even, bool fits, Int128 got) {
  const auto wanted = digits.Rounded(to, half_even);
  ASSERT_EQ(fits, wanted.has_value());
  if (fits) {
    ASSERT_EQ(DecimalText(got, to), DecimalText(*wanted, to));
  }
}

TEST(ExactNumberTest, RescalingRoundsHalvesAwayFromZero) {
  for (const Int128 unscaled : EdgesOf128Bits()) {
    for (uint8_t from = 0; from <= 18; ++from) {
      for (uint8_t to = 0; to <= 18; ++to) {
        SCOPED_TRACE(DecimalText(unscaled, from) + " at " + std::to_string(to));
        Int128 got = 0;
        const bool fits = Rescale(unscaled, from, to, got);
        ExpectRescaled(Digits(unscaled, from), to, false, fits, got);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ExactNumberTest, RescalingDoublesRoundsHalvesToEvenWithoutAScale) {
  std::vector<double> values = {
      0.5,     1.5,     2.5,     0.125, 0.375,  1e-320, 1e22,
      0x1p53,  0x1p62,  1e37,    1e38,  0x1p63, 0x1p64, 0x1p125,
      0x1p126, 0x1p127, 0x1p128, 0.05,  1.005,  2.675,  4503599627370497.5,
      1e300,   0.0};
  for (const Int128 edge : EdgesOf128Bits()) values.push_back(Digits(edge, 3).Nearest());
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) {
    values.push_back(std::nextafter(values[i], 0.0));
    values.push_back(std::nextafter(values[i], 1e305));
  }
  for (const double magnitude : values) {
    for (const double value : {magnitude, -magnitude}) {
      for (uint8_t to = 0; to <= 18; ++to) {
        SCOPED_TRACE(std::to_string(value) + " at " + std::to_string(to));
        Int128 got = 0;
        const bool fits = Rescale(value, to, got);
        ExpectRescaled(Digits(value), to, to == 0, fits, got);
        if (HasFatalFailure()) return;
      }
    }
  }
  Int128 got = 0;
  EXPECT_FALSE(Rescale(std::nan(""), 0, got));
  EXPECT_FALSE(Rescale(std::numeric_limits<double>::infinity(), 0, got));
  EXPECT_FALSE(Rescale(-std::numeric_limits<double>::infinity(), 18, got));
}

TEST(ExactNumberTest, DivisionsOfTheSmallestNumber) {
  Int128 out = 0;
  EXPECT_FALSE(DivideExactly(1, 0, false, out));
  EXPECT_FALSE(DivideExactly(1, 0, true, out));
  EXPECT_FALSE(DivideExactly(kInt128Min, -1, false, out));
  EXPECT_TRUE(DivideExactly(kInt128Min, -1, true, out));
  EXPECT_EQ(static_cast<int64_t>(out), 0);
  EXPECT_TRUE(DivideExactly(kInt128Min, 2, false, out));
  EXPECT_TRUE(out == -(Int128{1} << 126));
  EXPECT_TRUE(DivideExactly(-7, 2, false, out) && out == -3);
  EXPECT_TRUE(DivideExactly(-7, 2, true, out) && out == -1);
}

}  // namespace
}  // namespace eris::storage
