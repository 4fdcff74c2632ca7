#include "storage/tree_node.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

struct alignas(64) Block {
  unsigned char bytes[sizeof(TreeNode256)];
};

class TreeNodeTest : public ::testing::TestWithParam<TreeNodeKind> {};

std::map<unsigned, uint64_t> ChildrenOf(TreeRef ref) {
  std::map<unsigned, uint64_t> children;
  for (Child child = NextChild(ref, 0); child.byte < 256; child = NextChild(ref, child.byte + 1)) {
    children[child.byte] = *child.slot;
  }
  return children;
}

TEST_P(TreeNodeTest, BehavesLikeAMapFromByteToWord) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  Block block;
  for (const unsigned shift : {kShiftLast, 8u, kShiftFirst}) {
    const TreeRef ref = FormatTreeNode(&block, GetParam(), shift, kKeyMax);
    std::map<unsigned, uint64_t> model;
    for (int op = 0; op < 20'000; ++op) {
      const unsigned byte = random() % 256;
      if (model.contains(byte)) {
        RemoveChild(ref, byte);
        model.erase(byte);
      } else if (model.size() < CapacityOf(GetParam())) {
        const uint64_t word = random() | 1;
        InsertChild(ref, byte, word);
        model[byte] = word;
      }
      ASSERT_EQ(ref.Children(), model.size());
      const unsigned probe = random() % 256;
      const uint64_t* slot = FindSlot(ref, probe);
      ASSERT_EQ(slot != nullptr, model.contains(probe));
      if (slot != nullptr) {
        ASSERT_EQ(*slot, model[probe]);
      }
      const unsigned from = random() % 257;
      const auto next = model.lower_bound(from);
      ASSERT_EQ(NextChild(ref, from).byte, next == model.end() ? 256 : next->first);
      ASSERT_EQ(ChildrenBelow(ref, from),
                static_cast<unsigned>(std::distance(model.begin(), next)));
    }
    EXPECT_EQ(ChildrenOf(ref), model);
  }
}

TEST_P(TreeNodeTest, ValueZeroAtTheLastLevelIsAChild) {
  Block block;
  const TreeRef ref = FormatTreeNode(&block, GetParam(), kShiftLast, 0);
  InsertChild(ref, 7, 0);
  ASSERT_NE(FindSlot(ref, 7), nullptr);
  EXPECT_EQ(*FindSlot(ref, 7), 0u);
  EXPECT_EQ(FindSlot(ref, 0), nullptr);
}

TEST_P(TreeNodeTest, CopyToEveryKindKeepsPrefixKeysAndChildren) {
  Block from_block;
  Block to_block;
  const TreeRef from = FormatTreeNode(&from_block, GetParam(), 16, 0x1122334455667788);
  for (const unsigned byte : {255u, 0u, 128u}) InsertChild(from, byte, byte + 1);
  from.header()->keys = 99;
  for (const TreeNodeKind kind :
       {TreeNodeKind::k4, TreeNodeKind::k16, TreeNodeKind::k48, TreeNodeKind::k256}) {
    const TreeRef to = CopyTreeNode(from, kind, &to_block);
    EXPECT_EQ(to.kind(), kind);
    EXPECT_EQ(to.shift(), 16u);
    EXPECT_EQ(to.header()->prefix, 0x1122334455000000u);
    EXPECT_EQ(to.Keys(), 99u);
    EXPECT_EQ(ChildrenOf(to), ChildrenOf(from));
  }
}

TEST_P(TreeNodeTest, AFullTreeNodeFindsEveryByteAndNoOther) {
  Block block;
  const TreeRef ref = FormatTreeNode(&block, GetParam(), 8, 0);
  const unsigned capacity = CapacityOf(GetParam());
  for (unsigned i = 0; i < capacity; ++i) InsertChild(ref, 255 - i, i + 1);
  for (unsigned byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(FindSlot(ref, byte) != nullptr, byte + capacity > 255) << byte;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TreeNodeTest,
                         ::testing::Values(TreeNodeKind::k4, TreeNodeKind::k16, TreeNodeKind::k48,
                                           TreeNodeKind::k256),
                         [](const auto& kind) {
                           return "Of" + std::to_string(CapacityOf(kind.param));
                         });

TEST(TreeNodeKindTest, SmallestKindThatHoldsTheChildren) {
  EXPECT_EQ(KindFor(1), TreeNodeKind::k4);
  EXPECT_EQ(KindFor(4), TreeNodeKind::k4);
  EXPECT_EQ(KindFor(5), TreeNodeKind::k16);
  EXPECT_EQ(KindFor(17), TreeNodeKind::k48);
  EXPECT_EQ(KindFor(48), TreeNodeKind::k48);
  EXPECT_EQ(KindFor(49), TreeNodeKind::k256);
  EXPECT_EQ(KindFor(256), TreeNodeKind::k256);
}

TEST(TreeNodeKindTest, ShrinkingLeavesRoomBelowTheNextGrowth) {
  for (const TreeNodeKind kind : {TreeNodeKind::k16, TreeNodeKind::k48, TreeNodeKind::k256}) {
    for (unsigned children = 1; children <= CapacityOf(kind); ++children) {
      const TreeNodeKind shrunk = ShrunkKind(kind, children);
      EXPECT_LE(shrunk, kind);
      if (shrunk != kind) {
        EXPECT_LT(children, CapacityOf(shrunk));
      }
    }
  }
  EXPECT_EQ(ShrunkKind(TreeNodeKind::k256, 3), TreeNodeKind::k4);
  EXPECT_EQ(ShrunkKind(TreeNodeKind::k256, 48), TreeNodeKind::k256);
}

TEST(TreeRefTest, CarriesKindShiftAndAddress) {
  Block block;
  const TreeRef ref = TreeRef::To(&block, TreeNodeKind::k48, 40);
  EXPECT_EQ(ref.kind(), TreeNodeKind::k48);
  EXPECT_EQ(ref.shift(), 40u);
  EXPECT_EQ(ref.block(), &block);
  EXPECT_TRUE(ref.IsTreeNode());
  EXPECT_EQ(ref.Byte(0x0011223344556677), 0x22u);
  EXPECT_TRUE(TreeRef().IsNone());
}

TEST(TreeRefTest, ShiftOfTheFirstDifferentByte) {
  EXPECT_EQ(ShiftOf(1), 0u);
  EXPECT_EQ(ShiftOf(0x100), 8u);
  EXPECT_EQ(ShiftOf(uint64_t{1} << 63), 56u);
  EXPECT_EQ(PrefixMask(56), 0u);
  EXPECT_EQ(PrefixMask(0), ~uint64_t{0xff});
}

}  // namespace
}  // namespace eris::storage
