// Whether keys are apart, compared with the keys themselves.
#include "engine/query/key_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/query/stage_lab.h"

namespace eris::engine {
namespace {

using storage::Cell;
using storage::CellRow;
using storage::Int128;
using storage::Random;
using storage::StageLab;
using test::Seed;

class KeySpansTest : public testing::Test {
 protected:
  void Put(StageLab& lab, uint32_t aeu, storage::RowSet set, const std::vector<Int128>& keys,
           bool null = false) {
    std::vector<CellRow> rows;
    for (const Int128 key : keys) rows.push_back({Cell{.number = key}});
    if (null) rows.push_back({Cell{.null = true}});
    storage::AddRows(lab.part(aeu).memory(), lab.part(aeu).Output(set), rows, random_, 2);
  }
  Random random_{Seed()};
};

TEST_F(KeySpansTest, TouchingSpansAreNotApart) {
  for (const ColumnType type : {ColumnType::kInt32, ColumnType::kInt64, ColumnType::kUint64}) {
    StageLab lab(3, 2, random_);
    for (const storage::RowSet set : {0u, 1u}) lab.SetColumns(set, {type});
    Put(lab, 0, 0, {5, 9, 7});
    Put(lab, 2, 0, {10, 30});
    EXPECT_TRUE(KeySpans(lab.all, 0, 0).Apart());
    Put(lab, 1, 0, {4, 5});
    EXPECT_FALSE(KeySpans(lab.all, 0, 0).Apart());
  }
}

TEST_F(KeySpansTest, SignsCount) {
  StageLab lab(3, 2, random_);
  lab.SetColumns(0, {ColumnType::kInt64});
  lab.SetColumns(1, {ColumnType::kUint64});
  Put(lab, 0, 0, {-5, -1});
  Put(lab, 1, 0, {0, 8});
  EXPECT_TRUE(KeySpans(lab.all, 0, 0).Apart());
  Put(lab, 0, 1, {Int128{1} << 63, Int128{UINT64_MAX}});
  Put(lab, 1, 1, {0, 8});
  EXPECT_TRUE(KeySpans(lab.all, 1, 0).Apart());
}

TEST_F(KeySpansTest, BothSidesOfAJoin) {
  StageLab lab(3, 2, random_);
  for (const storage::RowSet set : {0u, 1u}) lab.SetColumns(set, {ColumnType::kInt64});
  Put(lab, 0, 0, {0, 5});
  Put(lab, 1, 0, {10, 15});
  Put(lab, 0, 1, {3, 8});
  Put(lab, 1, 1, {9, 12});
  KeySpans both(lab.all, 0, 0);
  both.Add(KeySpans(lab.all, 1, 0));
  EXPECT_TRUE(both.Apart());
  // A key of the right side where the left one has none.
  Put(lab, 2, 1, {13});
  KeySpans crossed(lab.all, 0, 0);
  crossed.Add(KeySpans(lab.all, 1, 0));
  EXPECT_FALSE(crossed.Apart());
}

TEST_F(KeySpansTest, NullsAreCounted) {
  StageLab lab(3, 2, random_);
  lab.SetColumns(0, {ColumnType::kInt64});
  EXPECT_TRUE(KeySpans(lab.all, 0, 0).Apart());  // there are no rows
  Put(lab, 0, 0, {1}, true);
  Put(lab, 1, 0, {}, true);
  const KeySpans spans(lab.all, 0, 0);
  EXPECT_TRUE(spans.Apart());
  EXPECT_EQ(spans.with_nulls(), 2u);
}

}  // namespace
}  // namespace eris::engine
