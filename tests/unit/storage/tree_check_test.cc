// Plants one fault at a time in a sound tree; the checker must notice each.
#include "storage/tree/tree_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

using ::testing::HasSubstr;

class TreeCheckTest : public ::testing::Test {
 protected:
  TreeCheckTest() : tree_(memory_.cache) {
    // Root at the first byte; byte 0 leads to a page, byte 1 to a TreeNode of 5 above runs, byte 2
    // to a run.
    for (uint64_t i = 0; i < 200; ++i) Insert(i);
    for (uint64_t i = 0; i < 150; ++i) Insert(uint64_t{1} << 56 | i << 16);
    for (uint64_t i = 9; i > 0; --i) Insert(uint64_t{2} << 56 | i);
    EXPECT_EQ(CheckTree(tree_), absl::OkStatus());
    EXPECT_TRUE(Below(0).IsPage());
    EXPECT_EQ(Below(1).kind(), TreeNodeKind::k5);
    EXPECT_TRUE(Below(2).IsRun());
  }
  // The planted fault may have made the tree unfit for a walk that frees.
  ~TreeCheckTest() override { tree_.Abandon(); }

  void Insert(uint64_t key) { EXPECT_EQ(tree_.Upsert(key, key), UpsertResult::kInserted); }
  TreeRef Below(unsigned byte) { return TreeRef(*SlotOf(tree_.root(), byte)); }
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
  ExpectFault("359 keys seen, 360 counted");
}

TEST_F(TreeCheckTest, NoticesAWrongKeyCountOfAPage) {
  TreeNodeHeader* header = Below(0).header();
  header->keys = header->keys + 1;
  ExpectFault("200 keys seen, 201 counted");
}

TEST_F(TreeCheckTest, NoticesALostKeyOfAPage) {
  internal::ClearBit(Below(0).page()->bitmap, 199);
  ExpectFault("199 keys seen, 200 counted");
}

TEST_F(TreeCheckTest, NoticesAWrongPrefix) {
  Below(1).header()->prefix ^= uint64_t{6} << 56;
  ExpectFault("child at byte 1");
}

TEST_F(TreeCheckTest, NoticesBitsBelowThePrefix) {
  Below(1).header()->prefix |= 1;
  ExpectFault("bits below the prefix");
}

TEST_F(TreeCheckTest, NoticesAKeyOutsideItsRunsInterval) {
  TreeRun* run = Below(2).run();
  run->pairs()[0].key = 5;
  ExpectFault("lies outside its interval");
}

TEST_F(TreeCheckTest, NoticesAWrongTag) {
  Below(2).run()->tags()[3] ^= 1;
  ExpectFault("tag 3");
}

TEST_F(TreeCheckTest, NoticesAKeyThatIsThereTwice) {
  TreeRun* run = Below(2).run();
  run->pairs()[2] = run->pairs()[1];
  run->tags()[2] = run->tags()[1];
  run->sorted = 0;
  ExpectFault("key twice");
}

TEST_F(TreeCheckTest, NoticesARunThatIsNotAsSortedAsItSays) {
  TreeRun* run = Below(2).run();
  run->sorted = run->count;
  ExpectFault("not sorted at 1");
}

TEST_F(TreeCheckTest, NoticesARunOfOtherLinesThanItsReferenceHas) {
  Below(2).run()->lines += 1;
  ExpectFault("lines in its header");
}

TEST_F(TreeCheckTest, NoticesALostChild) {
  TreeNodeHeader* header = Below(1).header();
  header->children = header->children - 1;
  ExpectFault("keys seen");
}

TEST_F(TreeCheckTest, NoticesStartsOutOfOrder) {
  std::swap(Below(1).starts()[1], Below(1).starts()[2]);
  EXPECT_EQ(CheckTree(tree_).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace eris::storage
