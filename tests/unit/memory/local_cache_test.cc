// Random allocations and frees run against a model that knows every live block: blocks are filled
// with a pattern of their own, so that an overlap shows as a changed byte.
#include "memory/local_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "memory/memory_manager.h"
#include "tests/unit/memory/memory_fixture.h"

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

  void Open(uint64_t limit_bytes, const PoolOptions& options = {}) {
    manager_.reset();
    pool_.reset();
    budget_ = std::make_unique<MemoryBudget>(limit_bytes);
    pool_ = std::make_unique<NumaNodePool>(topology::NumaNode{}, /*bind=*/false, *budget_, options);
    manager_ = std::make_unique<MemoryManager>(ObjectId{1}, *pool_);
    cache_ = manager_->NewCache();
  }

  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<NumaNodePool> pool_;
  std::unique_ptr<MemoryManager> manager_;
  LocalCache* cache_ = nullptr;
};

struct Sizes {
  size_t bytes_max;
  size_t superblock_bytes;
};

class RandomSizesTest : public LocalCacheTest, public testing::WithParamInterface<Sizes> {};

TEST_P(RandomSizesTest, BlocksNeverOverlapAndUseIsExact) {
  const size_t bytes_max = GetParam().bytes_max;
  Open(uint64_t{512} << 20, {.superblock_bytes = GetParam().superblock_bytes});
  constexpr uint64_t kSeed = 20261;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", sizes up to " << bytes_max);
  std::mt19937_64 random(kSeed);
  std::vector<LiveBlock> live;
  uint64_t used = 0;
  const size_t live_max = std::min<size_t>(3000, (size_t{32} << 20) / bytes_max);
  // The largest sizes cost a system call and fresh pages each.
  const int turns = bytes_max <= 100000 ? 20000 : 1000;
  for (int turn = 0; turn < turns; ++turn) {
    // Phases of growth and of decay, so that magazines fill and drain.
    const bool grow =
        live.empty() || (live.size() < live_max && random() % 8 < (turn & 512 ? 3 : 5));
    if (grow) {
      // Mostly small sizes, as everywhere.
      const size_t bytes = 1 + random() % std::max<size_t>(bytes_max >> (random() % 8), 1);
      auto* memory = static_cast<std::byte*>(cache_->Allocate(bytes));
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % AlignmentPromised(bytes), 0u) << bytes;
      live.push_back({memory, bytes, static_cast<std::byte>(random())});
      std::memset(memory, static_cast<int>(live.back().pattern), bytes);
      used += cache_->ClassBytes(bytes);
    } else {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(Holds(live.back())) << "turn " << turn << ", bytes " << live.back().bytes;
      cache_->Free(live.back().memory, live.back().bytes);
      used -= cache_->ClassBytes(live.back().bytes);
      live.pop_back();
    }
    if (random() % 1024 == 0) cache_->Trim();
    if (turn % 16 == 0) {
      ASSERT_EQ(cache_->used_bytes(), used);
      ASSERT_TRUE(AddsUp(manager_->Account()));
    }
  }
  for (const LiveBlock& block : live) {
    ASSERT_TRUE(Holds(block));
    cache_->Free(block.memory, block.bytes);
  }
  EXPECT_EQ(cache_->used_bytes(), 0u);
  cache_->Trim();
  const ObjectAccount account = manager_->Account();
  EXPECT_EQ(manager_->reserved_bytes(), 0u)
      << account.cached_bytes << " cached, " << account.spare_bytes << " spare, "
      << account.extent_bytes << " in extents";
}

INSTANTIATE_TEST_SUITE_P(Sizes, RandomSizesTest,
                         testing::Values(Sizes{64, 2u << 20}, Sizes{300, 2u << 20},
                                         Sizes{1024, 4u << 20}, Sizes{4096, 2u << 20},
                                         Sizes{40000, 2u << 20}, Sizes{100000, 8u << 20},
                                         Sizes{100000, 32u << 20}, Sizes{3000000, 2u << 20}));

