#include "balancer/load/load_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/load_samples.h"
#include "tests/support/seed.h"

namespace eris::balancer {
namespace {

PartitionSample CurvePart(uint64_t lo, std::optional<uint64_t> hi,
                          const std::vector<uint64_t>& weights,
                          std::optional<uint64_t> width = std::nullopt) {
  PartitionSample result;
  result.range = storage::Range::FromPublic({lo, hi});
  result.sub_ranges = width ? test::SubRangesOfWidth(result.range, *width, weights)
                            : test::EvenSubRanges(result.range, weights);
  return result;
}

LoadSample Sample(std::vector<PartitionSample> partitions) {
  LoadSample sample;
  sample.partitions = std::move(partitions);
  return sample;
}

// The load below `key` in thousandths of the whole.
uint64_t PerMille(const LoadCurve& curve, Position key) {
  return static_cast<uint64_t>(Position{curve.Below(key)} * 1000 / curve.total());
}

TEST(LoadCurveTest, LoadBelowIsInterpolatedInsideSubRanges) {
  const LoadCurve curve(Sample({CurvePart(100, 200, {1, 3})}));
  EXPECT_EQ(PerMille(curve, 100), 0u);
  EXPECT_EQ(PerMille(curve, 125), 125u);
  EXPECT_EQ(PerMille(curve, 150), 250u);
  EXPECT_EQ(PerMille(curve, 175), 625u);
  EXPECT_EQ(PerMille(curve, 200), 1000u);
}

TEST(LoadCurveTest, LastPartitionReachesTheEndOfTheKeySpace) {
  const LoadCurve curve(Sample({CurvePart(0, 1, {1}), CurvePart(1, std::nullopt, {1})}));
  EXPECT_EQ(curve.end(), kEndOfKeys);
  EXPECT_EQ(curve.Below(kEndOfKeys), curve.total());
  EXPECT_EQ(PerMille(curve, Position{1} << 63), 749u);
}

TEST(LoadCurveTest, SubRangesOfAGivenWidthLeaveTheRestWithoutLoad) {
  const LoadCurve curve(Sample({CurvePart(1000, std::nullopt, {2, 2}, 8)}));
  EXPECT_EQ(PerMille(curve, 1008), 500u);
  EXPECT_EQ(PerMille(curve, 1016), 1000u);
  EXPECT_EQ(PerMille(curve, 1000000), 1000u);
}

TEST(LoadCurveTest, KeysBeforeTheFirstSubRangeHaveNoLoad) {
  PartitionSample part = CurvePart(0, 100, {});
  part.sub_ranges = {{40, 3}, {41, 0}, {90, 1}};
  const LoadCurve curve(Sample({part}));
  EXPECT_EQ(curve.Below(40), 0u);
  EXPECT_EQ(PerMille(curve, 41), 750u);
  EXPECT_EQ(PerMille(curve, 90), 750u);
  EXPECT_EQ(PerMille(curve, 95), 875u);
}

TEST(LoadCurveTest, UnequalSharesAreCutWhereTheySumUp) {
  const LoadCurve curve(Sample({CurvePart(0, 100, {1, 0, 1, 2})}));
  const uint64_t large = uint64_t{1} << 44;
  for (const std::vector<uint64_t>& shares :
       {std::vector<uint64_t>{1, 0, 2, 1}, {large, 0, 2 * large, large}}) {
    const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(shares);
    ASSERT_EQ(boundaries.size(), 3u);
    // Both sides of the part that gets nothing lie somewhere in the gap.
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(static_cast<uint64_t>(boundaries[i].first), 25u);
      EXPECT_EQ(static_cast<uint64_t>(boundaries[i].last), 50u);
    }
    // 3 of 4: the third quarter of the keys and the first half of the last.
    EXPECT_NEAR(static_cast<double>(boundaries[2].first), 87.5, 0.5);
  }
}

TEST(LoadCurveTest, FirstAndLastShareMayBeNothing) {
  const LoadCurve curve(Sample({CurvePart(0, 40, {0, 1, 1, 0})}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(std::vector<uint64_t>{0, 1, 0});
  ASSERT_EQ(boundaries.size(), 2u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].first), 0u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].last), 10u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[1].first), 30u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[1].last), 40u);
}

TEST(LoadCurveTest, EmptyHistogramIsNoLoad) {
  EXPECT_EQ(LoadCurve(Sample({CurvePart(0, 5, {}), CurvePart(5, std::nullopt, {0, 0})})).total(),
            0u);
}

