#include "balancer/load/hot_ranges.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/load_samples.h"

namespace eris::balancer {
namespace {

LoadSample TwoPartitions(const std::vector<uint64_t>& first, const std::vector<uint64_t>& second) {
  LoadSample sample = test::MakeSample({{0, first}, {1000, second}}, 2000);
  sample.window_ns = 1000;
  return sample;
}

TEST(HotRangesTest, AHotStretchIsOneRangeAndTheFirst) {
  // A hundred pieces of ten keys: ten of them take nine tenths of the load.
  std::vector<uint64_t> weights(100, 1);
  for (size_t i = 40; i < 50; ++i) weights[i] = 81;
  const std::vector<HotRange> hot = HottestRanges(TwoPartitions(weights, {}), 10);
  ASSERT_EQ(hot.size(), 3u);
  EXPECT_EQ(hot[0].range, (KeyRange{.lo = 400, .hi = 500}));
  EXPECT_EQ(hot[0].owner, AeuId{0});
  EXPECT_DOUBLE_EQ(hot[0].load, 0.81);
  EXPECT_EQ(hot[1].range, (KeyRange{.lo = 500, .hi = 1000}));
  EXPECT_EQ(hot[2].range, (KeyRange{.lo = 0, .hi = 400}));
}

TEST(HotRangesTest, EvenLoadIsARangeForEachPartition) {
  const std::vector<uint64_t> even(50, 4);
  const std::vector<HotRange> hot = HottestRanges(TwoPartitions(even, even), 10);
  ASSERT_EQ(hot.size(), 2u);
  for (const HotRange& one : hot) {
    EXPECT_EQ(one.range.lo, one.owner.value * 1000);
    EXPECT_DOUBLE_EQ(one.load, 0.2);
  }
}

TEST(HotRangesTest, AHotKeyStandsAlone) {
  LoadSample sample = TwoPartitions({}, {});
  sample.partitions[1].sub_ranges = {{1100, 3}, {1200, 90}, {1201, 3}, {1300, 0}};
  const std::vector<HotRange> hot = HottestRanges(sample, 1);
  ASSERT_EQ(hot.size(), 1u);
  EXPECT_EQ(hot[0].range, (KeyRange{.lo = 1200, .hi = 1201}));
  EXPECT_EQ(hot[0].owner, AeuId{1});
}

TEST(HotRangesTest, NoRangeReachesOverAWideGap) {
  LoadSample sample = TwoPartitions({}, {});
  sample.partitions[0].sub_ranges = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 0}, {900, 1}, {901, 0}};
  const std::vector<HotRange> hot = HottestRanges(sample, 10);
  ASSERT_GE(hot.size(), 2u);
  for (const HotRange& one : hot) EXPECT_LE(*one.range.hi - one.range.lo, 4u);
}

TEST(HotRangesTest, TheLastKeyHasNoEnd) {
  LoadSample sample = test::MakeSample({{0, {}}}, std::nullopt);
  sample.window_ns = 10;
  sample.partitions[0].sub_ranges = {{~uint64_t{0}, 5}};
  const std::vector<HotRange> hot = HottestRanges(sample, 10);
  ASSERT_EQ(hot.size(), 1u);
  EXPECT_EQ(hot[0].range, (KeyRange{.lo = ~uint64_t{0}}));
}

TEST(HotRangesTest, WithoutLoadOrWindowThereIsNone) {
  EXPECT_TRUE(HottestRanges(TwoPartitions({}, {0, 0}), 10).empty());
  LoadSample sample = TwoPartitions({5}, {});
  sample.window_ns = 0;
  EXPECT_TRUE(HottestRanges(sample, 10).empty());
}

}  // namespace
}  // namespace eris::balancer
