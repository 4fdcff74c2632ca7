#include "memory/numa_node_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/memory/memory_fixture.h"
#include "topology/topology.h"

namespace eris::memory {
namespace {

constexpr auto kLater = NumaNodePool::Work::kWithTheNextTick;
constexpr auto kNothing = NumaNodePool::Work::kNone;

class RecordingKeeper final : public PoolKeeper {
 public:
  void Wake(bool now) override { ++(now ? urgent : wakes); }
  std::atomic<int> wakes{0}, urgent{0};
};

TEST(NumaNodePoolTest, SuperblocksAreAlignedAndAllTheirPagesAreThere) {
  MemoryBudget budget(kPlenty);
  for (const size_t bytes : {kSuperblockBytesMin, 2 * kSuperblockBytesMin, kSuperblockBytesMax}) {
    NumaNodePool pool(Virtual(3), /*bind=*/false, budget, {.superblock_bytes = bytes});
    EXPECT_EQ(pool.id().value, 3u);
    std::set<void*> superblocks;
    for (int i = 0; i < 3; ++i) {
      void* superblock = pool.TakeSuperblock();
      ASSERT_NE(superblock, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(superblock) % bytes, 0u);
      EXPECT_EQ(ResidentBytes(superblock, bytes), bytes);
      std::memset(superblock, i, bytes);
      EXPECT_TRUE(superblocks.insert(superblock).second);
    }
    for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
  }
}

TEST(NumaNodePoolTest, MoreThanARegionOfSuperblocksAreDisjoint) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  std::set<void*> superblocks;
  for (int i = 0; i < 100; ++i) {
    void* superblock = pool.TakeSuperblock();
    ASSERT_NE(superblock, nullptr);
    ASSERT_TRUE(superblocks.insert(superblock).second);
  }
  EXPECT_EQ(pool.Ranges().size(), 100u);
  EXPECT_EQ(ResidentBytes(pool), 100 * kSuperblockBytes);
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
  EXPECT_EQ(pool.figures().kept_bytes, kSuperblockBytes);
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
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget, {.kept_bytes_max = 4 * kSuperblockBytes});
  std::vector<void*> superblocks;
  for (size_t i = 0; i < 9; ++i) superblocks.push_back(pool.TakeSuperblock());
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
  EXPECT_EQ(pool.reserved_bytes(), 4 * kSuperblockBytes);
  EXPECT_EQ(budget.taken_bytes(), 4 * kSuperblockBytes);
  // The oldest went, the newest are kept.
  EXPECT_EQ(ResidentBytes(superblocks.front(), kSuperblockBytes), 0u);
  EXPECT_EQ(ResidentBytes(superblocks.back(), kSuperblockBytes), kSuperblockBytes);
  // What went is zero when it comes again.
  std::vector<void*> again;
  for (size_t i = 0; i < 9; ++i) again.push_back(pool.TakeSuperblock());
  EXPECT_EQ(std::set<void*>(superblocks.begin(), superblocks.end()),
            std::set<void*>(again.begin(), again.end()));
  for (void* superblock : again) pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, KeptSuperblocksGoBackAfterTheirDecay) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget, {.decay_ticks = 3});
  void* first = pool.TakeSuperblock();
  void* second = pool.TakeSuperblock();
  pool.ReturnSuperblock(first);
  EXPECT_EQ(pool.Maintain(/*tick=*/true), kLater);
  pool.ReturnSuperblock(second);
  EXPECT_EQ(pool.Maintain(/*tick=*/true), kLater);
  EXPECT_EQ(pool.Maintain(/*tick=*/false), kLater);  // no time has passed
  EXPECT_EQ(budget.taken_bytes(), 2 * kSuperblockBytes);
  EXPECT_EQ(pool.Maintain(/*tick=*/true), kLater);
  EXPECT_EQ(budget.taken_bytes(), kSuperblockBytes);
  EXPECT_EQ(ResidentBytes(first, kSuperblockBytes), 0u);
  EXPECT_EQ(pool.Maintain(/*tick=*/true), kNothing);
  EXPECT_EQ(budget.taken_bytes(), 0u);
  EXPECT_EQ(ResidentBytes(second, kSuperblockBytes), 0u);
}

