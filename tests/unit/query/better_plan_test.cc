#include "engine/query/planner/better_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/query/planner_fixture.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

absl::StatusOr<QueryPlan> Better(const QueryPlan& plan) {
  return BetterPlan(plan, test::PlannedSchema, test::PlannedRows);
}

const ReadNode kA{.object = "key_a", .columns = {0, 1, 2}};
const ReadNode kB{.object = "key_b", .columns = {0, 1, 2}};

TEST(BetterPlanTest, AllRewritesComeTogether) {
  // The same groups twice, joined, below a filter on their key.
  const AggregateNode count{0, {1}, {Measure{}}};
  const QueryPlan plan = test::PlanOf({kA, count, kA, AggregateNode{2, {1}, {Measure{}}},
                                       JoinNode{.left = 1, .right = 3, .keys = {{0, 0}}}, kB,
                                       JoinNode{.left = 4, .right = 5, .keys = {{0, 0}}},
                                       FilterNode{6, Equal(Field(4), Literal(7))}});
  const auto better = Better(plan);
  ASSERT_TRUE(better.ok()) << better.status();
  EXPECT_EQ("\n" + test::TextOf(*better), R"(
0: read key_a [0 1 2]
1: aggregate 0 keys [1] measures [count()]
2: read key_b [0 1 2]
3: filter 2 (= #0 7)
4: join inner 1 3 [0=0]
5: join inner 4 1 [2=0]
6: project 5 [#0 #1 #5 #6 #2 #3 #4]
)");
}

TEST(BetterPlanTest, TheAnswersColumnsKeepTheirNames) {
  QueryPlan plan = test::PlanOf({kA, kB, JoinNode{.left = 0, .right = 1, .keys = {{1, 0}}},
                                 ProjectNode{2, {Field(4), Field(1), Literal(1)}}});
  auto better = Better(plan);
  ASSERT_TRUE(better.ok()) << better.status();
  EXPECT_EQ(better->names, (std::vector<std::string>{"y", "y_2", "expression"}));
  plan.names = {"one", "two", "three"};
  better = Better(plan);
  ASSERT_TRUE(better.ok()) << better.status();
  EXPECT_EQ(better->names, plan.names);
}

// A condition over both sides of so many parts.
Expression Large(uint32_t parts) {
  std::vector<Expression> either;
  for (uint32_t i = 0; i < parts; ++i) either.push_back(Field(1) < Field(4 + i % 2));
  return Of(Expression::Kind::kOr, std::move(either));
}

TEST(BetterPlanTest, ARewriteThatMakesAnExpressionTooLargeIsLeftOut) {
  const JoinNode join{.left = 0, .right = 1, .keys = {{1, 0}}, .condition = Large(1000)};
  const QueryPlan plan = test::PlanOf({kA, kB, join, FilterNode{2, Large(1001)}});
  const auto better = Better(plan);
  ASSERT_TRUE(better.ok()) << better.status();
  EXPECT_EQ(better->nodes.size(), plan.nodes.size());
  EXPECT_EQ(std::get<JoinNode>(better->nodes[2]).condition, join.condition);
}

TEST(BetterPlanTest, ErrorsNameTheNodesOfThePlanAsItIsGiven) {
  const QueryPlan plan = test::PlanOf({kA, kB, JoinNode{.left = 0, .right = 1, .keys = {{1, 0}}},
                                       FilterNode{2, Equal(Field(9), Literal(7))}});
  const auto better = Better(plan);
  EXPECT_TRUE(absl::IsInvalidArgument(better.status()));
  EXPECT_EQ(better.status().message().substr(0, 6), "node 3") << better.status();
}

}  // namespace
}  // namespace eris::engine
