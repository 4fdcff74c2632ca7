#include "memory/numa_node_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "topology/topology.h"

namespace eris::memory {
namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 30;

topology::NumaNode Virtual(uint32_t id) {
  topology::NumaNode numa_node;
  numa_node.id = NumaNodeId{id};
  numa_node.memory_bytes = kPlenty;
  return numa_node;
}

// Whether the system has given the address away: mincore fails with ENOMEM on what is not mapped.
bool IsMapped(void* page) {
  unsigned char resident = 0;
  return mincore(page, 4096, &resident) == 0 || errno != ENOMEM;
}

TEST(NumaNodePoolTest, SuperblocksAreAlignedAndWritable) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(3), /*bind=*/false, budget);
  EXPECT_EQ(pool.id().value, 3u);
  std::set<void*> superblocks;
  for (int i = 0; i < 9; ++i) {
    void* superblock = pool.TakeSuperblock();
    ASSERT_NE(superblock, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(superblock) % kSuperblockBytes, 0u);
    std::memset(superblock, i, kSuperblockBytes);
    EXPECT_TRUE(superblocks.insert(superblock).second);
  }
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, FiguresFollowTakeAndReturn) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  EXPECT_EQ(pool.reserved_bytes(), 0u);
  void* superblock = pool.TakeSuperblock();
  void* extent = pool.TakeExtent(kSuperblockBytes + 1);
  EXPECT_EQ(pool.in_use_bytes(), 3 * kSuperblockBytes);
  EXPECT_EQ(pool.reserved_bytes(), 3 * kSuperblockBytes);
  EXPECT_EQ(budget.taken_bytes(), 3 * kSuperblockBytes);
  pool.ReturnExtent(extent, kSuperblockBytes + 1);
  EXPECT_EQ(budget.taken_bytes(), kSuperblockBytes);
  pool.ReturnSuperblock(superblock);
  EXPECT_EQ(pool.in_use_bytes(), 0u);
  EXPECT_EQ(pool.reserved_bytes(), kSuperblockBytes);  // kept for reuse
}

TEST(NumaNodePoolTest, LastReturnedIsTakenFirst) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  void* first = pool.TakeSuperblock();
  void* second = pool.TakeSuperblock();
  pool.ReturnSuperblock(first);
  pool.ReturnSuperblock(second);
  EXPECT_EQ(pool.TakeSuperblock(), second);
  EXPECT_EQ(pool.TakeSuperblock(), first);
  pool.ReturnSuperblock(first);
  pool.ReturnSuperblock(second);
}

TEST(NumaNodePoolTest, WhatIsBeyondTheKeptOnesGoesBackToTheSystem) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  std::vector<void*> superblocks;
  for (size_t i = 0; i < kKeptSuperblocksMax + 5; ++i) superblocks.push_back(pool.TakeSuperblock());
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
  EXPECT_EQ(pool.reserved_bytes(), kKeptSuperblocksMax * kSuperblockBytes);
  EXPECT_EQ(budget.taken_bytes(), kKeptSuperblocksMax * kSuperblockBytes);
  EXPECT_TRUE(IsMapped(superblocks.front()));
  EXPECT_FALSE(IsMapped(superblocks.back()));
}

TEST(NumaNodePoolTest, ReturnedExtentGoesBackToTheSystem) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  void* extent = pool.TakeExtent(5 * kSuperblockBytes);
  ASSERT_NE(extent, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(extent) % kSuperblockBytes, 0u);
  std::memset(extent, 1, 5 * kSuperblockBytes);
  pool.ReturnExtent(extent, 5 * kSuperblockBytes);
  EXPECT_FALSE(IsMapped(extent));
  EXPECT_EQ(pool.reserved_bytes(), 0u);
}

TEST(NumaNodePoolTest, EndOfThePoolReturnsWhatItKept) {
  MemoryBudget budget(kPlenty);
  void* superblock = nullptr;
  {
    NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
    superblock = pool.TakeSuperblock();
    pool.ReturnSuperblock(superblock);
  }
  EXPECT_EQ(budget.taken_bytes(), 0u);
  EXPECT_FALSE(IsMapped(superblock));
}