TEST(NumaNodePoolTest, ManyTakenInATickMakeTheNextOnesReadyAndCalmGivesThemBack) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget, {.ready_superblocks_max = 6});
  RecordingKeeper keeper;
  pool.SetKeeper(&keeper);
  std::vector<void*> superblocks;
  for (int i = 0; i < 3; ++i) superblocks.push_back(pool.TakeSuperblock());
  EXPECT_EQ(keeper.urgent, 0);  // a few are not worth it
  EXPECT_EQ(pool.Maintain(/*tick=*/false), kLater);
  EXPECT_EQ(pool.figures().ready_bytes, 0u);
  for (int i = 0; i < 7; ++i) superblocks.push_back(pool.TakeSuperblock());
  EXPECT_GT(keeper.urgent, 0);
  EXPECT_EQ(pool.Maintain(/*tick=*/false), kLater);
  EXPECT_EQ(pool.figures().ready_bytes, 6 * kSuperblockBytes);
  EXPECT_EQ(budget.taken_bytes(), 16 * kSuperblockBytes);
  superblocks.push_back(pool.TakeSuperblock());
  EXPECT_EQ(pool.figures().ready_bytes, 5 * kSuperblockBytes);
  EXPECT_EQ(budget.taken_bytes(), 16 * kSuperblockBytes);
  for (int tick = 0; pool.Maintain(/*tick=*/true) != kNothing; ++tick) ASSERT_LT(tick, 20);
  EXPECT_EQ(pool.figures().ready_bytes, 0u);
  EXPECT_EQ(budget.taken_bytes(), 11 * kSuperblockBytes);
  pool.SetKeeper(nullptr);
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, PreparedSuperblocksAreReadyUntilNobodyHasTakenThemForAWhile) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget, {.ready_superblocks_max = 12});
  RecordingKeeper keeper;
  pool.SetKeeper(&keeper);
  pool.Prepare(0);
  EXPECT_EQ(pool.figures().ready_bytes, 0u);
  pool.Prepare(kSuperblockBytes + 1);
  EXPECT_EQ(pool.figures().ready_bytes, 2 * kSuperblockBytes);
  pool.Prepare(kSuperblockBytes);  // they are there
  EXPECT_EQ(pool.figures().ready_bytes, 2 * kSuperblockBytes);
  pool.Prepare(~uint64_t{0});
  EXPECT_EQ(pool.figures().ready_bytes, 12 * kSuperblockBytes);
  EXPECT_GT(keeper.wakes, 0);
  void* const superblock = pool.TakeSuperblock();
  EXPECT_EQ(pool.figures().ready_bytes, 11 * kSuperblockBytes);
  EXPECT_EQ(ResidentBytes(superblock, kSuperblockBytes), kSuperblockBytes);
  pool.ReturnSuperblock(superblock);
  pool.Prepare(~uint64_t{0});
  EXPECT_EQ(pool.figures().ready_bytes, 11 * kSuperblockBytes);  // what is kept serves as well
  for (int tick = 0; pool.Maintain(/*tick=*/true) != kNothing; ++tick) ASSERT_LT(tick, 30);
  EXPECT_EQ(budget.taken_bytes(), 0u);
  pool.SetKeeper(nullptr);
}

TEST(NumaNodePoolTest, NothingIsMadeReadyNearTheLimit) {
  MemoryBudget budget(16 * kSuperblockBytes);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget, {.ready_superblocks_max = 16});
  std::vector<void*> superblocks;
  for (int i = 0; i < 12; ++i) superblocks.push_back(pool.TakeSuperblock());
  pool.Maintain(/*tick=*/false);
  EXPECT_EQ(pool.figures().ready_bytes, 2 * kSuperblockBytes);
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, ReturnedExtentGoesBackToTheSystem) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  void* extent = pool.TakeExtent(5 * kSuperblockBytes);
  ASSERT_NE(extent, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(extent) % kSuperblockBytes, 0u);
  std::memset(extent, 1, 5 * kSuperblockBytes);
  pool.ReturnExtent(extent, 5 * kSuperblockBytes);
  EXPECT_EQ(ResidentBytes(extent, 5 * kSuperblockBytes), 0u);
  EXPECT_EQ(pool.reserved_bytes(), 0u);
}

