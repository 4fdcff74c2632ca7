// Superblocks that change hands whole, and whose pages move: what is in them stays as it is, and
// every figure stays exact at each step, whatever happens between two steps.
#include "memory/superblock_claim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/unit/memory/superblock_claim_lab.h"

namespace eris::memory {
namespace {

using Brought = LocalCache::Brought;

class SuperblockClaimTest : public ClaimLab {
 protected:
  static void Remove(ClaimBlocks& blocks, const ClaimBlock& gone) {
    std::erase_if(blocks, [&](const ClaimBlock& block) { return block.memory == gone.memory; });
  }
};

class SuperblockSizesTest : public SuperblockClaimTest,
                            public testing::WithParamInterface<size_t> {};

TEST_P(SuperblockSizesTest, AllOfThemComeWholeAndEveryFigureIsExactAtEachStep) {
  Open(2, {.superblock_bytes = GetParam()});
  constexpr size_t kCount = 6;
  const ClaimBlocks blocks = Make(here(), kCount);
  const std::set<const std::byte*> bases = Bases(blocks);
  ASSERT_EQ(bases.size(), kCount);
  EXPECT_EQ(Remote(*there().cache, blocks), blocks.size());
  ExpectExact(blocks);

  SuperblockCensus census = Note(*there().cache, blocks);
  EXPECT_TRUE(census.Worthwhile());
  EXPECT_FALSE(census.has_extents());
  ASSERT_TRUE(there().cache->Claim(std::move(census)));
  EXPECT_TRUE(there().cache->ClaimsAreOut());
  EXPECT_EQ(here().manager->reserved_bytes(), Bytes(kCount));
  ExpectExact(blocks);
  while (here().cache->Collect()) {  // a few superblocks at a time
  }
  EXPECT_EQ(here().manager->reserved_bytes(), 0u);
  EXPECT_EQ(there().manager->reserved_bytes(), 0u) << "they are on their way";
  EXPECT_EQ(here().pool->in_use_bytes(), Bytes(kCount));
  ExpectExact(blocks);
  EXPECT_FALSE(there().cache->HasToBring());
  while (there().cache->Collect()) {
  }
  EXPECT_FALSE(there().cache->ClaimsAreOut());
  EXPECT_TRUE(there().cache->HasToBring());
  EXPECT_EQ(there().manager->reserved_bytes(), Bytes(kCount));
  EXPECT_EQ(there().manager->spilled_bytes(), Bytes(kCount));
  EXPECT_EQ(Remote(*there().cache, blocks), blocks.size());
  ExpectExact(blocks);

  uint64_t bytes = 0;
  for (size_t brought = 1; brought <= kCount; ++brought) {
    uint64_t one = 0;
    ASSERT_EQ(there().cache->BringSuperblock(/*wait=*/brought % 2 == 0, one), Brought::kYes);
    bytes += one;
    EXPECT_EQ(here().pool->in_use_bytes(), Bytes(kCount - brought));
    EXPECT_EQ(there().pool->in_use_bytes(), Bytes(brought));
    EXPECT_EQ(there().manager->spilled_bytes(), Bytes(kCount - brought));
    EXPECT_EQ(budget_->taken_bytes(), Bytes(kCount));
    EXPECT_EQ(here().pool->moves().ended, brought);
    EXPECT_EQ(there().pool->moves().ended, brought);
    ExpectExact(blocks);
  }
  EXPECT_EQ(bytes, ClassBytes(blocks));
  EXPECT_FALSE(there().cache->HasToBring());
  EXPECT_EQ(there().cache->BringSuperblock(/*wait=*/false, bytes), Brought::kNone);
  EXPECT_EQ(there().cache->left_remote(), 0u);
  EXPECT_EQ(Remote(*there().cache, blocks), 0u);
  EXPECT_EQ(Remote(*here().cache, blocks), blocks.size());
  EXPECT_EQ(Broken(blocks), 0u);
  EXPECT_EQ(RangesOf(*there().pool), bases);
  EXPECT_TRUE(here().pool->Ranges().empty());

  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
  EXPECT_EQ(budget_->taken_bytes(), 0u) << "addresses of another pool are not kept";
  EXPECT_TRUE(there().pool->Ranges().empty());
}

INSTANTIATE_TEST_SUITE_P(Sizes, SuperblockSizesTest,
                         testing::Values(kSuperblockBytesMin, size_t{8} << 20,
                                         kSuperblockBytesMax));

TEST_F(SuperblockClaimTest, TheNewOwnerAllocatesAndFreesInThemBeforeAndAfterTheMove) {
  ClaimBlocks blocks = Make(here(), 4);
  ASSERT_TRUE(TakeOver(*there().cache, *here().cache, blocks));
  for (int turn = 0; turn < 8; ++turn) {
    for (int i = 0; i < 500; ++i) {
      std::swap(blocks[random_() % blocks.size()], blocks.back());
      ASSERT_TRUE(blocks.back().Holds());
      there().cache->Free(blocks.back().memory, blocks.back().bytes);
      blocks.pop_back();
    }
    for (int i = 0; i < 400; ++i) blocks.push_back(Allocate(*there().cache, 192));
    ExpectExact(blocks);
    uint64_t bytes = 0;
    EXPECT_EQ(there().cache->BringSuperblock(/*wait=*/false, bytes),
              turn < 4 ? Brought::kYes : Brought::kNone);
    ExpectExact(blocks);
  }
  EXPECT_EQ(Remote(*there().cache, blocks), 0u);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(*here().cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, ASuperblockWithABlockThatIsNotNotedStays) {
  const ClaimBlocks blocks = Make(here(), 8);
  std::set<const std::byte*> impure;
  ClaimBlocks noted;
  for (const std::byte* const base : Bases(blocks)) {
    const ClaimBlocks in = In(blocks, base);
    const bool leave_one = impure.size() < 3;
    if (leave_one) impure.insert(base);
    noted.insert(noted.end(), in.begin() + leave_one, in.end());
  }
  EXPECT_TRUE(TakeOver(*there().cache, *here().cache, noted));
  EXPECT_EQ(there().cache->left_remote(), impure.size());
  EXPECT_EQ(here().manager->reserved_bytes(), Bytes(impure.size()));
  ExpectExact(blocks);
  EXPECT_EQ(BringAll(*there().cache), 5u);
  ExpectExact(blocks);
  EXPECT_EQ(RangesOf(*here().pool), impure);
  for (const ClaimBlock& block : noted) {
    EXPECT_EQ(there().cache->IsRemote(block.memory, block.bytes), impure.contains(Base(block)));
  }
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, BlocksInMagazinesAndEmptySpansKeepNoSuperblock) {
  ClaimBlocks blocks = Make(here(), 3);
  // Half of them are freed, so the magazines are full.
  for (size_t i = 0; i < blocks.size() / 2; ++i) {
    here().cache->Free(blocks[i].memory, blocks[i].bytes);
  }
  blocks.erase(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(blocks.size() / 2));
  const size_t count = Bases(blocks).size();
  EXPECT_TRUE(TakeOver(*there().cache, *here().cache, blocks));
  EXPECT_EQ(there().cache->left_remote(), 0u);
  EXPECT_EQ(here().manager->reserved_bytes(), 0u);
  EXPECT_EQ(BringAll(*there().cache), count);
  ExpectExact(blocks);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, ASuperblockOfTwoSmallCachesStaysAndOneOfASingleSmallCacheComes) {
  LocalCache& second = *NewCache(here());
  ClaimBlocks first_blocks, second_blocks;
  for (int i = 0; i < 100; ++i) {
    first_blocks.push_back(Allocate(*here().cache, 64));
    second_blocks.push_back(Allocate(second, 64));
  }
  ClaimBlocks both = first_blocks;
  both.insert(both.end(), second_blocks.begin(), second_blocks.end());
  ASSERT_EQ(Bases(both).size(), 1u);
  // The census has met both owners, and asks neither.
  EXPECT_FALSE(there().cache->Claim(Note(*there().cache, both)));
  EXPECT_FALSE(there().cache->ClaimsAreOut());
  EXPECT_EQ(there().cache->left_remote(), 1u);
  // It has met one, which is asked and refuses.
  EXPECT_TRUE(TakeOver(*there().cache, *here().cache, first_blocks));
  EXPECT_FALSE(there().cache->HasToBring());
  EXPECT_EQ(there().cache->left_remote(), 2u);
  ExpectExact(both);
  FreeAll(second, second_blocks);
  second.Trim();
  EXPECT_TRUE(TakeOver(*there().cache, *here().cache, first_blocks));
  EXPECT_EQ(BringAll(*there().cache), 1u);
  EXPECT_EQ(here().manager->reserved_bytes(), 0u);
  ExpectExact(first_blocks);
  // The others share another one from now on.
  first_blocks.push_back(Allocate(*here().cache, 64));
  first_blocks.push_back(Allocate(second, 64));
  EXPECT_EQ(here().manager->reserved_bytes(), Bytes(1));
  ExpectExact(first_blocks);
  FreeAll(*there().cache, first_blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, ManyOwnersAreAskedInOneClaim) {
  std::vector<LocalCache*> owners{here().cache, NewCache(here()), NewCache(here())};
  // Small caches share, so each gets as many spans as make it a large one first.
  ClaimBlocks blocks, first;
  for (LocalCache* const owner : owners) {
    for (size_t i = 0; i < kSharedSpansMax; ++i) first.push_back(Allocate(*owner, 60000));
  }
  for (size_t i = 0; i < owners.size(); ++i) {
    for (const ClaimBlock& block :
         Make(here(), *owners[i], here().manager->reserved_bytes() / Bytes(1) + 3)) {
      blocks.push_back(block);
    }
  }
  std::set<const std::byte*> shared = Bases(first);
  std::erase_if(blocks, [&](const ClaimBlock& block) {
    if (!shared.contains(Base(block))) return false;
    first.push_back(block);
    return true;
  });
  ASSERT_GE(Bases(blocks).size(), 7u);
  ClaimBlocks all = first;
  all.insert(all.end(), blocks.begin(), blocks.end());
  ExpectExact(all);
  EXPECT_TRUE(TakeOver(*there().cache, owners, blocks));
  EXPECT_EQ(there().cache->left_remote(), 0u);
  EXPECT_EQ(BringAll(*there().cache), Bases(blocks).size());
  ExpectExact(all);
  EXPECT_EQ(Broken(all), 0u);
  FreeAll(*there().cache, all);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, TheOldOwnerIsASmallCacheAgainAndTheNewOneALargeOne) {
  LocalCache& neighbour = *NewCache(here());
  ClaimBlocks blocks = Make(here(), 3);
  ASSERT_TRUE(TakeOver(*there().cache, *here().cache, blocks));
  // Small caches share a superblock.
  blocks.push_back(Allocate(*here().cache, 64));
  blocks.push_back(Allocate(neighbour, 64));
  EXPECT_EQ(here().manager->reserved_bytes(), Bytes(1));
  // A large one takes spans of its own superblocks, once they are at home.
  EXPECT_EQ(BringAll(*there().cache), 3u);
  blocks.push_back(Allocate(*there().cache, 4000));
  EXPECT_EQ(there().manager->reserved_bytes(), Bytes(3));
  ExpectExact(blocks);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, WhatIsAtHomeAndWhatIsAboveTheLargestClassIsNotNoted) {
  const ClaimBlocks own = Make(there(), 2);
  void* const extent = here().cache->Allocate(5 << 20);
  SuperblockCensus census(*there().cache);
  for (const ClaimBlock& block : own) census.Note(block.memory, block.bytes);
  EXPECT_FALSE(census.has_extents());
  census.Note(extent, 5 << 20);
  EXPECT_TRUE(census.has_extents());
  EXPECT_TRUE(census.superblocks().empty());
  EXPECT_FALSE(there().cache->Claim(std::move(census)));
  here().cache->Free(extent, 5 << 20);
  FreeAll(*there().cache, own);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, ACensusIsNotWorthwhileIfAfterAWhileMostOfWhatItMeetsIsAnothers) {
  ClaimBlocks blocks;
  while (here().manager->reserved_bytes() < Bytes(48)) {
    blocks.push_back(Allocate(*here().cache, 704));
  }
  SuperblockCensus few(*there().cache), many(*there().cache);
  uint64_t few_bytes = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % 2 == 0) many.Note(blocks[i].memory, 704);
    if (i % 8 != 0) continue;
    few.Note(blocks[i].memory, 704);
    few_bytes += 704;
    EXPECT_TRUE(few.Worthwhile() || few_bytes >= SuperblockCensus::kBytesToJudge);
  }
  EXPECT_GT(few_bytes, SuperblockCensus::kBytesToJudge);
  EXPECT_FALSE(few.Worthwhile());
  EXPECT_TRUE(many.Worthwhile());
  FreeAll(*here().cache, blocks);
  ExpectNothingLeft();
}

// --- between the steps ---------------------------------------------------------------------------

TEST_F(SuperblockClaimTest, ASuperblockWhoseOwnerHasGivenANotedBlockOutAgainStays) {
  enum class GivenOut { kNot, kInTheCensus, kAfterIt };
  for (const GivenOut when : {GivenOut::kNot, GivenOut::kInTheCensus, GivenOut::kAfterIt}) {
    SCOPED_TRACE(static_cast<int>(when));
    Open(2);
    ClaimBlocks blocks = Make(here(), 3);
    // Without magazines the fullest span's block is the next.
    here().cache->ArmFailures(~uint64_t{0}, FailurePoint::Mode::kOnce);
    const ClaimBlock noted = blocks[blocks.size() / 2];
    Remove(blocks, noted);
    const auto free_and_give_out = [&](bool again) {
      there().cache->Free(noted.memory, noted.bytes);
      there().cache->EndTurn();
      Collect(*here().cache);
      if (!again) return;
      blocks.push_back(Allocate(*here().cache, noted.bytes));
      EXPECT_EQ(blocks.back().memory, noted.memory);
    };
    SuperblockCensus census = Note(*there().cache, {&noted, 1});
    if (when == GivenOut::kInTheCensus) free_and_give_out(true);
    // Some of them are in the same span.
    for (const ClaimBlock& block : blocks) {
      if (block.memory != noted.memory) census.Note(block.memory, block.bytes);
    }
    if (when != GivenOut::kInTheCensus) free_and_give_out(when == GivenOut::kAfterIt);
    ASSERT_TRUE(there().cache->Claim(std::move(census)));
    Collect(*here().cache);
    Collect(*there().cache);
    EXPECT_EQ(there().cache->left_remote(), when == GivenOut::kNot ? 0u : 1u);
    ExpectExact(blocks);
    BringAll(*there().cache);
    EXPECT_EQ(layout().HeaderOf(noted.memory)->home == there().pool.get(), when == GivenOut::kNot);
    ExpectExact(blocks);
    EXPECT_EQ(Broken(blocks), 0u);
    FreeAll(*there().cache, blocks);
    ExpectNothingLeft();
  }
}

TEST_F(SuperblockClaimTest, BlocksFreedAtEveryStepComeHomeInCarriers) {
  ClaimBlocks blocks = Make(here(), 4);
  const ClaimBlocks before = blocks;
  LocalCache& cache = *there().cache;
  const auto free_some = [&](size_t count) {
    for (; count > 0; --count) {
      std::swap(blocks[random_() % blocks.size()], blocks.back());
      cache.Free(blocks.back().memory, blocks.back().bytes);
      blocks.pop_back();
    }
  };
  // A census and a carrier that leave at any time, in any order.
  SuperblockCensus census = Note(cache, blocks);
  free_some(300);  // most of them in the bin of the owner before the claim
  ASSERT_TRUE(cache.Claim(std::move(census)));
  free_some(300);  // the last of them leave after the answer
  here().cache->Collect();
  EXPECT_EQ(here().manager->reserved_bytes(), 0u);
  cache.EndTurn();
  free_some(300);  // they come back to the one that has freed them
  here().cache->Collect();
  cache.EndTurn();
  Collect(cache);
  ExpectExact(blocks);
  free_some(300);
  ExpectExact(blocks);
  EXPECT_EQ(BringAll(cache), Bases(before).size());
  free_some(300);
  here().cache->Free(blocks.back().memory, blocks.back().bytes);  // of an AEU that had it before
  blocks.pop_back();
  Settle();
  ExpectExact(blocks);
  EXPECT_EQ(Remote(cache, blocks), 0u);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, BlocksFreedAloneAtEveryStepComeHome) {
  Open(3);
  ClaimBlocks blocks = Make(here(), 4);
  ClaimBlocks all = blocks;
  LocalCache& cache = *there().cache;
  const ClaimBlocks in_carriers = UseUpCarriers(cache, *third().cache);
  all.insert(all.end(), in_carriers.begin(), in_carriers.end());
  const auto free_one = [&] {
    std::swap(blocks[random_() % blocks.size()], blocks.back());
    cache.Free(blocks.back().memory, blocks.back().bytes);
    blocks.pop_back();
  };
  SuperblockCensus census = Note(cache, blocks);
  const size_t count = Bases(blocks).size();
  free_one();  // it is in the bin behind the claim, so it is sent on
  ASSERT_TRUE(cache.Claim(std::move(census)));
  ExpectExact(all);
  here().cache->Collect();
  free_one();  // it goes to the own bin, in front of the answer
  ExpectExact(all);
  cache.Collect();
  EXPECT_EQ(there().manager->Account().used_bytes, ClassBytes(blocks));
  ClaimBlocks left = blocks;
  left.insert(left.end(), in_carriers.begin(), in_carriers.end());
  ExpectExact(left);
  EXPECT_EQ(BringAll(cache), count);
  ExpectExact(left);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, NothingIsBroughtWhileABlockIsAloneOnItsWay) {
  Open(3);
  LocalCache& neighbour = *NewCache(here());
  // More than an owner takes in at once lie between the claim and the block.
  ClaimBlocks between;
  for (int i = 0; i < 20000; ++i) between.push_back(Allocate(*here().cache, 16));
  ClaimBlocks blocks = Make(here(), 4);
  const std::set<const std::byte*> impure = Bases(between);
  std::iter_swap(blocks.rbegin(),
                 std::find_if(blocks.begin(), blocks.end(), [&](const ClaimBlock& block) {
                   return !impure.contains(Base(block));
                 }));
  const ClaimBlock alone = blocks.back();
  LocalCache& cache = *there().cache;
  (void)UseUpCarriers(cache, *third().cache);
  SuperblockCensus census = Note(cache, blocks);
  cache.Free(alone.memory, alone.bytes);
  blocks.pop_back();
  FreeAll(neighbour, between);
  neighbour.EndTurn();
  ASSERT_TRUE(cache.Claim(std::move(census)));
  here().cache->Collect();
  EXPECT_TRUE(here().cache->CollectsMore());
  cache.Collect();
  ASSERT_TRUE(cache.HasToBring());
  const uint64_t in_use = there().pool->in_use_bytes();
  uint64_t bytes = 0;
  EXPECT_EQ(cache.BringSuperblock(/*wait=*/false, bytes), Brought::kLater);
  Collect(*here().cache);
  EXPECT_EQ(cache.BringSuperblock(/*wait=*/false, bytes), Brought::kLater) << "it is sent on";
  EXPECT_EQ(there().pool->in_use_bytes(), in_use);
  EXPECT_EQ(here().pool->moves().ended, 0u);
  cache.Collect();
  EXPECT_EQ(cache.BringSuperblock(/*wait=*/false, bytes), Brought::kYes);
  BringAll(cache);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, NothingIsClaimedIfBlocksWereGivenAwayAfterTheCensus) {
  const ClaimBlocks blocks = Make(here(), 3);
  SuperblockCensus census = Note(*there().cache, blocks);
  there().cache->GaveBlocksAway();
  EXPECT_FALSE(there().cache->Claim(std::move(census)));
  EXPECT_FALSE(there().cache->ClaimsAreOut());
  EXPECT_FALSE(here().cache->Collect());
  ExpectExact(blocks);
  Move(there(), here(), blocks);
  ExpectExact(blocks);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, NothingIsBroughtIfBlocksWereGivenAwayBeforeTheAdoption) {
  for (const bool before_answer : {true, false}) {
    Open(2);
    const ClaimBlocks blocks = Make(here(), 3);
    const size_t count = Bases(blocks).size();
    ASSERT_TRUE(there().cache->Claim(Note(*there().cache, blocks)));
    if (before_answer) there().cache->GaveBlocksAway();
    Collect(*here().cache);
    if (!before_answer) there().cache->GaveBlocksAway();
    Collect(*there().cache);
    EXPECT_FALSE(there().cache->HasToBring());
    EXPECT_EQ(there().cache->left_remote(), count);
    EXPECT_EQ(there().manager->reserved_bytes(), Bytes(count)) << "they have changed hands";
    EXPECT_EQ(BringAll(*there().cache), 0u);
    ExpectExact(blocks);
    // Another census finds them its own, and asks nobody.
    ASSERT_TRUE(there().cache->Claim(Note(*there().cache, blocks)));
    EXPECT_FALSE(there().cache->ClaimsAreOut());
    EXPECT_EQ(BringAll(*there().cache), count);
    ExpectExact(blocks);
    EXPECT_EQ(Broken(blocks), 0u);
    FreeAll(*there().cache, blocks);
    ExpectNothingLeft();
  }
}

TEST_F(SuperblockClaimTest, NothingMoreIsBroughtOnceBlocksWereGivenAway) {
  const ClaimBlocks blocks = Make(here(), 5);
  const size_t count = Bases(blocks).size();
  ASSERT_TRUE(TakeOver(*there().cache, *here().cache, blocks));
  uint64_t bytes = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(there().cache->BringSuperblock(/*wait=*/false, bytes), Brought::kYes);
  }
  there().cache->GaveBlocksAway();
  EXPECT_FALSE(there().cache->HasToBring());
  EXPECT_EQ(there().cache->left_remote(), count - 2);
  EXPECT_EQ(BringAll(*there().cache), 0u);
  ExpectExact(blocks);
  EXPECT_EQ(Broken(blocks), 0u);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

// The block is in the figures of the old owner's neighbour, and comes home to the new one.
TEST_F(SuperblockClaimTest, ABlockFreedByTheOldOwnersNeighbourMeanwhileIsCountedOnce) {
  LocalCache& neighbour = *NewCache(here());
  ClaimBlocks blocks = Make(here(), 3);
  ASSERT_TRUE(there().cache->Claim(Note(*there().cache, blocks)));
  there().cache->GaveBlocksAway();
  for (int i = 0; i < 10; ++i) {
    neighbour.Free(blocks.back().memory, blocks.back().bytes);
    blocks.pop_back();
  }
  Collect(*here().cache);
  neighbour.EndTurn();
  Settle();
  ExpectExact(blocks);
  // The drift, if there is one, shows where something else is in use.
  const ClaimBlocks others = Make(here(), 1);
  blocks.insert(blocks.end(), others.begin(), others.end());
  ExpectExact(blocks);
  FreeAll(*there().cache, blocks);
  ExpectNothingLeft();
}

// --- superblocks that are gone -------------------------------------------------------------------

TEST_F(SuperblockClaimTest, ASuperblockThatHasBeenReturnedIsNotGiven) {
  const ClaimBlocks blocks = Make(here(), 3);
  const size_t count = Bases(blocks).size();
  ASSERT_TRUE(there().cache->Claim(Note(*there().cache, blocks)));
  FreeAll(*there().cache, blocks);
  there().cache->EndTurn();
  Collect(*here().cache);
  EXPECT_EQ(here().manager->reserved_bytes(), 0u);
  Collect(*there().cache);
  EXPECT_FALSE(there().cache->HasToBring());
  EXPECT_EQ(there().cache->left_remote(), count);
  ExpectNothingLeft();
}

TEST_F(SuperblockClaimTest, ASuperblockThatAnotherObjectHasTakenIsNotGiven) {
  for (const uint64_t kept_bytes_max : {uint64_t{0}, uint64_t{64} << 20}) {
    Open(2, {.kept_bytes_max = kept_bytes_max});
    const ClaimBlocks blocks = Make(here(), 3);
    const std::set<const std::byte*> bases = Bases(blocks);
    SuperblockCensus census = Note(*there().cache, blocks);
    FreeAll(*there().cache, blocks);
    Settle();
    MemoryManager other(ObjectId{2}, *here().pool);
    LocalCache& cache = *other.NewCache();
    ClaimBlocks others;
    while (other.reserved_bytes() < Bytes(bases.size())) {
      others.push_back(Allocate(cache, 64));
    }
    EXPECT_EQ(Bases(others), bases);
    ASSERT_TRUE(there().cache->Claim(std::move(census)));
    Collect(*here().cache);
    Collect(*there().cache);
    EXPECT_FALSE(there().cache->HasToBring());
    EXPECT_EQ(other.reserved_bytes(), Bytes(bases.size()));
    EXPECT_EQ(Broken(others), 0u);
    FreeAll(cache, others);
    cache.Trim();
    EXPECT_EQ(other.reserved_bytes(), 0u);
    ExpectNothingLeft();
  }
}

// The same blocks of the same superblocks, taken as often: it is another life of theirs.
TEST_F(SuperblockClaimTest, ASuperblockThatItsOwnerHasReturnedAndTakenAgainIsNotGiven) {
  for (const uint64_t kept_bytes_max : {uint64_t{64} << 20, uint64_t{0}}) {
    SCOPED_TRACE(kept_bytes_max == 0 ? "its pages were zero again" : "its pages were kept");
    Open(2, {.kept_bytes_max = kept_bytes_max});
    const auto make = [&] {
      ClaimBlocks blocks;
      while (here().manager->reserved_bytes() < Bytes(3)) {
        blocks.push_back(Allocate(*here().cache, 704));
      }
      return blocks;
    };
    const ClaimBlocks blocks = make();
    SuperblockCensus census = Note(*there().cache, blocks);
    FreeAll(*there().cache, blocks);
    Settle();
    ASSERT_EQ(here().manager->reserved_bytes(), 0u);
    const ClaimBlocks again = make();
    ASSERT_EQ(Bases(again), Bases(blocks));
    ASSERT_TRUE(there().cache->Claim(std::move(census)));
    Collect(*here().cache);
    Collect(*there().cache);
    EXPECT_FALSE(there().cache->HasToBring()) << "these are blocks of the old owner's AEU";
    ExpectExact(again);
    FreeAll(*here().cache, again);
    ExpectNothingLeft();
  }
}

}  // namespace
}  // namespace eris::memory
