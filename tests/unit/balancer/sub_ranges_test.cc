#include "balancer/load/sub_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/property.h"

namespace eris::balancer {
namespace {

constexpr uint64_t kLastKey = ~uint64_t{0};
using testing::ElementsAre;

void PrintTo(const SubRange& one, std::ostream* out) {
  *out << "[" << one.begin << ": " << one.weight << ")";
}

std::vector<WeightedKey> WeightedKeys(const std::vector<uint64_t>& keys, uint64_t weight) {
  std::vector<WeightedKey> result;
  for (const uint64_t key : keys) result.push_back({key, weight, 256, 1});
  return result;
}

TEST(SubRangesTest, EachHasAboutAsMuchLoad) {
  EXPECT_THAT(CutSubRanges(WeightedKeys({10, 20, 30, 40, 50, 60}, 1), 3),
              ElementsAre(SubRange{10, 3}, SubRange{31, 0}, SubRange{40, 3}, SubRange{61, 0}));
}

TEST(SubRangesTest, NeighbouringKeysLeaveNoGap) {
  EXPECT_THAT(CutSubRanges(WeightedKeys({10, 11, 12, 13}, 1), 2),
              ElementsAre(SubRange{10, 2}, SubRange{12, 2}, SubRange{14, 0}));
}

TEST(SubRangesTest, AKeyWithMuchLoadStandsAlone) {
  std::vector<WeightedKey> samples = WeightedKeys({10, 11, 12, 13}, 1);
  samples[2].weight = 100;
  EXPECT_THAT(CutSubRanges(samples, 50),
              ElementsAre(SubRange{10, 2}, SubRange{12, 100}, SubRange{13, 1}, SubRange{14, 0}));
}

TEST(SubRangesTest, NoneReachesOverAWideGap) {
  EXPECT_THAT(CutSubRanges(WeightedKeys({10, 11, 12, 13, uint64_t{1} << 60}, 1), 100),
              ElementsAre(SubRange{10, 4}, SubRange{14, 0}, SubRange{uint64_t{1} << 60, 1},
                          SubRange{(uint64_t{1} << 60) + 1, 0}));
}

TEST(SubRangesTest, TheLastKeyThereIsEndsTheLastOne) {
  EXPECT_THAT(CutSubRanges(WeightedKeys({0, kLastKey}, 5), 5),
              ElementsAre(SubRange{0, 5}, SubRange{1, 0}, SubRange{kLastKey, 5}));
  EXPECT_TRUE(CutSubRanges({}, 5).empty());
}

TEST(SubRangesTest, AscendAndKeepAllLoad) {
  test::ExpectHolds({.cases = 2000}, [] {
    auto keys = *rc::gen::container<std::vector<uint64_t>>(rc::gen::oneOf(
        rc::gen::inRange<uint64_t>(0, 100), rc::gen::resize(1000, rc::gen::arbitrary<uint64_t>()),
        rc::gen::inRange<uint64_t>(kLastKey - 50, kLastKey)));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::vector<WeightedKey> samples;
    uint64_t sum = 0;
    for (const uint64_t key : keys) {
      samples.push_back({key, *rc::gen::inRange<uint64_t>(1, 50), 256, 1});
      sum += samples.back().weight;
    }
    const std::vector<SubRange> cut = CutSubRanges(samples, *rc::gen::inRange<uint64_t>(0, 200));
    for (size_t i = 0; i < cut.size(); ++i) {
      sum -= cut[i].weight;
      if (i > 0) RC_ASSERT(cut[i - 1].begin < cut[i].begin);
    }
    RC_ASSERT(sum == 0u);
    // Every sample lies in a sub-range that has weight.
    for (const uint64_t key : keys) {
      const auto after =
          std::upper_bound(cut.begin(), cut.end(), key,
                           [](uint64_t k, const SubRange& one) { return k < one.begin; });
      RC_ASSERT(after != cut.begin());
      RC_ASSERT((after - 1)->weight > 0u);
    }
  });
}

}  // namespace
}  // namespace eris::balancer
