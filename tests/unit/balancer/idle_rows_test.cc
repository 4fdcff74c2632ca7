#include "balancer/load/idle_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "balancer/load/imbalance.h"

namespace eris::balancer {
namespace {

constexpr double kThreshold = 0.25;

// Rows in thousands.
BalancePlan PlanOf(const std::vector<uint64_t>& rows, double after = 0) {
  BalancePlan plan;
  std::vector<double> loads;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    plan.shares.push_back({.aeu = AeuId{i}, .rows_before = rows[i] * 1000});
    loads.push_back(static_cast<double>(rows[i]));
  }
  plan.imbalance_before = Imbalance(loads);
  plan.imbalance_after = after;
  plan.transfers.resize(1);
  return plan;
}

// Idle periods until something is wanted, up to `max`.
uint32_t PeriodsUntilDue(IdleRows& idle, PlacedBy placed_by, uint32_t max = 10'000) {
  for (uint32_t period = 1; period <= max; ++period) {
    if (idle.Due(true, 0, placed_by)) return period;
  }
  return 0;
}

TEST(IdleRowsTest, TheRestIsLongerWhereALoadHasChosenAndEndlessWhereAnOperatorHas) {
  IdleRows nobody, load, chosen;
  EXPECT_EQ(PeriodsUntilDue(nobody, PlacedBy::kNobody), 10u);
  EXPECT_EQ(PeriodsUntilDue(load, PlacedBy::kLoad), 600u);
  EXPECT_EQ(PeriodsUntilDue(chosen, PlacedBy::kOperator), 0u);
}

TEST(IdleRowsTest, TheCreatorsBoundariesRestAsLongAsThoseOfALoad) {
  IdleRows idle;
  EXPECT_EQ(PeriodsUntilDue(idle, PlacedBy::kCreator), 600u);
  EXPECT_TRUE(idle.Worth(PlanOf({900, 100}), kThreshold));
  EXPECT_EQ(PeriodsUntilDue(idle, PlacedBy::kCreator), 10u);
}

TEST(IdleRowsTest, EachUseAfterAStepDoublesTheRestUntilRowsStayEven) {
  IdleRows idle;
  uint32_t rest = 10;
  for (int step = 0; step < 10; ++step) {
    ASSERT_EQ(PeriodsUntilDue(idle, PlacedBy::kNobody), rest);
    EXPECT_TRUE(idle.Worth(PlanOf({900, 100}), kThreshold));
    EXPECT_FALSE(idle.Due(false, 0, PlacedBy::kNobody));
    EXPECT_FALSE(idle.Due(false, 0, PlacedBy::kNobody));  // once for each rest
    rest = std::min(2 * rest, 600u);
  }
  ASSERT_EQ(PeriodsUntilDue(idle, PlacedBy::kNobody), 600u);
  EXPECT_FALSE(idle.Worth(PlanOf({500, 500}), kThreshold));
  EXPECT_FALSE(idle.Due(false, 0, PlacedBy::kNobody));
  EXPECT_EQ(PeriodsUntilDue(idle, PlacedBy::kNobody), 10u);
}

TEST(IdleRowsTest, AnAccessBeginsTheRestAnewAndABusyAeuPutsItOff) {
  IdleRows idle;
  EXPECT_EQ(PeriodsUntilDue(idle, PlacedBy::kNobody, 9), 0u);
  EXPECT_FALSE(idle.Due(false, 0, PlacedBy::kNobody));
  EXPECT_EQ(PeriodsUntilDue(idle, PlacedBy::kNobody, 9), 0u);
  EXPECT_FALSE(idle.Due(true, 0.6, PlacedBy::kNobody));
  EXPECT_FALSE(idle.Due(true, 0.6, PlacedBy::kNobody));
  EXPECT_TRUE(idle.Due(true, 0.4, PlacedBy::kNobody));
}

TEST(IdleRowsTest, StepsFollowOneAnotherAsLongAsTheyHelp) {
  IdleRows idle;
  ASSERT_EQ(PeriodsUntilDue(idle, PlacedBy::kLoad), 600u);
  EXPECT_TRUE(idle.Worth(PlanOf({900, 100}), kThreshold));
  // Now it is rows that have placed the boundaries.
  ASSERT_EQ(PeriodsUntilDue(idle, PlacedBy::kLoad), 10u);
  EXPECT_TRUE(idle.Worth(PlanOf({600, 400}), kThreshold));  // 0.2
  ASSERT_EQ(PeriodsUntilDue(idle, PlacedBy::kLoad), 10u);
  EXPECT_FALSE(idle.Worth(PlanOf({590, 410}), kThreshold));  // more than three quarters are left
  EXPECT_EQ(PeriodsUntilDue(idle, PlacedBy::kLoad), 0u);
  EXPECT_FALSE(idle.Due(false, 0, PlacedBy::kLoad));
  EXPECT_EQ(PeriodsUntilDue(idle, PlacedBy::kLoad), 600u);
}

TEST(IdleRowsTest, WhatIsEvenEnoughOrHasFewRowsStays) {
  const auto worth = [](const BalancePlan& plan) { return IdleRows().Worth(plan, kThreshold); };
  EXPECT_FALSE(worth(PlanOf({60, 40})));
  EXPECT_TRUE(worth(PlanOf({600, 300})));
  EXPECT_FALSE(worth(PlanOf({20, 4})));                        // 8,000 rows above the mean
  EXPECT_TRUE(worth(PlanOf({150, 100, 100, 100, 100, 100})));  // the fullest alone
  EXPECT_FALSE(worth(PlanOf({600, 300}, 1)));
  EXPECT_FALSE(worth(PlanOf({0, 0})));
  BalancePlan nothing = PlanOf({600, 300});
  nothing.transfers.clear();
  EXPECT_FALSE(worth(nothing));
}

}  // namespace
}  // namespace eris::balancer
