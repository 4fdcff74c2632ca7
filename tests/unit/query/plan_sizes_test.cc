#include "engine/query/planner/plan_sizes.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/query/planner_fixture.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

double Rows(std::vector<PlanNode> nodes) {
  return test::SizesOfPlan(test::PlanOf(std::move(nodes))).back().rows;
}
Expression Is(uint32_t field, int64_t value) { return Equal(Field(field), Literal(value)); }

const ReadNode kA{.object = "a"};         // 1000 rows
const ReadNode kKeyA{.object = "key_a"};  // the same with a key
const ReadNode kKeyB{.object = "key_b"};  // 100 rows

TEST(PlanSizesTest, FiltersKeepShares) {
  EXPECT_DOUBLE_EQ(Rows({kA}), 1000);
  EXPECT_DOUBLE_EQ(Rows({kA, FilterNode{0, Is(1, 1)}}), 100);
  EXPECT_DOUBLE_EQ(Rows({kKeyA, FilterNode{0, Is(0, 1)}}), 1);
  EXPECT_DOUBLE_EQ(Rows({kA, FilterNode{0, Field(1) < Literal(2) && Is(2, 1)}}), 30);
  EXPECT_DOUBLE_EQ(Rows({kA, FilterNode{0, Is(1, 1) || Is(2, 1)}}), 190);
  EXPECT_DOUBLE_EQ(Rows({kA, FilterNode{0, !Like(Field(4), "a%")}}), 900);
  EXPECT_DOUBLE_EQ(Rows({kA, FilterNode{0, In(Field(1), {int64_t{1}, int64_t{2}})}}), 200);
}

TEST(PlanSizesTest, AJoinWithAKeyHasTheRowsOfTheOtherSide) {
  const JoinNode join{.left = 0, .right = 1, .keys = {{1, 0}}};
  EXPECT_DOUBLE_EQ(Rows({kA, kKeyB, join}), 1000);
  EXPECT_DOUBLE_EQ(
      Rows({kA, kKeyB, FilterNode{1, Is(1, 1)}, JoinNode{0, 2, JoinType::kInner, {{1, 0}}}}), 100);
}

TEST(PlanSizesTest, SemiAndAntiJoinsKeepShares) {
  const FilterNode filter{1, Is(1, 1)};
  EXPECT_DOUBLE_EQ(Rows({kA, kKeyB, filter, JoinNode{0, 2, JoinType::kSemi, {{0, 0}}}}), 100);
  EXPECT_DOUBLE_EQ(Rows({kKeyA, kKeyB, JoinNode{0, 1, JoinType::kSemi, {{0, 0}}}}), 100);
  EXPECT_DOUBLE_EQ(Rows({kKeyA, kKeyB, JoinNode{0, 1, JoinType::kAnti, {{0, 0}}}}), 900);
}

TEST(PlanSizesTest, GroupsAreAtMostAsManyAsRows) {
  EXPECT_DOUBLE_EQ(Rows({kA, AggregateNode{0, {1}, {Measure{}}}}), 100);
  EXPECT_DOUBLE_EQ(Rows({kA, AggregateNode{0, {0, 1, 2}, {}}}), 1000);
  EXPECT_DOUBLE_EQ(Rows({kA, AggregateNode{0, {}, {Measure{}}}}), 1);
  EXPECT_DOUBLE_EQ(Rows({kA, LimitNode{0, 0, 7}}), 7);
  EXPECT_DOUBLE_EQ(Rows({kA, LimitNode{0, 0, 7'000}}), 1000);
}

TEST(PlanSizesTest, KeysPassProjectionsThatHandThemOut) {
  const auto size = [](std::vector<Expression> columns) {
    return test::SizesOfPlan(test::PlanOf({kKeyA, ProjectNode{0, std::move(columns)}})).back();
  };
  const NodeSize with = size({Field(1), Field(0)});
  ASSERT_EQ(with.unique.size(), 1u);
  EXPECT_EQ(with.unique[0].columns, std::vector<uint32_t>{1});
  EXPECT_EQ(with.distinct[1], 1000);
  EXPECT_FALSE(with.distinct[0].has_value());
  EXPECT_TRUE(size({Field(1)}).unique.empty());
}

}  // namespace
}  // namespace eris::engine
