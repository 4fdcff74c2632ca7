// What the Ports of many sessions hold together: blocks that are idle never keep others from
// sending.
#include "routing/block_allowance.h"

#include <gtest/gtest.h>

#include <vector>

#include "routing/block_pool.h"

namespace eris::routing {
namespace {

constexpr size_t kBlockBytes = 64 << 10;

BlockPool* Pool(BlockAllowance* allowance) {
  return BlockPool::Create(kBlockBytes, 64 * kBlockBytes, allowance);
}

TEST(BlockAllowanceTest, BoundsTheBlocksOfAllPools) {
  BlockAllowance allowance(4 * kBlockBytes);
  BlockPool* one = Pool(&allowance);
  BlockPool* other = Pool(&allowance);
  std::vector<Block*> blocks;
  for (int i = 0; i < 2; ++i) blocks.push_back(one->Take(kBlockBytes));
  for (int i = 0; i < 2; ++i) blocks.push_back(other->Take(kBlockBytes));
  for (Block* block : blocks) ASSERT_NE(block, nullptr);
  EXPECT_EQ(one->Take(kBlockBytes), nullptr);
  EXPECT_EQ(other->Take(1), nullptr);
  EXPECT_EQ(allowance.used(), 4 * kBlockBytes);
  for (Block* block : blocks) block->pool->Put(block);
  one->Close();
  EXPECT_EQ(allowance.used(), 2 * kBlockBytes);
  other->Close();
  EXPECT_EQ(allowance.used(), 0u);
}

TEST(BlockAllowanceTest, ReadersFreeTheBlocksOfAnIdlePoolWhereItIsCrowded) {
  BlockAllowance allowance(4 * kBlockBytes);
  BlockPool* idle = Pool(&allowance);
  std::vector<Block*> sent;
  for (int i = 0; i < 4; ++i) {
    sent.push_back(idle->Take(kBlockBytes));
    ASSERT_NE(sent.back(), nullptr);
    idle->HandOver(sent.back(), 1);
  }
  // It never calls again, and yet another one gets room.
  for (Block* block : sent) BlockPool::Release(block);
  EXPECT_LE(allowance.used(), 2 * kBlockBytes);
  EXPECT_EQ(idle->allocated_bytes(), allowance.used());
  EXPECT_EQ(idle->outstanding(), 0u);
  BlockPool* other = Pool(&allowance);
  Block* block = other->Take(kBlockBytes);
  ASSERT_NE(block, nullptr);
  other->Put(block);
  other->Close();
  idle->Close();
  EXPECT_EQ(allowance.used(), 0u);
}

TEST(BlockAllowanceTest, FreeBlocksGoBackWhereItIsCrowdedAndStayWhereItIsNot) {
  BlockAllowance allowance(4 * kBlockBytes);
  BlockPool* one = Pool(&allowance);
  std::vector<Block*> blocks;
  for (int i = 0; i < 2; ++i) blocks.push_back(one->Take(kBlockBytes));
  for (Block* block : blocks) one->Put(block);
  one->FreeUnused();
  EXPECT_EQ(allowance.used(), 2 * kBlockBytes);  // half: kept, to be used again
  BlockPool* other = Pool(&allowance);
  Block* third = other->Take(kBlockBytes);
  one->FreeUnused();
  EXPECT_EQ(allowance.used(), kBlockBytes);
  other->Put(third);
  other->Close();
  one->Close();
}

}  // namespace
}  // namespace eris::routing
