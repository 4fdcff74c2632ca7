#include "clients/cli/loading/key_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "eris/key_encoding.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

ColumnSchema ColumnOf(ColumnType type) { return {.name = "k", .type = type}; }

// Keys per partition over their mean.
double LargestShare(const std::vector<uint64_t>& keys, const std::vector<uint64_t>& points) {
  std::vector<size_t> counts(points.size() + 1);
  for (const uint64_t key : keys) {
    ++counts[std::upper_bound(points.begin(), points.end(), key) - points.begin()];
  }
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) *
         static_cast<double>(counts.size()) / static_cast<double>(keys.size());
}

TEST(SplitPointsTest, CutDistinctKeysIntoEqualRuns) {
  EXPECT_EQ(SplitPoints({10, 20, 30, 40, 50, 60}, 3), (std::vector<uint64_t>{30, 50}));
  EXPECT_EQ(SplitPoints({60, 10, 10, 10, 10, 50, 40, 30, 20}, 3), (std::vector<uint64_t>{30, 50}));
}

TEST(SplitPointsTest, OnePartitionOrNoKeyNeedsNone) {
  EXPECT_TRUE(SplitPoints({1, 2, 3}, 1).empty());
  EXPECT_TRUE(SplitPoints({}, 8).empty());
}

TEST(SplitPointsTest, FewerKeysThanPartitionsGiveFewerPointsAscending) {
  EXPECT_EQ(SplitPoints({5, 9}, 8), (std::vector<uint64_t>{9}));
}

TEST(SampleKeysTest, SmallFileIsReadWholly) {
  const TempFile file("k,v\n3,1\nbad,1\n7,1\n5,1");
  const auto keys =
      SampleKeys(file.fd(), file.bytes(), {}, 0, 100'000, ColumnOf(ColumnType::kUint64));
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(*keys, (std::vector<uint64_t>{3, 7, 5}));
}

TEST(SplitPointsTest, CutsOfOthersAreTakenWhereTheyGiveEqualShares) {
  std::vector<uint64_t> sample;
  for (uint64_t i = 0; i < 1000; ++i) sample.push_back(i);
  using Cuts = std::vector<uint64_t>;
  EXPECT_EQ(SplitPoints(sample, 2, {{700}, {530}, {500}}), Cuts{530});
  EXPECT_EQ(SplitPoints(sample, 2, {{600}, {300, 600}, {}}), Cuts{500});
  EXPECT_EQ(SplitPoints(sample, 3, {{300, 660}}), (Cuts{300, 660}));
  sample.resize(150);  // too few to tell
  EXPECT_EQ(SplitPoints(sample, 2, {{76}}), Cuts{75});
}

TEST(SampleKeysTest, KeysAreReadByTheirType) {
  const TempFile file("day,mm\n1970-01-03,1\n12,1\n1969-12-31,1\n");
  const auto keys =
      SampleKeys(file.fd(), file.bytes(), {}, 0, 100'000, ColumnOf(ColumnType::kDate));
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(*keys, (std::vector<uint64_t>{KeyFromDate(2), KeyFromDate(-1)}));
}

TEST(SampleKeysTest, LongLinesAreSampledToo) {
  for (const size_t line_bytes : {1'500, 3'000, 20'000}) {
    const size_t lines = 6'000'000 / line_bytes;
    std::vector<uint64_t> all;
    std::string text;
    for (size_t i = 0; i < lines; ++i) {
      all.push_back(1000 + i);
      text += std::to_string(all.back()) + "|" + std::string(line_bytes, 'x') + "|\n";
    }
    const TempFile file(text);
    const auto keys = SampleKeys(file.fd(), file.bytes(), {'|', false, true}, 0, 20'000,
                                 ColumnOf(ColumnType::kUint64));
    ASSERT_TRUE(keys.ok()) << keys.status();
    EXPECT_GE(keys->size(), 500u) << line_bytes;
    const std::vector<uint64_t> points = SplitPoints(*keys, 8);
    ASSERT_EQ(points.size(), 7u) << line_bytes;
    EXPECT_LE(LargestShare(all, points), 1.2) << line_bytes;
  }
}

TEST(SampleKeysTest, BoundsFromASampleOfASkewedFileGiveEveryPartitionItsShare) {
  const uint64_t seed = 7;
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys;
  std::string text;
  for (int i = 0; i < 300'000; ++i) {
    // Half of the keys in a thousandth of the range.
    keys.push_back(i % 2 == 0 ? random() % 1'000'000 : random() % 1'000'000'000);
    text += std::to_string(keys.back()) + "|" + std::string(random() % 30, 'x') + "|\n";
  }
  const TempFile file(text);
  const auto sample = SampleKeys(file.fd(), file.bytes(), {'|', false, true}, 0, 20'000,
                                 ColumnOf(ColumnType::kUint64));
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_LE(sample->size(), 20'000u);
  for (const size_t partitions : {2, 7, 8, 64}) {
    const std::vector<uint64_t> points = SplitPoints(*sample, partitions);
    ASSERT_EQ(points.size(), partitions - 1);
    EXPECT_LE(LargestShare(keys, points), 1.2) << partitions << " partitions, seed " << seed;
  }
}

}  // namespace
}  // namespace eris::cli
