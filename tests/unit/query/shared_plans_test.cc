#include "engine/query/planner/shared_plans.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/query/planner_fixture.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

std::string Shared(std::vector<PlanNode> nodes) {
  return "\n" + test::TextOf(WithSharedNodes(test::PlanOf(std::move(nodes))));
}

const ReadNode kA{.object = "a"};

TEST(SharedPlansTest, EqualAggregatesAreOne) {
  const auto filter = [](uint32_t input) { return FilterNode{input, Field(0) > Literal(1)}; };
  const auto sum = [](uint32_t input) {
    return AggregateNode{input, {0}, {{.function = AggregateFunction::kSum, .argument = Field(1)}}};
  };
  EXPECT_EQ(Shared({kA, filter(0), sum(1), kA, filter(3), sum(4),
                    JoinNode{.left = 2, .right = 5, .keys = {{0, 1}}}}),
            R"(
0: read a []
1: filter 0 (> #0 1)
2: aggregate 1 keys [0] measures [sum(#1)]
3: join inner 2 2 [0=1]
)");
}

TEST(SharedPlansTest, ReadsFiltersAndProjectionsStayApart) {
  const auto filter = [](uint32_t input) { return FilterNode{input, Field(0) > Literal(1)}; };
  EXPECT_EQ(
      Shared({kA, filter(0), kA, filter(2), JoinNode{.left = 1, .right = 3, .keys = {{0, 0}}}}),
      R"(
0: read a []
1: filter 0 (> #0 1)
2: read a []
3: filter 2 (> #0 1)
4: join inner 1 3 [0=0]
)");
}

TEST(SharedPlansTest, ValuesAreComparedByTheirBits) {
  const auto values = [](double real) {
    return ValuesNode{.columns = {{.type = ColumnType::kFloat64}}, .rows = {{real}}};
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Shared({values(nan), values(0.0), values(nan), values(-0.0), UnionNode{{0, 1, 2, 3}}}),
            R"(
0: values [float64:0] [[double:nan]]
1: values [float64:0] [[double:0]]
2: values [float64:0] [[double:-0]]
3: union [0 1 0 2]
)");
}

TEST(SharedPlansTest, AJoinBelowDifferentProjectionsIsOne) {
  const auto join = [](uint32_t at) {
    return JoinNode{.left = at, .right = at + 1, .keys = {{0, 0}}};
  };
  EXPECT_EQ(Shared({kA, kA, join(0), ProjectNode{2, {Field(1)}}, kA, kA, join(4),
                    ProjectNode{6, {Field(2)}}, JoinNode{.left = 3, .right = 7, .keys = {{0, 0}}}}),
            R"(
0: read a []
1: read a []
2: join inner 0 1 [0=0]
3: project 2 [#1]
4: project 2 [#2]
5: join inner 3 4 [0=0]
)");
}

TEST(SharedPlansTest, WhatDiffersInAnythingStaysApart) {
  const auto both = [](PlanNode one, PlanNode other) {
    const std::string text = Shared(
        {kA, std::move(one), std::move(other), JoinNode{.left = 1, .right = 2, .keys = {{0, 0}}}});
    return text.find("3: join") != std::string::npos;
  };
  const auto measure = [](Expression argument, bool distinct) {
    return AggregateNode{0,
                         {0},
                         {{.function = AggregateFunction::kMax,
                           .argument = std::move(argument),
                           .distinct = distinct}}};
  };
  EXPECT_FALSE(both(measure(Field(1), false), measure(Field(1), false)));
  EXPECT_TRUE(both(measure(Field(1), false), measure(Field(2), false)));
  EXPECT_TRUE(both(measure(Field(1), false), measure(Field(1), true)));
  EXPECT_TRUE(both(measure(Field(3) / Literal(Value(0.0)), false),
                   measure(Field(3) / Literal(Value(-0.0)), false)));
  EXPECT_TRUE(both(SortNode{0, {{.column = 0}}}, SortNode{0, {{.column = 0, .descending = true}}}));
  EXPECT_TRUE(both(LimitNode{0, 1, 2}, LimitNode{0, 0, 2}));
  EXPECT_TRUE(both(JoinNode{.left = 0, .right = 0, .keys = {{0, 0}}},
                   JoinNode{.left = 0, .right = 0, .type = JoinType::kLeft, .keys = {{0, 0}}}));
}

TEST(SharedPlansTest, SubqueriesAreShared) {
  const AggregateNode count{0, {}, {Measure{}}};
  EXPECT_EQ(
      Shared({kA, count, count, FilterNode{0, Field(0) > Subquery(1) && Field(1) > Subquery(2)}}),
      R"(
0: read a []
1: aggregate 0 keys [] measures [count()]
2: filter 0 (and (> #0 $1) (> #1 $1))
)");
}

}  // namespace
}  // namespace eris::engine
