// What Differs finds, and that it finds each planted fault in a plan made for it.
#include "tests/support/plan/plan_differs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/query/plan_oracle_fixture.h"

namespace eris::test {
namespace {

using namespace expressions;  // NOLINT: as their users do
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNanKey = std::numeric_limits<double>::quiet_NaN();

PlanAnswer AnswerOf(std::vector<Cells> rows) {
  PlanAnswer answer;
  for (const Cell& cell : rows.at(0)) answer.types.push_back(cell.type);
  answer.rows = std::move(rows);
  return answer;
}
PlanAnswer AnswerOfInts(const std::vector<int64_t>& numbers) {
  std::vector<Cells> rows;
  for (const int64_t number : numbers) rows.push_back({Int(number)});
  return AnswerOf(std::move(rows));
}
std::vector<Cells> IntRows(const std::vector<int64_t>& numbers) {
  return AnswerOfInts(numbers).rows;
}

TEST(PlanDiffersTest, RowsAreABag) {
  const PlanAnswer answer = AnswerOfInts({1, 2, 2});
  EXPECT_THAT(Differs(answer, IntRows({2, 1, 2})), IsEmpty());
  EXPECT_THAT(Differs(answer, IntRows({1, 2})), HasSubstr("2 rows, not 3; missing: 2"));
  EXPECT_THAT(Differs(answer, IntRows({1, 1, 2})), HasSubstr("one too many: 1"));
  EXPECT_THAT(Differs(answer, IntRows({1, 2, 2, 2})), HasSubstr("one too many: 2"));
  EXPECT_THAT(Differs(answer, std::vector<Cells>{{Unsigned(1)}}),
              HasSubstr("is uint64, not int64"));
  EXPECT_THAT(Differs(answer, std::vector<Cells>{{}}), HasSubstr("0 columns, not 1"));
}

TEST(PlanDiffersTest, OrderedRowsMustBeInOrder) {
  PlanAnswer answer = AnswerOf({{Int(1), Int(5)}, {Int(1), Int(6)}, {Int(2), Int(4)}});
  answer.order = {{.column = 0}};
  std::vector<Cells> tied = {answer.rows[1], answer.rows[0], answer.rows[2]};
  EXPECT_THAT(Differs(answer, tied), IsEmpty());
  std::swap(tied[1], tied[2]);
  EXPECT_THAT(Differs(answer, tied), HasSubstr("not in order"));
}

TEST(PlanDiffersTest, RowsOrderedByWhatTheAnswerLacksHaveTheirPlaces) {
  PlanAnswer answer = AnswerOfInts({5, 6, 4});
  answer.ranks = {0, 0, 2};
  EXPECT_THAT(Differs(answer, IntRows({6, 5, 4})), IsEmpty());
  EXPECT_THAT(Differs(answer, IntRows({5, 4, 6})), HasSubstr("row 1 is not in its place: 4"));
  answer.count = 2;
  EXPECT_THAT(Differs(answer, IntRows({6, 5})), IsEmpty());
  EXPECT_THAT(Differs(answer, IntRows({6, 4})), HasSubstr("row 1 is not in its place: 4"));
  answer.offset = 1;
  EXPECT_THAT(Differs(answer, IntRows({6, 4})), IsEmpty());
}

TEST(PlanDiffersTest, LimitsTakeAnyOfTheTiedRows) {
  PlanAnswer answer = AnswerOf({{Int(1), Int(5)}, {Int(1), Int(6)}, {Int(2), Int(4)}});
  answer.order = {{.column = 0}};
  answer.count = 1;
  EXPECT_THAT(Differs(answer, std::vector<Cells>{answer.rows[1]}), IsEmpty());
  EXPECT_THAT(Differs(answer, std::vector<Cells>{answer.rows[2]}), HasSubstr("sort key 2, not 1"));
  EXPECT_THAT(Differs(answer, answer.rows), HasSubstr("3 rows, not 1"));
  answer.offset = 2;
  EXPECT_THAT(Differs(answer, std::vector<Cells>{answer.rows[2]}), IsEmpty());
  EXPECT_THAT(Differs(answer, std::vector<Cells>{answer.rows[0]}), HasSubstr("sort key 1, not 2"));
}

TEST(PlanDiffersTest, LimitsWithoutAnOrderTakeAnyRows) {
  PlanAnswer answer = AnswerOfInts({1, 2, 3});
  answer.count = 2;
  EXPECT_THAT(Differs(answer, IntRows({3, 1})), IsEmpty());
  EXPECT_THAT(Differs(answer, IntRows({3})), HasSubstr("1 rows, not 2"));
  EXPECT_THAT(Differs(answer, IntRows({3, 3})), HasSubstr("one too many"));
  answer.offset = 2;
  EXPECT_THAT(Differs(answer, IntRows({1})), IsEmpty());
}

TEST(PlanDiffersTest, DoublesMayBeNear) {
  const auto differs = [](Cell expected, double actual) {
    return Differs(AnswerOf({{std::move(expected)}}), std::vector<Cells>{{RealCell(actual)}});
  };
  EXPECT_THAT(differs(RealCell(1), 1 + 1e-13), IsEmpty());
  EXPECT_THAT(differs(RealCell(1), 1 + 1e-11), HasSubstr("none of the expected"));
  EXPECT_THAT(differs(RealCell(kNanKey), -kNanKey), IsEmpty());
  EXPECT_THAT(differs(RealCell(kNanKey), 1), HasSubstr("none of the expected"));
  EXPECT_THAT(differs(RealCell(0.0), -0.0), HasSubstr("none of the expected"));
  Cell group = RealCell(0.0);
  group.any_zero = true;
  EXPECT_THAT(differs(group, -0.0), IsEmpty());
  Cell sum = RealCell(0.0);
  sum.slack = 1e-9;
  EXPECT_THAT(differs(sum, 1e-10), IsEmpty());
}

TEST(PlanDiffersTest, NearRowsFindAPartnerEachIfThereIsOne) {
  // The first actual row agrees with both expected ones, the second one only with the first.
  Cell wide = RealCell(1);
  wide.slack = 0.5;
  const PlanAnswer answer = AnswerOf({{wide}, {RealCell(1)}});
  EXPECT_THAT(Differs(answer, std::vector<Cells>{{RealCell(1)}, {RealCell(1.25)}}), IsEmpty());
  EXPECT_THAT(Differs(answer, std::vector<Cells>{{RealCell(1.25)}, {RealCell(1.25)}}),
              HasSubstr("one too many"));
}

TEST(PlanDiffersTest, ErrorsAreThoseThatThePlanAllows) {
  PlanAnswer answer = AnswerOfInts({1});
  const absl::Status over = absl::OutOfRangeError("over");
  EXPECT_THAT(Differs(answer, over), HasSubstr("an error instead of rows"));
  answer.notes.out_of_order.insert(over.code());
  EXPECT_THAT(Differs(answer, over), HasSubstr("an error instead of rows"));
  EXPECT_THAT(Differs(answer, over, AcceptedErrors::kOutOfOrder), IsEmpty());
  answer.notes.possible.insert(over.code());
  EXPECT_THAT(Differs(answer, over), IsEmpty());
  EXPECT_THAT(Differs(answer, IntRows({1})), IsEmpty());
  answer.fails = true;
  EXPECT_THAT(Differs(answer, IntRows({1})), HasSubstr("1 rows instead of an error"));
  EXPECT_THAT(Differs(answer, absl::InternalError("")), HasSubstr("another error"));
}

// A plan over one or two tables, and rows for which an engine with the fault answers wrongly.
struct FaultCase {
  PlanFault fault;
  std::vector<PlanNode> nodes;
  PlanTable left{};
  PlanTable right{};
};

const PlanNode kLeft = ReadNode{.object = "l"};
const PlanNode kRight = ReadNode{.object = "r"};
PlanTable Ints(std::vector<Cell> cells) { return TableOfInts(cells); }
PlanTable Reals(const std::vector<double>& reals) {
  std::vector<Cells> rows;
  for (const double real : reals) rows.push_back({RealCell(real)});
  return TableOf({kF64}, std::move(rows));
}
PlanTable Texts(std::string text) { return TableOf({kText}, {{TextCell(std::move(text))}}); }
PlanNode Where(Expression condition) { return FilterNode{0, std::move(condition)}; }
PlanNode Select(Expression column) { return ProjectNode{0, {std::move(column)}}; }
PlanNode JoinOf(JoinType type, std::vector<JoinNode::Key> keys = {{0, 0}}) {
  return JoinNode{.left = 0, .right = 1, .type = type, .keys = std::move(keys)};
}
PlanNode Measured(AggregateFunction function, bool distinct = false) {
  return AggregateNode{
      .input = 0, .measures = {{.function = function, .argument = Field(0), .distinct = distinct}}};
}
PlanNode CountBy(uint32_t key) {
  return AggregateNode{.input = 0, .keys = {key}, .measures = {Measure{}}};
}

std::vector<FaultCase> ExpressionFaults() {
  const Expression one = Equal(Field(0), Literal(1));
  return {
      {PlanFault::kUnknownIsFalse, {kLeft, Where(!one)}, Ints({NullInt()})},
      {PlanFault::kNullInListIgnored,
       {kLeft, Where(!In(Field(0), {int64_t{1}, Value()}))},
       Ints({Int(2)})},
      {PlanFault::kLikeCountsBytes, {kLeft, Where(Like(Field(0), "_"))}, Texts("ä")},
      {PlanFault::kCaseTakesLastTrue,
       {kLeft, Select(Case({one, Field(0), one, Literal(2)}))},
       Ints({Int(1)})},
      {PlanFault::kCastCutsOff, {kLeft, Select(Cast(Field(0), ColumnType::kInt64))}, Reals({1.75})},
      {PlanFault::kOverflowWraps, {kLeft, Select(Field(0) + Literal(1))}, Ints({Int(INT64_MAX)})},
      {PlanFault::kEmptySubqueryIsZero,
       {kLeft, Where(one), kRight, ProjectNode{2, {Subquery(1)}}},
       Ints({}),
       Ints({Int(1)})},
  };
}

std::vector<FaultCase> JoinFaults() {
  JoinNode residual{.left = 0, .right = 1, .type = JoinType::kAnti, .keys = {{0, 0}}};
  residual.condition = Field(1) > Literal(5);
  const PlanTable two = TableOf({kI64, kI64}, {{Int(1), Int(2)}});
  const PlanTable other = TableOf({kI64, kI64}, {{Int(1), Int(3)}});
  return {
      {PlanFault::kNullKeysJoin,
       {kLeft, kRight, JoinOf(JoinType::kInner)},
       Ints({NullInt()}),
       Ints({NullInt()})},
      {PlanFault::kNullKeysJoin,
       {kLeft, kRight, JoinOf(JoinType::kAnti)},
       Ints({NullInt()}),
       Ints({NullInt()})},
      {PlanFault::kNanKeysJoin,
       {kLeft, kRight, JoinOf(JoinType::kSemi)},
       Reals({kNanKey}),
       Reals({kNanKey})},
      {PlanFault::kOuterRowsDropped,
       {kLeft, kRight, JoinOf(JoinType::kLeft)},
       Ints({Int(1)}),
       Ints({Int(2)})},
      {PlanFault::kSemiJoinRepeats,
       {kLeft, kRight, JoinOf(JoinType::kSemi)},
       Ints({Int(1)}),
       Ints({Int(1), Int(1)})},
      {PlanFault::kAntiIgnoresResidual, {kLeft, kRight, residual}, Ints({Int(1)}), Ints({Int(1)})},
      {PlanFault::kFirstKeyAlone,
       {kLeft, kRight, JoinOf(JoinType::kInner, {{0, 0}, {1, 1}})},
       two,
       other},
  };
}

std::vector<FaultCase> RowFaults() {
  const PlanTable some = Ints({Int(2), NullInt(), Int(1), Int(2)});
  const SortNode down{0, {{.column = 0, .descending = true}}};
  const PlanTable pairs = TableOf({kI64, kI64}, {{Int(2), Int(7)}, {Int(1), Int(8)}});
  const SortNode nulls{0, {{.column = 0, .nulls_first = true}}};
  return {
      {PlanFault::kCountCountsNulls, {kLeft, Measured(AggregateFunction::kCount)}, some},
      {PlanFault::kAverageCountsNulls, {kLeft, Measured(AggregateFunction::kAverage)}, some},
      {PlanFault::kMedianIsLower,
       {kLeft, Measured(AggregateFunction::kMedian)},
       Ints({Int(2), Int(1)})},
      {PlanFault::kDistinctIgnored, {kLeft, Measured(AggregateFunction::kCount, true)}, some},
      {PlanFault::kDistinctIgnored, {kLeft, Measured(AggregateFunction::kSum, true)}, some},
      {PlanFault::kNoRowWithoutInput, {kLeft, Measured(AggregateFunction::kSum)}, Ints({})},
      {PlanFault::kNullGroupDropped, {kLeft, CountBy(0)}, some},
      {PlanFault::kZerosAreTwoGroups, {kLeft, CountBy(0)}, Reals({0.0, -0.0})},
      {PlanFault::kNanNeverLargest,
       {kLeft, Measured(AggregateFunction::kMax)},
       Reals({1, kNanKey})},
      {PlanFault::kNullsSortLast, {kLeft, nulls}, some},
      {PlanFault::kDescendingIgnored, {kLeft, down}, some},
      {PlanFault::kLimitPerPart, {kLeft, LimitNode{0, 0, 2}}, some},
      {PlanFault::kLimitPerPart, {kLeft, down, LimitNode{1, 1, 1}}, some},
      {PlanFault::kOffsetIgnored, {kLeft, down, LimitNode{1, 1, 1}}, Ints({Int(1), Int(2)})},
      {PlanFault::kOffsetIgnored, {kLeft, LimitNode{0, 3, 9}}, some},
      {PlanFault::kProjectionTurnsRows, {kLeft, down, ProjectNode{1, {Field(0)}}}, some},
      {PlanFault::kProjectionTurnsRows, {kLeft, down, ProjectNode{1, {Field(1)}}}, pairs},
      {PlanFault::kProjectionTurnsRows,
       {kLeft, down, ProjectNode{1, {Field(1)}}, LimitNode{2, 0, 1}},
       pairs},
      {PlanFault::kUnionIsASet, {kLeft, kRight, UnionNode{{0, 1}}}, Ints({Int(1)}), Ints({Int(1)})},
      {PlanFault::kSharedNodeOnce,
       {kLeft, JoinNode{.left = 0, .right = 0, .keys = {{0, 0}}}},
       some},
  };
}

TEST(PlanDiffersTest, EachPlantedFaultIsFound) {
  std::vector<FaultCase> cases = ExpressionFaults();
  for (FaultCase& one : JoinFaults()) cases.push_back(std::move(one));
  for (FaultCase& one : RowFaults()) cases.push_back(std::move(one));
  std::vector<bool> planted(static_cast<size_t>(PlanFault::kEnd), false);
  planted[static_cast<size_t>(PlanFault::kNone)] = true;
  for (const FaultCase& one : cases) {
    const auto fault = static_cast<int>(one.fault);
    planted[static_cast<size_t>(fault)] = true;
    const QueryPlan plan{.nodes = one.nodes, .names = {}};
    const PlanTables tables = {{"l", one.left}, {"r", one.right}};
    const auto answer = Interpret(plan, tables);
    ASSERT_TRUE(answer.ok()) << fault << ": " << answer.status();
    EXPECT_THAT(Differs(*answer, RunWithFault(plan, tables, PlanFault::kNone)), IsEmpty()) << fault;
    EXPECT_NE(Differs(*answer, RunWithFault(plan, tables, one.fault)), "") << fault;
  }
  EXPECT_EQ(std::count(planted.begin(), planted.end(), false), 0);
}

}  // namespace
}  // namespace eris::test
