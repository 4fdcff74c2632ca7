#include "balancer/load/load_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris::balancer {
namespace {

using aeu::AccessSample;
using testing::ElementsAre;

constexpr uint64_t kLastSampled = ~uint64_t{0};
constexpr uint64_t kPeriod = 1'000'000'000;

class LoadSamplerTest : public testing::Test {
 protected:
  void SetUp() override { Aeus(2); }
  void Aeus(uint32_t count) {
    aeus_.clear();
    for (uint32_t i = 0; i < count; ++i) aeus_.push_back(std::make_shared<AccessSample>());
  }
  // Every key is noted.
  void Touch(uint32_t aeu, const std::vector<uint64_t>& keys, uint32_t kind = 1, uint64_t ns = 10) {
    for (const uint64_t key : keys) aeus_[aeu]->RecordSlice(kind, key, ns);
  }
  static std::vector<SampledPartition> Partitions(const std::vector<uint64_t>& starts,
                                                  const std::vector<uint32_t>& owners) {
    std::vector<SampledPartition> result;
    for (size_t i = 0; i < starts.size(); ++i) {
      SampledPartition one;
      one.range.lo = storage::Key::FromU64(starts[i]);
      if (i + 1 < starts.size()) one.range.hi = storage::Key::FromU64(starts[i + 1]);
      one.owner = AeuId{owners[i]};
      one.rows = i + 1;
      result.push_back(one);
    }
    return result;
  }
  LoadSample Sample(const std::vector<SampledPartition>& partitions) {
    std::vector<SampledAeu> aeus;
    for (uint32_t i = 0; i < aeus_.size(); ++i) aeus.push_back({AeuId{i}, aeus_[i]});
    now_ += kPeriod;
    return sampler_.Sample(ObjectId{}, partitions, aeus, now_, kPeriod);
  }

