// What a hostile reader of the memory core has tried: spans that hide, herds, figures read in the
// middle of a change.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "memory/memory_manager.h"
#include "tests/unit/memory/memory_fixture.h"

namespace eris::memory {
namespace {

const SuperblockLayout kLayout(kSuperblockBytes);

// The largest block of which one fills a span.
constexpr size_t SpanFillingBytes() {
  size_t bytes = 0;
  for (size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    if (RunSpans(size_class) == 1) bytes = std::max(bytes, SizeClassBytes(size_class));
  }
  return bytes;
}
constexpr size_t kSpanFilling = SpanFillingBytes();
static_assert(kSpanFilling > kSpanBytes / 2 && kSpanFilling <= kSpanBytes);

// One block of each superblock that the object has.
std::vector<void*> OneOfEach(const std::vector<void*>& blocks) {
  std::map<void*, void*> by_superblock;
  for (void* block : blocks) by_superblock[kLayout.Base(block)] = block;
  std::vector<void*> ones;
  for (const auto& [superblock, block] : by_superblock) ones.push_back(block);
  return ones;
}

// The span beside a superblock's header serves small blocks alone. Superblocks that have no other
// must not stand before those that have.
TEST(MemoryAttackTest, EveryFreeSpanIsFoundAtTheLimit) {
  constexpr size_t kSuperblocks = 40;
  MemoryBudget budget(kSuperblocks * kSuperblockBytes);
  NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget);
  MemoryManager manager(ObjectId{1}, pool);
  LocalCache* cache = manager.NewCache();
  std::vector<void*> blocks;
  while (void* block = cache->Allocate(kSpanFilling)) blocks.push_back(block);
  const std::vector<void*> freed = OneOfEach(blocks);
  ASSERT_EQ(freed.size(), kSuperblocks);
  for (void* block : freed) cache->Free(block, kSpanFilling);
  cache->Trim();
  size_t again = 0;
  while (cache->Allocate(kSpanFilling) != nullptr) ++again;
  EXPECT_EQ(again, freed.size()) << "free spans were not found";
}

TEST(MemoryAttackTest, FreeSpansAreUsedBeforeAnotherSuperblockIsTaken) {
  constexpr size_t kSuperblocks = 40;
  MemoryBudget budget(2 * kSuperblocks * kSuperblockBytes);
  NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget);
  MemoryManager manager(ObjectId{1}, pool);
  LocalCache* cache = manager.NewCache();
  constexpr size_t kInSuperblock = kSuperblockBytes / kSpanBytes - 1;
  std::vector<void*> blocks;
  while (blocks.size() < kSuperblocks * kInSuperblock) {
    blocks.push_back(cache->Allocate(kSpanFilling));
  }
  const uint64_t full_bytes = manager.reserved_bytes();
  const std::vector<void*> freed = OneOfEach(blocks);
  for (void* block : freed) cache->Free(block, kSpanFilling);
  cache->Trim();
  for (size_t i = 0; i < freed.size(); ++i) ASSERT_NE(cache->Allocate(kSpanFilling), nullptr);
  EXPECT_EQ(manager.reserved_bytes(), full_bytes);
}

// All AEUs of a NumaNode get their first partition of an object at about the same time.
TEST(MemoryAttackTest, CachesThatBeginTogetherShareASuperblock) {
  constexpr int kCaches = 8;
  constexpr int kRounds = 10;
  uint64_t most_bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    MemoryBudget budget(kPlenty);
    NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget);
    MemoryManager manager(ObjectId{1}, pool);
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kCaches; ++i) {
      threads.emplace_back([&] {
        LocalCache* cache = manager.NewCache();
        ready.fetch_add(1);
        while (ready.load() < kCaches) std::this_thread::yield();
        if (cache->Allocate(64) == nullptr) ADD_FAILURE() << "no memory";
      });
    }
    for (std::thread& thread : threads) thread.join();
    most_bytes = std::max(most_bytes, manager.reserved_bytes());
  }
  EXPECT_EQ(most_bytes, kSuperblockBytes);
}

