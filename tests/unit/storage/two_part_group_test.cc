// Groups at the sizes where they change: blocks that have no byte too many, trees above them, and
// back with a distance; also where no smaller block can be had.
#include "storage/index/two_part_group.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

class TwoPartGroupTest : public testing::Test {
 protected:
  ~TwoPartGroupTest() override {
    if (word_ != 0) FreeGroup(memory_.cache, word_);
    EXPECT_EQ(memory_.cache.used_bytes(), 0u);
  }
  // Rows (0, 0), (3, 1), (6, 2) and so on.
  void Fill(uint64_t rows) {
    std::vector<uint64_t> seconds, values;
    for (uint64_t i = 0; i < rows; ++i) {
      seconds.push_back(3 * i);
      values.push_back(i);
    }
    word_ = NewGroup(memory_.cache, seconds.data(), values.data(), rows);
    ASSERT_NE(word_, 0u);
  }
  void ExpectRows(uint64_t from, uint64_t to) {
    ASSERT_EQ(TwoPartGroup(word_).Rows(), to - from);
    for (uint64_t i = from; i < to; ++i) {
      const uint64_t* value = FindRow(memory_.cache, word_, 3 * i);
      ASSERT_NE(value, nullptr) << i;
      ASSERT_EQ(*value, i);
      ASSERT_EQ(FindRow(memory_.cache, word_, 3 * i + 1), nullptr);
    }
  }

  TreeMemory memory_;
  uint64_t word_ = 0;
};

TEST_F(TwoPartGroupTest, ABlockTakesSixteenBytesARow) {
  for (uint64_t rows = 1; rows <= kGroupBlockRowsMax; ++rows) {
    Fill(rows);
    EXPECT_TRUE(TwoPartGroup(word_).IsBlock());
    EXPECT_EQ(memory_.cache.used_bytes(), 16 * rows);
    ExpectRows(0, rows);
    FreeGroup(memory_.cache, word_);
  }
  word_ = 0;
}

TEST_F(TwoPartGroupTest, GrowsToATreeAndShrinksBackWithADistance) {
  Fill(1);
  for (uint64_t i = 1; i < 100; ++i) {
    ASSERT_TRUE(AddRow(memory_.cache, word_, 3 * i, i));
    EXPECT_EQ(TwoPartGroup(word_).IsBlock(), i < kGroupBlockRowsMax) << i;
    ExpectRows(0, i + 1);
  }
  for (uint64_t i = 0; i < 99; ++i) {
    EXPECT_FALSE(EraseRow(memory_.cache, word_, 3 * i + 1));
    ASSERT_TRUE(EraseRow(memory_.cache, word_, 3 * i));
    EXPECT_EQ(TwoPartGroup(word_).IsBlock(), 99 - i <= kGroupTreeRowsLeft) << i;
    ExpectRows(i + 1, 100);
  }
  EXPECT_EQ(memory_.cache.used_bytes(), 16u);
}

TEST_F(TwoPartGroupTest, ErasesWithoutMemoryAndTakesTheRoomAgain) {
  for (const uint64_t rows : {2, 20, 32, 33, 60, 500}) {
    Fill(rows);
    memory_.cache.FailAllocationsFrom(1);
    for (uint64_t i = 0; i + 1 < rows; ++i) {
      ASSERT_TRUE(EraseRow(memory_.cache, word_, 3 * i));
      ExpectRows(i + 1, rows);
    }
    if (rows <= kGroupBlockRowsMax) {
      EXPECT_EQ(memory_.cache.used_bytes(), 16 * rows);
      for (uint64_t i = 0; i + 1 < rows; ++i) {
        ASSERT_TRUE(AddRow(memory_.cache, word_, 3 * i, i));
      }
      ExpectRows(0, rows);
      if (rows < kGroupBlockRowsMax) {
        EXPECT_FALSE(AddRow(memory_.cache, word_, 1, 1));
      }
      ExpectRows(0, rows);
      for (uint64_t i = 0; i + 1 < rows; ++i) {
        ASSERT_TRUE(EraseRow(memory_.cache, word_, 3 * i));
      }
    }
    ASSERT_TRUE(EraseRow(memory_.cache, word_, 3 * (rows - 1)));
    EXPECT_EQ(word_, 0u);
    EXPECT_EQ(memory_.cache.used_bytes(), 0u);
    memory_.cache.FailAllocationsFrom(0);
  }
}

TEST_F(TwoPartGroupTest, CountsRowsBetweenTwoIncluded) {
  for (const uint64_t rows : {1, 7, 32, 33, 1000}) {
    Fill(rows);
    EXPECT_EQ(CountRows(memory_.cache, word_, 0, kKeyMax), rows);
    EXPECT_EQ(CountRows(memory_.cache, word_, 0, 0), 1u);
    EXPECT_EQ(CountRows(memory_.cache, word_, 1, kKeyMax), rows - 1);
    EXPECT_EQ(CountRows(memory_.cache, word_, 3 * rows - 3, 3 * rows), 1u);
    EXPECT_EQ(CountRows(memory_.cache, word_, 1, 2), 0u);
    EXPECT_EQ(CountRows(memory_.cache, word_, kKeyMax, kKeyMax), 0u);
    FreeGroup(memory_.cache, word_);
  }
  word_ = 0;
}

}  // namespace
}  // namespace eris::storage
