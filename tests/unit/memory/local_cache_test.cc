// Random allocations and frees run against a model that knows every live block: blocks are filled
// with a pattern of their own, so that an overlap shows as a changed byte.
#include "memory/local_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace eris::memory {
namespace {

struct LiveBlock {
  std::byte* memory;
  size_t bytes;
  std::byte pattern;
};

bool Holds(const LiveBlock& block) {
  for (size_t i = 0; i < block.bytes; ++i) {
    if (block.memory[i] != block.pattern) return false;
  }
  return true;
}

size_t AlignmentPromised(size_t bytes) { return bytes % 64 == 0 || bytes > 1024 ? 64 : 16; }

class LocalCacheTest : public testing::Test {
 protected:
  LocalCacheTest() { Open(uint64_t{256} << 20); }

  void Open(uint64_t limit_bytes) {
    manager_.reset();
    pool_.reset();
    budget_ = std::make_unique<MemoryBudget>(limit_bytes);
    pool_ = std::make_unique<NumaNodePool>(topology::NumaNode{}, /*bind=*/false, *budget_);
    manager_ = std::make_unique<MemoryManager>(ObjectId{1}, *pool_);
  }

  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<NumaNodePool> pool_;
  std::unique_ptr<MemoryManager> manager_;
};

class RandomSizesTest : public LocalCacheTest, public testing::WithParamInterface<size_t> {};

TEST_P(RandomSizesTest, BlocksNeverOverlapAndUseIsExact) {
  const size_t bytes_max = GetParam();
  constexpr uint64_t kSeed = 20261;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", sizes up to " << bytes_max);
  std::mt19937_64 random(kSeed);
  LocalCache cache(*manager_);
  std::vector<LiveBlock> live;
  uint64_t used = 0;
  const size_t live_max = std::min<size_t>(3000, (size_t{32} << 20) / bytes_max);
  // The largest sizes cost a system call and fresh pages each.
  const int turns = bytes_max <= 100000 ? 20000 : 1000;
  for (int turn = 0; turn < turns; ++turn) {
    // Phases of growth and of decay, so that free lists fill and drain.
    const bool grow =
        live.empty() || (live.size() < live_max && random() % 8 < (turn & 512 ? 3 : 5));
    if (grow) {
      // Mostly small sizes, as everywhere.
      const size_t bytes = 1 + random() % std::max<size_t>(bytes_max >> (random() % 8), 1);
      auto* memory = static_cast<std::byte*>(cache.Allocate(bytes));
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % AlignmentPromised(bytes), 0u) << bytes;
      live.push_back({memory, bytes, static_cast<std::byte>(random())});
      std::memset(memory, static_cast<int>(live.back().pattern), bytes);
      used += LocalCache::ClassBytes(bytes);
    } else {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(Holds(live.back())) << "turn " << turn << ", bytes " << live.back().bytes;
      cache.Free(live.back().memory, live.back().bytes);
      used -= LocalCache::ClassBytes(live.back().bytes);
      live.pop_back();
    }
    ASSERT_EQ(cache.used_bytes(), used);
    ASSERT_LE(used, manager_->reserved_bytes());
  }
  for (const LiveBlock& block : live) {
    ASSERT_TRUE(Holds(block));
    cache.Free(block.memory, block.bytes);
  }
  EXPECT_EQ(cache.used_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RandomSizesTest,
                         testing::Values(64, 300, 1024, 4096, 40000, 100000, 3000000));

TEST_F(LocalCacheTest, ClassBytesIsWhatTheHeaderSays) {
  EXPECT_EQ(LocalCache::ClassBytes(1), 16u);
  EXPECT_EQ(LocalCache::ClassBytes(16), 16u);
  EXPECT_EQ(LocalCache::ClassBytes(17), 32u);
  EXPECT_EQ(LocalCache::ClassBytes(656), 656u);
  EXPECT_EQ(LocalCache::ClassBytes(2064), 2112u);
  EXPECT_EQ(LocalCache::ClassBytes(kSpanBytes / 2), kSpanBytes / 2);
  EXPECT_EQ(LocalCache::ClassBytes(kSpanBytes / 2 + 1), kSpanBytes);
  EXPECT_EQ(LocalCache::ClassBytes(kSpanBytes + 1), kSuperblockBytes);
}

TEST_F(LocalCacheTest, FreedBlockIsReusedByItsClass) {
  LocalCache cache(*manager_);
  void* block = cache.Allocate(100);
  cache.Free(block, 100);
  EXPECT_EQ(cache.Allocate(112), block);
}

