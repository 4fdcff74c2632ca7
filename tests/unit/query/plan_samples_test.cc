// Random plans: they are what the headers allow, they meet what they are made for, and they find
// planted faults.
#include "tests/support/plan/plan_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/support/plan/plan_differs.h"
#include "tests/support/plan/plan_interpreter.h"
#include "tests/support/plan/plan_text.h"
#include "tests/support/seed.h"

namespace eris::test {
namespace {

struct SampledPlan {
  PlanTables tables;
  QueryPlan plan;
};

SampledPlan SampleWith(uint64_t seed) {
  PlanRandom random(seed);
  SampledPlan sample;
  sample.tables = SampleTables(random);
  PlanSamples samples(random, sample.tables);
  sample.plan = samples.Plan();
  return sample;
}

TEST(PlanSamplesTest, TheSameSeedMakesTheSamePlan) {
  for (uint64_t seed = Seed(); seed < Seed() + 20; ++seed) {
    const SampledPlan one = SampleWith(seed);
    const SampledPlan other = SampleWith(seed);
    ASSERT_EQ(TextOf(one.plan), TextOf(other.plan)) << SeedText(seed);
    ASSERT_EQ(TextOf(one.tables), TextOf(other.tables)) << SeedText(seed);
  }
}

TEST(PlanSamplesTest, PlansAreAllowedAndHaveOneAnswer) {
  for (uint64_t seed = Seed(); seed < Seed() + 200; ++seed) {
    const SampledPlan sample = SampleWith(seed);
    const auto answer = Interpret(sample.plan, sample.tables);
    ASSERT_TRUE(answer.ok()) << answer.status() << "\n" << TextOf(sample.plan) << SeedText(seed);
    EXPECT_TRUE(answer->notes.determined) << TextOf(sample.plan) << SeedText(seed);
    EXPECT_LE(answer->rows.size(), kSampleResultMax);
  }
}

// An engine's rows come in any order, and limits take what comes first.
TEST(PlanSamplesTest, AnswersAgreeWithThemselvesInAnyOrder) {
  for (uint64_t seed = Seed(); seed < Seed() + 200; ++seed) {
    const SampledPlan sample = SampleWith(seed);
    const auto answer = Interpret(sample.plan, sample.tables);
    ASSERT_TRUE(answer.ok()) << SeedText(seed);
    SampledPlan turned = sample;
    for (auto& [name, table] : turned.tables) std::reverse(table.rows.begin(), table.rows.end());
    const auto rows = RunWithFault(turned.plan, turned.tables, PlanFault::kNone);
    ASSERT_EQ(Differs(*answer, rows), "")
        << TextOf(sample.plan) << TextOf(sample.tables) << TextOf(*answer) << SeedText(seed);
  }
}

// With seeds that stay the same: how often a fault meets a plan that shows it is a matter of
// chance.
TEST(PlanSamplesTest, RandomPlansFindPlantedFaults) {
  std::set<PlanFault> found;
  std::set<size_t> kinds;
  uint64_t with_rows = 0;
  constexpr uint64_t kPlans = 400;
  for (uint64_t seed = 1; seed <= kPlans; ++seed) {
    const SampledPlan sample = SampleWith(seed);
    const auto answer = Interpret(sample.plan, sample.tables);
    ASSERT_TRUE(answer.ok()) << SeedText(seed);
    with_rows += !answer->rows.empty();
    for (const PlanNode& node : sample.plan.nodes) kinds.insert(node.index());
    for (uint8_t i = 1; i < static_cast<uint8_t>(PlanFault::kEnd); ++i) {
      const auto fault = static_cast<PlanFault>(i);
      if (found.count(fault) > 0) continue;
      const auto rows = RunWithFault(sample.plan, sample.tables, fault);
      if (!Differs(*answer, rows).empty()) found.insert(fault);
    }
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<PlanNode>);
  EXPECT_GT(with_rows, kPlans / 2);
  EXPECT_GE(found.size(), static_cast<size_t>(PlanFault::kEnd) * 3 / 4);
}

}  // namespace
}  // namespace eris::test
