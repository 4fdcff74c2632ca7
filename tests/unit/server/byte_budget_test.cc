#include "server/guard/byte_budget.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

TEST(ByteBudgetTest, TakesUpToItsLimitAndGivesBack) {
  ByteBudget budget(100);
  auto first = budget.TryTake(60);
  EXPECT_TRUE(first);
  EXPECT_FALSE(budget.TryTake(41));
  {
    auto second = budget.TryTake(40);
    EXPECT_TRUE(second);
    EXPECT_EQ(budget.used(), 100u);
    EXPECT_FALSE(budget.TryTake(1));
  }
  EXPECT_EQ(budget.used(), 60u);
  first = ByteBudget::Charge();
  EXPECT_EQ(budget.used(), 0u);
}

TEST(ByteBudgetTest, LeavesRoomForOthersWhereAsked) {
  ByteBudget budget(100);
  auto held = budget.TryTake(70, 75);
  EXPECT_TRUE(held);
  EXPECT_FALSE(budget.TryTake(6, 75));
  EXPECT_TRUE(budget.TryTake(5, 75));
  const auto other = budget.TryTake(20);
  EXPECT_TRUE(other);
  EXPECT_FALSE(budget.TryTake(0, 75));  // above it already
  held.Shrink(10);
  EXPECT_EQ(held.bytes(), 10u);
  EXPECT_EQ(budget.used(), 30u);
  held.Shrink(10);
  held.Shrink(0);
  EXPECT_EQ(budget.used(), 20u);
}

TEST(ByteBudgetTest, HugeRequestDoesNotWrapAround) {
  ByteBudget budget(100);
  const auto held = budget.TryTake(1);
  EXPECT_FALSE(budget.TryTake(~uint64_t{0}));
}

TEST(ByteBudgetTest, MovedChargeIsGivenBackOnce) {
  ByteBudget budget(100);
  auto first = budget.TryTake(10);
  auto second = std::move(first);
  first = budget.TryTake(5);
  second = ByteBudget::Charge();
  EXPECT_EQ(budget.used(), 5u);
}

TEST(ByteBudgetTest, ThreadsNeverExceedIt) {
  ByteBudget budget(10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const auto charge = budget.TryTake(4);
        ASSERT_LE(budget.used(), 10u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace eris::server
