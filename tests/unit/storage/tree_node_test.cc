#include "storage/tree/tree_node.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <string>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

struct alignas(64) Block {
  unsigned char bytes[sizeof(TreeNode256) + 64];  // with something behind the largest
};

// Words that no block has: the functions under test never follow them.
TreeRef Word(uint64_t number) { return TreeRef(number << 4 | 1); }

class TreeNodeTest : public ::testing::TestWithParam<TreeNodeKind> {};

// By start.
using Children = std::map<unsigned, uint64_t>;

Children ChildrenOf(TreeRef ref) {
  Children children;
  for (Child child = NextChild(ref, 0); child.start < 256;
       child = NextChild(ref, child.start + 1)) {
    children[child.start] = *child.slot;
  }
  return children;
}

TreeRef WithOneChild(Block& block, TreeNodeKind kind, unsigned shift, uint64_t key, TreeRef child) {
  const TreeRef ref = FormatTreeNode(&block, kind, shift, key);
  ChildList list;
  list.Add(77, child);  // the first one starts at 0 whatever it says
  WriteChildren(ref, list);
  return ref;
}

void ExpectLike(TreeRef ref, const Children& model, Random& random) {
  ASSERT_EQ(ref.Children(), model.size());
  const unsigned probe = random() % 256;
  const auto has_probe = std::prev(model.upper_bound(probe));
  ASSERT_EQ(*SlotOf(ref, probe), has_probe->second) << probe;
  ASSERT_EQ(ChildAt(ref, probe).start, has_probe->first) << probe;
  const unsigned from = random() % 257;
  const auto next = model.lower_bound(from);
  ASSERT_EQ(NextChild(ref, from).start, next == model.end() ? 256 : next->first) << from;
  const Child previous = PreviousChild(ref, from);
  ASSERT_EQ(previous.start, next == model.begin() ? 256 : std::prev(next)->first) << from;
}

TEST_P(TreeNodeTest, BehavesLikeAMapOfIntervals) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  Block block;
  for (const unsigned shift : {kShiftLast, 8u, kShiftFirst}) {
    uint64_t number = 1;
    const TreeRef ref = WithOneChild(block, GetParam(), shift, kKeyMax, Word(number));
    Children model{{0, Word(number).word()}};
    for (int op = 0; op < 20'000; ++op) {
      const unsigned byte = random() % 256;
      const uint64_t word = Word(++number).word();
      switch (random() % 4) {
        case 0:
          ReplaceChild(ref, byte, TreeRef(word));
          std::prev(model.upper_bound(byte))->second = word;
          break;
        case 1: {  // a border moves
          const auto child = model.upper_bound(byte);
          if (child == model.end()) break;
          const unsigned low = std::prev(child)->first + 1;
          const unsigned high = std::next(child) == model.end() ? 255 : std::next(child)->first - 1;
          const unsigned to = low + random() % (high - low + 1);
          MoveStart(ref, child->first, to);
          const uint64_t moved = child->second;
          model.erase(child);
          model[to] = moved;
          break;
        }
        default:
          if (model.contains(byte) && model.size() > 1) {
            RemoveChild(ref, byte);
            model.erase(byte);
            if (byte == 0) {  // its interval is the next one's
              const uint64_t next = model.begin()->second;
              model.erase(model.begin());
              model[0] = next;
            }
          } else if (!model.contains(byte) && model.size() < CapacityOf(GetParam())) {
            InsertChild(ref, byte, TreeRef(word));
            model[byte] = word;
          }
      }
      ExpectLike(ref, model, random);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(ChildrenOf(ref), model);
  }
}

TEST_P(TreeNodeTest, CopyToEveryKindKeepsPrefixKeysAndChildren) {
  Block from_block;
  Block to_block;
  const TreeRef from = WithOneChild(from_block, GetParam(), 16, 0x1122334455667788, Word(1));
  for (const unsigned start : {255u, 1u, 128u}) InsertChild(from, start, Word(start));
  from.header()->keys = 99;
  for (const TreeNodeKind kind : {TreeNodeKind::k5, TreeNodeKind::k12, TreeNodeKind::k26,
                                  TreeNodeKind::k48, TreeNodeKind::k256}) {
    const TreeRef to = CopyTreeNode(from, kind, &to_block);
    EXPECT_EQ(to.kind(), kind);
    EXPECT_EQ(to.shift(), 16u);
    EXPECT_EQ(to.header()->prefix, 0x1122334455000000u);
    EXPECT_EQ(to.Keys(), 99u);
    EXPECT_EQ(ChildrenOf(to), ChildrenOf(from));
  }
}

