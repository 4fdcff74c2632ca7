// Free blocks in superblocks whose pages are on another NumaNode: they are used last, so that such
// superblocks become empty and go back.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/memory/superblock_claim_lab.h"

namespace eris::memory {
namespace {

class RemoteSpansTest : public ClaimLab {
 protected:
  // Rounds of frees and allocations, as by an object whose rows are replaced: each block is freed
  // and another one of its size allocated.
  void Replace(LocalCache& cache, ClaimBlocks& blocks) {
    for (ClaimBlock& block : blocks) {
      cache.Free(block.memory, block.bytes);
      block = Allocate(cache, block.bytes);
    }
  }
};

// There and back, and not brought: the address is the claimant's own, its pages are not.
TEST_F(RemoteSpansTest, WhatIsReplacedComesFromTheOwnNumaNode) {
  for (const bool back : {false, true}) {
    ClaimBlocks blocks = Make(here(), 3);
    LocalCache* cache = there().cache;
    ASSERT_TRUE(TakeOver(*cache, *here().cache, blocks));
    if (back) {
      ASSERT_EQ(BringAll(*cache), 3u);
      cache = here().cache;
      ASSERT_TRUE(TakeOver(*cache, *there().cache, blocks));
    }
    MemoryManager& manager = cache->manager();
    EXPECT_EQ(manager.spilled_bytes(), Bytes(3));
    ASSERT_EQ(Remote(*cache, blocks), blocks.size());
    Replace(*cache, blocks);
    EXPECT_EQ(Remote(*cache, blocks), 0u) << "back: " << back;
    // They are empty, and have gone back.
    EXPECT_EQ(manager.spilled_bytes(), 0u);
    ExpectExact(blocks);
    EXPECT_EQ(Broken(blocks), 0u);
    FreeAll(*cache, blocks);
    ExpectNothingLeft();
  }
}

TEST_F(RemoteSpansTest, WithoutMemoryAtHomeTheyAreUsedBeforeMoreIsSpilled) {
  here().pool->take_failures().Arm(1, FailurePoint::Mode::kFromThen);
  LocalCache& cache = *here().cache;
  ClaimBlocks blocks = Make(here(), 4);
  EXPECT_EQ(here().manager->spilled_bytes(), Bytes(4));
  // Every second block goes, and comes again: into the same superblocks.
  for (int round = 0; round < 3; ++round) {
    ClaimBlocks some;
    for (size_t i = 0; i < blocks.size(); i += 2) some.push_back(blocks[i]);
    for (const ClaimBlock& block : some) cache.Free(block.memory, block.bytes);
    for (size_t i = 0; i < blocks.size(); i += 2) blocks[i] = Allocate(cache, blocks[i].bytes);
    EXPECT_LE(here().manager->spilled_bytes(), Bytes(5));
    ExpectExact(blocks);
  }
  EXPECT_EQ(Remote(cache, blocks), blocks.size());
  here().pool->take_failures().Arm(0, FailurePoint::Mode::kFromThen);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

// Once there is memory at home, what is replaced goes there, and a walk has the rest come.
TEST_F(RemoteSpansTest, WhatWasSpilledDrainsWhenThereIsMemoryAgain) {
  here().pool->take_failures().Arm(1, FailurePoint::Mode::kFromThen);
  LocalCache& cache = *here().cache;
  ClaimBlocks blocks = Make(here(), 3);
  here().pool->take_failures().Arm(0, FailurePoint::Mode::kFromThen);
  // The NumaNode is asked now and then, and what magazines have is given out first.
  Replace(cache, blocks);
  EXPECT_LT(Remote(cache, blocks), blocks.size() / 2);
  Replace(cache, blocks);
  cache.Trim();
  EXPECT_EQ(Remote(cache, blocks), 0u);
  EXPECT_EQ(here().manager->spilled_bytes(), 0u);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

// A superblock that has come home serves again.
TEST_F(RemoteSpansTest, FreeBlocksOfWhatHasComeHomeAreUsed) {
  ClaimBlocks blocks = Make(here(), 3);
  LocalCache& cache = *there().cache;
  ASSERT_TRUE(TakeOver(cache, *here().cache, blocks));
  // Holes in all of them, while they are remote.
  for (size_t i = 0; i < blocks.size(); i += 2) cache.Free(blocks[i].memory, blocks[i].bytes);
  ClaimBlocks left;
  for (size_t i = 1; i < blocks.size(); i += 2) left.push_back(blocks[i]);
  EXPECT_EQ(BringAll(cache), Bases(left).size());
  const uint64_t reserved = there().manager->reserved_bytes();
  for (size_t i = 0; i < blocks.size(); i += 2) left.push_back(Allocate(cache, blocks[i].bytes));
  EXPECT_EQ(there().manager->reserved_bytes(), reserved);
  EXPECT_EQ(Remote(cache, left), 0u);
  ExpectExact(left);
  EXPECT_EQ(Broken(left), 0u);
  FreeAll(cache, left);
  ExpectNothingLeft();
}

// Many superblocks of its own are looked at in several calls.
TEST_F(RemoteSpansTest, ManySpilledSuperblocksAreCheckedInPieces) {
  here().pool->take_failures().Arm(1, FailurePoint::Mode::kFromThen);
  LocalCache& cache = *here().cache;
  const ClaimBlocks blocks = Make(here(), 40);
  here().pool->take_failures().Arm(0, FailurePoint::Mode::kFromThen);
  ASSERT_TRUE(cache.Claim(Note(cache, blocks)));
  uint64_t bytes = 0;
  EXPECT_EQ(cache.BringSuperblock(/*wait=*/false, bytes), LocalCache::Brought::kChecked);
  EXPECT_EQ(cache.BringSuperblock(/*wait=*/false, bytes), LocalCache::Brought::kChecked);
  EXPECT_EQ(BringAll(cache), 40u);
  EXPECT_EQ(Remote(cache, blocks), 0u);
  FreeAll(cache, blocks);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace eris::memory