  std::vector<std::shared_ptr<AccessSample>> aeus_;
  LoadSampler sampler_;
  uint64_t now_ = 5 * kPeriod;
};

TEST_F(LoadSamplerTest, AccessesCountForThePartitionThatHasTheirKeyNow) {
  Touch(0, {0, 10, 99, 100});
  Touch(1, {500, kLastSampled});
  EXPECT_THAT(PartitionLoads(Sample(Partitions({0, 100}, {0, 1}))), ElementsAre(30, 30));
  // [50, 100) goes over to AEU 1, and AEU 0 has some of what it had noted not read yet.
  Touch(0, {60});
  EXPECT_THAT(PartitionLoads(Sample(Partitions({0, 50, 100}, {0, 1, 1}))), ElementsAre(10, 15, 15));
  const LoadSample sample = Sample(Partitions({0, 50}, {0, 1}));
  EXPECT_EQ(sample.partitions[1].size, 2u);
  EXPECT_EQ(sample.partitions[1].owner, AeuId{1});
  EXPECT_EQ(sample.seen_first, 0u);
  EXPECT_EQ(sample.seen_last, kLastSampled);
}

TEST_F(LoadSamplerTest, LoadIsTimeByKindOfCommand) {
  // A hundred cheap ones, and ten that take a hundred times as long.
  Touch(0, std::vector<uint64_t>(100, 7), 1, 10);
  Touch(1, std::vector<uint64_t>(10, 200), 2, 1000);
  Touch(1, std::vector<uint64_t>(10, 300), 1, 10);
  const LoadSample sample = Sample(Partitions({0, 100, 250}, {0, 1, 1}));
  EXPECT_THAT(PartitionLoads(sample), ElementsAre(1000, 10'000, 100));
  EXPECT_EQ(sample.partitions[0].mean_execution_ns, 10u);
}

// What a key costs one AEU counts as what it costs all of them, unless it is far more for long.
TEST_F(LoadSamplerTest, CostsThatAreAlikeAreTheSame) {
  Touch(0, std::vector<uint64_t>(100, 7), 1, 10);
  Touch(1, std::vector<uint64_t>(100, 200), 1, 15);
  EXPECT_THAT(PartitionLoads(Sample(Partitions({0, 100}, {0, 1}))), ElementsAre(1200, 1200));
}

class LoadSamplerCostTest : public LoadSamplerTest {
 protected:
  // A hundred lookups at each of four AEUs, of which the last one pays `ns` and the others 10. The
  // load of the last over that of the first.
  double Period(uint64_t ns) {
    for (uint32_t i = 0; i < 4; ++i) {
      Touch(i, std::vector<uint64_t>(100, i * 100), 1, i < 3 ? 10 : ns);
    }
    const auto loads = PartitionLoads(Sample(Partitions({0, 100, 200, 300}, {0, 1, 2, 3})));
    return loads[3] / loads[0];
  }
  void SetUp() override { Aeus(4); }
};

TEST_F(LoadSamplerCostTest, HalfOfWhatStandsOutForLongCounts) {
  for (int i = 0; i < 7; ++i) ASSERT_EQ(Period(90), 1) << i;
  double ratio = 1;
  for (int i = 0; i < 10; ++i) {
    const double next = Period(90);
    EXPECT_GT(next, ratio) << i;
    ratio = next;
  }
  EXPECT_NEAR(ratio, 45.0 / 30, 0.01);  // 30 on average
}

TEST_F(LoadSamplerCostTest, WhatStandsOutNowAndThenDoesNot) {
  for (int i = 0; i < 50; ++i) ASSERT_EQ(Period(i % 7 == 0 ? 10 : 90), 1) << i;
}

TEST_F(LoadSamplerCostTest, CheapKeysCountLikeOthers) {
  for (int i = 0; i < 20; ++i) ASSERT_EQ(Period(1), 1) << i;
}

TEST_F(LoadSamplerTest, TheLastFewThousandStandForAll) {
  // Far more than the ring has room for, and than are kept of an AEU.
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 50'000; ++i) keys.push_back(i % 1000);
  Touch(0, keys);
  Touch(1, {5000});
  const std::vector<double> loads = PartitionLoads(Sample(Partitions({0, 500, 2000}, {0, 0, 1})));
  EXPECT_NEAR(loads[0], 250'000, 10'000);
  EXPECT_NEAR(loads[1], 250'000, 10'000);
  EXPECT_EQ(loads[2], 10);
}

TEST_F(LoadSamplerTest, LoadFadesAndTheWindowWithIt) {
  Touch(0, {1, 2, 3, 4});
  const auto partitions = Partitions({0}, {0});
  EXPECT_EQ(Sample(partitions).window_ns, 0u);  // nobody knows since when
  const double halves[] = {20, 8, 4};           // whole nanoseconds of each sample
  for (const double left : halves) {
    EXPECT_THAT(PartitionLoads(Sample(partitions)), ElementsAre(left));
  }
  EXPECT_EQ(Sample(partitions).window_ns, kPeriod + kPeriod / 2 + kPeriod / 4 + kPeriod / 8);
  for (int i = 0; i < 3; ++i) Sample(partitions);
  EXPECT_THAT(PartitionLoads(Sample(partitions)), ElementsAre(0));
}

TEST_F(LoadSamplerTest, TheFirstWindowIsKnownWhereTheBeginIs) {
  sampler_ = LoadSampler(now_ + kPeriod / 3);
  Touch(0, {1, 2, 3, 4});
  const auto partitions = Partitions({0}, {0});
  const LoadSample first = Sample(partitions);
  EXPECT_EQ(first.window_ns, kPeriod - kPeriod / 3);
  EXPECT_THAT(PartitionLoads(first), ElementsAre(40));
}

TEST_F(LoadSamplerTest, WhatNobodyAccessesAnyMoreIsForgottenAltogether) {
  // One key was noted far more often than all others: it would outlast them, and be all the load.
  std::vector<uint64_t> keys(2000, 7);
  for (uint64_t i = 0; i < 200; ++i) keys.push_back((i << 55) + 100);
  Touch(0, keys, 1, 1000);
  const auto partitions = Partitions({0, 50}, {0, 1});
  const double share = PartitionLoads(Sample(partitions))[1];
  for (int i = 1; i < 5; ++i) {
    EXPECT_NEAR(PartitionLoads(Sample(partitions))[1], share / (1 << i), 200) << i;
  }
  EXPECT_THAT(PartitionLoads(Sample(partitions)), ElementsAre(0, 0));
  Touch(0, {100});
  EXPECT_THAT(PartitionLoads(Sample(partitions)), ElementsAre(0, 10));
}

// Then it is as if all had been sampled.
TEST_F(LoadSamplerTest, ItStaysQuietUntilSomebodyAccessesTheObject) {
  const auto partitions = Partitions({0, 50}, {0, 1});
  const auto keys = [&] { return aeus_[0]->keys() + aeus_[1]->keys(); };
  LoadSampler sampled = sampler_;
  uint32_t skipped = 0;
  for (int period = 0; period < 40; ++period) {
    if (period == 3 || period == 30) Touch(1, {100, 101, 102});
    if (period > 33) aeus_[0]->RecordExecution(1, 1, 10);  // too few for a sample
    const LoadSample expected = Sample(partitions);
    std::swap(sampled, sampler_);
    if (sampler_.StaysQuiet(keys(), now_, kPeriod)) {
      EXPECT_THAT(PartitionLoads(expected), ElementsAre(0, 0)) << period;
      EXPECT_TRUE(period > 8 && period < 30) << period;
      ++skipped;
    } else {
      now_ -= kPeriod;
      const LoadSample sample = Sample(partitions);
      EXPECT_EQ(PartitionLoads(sample), PartitionLoads(expected)) << period;
      EXPECT_EQ(sample.window_ns, expected.window_ns) << period;
    }
    std::swap(sampled, sampler_);
  }
  EXPECT_GE(skipped, 20u);
}

TEST_F(LoadSamplerTest, AskedMoreOftenItFadesNoFaster) {
  Touch(0, {1, 2, 3, 4});
  const auto partitions = Partitions({0}, {0});
  Sample(partitions);
  for (int i = 0; i < 10; ++i) {
    now_ -= kPeriod - kPeriod / 100;
    EXPECT_THAT(PartitionLoads(Sample(partitions)), ElementsAre(40));
  }
}

TEST_F(LoadSamplerTest, ANarrowHotRangeInAWideSpaceIsSeenKeyByKey) {
  const uint64_t hot = (uint64_t{1} << 63) + 12'345;
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 4000; ++i) keys.push_back(hot + i % 100);
  keys.push_back(3);
  keys.push_back(kLastSampled);
  Touch(0, keys);
  const LoadSample sample = Sample(Partitions({0, uint64_t{1} << 62}, {1, 0}));
  const LoadCurve curve(sample);
  for (uint64_t i = 0; i <= 100; ++i) {
    EXPECT_NEAR(static_cast<double>(curve.Below(hot + i)) / static_cast<double>(curve.total()),
                static_cast<double>(i) / 100, 0.002)
        << i;
  }
}

TEST_F(LoadSamplerTest, SequentialAndSparseKeysMakeEvenCurves) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  for (const uint64_t width : {uint64_t{4000}, uint64_t{1} << 40, kLastSampled}) {
    Aeus(2);
    sampler_ = LoadSampler();
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < 4000; ++i) {
      keys.push_back(width == 4000 ? i : random() % width);
    }
    Touch(0, keys);
    const LoadSample sample = Sample(Partitions({0, width / 3}, {0, 1}));
    const LoadCurve curve(sample);
    EXPECT_LE(sample.partitions[0].sub_ranges.size() + sample.partitions[1].sub_ranges.size(),
              8192u);
    for (uint64_t i = 1; i < 10; ++i) {
      EXPECT_NEAR(
          static_cast<double>(curve.Below(width / 10 * i)) / static_cast<double>(curve.total()),
          static_cast<double>(i) / 10, 0.05);
    }
  }
}