TEST(LoadCurveTest, TotalIsScaledBelowItsLimitWhateverTheCounts) {
  for (const uint64_t weight : {uint64_t{1}, uint64_t{1000}, ~uint64_t{0}}) {
    const LoadCurve curve(Sample({CurvePart(0, 10, std::vector<uint64_t>(10, weight))}));
    EXPECT_LT(curve.total(), LoadCurve::kTotalMax);
    EXPECT_GT(curve.total(), LoadCurve::kTotalMax / 4);
    EXPECT_EQ(PerMille(curve, 5), 500u);
  }
}

TEST(LoadCurveTest, BoundaryMayLieAnywhereInAGapWithoutLoad) {
  const LoadCurve curve(Sample({CurvePart(0, 40, {1, 0, 0, 1})}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(2);
  ASSERT_EQ(boundaries.size(), 1u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].first), 10u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].last), 30u);
}

TEST(LoadCurveTest, HotKeyCountsForOnePartOnly) {
  // 70 % on key 30; the 30 keys before it carry 1 % each.
  std::vector<uint64_t> weights(31, 1);
  weights[30] = 70;
  const LoadCurve curve(Sample({CurvePart(0, 31, weights)}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(4);
  ASSERT_EQ(boundaries.size(), 3u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].first), 10u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[1].first), 20u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[2].first), 30u);
}

// The load of the largest of the parts, and the least that it can be.
uint64_t LargestPart(const LoadCurve& curve, const std::vector<LoadCurve::Boundary>& boundaries) {
  uint64_t most = 0;
  Position before = curve.begin();
  for (size_t i = 0; i <= boundaries.size(); ++i) {
    const Position next = i < boundaries.size() ? boundaries[i].first : curve.end();
    most = std::max(most, curve.Below(next) - curve.Below(before));
    before = next;
  }
  return most;
}
uint64_t LeastLargestPart(const std::vector<uint64_t>& weights, uint32_t parts) {
  std::vector<uint64_t> least(weights.size() + 1, ~uint64_t{0});  // of so many keys
  least[0] = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    for (size_t end = weights.size(); end > 0; --end) {
      uint64_t sum = 0;
      for (size_t begin = end; begin-- > 0;) {
        sum += weights[begin];
        least[end] = std::min(least[end], std::max(least[begin], sum));
      }
    }
  }
  return least.back();
}

TEST(LoadCurveTest, AHotKeyWhereABoundaryBelongsIsNoBurdenToAFullPart) {
  // Parts are 12.5 of 100; the hot key is 6 of them behind 9 others, and the nearest side is full.
  std::vector<uint64_t> weights(95, 1);
  weights[9] = 6;
  const LoadCurve curve(Sample({CurvePart(0, 95, weights)}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(8);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].first), 9u);
  EXPECT_LE(static_cast<double>(LargestPart(curve, boundaries)) * 8,
            1.1 * static_cast<double>(curve.total()));
}

TEST(LoadCurveTest, TheLargestPartIsAsSmallAsItCanBe) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  int checked = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint64_t> weights(20 + random() % 40);
    uint64_t sum = 0;
    for (uint64_t& weight : weights) {
      weight = random() % 8 == 0 ? random() % 100 : random() % 10;
      sum += weight;
    }
    const auto parts = static_cast<uint32_t>(2 + random() % 7);
    const uint64_t hottest = *std::max_element(weights.begin(), weights.end());
    if (hottest * parts > sum) continue;  // counts for less than it is
    const LoadCurve curve(Sample({CurvePart(0, weights.size(), weights)}));
    const double scale = static_cast<double>(sum) / static_cast<double>(curve.total());
    EXPECT_LE(static_cast<double>(LargestPart(curve, curve.Divide(parts))) * scale,
              static_cast<double>(LeastLargestPart(weights, parts)) +
                  2.1 / 64 * static_cast<double>(sum) / parts);
    ++checked;
  }
  EXPECT_GT(checked, 500);
}

TEST(LoadCurveTest, LargestProductsFit) {
  // The widest piece, the most parts, the largest counts.
  const LoadCurve curve(Sample({CurvePart(0, std::nullopt, {~uint64_t{0}})}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(LoadCurve::kPartsMax);
  ASSERT_EQ(boundaries.size(), LoadCurve::kPartsMax - 1);
  for (uint32_t i = 0; i < boundaries.size(); ++i) {
    ASSERT_EQ(static_cast<uint64_t>(boundaries[i].first), uint64_t{i + 1} << 48);
  }
}

}  // namespace
}  // namespace eris::balancer
