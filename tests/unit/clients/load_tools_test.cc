// The pieces of the load tool that its figures and its verification stand on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "bench/key_set.h"
#include "bench/latency_histogram.h"

namespace eris::bench {
namespace {

TEST(LatencyHistogramTest, PercentilesAreWithinThreePercentOfTheSortedValues) {
  const uint64_t seed = 11;
  std::mt19937_64 random(seed);
  LatencyHistogram first, second;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t value = random() >> (random() % 64);
    values.push_back(value);
    (i % 2 == 0 ? first : second).Add(value);
  }
  first.Merge(second);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(first.count(), values.size());
  EXPECT_EQ(first.max_ns(), values.back());
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9}) {
    const auto truth =
        static_cast<double>(values[static_cast<size_t>(values.size() * percent / 100)]);
    const auto shown = static_cast<double>(first.PercentileNs(percent));
    EXPECT_GE(shown, truth) << percent << ", seed " << seed;
    EXPECT_LE(shown, truth * 1.032 + 1) << percent << ", seed " << seed;
  }
}

TEST(LatencyHistogramTest, WithoutValuesPercentilesAreZero) {
  EXPECT_EQ(LatencyHistogram().PercentileNs(99), 0u);
}

TEST(KeySetTest, SparseKeysAreDistinctAndSplitPointsGiveEqualShares) {
  const KeySet keys(100'000, true);
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < keys.count(); ++i) all.push_back(keys.Key(i));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  for (const uint32_t partitions : {1u, 2u, 7u, 8u}) {
    const std::vector<uint64_t> points = keys.SplitPoints(partitions);
    ASSERT_EQ(points.size(), partitions - 1);
    auto from = all.begin();
    for (uint32_t i = 0; i < partitions; ++i) {
      const auto to =
          i + 1 < partitions ? std::lower_bound(all.begin(), all.end(), points[i]) : all.end();
      EXPECT_LE((to - from) * partitions, 1.05 * keys.count()) << partitions << " partitions";
      from = to;
    }
  }
}

TEST(KeyPickerTest, ZipfFavouritesAreAskedForAsOftenAsTheLawSays) {
  constexpr uint64_t kCount = 1000;
  constexpr int kPicks = 200'000;
  const ZipfConstants constants(kCount);
  KeyPicker picker(kCount, constants, 3);
  std::map<uint64_t, int> picks;
  for (int i = 0; i < kPicks; ++i) {
    const uint64_t number = picker.Next();
    ASSERT_LT(number, kCount);
    ++picks[number];
  }
  EXPECT_NEAR(picks[0], kPicks / constants.zeta, 0.05 * kPicks / constants.zeta);
  EXPECT_GT(picks[0], picks[1]);
  EXPECT_GT(picks[1], picks[20]);
}

}  // namespace
}  // namespace eris::bench
