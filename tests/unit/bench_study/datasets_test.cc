// The distributions of the locality study's data sets, in sizes whose figures are known.
#include "bench/study/blind/datasets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace eris::bench::study {
namespace {

constexpr uint64_t kSeed = 7;

std::vector<uint64_t> KeysOf(const Dataset& dataset) {
  std::vector<uint64_t> keys(dataset.sizes().records);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = dataset.At(i).key;
  return keys;
}

TEST(DatasetTest, SizesAreThePapersTimesTheScale) {
  EXPECT_EQ(Sizes::OfGroups(1).records, 100'000'000u);
  EXPECT_EQ(Sizes::OfGroups(1).keys, 1'000'000u);
  EXPECT_EQ(Sizes::OfGroups(0.1).records, 10'000'000u);
  EXPECT_EQ(Sizes::OfJoin(1).records, 256'000'000u);
  EXPECT_EQ(Sizes::OfJoin(1).keys, 16'000'000u);
  EXPECT_EQ(Sizes::OfJoin(0.01).records, 16 * Sizes::OfJoin(0.01).keys);
  EXPECT_GE(Sizes::OfGroups(1e-9).keys, 1u);
}

TEST(DatasetTest, MovingClusterIsAWindowThatSlidesFromTheFirstKeysToTheLast) {
  const Dataset dataset(Distribution::kMovingCluster, {1'000'000, 10'000}, kSeed);
  const std::vector<uint64_t> keys = KeysOf(dataset);
  constexpr uint64_t kPart = 10'000;  // in which the window moves by 90 keys
  uint64_t lowest_before = 0;
  for (uint64_t begin = 0; begin < keys.size(); begin += kPart) {
    const auto [low, high] =
        std::minmax_element(keys.begin() + static_cast<ptrdiff_t>(begin),
                            keys.begin() + static_cast<ptrdiff_t>(begin + kPart));
    EXPECT_LE(*high - *low, Dataset::kWindowKeys + 90) << "at record " << begin;
    EXPECT_GE(*high - *low, Dataset::kWindowKeys * 9 / 10) << "at record " << begin;
    EXPECT_GE(*low + 90, lowest_before) << "the window moves back at record " << begin;
    lowest_before = *low;
  }
  EXPECT_LT(*std::min_element(keys.begin(), keys.begin() + kPart), 100u);
  EXPECT_GT(*std::max_element(keys.end() - kPart, keys.end()), 9'900u);
  EXPECT_GT(std::set<uint64_t>(keys.begin(), keys.end()).size(), 9'900u);
}

TEST(DatasetTest, SequentialHasASegmentOfEqualLengthForEachKey) {
  const Dataset dataset(Distribution::kSequential, {100'000, 1'000}, kSeed);
  const std::vector<uint64_t> keys = KeysOf(dataset);
  uint64_t segments = 1, length = 1;
  for (size_t i = 1; i < keys.size(); ++i) {
    if (keys[i] == keys[i - 1]) {
      ++length;
      continue;
    }
    EXPECT_EQ(keys[i], keys[i - 1] + 1);
    EXPECT_EQ(length, 100u);
    length = 1;
    ++segments;
  }
  EXPECT_EQ(segments, 1'000u);
}

// By the law, rank r comes sqrt(r) times less often than rank 1.
TEST(DatasetTest, ZipfHasTheFrequenciesOfExponentOneHalf) {
  const Dataset dataset(Distribution::kZipf, {4'000'000, 10'000}, kSeed);
  std::vector<uint64_t> count(10'000);
  for (const uint64_t key : KeysOf(dataset)) ++count.at(key);
  double weights = 0;
  for (int rank = 1; rank <= 10'000; ++rank) weights += 1 / std::sqrt(rank);
  for (const uint64_t rank : {1u, 10u, 100u, 10'000u}) {
    const double expected = 4e6 / (weights * std::sqrt(static_cast<double>(rank)));
    // Five standard deviations of a count.
    EXPECT_NEAR(static_cast<double>(count[rank - 1]), expected, 5 * std::sqrt(expected))
        << "rank " << rank;
  }
  EXPECT_NEAR(static_cast<double>(count[0]) / static_cast<double>(count[9]), std::sqrt(10), 0.15);
  EXPECT_NEAR(static_cast<double>(count[0]) / static_cast<double>(count[99]), 10, 0.7);
}

TEST(DatasetTest, AJoinsRecordsMeetEachPrimaryKeySixteenTimesInSequence) {
  const Dataset dataset(Distribution::kSequential, Sizes::OfJoin(0.0001), kSeed);
  std::vector<uint64_t> count(dataset.sizes().keys);
  for (const uint64_t key : KeysOf(dataset)) ++count.at(key);
  EXPECT_EQ(std::set<uint64_t>(count.begin(), count.end()), std::set<uint64_t>{16});
  EXPECT_EQ(dataset.PrimaryAt(17).key, 17u);
}

TEST(DatasetTest, ASeedRepeatsAndAnotherOneDiffers) {
  for (const auto distribution :
       {Distribution::kMovingCluster, Distribution::kSequential, Distribution::kZipf}) {
    const Sizes sizes{10'000, 100};
    const Dataset one(distribution, sizes, 1), again(distribution, sizes, 1),
        other(distribution, sizes, 2);
    uint64_t other_keys = 0, other_values = 0;
    for (uint64_t i = 0; i < sizes.records; ++i) {
      ASSERT_EQ(one.At(i).key, again.At(i).key);
      ASSERT_EQ(one.At(i).value, again.At(i).value);
      ASSERT_LT(one.At(i).key, sizes.keys);
      ASSERT_LT(one.At(i).value, uint64_t{1} << 31);
      other_keys += one.At(i).key != other.At(i).key;
      other_values += one.At(i).value != other.At(i).value;
    }
    EXPECT_GT(other_values, 9'990u);
    // The sequence of keys has nothing random.
    if (distribution == Distribution::kSequential) {
      EXPECT_EQ(other_keys, 0u);
    } else {
      EXPECT_GT(other_keys, 9'000u);
    }
  }
}

}  // namespace
}  // namespace eris::bench::study