TEST_F(LocalCacheTest, ClassBytesIsWhatTheHeaderSays) {
  EXPECT_EQ(cache_->ClassBytes(1), 16u);
  EXPECT_EQ(cache_->ClassBytes(16), 16u);
  EXPECT_EQ(cache_->ClassBytes(17), 32u);
  EXPECT_EQ(cache_->ClassBytes(656), 656u);
  EXPECT_EQ(cache_->ClassBytes(2064), 2112u);
  EXPECT_EQ(cache_->ClassBytes(kClassedBytesMax), kClassedBytesMax);
  EXPECT_EQ(cache_->ClassBytes(kClassedBytesMax + 1), kSuperblockBytes);
}

// No ERIS_DCHECK is behind it, so this holds in a release build as in this one.
TEST_F(LocalCacheTest, NoBytesAreRefusedAndChangeNothing) {
  void* const block = cache_->Allocate(16);
  ASSERT_NE(block, nullptr);
  const uint64_t used = cache_->used_bytes();
  EXPECT_EQ(cache_->Allocate(0), nullptr);
  EXPECT_EQ(cache_->ClassBytes(0), 0u);
  EXPECT_FALSE(cache_->Scattered(0));
  EXPECT_EQ(cache_->used_bytes(), used);
  cache_->Free(block, 16);
}

TEST_F(LocalCacheTest, LastFreedIsAllocatedFirst) {
  void* first = cache_->Allocate(100);
  void* second = cache_->Allocate(100);
  cache_->Free(first, 100);
  cache_->Free(second, 100);
  EXPECT_EQ(cache_->Allocate(112), second);
  EXPECT_EQ(cache_->Allocate(97), first);
}

TEST_F(LocalCacheTest, TheFullestSpanIsUsedFirst) {
  // Three spans of 1 KiB blocks; the second is left nearly full, the others nearly empty.
  const uint32_t per_span = kSpanBytes / 1024;
  std::vector<void*> blocks;
  for (uint32_t i = 0; i < 4 * per_span; ++i) blocks.push_back(cache_->Allocate(1024));
  const SuperblockLayout layout(kSuperblockBytes);
  std::set<size_t> spans;
  for (void* block : blocks) spans.insert(layout.SpanIndex(block));
  ASSERT_GE(spans.size(), 4u);
  const size_t full = *std::next(spans.begin(), 2);
  std::vector<void*> kept;
  uint32_t freed_of_full = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool in_full = layout.SpanIndex(blocks[i]) == full;
    if (in_full ? freed_of_full < 4 : i % 16 != 0) {
      cache_->Free(blocks[i], 1024);
      freed_of_full += in_full;
    } else {
      kept.push_back(blocks[i]);
    }
  }
  cache_->Trim();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(layout.SpanIndex(cache_->Allocate(1024)), full);
}

TEST_F(LocalCacheTest, LimitRefusesWithNothingLeakedAndFreeMakesRoom) {
  Open(2 * kSuperblockBytes);
  std::vector<void*> blocks;
  while (void* block = cache_->Allocate(1024)) blocks.push_back(block);
  // All but the headers.
  EXPECT_EQ(blocks.size(),
            2 * (kSuperblockBytes - SuperblockLayout(kSuperblockBytes).HeaderBytes()) / 1024);
  EXPECT_EQ(cache_->used_bytes(), blocks.size() * 1024);
  EXPECT_EQ(cache_->Allocate(50000), nullptr);
  EXPECT_EQ(cache_->Allocate(5000000), nullptr);
  EXPECT_EQ(cache_->used_bytes(), blocks.size() * 1024);
  EXPECT_EQ(budget_->taken_bytes(), 2 * kSuperblockBytes);
  cache_->Free(blocks.back(), 1024);
  EXPECT_EQ(cache_->Allocate(1024), blocks.back());
  EXPECT_EQ(cache_->Allocate(1024), nullptr);
  // What lies free in magazines of one class serves another, as soon as it is whole spans.
  for (void* block : blocks) cache_->Free(block, 1024);
  EXPECT_NE(cache_->Allocate(500000), nullptr);
  EXPECT_NE(cache_->Allocate(1000000), nullptr);
}

TEST_F(LocalCacheTest, MassFreeGivesSuperblocksBackAfterTrim) {
  std::vector<void*> blocks;
  for (int i = 0; i < 100000; ++i) blocks.push_back(cache_->Allocate(192));
  const uint64_t full = manager_->reserved_bytes();
  EXPECT_FALSE(cache_->TrimWorthwhile());
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(7));
  for (void* block : blocks) cache_->Free(block, 192);
  EXPECT_TRUE(cache_->TrimWorthwhile());
  EXPECT_LE(manager_->reserved_bytes(), full);
  cache_->Trim();
  EXPECT_FALSE(cache_->TrimWorthwhile());
  EXPECT_EQ(manager_->reserved_bytes(), 0u);
}