TEST(NumaNodePoolTest, WithAKeeperExtentsGoBackInItsThread) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  RecordingKeeper keeper;
  pool.SetKeeper(&keeper);
  void* extent = pool.TakeExtent(kSuperblockBytes);
  std::memset(extent, 1, kSuperblockBytes);
  pool.ReturnExtent(extent, kSuperblockBytes);
  EXPECT_EQ(keeper.urgent, 1);
  EXPECT_EQ(budget.taken_bytes(), kSuperblockBytes);
  pool.Maintain(/*tick=*/false);
  EXPECT_EQ(budget.taken_bytes(), 0u);
  EXPECT_EQ(ResidentBytes(extent, kSuperblockBytes), 0u);
  pool.SetKeeper(nullptr);
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
  EXPECT_EQ(ResidentBytes(superblock, kSuperblockBytes), 0u);
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

TEST(NumaNodePoolTest, AtTheLimitWhatAnotherPoolKeepsIsGivenBackFirst) {
  MemoryBudget budget(3 * kSuperblockBytes);
  NumaNodePool one(Virtual(0), /*bind=*/false, budget);
  NumaNodePool other(Virtual(1), /*bind=*/false, budget);
  void* first = one.TakeSuperblock();
  void* second = one.TakeSuperblock();
  one.ReturnSuperblock(first);
  one.ReturnSuperblock(second);
  void* mine = other.TakeSuperblock();
  EXPECT_EQ(budget.taken_bytes(), 3 * kSuperblockBytes);
  void* extent = other.TakeExtent(kSuperblockBytes + 1);  // both of them
  EXPECT_NE(extent, nullptr);
  EXPECT_EQ(one.reserved_bytes(), 0u);
  EXPECT_EQ(budget.taken_bytes(), 3 * kSuperblockBytes);
  other.ReturnExtent(extent, kSuperblockBytes + 1);
  other.ReturnSuperblock(mine);
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

TEST(NumaNodePoolTest, RefusedPagesLeaveNothingBehind) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  pool.system(0).populate_failures().Arm(1, FailurePoint::Mode::kOnce);
  EXPECT_EQ(pool.TakeSuperblock(), nullptr);
  EXPECT_EQ(budget.taken_bytes(), 0u);
  EXPECT_EQ(pool.Ranges().size(), 0u);
  void* superblock = pool.TakeSuperblock();
  EXPECT_NE(superblock, nullptr);
  pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, LittleAddressSpaceMeansASmallerRegion) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  pool.system(0).map_failures().Arm(1, FailurePoint::Mode::kOnce);
  void* superblock = pool.TakeSuperblock();
  ASSERT_NE(superblock, nullptr);
  EXPECT_EQ(pool.figures().mapped_bytes, 16 * kSuperblockBytes);
  pool.ReturnSuperblock(superblock);
  pool.Reclaim(kSuperblockBytes);
  pool.system(0).map_failures().Arm(1, FailurePoint::Mode::kFromThen);
  std::vector<void*> superblocks;
  while (void* one = pool.TakeSuperblock()) superblocks.push_back(one);
  EXPECT_EQ(superblocks.size(), 16u);
  EXPECT_EQ(budget.taken_bytes(), 16 * kSuperblockBytes);
  for (void* one : superblocks) pool.ReturnSuperblock(one);
}

TEST(NumaNodePoolTest, WithoutReservedHugePagesTheNextKindServes) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget,
                    {.pages = {PageKind::kReservedHuge, PageKind::kAnonymousHuge}});
  pool.system(0).populate_failures().Arm(2, FailurePoint::Mode::kFromThen);
  void* first = pool.TakeSuperblock();
  void* second = pool.TakeSuperblock();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  std::memset(first, 1, kSuperblockBytes);
  std::memset(second, 1, kSuperblockBytes);
  EXPECT_LE(pool.figures().reserved_huge_bytes, kSuperblockBytes);  // the machine may have one
  EXPECT_EQ(pool.reserved_bytes(), 2 * kSuperblockBytes);
  pool.ReturnSuperblock(first);
  pool.ReturnSuperblock(second);
  pool.Reclaim(2 * kSuperblockBytes);
  EXPECT_EQ(pool.figures().reserved_huge_bytes, 0u);
}

