// 64 AEUs in 8 NumaNodes, stepped by hand: what locality-aware scheduling saves, that it leaves the
// load even, and that no AEU sleeps beside a task that it may take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/unit/tasks/task_simulation.h"

namespace eris::tasks {
namespace {

constexpr uint64_t kSeeds = test::Fewer(20u, 3u);
constexpr uint64_t kArrivalUs = 100;

const std::vector<TaskScheduling> kAware = {TaskScheduling::kLocalityAware};
const std::vector<TaskScheduling> kUnaware = {TaskScheduling::kBlind};
const std::vector<TaskScheduling> kMixed = {TaskScheduling::kLocalityAware, TaskScheduling::kBlind};

SimulationResult Simulate(uint64_t seed, uint32_t queries,
                          const std::vector<TaskScheduling>& scheduling,
                          uint64_t arrival_us = kArrivalUs) {
  return TaskSimulation(
             {.seed = seed, .queries = queries, .scheduling = scheduling, .arrival_us = arrival_us})
      .Run();
}

std::string NameOfAll(const std::vector<TaskScheduling>& scheduling) {
  return scheduling.size() > 1 ? "mixed" : std::string(NameOf(scheduling[0]));
}

double Ratio(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Bytes that are read from another NumaNode if aware, compared with blind ones.
void ExpectFarBytes(uint32_t queries, double of_unaware_max) {
  double worst = 0;
  uint64_t far[2] = {0, 0};
  uint64_t bytes[2] = {0, 0};
  for (uint64_t i = 0; i < kSeeds; ++i) {
    const uint64_t seed = test::Seed() + i;
    SCOPED_TRACE(test::SeedText(seed));
    const SimulationResult aware = Simulate(seed, queries, kAware);
    const SimulationResult unaware = Simulate(seed, queries, kUnaware);
    EXPECT_LE(Ratio(aware.far_bytes, unaware.far_bytes), of_unaware_max);
    worst = std::max(worst, Ratio(aware.far_bytes, unaware.far_bytes));
    far[0] += aware.far_bytes;
    far[1] += unaware.far_bytes;
    bytes[0] += aware.bytes;
    bytes[1] += unaware.bytes;
  }
  std::printf(
      "%u queries: %.3f of all bytes are far if aware, %.3f if blind: %.3f, at worst %.3f\n",
      queries, Ratio(far[0], bytes[0]), Ratio(far[1], bytes[1]), Ratio(far[0], far[1]), worst);
}

TEST(TaskSimulationTest, AwareTasksOfManyQueriesReadLittleFromAfar) { ExpectFarBytes(16, 0.3); }

TEST(TaskSimulationTest, AwareTasksOfOneQueryReadNoMoreFromAfarThanBlindOnes) {
  ExpectFarBytes(1, 1.0);
}

// An AEU takes a deferred task when it has none of its own. So while deferred tasks wait, all AEUs
// are at work, and when the last one is taken each has at most the rest of one such task, with what
// that brings: no AEU works longer than the mean and that. The rest of the bound is what an AEU
// loses while the queries arrive and it gets up.
TEST(TaskSimulationTest, NoAeuWorksLongerThanTheMeanAndOneTaskWithAllThatItBrings) {
  for (const uint32_t queries : {1, 16}) {
    for (const auto& scheduling : {kAware, kUnaware, kMixed}) {
      double worst = 0;
      for (uint64_t i = 0; i < kSeeds; ++i) {
        const uint64_t seed = test::Seed() + i;
        SCOPED_TRACE(test::SeedText(seed));
        const SimulationResult result = Simulate(seed, queries, scheduling);
        EXPECT_LE(result.busiest_us,
                  result.mean_us + result.largest_us + kArrivalUs + TaskSimulation::kGetUpUsMax);
        worst = std::max(worst, Ratio(result.busiest_us, result.mean_us));
      }
      std::printf("%u queries, %s: the busiest AEU works %.3f of the mean at most\n", queries,
                  NameOfAll(scheduling).c_str(), worst);
    }
  }
}

// Each task that is added wakes an AEU if one sleeps that may take it, and no AEU goes to sleep
// beside a task. So as many AEUs look for tasks as there are tasks that an AEU which sleeps might
// take. Locality-aware tasks have an exception, which the paper's rules allow: an AEU that gets up
// for a deferred task takes an immediate one instead, for which nobody was woken, as no other AEU
// of the NumaNode slept. Then the deferred one waits until an AEU has ended what it runs, and AEUs
// of other NumaNodes sleep meanwhile.
TEST(TaskSimulationTest, NoAeuSleepsBesideATaskForWhichNobodyIsAwake) {
  for (const auto& scheduling : {kAware, kUnaware, kMixed}) {
    uint64_t wakes = 0;
    uint64_t asleep_beside_us = 0;
    uint64_t all_us = 0;
    for (const uint32_t queries : {1, 2, 16}) {
      for (const uint64_t arrival_us : {kArrivalUs, uint64_t{3'000}, uint64_t{20'000}}) {
        for (uint64_t i = 0; i < kSeeds; ++i) {
          const uint64_t seed = test::Seed() + i;
          SCOPED_TRACE(test::SeedText(seed));
          const SimulationResult result = Simulate(seed, queries, scheduling, arrival_us);
          if (HasFatalFailure()) return;
          EXPECT_LE(result.asleep_beside_us, scheduling == kUnaware ? 0 : result.all_us / 1000);
          wakes += result.wakes;
          asleep_beside_us += result.asleep_beside_us;
          all_us += result.all_us;
        }
      }
    }
    std::printf("%s: %lu wakes, %lu us asleep beside tasks, %lu us in all\n",
                NameOfAll(scheduling).c_str(), wakes, asleep_beside_us, all_us);
  }
}

}  // namespace
}  // namespace eris::tasks