// The last of them come home after a Trim: too few to make one worthwhile, but for the span that
// they leave empty, and the superblock that it holds.
TEST_F(LocalCacheTest, AnEmptySpanIsWorthATrim) {
  LocalCache* freer = manager_->NewCache();
  ASSERT_NE(freer, nullptr);
  const auto come_home = [&](std::vector<void*>& blocks) {
    for (void* block : blocks) freer->Free(block, 192);
    freer->EndTurn();
    while (cache_->Collect()) {
    }
  };
  std::vector<void*> most, rest;
  for (int i = 0; i < 20000; ++i) most.push_back(cache_->Allocate(192));
  for (int i = 0; i < 400; ++i) rest.push_back(cache_->Allocate(192));
  come_home(most);
  cache_->Trim();
  EXPECT_GT(manager_->reserved_bytes(), 0u);
  EXPECT_FALSE(cache_->TrimWorthwhile());
  come_home(rest);
  EXPECT_TRUE(cache_->TrimWorthwhile());
  cache_->Trim();
  EXPECT_FALSE(cache_->TrimWorthwhile());
  EXPECT_EQ(manager_->reserved_bytes(), 0u);
}

TEST_F(LocalCacheTest, ScatteredBlocksMoveIntoFewSpansWhenAsked) {
  constexpr size_t kBytes = 704;
  std::vector<void*> blocks, kept;
  for (int i = 0; i < 20000; ++i) blocks.push_back(cache_->Allocate(kBytes));
  EXPECT_FALSE(cache_->Scattered(kBytes));
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % 16 == 0) {
      kept.push_back(blocks[i]);
      std::memset(blocks[i], static_cast<int>(i), kBytes);
    } else {
      cache_->Free(blocks[i], kBytes);
    }
  }
  cache_->Trim();
  const uint64_t before = manager_->reserved_bytes();
  EXPECT_TRUE(cache_->Scattered(kBytes));
  EXPECT_FALSE(cache_->Scattered(64));
  for (size_t i = 0; i < kept.size() && cache_->Scattered(kBytes); ++i) {
    void* moved = cache_->AllocateToMove(kept[i], kBytes);
    if (moved == nullptr) continue;
    std::memcpy(moved, kept[i], kBytes);
    cache_->FreeMoved(kept[i], kBytes);
    kept[i] = moved;
  }
  cache_->Trim();
  EXPECT_FALSE(cache_->Scattered(kBytes));
  EXPECT_LE(manager_->reserved_bytes() * 4, before);
  EXPECT_EQ(cache_->used_bytes(), kept.size() * kBytes);
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(static_cast<unsigned char*>(kept[i])[kBytes - 1], static_cast<unsigned char>(i * 16));
  }
}

TEST_F(LocalCacheTest, AnotherCachesBlockIsNotMoved) {
  LocalCache* other = manager_->NewCache();
  void* block = cache_->Allocate(704);
  EXPECT_EQ(other->AllocateToMove(block, 704), nullptr);
}

TEST_F(LocalCacheTest, InjectedFailureBeginsWhereAskedAndStaysUntilSwitchedOff) {
  cache_->FailAllocationsFrom(3);
  EXPECT_NE(cache_->Allocate(16), nullptr);
  EXPECT_NE(cache_->Allocate(100000), nullptr);
  EXPECT_EQ(cache_->Allocate(16), nullptr);
  EXPECT_EQ(cache_->Allocate(3000000), nullptr);
  EXPECT_EQ(cache_->used_bytes(), 16 + cache_->ClassBytes(100000));
  cache_->FailAllocationsFrom(0);
  EXPECT_NE(cache_->Allocate(16), nullptr);
  cache_->ArmFailures(1, FailurePoint::Mode::kOnce);
  EXPECT_EQ(cache_->Allocate(16), nullptr);
  EXPECT_NE(cache_->Allocate(16), nullptr);
}

