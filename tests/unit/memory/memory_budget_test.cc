#include "memory/system/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace eris::memory {
namespace {

TEST(MemoryBudgetTest, GivesUpToTheLimitAndNotAByteMore) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.TryTake(60));
  EXPECT_FALSE(budget.TryTake(41));
  EXPECT_EQ(budget.taken_bytes(), 60u);
  EXPECT_TRUE(budget.TryTake(40));
  EXPECT_FALSE(budget.TryTake(1));
  EXPECT_TRUE(budget.TryTake(0));
  budget.Return(100);
  EXPECT_EQ(budget.taken_bytes(), 0u);
  EXPECT_EQ(budget.limit_bytes(), 100u);
}

TEST(MemoryBudgetTest, HugeRequestDoesNotWrapAround) {
  MemoryBudget budget(100);
  ASSERT_TRUE(budget.TryTake(50));
  EXPECT_FALSE(budget.TryTake(std::numeric_limits<uint64_t>::max()));
  EXPECT_FALSE(budget.TryTake(std::numeric_limits<uint64_t>::max() - 49));
  EXPECT_EQ(budget.taken_bytes(), 50u);
}

TEST(MemoryBudgetDeathTest, ReturningMoreThanTakenIsCaught) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        MemoryBudget budget(100);
        budget.Return(1);
      },
      "check failed");
}

TEST(MemoryBudgetTest, ThreadsTogetherNeverPassTheLimit) {
  constexpr uint64_t kLimit = 10;
  MemoryBudget budget(kLimit);
  std::atomic<uint64_t> held{0};
  std::atomic<bool> passed{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20000; ++turn) {
        if (!budget.TryTake(4)) continue;
        if (held.fetch_add(4) + 4 > kLimit) passed = true;
        held.fetch_sub(4);
        budget.Return(4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(passed);
  EXPECT_EQ(budget.taken_bytes(), 0u);
}

}  // namespace
}  // namespace eris::memory
