#include "balancer/load_curve.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace eris::balancer {
namespace {

PartitionSample Part(uint64_t lo, std::optional<uint64_t> hi, std::vector<uint64_t> weights,
                     std::optional<uint64_t> width = std::nullopt) {
  PartitionSample result;
  result.range = storage::Range::FromPublic({lo, hi});
  result.weights = std::move(weights);
  result.sub_range_width = width;
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
  const LoadCurve curve(Sample({Part(100, 200, {1, 3})}));
  EXPECT_EQ(PerMille(curve, 100), 0u);
  EXPECT_EQ(PerMille(curve, 125), 125u);
  EXPECT_EQ(PerMille(curve, 150), 250u);
  EXPECT_EQ(PerMille(curve, 175), 625u);
  EXPECT_EQ(PerMille(curve, 200), 1000u);
}

TEST(LoadCurveTest, LastPartitionReachesTheEndOfTheKeySpace) {
  const LoadCurve curve(Sample({Part(0, 1, {1}), Part(1, std::nullopt, {1})}));
  EXPECT_EQ(curve.end(), kEndOfKeys);
  EXPECT_EQ(curve.Below(kEndOfKeys), curve.total());
  EXPECT_EQ(PerMille(curve, Position{1} << 63), 749u);
}

TEST(LoadCurveTest, SubRangesOfAGivenWidthLeaveTheRestWithoutLoad) {
  const LoadCurve curve(Sample({Part(1000, std::nullopt, {2, 2}, 8)}));
  EXPECT_EQ(PerMille(curve, 1008), 500u);
  EXPECT_EQ(PerMille(curve, 1016), 1000u);
  EXPECT_EQ(PerMille(curve, 1000000), 1000u);
}

TEST(LoadCurveTest, SubRangesBeyondTheRangeGiveTheirWeightToTheLastKeys) {
  const LoadCurve curve(Sample({Part(0, 12, {1, 1, 1, 1}, 8)}));
  EXPECT_EQ(PerMille(curve, 8), 250u);
  EXPECT_EQ(PerMille(curve, 12), 1000u);
}

TEST(LoadCurveTest, MoreSubRangesThanKeysLoseNoWeight) {
  const LoadCurve curve(Sample({Part(7, 9, {1, 1, 1, 1, 1, 1, 1, 1})}));
  EXPECT_EQ(PerMille(curve, 9), 1000u);
  EXPECT_GT(curve.Below(8), 0u);
  EXPECT_LT(curve.Below(8), curve.total());
}

TEST(LoadCurveTest, EmptyHistogramIsNoLoad) {
  EXPECT_EQ(LoadCurve(Sample({Part(0, 5, {}), Part(5, std::nullopt, {0, 0})})).total(), 0u);
}

TEST(LoadCurveTest, TotalIsScaledBelowItsLimitWhateverTheCounts) {
  for (const uint64_t weight : {uint64_t{1}, uint64_t{1000}, ~uint64_t{0}}) {
    const LoadCurve curve(Sample({Part(0, 10, std::vector<uint64_t>(10, weight))}));
    EXPECT_LT(curve.total(), LoadCurve::kTotalMax);
    EXPECT_GT(curve.total(), LoadCurve::kTotalMax / 4);
    EXPECT_EQ(PerMille(curve, 5), 500u);
  }
}

TEST(LoadCurveTest, BoundaryMayLieAnywhereInAGapWithoutLoad) {
  const LoadCurve curve(Sample({Part(0, 40, {1, 0, 0, 1})}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(2);
  ASSERT_EQ(boundaries.size(), 1u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].first), 10u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].last), 30u);
}

TEST(LoadCurveTest, HotKeyCountsForOnePartOnly) {
  // 70 % on key 30; the 30 keys before it carry 1 % each.
  std::vector<uint64_t> weights(31, 1);
  weights[30] = 70;
  const LoadCurve curve(Sample({Part(0, 31, weights)}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(4);
  ASSERT_EQ(boundaries.size(), 3u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[0].first), 10u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[1].first), 20u);
  EXPECT_EQ(static_cast<uint64_t>(boundaries[2].first), 30u);
}

TEST(LoadCurveTest, LargestProductsFit) {
  // The widest piece, the most parts, the largest counts.
  const LoadCurve curve(Sample({Part(0, std::nullopt, {~uint64_t{0}})}));
  const std::vector<LoadCurve::Boundary> boundaries = curve.Divide(LoadCurve::kPartsMax);
  ASSERT_EQ(boundaries.size(), LoadCurve::kPartsMax - 1);
  for (uint32_t i = 0; i < boundaries.size(); ++i) {
    ASSERT_EQ(static_cast<uint64_t>(boundaries[i].first), uint64_t{i + 1} << 48);
  }
}

}  // namespace
}  // namespace eris::balancer