// Figures may be a little late, but not 2^64 less something.
TEST(MemoryAttackTest, FiguresReadWhileTheOwnerWorksAreNeverNegative) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget);
  MemoryManager manager(ObjectId{1}, pool);
  LocalCache* cache = manager.NewCache();
  std::atomic<bool> stop{false};
  std::thread owner([&] {
    while (!stop.load()) {
      void* block = cache->Allocate(64);
      cache->Free(block, 64);
      cache->Trim();
    }
  });
  uint64_t most = 0;
  uint64_t most_blocks = 0;
  for (int i = 0; i < 20'000; ++i) {
    const ObjectAccount account = manager.Account();
    most = std::max({most, account.used_bytes, cache->used_bytes()});
    most_blocks = std::max(most_blocks, account.classes[SizeClassOf(64)].used_blocks);
  }
  stop.store(true);
  owner.join();
  EXPECT_LT(most, kPlenty);
  EXPECT_LT(most_blocks, kPlenty);
}

// A keeper that cannot get away from one pool looks after no other.
TEST(MemoryAttackTest, MaintainMakesABoundedPieceReadyAndSaysThatThereIsMore) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget, {.ready_superblocks_max = 12});
  std::vector<void*> taken;
  for (int i = 0; i < 12; ++i) taken.push_back(pool.TakeSuperblock());
  EXPECT_EQ(pool.Maintain(false), NumaNodePool::Work::kNow);
  EXPECT_EQ(pool.figures().ready_bytes, 8 * kSuperblockBytes);
  EXPECT_EQ(pool.Maintain(false), NumaNodePool::Work::kWithTheNextTick);
  EXPECT_EQ(pool.figures().ready_bytes, 12 * kSuperblockBytes);
  for (void* superblock : taken) pool.ReturnSuperblock(superblock);
}

class NoKeeper final : public PoolKeeper {
 public:
  void Wake(bool) override {}
};

// Pages that the system does not take back, as those of a program that has locked its memory.
TEST(MemoryAttackTest, PagesThatCannotBeGivenBackKeepNoKeeperBusy) {
  constexpr size_t kSuperblocks = 70;
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget, {.kept_bytes_max = 0});
  NoKeeper keeper;
  pool.SetKeeper(&keeper);
  std::vector<void*> taken;
  while (taken.size() < kSuperblocks) {
    taken.push_back(pool.TakeSuperblock());
    ASSERT_NE(taken.back(), nullptr);
  }
  for (void* one : taken) {
    // Not by the C library's name: sanitizers make nothing of that.
    if (syscall(SYS_mlock, one, kSuperblockBytes) == 0) continue;
    for (void* superblock : taken) {
      syscall(SYS_munlock, superblock, kSuperblockBytes);
      pool.ReturnSuperblock(superblock);
    }
    GTEST_SKIP() << "the system locks no " << kSuperblocks * kSuperblockBytes << " bytes for us";
  }
  for (void* superblock : taken) pool.ReturnSuperblock(superblock);
  auto work = NumaNodePool::Work::kNow;
  for (int i = 0; i < 20 && work == NumaNodePool::Work::kNow; ++i) work = pool.Maintain(false);
  EXPECT_NE(work, NumaNodePool::Work::kNow) << "it would go on for ever";
  EXPECT_EQ(budget.taken_bytes(), kSuperblocks * kSuperblockBytes);
  for (void* superblock : taken) syscall(SYS_munlock, superblock, kSuperblockBytes);
  while (budget.taken_bytes() > 0) (void)pool.Maintain(true);
}

TEST(MemoryAttackTest, ARefusalWakesNoKeeper) {
  class Counts final : public PoolKeeper {
   public:
    void Wake(bool) override { ++wakes; }
    int wakes = 0;
  } keeper;
  MemoryBudget budget(kSuperblockBytes);
  NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget);
  pool.SetKeeper(&keeper);
  void* superblock = pool.TakeSuperblock();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pool.TakeSuperblock(), nullptr);
  EXPECT_EQ(keeper.wakes, 0);
  pool.ReturnSuperblock(superblock);
}

}  // namespace
}  // namespace eris::memory