TEST_F(LocalCacheTest, SmallObjectCostsOneSuperblockAtMost) {
  std::vector<std::unique_ptr<MemoryManager>> managers;
  for (uint32_t object = 0; object < 50; ++object) {
    managers.push_back(std::make_unique<MemoryManager>(ObjectId{object}, *pool_));
    LocalCache* cache = managers.back()->NewCache();
    // Some of every kind of TreeNode.
    for (const size_t bytes : {64, 80, 160, 656, 2064, 2112, 16}) {
      ASSERT_NE(cache->Allocate(bytes), nullptr);
    }
    EXPECT_EQ(managers.back()->reserved_bytes(), kSuperblockBytes);
  }
  EXPECT_EQ(budget_->taken_bytes(), 50 * kSuperblockBytes);
}

TEST_F(LocalCacheTest, FreedElsewhereABlockComesHomeWithCollect) {
  LocalCache* other = manager_->NewCache();
  // More than a carrier holds, so that some leave before the turn's end.
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(cache_->Allocate(64));
  for (void* block : blocks) other->Free(block, 64);
  EXPECT_EQ(manager_->Account().used_bytes, 0u);
  EXPECT_TRUE(AddsUp(manager_->Account()));
  other->EndTurn();
  EXPECT_TRUE(cache_->Collect());
  EXPECT_FALSE(cache_->Collect());
  EXPECT_EQ(manager_->Account().used_bytes, 0u);
  cache_->Trim();
  EXPECT_EQ(manager_->reserved_bytes(), 0u);
}

