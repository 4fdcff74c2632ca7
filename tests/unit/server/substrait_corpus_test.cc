// The reader on the plans of TPC-H's queries that DataFusion and DuckDB have made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/substrait/plan_reader.h"
#include "tests/support/query_plan_check.h"
#include "tests/support/query_plan_text.h"
#include "tests/support/tpch_plans.h"
#include "tests/support/tpch_tables.h"

namespace eris::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string TextOfPlan(const std::string& name) {
  const auto plan = PlanFromSubstrait(test::ReadTpchPlan(name), test::TpchSchema);
  return plan.ok() ? "\n" + test::TextOf(*plan) : plan.status().ToString();
}

TEST(SubstraitCorpusTest, EveryPlanIsRead) {
  constexpr size_t kPlans = 22 + 15;
  const auto plans = test::ReadTpchPlans();
  EXPECT_EQ(plans.size(), kPlans);
  for (const test::TpchPlan& file : plans) {
    const auto plan = PlanFromSubstrait(file.bytes, test::TpchSchema);
    ASSERT_TRUE(plan.ok()) << file.name << ": " << plan.status();
    EXPECT_EQ(test::QueryPlanCheck::Run(*plan, test::TpchSchema), absl::OkStatus()) << file.name;
    EXPECT_FALSE(plan->names.empty()) << file.name;
  }
}