TEST(NumaNodePoolTest, LimitRefusesAndChangesNothing) {
  MemoryBudget budget(3 * kSuperblockBytes);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  void* superblock = pool.TakeSuperblock();
  EXPECT_EQ(pool.TakeExtent(3 * kSuperblockBytes), nullptr);
  EXPECT_EQ(pool.in_use_bytes(), kSuperblockBytes);
  EXPECT_EQ(budget.taken_bytes(), kSuperblockBytes);
  void* extent = pool.TakeExtent(2 * kSuperblockBytes);
  EXPECT_NE(extent, nullptr);
  EXPECT_EQ(pool.TakeSuperblock(), nullptr);
  pool.ReturnSuperblock(superblock);
  EXPECT_EQ(pool.TakeSuperblock(), superblock);
  pool.ReturnSuperblock(superblock);
  pool.ReturnExtent(extent, 2 * kSuperblockBytes);
}

TEST(NumaNodePoolTest, RefusalOfTheSystemIsAValue) {
  MemoryBudget budget(UINT64_MAX);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  for (const size_t bytes : {size_t{1} << 62, SIZE_MAX, SIZE_MAX - kSuperblockBytes}) {
    EXPECT_EQ(pool.TakeExtent(bytes), nullptr) << bytes;
  }
  EXPECT_EQ(pool.reserved_bytes(), 0u);
  EXPECT_EQ(budget.taken_bytes(), 0u);
}

TEST(NumaNodePoolTest, RefusedBindingIsKeptAndTheMemoryWorks) {
  MemoryBudget budget(kPlenty);
  topology::NumaNode nowhere = Virtual(0);
  nowhere.os_index = 1022;
  NumaNodePool pool(nowhere, /*bind=*/true, budget);
  EXPECT_TRUE(pool.binding_status().ok());
  void* superblock = pool.TakeSuperblock();
  ASSERT_NE(superblock, nullptr);
  EXPECT_FALSE(pool.binding_status().ok());
  std::memset(superblock, 1, kSuperblockBytes);
  pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, UnboundPoolDoesNotAskTheKernel) {
  MemoryBudget budget(kPlenty);
  topology::NumaNode nowhere = Virtual(0);
  nowhere.os_index = 1022;
  NumaNodePool pool(nowhere, /*bind=*/false, budget);
  pool.ReturnSuperblock(pool.TakeSuperblock());
  EXPECT_TRUE(pool.binding_status().ok());
}

TEST(NumaNodePoolTest, BoundPoolStopsBeforeItsNumaNodeIsFull) {
  absl::StatusOr<topology::Topology> machine = topology::Topology::Discover();
  ASSERT_TRUE(machine.ok()) << machine.status();
  topology::NumaNode small = machine->numa_nodes()[machine->cores()[0].numa_node.value];
  small.memory_bytes = 16 * kSuperblockBytes;
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(small, /*bind=*/true, budget);
  std::vector<void*> superblocks;
  while (superblocks.size() < 16) {
    void* superblock = pool.TakeSuperblock();
    if (superblock == nullptr) break;
    superblocks.push_back(superblock);
  }
  const absl::Status status = pool.binding_status();
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
  if (!status.ok()) GTEST_SKIP() << "the system refuses binding: " << status;
  EXPECT_EQ(superblocks.size(), 15u);
  EXPECT_EQ(budget.taken_bytes(), kKeptSuperblocksMax * kSuperblockBytes);
}

TEST(NumaNodePoolTest, ThreadsGetDifferentSuperblocksAndFiguresAddUp) {
  MemoryBudget budget(64 * kSuperblockBytes);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  std::vector<std::thread> threads;
  std::atomic<int> overlaps{0};
  for (uintptr_t i = 1; i <= 4; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 200; ++turn) {
        std::vector<uintptr_t*> mine;
        for (int j = 0; j < 6; ++j) {
          mine.push_back(static_cast<uintptr_t*>(pool.TakeSuperblock()));
          *mine.back() = i;
        }
        for (uintptr_t* superblock : mine) {
          if (*superblock != i) ++overlaps;
          pool.ReturnSuperblock(superblock);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(pool.in_use_bytes(), 0u);
  EXPECT_EQ(pool.reserved_bytes(), budget.taken_bytes());
  EXPECT_LE(pool.reserved_bytes(), kKeptSuperblocksMax * kSuperblockBytes);
}

}  // namespace
}  // namespace eris::memory
