#include "balancer/load/expected_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace eris::balancer {
namespace {

constexpr size_t kEntriesMax = 8192;

std::vector<WeightedKey> Keys(uint64_t first, uint64_t count, uint64_t weight = 100) {
  std::vector<WeightedKey> keys;
  for (uint64_t i = 0; i < count; ++i) keys.push_back({first + i, weight, 256, 1});
  return keys;
}

double ExpectedPart(const std::vector<uint64_t>& expected,
                    const std::vector<WeightedKey>& entries) {
  double sum = 0;
  double all = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_LE(expected[i], entries[i].weight);
    sum += static_cast<double>(expected[i]);
    all += static_cast<double>(entries[i].weight);
  }
  return sum / all;
}

class ExpectedLoadTest : public testing::Test {
 protected:
  // What of `now` is expected, after `before`.
  double After(const std::vector<WeightedKey>& before, const std::vector<WeightedKey>& now) {
    ExpectedLoad load;
    load.Add(before, kEntriesMax);
    load.EndPeriod();
    EXPECT_FALSE(load.knows());
    load.Add(now, kEntriesMax);
    EXPECT_TRUE(load.knows());
    return ExpectedPart(load.Of(now, 64), now);
  }
};

TEST_F(ExpectedLoadTest, WhatLastsIsExpectedAndWhatMovesOnIsNot) {
  EXPECT_EQ(After(Keys(0, 4000), Keys(0, 4000)), 1);
  EXPECT_EQ(After(Keys(0, 4000, 10), Keys(0, 4000, 1000)), 1);
  EXPECT_LT(After(Keys(0, 4000), Keys(4000, 4000)), 0.02);
  EXPECT_LT(After(Keys(4000, 4000), Keys(0, 4000)), 0.02);
  // What the others do not do any more changes nothing.
  EXPECT_EQ(After(Keys(0, 8000), Keys(0, 1000)), 1);
  // A half of the keys at once, and an eighth of them by and by.
  EXPECT_GT(After(Keys(0, 8000), Keys(0, 4000, 200)), 0.95);
  EXPECT_NEAR(After(Keys(0, 8000), Keys(0, 1000, 800)), 0.25, 0.05);
}

TEST_F(ExpectedLoadTest, AHotKeyIsJudgedByItself) {
  std::vector<WeightedKey> before = Keys(0, 2000);
  std::vector<WeightedKey> now = before;
  before[500].weight = before[1000].weight = 100'000;
  before[500].samples = before[1000].samples = 256 * 1000;
  now[500] = before[500];
  now[1500].weight = 100'000;
  now[1500].samples = 256 * 1000;
  // A third of it is new.
  EXPECT_NEAR(After(before, now), 0.7, 0.06);
}

TEST_F(ExpectedLoadTest, APauseChangesNothing) {
  ExpectedLoad load;
  load.Add(Keys(0, 4000), kEntriesMax);
  load.EndPeriod();
  load.Add(Keys(4000, 4000), kEntriesMax);
  load.EndPeriod();
  for (int i = 0; i < 3; ++i) {
    load.Add({}, kEntriesMax);
    load.EndPeriod();
  }
  const std::vector<WeightedKey> entries = Keys(4000, 4000);
  EXPECT_LT(ExpectedPart(load.Of(entries, 64), entries), 0.02);
}

// By too few samples nothing can be told: all of them are one place.
TEST_F(ExpectedLoadTest, FewSamplesAreAllExpected) {
  EXPECT_EQ(After(Keys(0, 5), Keys(100, 5)), 1);
}

}  // namespace
}  // namespace eris::balancer
