// Superblocks whose pages are to move, and a pool without memory, a kernel that refuses, an object
// that is dropped meanwhile: nothing is lost, nothing is counted twice, and the next attempt works.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "memory/placement_check.h"
#include "tests/unit/memory/superblock_claim_lab.h"
#include "topology/page_location.h"

namespace eris::memory {
namespace {

using Brought = LocalCache::Brought;

class SuperblockRefusalTest : public ClaimLab {
 protected:
  // Superblocks that `there` has, and would bring.
  ClaimBlocks MakeToBring(size_t superblocks) {
    ClaimBlocks blocks = Make(here(), superblocks);
    EXPECT_TRUE(TakeOver(*there().cache, *here().cache, blocks));
    EXPECT_TRUE(there().cache->HasToBring());
    return blocks;
  }
  static Brought Bring(LocalCache& cache, bool wait = false) {
    uint64_t bytes = 0;
    return cache.BringSuperblock(wait, bytes);
  }
  // After a refusal: all is as it was, and another census brings what is left.
  void ExpectTheNextAttemptToWork(Node& node, const ClaimBlocks& blocks, size_t left) {
    ExpectExact(blocks);
    EXPECT_EQ(Broken(blocks), 0u);
    EXPECT_FALSE(node.cache->HasToBring());
    ASSERT_TRUE(node.cache->Claim(Note(*node.cache, blocks)));
    EXPECT_FALSE(node.cache->ClaimsAreOut());
    EXPECT_EQ(BringAll(*node.cache), left);
    ExpectExact(blocks);
    EXPECT_EQ(Remote(*node.cache, blocks), 0u);
    EXPECT_EQ(Broken(blocks), 0u);
    FreeAll(*node.cache, blocks);
    ExpectNothingLeft();
  }
};

TEST_F(SuperblockRefusalTest, WithoutMemoryWhatIsLeftStaysAndComesTheNextTime) {
  const ClaimBlocks blocks = MakeToBring(4);
  EXPECT_EQ(Bring(*there().cache), Brought::kYes);
  there().pool->take_failures().Arm(1, FailurePoint::Mode::kOnce);
  EXPECT_EQ(Bring(*there().cache), Brought::kEnded);
  EXPECT_EQ(there().cache->left_remote(), 3u);
  ExpectTheNextAttemptToWork(there(), blocks, 3);
}

TEST_F(SuperblockRefusalTest, ACacheThatWaitsForMemoryHasTheSameToBringLater) {
  const ClaimBlocks blocks = MakeToBring(3);
  there().pool->take_failures().Arm(2, FailurePoint::Mode::kOnce);
  EXPECT_EQ(Bring(*there().cache, /*wait=*/true), Brought::kYes);
  EXPECT_EQ(Bring(*there().cache, /*wait=*/true), Brought::kLater);
  EXPECT_TRUE(there().cache->HasToBring());
  EXPECT_EQ(there().cache->left_remote(), 0u);
  ExpectExact(blocks);
  EXPECT_EQ(BringAll(*there().cache), 2u);
  ExpectExact(blocks);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockRefusalTest, WhoWaitsTakesOnlyWhatTheKeeperHasMadeReady) {
  class Keeper final : public PoolKeeper {
   public:
    void Wake(bool now) override { urgent += now; }
    int urgent = 0;
  } keeper;
  const ClaimBlocks blocks = MakeToBring(3);
  there().pool->SetKeeper(&keeper);
  EXPECT_EQ(Bring(*there().cache, /*wait=*/true), Brought::kLater);
  EXPECT_EQ(keeper.urgent, 1);
  EXPECT_EQ(there().pool->reserved_bytes(), 0u);
  ExpectExact(blocks);
  (void)there().pool->Maintain(/*tick=*/false);
  EXPECT_GT(there().pool->figures().ready_bytes, 0u);
  ExpectExact(blocks);
  EXPECT_EQ(Bring(*there().cache, /*wait=*/true), Brought::kYes);
  ExpectExact(blocks);
  BringAll(*there().cache);
  FreeAll(*there().cache, blocks);
  Settle();
  there().pool->SetKeeper(nullptr);
  for (int tick = 0; tick < 20; ++tick) (void)there().pool->Maintain(/*tick=*/true);
  ExpectNothingLeft();
}

TEST_F(SuperblockRefusalTest, AtTheLimitNothingIsBroughtAndOneSuperblockMoreIsEnough) {
  Open(2, {}, 6 * kSuperblockBytes);
  const ClaimBlocks blocks = Make(here(), 4);
  ClaimBlocks own = Make(there(), 2);
  ASSERT_TRUE(TakeOver(*there().cache, *here().cache, blocks));
  EXPECT_EQ(budget_->taken_bytes(), budget_->limit_bytes());
  EXPECT_EQ(Bring(*there().cache), Brought::kEnded);
  ClaimBlocks all = blocks;
  all.insert(all.end(), own.begin(), own.end());
  ExpectExact(all);
  EXPECT_EQ(Broken(all), 0u);
  // The one that is returned is kept, and serves.
  const std::byte* const last = Base(own.back());
  const ClaimBlocks of_last = In(own, last);
  std::erase_if(own, [&](const ClaimBlock& block) { return Base(block) == last; });
  FreeAll(*there().cache, of_last);
  there().cache->Trim();
  EXPECT_EQ(there().pool->figures().kept_bytes, kSuperblockBytes);
  ASSERT_TRUE(there().cache->Claim(Note(*there().cache, blocks)));
  EXPECT_EQ(BringAll(*there().cache), 4u);
  EXPECT_EQ(budget_->taken_bytes(), Bytes(5));
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(*there().cache, blocks);
  FreeAll(*there().cache, own);
  ExpectNothingLeft();
}

// Near the limit a cache takes spans of any superblock.
TEST_F(SuperblockRefusalTest, ASuperblockOfWhichANeighbourHasTakenASpanStays) {
  LocalCache& neighbour = *NewCache(there());
  ClaimBlocks blocks = MakeToBring(2);
  there().pool->take_failures().Arm(1, FailurePoint::Mode::kFromThen);
  blocks.push_back(Allocate(neighbour, 60000));
  there().pool->take_failures().Arm(0, FailurePoint::Mode::kOnce);
  const std::byte* const taken = Base(blocks.back());
  ASSERT_TRUE(RangesOf(*here().pool).contains(taken));
  EXPECT_EQ(BringAll(*there().cache), 1u);
  EXPECT_EQ(there().cache->left_remote(), 1u);
  EXPECT_EQ(RangesOf(*here().pool), std::set<const std::byte*>{taken});
  ExpectExact(blocks);
  // The census finds both owners in it, and then one.
  EXPECT_FALSE(there().cache->Claim(Note(*there().cache, blocks)));
  neighbour.Free(blocks.back().memory, blocks.back().bytes);
  neighbour.Trim();
  blocks.pop_back();
  ExpectTheNextAttemptToWork(there(), blocks, 1);
}

TEST_F(SuperblockRefusalTest, AKernelThatRefusesLeavesEverythingAsItWas) {
  const ClaimBlocks blocks = MakeToBring(4);
  EXPECT_EQ(Bring(*there().cache), Brought::kYes);
  there().pool->system(0).move_failures().Arm(1, FailurePoint::Mode::kOnce);
  EXPECT_EQ(Bring(*there().cache), Brought::kEnded);
  EXPECT_EQ(there().pool->moves().ended, 2u) << "and one was refused";
  EXPECT_EQ(there().pool->figures().kept_bytes, Bytes(1)) << "the copy's memory serves again";
  EXPECT_EQ(there().cache->left_remote(), 3u);
  ExpectTheNextAttemptToWork(there(), blocks, 3);
}

TEST_F(SuperblockRefusalTest, AKernelThatRefusesOnTheWayToAThirdPoolOrBackLeavesEverything) {
  for (const uint32_t to : {2u, 0u}) {
    SCOPED_TRACE(to);
    Open(3);
    const ClaimBlocks blocks = MakeToBring(3);
    EXPECT_EQ(BringAll(*there().cache), 3u);
    Node& node = nodes_[to];
    ASSERT_TRUE(TakeOver(*node.cache, *there().cache, blocks));
    EXPECT_EQ(Bring(*node.cache), Brought::kYes);
    node.pool->system(0).move_failures().Arm(1, FailurePoint::Mode::kOnce);
    EXPECT_EQ(Bring(*node.cache), Brought::kEnded);
    ExpectTheNextAttemptToWork(node, blocks, 2);
  }
}

TEST_F(SuperblockRefusalTest, PagesOfAFileAreNotClaimed) {
  Open(2, {.pages = {PageKind::kSharedHuge}});
  const ClaimBlocks blocks = Make(here(), 2);
  EXPECT_FALSE(there().pool->CanMovePages(blocks.front().memory, *here().pool));
  EXPECT_FALSE(there().cache->Claim(Note(*there().cache, blocks)));
  EXPECT_FALSE(there().cache->ClaimsAreOut());
  EXPECT_EQ(there().cache->left_remote(), 2u);
  ExpectExact(blocks);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(*here().cache, blocks);
  ExpectNothingLeft();
}

// Blocks come home one by one, then: the new owner frees them after it has copied them.
TEST_F(SuperblockRefusalTest, BlocksOfAnAdoptedSuperblockCanBeMovedOneByOne) {
  ClaimBlocks blocks = MakeToBring(3);
  there().pool->system(0).move_failures().Arm(1, FailurePoint::Mode::kFromThen);
  EXPECT_EQ(Bring(*there().cache), Brought::kEnded);
  LocalCache& cache = *there().cache;
  for (ClaimBlock& block : blocks) {
    ASSERT_TRUE(cache.IsRemote(block.memory, block.bytes));
    ASSERT_FALSE(cache.IsOthers(block.memory, block.bytes)) << "it is spilled memory now";
    ASSERT_TRUE(block.Holds());
    void* const home = cache.AllocateAtHome(block.bytes);
    ASSERT_NE(home, nullptr);
    cache.Free(block.memory, block.bytes);
    block.memory = static_cast<std::byte*>(home);
    block.Fill();
  }
  cache.Trim();
  ExpectExact(blocks);
  EXPECT_EQ(Remote(cache, blocks), 0u);
  EXPECT_EQ(here().pool->in_use_bytes(), 0u);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockRefusalTest, AddressSpaceThatTheKernelDoesNotMapAgainIsLostWithoutItsPages) {
  const ClaimBlocks blocks = MakeToBring(4);
  const std::set<const std::byte*> bases = Bases(blocks);
  EXPECT_EQ(BringAll(*there().cache), 4u);
  here().pool->system(0).map_failures().Arm(1, FailurePoint::Mode::kOnce);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
  EXPECT_EQ(budget_->taken_bytes(), 0u);
  EXPECT_TRUE(here().pool->Ranges().empty());
  EXPECT_TRUE(there().pool->Ranges().empty());
  for (const std::byte* const base : bases) EXPECT_EQ(ResidentBytes(base, kSuperblockBytes), 0u);
  const ClaimBlocks again = Make(here(), 4);
  ExpectExact(again);
  size_t same = 0;
  for (const std::byte* const base : Bases(again)) same += bases.contains(base);
  EXPECT_EQ(same, 3u);
  FreeAll(*here().cache, again);
  ExpectNothingLeft();
}

// --- an object that is dropped -------------------------------------------------------------------

TEST_F(SuperblockRefusalTest, ADroppedObjectReturnsSuperblocksAtForeignAddresses) {
  Open(3);
  const ClaimBlocks moved = MakeToBring(3);
  EXPECT_EQ(BringAll(*there().cache), 3u);
  const ClaimBlocks further = Make(here(), 2);
  ASSERT_TRUE(TakeOver(*third().cache, *here().cache, further));
  EXPECT_EQ(BringAll(*third().cache), 2u);
  const ClaimBlocks adopted = Make(here(), 2);
  ASSERT_TRUE(TakeOver(*there().cache, *here().cache, adopted));
  const ClaimBlocks own = Make(here(), 1);
  Drop();
  ExpectNothingInUse();
  EXPECT_EQ(here().pool->figures().kept_bytes, Bytes(3));
  EXPECT_EQ(budget_->taken_bytes(), Bytes(3));
  // Another object takes the same address space.
  MemoryManager other(ObjectId{2}, *here().pool);
  LocalCache& cache = *other.NewCache();
  ClaimBlocks others;
  while (other.reserved_bytes() < Bytes(8)) others.push_back(Allocate(cache, 704));
  EXPECT_EQ(Broken(others), 0u);
  FreeAll(cache, others);
}

TEST_F(SuperblockRefusalTest, ADroppedObjectReturnsWhatIsClaimed) {
  const ClaimBlocks blocks = Make(here(), 3);
  ASSERT_TRUE(there().cache->Claim(Note(*there().cache, blocks)));
  Drop();
  ExpectNothingInUse();
}

TEST_F(SuperblockRefusalTest, ADroppedObjectReturnsWhatHasBeenGivenAndIsNotAdopted) {
  const ClaimBlocks blocks = Make(here(), 3);
  ASSERT_TRUE(there().cache->Claim(Note(*there().cache, blocks)));
  Collect(*here().cache);
  Drop();
  ExpectNothingInUse();
  // Or the pool ends the program.
  for (const std::byte* const base : Bases(blocks)) {
    if (here().pool->in_use_bytes() == 0) break;
    here().pool->ReturnSuperblock(const_cast<std::byte*>(base));
  }
}

TEST_F(SuperblockRefusalTest, ADroppedObjectReturnsWhatWasGivenBackOnItsWay) {
  const ClaimBlocks blocks = MakeToBring(2);
  EXPECT_EQ(BringAll(*there().cache), 2u);
  ASSERT_TRUE(here().cache->Claim(Note(*here().cache, blocks)));
  Collect(*there().cache);
  Drop();
  ExpectNothingInUse();
  for (const std::byte* const base : Bases(blocks)) {
    if (there().pool->in_use_bytes() == 0) break;
    there().pool->ReturnSuperblock(const_cast<std::byte*>(base), *here().pool);
  }
}

// --- where the pages are looked for --------------------------------------------------------------

class MovedPlacementTest : public SuperblockRefusalTest {
 protected:
  // The pages of a pool that lie on another NumaNode than `allowed`.
  uint64_t Misplaced(Node& node, uint32_t allowed, std::set<const std::byte*>* examples = nullptr) {
    const std::vector<uint32_t> nodes{allowed};
    const auto check = CheckPlacement(node.pool->Ranges(), nodes, 0, absl::OkStatus);
    EXPECT_TRUE(check.ok()) << check.status();
    if (!check.ok()) return 0;
    for (const LocatedPages& located : check->located) {
      for (const std::byte* const page : located.examples) {
        if (examples != nullptr) {
          examples->insert(static_cast<const std::byte*>(layout().Base(page)));
        }
      }
    }
    return check->other_pages();
  }
};

TEST_F(MovedPlacementTest, MovedPagesAreLookedForInTheirNewPoolAlone) {
  const ClaimBlocks blocks = MakeToBring(3);
  void* const page = blocks[0].memory;
  int32_t numa_node = -1;
  const absl::Status status = topology::LocatePages({&page, 1}, {&numa_node, 1});
  if (!status.ok()) GTEST_SKIP() << "this system does not tell where pages lie: " << status;
  const uint32_t another = static_cast<uint32_t>(numa_node) + 1;
  const uint64_t pages = kSuperblockBytes / kPlacementPageBytes;
  EXPECT_EQ(Misplaced(here(), another), 3 * pages);
  EXPECT_EQ(Misplaced(there(), another), 0u);
  EXPECT_EQ(Bring(*there().cache), Brought::kYes);
  EXPECT_EQ(Misplaced(here(), another), 2 * pages);
  std::set<const std::byte*> examples;
  EXPECT_EQ(Misplaced(there(), another, &examples), pages);
  EXPECT_EQ(examples, RangesOf(*there().pool)) << "told by the address that the pages have now";
  BringAll(*there().cache);
  EXPECT_EQ(Misplaced(here(), another), 0u);
  EXPECT_EQ(Misplaced(there(), another), 3 * pages);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

// Unbound pools, so that every page found would be worth a second look.
TEST_F(MovedPlacementTest, TheCheckLooksAgainWhenPagesHaveMovedMeanwhile) {
  const ClaimBlocks blocks = MakeToBring(3);
  for (Node* const node : {&here(), &there()}) {
    SCOPED_TRACE(node->pool->id().value);
    int looked = 0;
    const auto check = CheckPlacement(*node->pool, 0, [&] {
      EXPECT_EQ(++looked == 1 ? Bring(*there().cache) : Brought::kYes, Brought::kYes);
      return absl::OkStatus();
    });
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_EQ(looked, 2);
    EXPECT_EQ(check->asked, 2 * kSuperblockBytes / kPlacementPageBytes);
  }
  BringAll(*there().cache);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace eris::memory