TEST(NumaNodePoolTest, MemoryFilesServeAsAnonymousMemoryDoes) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget, {.pages = {PageKind::kSharedHuge}});
  void* superblock = pool.TakeSuperblock();
  ASSERT_NE(superblock, nullptr);
  std::memset(superblock, 7, kSuperblockBytes);
  EXPECT_EQ(ResidentBytes(pool), kSuperblockBytes);
  pool.ReturnSuperblock(superblock);
  pool.Reclaim(kSuperblockBytes);
  EXPECT_EQ(ResidentBytes(superblock, kSuperblockBytes), 0u);
  void* again = pool.TakeSuperblock();
  EXPECT_EQ(again, superblock);
  EXPECT_EQ(*static_cast<char*>(again), 0);
  pool.ReturnSuperblock(again);
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
  EXPECT_TRUE(pool.allowed_os_nodes().empty());
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
  EXPECT_EQ(budget.taken_bytes(), 15 * kSuperblockBytes);
}

TEST(NumaNodePoolTest, BoundPoolStopsWhenOthersHaveFilledTheNumaNode) {
  absl::StatusOr<topology::Topology> machine = topology::Topology::Discover();
  ASSERT_TRUE(machine.ok()) << machine.status();
  // As if the machine were so large that what is free now is next to nothing.
  topology::NumaNode large = machine->numa_nodes()[machine->cores()[0].numa_node.value];
  large.memory_bytes *= 64;
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(large, /*bind=*/true, budget);
  void* superblock = pool.TakeSuperblock();
  const absl::Status status = pool.binding_status();
  if (superblock != nullptr && status.ok()) {
    // The binding is known after the first; a node that cannot be asked does not refuse.
    void* second = pool.TakeSuperblock();
    if (second != nullptr) pool.ReturnSuperblock(second);
  }
  if (superblock != nullptr) pool.ReturnSuperblock(superblock);
  if (!status.ok()) GTEST_SKIP() << "the system refuses binding: " << status;
  EXPECT_EQ(superblock, nullptr);
}

TEST(NumaNodePoolTest, AtTheLimitThereIsRoomForWhatIsKept) {
  MemoryBudget budget(4 * kSuperblockBytes);
  NumaNodePool pool(topology::NumaNode{}, /*bind=*/false, budget);
  EXPECT_EQ(pool.RoomBytes(), ~uint64_t{0});
  std::vector<void*> superblocks;
  for (int i = 0; i < 3; ++i) superblocks.push_back(pool.TakeSuperblock());
  EXPECT_EQ(pool.RoomBytes(), ~uint64_t{0});  // one could come, and then another pool has one less
  superblocks.push_back(pool.TakeSuperblock());
  EXPECT_EQ(pool.RoomBytes(), 0u);
  pool.ReturnSuperblock(superblocks.back());  // it is kept, and counts in the limit
  superblocks.pop_back();
  EXPECT_EQ(pool.RoomBytes(), kSuperblockBytes);
  for (void* const superblock : superblocks) pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, RoomOfABoundPoolIsThatOfItsNumaNode) {
  absl::StatusOr<topology::Topology> machine = topology::Topology::Discover();
  ASSERT_TRUE(machine.ok()) << machine.status();
  topology::NumaNode node = machine->numa_nodes()[machine->cores()[0].numa_node.value];
  const uint64_t real_bytes = node.memory_bytes;
  MemoryBudget budget(~uint64_t{0});
  node.memory_bytes = 16 * kSuperblockBytes;
  NumaNodePool small(node, /*bind=*/true, budget);
  void* const superblock = small.TakeSuperblock();
  const absl::Status status = small.binding_status();
  const uint64_t room = small.RoomBytes();
  if (superblock != nullptr) small.ReturnSuperblock(superblock);
  if (!status.ok()) GTEST_SKIP() << "the system refuses binding: " << status;
  EXPECT_EQ(room, 14 * kSuperblockBytes);
  EXPECT_EQ(small.RoomBytes(), 15 * kSuperblockBytes);
  // As if others had filled a larger machine.
  node.memory_bytes = 64 * real_bytes;
  NumaNodePool filled(node, /*bind=*/true, budget);
  EXPECT_EQ(filled.RoomBytes(), 0u);
}

