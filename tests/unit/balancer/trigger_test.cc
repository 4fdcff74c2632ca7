#include "balancer/trigger.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/make_plan.h"
#include "tests/support/load_samples.h"
#include "tests/support/seed.h"

namespace eris::balancer {
namespace {

constexpr double kTrigger = 0.25;

PlanWorld OneNodeWorld(uint32_t aeus) {
  PlanWorld world;
  world.numa_nodes.assign(aeus, NumaNodeId{0});
  return world;
}

// One hundred keys each; loads in milliseconds of a second.
LoadSample Sample(const std::vector<uint64_t>& loads, double accesses = 0) {
  std::vector<test::Part> parts;
  for (size_t i = 0; i < loads.size(); ++i) parts.push_back({i * 100, {loads[i] * 1'000'000}});
  LoadSample sample = test::MakeSample(parts, loads.size() * 100);
  sample.window_ns = 1'000'000'000;
  sample.accesses = accesses;
  return sample;
}

TriggerVerdict Ask(const LoadSample& sample, TriggerState& state,
                   BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot) {
  const PlanWorld world = OneNodeWorld(static_cast<uint32_t>(sample.partitions.size()));
  return Decide(sample, MakePlan("o", sample, algorithm, 1, world), kTrigger, world, state);
}

TEST(TriggerTest, FarBeyondMovesAtOnceAndLessThanThatWhenItLasts) {
  TriggerState state;
  EXPECT_EQ(Ask(Sample({900, 100}), state), TriggerVerdict::kMove);
  state = {};
  const LoadSample some = Sample({650, 350});  // 0.3
  EXPECT_EQ(Ask(some, state), TriggerVerdict::kNotLasting);
  EXPECT_EQ(Ask(some, state), TriggerVerdict::kMove);
  state = {};
  EXPECT_EQ(Ask(some, state), TriggerVerdict::kNotLasting);
  EXPECT_EQ(Ask(Sample({500, 500}), state), TriggerVerdict::kBalanced);
  EXPECT_EQ(Ask(some, state), TriggerVerdict::kNotLasting);
}

TEST(TriggerTest, OnceMovingItGoesOnBelowTheThresholdAndThenRests) {
  TriggerState state;
  EXPECT_EQ(Ask(Sample({900, 100}), state), TriggerVerdict::kMove);
  EXPECT_EQ(Ask(Sample({600, 400}), state), TriggerVerdict::kMove);      // 0.2
  EXPECT_EQ(Ask(Sample({550, 450}), state), TriggerVerdict::kBalanced);  // 0.1
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Ask(Sample({600, 400}), state), TriggerVerdict::kBalanced);
  }
}

TEST(TriggerTest, NextToNoLoadMovesNothing) {
  TriggerState state;
  LoadSample sample = Sample({4, 0});
  EXPECT_EQ(Ask(sample, state), TriggerVerdict::kIdle);
  EXPECT_EQ(Ask(Sample({0, 0}), state), TriggerVerdict::kIdle);
  sample = Sample({900, 0});
  sample.window_ns = 0;
  EXPECT_EQ(Ask(sample, state), TriggerVerdict::kIdle);
}

TEST(TriggerTest, FewAccessesProveNothing) {
  TriggerState state;
  EXPECT_EQ(Ask(Sample({700, 300}, 10), state), TriggerVerdict::kBalanced);
  EXPECT_EQ(Ask(Sample({700, 300}, 5000), state), TriggerVerdict::kMove);
}

TEST(TriggerTest, ASingleBusyAeuAmongManyIsSeen) {
  // 1.6 times the mean; the standard deviation is 0.08.
  std::vector<uint64_t> loads(64, 100);
  loads[7] = 160;
  TriggerState state;
  EXPECT_EQ(Ask(Sample(loads, 100'000), state), TriggerVerdict::kMove);
  state = {};
  EXPECT_EQ(Ask(Sample(loads, 3000), state), TriggerVerdict::kBalanced);
}

TEST(TriggerTest, AGentleAlgorithmIsJudgedByWhatCanBeReached) {
  std::vector<uint64_t> loads(64, 0);
  for (int i = 0; i < 32; ++i) loads[i] = 500;
  TriggerState state;
  EXPECT_EQ(Ask(Sample(loads), state, BalanceAlgorithm::kMovingAverage), TriggerVerdict::kMove);
}

TEST(TriggerTest, WhatCannotBeCuredIsLeftAlone) {
  TriggerState state;
  LoadSample sample = Sample({0, 100, 100, 100});
  sample.partitions[0].sub_ranges = {{99, 900'000'000}};  // a single key
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(sample, state), TriggerVerdict::kNoGain);
}

TEST(TriggerTest, SmallHeapTablesStayAsTheyAre) {
  PlanWorld world = OneNodeWorld(2);
  world.by_size = true;
  TriggerState state;
  LoadSample sample = test::MakeSample({{0, {}, 1000}, {1, {}, 0}}, 2);
  const auto ask = [&] {
    return Decide(sample, MakePlan("o", sample, BalanceAlgorithm::kOneShot, 1, world), kTrigger,
                  world, state);
  };
  EXPECT_EQ(ask(), TriggerVerdict::kIdle);
  sample.partitions[0].size = 1'000'000;
  EXPECT_EQ(ask(), TriggerVerdict::kMove);
}

TEST(TriggerTest, ABalancedSystemNeverMovesAnythingHoweverFewTheAccesses) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  for (const uint32_t aeus : {2u, 8u, 64u}) {
    for (const uint32_t samples : {20u, 300u, 4000u}) {
      TriggerState state;
      for (int period = 0; period < 300; ++period) {
        std::vector<uint64_t> counts(aeus);
        for (uint32_t i = 0; i < samples; ++i) ++counts[random() % aeus];
        for (uint64_t& count : counts) count = count * 1000 / samples;
        ASSERT_NE(Ask(Sample(counts, samples), state), TriggerVerdict::kMove)
            << aeus << " AEUs, " << samples << " samples, period " << period;
      }
    }
  }
}

TEST(TriggerTest, ChanceIsExceededOnceInAMillion) {
  // 99.9999 % of chi square with one and with 63 degrees of freedom: 23.9 and 128.3.
  EXPECT_NEAR(ChanceSquared(1, 2), 23.9, 4);
  EXPECT_NEAR(ChanceSquared(1, 64), 128.3, 5);
  EXPECT_EQ(ChanceSquared(0, 64), 0);
}

}  // namespace
}  // namespace eris::balancer