TEST(SubstraitCorpusTest, ConjunctionIsOneOperation) {
  EXPECT_EQ(TextOfPlan("datafusion/q06.plan"), R"(
0: read lineitem [4 5 6 10]
1: filter 0 (and (>= #3 date:8766) (< #3 date:9131) (>= #2 5e-2) (<= #2 7e-2) (< #0 2400e-2))
2: aggregate 1 keys [] measures [sum((* #1 #2))]
)");
}

TEST(SubstraitCorpusTest, FilterOfAReadNamesColumnsThatItDoesNotHandOut) {
  EXPECT_EQ(TextOfPlan("duckdb/q06.plan"), R"(
0: read lineitem [6 5 4 10]
1: filter 0 (and (< #2 2400e-2) (not (is_null #2)) (>= #0 5e-2) (<= #0 7e-2) (not (is_null #0)) (>= #3 date:8766) (< #3 date:9131) (not (is_null #3)))
2: aggregate 1 keys [] measures [sum((* #1 #0))]
)");
}

TEST(SubstraitCorpusTest, ProjectAboveAnAggregateIsBelowTheSort) {
  EXPECT_EQ(TextOfPlan("datafusion/q03.plan"), R"(
0: read customer [0 6]
1: filter 0 (= #1 'BUILDING')
2: read orders [0 1 4 7]
3: filter 2 (< #2 date:9204)
4: join inner 1 3 [0=1]
5: read lineitem [0 5 6 10]
6: filter 5 (> #3 date:9204)
7: join inner 4 6 [2=0]
8: aggregate 7 keys [6 4 5] measures [sum((* #7 (- 1e-0 #8)))]
9: project 8 [#0 #3 #1 #2]
10: sort 9 [1 desc first 2]
11: limit 10 0 10
)");
  const auto plan = PlanFromSubstrait(test::ReadTpchPlan("datafusion/q03.plan"), test::TpchSchema);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->names, ElementsAre("l_orderkey", "revenue", "o_orderdate", "o_shippriority"));
}

TEST(SubstraitCorpusTest, OldFetchCountsRows) {
  EXPECT_EQ(TextOfPlan("duckdb/q03.plan"), R"(
0: read lineitem [0 5 6 10]
1: filter 0 (and (> #3 date:9204) (not (is_null #3)))
2: read orders [1 0 4 7]
3: filter 2 (and (< #2 date:9204) (not (is_null #2)))
4: read customer [0 6]
5: filter 4 (and (= #1 'BUILDING') (not (is_null #1)))
6: filter 5 (<= #0 1499)
7: join inner 3 6 [0=0]
8: join inner 1 7 [0=1]
9: aggregate 8 keys [5 6 7] measures [sum((* #1 (- 100e-2 #2)))]
10: project 9 [#0 #3 #1 #2]
11: sort 10 [1 desc 2]
12: limit 11 0 10
)");
}

TEST(SubstraitCorpusTest, LeftJoinCountsOrdersThatExist) {
  EXPECT_EQ(TextOfPlan("datafusion/q13.plan"), R"(
0: read customer [0]
1: read orders [0 1 8]
2: filter 1 (not (like #2 '%special%requests%'))
3: join left 0 2 [0=1]
4: aggregate 3 keys [0] measures [count(#1)]
5: aggregate 4 keys [1] measures [count()]
6: sort 5 [1 desc first 0 desc first]
)");
}

TEST(SubstraitCorpusTest, RightJoinIsALeftJoinOfTheOtherSide) {
  EXPECT_EQ(TextOfPlan("duckdb/q13.plan"), R"(
0: read orders [1 8 0]
1: filter 0 (!= #1 '%special%requests%')
2: read customer [0]
3: join left 2 1 [0=0]
4: aggregate 3 keys [0] measures [count(#3)]
5: aggregate 4 keys [1] measures [count()]
6: sort 5 [1 desc 0 desc]
)");
}

TEST(SubstraitCorpusTest, CountOfDistinctValuesIsTwoAggregates) {
  EXPECT_EQ(TextOfPlan("datafusion/q16.plan"), R"(
0: read partsupp [0 1]
1: read part [0 3 4 5]
2: filter 1 (and (!= #1 'Brand#45') (in #3 49 14 23 45 19 3 36 9) (not (like #2 'MEDIUM POLISHED%')))
3: join inner 0 2 [0=0]
4: read supplier [0 6]
5: filter 4 (like #1 '%Customer%Complaints%')
6: join anti 3 5 [1=0]
7: aggregate 6 keys [3 4 5 1] measures []
8: aggregate 7 keys [0 1 2] measures [count(#3)]
9: sort 8 [3 desc first 0 1 2]
)");
}

TEST(SubstraitCorpusTest, SubqueryIsANodeBeforeItsFilter) {
  EXPECT_EQ(TextOfPlan("datafusion/q15.plan"), R"(
0: read supplier [0 1 2 4]
1: read lineitem [2 5 6 10]
2: filter 1 (and (>= #3 date:9496) (< #3 date:9587))
3: aggregate 2 keys [0] measures [sum((* #1 (- 1e-0 #2)))]
4: read lineitem [2 5 6 10]
5: filter 4 (and (>= #3 date:9496) (< #3 date:9587))
6: aggregate 5 keys [0] measures [sum((* #1 (- 1e-0 #2)))]
7: aggregate 6 keys [] measures [max(#1)]
8: filter 3 (= #1 $7)
9: join inner 0 8 [0=0]
10: project 9 [#0 #1 #2 #3 #5]
11: sort 10 [0]
)");
  EXPECT_THAT(TextOfPlan("datafusion/q11.plan"),
              HasSubstr("13: aggregate 12 keys [] measures [sum((* #2 (cast:decimal:0 #1)))]\n"
                        "14: project 13 [(cast:int128:15 (* (cast:float64:0 #0) double:0.0001))]\n"
                        "15: filter 6 (> (cast:int128:15 #1) $14)\n"));
}

// DuckDB joins with a row instead of a subquery.
TEST(SubstraitCorpusTest, JoinWithoutKeysHasACondition) {
  EXPECT_THAT(TextOfPlan("duckdb/q11.plan"),
              HasSubstr("15: aggregate 14 keys [] measures [max(#0)]\n"
                        "16: join inner 6 15 [] (> (cast:int128:6 #1) #2)\n"));
}

TEST(SubstraitCorpusTest, SemiJoinsKeepWhatIsNoKeyAsCondition) {
  EXPECT_THAT(TextOfPlan("datafusion/q20.plan"),
              HasSubstr("12: join semi 7 11 [0=1 1=2] (> (cast:float64:0 #2) #3)\n"));
  EXPECT_THAT(TextOfPlan("datafusion/q21.plan"),
              HasSubstr("14: join anti 11 13 [3=0] (!= #12 #4)\n"));
}

}  // namespace
}  // namespace eris::server