TEST(NumaNodePoolTest, MuchToGiveBackGoesInPieces) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget,
                    {.kept_bytes_max = kPlenty, .decay_ticks = 1, .ready_superblocks_max = 0});
  std::vector<void*> superblocks;
  for (int i = 0; i < 100; ++i) superblocks.push_back(pool.TakeSuperblock());
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
  EXPECT_EQ(pool.Maintain(/*tick=*/true), NumaNodePool::Work::kNow);
  EXPECT_EQ(budget.taken_bytes(), 36 * kSuperblockBytes);
  EXPECT_EQ(pool.Maintain(/*tick=*/false), kNothing);
  EXPECT_EQ(budget.taken_bytes(), 0u);
}

TEST(NumaNodePoolTest, OwnersAreKnownByAddress) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  auto* superblock = static_cast<std::byte*>(pool.TakeSuperblock());
  EXPECT_EQ(pool.owners().Of(superblock), 0u);
  pool.owners().Set(superblock + 3 * kSpanBytes, 7);
  EXPECT_EQ(pool.owners().Of(superblock + 3 * kSpanBytes), 7u);
  EXPECT_EQ(pool.owners().Of(superblock + 4 * kSpanBytes - 1), 7u);
  EXPECT_EQ(pool.owners().Of(superblock + 4 * kSpanBytes), 0u);
  EXPECT_EQ(pool.owners().Of(&budget), 0u);
  pool.ReturnSuperblock(superblock);
}

TEST(NumaNodePoolTest, ExtentsHavePagesAtOnceOrWithTheirFirstTouch) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  void* now = pool.TakeExtent(kSuperblockBytes);
  void* later = pool.TakeExtent(kSuperblockBytes, NumaNodePool::Pages::kOnTouch);
  EXPECT_EQ(ResidentBytes(now, kSuperblockBytes), kSuperblockBytes);
  EXPECT_EQ(ResidentBytes(later, kSuperblockBytes), 0u);
  EXPECT_EQ(budget.taken_bytes(), 2 * kSuperblockBytes);
  pool.system(0).populate_failures().Arm(1, FailurePoint::Mode::kOnce);
  EXPECT_EQ(pool.TakeExtent(kSuperblockBytes), nullptr);
  EXPECT_EQ(budget.taken_bytes(), 2 * kSuperblockBytes);
  pool.ReturnExtent(now, kSuperblockBytes);
  pool.ReturnExtent(later, kSuperblockBytes);
}

TEST(NumaNodePoolTest, InjectedRefusalsComeWhereAsked) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  pool.take_failures().Arm(2, FailurePoint::Mode::kOnce);
  void* first = pool.TakeSuperblock();
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(pool.TakeExtent(1), nullptr);
  void* extent = pool.TakeExtent(1);
  EXPECT_NE(extent, nullptr);
  pool.ReturnExtent(extent, 1);
  pool.ReturnSuperblock(first);
}

TEST(NumaNodePoolTest, ThreadsGetDifferentSuperblocksAndFiguresAddUp) {
  MemoryBudget budget(64 * kSuperblockBytes);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget, {.kept_bytes_max = 8 * kSuperblockBytes});
  std::vector<std::thread> threads;
  std::atomic<int> overlaps{0};
  for (uintptr_t i = 1; i <= 4; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 50; ++turn) {
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
  EXPECT_LE(pool.reserved_bytes(), 8 * kSuperblockBytes);
  EXPECT_EQ(ResidentBytes(pool), pool.reserved_bytes());
}

}  // namespace
}  // namespace eris::memory
