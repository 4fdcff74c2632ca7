// What the tests of the explorer's folder share: scenarios that must hold, and planted bugs that
// must be found.
#ifndef ERIS_TESTS_EXPLORE_EXPLORE_TESTING_H_
#define ERIS_TESTS_EXPLORE_EXPLORE_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/explore/orders.h"
#include "tests/support/seed.h"

namespace eris::explore {

inline constexpr auto kRelaxed = std::memory_order_relaxed;
inline constexpr auto kAcquire = std::memory_order_acquire;
inline constexpr auto kRelease = std::memory_order_release;
inline constexpr auto kAcqRel = std::memory_order_acq_rel;
inline constexpr auto kSeqCst = std::memory_order_seq_cst;

// The seed for planted bugs. It is fixed, so that finding them does not depend on luck.
inline constexpr uint64_t kFixedSeed = 1;

// With a sanitizer, which is about the explorer's own code, a tenth must do.
#if defined(ERIS_ASAN)
inline constexpr uint64_t kExecutionsMax = 10'000;
inline constexpr uint64_t kShare = 10;
#else
inline constexpr uint64_t kExecutionsMax = UINT64_MAX;
inline constexpr uint64_t kShare = 1;
#endif

// Within the bounds, all of it.
inline void ExpectHoldsExhaustively(const std::string& name, const PlannedScenario& scenario,
                                    const ExhaustiveStrategy::Bounds& bounds) {
  const Result result =
      ExploreExhaustively(scenario.factory, {.threads = scenario.threads}, bounds, kExecutionsMax);
  std::printf("%s: %s\n", name.c_str(), result.Figures().c_str());
  EXPECT_EQ(result.failure, "") << name << ": " << result.Report();
  EXPECT_TRUE(result.complete || result.executions == kExecutionsMax);
}

// New seeds in every run, unless ERIS_SEED is given.
inline void ExpectHoldsAtRandom(const std::vector<PlannedScenario>& scenarios,
                                uint64_t executions) {
  for (size_t i = 0; i < scenarios.size(); ++i) {
    const Result result = ExploreRandom(scenarios[i].factory, {.threads = scenarios[i].threads},
                                        test::Seed() % (uint64_t{1} << 62), executions / kShare);
    std::printf("scenario %zu: %s\n", i, result.Figures().c_str());
    EXPECT_EQ(result.failure, "") << "scenario " << i << ", " << test::SeedText(test::Seed())
                                  << ": " << result.Report();
  }
}

inline void ExpectFound(const std::vector<PlannedScenario>& scenarios,
                        const std::vector<Weakening>& bugs, const std::string& failure,
                        uint64_t executions = 5'000) {
  const WeakenedOrder found = FindPlanted(scenarios, bugs, kFixedSeed, executions);
  std::printf("%s", TableOf({found}).c_str());
  EXPECT_THAT(found.failure, testing::HasSubstr(failure)) << found.what;
}

// Every order of the class is needed by some scenario, but for these.
inline void ExpectOrdersNeeded(const std::vector<PlannedScenario>& scenarios,
                               const std::string& class_name,
                               const std::vector<std::string>& but_for) {
  constexpr uint64_t kExecutions = 3'000;
  const auto orders = WeakenEachOrder(scenarios, class_name, kFixedSeed, kExecutions);
  std::printf("%s", TableOf(orders).c_str());
  EXPECT_FALSE(orders.empty());
  EXPECT_THAT(UnnoticedIn(orders), testing::UnorderedElementsAreArray(but_for));
}

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_EXPLORE_TESTING_H_
