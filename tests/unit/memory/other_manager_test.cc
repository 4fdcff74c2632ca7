// Caches of two NumaNodes' managers of one object: each frees blocks of the other, none is lost,
// and both accounts stay exact.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "memory/cache_directory.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "memory/system/memory_budget.h"

namespace eris::memory {
namespace {

constexpr size_t kSizes[] = {16, 64, 192, 704, 2112};

class OtherManagerTest : public testing::Test {
 protected:
  struct Node {
    Node(uint32_t id, MemoryBudget& budget, const std::shared_ptr<CacheDirectory>& directory)
        : pool(topology::NumaNode{.id = NumaNodeId{id}}, /*bind=*/false, budget, {}),
          manager(ObjectId{1}, pool, {}, directory),
          cache(*manager.NewCache()) {}
    NumaNodePool pool;
    MemoryManager manager;
    LocalCache& cache;
  };

  void ExpectNothingLeft() {
    for (Node* const node : {&here_, &there_}) {
      node->cache.EndTurn();
    }
    for (Node* const node : {&here_, &there_}) {
      while (node->cache.Collect()) {
      }
      node->cache.Trim();
      const ObjectAccount account = node->manager.Account();
      EXPECT_EQ(account.used_bytes, 0u);
      EXPECT_EQ(account.extent_bytes, 0u);
      EXPECT_EQ(node->manager.reserved_bytes(), 0u);
      EXPECT_EQ(node->cache.used_bytes(), 0u);
    }
  }

  MemoryBudget budget_{uint64_t{512} << 20};
  std::shared_ptr<CacheDirectory> directory_ = std::make_shared<CacheDirectory>();
  Node here_{0, budget_, directory_};
  Node there_{1, budget_, directory_};
};

TEST_F(OtherManagerTest, BlockIsRemoteToTheOtherNumaNodesCachesOnly) {
  LocalCache& neighbour = *here_.manager.NewCache();
  void* const block = here_.cache.Allocate(64);
  EXPECT_FALSE(here_.cache.IsRemote(block, 64));
  EXPECT_FALSE(neighbour.IsRemote(block, 64));
  EXPECT_TRUE(there_.cache.IsRemote(block, 64));
  here_.cache.Free(block, 64);
  constexpr size_t kExtent = 5 << 20;
  void* const extent = here_.cache.Allocate(kExtent);
  EXPECT_FALSE(neighbour.IsRemote(extent, kExtent));
  EXPECT_TRUE(there_.cache.IsRemote(extent, kExtent));
  here_.cache.Free(extent, kExtent);
}

// The first cache of each manager: with numbers of a manager they would have the same.
TEST_F(OtherManagerTest, BlockFreedByTheOtherNumaNodesCacheComesHome) {
  for (const size_t bytes : kSizes) {
    void* const block = here_.cache.Allocate(bytes);
    const uint64_t used = here_.cache.used_bytes();
    there_.cache.Free(block, bytes);
    there_.cache.EndTurn();
    EXPECT_EQ(here_.manager.Account().used_bytes, used) << "counts until it is home";
    EXPECT_EQ(there_.manager.Account().used_bytes, 0u);
    EXPECT_TRUE(here_.cache.Collect());
    EXPECT_EQ(here_.manager.Account().used_bytes, 0u);
    EXPECT_EQ(here_.cache.used_bytes(), 0u);
  }
  ExpectNothingLeft();
}

TEST_F(OtherManagerTest, BlocksWithoutACarrierComeHome) {
  // More than all carriers hold: the rest travels alone.
  constexpr size_t kBlocks = 1024 * 60 + 5000;
  std::vector<void*> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(here_.cache.Allocate(16));
  for (void* const block : blocks) there_.cache.Free(block, 16);
  there_.cache.EndTurn();
  EXPECT_EQ(here_.manager.Account().used_bytes, kBlocks * 16);
  ExpectNothingLeft();
}

TEST_F(OtherManagerTest, ExtentFreedByTheOtherNumaNodesCacheIsReturned) {
  constexpr size_t kBytes = 5 << 20;
  void* const extent = here_.cache.Allocate(kBytes);
  ASSERT_NE(extent, nullptr);
  there_.cache.Free(extent, kBytes);
  EXPECT_EQ(here_.manager.Account().extent_bytes, 0u);
  EXPECT_EQ(here_.manager.reserved_bytes(), 0u);
}

TEST_F(OtherManagerTest, ManagerOfAnotherObjectSharesNothing) {
  MemoryManager other(ObjectId{2}, here_.pool);
  EXPECT_TRUE(here_.manager.SharesCachesWith(there_.manager));
  EXPECT_FALSE(here_.manager.SharesCachesWith(other));
}

TEST_F(OtherManagerTest, CachesOfAllManagersHaveOneLimit) {
  uint32_t made = 2;
  for (MemoryManager* manager : {&here_.manager, &there_.manager}) {
    while (made < (manager == &here_.manager ? kCachesMax / 2 : kCachesMax)) {
      ASSERT_NE(manager->NewCache(), nullptr);
      ++made;
    }
  }
  EXPECT_EQ(here_.manager.NewCache(), nullptr);
  EXPECT_EQ(there_.manager.NewCache(), nullptr);
}

TEST_F(OtherManagerTest, ThreadsOfTwoNumaNodesThatFreeEachOthersBlocksLoseNone) {
  struct Block {
    std::byte* memory;
    size_t bytes;
    std::byte pattern;
  };
  struct Mailbox {
    base::Mutex mu;
    std::vector<Block> blocks;
  };
  std::array<Mailbox, 2> mailboxes;
  std::array<int, 2> broken{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(i);
      LocalCache& cache = (i == 0 ? here_ : there_).cache;
      for (int turn = 0; turn < 300; ++turn) {
        std::vector<Block> made, got;
        for (int n = 0; n < 200; ++n) {
          const size_t bytes = kSizes[random() % std::size(kSizes)];
          Block block{static_cast<std::byte*>(cache.Allocate(bytes)), bytes,
                      static_cast<std::byte>(random())};
          if (block.memory == nullptr) continue;
          std::memset(block.memory, static_cast<int>(block.pattern), bytes);
          made.push_back(block);
        }
        {
          base::MutexLock lock(&mailboxes[i].mu);
          mailboxes[i].blocks.insert(mailboxes[i].blocks.end(), made.begin(), made.end());
        }
        {
          base::MutexLock lock(&mailboxes[1 - i].mu);
          got.swap(mailboxes[1 - i].blocks);
        }
        for (const Block& block : got) {
          broken[i] +=
              block.memory[0] != block.pattern || block.memory[block.bytes - 1] != block.pattern;
          cache.Free(block.memory, block.bytes);
        }
        cache.EndTurn();
        cache.Collect();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken[0] + broken[1], 0);
  for (size_t i = 0; i < 2; ++i) {
    for (const Block& block : mailboxes[i].blocks) here_.cache.Free(block.memory, block.bytes);
  }
  ExpectNothingLeft();
}

}  // namespace
}  // namespace eris::memory
