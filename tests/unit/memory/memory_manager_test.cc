#include "memory/memory_manager.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/memory/memory_fixture.h"

namespace eris::memory {
namespace {

// A block that takes a span for itself.
constexpr size_t kWholeSpan = 65 * 1024;
const SuperblockLayout kManagerLayout(kSuperblockBytes);

class MemoryManagerTest : public testing::Test {
 protected:
  MemoryBudget budget_{8 * kSuperblockBytes};
  NumaNodePool pool_{topology::NumaNode{.id = NumaNodeId{2}}, /*bind=*/false, budget_};
};

TEST_F(MemoryManagerTest, KnowsItsObjectAndNumaNodeAndHoldsNothingAtFirst) {
  MemoryManager manager(ObjectId{7}, pool_);
  EXPECT_EQ(manager.object().value, 7u);
  EXPECT_EQ(manager.numa_node().value, 2u);
  EXPECT_NE(manager.NewCache(), nullptr);
  EXPECT_EQ(manager.reserved_bytes(), 0u);
  EXPECT_TRUE(AddsUp(manager.Account()));
}

TEST_F(MemoryManagerTest, CachesThatHoldLittleShareASuperblock) {
  MemoryManager manager(ObjectId{1}, pool_);
  std::set<void*> superblocks;
  for (int i = 0; i < 20; ++i) {
    LocalCache* cache = manager.NewCache();
    ASSERT_NE(cache, nullptr);
    superblocks.insert(kManagerLayout.Base(cache->Allocate(64)));
  }
  EXPECT_EQ(superblocks.size(), 1u);
  EXPECT_EQ(manager.reserved_bytes(), kSuperblockBytes);
}

TEST_F(MemoryManagerTest, CachesThatHoldMuchHaveSuperblocksOfTheirOwn) {
  MemoryManager manager(ObjectId{1}, pool_);
  LocalCache* one = manager.NewCache();
  LocalCache* other = manager.NewCache();
  std::set<void*> ones, others;
  for (int i = 0; i < 80 * 1024; ++i) {  // 80 spans each
    ones.insert(kManagerLayout.Base(one->Allocate(64)));
    others.insert(kManagerLayout.Base(other->Allocate(64)));
  }
  std::set<void*> both;
  for (void* superblock : ones) {
    if (others.count(superblock) > 0) both.insert(superblock);
  }
  // Those that they began in.
  EXPECT_EQ(both.size(), (2 * kSharedSpansMax * kSpanBytes - 1) / kSuperblockBytes + 1);
  EXPECT_GT(ones.size(), both.size());
  EXPECT_EQ(ones.size() + others.size() - both.size(), manager.reserved_bytes() / kSuperblockBytes);
}

TEST_F(MemoryManagerTest, AtTheLimitACacheGetsSpansOfOthersSuperblocks) {
  MemoryManager manager(ObjectId{1}, pool_);
  LocalCache* one = manager.NewCache();
  LocalCache* other = manager.NewCache();
  while (one->Allocate(64) != nullptr) {
  }
  // `one` has everything. What it frees serves the other, wherever it lies.
  EXPECT_EQ(other->Allocate(64), nullptr);
  EXPECT_EQ(manager.reserved_bytes(), 8 * kSuperblockBytes);
  MemoryManager second(ObjectId{2}, pool_);
  EXPECT_EQ(second.NewCache()->Allocate(64), nullptr);
}

TEST_F(MemoryManagerTest, FreedSpansServeOtherCachesAndWholeSuperblocksGoBack) {
  MemoryManager manager(ObjectId{1}, pool_);
  LocalCache* one = manager.NewCache();
  LocalCache* other = manager.NewCache();
  std::vector<void*> blocks;
  while (void* block = one->Allocate(1024)) blocks.push_back(block);
  for (void* block : blocks) one->Free(block, 1024);
  one->Trim();
  EXPECT_EQ(manager.reserved_bytes(), 0u);
  EXPECT_EQ(pool_.in_use_bytes(), 0u);
  EXPECT_NE(other->Allocate(1024), nullptr);
}

TEST_F(MemoryManagerTest, EndGivesEverySuperblockAndExtentBackWhateverIsInThem) {
  {
    MemoryManager manager(ObjectId{1}, pool_);
    LocalCache* cache = manager.NewCache();
    for (int i = 0; i < 3000; ++i) ASSERT_NE(cache->Allocate(1024), nullptr);
    ASSERT_NE(cache->Allocate(kSuperblockBytes), nullptr);
    EXPECT_GT(pool_.in_use_bytes(), 2 * kSuperblockBytes);
  }
  EXPECT_EQ(pool_.in_use_bytes(), 0u);
}

TEST_F(MemoryManagerTest, ExtentsAreAccountedInWholeSuperblocks) {
  MemoryManager manager(ObjectId{1}, pool_);
  LocalCache* cache = manager.NewCache();
  void* extent = cache->Allocate(kSuperblockBytes + 1);
  ASSERT_NE(extent, nullptr);
  std::memset(extent, 1, 2 * kSuperblockBytes);
  EXPECT_EQ(manager.reserved_bytes(), 2 * kSuperblockBytes);
  EXPECT_EQ(manager.Account().extent_bytes, 2 * kSuperblockBytes);
  EXPECT_EQ(cache->used_bytes(), 2 * kSuperblockBytes);
  cache->Free(extent, kSuperblockBytes + 1);
  EXPECT_EQ(manager.reserved_bytes(), 0u);
  EXPECT_EQ(cache->used_bytes(), 0u);
  EXPECT_EQ(budget_.taken_bytes(), 0u);
}

TEST_F(MemoryManagerTest, AFullPoolSpillsToTheNearestThatIsNot) {
  MemoryBudget plenty(kPlenty);
  NumaNodePool near(Virtual(0), /*bind=*/false, plenty);
  NumaNodePool far(Virtual(1), /*bind=*/false, plenty);
  near.take_failures().Arm(2, FailurePoint::Mode::kFromThen);  // full after one superblock
  pool_.take_failures().Arm(1, FailurePoint::Mode::kFromThen);
  MemoryManager manager(ObjectId{1}, pool_, {&near, &far});
  LocalCache* cache = manager.NewCache();
  std::vector<void*> blocks;
  for (int i = 0; i < 60; ++i) blocks.push_back(cache->Allocate(kWholeSpan));
  EXPECT_EQ(std::count(blocks.begin(), blocks.end(), nullptr), 0);
  EXPECT_EQ(near.in_use_bytes(), kSuperblockBytes);
  EXPECT_GT(far.in_use_bytes(), kSuperblockBytes);
  EXPECT_EQ(manager.spilled_bytes(), manager.reserved_bytes());
  for (void* block : blocks) cache->Free(block, kWholeSpan);
  cache->Trim();
  // Each went back to the pool that it came from.
  EXPECT_EQ(manager.reserved_bytes(), 0u);
  EXPECT_EQ(manager.spilled_bytes(), 0u);
  EXPECT_EQ(near.figures().kept_bytes, kSuperblockBytes);
  EXPECT_GT(far.figures().kept_bytes, kSuperblockBytes);
}

TEST_F(MemoryManagerTest, RunsOfEveryLengthFitAndDoNotOverlap) {
  MemoryManager manager(ObjectId{1}, pool_);
  LocalCache* cache = manager.NewCache();
  std::vector<std::pair<std::byte*, size_t>> blocks;
  for (size_t spans = 1; spans <= kRunSpansMax; spans += 3) {
    const size_t bytes = spans * kSpanBytes;
    auto* block = static_cast<std::byte*>(cache->Allocate(bytes));
    if (block == nullptr) break;  // the limit
    std::memset(block, static_cast<int>(spans), bytes);
    blocks.emplace_back(block, bytes);
  }
  EXPECT_GE(blocks.size(), 6u);
  for (const auto& [block, bytes] : blocks) {
    EXPECT_EQ(block[0], static_cast<std::byte>(bytes / kSpanBytes));
    EXPECT_EQ(block[bytes - 1], static_cast<std::byte>(bytes / kSpanBytes));
    cache->Free(block, bytes);
  }
  cache->Trim();
  EXPECT_EQ(manager.reserved_bytes(), 0u);
}

TEST_F(MemoryManagerTest, ABlockOfEachClassAloneLeavesNothingBehind) {
  MemoryManager manager(ObjectId{1}, pool_);
  LocalCache* cache = manager.NewCache();
  for (size_t c = 0; c < kSizeClasses; ++c) {
    void* block = cache->Allocate(SizeClassBytes(c));
    ASSERT_NE(block, nullptr) << SizeClassBytes(c);
    EXPECT_EQ(manager.reserved_bytes(), kSuperblockBytes);
    cache->Free(block, SizeClassBytes(c));
    cache->Trim();
    ASSERT_EQ(manager.reserved_bytes(), 0u) << SizeClassBytes(c);
  }
}

TEST_F(MemoryManagerTest, FreeSpansAreFoundBehindSuperblocksThatHaveNoneOfUse) {
  MemoryBudget plenty(64 * kSuperblockBytes);
  NumaNodePool pool(Virtual(0), /*bind=*/false, plenty);
  MemoryManager manager(ObjectId{1}, pool);
  LocalCache* cache = manager.NewCache();
  std::vector<void*> blocks;
  while (void* block = cache->Allocate(kSpanBytes)) blocks.push_back(block);
  // One in each superblock goes; beside their headers something is free all the time.
  std::set<void*> superblocks;
  size_t freed = 0;
  for (void* block : blocks) {
    if (!superblocks.insert(kManagerLayout.Base(block)).second) continue;
    cache->Free(block, kSpanBytes);
    ++freed;
  }
  cache->Trim();
  EXPECT_EQ(freed, 64u);
  for (size_t i = 0; i < freed; ++i) ASSERT_NE(cache->Allocate(kSpanBytes), nullptr) << i;
  EXPECT_EQ(cache->Allocate(kSpanBytes), nullptr);
}

TEST_F(MemoryManagerTest, CachesThatBeginAtOnceShareASuperblock) {
  MemoryManager manager(ObjectId{1}, pool_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&manager] { EXPECT_NE(manager.NewCache()->Allocate(64), nullptr); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(manager.reserved_bytes(), kSuperblockBytes);
}

TEST_F(MemoryManagerTest, InjectedRefusalOfARunLeavesEverythingAsItWas) {
  MemoryManager manager(ObjectId{1}, pool_);
  LocalCache* cache = manager.NewCache();
  manager.run_failures().Arm(1, FailurePoint::Mode::kFromThen);
  EXPECT_EQ(cache->Allocate(64), nullptr);
  EXPECT_EQ(cache->Allocate(kSuperblockBytes), nullptr);
  EXPECT_EQ(manager.reserved_bytes(), 0u);
  manager.run_failures().Arm(0, FailurePoint::Mode::kOnce);
  EXPECT_NE(cache->Allocate(64), nullptr);
}

TEST_F(MemoryManagerTest, ThreadsNeverShareABlock) {
  MemoryBudget plenty(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, plenty);
  MemoryManager manager(ObjectId{1}, pool);
  std::vector<std::vector<void*>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&manager, &mine] {
      LocalCache* cache = manager.NewCache();
      for (int turn = 0; turn < 30000; ++turn) {
        void* block = cache->Allocate(704);
        if (turn % 3 == 0) {
          cache->Free(block, 704);
        } else {
          mine.push_back(block);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<void*> all;
  for (const auto& mine : taken) {
    for (void* block : mine) ASSERT_TRUE(all.insert(block).second);
  }
  const ObjectAccount account = manager.Account();
  EXPECT_TRUE(AddsUp(account));
  EXPECT_EQ(account.used_bytes, all.size() * 704);
}

}  // namespace
}  // namespace eris::memory
