#include "balancer/load/access_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace eris::balancer {
namespace {

constexpr uint64_t kLast = ~uint64_t{0};
constexpr size_t kMany = 1 << 20;

std::vector<WeightedKey> Samples(const std::vector<uint64_t>& keys, uint64_t weight = 1000) {
  std::vector<WeightedKey> result;
  for (const uint64_t key : keys) result.push_back({key, weight, 256, 1});
  return result;
}

TEST(AccessHistoryTest, KeysAreSortedAndOfOneKindEach) {
  AccessHistory history;
  history.Add(Samples({5, kLast, 0, 5}), kMany);
  history.Add(Samples({0, 5}), kMany);
  ASSERT_EQ(history.entries().size(), 3u);
  EXPECT_EQ(history.entries()[0].key, 0u);
  EXPECT_EQ(history.entries()[0].weight, 2000u);
  EXPECT_EQ(history.entries()[1].weight, 3000u);
  EXPECT_EQ(history.entries()[2].key, kLast);
  EXPECT_EQ(history.total_weight(), 6000u);
}

TEST(AccessHistoryTest, HalfOfAWeightIsLeftEachPeriodAndThenNothing) {
  AccessHistory history;
  history.Add(Samples({1}), kMany);
  for (const uint64_t left : {500u, 250u, 125u, 62u}) {
    history.Fade();
    EXPECT_EQ(history.total_weight(), left);
  }
  history.Fade();
  EXPECT_TRUE(history.entries().empty());
}

TEST(AccessHistoryTest, AFewAccessesTellAsMuchAsTheyWeigh) {
  AccessHistory history;
  EXPECT_EQ(history.EffectiveAccesses(), 0);
  history.Add(Samples({1, 2, 3, 3}), kMany);
  EXPECT_DOUBLE_EQ(history.EffectiveAccesses(), 4);
  // One that weighs as much as all others together.
  history.Add(Samples({9}, 4000), kMany);
  EXPECT_DOUBLE_EQ(history.EffectiveAccesses(), 64.0 / 20);
}

std::vector<uint64_t> RandomKeys(std::mt19937_64& random, size_t count, uint64_t lo,
                                 uint64_t width) {
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(lo + random() % width);
  return keys;
}

TEST(AccessHistoryTest, AShiftForgetsWhatWasBefore) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  AccessHistory history;
  EXPECT_FALSE(history.Add(Samples(RandomKeys(random, 2000, 0, kLast)), kMany));
  // The same again is no shift, however often.
  for (int i = 0; i < 50; ++i) {
    history.Fade();
    ASSERT_FALSE(history.Add(Samples(RandomKeys(random, 2000, 0, kLast)), kMany));
  }
  // The upper half alone is.
  EXPECT_TRUE(history.Add(Samples(RandomKeys(random, 2000, kLast / 2, kLast / 2)), kMany));
  EXPECT_GE(history.entries().front().key, kLast / 2);
  EXPECT_EQ(history.total_weight(), 2'000'000u);
}

TEST(AccessHistoryTest, AHalfThatMovesByAThirtySecondOfItselfIsAShift) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  AccessHistory history;
  for (uint64_t begin = 0; begin < 4; ++begin) {
    const auto half = [&] {
      return Samples(RandomKeys(random, 8192, begin * (kLast / 64), kLast / 2));
    };
    EXPECT_EQ(history.Add(half(), kMany), begin > 0) << begin;
    history.Fade();
    EXPECT_FALSE(history.Add(half(), kMany)) << begin;
    history.Fade();
  }
}

TEST(AccessHistoryTest, HotKeysThatStayAreNoShift) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  AccessHistory history;
  for (int i = 0; i < 200; ++i) {
    std::vector<uint64_t> keys;
    for (size_t k = random() % 8192 + 1; k > 0; --k) {
      keys.push_back(uint64_t{1} << random() % 40 << random() % 24);
    }
    history.Fade();
    ASSERT_FALSE(history.Add(Samples(keys), kMany)) << i;
  }
}

TEST(AccessHistoryTest, AFewSamplesAreNoShift) {
  AccessHistory history;
  history.Add(Samples({1, 2, 3, 4, 5, 6, 7, 8}), kMany);
  EXPECT_FALSE(history.Add(Samples({100, 101, 102}), kMany));
  EXPECT_EQ(history.entries().size(), 11u);
}

TEST(AccessHistoryTest, IsBoundedAndKeepsLoadsWhereTheyWere) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  constexpr size_t kMax = 1000;
  AccessHistory history;
  std::vector<WeightedKey> fresh = Samples(RandomKeys(random, 50'000, 0, uint64_t{1} << 60));
  // A hot key in the middle has a tenth of it.
  for (int i = 0; i < 5000; ++i) fresh.push_back({uint64_t{1} << 59, 1000, 256, 1});
  history.Add(fresh, kMax);
  EXPECT_LE(history.entries().size(), kMax);
  EXPECT_EQ(history.total_weight(), 55'000'000u);
  for (uint64_t part = 1; part < 8; ++part) {
    const uint64_t cut = part << 57;
    const auto below = [&](const std::vector<WeightedKey>& entries) {
      double sum = 0;
      for (const WeightedKey& one : entries) {
        sum += one.key < cut ? static_cast<double>(one.weight) : 0.0;
      }
      return sum;
    };
    EXPECT_NEAR(below(history.entries()), below(fresh), 2.1 * 55'000'000 / kMax) << part;
  }
  const auto hot =
      std::find_if(history.entries().begin(), history.entries().end(),
                   [](const WeightedKey& one) { return one.key == uint64_t{1} << 59; });
  ASSERT_NE(hot, history.entries().end());
  EXPECT_GE(hot->weight, 5'000'000u);
}

}  // namespace
}  // namespace eris::balancer