TEST_P(TreeNodeTest, AFullOneLeadsEveryByteToItsChild) {
  Block block;
  const TreeRef ref = WithOneChild(block, GetParam(), 8, 0, Word(1));
  const unsigned capacity = CapacityOf(GetParam());
  for (unsigned i = 1; i < capacity; ++i) InsertChild(ref, 256 - i, Word(256 - i));
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool own = byte > 256 - capacity;
    EXPECT_EQ(*SlotOf(ref, byte), Word(own ? byte : 1).word()) << byte;
  }
}

TEST_P(TreeNodeTest, StaysWithinItsBlock) {
  Block block;
  const size_t bytes = BytesOf(GetParam());
  for (size_t i = bytes; i < sizeof block.bytes; ++i) block.bytes[i] = 0xa5;
  const TreeRef ref = WithOneChild(block, GetParam(), 8, 0, Word(1));
  for (unsigned i = 1; i < CapacityOf(GetParam()); ++i) InsertChild(ref, i, Word(i));
  for (size_t i = bytes; i < sizeof block.bytes; ++i) ASSERT_EQ(block.bytes[i], 0xa5) << i;
}

INSTANTIATE_TEST_SUITE_P(Kinds, TreeNodeTest,
                         ::testing::Values(TreeNodeKind::k5, TreeNodeKind::k12, TreeNodeKind::k26,
                                           TreeNodeKind::k48, TreeNodeKind::k256),
                         [](const auto& kind) {
                           return "Of" + std::to_string(CapacityOf(kind.param));
                         });

TEST(TreeNodeKindTest, SmallestKindThatHoldsTheChildren) {
  EXPECT_EQ(KindFor(1), TreeNodeKind::k5);
  EXPECT_EQ(KindFor(5), TreeNodeKind::k5);
  EXPECT_EQ(KindFor(6), TreeNodeKind::k12);
  EXPECT_EQ(KindFor(13), TreeNodeKind::k26);
  EXPECT_EQ(KindFor(48), TreeNodeKind::k48);
  EXPECT_EQ(KindFor(49), TreeNodeKind::k256);
  EXPECT_EQ(KindFor(256), TreeNodeKind::k256);
}

TEST(TreeNodeKindTest, ShrinkingLeavesRoomBelowTheNextGrowth) {
  for (const TreeNodeKind kind :
       {TreeNodeKind::k12, TreeNodeKind::k26, TreeNodeKind::k48, TreeNodeKind::k256}) {
    for (unsigned children = 1; children <= CapacityOf(kind); ++children) {
      const TreeNodeKind shrunk = ShrunkKind(kind, children);
      EXPECT_LE(shrunk, kind);
      if (shrunk != kind) {
        EXPECT_LT(children, CapacityOf(shrunk));
      }
    }
  }
  EXPECT_EQ(ShrunkKind(TreeNodeKind::k256, 3), TreeNodeKind::k5);
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

TEST(BitmapTest, NextAndLastBitAreThoseOfASet) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  uint64_t bitmap[4] = {};
  std::map<unsigned, bool> model;
  for (int op = 0; op < 20'000; ++op) {
    const unsigned byte = random() % 256;
    if (random() % 2 == 0 && model.size() < 40) {
      internal::SetBit(bitmap, byte);
      model[byte] = true;
    } else {
      internal::ClearBit(bitmap, byte);
      model.erase(byte);
    }
    const unsigned from = random() % 256;
    const auto next = model.lower_bound(from);
    ASSERT_EQ(internal::NextBit(bitmap, from), next == model.end() ? 256 : next->first);
    const auto behind = model.upper_bound(from);
    if (behind != model.begin()) {
      ASSERT_EQ(internal::LastBit(bitmap, from), std::prev(behind)->first);
    }
  }
}

}  // namespace
}  // namespace eris::storage
