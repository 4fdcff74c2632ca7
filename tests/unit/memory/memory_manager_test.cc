#include "memory/memory_manager.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace eris::memory {
namespace {

constexpr size_t kSpansPerSuperblock = kSuperblockBytes / kSpanBytes;

class MemoryManagerTest : public testing::Test {
 protected:
  MemoryBudget budget_{8 * kSuperblockBytes};
  NumaNodePool pool_{topology::NumaNode{.id = NumaNodeId{2}}, /*bind=*/false, budget_};
};

TEST_F(MemoryManagerTest, KnowsItsObjectAndNumaNode) {
  MemoryManager manager(ObjectId{7}, pool_);
  EXPECT_EQ(manager.object().value, 7u);
  EXPECT_EQ(manager.numa_node().value, 2u);
  EXPECT_EQ(manager.reserved_bytes(), 0u);
}

TEST_F(MemoryManagerTest, SpansOfOneSuperblockAreAlignedAndDisjoint) {
  MemoryManager manager(ObjectId{1}, pool_);
  std::set<uintptr_t> spans;
  for (size_t i = 0; i < kSpansPerSuperblock; ++i) {
    void* span = manager.TakeSpan();
    ASSERT_NE(span, nullptr);
    std::memset(span, 1, kSpanBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(span) % kSpanBytes, 0u);
    spans.insert(reinterpret_cast<uintptr_t>(span));
  }
  EXPECT_EQ(spans.size(), kSpansPerSuperblock);
  EXPECT_EQ(*spans.rbegin() - *spans.begin(), kSuperblockBytes - kSpanBytes);
  EXPECT_EQ(manager.reserved_bytes(), kSuperblockBytes);
  EXPECT_NE(manager.TakeSpan(), nullptr);
  EXPECT_EQ(manager.reserved_bytes(), 2 * kSuperblockBytes);
}

TEST_F(MemoryManagerTest, ReturnedSpanIsTakenFirst) {
  MemoryManager manager(ObjectId{1}, pool_);
  void* first = manager.TakeSpan();
  EXPECT_NE(manager.TakeSpan(), nullptr);
  manager.ReturnSpan(first);
  EXPECT_EQ(manager.TakeSpan(), first);
}

TEST_F(MemoryManagerTest, EndGivesEverySuperblockBackToThePool) {
  {
    MemoryManager manager(ObjectId{1}, pool_);
    for (size_t i = 0; i < 3 * kSpansPerSuperblock; ++i) ASSERT_NE(manager.TakeSpan(), nullptr);
    EXPECT_EQ(pool_.in_use_bytes(), 3 * kSuperblockBytes);
  }
  EXPECT_EQ(pool_.in_use_bytes(), 0u);
}

TEST_F(MemoryManagerTest, LimitRefusesAndTheRestGoesOn) {
  MemoryManager manager(ObjectId{1}, pool_);
  std::vector<void*> spans;
  while (void* span = manager.TakeSpan()) spans.push_back(span);
  EXPECT_EQ(spans.size(), 8 * kSpansPerSuperblock);
  EXPECT_EQ(manager.TakeExtent(1), nullptr);
  EXPECT_EQ(manager.reserved_bytes(), 8 * kSuperblockBytes);
  manager.ReturnSpan(spans.back());
  EXPECT_EQ(manager.TakeSpan(), spans.back());
  EXPECT_EQ(manager.TakeSpan(), nullptr);
}

TEST_F(MemoryManagerTest, ExtentsAreAccountedInWholeSuperblocks) {
  MemoryManager manager(ObjectId{1}, pool_);
  void* extent = manager.TakeExtent(kSuperblockBytes + 1);
  ASSERT_NE(extent, nullptr);
  std::memset(extent, 1, 2 * kSuperblockBytes);
  EXPECT_EQ(manager.reserved_bytes(), 2 * kSuperblockBytes);
  manager.ReturnExtent(extent, kSuperblockBytes + 1);
  EXPECT_EQ(manager.reserved_bytes(), 0u);
  EXPECT_EQ(budget_.taken_bytes(), 0u);
}

TEST_F(MemoryManagerTest, ManagersOfOnePoolShareItsLimitAndReuse) {
  auto first = std::make_unique<MemoryManager>(ObjectId{1}, pool_);
  MemoryManager second(ObjectId{2}, pool_);
  while (first->TakeSpan() != nullptr) {
  }
  EXPECT_EQ(second.TakeSpan(), nullptr);
  first.reset();
  EXPECT_NE(second.TakeSpan(), nullptr);
}

TEST_F(MemoryManagerTest, ThreadsNeverShareASpan) {
  MemoryManager manager(ObjectId{1}, pool_);
  std::vector<std::vector<void*>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 500; ++turn) {
        void* span = manager.TakeSpan();
        if (span == nullptr) continue;
        if (turn % 3 == 0) {
          manager.ReturnSpan(span);
        } else if (mine.size() < 60) {
          mine.push_back(span);
        } else {
          manager.ReturnSpan(span);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<void*> all;
  for (const auto& mine : taken) {
    EXPECT_EQ(mine.size(), 60u);
    for (void* span : mine) EXPECT_TRUE(all.insert(span).second);
  }
}

}  // namespace
}  // namespace eris::memory