TEST_F(LocalCacheTest, BlocksOfManyOwnersFindTheirWayAlsoWhenCarriersRunOut) {
  std::mt19937_64 random(11);
  std::vector<LocalCache*> caches{cache_};
  while (caches.size() < 20) caches.push_back(manager_->NewCache());
  struct Owned {
    void* block;
    size_t bytes;
  };
  std::vector<Owned> blocks;
  constexpr size_t kBytes[] = {16, 64, 704, 9000};
  for (int i = 0; i < 120000; ++i) {
    const size_t bytes = kBytes[random() % 100 == 0 ? 3 : random() % 2];
    blocks.push_back({caches[random() % caches.size()]->Allocate(bytes), bytes});
    ASSERT_NE(blocks.back().block, nullptr);
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  // One frees them all, and the others do not look: its carriers are all under way in the end.
  for (const Owned& owned : blocks) caches[0]->Free(owned.block, owned.bytes);
  EXPECT_EQ(manager_->Account().used_bytes, 0u);
  caches[0]->EndTurn();
  for (LocalCache* cache : caches) {
    int pieces = 0;
    while (cache->Collect()) ++pieces;
    EXPECT_EQ(pieces > 0, cache != caches[0]);
    cache->Trim();
  }
  EXPECT_EQ(manager_->reserved_bytes(), 0u);
  // The carriers are home again: the next blocks need no new ones, and all works as before.
  void* block = caches[1]->Allocate(64);
  caches[0]->Free(block, 64);
  caches[0]->EndTurn();
  EXPECT_TRUE(caches[1]->Collect());
}

TEST_F(LocalCacheTest, WhatIsPushedWhileAPieceIsTakenInIsNotForgotten) {
  LocalCache* other = manager_->NewCache();
  const auto free_some = [&](int count) {
    for (int i = 0; i < count; ++i) other->Free(cache_->Allocate(16), 16);
    other->EndTurn();
  };
  free_some(20000);
  EXPECT_TRUE(cache_->Collect());
  EXPECT_TRUE(cache_->CollectsMore());
  free_some(20000);  // the owner is told of these now, and has been told of the rest before
  EXPECT_TRUE(cache_->Collect());
  EXPECT_TRUE(cache_->CollectsMore());
  EXPECT_TRUE(cache_->Collect());
  EXPECT_FALSE(cache_->CollectsMore());
  EXPECT_FALSE(cache_->Collect());
  cache_->Trim();
  EXPECT_EQ(manager_->reserved_bytes(), 0u);
}

class CountingListener final : public RecollectionListener {
 public:
  void BinFilled() override { ++filled; }
  int filled = 0;
};

TEST_F(LocalCacheTest, TheOwnerIsToldWhenItsEmptyBinGetsSomething) {
  CountingListener listener;
  cache_->SetListener(&listener);
  LocalCache* other = manager_->NewCache();
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(cache_->Allocate(64));
  for (int i = 0; i < 299; ++i) other->Free(blocks[static_cast<size_t>(i)], 64);
  other->EndTurn();
  EXPECT_EQ(listener.filled, 1);
  EXPECT_TRUE(cache_->Collect());
  other->Free(blocks.back(), 64);
  EXPECT_EQ(listener.filled, 1);  // not sent yet
  other->EndTurn();
  other->EndTurn();
  EXPECT_EQ(listener.filled, 2);
}

TEST_F(LocalCacheTest, ExtentsMayBeFreedByAnyCache) {
  LocalCache* other = manager_->NewCache();
  void* extent = cache_->Allocate(5 * kSuperblockBytes);
  ASSERT_NE(extent, nullptr);
  other->Free(extent, 5 * kSuperblockBytes);
  EXPECT_EQ(manager_->Account().extent_bytes, 0u);
  EXPECT_EQ(other->used_bytes(), 0u);  // below nothing, and told as nothing
}

TEST_F(LocalCacheTest, ThreadsThatFreeEachOthersBlocksLoseNone) {
  // Each thread allocates, and frees what the thread before it has allocated, as after a link.
  constexpr int kThreads = 3;
  struct Mailbox {
    base::Mutex mu;
    std::vector<LiveBlock> blocks;
  };
  std::vector<Mailbox> mailboxes(kThreads);
  std::vector<LocalCache*> caches{cache_, manager_->NewCache(), manager_->NewCache()};
  std::vector<std::thread> threads;
  std::atomic<int> broken{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(static_cast<uint64_t>(i));
      LocalCache& cache = *caches[static_cast<size_t>(i)];
      constexpr size_t kBytes[] = {16, 64, 192, 704, 2112};
      for (int turn = 0; turn < 300; ++turn) {
        std::vector<LiveBlock> made;
        for (int n = 0; n < 200; ++n) {
          const size_t bytes = kBytes[random() % 5];
          LiveBlock block{static_cast<std::byte*>(cache.Allocate(bytes)), bytes,
                          static_cast<std::byte>(random())};
          if (block.memory == nullptr) continue;
          std::memset(block.memory, static_cast<int>(block.pattern), bytes);
          made.push_back(block);
        }
        {
          base::MutexLock lock(&mailboxes[static_cast<size_t>(i)].mu);
          auto& blocks = mailboxes[static_cast<size_t>(i)].blocks;
          blocks.insert(blocks.end(), made.begin(), made.end());
        }
        std::vector<LiveBlock> got;
        {
          Mailbox& before = mailboxes[static_cast<size_t>((i + 1) % kThreads)];
          base::MutexLock lock(&before.mu);
          got.swap(before.blocks);
        }
        for (const LiveBlock& block : got) {
          if (!Holds(block)) ++broken;
          cache.Free(block.memory, block.bytes);
        }
        cache.EndTurn();
        cache.Collect();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
  for (Mailbox& mailbox : mailboxes) {
    for (const LiveBlock& block : mailbox.blocks) cache_->Free(block.memory, block.bytes);
  }
  cache_->EndTurn();
  EXPECT_EQ(manager_->Account().used_bytes, 0u);
  EXPECT_TRUE(AddsUp(manager_->Account()));
  for (LocalCache* cache : caches) {
    while (cache->Collect()) {
    }
    cache->Trim();
  }
  EXPECT_EQ(manager_->reserved_bytes(), 0u);
}

using LocalCacheDeathTest = LocalCacheTest;

TEST_F(LocalCacheDeathTest, FreeingTwiceIsFoundWhenTheMagazineIsEmptied) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        void* block = cache_->Allocate(64);
        cache_->Free(block, 64);
        cache_->Trim();
        cache_->Free(block, 64);
        cache_->Trim();
      },
      "");
}

TEST_F(LocalCacheDeathTest, NoBytesAreNoSizeOfABlockToFree) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(cache_->Free(cache_->Allocate(16), 0), "bytes != 0");
}

#if defined(ERIS_ASAN)
TEST_F(LocalCacheDeathTest, UseAfterFreeIsReported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        auto* block = static_cast<volatile char*>(cache_->Allocate(64));
        cache_->Free(const_cast<char*>(block), 64);
        block[8] = 1;
      },
      "use-after-poison");
}
#endif

}  // namespace
}  // namespace eris::memory