TEST_F(LocalCacheTest, SpanIsUsedToTheLastByte) {
  // One superblock, of which all but two spans are gone.
  Open(kSuperblockBytes);
  for (size_t i = 2; i < kSuperblockBytes / kSpanBytes; ++i) {
    ASSERT_NE(manager_->TakeSpan(), nullptr);
  }
  LocalCache cache(*manager_);
  ASSERT_NE(cache.Allocate(16), nullptr);
  ASSERT_NE(cache.Allocate(32768), nullptr);  // skips 48 bytes to a cache line
  ASSERT_NE(cache.Allocate(32768), nullptr);  // the rest is too short: the second span
  // What was skipped and what was left of the first span (32704 bytes) are on the free lists.
  for (const size_t bytes : {48, 30720, 1984, 32768}) {
    ASSERT_NE(cache.Allocate(bytes), nullptr) << bytes;
  }
  EXPECT_EQ(cache.Allocate(16), nullptr);
  EXPECT_EQ(cache.used_bytes(), 2 * kSpanBytes);
}

TEST_F(LocalCacheTest, LimitRefusesWithNothingLeakedAndFreeMakesRoom) {
  Open(2 * kSuperblockBytes);
  LocalCache cache(*manager_);
  std::vector<void*> blocks;
  while (void* block = cache.Allocate(1024)) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), 2 * kSuperblockBytes / 1024);
  EXPECT_EQ(cache.used_bytes(), 2 * kSuperblockBytes);
  EXPECT_EQ(cache.Allocate(50000), nullptr);
  EXPECT_EQ(cache.Allocate(5000000), nullptr);
  EXPECT_EQ(cache.used_bytes(), 2 * kSuperblockBytes);
  EXPECT_EQ(budget_->taken_bytes(), 2 * kSuperblockBytes);
  cache.Free(blocks.back(), 1024);
  EXPECT_EQ(cache.Allocate(1024), blocks.back());
  EXPECT_EQ(cache.Allocate(1024), nullptr);
}

TEST_F(LocalCacheTest, EndReturnsWhatIsStillAllocated) {
  {
    LocalCache cache(*manager_);
    for (int i = 0; i < 1000; ++i) ASSERT_NE(cache.Allocate(2064), nullptr);
    ASSERT_NE(cache.Allocate(kSpanBytes), nullptr);
    ASSERT_NE(cache.Allocate(3 * kSuperblockBytes), nullptr);
  }
  // The spans are back: a second cache needs no new superblock.
  const uint64_t reserved = manager_->reserved_bytes();
  {
    LocalCache cache(*manager_);
    for (int i = 0; i < 1000; ++i) ASSERT_NE(cache.Allocate(2064), nullptr);
    EXPECT_EQ(manager_->reserved_bytes(), reserved);
  }
  manager_.reset();
  EXPECT_EQ(pool_->in_use_bytes(), 0u);
  EXPECT_LE(budget_->taken_bytes(), kKeptSuperblocksMax * kSuperblockBytes);
}

TEST_F(LocalCacheTest, InjectedFailureBeginsWhereAskedAndStaysUntilSwitchedOff) {
  LocalCache cache(*manager_);
  cache.FailAllocationsFrom(3);
  EXPECT_NE(cache.Allocate(16), nullptr);
  EXPECT_NE(cache.Allocate(100000), nullptr);
  EXPECT_EQ(cache.Allocate(16), nullptr);
  EXPECT_EQ(cache.Allocate(100000), nullptr);
  EXPECT_EQ(cache.used_bytes(), 16 + kSuperblockBytes);
  cache.FailAllocationsFrom(0);
  EXPECT_NE(cache.Allocate(16), nullptr);
  cache.FailAllocationsFrom(1);
  EXPECT_EQ(cache.Allocate(16), nullptr);
}

TEST_F(LocalCacheTest, SmallObjectCostsOneSuperblockAtMost) {
  std::vector<std::unique_ptr<MemoryManager>> managers;
  std::vector<std::unique_ptr<LocalCache>> caches;
  for (uint32_t object = 0; object < 100; ++object) {
    managers.push_back(std::make_unique<MemoryManager>(ObjectId{object}, *pool_));
    caches.push_back(std::make_unique<LocalCache>(*managers.back()));
    // Some of every kind of TreeNode.
    for (const size_t bytes : {64, 80, 160, 656, 2064, 2112, 16}) {
      ASSERT_NE(caches.back()->Allocate(bytes), nullptr);
    }
    EXPECT_LE(managers.back()->reserved_bytes(), kSuperblockBytes);
  }
  EXPECT_LE(budget_->taken_bytes(), 100 * kSuperblockBytes);
  caches.clear();
  managers.clear();
  EXPECT_LE(budget_->taken_bytes(), kKeptSuperblocksMax * kSuperblockBytes);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(LocalCacheTest, UseAfterFreeIsReported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        LocalCache cache(*manager_);
        auto* block = static_cast<volatile char*>(cache.Allocate(64));
        cache.Free(const_cast<char*>(block), 64);
        block[8] = 1;
      },
      "use-after-poison");
}
#endif

}  // namespace
}  // namespace eris::memory
