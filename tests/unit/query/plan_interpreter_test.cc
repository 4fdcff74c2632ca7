// Nodes of plans in the oracle, with rows computed by hand.
#include "tests/support/plan/plan_interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/unit/query/plan_oracle_fixture.h"

namespace eris::test {
namespace {

using namespace expressions;  // NOLINT: as their users do
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

QueryPlan PlanOf(std::vector<PlanNode> nodes) { return {.nodes = std::move(nodes), .names = {}}; }

// l: (1, 10), (2, 20), (null, 30), (2, 21); r: (2, 20), (2, 5), (null, 30), (3, 0).
PlanTables TwoTables() {
  return {
      {"l",
       TableOf({kI64, kI64},
               {{Int(1), Int(10)}, {Int(2), Int(20)}, {NullInt(), Int(30)}, {Int(2), Int(21)}})},
      {"r",
       TableOf({kI64, kI64},
               {{Int(2), Int(20)}, {Int(2), Int(5)}, {NullInt(), Int(30)}, {Int(3), Int(0)}})}};
}
std::vector<std::string> Joined(JoinNode join) {
  join.left = 0;
  join.right = 1;
  return Answered(PlanOf({ReadNode{.object = "l"}, ReadNode{.object = "r"}, std::move(join)}),
                  TwoTables());
}

TEST(PlanInterpreterTest, ReadsHandOutTheColumnsAskedFor) {
  const PlanTables tables = {{"t", TableOf({kI64, kText}, {{Int(1), TextCell("a")}})}};
  EXPECT_THAT(Answered(PlanOf({ReadNode{.object = "t"}}), tables), ElementsAre("1 | 'a'"));
  EXPECT_THAT(Answered(PlanOf({ReadNode{.object = "t", .columns = {1, 0}}}), tables),
              ElementsAre("'a' | 1"));
}

TEST(PlanInterpreterTest, FiltersKeepRowsForWhichTheConditionIsTrue) {
  const PlanTables tables = {{"t", TableOfInts({Int(1), NullInt(), Int(2)})}};
  const Expression one = Equal(Field(0), Literal(1));
  EXPECT_THAT(Answered(PlanOf({ReadNode{.object = "t"}, FilterNode{0, one}}), tables),
              ElementsAre("1"));
  EXPECT_THAT(Answered(PlanOf({ReadNode{.object = "t"}, FilterNode{0, !one}}), tables),
              ElementsAre("2"));
}

TEST(PlanInterpreterTest, NullKeysJoinNothing) {
  EXPECT_THAT(Joined({.keys = {{0, 0}}}),
              UnorderedElementsAre("2 | 20 | 2 | 20", "2 | 20 | 2 | 5", "2 | 21 | 2 | 20",
                                   "2 | 21 | 2 | 5"));
  EXPECT_THAT(Joined({.type = JoinType::kLeft, .keys = {{0, 0}, {1, 1}}}),
              UnorderedElementsAre("1 | 10 | null | null", "2 | 20 | 2 | 20",
                                   "null | 30 | null | null", "2 | 21 | null | null"));
}

TEST(PlanInterpreterTest, AntiJoinIsNotExists) {
  EXPECT_THAT(Joined({.type = JoinType::kAnti, .keys = {{0, 0}}}),
              UnorderedElementsAre("1 | 10", "null | 30"));
  // With a partner whose second column is below 10.
  const Expression residual = Field(3) < Literal(10) && Field(1) > Literal(20);
  EXPECT_THAT(Joined({.type = JoinType::kAnti, .keys = {{0, 0}}, .condition = residual}),
              UnorderedElementsAre("1 | 10", "null | 30", "2 | 20"));
  EXPECT_THAT(Joined({.type = JoinType::kSemi, .keys = {{0, 0}}, .condition = residual}),
              UnorderedElementsAre("2 | 21"));
}

TEST(PlanInterpreterTest, SemiJoinHandsOutARowOnce) {
  EXPECT_THAT(Joined({.type = JoinType::kSemi, .keys = {{0, 0}}}),
              UnorderedElementsAre("2 | 20", "2 | 21"));
}

TEST(PlanInterpreterTest, LeftJoinAsksItsConditionBeforeItAddsNulls) {
  const Expression residual = Field(3) > Literal(10);
  EXPECT_THAT(Joined({.type = JoinType::kLeft, .keys = {{0, 0}}, .condition = residual}),
              UnorderedElementsAre("1 | 10 | null | null", "2 | 20 | 2 | 20",
                                   "null | 30 | null | null", "2 | 21 | 2 | 20"));
}

TEST(PlanInterpreterTest, DoublesAreKeysAsTheyCompare) {
  const PlanTables tables = {
      {"l", TableOf({kF64}, {{RealCell(kNan)}, {RealCell(-0.0)}, {RealCell(2)}})},
      {"r", TableOf({kF64}, {{RealCell(kNan)}, {RealCell(0.0)}})},
      {"i", TableOfInts({Int(0), Int(2)})}};
  const JoinNode join{.left = 0, .right = 1, .keys = {{0, 0}}};
  EXPECT_THAT(Answered(PlanOf({ReadNode{.object = "l"}, ReadNode{.object = "r"}, join}), tables),
              ElementsAre("-0 | 0"));
  EXPECT_THAT(Answered(PlanOf({ReadNode{.object = "l"}, ReadNode{.object = "i"}, join}), tables),
              ElementsAre("-0 | 0", "2 | 2"));
}

TEST(PlanInterpreterTest, WithoutKeysTheRightSideHasOneRowAtMost) {
  PlanTables tables = TwoTables();
  tables["one"] = TableOfInts({Int(9)});
  tables["none"] = TableOfInts({});
  const auto joined = [&](const char* right, JoinType type) {
    return Answered(PlanOf({ReadNode{.object = "l", .columns = {1}}, ReadNode{.object = right},
                            JoinNode{.left = 0, .right = 1, .type = type}}),
                    tables);
  };
  EXPECT_THAT(joined("one", JoinType::kInner), ElementsAre("10 | 9", "20 | 9", "30 | 9", "21 | 9"));
  EXPECT_THAT(joined("none", JoinType::kInner), IsEmpty());
  EXPECT_EQ(joined("none", JoinType::kLeft)[0], "10 | null");
  EXPECT_EQ(joined("none", JoinType::kAnti).size(), 4u);
  EXPECT_THAT(joined("r", JoinType::kInner), ElementsAre("fails"));
}

QueryPlan AggregatePlan(std::vector<uint32_t> keys, std::vector<Measure> measures) {
  return PlanOf(
      {ReadNode{.object = "t"},
       AggregateNode{.input = 0, .keys = std::move(keys), .measures = std::move(measures)}});
}
Measure Of(AggregateFunction function, uint32_t field, bool distinct = false) {
  return {.function = function, .argument = Field(field), .distinct = distinct};
}
const std::vector<Measure> kAllMeasures = {Measure{},
                                           Of(AggregateFunction::kCount, 0),
                                           Of(AggregateFunction::kSum, 0),
                                           Of(AggregateFunction::kMin, 0),
                                           Of(AggregateFunction::kMax, 0),
                                           Of(AggregateFunction::kAverage, 0)};

TEST(PlanInterpreterTest, AggregatesPassNullsOverButCountRows) {
  const PlanTables tables = {{"t", TableOfInts({Int(4), NullInt(), Int(1), Int(4)})}};
  EXPECT_THAT(Answered(AggregatePlan({}, kAllMeasures), tables),
              ElementsAre("4 | 3 | 9 | 1 | 4 | 3"));
}

TEST(PlanInterpreterTest, WithoutKeysThereIsOneRowEvenOfNone) {
  const PlanTables tables = {{"t", TableOfInts({})}};
  EXPECT_THAT(Answered(AggregatePlan({}, kAllMeasures), tables),
              ElementsAre("0 | 0 | null | null | null | null"));
  EXPECT_THAT(Answered(AggregatePlan({0}, kAllMeasures), tables), IsEmpty());
}

TEST(PlanInterpreterTest, DistinctTakesEachValueOnce) {
  const PlanTables tables = {{"t", TableOfInts({Int(4), NullInt(), Int(1), Int(4)})}};
  EXPECT_THAT(Answered(AggregatePlan({}, {Of(AggregateFunction::kCount, 0, true),
                                          Of(AggregateFunction::kSum, 0, true),
                                          Of(AggregateFunction::kAverage, 0, true)}),
                       tables),
              ElementsAre("2 | 5 | 2.5"));
}

TEST(PlanInterpreterTest, NullsNansAndZerosAreOneGroupEach) {
  const PlanTables tables = {{"t", TableOf({kF64}, {{RealCell(kNan)},
                                                    {NullCell(kF64)},
                                                    {RealCell(-0.0)},
                                                    {RealCell(0.0)},
                                                    {NullCell(kF64)},
                                                    {RealCell(-kNan)}})}};
  EXPECT_THAT(Answered(AggregatePlan({0}, {Measure{}}), tables),
              ElementsAre("null | 2", "-0 | 2", "NaN | 2"));
  EXPECT_THAT(
      Answered(AggregatePlan({}, {Of(AggregateFunction::kMin, 0), Of(AggregateFunction::kMax, 0),
                                  Of(AggregateFunction::kCount, 0, true)}),
               tables),
      ElementsAre("-0 | NaN | 2"));
}

TEST(PlanInterpreterTest, StringsHaveMinimaAndMaxima) {
  const PlanTables tables = {
      {"t", TableOf({kText}, {{TextCell("b")}, {NullCell(kText)}, {TextCell("a")}})}};
  EXPECT_THAT(
      Answered(AggregatePlan({}, {Of(AggregateFunction::kMin, 0), Of(AggregateFunction::kMax, 0)}),
               tables),
      ElementsAre("'a' | 'b'"));
}

TEST(PlanInterpreterTest, SumsAreExactAndWide) {
  const CellType decimal{ColumnType::kDecimal, 2};
  const PlanTables tables = {
      {"t", TableOf({kI64, decimal},
                    {{Int(INT64_MAX), DecimalCell(5, 2)}, {Int(INT64_MAX), DecimalCell(6, 2)}})}};
  EXPECT_THAT(
      Answered(AggregatePlan({}, {Of(AggregateFunction::kSum, 0), Of(AggregateFunction::kSum, 1)}),
               tables),
      ElementsAre("18446744073709551614 | 0.11"));
}

TEST(PlanInterpreterTest, SumsOfWideNumbersFailOnlyAtTheirEnd) {
  const CellType wide{ColumnType::kInt128};
  const auto sum = [&](Int128 last) {
    const PlanTables tables = {{"t", TableOf({wide}, {{NumberCell(wide, kInt128Largest)},
                                                      {NumberCell(wide, kInt128Largest)},
                                                      {NumberCell(wide, last)}})}};
    return Answered(AggregatePlan({}, {Of(AggregateFunction::kSum, 0)}), tables);
  };
  EXPECT_THAT(sum(-kInt128Largest), ElementsAre(DigitsText(DigitsOf(kInt128Largest, 0))));
  EXPECT_THAT(sum(0), ElementsAre("fails"));
}

TEST(PlanInterpreterTest, SumsOfDoublesSayHowExactTheyAre) {
  const auto sum = [](std::vector<double> reals) {
    std::vector<Cells> rows;
    for (const double real : reals) rows.push_back({RealCell(real)});
    return Interpret(AggregatePlan({}, {Of(AggregateFunction::kSum, 0)}),
                     {{"t", TableOf({kF64}, std::move(rows))}})
        ->rows[0][0];
  };
  EXPECT_EQ(sum({0.5, 0.25, -4}).slack, 0);
  EXPECT_EQ(sum({0.1}).slack, 0);
  EXPECT_GT(sum({0.1, 0.2}).slack, 0);
  EXPECT_LT(sum({0.1, 0.2}).slack, 1e-15);
  EXPECT_GT(sum({1e300, 1, -1e300}).slack, 1);
  EXPECT_TRUE(CompareTotally(sum({HUGE_VAL, 1, -HUGE_VAL}), RealCell(kNan)) == 0);
}

std::vector<std::string> SortedBy(SortKey key) {
  key.column = 0;
  const PlanTables tables = {{"t", TableOfInts({Int(2), NullInt(), Int(1)})}};
  return Answered(PlanOf({ReadNode{.object = "t"}, SortNode{0, {key}}}), tables);
}

TEST(PlanInterpreterTest, UnionsHaveTheRowsOfAllInputs) {
  const PlanTables tables = {{"t", TableOfInts({Int(1), NullInt()})}, {"u", TableOfInts({Int(1)})}};
  const PlanNode t = ReadNode{.object = "t"};
  const PlanNode u = ReadNode{.object = "u"};
  EXPECT_THAT(Answered(PlanOf({t, u, UnionNode{{0, 1, 0}}}), tables),
              ElementsAre("1", "null", "1", "1", "null"));
  EXPECT_THAT(Answered(PlanOf({t, ProjectNode{0, {Cast(Field(0), ColumnType::kFloat64)}},
                               UnionNode{{0, 1}}}),
                       tables),
              ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(Answered(PlanOf({t, UnionNode{}}), tables), ElementsAre("INVALID_ARGUMENT"));
}

TEST(PlanInterpreterTest, ValuesAreTheirRows) {
  const ValuesNode values{.columns = {{.type = ColumnType::kInt32, .nullable = true}},
                          .rows = {{int64_t{1}}, {{}}, {int64_t{1}}}};
  EXPECT_THAT(Answered(PlanOf({values}), {}), ElementsAre("1", "null", "1"));
  EXPECT_THAT(Answered(PlanOf({ValuesNode{}}), {}), ElementsAre("INVALID_ARGUMENT"));
}

TEST(PlanInterpreterTest, SortsPutNullsWhereTheyAreAskedFor) {
  EXPECT_THAT(SortedBy({}), ElementsAre("1", "2", "null"));
  EXPECT_THAT(SortedBy({.nulls_first = true}), ElementsAre("null", "1", "2"));
  EXPECT_THAT(SortedBy({.descending = true}), ElementsAre("2", "1", "null"));
  EXPECT_THAT(SortedBy({.descending = true, .nulls_first = true}), ElementsAre("null", "2", "1"));
}

TEST(PlanInterpreterTest, LimitsAtTheEndAreTakenTogether) {
  const PlanTables tables = {{"t", TableOfInts({Int(3), Int(1), Int(2), Int(5), Int(4)})}};
  const QueryPlan plan = PlanOf({ReadNode{.object = "t"}, SortNode{0, {{.column = 0}}},
                                 LimitNode{1, 1, 3}, LimitNode{2, 2, 5}});
  const auto answer = Interpret(plan, tables);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->offset, 3u);
  EXPECT_EQ(answer->count, 1u);
  EXPECT_EQ(answer->order.size(), 1u);
  EXPECT_EQ(answer->rows.size(), 5u);
  EXPECT_EQ(RunWithFault(plan, tables, PlanFault::kNone)->at(0)[0].number, 4);
}

TEST(PlanInterpreterTest, ProjectionsKeepTheOrder) {
  const PlanTables tables = {
      {"t", TableOf({kI64, kI64}, {{Int(3), Int(7)}, {Int(1), Int(8)}, {Int(3), Int(9)}})}};
  const auto plan = [](Expression column) {
    return PlanOf({ReadNode{.object = "t"}, SortNode{0, {{.column = 0}}}, LimitNode{1, 0, 9},
                   ProjectNode{2, {std::move(column)}}, LimitNode{3, 1, 2}});
  };
  const auto visible = Interpret(plan(Field(0)), tables);
  ASSERT_TRUE(visible.ok());
  EXPECT_THAT(visible->order, ElementsAre(SortKey{.column = 0}));
  const auto hidden = Interpret(plan(Field(1)), tables);
  ASSERT_TRUE(hidden.ok());
  EXPECT_THAT(hidden->order, IsEmpty());
  EXPECT_THAT(hidden->ranks, ElementsAre(0u, 1u, 1u));
  EXPECT_EQ(hidden->offset, 1u);
  EXPECT_EQ(hidden->count, 2u);
  EXPECT_THAT(Answered(plan(Field(1)), tables), ElementsAre("8", "7", "9"));
}

TEST(PlanInterpreterTest, LimitsBelowOthersAreDeterminedByTheirOrder) {
  const auto determined = [](std::vector<Cell> cells, bool sorted) {
    QueryPlan plan = PlanOf({ReadNode{.object = "t"}});
    if (sorted) plan.nodes.push_back(SortNode{0, {{.column = 0}}});
    const auto last = static_cast<uint32_t>(plan.nodes.size() - 1);
    plan.nodes.push_back(LimitNode{last, 0, 2});
    plan.nodes.push_back(FilterNode{last + 1, !IsNull(Field(1))});
    std::vector<Cells> rows;
    for (size_t i = 0; i < cells.size(); ++i) rows.push_back({cells[i], Int(i % 2)});
    return Interpret(plan, {{"t", TableOf({kI64, kI64}, std::move(rows))}})->notes.determined;
  };
  EXPECT_TRUE(determined({Int(1), Int(2), Int(3)}, true));
  EXPECT_TRUE(determined({Int(1), Int(1), Int(3)}, true));
  EXPECT_FALSE(determined({Int(1), Int(2), Int(2)}, true));
  EXPECT_FALSE(determined({Int(1), Int(2), Int(3)}, false));
  EXPECT_TRUE(determined({Int(1), Int(2)}, false));
}

QueryPlan WithSubquery(Expression condition) {
  return PlanOf({ReadNode{.object = "t"}, FilterNode{0, std::move(condition)},
                 ReadNode{.object = "u"}, ProjectNode{2, {Field(0), Subquery(1)}}});
}

TEST(PlanInterpreterTest, SubqueryWithoutARowIsNull) {
  const PlanTables tables = {{"t", TableOfInts({Int(7), Int(8)})}, {"u", TableOfInts({Int(1)})}};
  EXPECT_THAT(Answered(WithSubquery(Equal(Field(0), Literal(7))), tables), ElementsAre("1 | 7"));
  EXPECT_THAT(Answered(WithSubquery(Equal(Field(0), Literal(9))), tables), ElementsAre("1 | null"));
}

TEST(PlanInterpreterTest, SubqueryOfTwoRowsFails) {
  PlanTables tables = {{"t", TableOfInts({Int(7), Int(8)})}, {"u", TableOfInts({Int(1)})}};
  const QueryPlan plan = WithSubquery(Field(0) > Literal(0));
  EXPECT_THAT(Answered(plan, tables), ElementsAre("fails"));
  tables["u"].rows.clear();
  const auto answer = Interpret(plan, tables);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->fails);
  EXPECT_EQ(answer->notes.possible.count(absl::StatusCode::kInvalidArgument), 1u);
}

TEST(PlanInterpreterTest, FailedRowsThatALaterNodeDropsDoNoHarm) {
  const PlanTables tables = {{"t", TableOfInts({Int(INT64_MAX), Int(1)})}};
  const Expression fails_for_one = Field(0) + Literal(1) > Literal(0);
  const QueryPlan plan = PlanOf({ReadNode{.object = "t"}, FilterNode{0, fails_for_one},
                                 FilterNode{1, Field(0) < Literal(5)}});
  EXPECT_THAT(Answered(plan, tables), ElementsAre("1"));
  EXPECT_EQ(Interpret(plan, tables)->notes.possible.size(), 1u);
  const QueryPlan whole = PlanOf({ReadNode{.object = "t"}, FilterNode{0, fails_for_one}});
  EXPECT_THAT(Answered(whole, tables), ElementsAre("fails"));
  const QueryPlan unused =
      PlanOf({ReadNode{.object = "t"}, ProjectNode{0, {Field(0), Field(0) + Literal(1)}},
              ProjectNode{1, {Field(0)}}});
  EXPECT_THAT(Answered(unused, tables), ElementsAre("9223372036854775807", "1"));
}

TEST(PlanInterpreterTest, LimitsMayLeaveFailedRowsOut) {
  const PlanTables tables = {{"t", TableOfInts({Int(INT64_MAX), Int(1)})}};
  const QueryPlan plan = PlanOf(
      {ReadNode{.object = "t"}, ProjectNode{0, {Field(0) + Literal(1)}}, LimitNode{1, 0, 1}});
  const auto answer = Interpret(plan, tables);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->fails);
  EXPECT_FALSE(answer->notes.determined);
  EXPECT_EQ(answer->notes.possible.count(absl::StatusCode::kOutOfRange), 1u);
}

