// Against sorted vectors.
#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace eris::base {
namespace {

TEST(HistogramTest, PercentilesAreWithinOnePercentOfTheSortedValues) {
  const uint64_t seed = 11;
  std::mt19937_64 random(seed);
  Histogram first, second;
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
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const double rank = std::ceil(static_cast<double>(values.size()) * percent / 100);
    const auto truth = static_cast<double>(values[static_cast<size_t>(std::max(1.0, rank)) - 1]);
    const auto shown = static_cast<double>(first.PercentileNs(percent));
    EXPECT_GE(shown, truth) << percent << ", seed " << seed;
    EXPECT_LE(shown, truth * 1.01) << percent << ", seed " << seed;
  }
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t ns = 0; ns < 200; ++ns) histogram.Add(ns);
  EXPECT_EQ(histogram.PercentileNs(50), 99u);
  EXPECT_EQ(histogram.PercentileNs(100), 199u);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), 99.5);
}

TEST(HistogramTest, WithoutValuesEverythingIsZero) {
  Histogram histogram;
  EXPECT_EQ(histogram.PercentileNs(99), 0u);
  EXPECT_EQ(histogram.mean_ns(), 0);
  histogram.Add(5);
  histogram.Clear();
  EXPECT_EQ(histogram.PercentileNs(99), 0u);
  EXPECT_EQ(histogram.count(), 0u);
  histogram.Merge(Histogram());
  EXPECT_EQ(histogram.max_ns(), 0u);
}

}  // namespace
}  // namespace eris::base
