#include "engine/query/planner/filter_down.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/query/planner_fixture.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

std::string Down(std::vector<PlanNode> nodes) {
  const QueryPlan plan = test::PlanOf(std::move(nodes));
  const QueryPlan down = WithFiltersDown(plan, test::SchemasOfPlan(plan));
  const auto schemas = storage::PlanSchemas(down, test::PlannedSchema);
  return schemas.ok() ? "\n" + test::TextOf(down) : schemas.status().ToString();
}

Expression Is(uint32_t field, int64_t value) { return Equal(Field(field), Literal(value)); }
Expression Fails(uint32_t field) { return Field(field) + Literal(1) > Literal(0); }

const ReadNode kA{.object = "a"};
const ReadNode kB{.object = "b"};
JoinNode Join(JoinType type, std::optional<Expression> condition = {}) {
  return {.left = 0, .right = 1, .type = type, .keys = {{0, 0}}, .condition = std::move(condition)};
}

TEST(FilterDownTest, FilterPassesProjectionsAndSorts) {
  EXPECT_EQ(Down({kA, ProjectNode{0, {Field(2), Field(4), Substring(Field(4), 1, 2)}},
                  SortNode{1, {{.column = 0}}}, FilterNode{2, Is(0, 1) && Like(Field(2), "a%")}}),
            R"(
0: read a []
1: filter 0 (and (= #2 1) (like (substring #4 1 2) 'a%'))
2: project 1 [#2 #4 (substring #4 1 2)]
3: sort 2 [0]
)");
}

TEST(FilterDownTest, WhatCanFailStays) {
  EXPECT_EQ(
      Down({kA, kB, Join(JoinType::kInner), FilterNode{2, Fails(0) && Is(1, 2)},
            ProjectNode{3, {Field(0), Field(0) + Field(1)}}, FilterNode{4, Is(1, 7) && Is(0, 3)}}),
      R"(
0: read a []
1: filter 0 (and (= #1 2) (= #0 3))
2: read b []
3: join inner 1 2 [0=0]
4: filter 3 (> (+ #0 1) 0)
5: project 4 [#0 (+ #0 #1)]
6: filter 5 (= #1 7)
)");
}

// Alone, a literal may be of another type than next to a column.
TEST(FilterDownTest, FilterOnALiteralStaysAboveIt) {
  EXPECT_EQ(Down({kA, ProjectNode{0, {Literal(1), Field(0)}}, FilterNode{1, Is(0, 1) && Is(1, 2)}}),
            R"(
0: read a []
1: filter 0 (= #0 2)
2: project 1 [1 #0]
3: filter 2 (= #0 1)
)");
}

TEST(FilterDownTest, LimitsAndSharedNodesStopFilters) {
  EXPECT_EQ(Down({kA, LimitNode{0, 0, 3}, FilterNode{1, Is(0, 1)}}), R"(
0: read a []
1: limit 0 0 3
2: filter 1 (= #0 1)
)");
  EXPECT_EQ(Down({kA, AggregateNode{0, {0, 1}, {}}, FilterNode{1, Is(0, 1)},
                  JoinNode{.left = 2, .right = 1, .keys = {{0, 0}}}}),
            R"(
0: read a []
1: aggregate 0 keys [0 1] measures []
2: filter 1 (= #0 1)
3: join inner 2 1 [0=0]
)");
}

TEST(FilterDownTest, ConditionsOfAnInnerJoinGoToTheirSides) {
  const Expression condition =
      Is(1, 1) && Is(6, 2) && Field(1) < Field(7) && Equal(Field(7), Field(2));
  EXPECT_EQ(Down({kA, kB, Join(JoinType::kInner, condition), FilterNode{2, Is(5, 3)}}), R"(
0: read a []
1: filter 0 (= #1 1)
2: read b []
3: filter 2 (and (= #1 2) (= #0 3))
4: join inner 1 3 [0=0 2=2] (< #1 #7)
)");
}

TEST(FilterDownTest, LeftRowsOfALeftJoinAreDroppedByFiltersAlone) {
  EXPECT_EQ(Down({kA, kB, Join(JoinType::kLeft, Is(1, 1) && Is(6, 2)),
                  FilterNode{2, Is(2, 3) && Is(7, 4)}}),
            R"(
0: read a []
1: filter 0 (= #2 3)
2: read b []
3: filter 2 (= #1 2)
4: join left 1 3 [0=0] (= #1 1)
5: filter 4 (= #7 4)
)");
}

TEST(FilterDownTest, SemiAndAntiJoins) {
  const Expression condition = Is(1, 1) && Is(6, 2);
  EXPECT_EQ(Down({kA, kB, Join(JoinType::kSemi, condition), FilterNode{2, Is(2, 3)}}), R"(
0: read a []
1: filter 0 (and (= #1 1) (= #2 3))
2: read b []
3: filter 2 (= #1 2)
4: join semi 1 3 [0=0]
)");
  EXPECT_EQ(Down({kA, kB, Join(JoinType::kAnti, condition), FilterNode{2, Is(2, 3)}}), R"(
0: read a []
1: filter 0 (= #2 3)
2: read b []
3: filter 2 (= #1 2)
4: join anti 1 3 [0=0] (= #1 1)
)");
}

TEST(FilterDownTest, NothingPassesAJoinThatMayFindTooManyRows) {
  const JoinNode join{.left = 0, .right = 1, .condition = Is(6, 2)};
  EXPECT_EQ(Down({kA, kB, join, FilterNode{2, Is(0, 1)}}), R"(
0: read a []
1: read b []
2: join inner 0 1 [] (= #6 2)
3: filter 2 (= #0 1)
)");
  const JoinNode with_one{.left = 0, .right = 2};
  EXPECT_EQ(Down({kA, kB, AggregateNode{1, {}, {Measure{}}}, with_one, FilterNode{3, Is(0, 1)}}),
            R"(
0: read a []
1: filter 0 (= #0 1)
2: read b []
3: aggregate 2 keys [] measures [count()]
4: join inner 1 3 []
)");
}

TEST(FilterDownTest, FilterOnKeysPassesAnAggregate) {
  const AggregateNode by{0, {2, 3}, {Measure{}}};
  EXPECT_EQ(Down({kA, by, FilterNode{1, Is(0, 1) && Is(2, 2) && Field(1) > Field(0)}}), R"(
0: read a []
1: filter 0 (and (= #2 1) (> #3 #2))
2: aggregate 1 keys [2 3] measures [count()]
3: filter 2 (= #2 2)
)");
  EXPECT_EQ(Down({kA, by, FilterNode{1, Literal(1) / Field(1) > Literal(0)}}), R"(
0: read a []
1: aggregate 0 keys [2 3] measures [count()]
2: filter 1 (> (/ 1 #1) 0)
)");
  EXPECT_EQ(Down({kA, AggregateNode{0, {}, {Measure{}}}, FilterNode{1, Literal(1) > Literal(2)}}),
            R"(
0: read a []
1: aggregate 0 keys [] measures [count()]
2: filter 1 (> 1 2)
)");
}

TEST(FilterDownTest, AlternativesOverBothSidesFilterEachOfThem) {
  const Expression either = (Is(1, 1) && Is(6, 2)) || (Is(1, 2) && Is(6, 1));
  EXPECT_EQ(Down({kA, kB, Join(JoinType::kInner, either)}), R"(
0: read a []
1: filter 0 (or (= #1 1) (= #1 2))
2: read b []
3: filter 2 (or (= #1 2) (= #1 1))
4: join inner 1 3 [0=0] (or (and (= #1 1) (= #6 2)) (and (= #1 2) (= #6 1)))
)");
  EXPECT_EQ(Down({kA, kB, Join(JoinType::kLeft, either)}), R"(
0: read a []
1: read b []
2: filter 1 (or (= #1 2) (= #1 1))
3: join left 0 2 [0=0] (or (and (= #1 1) (= #6 2)) (and (= #1 2) (= #6 1)))
)");
  EXPECT_EQ(Down({kA, kB, Join(JoinType::kLeft), FilterNode{2, either}}), R"(
0: read a []
1: filter 0 (or (= #1 1) (= #1 2))
2: read b []
3: join left 1 2 [0=0]
4: filter 3 (or (and (= #1 1) (= #6 2)) (and (= #1 2) (= #6 1)))
)");
}

TEST(FilterDownTest, SubqueriesMoveWithTheirConditions) {
  EXPECT_EQ(Down({kA, kB, AggregateNode{1, {}, {Measure{}}}, ProjectNode{0, {Field(1)}},
                  FilterNode{3, Field(0) > Subquery(2)}}),
            R"(
0: read a []
1: read b []
2: aggregate 1 keys [] measures [count()]
3: filter 0 (> #1 $2)
4: project 3 [#1]
)");
}

TEST(FilterDownTest, TheSubqueryOfACopiedConditionIsComputedOnce) {
  const Expression either = (Field(1) > Subquery(3) && Is(6, 2)) || (Is(1, 2) && Is(6, 1));
  EXPECT_EQ(Down({kA, kB, kB, AggregateNode{2, {}, {Measure{}}}, Join(JoinType::kInner, either)}),
            R"(
0: read a []
1: read b []
2: aggregate 1 keys [] measures [count()]
3: filter 0 (or (> #1 $2) (= #1 2))
4: read b []
5: filter 4 (or (= #1 2) (= #1 1))
6: join inner 3 5 [0=0] (or (and (> #1 $2) (= #6 2)) (and (= #1 2) (= #6 1)))
)");
}

TEST(FilterDownTest, AllInputsOfAUnionAreFiltered) {
  EXPECT_EQ(Down({kA, kB, UnionNode{{0, 1}}, FilterNode{2, Is(1, 5)}}), R"(
0: read a []
1: filter 0 (= #1 5)
2: read b []
3: filter 2 (= #1 5)
4: union [1 3]
)");
}

// Copies of conditions have a bound of their own: a plan that is within all limits could ask for
// any amount of memory.
TEST(FilterDownTest, LargeConditionsStayAboveAUnionOfMany) {
  std::vector<Expression> numbers = {Field(1)};
  for (int64_t i = 0; i < 1000; ++i) numbers.push_back(Literal(i));
  std::vector<PlanNode> nodes;
  UnionNode all;
  for (uint32_t i = 0; i < 100; ++i) {
    nodes.emplace_back(kA);
    all.inputs.push_back(i);
  }
  nodes.emplace_back(all);
  nodes.emplace_back(FilterNode{100, Of(Expression::Kind::kIn, numbers)});
  const std::string plan = Down(std::move(nodes));
  EXPECT_EQ(plan.find("filter"), plan.rfind("filter"));
  EXPECT_NE(plan.find("101: filter 100 "), std::string::npos);
}

TEST(FilterDownTest, LongChainOfFilters) {
  std::vector<PlanNode> nodes = {kA};
  for (uint32_t i = 1; i < kPlanNodesMax; ++i) {
    nodes.push_back(FilterNode{i - 1, Field(0) > Literal(int64_t{i})});
  }
  EXPECT_EQ(Down(std::move(nodes)).substr(0, 40), "\n0: read a []\n1: filter 0 (and (> #0 1) ");
}

}  // namespace
}  // namespace eris::engine