TEST(PlanInterpreterTest, TypesOtherThanTheHeadersSayAreFound) {
  const PlanTables tables = {{"t", TableOfInts({Int(1)})}};
  const QueryPlan plan =
      PlanOf({ReadNode{.object = "t"}, ProjectNode{0, {Field(0) * Literal(Decimal{1, 2})}}});
  std::vector<Schema> schemas = SchemasOf(plan, tables).value();
  EXPECT_EQ(schemas[1].columns[0].type, ColumnType::kDecimal);
  EXPECT_EQ(schemas[1].columns[0].scale, 2);
  EXPECT_TRUE(Interpret(plan, tables, schemas).ok());
  schemas[1].columns[0].scale = 3;
  EXPECT_EQ(Interpret(plan, tables, schemas).status().code(), absl::StatusCode::kInternal);
}

TEST(PlanInterpreterTest, WhatTheHeadersDoNotAllowIsInvalid) {
  const PlanTables tables = {{"t", TableOf({kI64, kText}, {})}};
  const auto code = [&](std::vector<PlanNode> nodes) {
    return Answered(PlanOf(std::move(nodes)), tables);
  };
  const PlanNode read = ReadNode{.object = "t"};
  EXPECT_THAT(code({ReadNode{.object = "u"}}), ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, FilterNode{0, Field(0)}}), ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, FilterNode{1, IsNull(Field(0))}}), ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, ProjectNode{0, {Field(2)}}}), ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, ProjectNode{0, {Column("c0")}}}), ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, ProjectNode{0, {Field(0) + Field(1)}}}), ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, ProjectNode{0, {Subquery(0)}}}), ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, JoinNode{.left = 0, .right = 0, .keys = {{0, 1}}}}),
              ElementsAre("INVALID_ARGUMENT"));
  EXPECT_THAT(code({read, AggregateNode{0, {}, {Of(AggregateFunction::kSum, 1)}}}),
              ElementsAre("INVALID_ARGUMENT"));
}

}  // namespace
}  // namespace eris::test
