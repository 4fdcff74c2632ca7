#include "engine/query/planner/join_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/query/planner_fixture.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

std::string Ordered(std::vector<PlanNode> nodes) {
  const QueryPlan plan = test::PlanOf(std::move(nodes));
  const QueryPlan ordered =
      WithJoinsInOrder(plan, test::SchemasOfPlan(plan), test::SizesOfPlan(plan));
  const auto schemas = storage::PlanSchemas(ordered, test::PlannedSchema);
  return schemas.ok() ? "\n" + test::TextOf(ordered) : schemas.status().ToString();
}
Expression Is(uint32_t field, int64_t value) { return Equal(Field(field), Literal(value)); }

// Rows: a 1000, b 100, c 10, d 5. Of each the first column is a key.
const ReadNode kA{.object = "key_a", .columns = {0, 1, 2}};
const ReadNode kB{.object = "key_b", .columns = {0, 1, 2}};
const ReadNode kC{.object = "key_c", .columns = {0, 1, 2}};
const ReadNode kHeapB{.object = "b", .columns = {0, 1, 2}};
JoinNode Inner(uint32_t left, uint32_t right, JoinNode::Key key) {
  return {.left = left, .right = right, .keys = {key}};
}

// a is joined with b, of which a filter on c leaves little.
TEST(JoinOrderTest, SmallJoinsComeFirstAndColumnsStayInOrder) {
  EXPECT_EQ(
      Ordered({kA, kB, Inner(0, 1, {1, 0}), kC, FilterNode{3, Is(1, 5)}, Inner(2, 4, {4, 0})}), R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: read key_c [0 1 2]
3: filter 2 (= #1 5)
4: join inner 1 3 [1=0]
5: join inner 0 4 [1=0]
)");
}

TEST(JoinOrderTest, EqualitiesAreTransitive) {
  // a.1 = b.0 and a.1 = c.0, so b.0 = c.0.
  EXPECT_EQ(
      Ordered({kA, kB, Inner(0, 1, {1, 0}), kC, FilterNode{3, Is(1, 5)}, Inner(2, 4, {1, 0})}), R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: read key_c [0 1 2]
3: filter 2 (= #1 5)
4: join inner 1 3 [0=0]
5: join inner 0 4 [1=3]
)");
}

TEST(JoinOrderTest, TwoEqualColumnsOfAnInputAreAFilter) {
  JoinNode join = Inner(0, 1, {0, 0});
  join.keys.push_back({1, 0});
  EXPECT_EQ(Ordered({kA, kB, join}), R"(
0: read key_a [0 1 2]
1: filter 0 (= #0 #1)
2: read key_b [0 1 2]
3: join inner 1 2 [1=0]
)");
}

TEST(JoinOrderTest, ConditionsComeOnceTheirInputsAreTogether) {
  JoinNode first = Inner(0, 1, {1, 0});
  first.condition = Field(2) < Field(5);
  JoinNode second = Inner(2, 4, {4, 0});
  second.condition = Field(5) < Field(8) && Is(7, 1);
  EXPECT_EQ(Ordered({kA, kB, first, kC, FilterNode{3, Is(1, 5)}, second}), R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: read key_c [0 1 2]
3: filter 2 (= #1 5)
4: filter 3 (= #1 1)
5: join inner 1 4 [1=0] (< #2 #5)
6: join inner 0 5 [1=0] (< #2 #5)
)");
}

TEST(JoinOrderTest, WhatCanFailComesAfterAllJoins) {
  JoinNode first = Inner(0, 1, {1, 0});
  first.condition = Field(2) + Literal(1) < Field(5);
  EXPECT_EQ(Ordered({kA, kB, first, kC, FilterNode{3, Is(1, 5)}, Inner(2, 4, {4, 0})}), R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: read key_c [0 1 2]
3: filter 2 (= #1 5)
4: join inner 1 3 [1=0]
5: join inner 0 4 [1=0]
6: filter 5 (< (+ #2 1) #5)
)");
}

TEST(JoinOrderTest, ProjectionsOfColumnsAreLookedThrough) {
  EXPECT_EQ(Ordered({kA, kB, Inner(0, 1, {1, 0}), ProjectNode{2, {Field(4), Field(0)}}, kC,
                     FilterNode{4, Is(1, 5)}, Inner(3, 5, {0, 0})}),
            R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: read key_c [0 1 2]
3: filter 2 (= #1 5)
4: join inner 1 3 [1=0]
5: join inner 0 4 [1=0]
6: project 5 [#4 #0 #6 #7 #8]
)");
}

TEST(JoinOrderTest, ASemiJoinMovesToTheInputOfItsKey) {
  const AggregateNode groups{3, {0}, {Measure{}}};
  const FilterNode few{4, Field(1) > Literal(3)};
  EXPECT_EQ(Ordered({kA, kB, Inner(0, 1, {1, 0}), kC, groups, few,
                     JoinNode{2, 5, JoinType::kSemi, {{0, 0}}}}),
            R"(
0: read key_a [0 1 2]
1: read key_c [0 1 2]
2: aggregate 1 keys [0] measures [count()]
3: filter 2 (> #1 3)
4: join semi 0 3 [0=0]
5: read key_b [0 1 2]
6: join inner 4 5 [1=0]
)");
}

TEST(JoinOrderTest, ASemiJoinThatDropsNothingStaysAbove) {
  const JoinNode semi{.left = 5, .right = 6, .type = JoinType::kSemi, .keys = {{0, 0}}};
  EXPECT_EQ(Ordered({kA, kB, kC, FilterNode{2, Is(1, 5)}, Inner(0, 1, {1, 0}), Inner(4, 3, {4, 0}),
                     kA, semi}),
            R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: read key_c [0 1 2]
3: filter 2 (= #1 5)
4: join inner 1 3 [1=0]
5: join inner 0 4 [1=0]
6: read key_a [0 1 2]
7: join semi 5 6 [0=0]
)");
}

TEST(JoinOrderTest, ASemiJoinWhoseConditionCanFailStaysAbove) {
  JoinNode semi{.left = 2, .right = 3, .type = JoinType::kSemi, .keys = {{0, 0}}};
  semi.condition = Field(1) + Literal(1) < Field(7);
  EXPECT_EQ(Ordered({kA, kB, Inner(0, 1, {1, 0}), kC, semi}), R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: join inner 0 1 [1=0]
3: read key_c [0 1 2]
4: join semi 2 3 [0=0] (< (+ #1 1) #7)
)");
}

TEST(JoinOrderTest, OneRowIsJoinedWithoutKeys) {
  const AggregateNode one{1, {}, {Measure{}}};
  const JoinNode cross{.left = 0, .right = 2};
  EXPECT_EQ(Ordered({kA, kC, one, cross, kB, Inner(3, 4, {1, 0})}), R"(
0: read key_a [0 1 2]
1: read key_c [0 1 2]
2: aggregate 1 keys [] measures [count()]
3: read key_b [0 1 2]
4: join inner 3 2 []
5: join inner 0 4 [1=0]
6: project 5 [#0 #1 #2 #6 #3 #4 #5]
)");
}

TEST(JoinOrderTest, AnInputThatSeveralUseStaysOneNode) {
  const JoinNode shared = Inner(0, 1, {1, 0});
  EXPECT_EQ(Ordered({kA, kB, shared, kC, Inner(2, 3, {1, 0}), Inner(2, 4, {0, 0})}), R"(
0: read key_a [0 1 2]
1: read key_b [0 1 2]
2: join inner 0 1 [1=0]
3: read key_c [0 1 2]
4: join inner 2 3 [1=0]
5: join inner 2 4 [0=0]
)");
}

TEST(JoinOrderTest, ATreeWithMoreColumnsThanANodeMayHaveStays) {
  const ReadNode wide{.object = "wide"};
  const ProjectNode some{2, {Field(0), Field(1), Field(2)}};
  const std::vector<PlanNode> nodes = {wide,
                                       kA,
                                       Inner(0, 1, {0, 0}),
                                       some,
                                       wide,
                                       ProjectNode{4, {Field(0)}},
                                       Inner(3, 5, {0, 0}),
                                       wide,
                                       Inner(6, 7, {0, 0})};
  EXPECT_EQ(Ordered(nodes), R"(
0: read wide []
1: read key_a [0 1 2]
2: read wide []
3: project 2 [#0]
4: join inner 0 1 [0=0]
5: join inner 4 3 [200=0]
6: project 5 [#0 #1 #2 #203]
7: read wide []
8: join inner 6 7 [0=0]
)");
}

}  // namespace
}  // namespace eris::engine