TEST_F(LoadSamplerTest, AMovingHotSpotIsKnownAtOnceAndNotExpectedAgain) {
  for (uint64_t spot = 0; spot < 8; ++spot) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < 2000; ++i) keys.push_back((spot << 60) + i % 500);
    Touch(0, keys);
    const LoadSample sample =
        Sample(Partitions({0, uint64_t{spot << 60}, (spot << 60) + 500}, {0, 1, 0}));
    if (spot == 0) continue;
    EXPECT_THAT(AeuLoadsNow(sample, 2), ElementsAre(0, 20'000)) << spot;
    EXPECT_LT(AeuLoads(sample, 2)[1], 500) << spot;
    EXPECT_EQ(sample.window_ns, kPeriod);
  }
}

TEST_F(LoadSamplerTest, AnAeuThatNotesNothingIsLeftOut) {
  std::vector<SampledAeu> aeus = {{AeuId{0}, nullptr}, {AeuId{1}, aeus_[1]}};
  AccessSample::AllocationFailures().Arm(1, memory::FailurePoint::Mode::kOnce);
  Touch(1, {5, 6, 7});
  AccessSample::AllocationFailures().Arm(0, memory::FailurePoint::Mode::kOnce);
  EXPECT_THAT(
      PartitionLoads(sampler_.Sample(ObjectId{}, Partitions({0, 6}, {0, 1}), aeus, now_, kPeriod)),
      ElementsAre(0, 0));
}

TEST_F(LoadSamplerTest, ReadsWhileTheAeusWrite) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (uint32_t aeu = 0; aeu < 2; ++aeu) {
    writers.emplace_back([&, aeu] {
      std::mt19937_64 random(aeu);
      std::vector<uint64_t> keys(1000);
      while (!stop.load(std::memory_order_relaxed)) {
        for (uint64_t& key : keys) key = aeu * 1000 + random() % 1000;
        const storage::BatchPart part{.count = 1000, .keys = keys.data()};
        const auto kind = static_cast<uint32_t>(1 + random() % 3);
        aeus_[aeu]->RecordExecution(kind, aeus_[aeu]->NoteKeys(kind, {&part, 1}), 50'000);
      }
    });
  }
  const int periods = test::Fewer(300, 60);
  double load = 0;
  for (int i = 0; i < periods || load == 0; ++i) {
    const LoadSample sample = Sample(Partitions({0, 1000, 2000}, {0, 1, 0}));
    const std::vector<double> loads = PartitionLoads(sample);
    load += loads[0] + loads[1];
    ASSERT_EQ(loads[2], 0);
    ASSERT_TRUE(sample.seen_last == kLastSampled || sample.seen_last < 2000u);
  }
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace eris::balancer
