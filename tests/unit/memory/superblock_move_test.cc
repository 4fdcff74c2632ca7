// Superblocks with an address of one pool and pages of another: there and back, on to a third pool,
// and what their owner does with them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "tests/unit/memory/superblock_claim_lab.h"

namespace eris::memory {
namespace {

class SuperblockMoveTest : public ClaimLab {};

TEST_F(SuperblockMoveTest, BackInItsOwnPoolASuperblockIsAsAnyOther) {
  const ClaimBlocks blocks = Make(here(), 4);
  const std::set<const std::byte*> bases = Bases(blocks);
  Move(there(), here(), blocks);
  ExpectExact(blocks);
  Move(here(), there(), blocks);
  ExpectExact(blocks);
  EXPECT_EQ(RangesOf(*here().pool), bases);
  EXPECT_TRUE(there().pool->Ranges().empty());
  EXPECT_EQ(here().pool->in_use_bytes(), Bytes(4));
  EXPECT_EQ(there().pool->reserved_bytes(), 0u);
  EXPECT_EQ(here().manager->spilled_bytes(), 0u);
  EXPECT_EQ(here().pool->moves().ended, 8u);
  EXPECT_EQ(there().pool->moves().ended, 8u);
  FreeAll(*here().cache, blocks);
  ExpectNothingLeft();
  EXPECT_EQ(here().pool->figures().kept_bytes, Bytes(4)) << "it is kept, as any other";
  // All address space is there again.
  const ClaimBlocks again = Make(here(), 4);
  EXPECT_EQ(Bases(again), bases);
  EXPECT_EQ(Broken(again), 0u);
  FreeAll(*here().cache, again);
  ExpectNothingLeft();
}

TEST_F(SuperblockMoveTest, AddressesThatArePutBackServeAgain) {
  ClaimBlocks blocks = Make(here(), 4);
  const std::set<const std::byte*> bases = Bases(blocks);
  Move(there(), here(), blocks);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
  blocks = Make(here(), 4);
  EXPECT_EQ(Bases(blocks), bases);
  EXPECT_EQ(Remote(*here().cache, blocks), 0u);
  ExpectExact(blocks);
  Move(there(), here(), blocks);
  ExpectExact(blocks);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

class CountingKeeper final : public PoolKeeper {
 public:
  void Wake(bool now) override { calls += now ? 1 : 0; }
  int calls = 0;
};

// The mapping changes on the keeper's thread, or on that of a caller for whom there is no memory.
TEST_F(SuperblockMoveTest, TheKeeperPutsAddressesBack) {
  Open(2, {.ready_superblocks_max = 0});
  for (const bool reclaimed : {false, true}) {
    ClaimBlocks blocks = Make(here(), 40);
    const std::set<const std::byte*> bases = Bases(blocks);
    Move(there(), here(), blocks);
    CountingKeeper keeper;
    there().pool->SetKeeper(&keeper);
    FreeAll(*there().cache, blocks);
    there().cache->Trim();
    EXPECT_GE(keeper.calls, 40);
    EXPECT_EQ(there().pool->in_use_bytes(), 0u);
    EXPECT_EQ(there().pool->reserved_bytes(), Bytes(40));
    EXPECT_EQ(RangesOf(*there().pool), bases);
    if (reclaimed) {
      there().pool->Reclaim(1);
      EXPECT_LT(there().pool->reserved_bytes(), Bytes(40));
      EXPECT_GT(there().pool->reserved_bytes(), 0u) << "no more than is needed, but for a few";
      there().pool->Reclaim(Bytes(40));
    } else {
      uint32_t pieces = 1;
      for (; there().pool->Maintain(/*tick=*/false) == NumaNodePool::Work::kNow; ++pieces) {
      }
      EXPECT_EQ(pieces, 3u);
    }
    there().pool->SetKeeper(nullptr);
    ExpectNothingLeft();
    blocks = Make(here(), 40);
    EXPECT_EQ(Bases(blocks), bases);
    FreeAll(*here().cache, blocks);
    ExpectNothingLeft();
  }
}

TEST_F(SuperblockMoveTest, ASuperblockGoesOnToAThirdPool) {
  Open(3);
  const ClaimBlocks blocks = Make(here(), 4);
  const std::set<const std::byte*> bases = Bases(blocks);
  Move(there(), here(), blocks);
  Move(third(), there(), blocks);
  ExpectExact(blocks);
  EXPECT_EQ(here().pool->in_use_bytes(), 0u);
  EXPECT_EQ(there().pool->in_use_bytes(), 0u);
  EXPECT_EQ(third().pool->in_use_bytes(), Bytes(4));
  EXPECT_EQ(RangesOf(*third().pool), bases);
  EXPECT_EQ(budget_->taken_bytes(), Bytes(4));
  EXPECT_EQ(here().pool->moves().ended, 4u);
  EXPECT_EQ(there().pool->moves().ended, 8u);
  EXPECT_EQ(third().pool->moves().ended, 4u);
  Move(there(), third(), blocks);
  ExpectExact(blocks);
  Move(here(), there(), blocks);
  ExpectExact(blocks);
  EXPECT_EQ(RangesOf(*here().pool), bases);
  FreeAll(*third().cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockMoveTest, ASuperblockIsFreedByTheThirdPoolThatHasIt) {
  Open(3);
  const ClaimBlocks blocks = Make(here(), 2);
  Move(there(), here(), blocks);
  Move(third(), there(), blocks);
  FreeAll(*third().cache, blocks);
  ExpectNothingLeft();
  const ClaimBlocks again = Make(here(), 2);
  EXPECT_EQ(Bases(again), Bases(blocks));
  FreeAll(*here().cache, again);
  ExpectNothingLeft();
}

// A range goes there and comes back before its pages have moved: only the owner changes.
TEST_F(SuperblockMoveTest, ASuperblockWhosePagesAreAtHomeComesBackWithoutAMove) {
  Open(3);
  for (Node* const home : {&here(), &there()}) {
    SCOPED_TRACE(home->pool->id().value);
    Node& other = home == &here() ? there() : third();
    const ClaimBlocks blocks = Make(here(), 3);
    if (home != &here()) Move(*home, here(), blocks);
    ASSERT_TRUE(TakeOver(*other.cache, *home->cache, blocks));
    other.cache->GaveBlocksAway();
    EXPECT_EQ(other.manager->spilled_bytes(), Bytes(3));
    EXPECT_EQ(Remote(*home->cache, blocks), 0u);
    for (const ClaimBlock& block : blocks) {
      ASSERT_TRUE(home->cache->IsElsewhere(block.memory, block.bytes)) << "by its owner";
    }
    ExpectExact(blocks);
    const uint64_t moves = home->pool->moves().ended;
    const uint64_t left = home->cache->left_remote();
    ASSERT_TRUE(TakeOver(*home->cache, *other.cache, blocks));
    EXPECT_FALSE(home->cache->HasToBring());
    EXPECT_EQ(home->cache->left_remote(), left);
    EXPECT_EQ(home->pool->moves().ended, moves);
    EXPECT_EQ(home->manager->spilled_bytes(), 0u);
    EXPECT_EQ(other.manager->reserved_bytes(), 0u);
    for (const ClaimBlock& block : blocks) {
      ASSERT_FALSE(home->cache->IsElsewhere(block.memory, block.bytes));
    }
    ExpectExact(blocks);
    EXPECT_EQ(Broken(blocks), 0u);
    FreeAll(*home->cache, blocks);
    ExpectNothingLeft();
  }
}

TEST_F(SuperblockMoveTest, SpilledSuperblocksComeHomeTheSameWay) {
  here().pool->take_failures().Arm(1, FailurePoint::Mode::kFromThen);
  LocalCache& cache = *here().cache;
  const ClaimBlocks blocks = Make(here(), 4);
  here().pool->take_failures().Arm(0, FailurePoint::Mode::kFromThen);
  EXPECT_EQ(here().manager->spilled_bytes(), Bytes(4));
  EXPECT_EQ(there().pool->in_use_bytes(), Bytes(4));
  EXPECT_EQ(Remote(cache, blocks), blocks.size());
  ExpectExact(blocks);
  // All blocks but one: its superblock stays.
  const std::byte* const impure = Base(blocks.front());
  const std::span<const ClaimBlock> noted = std::span(blocks).subspan(1);
  ASSERT_TRUE(cache.Claim(Note(cache, noted)));
  EXPECT_FALSE(cache.ClaimsAreOut()) << "nobody else is asked";
  EXPECT_EQ(BringAll(cache), 3u);
  EXPECT_EQ(cache.left_remote(), 1u);
  ExpectExact(blocks);
  EXPECT_EQ(here().manager->spilled_bytes(), Bytes(1));
  EXPECT_EQ(RangesOf(*there().pool), std::set<const std::byte*>{impure});
  ASSERT_TRUE(cache.Claim(Note(cache, blocks)));
  EXPECT_EQ(BringAll(cache), 1u);
  ExpectExact(blocks);
  EXPECT_EQ(Remote(cache, blocks), 0u);
  EXPECT_EQ(here().manager->spilled_bytes(), 0u);
  EXPECT_EQ(there().pool->in_use_bytes(), 0u);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

// The caller's part is storage's: it moves blocks from spans that are nearly empty to fuller ones.
TEST_F(SuperblockMoveTest, ScatteredBlocksAtAForeignAddressMoveIntoFewSpansWhenAsked) {
  constexpr size_t kBytes = 704;
  ClaimBlocks blocks, kept;
  for (int i = 0; i < 20000; ++i) blocks.push_back(Allocate(*here().cache, kBytes));
  Move(there(), here(), blocks);
  LocalCache& cache = *there().cache;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % 16 == 0) {
      kept.push_back(blocks[i]);
    } else {
      cache.Free(blocks[i].memory, kBytes);
    }
  }
  cache.Trim();
  const uint64_t before = there().manager->reserved_bytes();
  EXPECT_TRUE(cache.Scattered(kBytes));
  for (size_t i = 0; i < kept.size() && cache.Scattered(kBytes); ++i) {
    void* const moved = cache.AllocateToMove(kept[i].memory, kBytes);
    if (moved == nullptr) continue;
    cache.FreeMoved(kept[i].memory, kBytes);
    kept[i].memory = static_cast<std::byte*>(moved);
    kept[i].Fill();
  }
  cache.Trim();
  EXPECT_FALSE(cache.Scattered(kBytes));
  EXPECT_LE(there().manager->reserved_bytes() * 4, before);
  ExpectExact(kept);
  EXPECT_EQ(Broken(kept), 0u);
  FreeAll(cache, kept);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace eris::memory
