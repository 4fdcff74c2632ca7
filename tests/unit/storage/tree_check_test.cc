// Plants one fault at a time in a sound tree; the checker must notice each.
#include "storage/tree_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

using ::testing::HasSubstr;

class TreeCheckTest : public ::testing::Test {
 protected:
  TreeCheckTest() : tree_(memory_.cache) {
    // Root at the first byte; below byte 0 a last-level TreeNode48, below byte 1 one of 256.
    for (uint64_t i = 0; i < 40; ++i) Insert(i * 3);
    for (uint64_t i = 0; i < 200; ++i) Insert(uint64_t{1} << 56 | i << 16);
    Insert(uint64_t{2} << 56);
    EXPECT_EQ(CheckTree(tree_), absl::OkStatus());
  }
  // The planted fault may have made the tree unfit for a walk that frees.
  ~TreeCheckTest() override { tree_.Abandon(); }

  void Insert(uint64_t key) { EXPECT_EQ(tree_.Upsert(key, key), UpsertResult::kInserted); }
  TreeRef Below(unsigned byte) { return TreeRef(*FindSlot(tree_.root(), byte)); }
  void ExpectFault(const char* what) {
    const absl::Status status = CheckTree(tree_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }

  TreeMemory memory_;
  PrefixTree tree_;
};

TEST_F(TreeCheckTest, NoticesAWrongKeyCount) {
  TreeNodeHeader* header = tree_.root().header();
  header->keys = header->keys + 1;
  ExpectFault("241 keys seen, 242 counted");
}

TEST_F(TreeCheckTest, NoticesAWrongChildCount) {
  TreeNodeHeader* header = Below(1).header();
  header->children = header->children - 1;
  ExpectFault("200 children seen, 199 counted");
}

TEST_F(TreeCheckTest, NoticesAWrongPrefix) {
  Below(1).header()->prefix ^= uint64_t{1} << 56;
  ExpectFault("child at byte 1");
}

TEST_F(TreeCheckTest, NoticesALeafUnderTheWrongByte) {
  Below(2).leaf()->key = 5;
  ExpectFault("child at byte 2");
}

TEST_F(TreeCheckTest, NoticesBytesOutOfOrder) {
  TreeNode4* root = tree_.root().node4();
  std::swap(root->bytes[0], root->bytes[1]);
  ExpectFault("bytes do not ascend");
}

TEST_F(TreeCheckTest, NoticesAnIndexWithoutItsBit) {
  Below(0).node48()->bitmap[0] ^= 1;
  ExpectFault("bitmap and index differ at byte 0");
}

TEST_F(TreeCheckTest, NoticesASlotUsedTwice) {
  Below(0).node48()->index[0] = Below(0).node48()->index[3];
  ExpectFault("used twice");
}

TEST_F(TreeCheckTest, NoticesALostChild) {
  Below(1).node256()->slots[0] = 0;
  ExpectFault("bitmap and slot differ at byte 0");
}

}  // namespace
}  // namespace eris::storage
