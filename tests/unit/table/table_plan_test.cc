#include "storage/table/plan/table_plan.h"
#include "storage/table/rows/table_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/table/plan/plan_body.h"
#include "tests/unit/table/query_world.h"

namespace eris::storage {
namespace {

using namespace expressions;  // NOLINT: as their users do
using testing::HasSubstr;

absl::StatusOr<std::shared_ptr<const TablePlan>> Plan(const Query& query) {
  auto layout = TableLayout::Create(QuerySchema());
  EXPECT_TRUE(layout.ok());
  return TablePlan::Create((*layout)->schema().columns, query);
}
Query Filtered(Expression filter) {
  Query query;
  query.filter = std::move(filter);
  return query;
}
Query Aggregated(AggregateFunction function, Expression argument) {
  Query query;
  AggregateColumn aggregate;
  aggregate.function = function;
  aggregate.argument = std::move(argument);
  query.aggregates.push_back(std::move(aggregate));
  return query;
}
void Refuses(const Query& query, const char* why) {
  const auto plan = Plan(query);
  ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr(why));
}
const PredicateNode& OnlyCondition(const TablePlan& plan) {
  EXPECT_EQ(plan.body().conjuncts.size(), 1u);
  return plan.body().predicates[plan.body().conjuncts.at(0)];
}

TEST(TablePlanTest, LiteralsWithMoreDigitsBecomeExactRanges) {
  const auto plan = Plan(Filtered(Column("dec2") < Literal(Decimal{1005, 3})));
  ASSERT_TRUE(plan.ok()) << plan.status();
  const PredicateNode& node = OnlyCondition(**plan);
  EXPECT_EQ(node.kind, PredicateNode::Kind::kRange);
  EXPECT_EQ(node.hi.i64, 100);
  EXPECT_EQ(node.lo.i64, INT64_MIN);
}

TEST(TablePlanTest, LiteralsOutsideTheTypeFold) {
  const auto all = Plan(Filtered(Column("i32") < Literal(int64_t{1} << 40)));
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE((*all)->body().conjuncts.empty());
  const auto not_null = Plan(Filtered(Column("i32n") < Literal(int64_t{1} << 40)));
  ASSERT_TRUE(not_null.ok());
  EXPECT_EQ(OnlyCondition(**not_null).kind, PredicateNode::Kind::kIsNull);
  EXPECT_TRUE(OnlyCondition(**not_null).negated);
  const auto none = Plan(Filtered(Column("u64") < Literal(0)));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(OnlyCondition(**none).kind, PredicateNode::Kind::kNone);
}

TEST(TablePlanTest, BoundsOfOneColumnAreOneRange) {
  const auto plan =
      Plan(Filtered(Column("date") >= Literal(Date{10}) && Column("date") < Literal(Date{20})));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(OnlyCondition(**plan).lo.i64, 10);
  EXPECT_EQ(OnlyCondition(**plan).hi.i64, 19);
}

TEST(TablePlanTest, DatesAreComparedWithTimestampsAsMidnights) {
  constexpr int64_t kDay = int64_t{86'400} * 1'000'000;
  using Last = std::pair<Expression, int64_t>;
  const Expression date = Column("date");
  const Value text = std::string("1970-01-11T12:00");
  for (const auto& [condition, hi] :
       {Last{date < Literal(Timestamp{10 * kDay}), 9},
        Last{date < Literal(Timestamp{10 * kDay + 1}), 10},
        Last{date <= Literal(Timestamp{10 * kDay - 1}), 9}, Last{date <= Literal(text), 10},
        Last{date < Literal(Timestamp{-kDay + 1}), -1},
        Last{date < Literal(Timestamp{-kDay}), -2}}) {
    const auto plan = Plan(Filtered(condition));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(OnlyCondition(**plan).hi.i64, hi);
  }
  const auto equal = Plan(Filtered(Equal(date, Literal(Timestamp{10 * kDay + 1}))));
  ASSERT_TRUE(equal.ok());
  EXPECT_EQ(OnlyCondition(**equal).kind, PredicateNode::Kind::kNone);
}

TEST(TablePlanTest, EqualValuesAreComputedOnce) {
  Query query = Aggregated(AggregateFunction::kSum, Column("i32") * Column("i64"));
  query.aggregates.push_back(query.aggregates[0]);
  query.aggregates[1].function = AggregateFunction::kAverage;
  const auto plan = Plan(query);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->body().values.size(), 3u);
  EXPECT_EQ((*plan)->body().accumulators.size(), 1u);
}

TEST(TablePlanTest, ResultColumnsHaveTheTypesThatTheHeaderSays) {
  Query query;
  const auto add = [&](AggregateFunction function, const char* column) {
    query.aggregates.push_back({});
    query.aggregates.back().function = function;
    query.aggregates.back().argument = Column(column);
  };
  add(AggregateFunction::kSum, "dec2");
  add(AggregateFunction::kSum, "f64");
  add(AggregateFunction::kAverage, "dec2");
  add(AggregateFunction::kMin, "date");
  add(AggregateFunction::kCount, "few");
  add(AggregateFunction::kSum, "i32n");
  add(AggregateFunction::kMedian, "i64");
  add(AggregateFunction::kMedian, "dec4n");
  query.group_by = {"few", "dec4n"};
  const auto plan = Plan(query);
  ASSERT_TRUE(plan.ok());
  const Schema& result = (*plan)->result();
  const std::vector<ColumnSchema> expected = {
      {"few", ColumnType::kString, 0, true},      {"dec4n", ColumnType::kDecimal, 4, true},
      {"sum", ColumnType::kInt128, 2, false},     {"sum_2", ColumnType::kFloat64, 0, false},
      {"avg", ColumnType::kFloat64, 0, false},    {"min", ColumnType::kDate, 0, false},
      {"count", ColumnType::kUint64, 0, false},   {"sum_3", ColumnType::kInt128, 0, true},
      {"median", ColumnType::kFloat64, 0, false}, {"median_2", ColumnType::kDecimal, 4, true}};
  EXPECT_EQ(result.columns, expected);
  EXPECT_TRUE((*plan)->aggregates());
  Query whole = query;
  whole.group_by.clear();
  EXPECT_TRUE((*Plan(whole))->result().columns[0].nullable);  // of no row
}

TEST(TablePlanTest, ErrorsNameWhatDoesNotFit) {
  Refuses(Filtered(Column("nothing") < Literal(1)), "no column nothing");
  Refuses(Filtered(Column("date") < Literal(1)),
          "column date (date) cannot be compared with a number");
  Refuses(Filtered(Column("i32") < Literal(Value(std::string("x")))),
          "column i32 (int32) cannot be compared with a string");
  Refuses(Filtered(Column("few") < Column("i64")),
          "column few (string) cannot be compared with column i64 (int64)");
  Refuses(Filtered(Column("i32")), "is a value where a condition is asked for");
  Refuses(Filtered(!(Column("i32") + Literal(1))), "i32 + 1 is a value");
  Refuses(Aggregated(AggregateFunction::kSum, Column("date")), "sum(date): not of a date");
  Refuses(Aggregated(AggregateFunction::kAverage, Column("few")), "avg(few): not of a string");
  Refuses(Aggregated(AggregateFunction::kMedian, Column("few")), "median(few): not of a string");
  Refuses(Aggregated(AggregateFunction::kMedian, Column("date")), "median(date): not of a date");
  Refuses(Aggregated(AggregateFunction::kSum, Column("date") + Literal(1)), "is not a number");
  Expression wide = Column("dec4n");
  for (int i = 0; i < 4; ++i) wide = std::move(wide) * Column("dec4n");
  Refuses(Aggregated(AggregateFunction::kSum, wide), "has scale 20, decimals at most 18");
  Refuses(Aggregated(AggregateFunction::kSum, Literal(INT64_MAX) + Literal(1)),
          "is outside its type, int64");
  Refuses(Filtered(Like(Column("i32"), "a%")), "column i32 (int32) is not a string");
  Refuses(Filtered(expressions::Pair(Expression::Kind::kLike, Column("few"), Column("text"))),
          "`like` takes a literal, not text");
  Refuses(Filtered(expressions::Pair(Expression::Kind::kLike, Column("few"), Literal(1))),
          "`like` takes a string, not 1");
  Refuses(Filtered(Equal(PartOf(DatePart::kYear, Column("i32")), Literal(1))),
          "column i32 (int32) is neither a date nor a timestamp");
  Refuses(Filtered(Equal(PartOf(DatePart::kHour, Column("date")), Literal(1))),
          "column date (date) has no hour, a timestamp has");
  Refuses(Filtered(Column("date") < Literal(Value(std::string("noon")))),
          "'noon' is neither a date YYYY-MM-DD nor a timestamp YYYY-MM-DD HH:MM:SS");
  Refuses(Filtered(Column("i32") < Literal(Timestamp{7})),
          "column i32 (int32) cannot be compared with a timestamp");
  Refuses(Filtered(Equal(Cast(Column("i64"), ColumnType::kTimestamp), Literal(Timestamp{7}))),
          "column i64 (int64) is neither a date nor a timestamp");
  Refuses(Filtered(Equal(expressions::Pair(Expression::Kind::kDatePart,
                                           Literal(Value(std::string("week"))), Column("date")),
                         Literal(1))),
          "takes one of 'year', 'quarter', 'month', 'day', 'hour', 'minute', 'second', not 'week'");
  Refuses(Aggregated(AggregateFunction::kSum, Column("date") / Literal(1)), "is not a number");
  Query grouped = Aggregated(AggregateFunction::kMin, Column("i32"));
  grouped.group_by.assign(17, "i32");
  Refuses(grouped, "groups by 17 columns, at most 16");
  grouped.group_by.assign(2, "i32");
  Refuses(grouped, "two result columns are called i32");
  Query both = Aggregated(AggregateFunction::kMin, Column("i32"));
  both.columns.push_back({Column("i32"), "x"});
  Refuses(both, "either hands out columns or aggregates");
  Query twice;
  twice.columns = {{Column("i32"), "x"}, {Column("i64"), "x"}};
  Refuses(twice, "two result columns are called x");
  Query literal;
  const std::string longest(kTableStringBytesMax, 'x');
  literal.columns = {{Literal(Value(longest)), "x"}};
  EXPECT_TRUE(Plan(literal).ok());
  literal.columns = {{Literal(Value(longest + "x")), "x"}};
  Refuses(literal, "a literal has 65536 bytes, at most 65535");
  EXPECT_TRUE(Plan(Filtered(Column("few") < Literal(Value(longest + "x")))).ok());
  const auto sum = Plan(Aggregated(AggregateFunction::kSum, Literal(Value(longest))));
  EXPECT_LT(sum.status().message().size(), 400u);
  literal.columns = {{Literal(Value()), "x"}};
  Refuses(literal, "a null alone has no type");
}

TEST(TablePlanTest, PatternsWithoutWildcardsAreSetsAndOnePercentIsEverything) {
  using Kind = PredicateNode::Kind;
  const auto condition = [](Expression filter) {
    const auto plan = Plan(Filtered(std::move(filter)));
    EXPECT_TRUE(plan.ok()) << plan.status();
    return OnlyCondition(**plan);
  };
  EXPECT_EQ(condition(Like(Column("few"), "ab")).strings, std::vector<std::string>{"ab"});
  EXPECT_EQ(condition(Like(Column("few"), "ab") || Like(Column("few"), "ac")).strings.size(), 2u);
  const PredicateNode escaped = condition(Like(Column("few"), "a!%", "!"));
  EXPECT_EQ(escaped.strings, std::vector<std::string>{"a%"});
  EXPECT_EQ(condition(Like(Column("few"), "%%")).kind, Kind::kIsNull);
  EXPECT_TRUE(condition(Like(Column("few"), "%%")).negated);
  EXPECT_EQ(condition(!Like(Column("few"), "%")).kind, Kind::kNone);
  EXPECT_EQ(
      condition(expressions::Pair(Expression::Kind::kLike, Column("few"), Literal(Value()))).kind,
      Kind::kNone);
  Expression no_escape = Like(Column("few"), "a%");
  no_escape.arguments.push_back(Literal(Value()));
  EXPECT_EQ(condition(no_escape).kind, Kind::kNone);
  EXPECT_EQ(condition(!no_escape).kind, Kind::kNone);
  EXPECT_EQ(condition(Like(Literal(Value(std::string("ab"))), "b%")).kind, Kind::kNone);
  EXPECT_EQ(condition(Like(Column("few"), "a_")).test, PredicateNode::StringTest::kLike);
  // What is left of one condition is not joined with that of another pattern.
  const PredicateNode both = condition(Like(Column("few"), "a_") || Like(Column("few"), "b_"));
  EXPECT_EQ(both.kind, Kind::kOr);
  EXPECT_EQ(both.children.size(), 2u);
}

TEST(TablePlanTest, QuotientsAreDoublesAndPartsOfDatesIntegers) {
  Query query;
  query.columns = {{Column("i32") / Column("dec2"), "q"},
                   {Literal(1) / Literal(4), "c"},
                   {PartOf(DatePart::kMonth, Column("date")), "m"},
                   {PartOf(DatePart::kDay, Literal(Date{59})), "d"}};
  const auto plan = Plan(query);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto& columns = (*plan)->result().columns;
  EXPECT_EQ(columns[0].type, ColumnType::kFloat64);
  EXPECT_EQ(columns[1].type, ColumnType::kFloat64);
  EXPECT_EQ(columns[2].type, ColumnType::kInt64);
  const PlanBody& body = (*plan)->body();
  EXPECT_EQ(body.values[body.outputs[1]].constant.f64, 0.25);
  EXPECT_EQ(body.values[body.outputs[3]].op, ValueNode::Op::kConstant);
  EXPECT_EQ(body.values[body.outputs[3]].constant.i64, 1);  // of March 1970
}

TEST(TablePlanTest, WholeQuotientsHaveTheTypeOfASum) {
  Query query;
  query.columns = {{Quotient(Column("i32"), Literal(2)), "i"},
                   {Column("u64") % Column("u64"), "u"},
                   {Quotient(Column("dec4n"), Column("dec2")), "d"},
                   {Column("dec4n") % Column("dec2"), "r"},
                   {Column("f64") % Literal(2), "f"},
                   {Quotient(Literal(-7), Literal(2)), "c"},
                   {Literal(-7) % Literal(2), "e"},
                   {Literal(5.5) % Literal(2), "g"}};
  const auto plan = Plan(query);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto& columns = (*plan)->result().columns;
  EXPECT_EQ(columns[0].type, ColumnType::kInt64);
  EXPECT_EQ(columns[1].type, ColumnType::kUint64);
  EXPECT_EQ(columns[2].type, ColumnType::kDecimal);
  EXPECT_EQ(columns[2].scale, 0);
  EXPECT_EQ(columns[3].scale, 4);
  EXPECT_EQ(columns[4].type, ColumnType::kFloat64);
  const PlanBody& body = (*plan)->body();
  EXPECT_EQ(body.values[body.outputs[5]].constant.i64, -3);
  EXPECT_EQ(body.values[body.outputs[6]].constant.i64, -1);
  EXPECT_EQ(body.values[body.outputs[7]].constant.f64, 1.5);
  // By 0 is an error of the rows that need it, not of the plan.
  query.columns = {{Literal(1) % Literal(0), "z"}};
  EXPECT_TRUE(Plan(query).ok());
  query.columns = {{Quotient(Column("f64"), Literal(2)), "f"}};
  Refuses(query, "f64 div 2: div takes integers and decimals, no float64: cast it");
}

TEST(TablePlanTest, TreesAreBounded) {
  Expression deep = Column("i32");
  for (uint32_t i = 0; i < kExpressionDepthMax; ++i) deep = std::move(deep) + Literal(1);
  Refuses(Filtered(std::move(deep) < Literal(0)), "deeper than 64 levels");
  std::vector<Expression> many(kExpressionSizeMax, IsNull(Column("i32")));
  Refuses(Filtered(Of(Expression::Kind::kOr, many)), "more than 4096 parts");
  using Kind = Expression::Kind;
  const Expression one = Column("i32");
  Refuses(Filtered(Of(Kind::kBetween, {one})), "between takes 3 arguments, 1 is given");
  Refuses(Filtered(Of(Kind::kAdd, {one, one, one})), "+ takes 2 arguments, 3 are given");
  Refuses(Filtered(Of(Kind::kNot, {})), "not takes 1 argument, 0 are given");
  Refuses(Filtered(Of(Kind::kIn, {one})), "in takes 2 arguments or more, 1 is given");
  Refuses(Filtered(Of(Kind::kLike, {one})), "like takes 2 to 3 arguments, 1 is given");
  Refuses(Filtered(Of(Kind::kColumn, {one})), "a column takes 0 arguments, 1 is given");
  Expression unknown;
  unknown.kind = static_cast<Expression::Kind>(99);
  Refuses(Filtered(unknown), "unknown kind 99");
}

TEST(TablePlanTest, EqualitiesThatAreJoinedAreOneSet) {
  // Each column compared a thousand times, in any order; the other half of the `or` stays.
  const auto joined = [](Expression::Kind kind, Expression::Kind compare) {
    std::vector<Expression> parts;
    for (int64_t i = 0; i < 600; ++i) {
      parts.push_back(expressions::Pair(compare, Column("i64"), Literal(i * 7 % 1201)));
      parts.push_back(expressions::Pair(compare, Column("few"), Literal(std::to_string(i % 500))));
    }
    parts.push_back(Column("u64") < Literal(5));
    parts.push_back(In(Column("i64"), {Value(int64_t{-5}), Value(int64_t{0})}));
    if (compare == Expression::Kind::kNotEqual) parts.back() = !std::move(parts.back());
    return Of(kind, std::move(parts));
  };
  const auto expect_sets = [](const PlanBody& body, const std::vector<uint32_t>& children,
                              bool negated) {
    ASSERT_EQ(children.size(), 3u);
    const PredicateNode& numbers = body.predicates[children[0]];
    EXPECT_EQ(numbers.kind, PredicateNode::Kind::kSet);
    EXPECT_EQ(numbers.negated, negated);
    EXPECT_EQ(numbers.set.size(), 601u);
    EXPECT_EQ(numbers.set.front().i64, -5);
    const PredicateNode& strings = body.predicates[children[1]];
    EXPECT_EQ(strings.kind, PredicateNode::Kind::kString);
    EXPECT_EQ(strings.negated, negated);
    EXPECT_EQ(strings.strings.size(), 500u);
    EXPECT_EQ(body.predicates[children[2]].kind, PredicateNode::Kind::kRange);
  };
  const auto any = Plan(Filtered(joined(Expression::Kind::kOr, Expression::Kind::kEqual)));
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_EQ(OnlyCondition(**any).kind, PredicateNode::Kind::kOr);
  expect_sets((*any)->body(), OnlyCondition(**any).children, false);
  // Inside an `or`, so that it is not taken apart.
  const auto none = Plan(Filtered(joined(Expression::Kind::kAnd, Expression::Kind::kNotEqual) ||
                                  Column("f64") < Literal(0.5)));
  ASSERT_TRUE(none.ok()) << none.status();
  const PlanBody& body = (*none)->body();
  expect_sets(body, body.predicates[OnlyCondition(**none).children.at(0)].children, true);
  // What is joined the other way stays apart.
  constexpr auto kNotEqual = Expression::Kind::kNotEqual;
  const auto apart =
      Plan(Filtered(Of(Expression::Kind::kOr,
                       {expressions::Pair(kNotEqual, Column("i64"), Literal(1)),
                        expressions::Pair(kNotEqual, Column("i64"), Literal(3)),
                        expressions::Pair(Expression::Kind::kEqual, Column("i64"), Literal(5))})));
  ASSERT_TRUE(apart.ok());
  EXPECT_EQ(OnlyCondition(**apart).children.size(), 3u);
}

TEST(TablePlanTest, LargeExpressionsThatComeAgainAreComputedOnce) {
  // As many parts as there may be, in each of as many columns as there may be.
  const auto large = [&](auto& self, int depth) -> Expression {
    if (depth == 0) return Column("i64") * Column("u64n");
    return self(self, depth - 1) + self(self, depth - 1);
  };
  const Expression expression = large(large, 9);
  Query query;
  for (uint32_t i = 0; i < kTableColumnsMax; ++i) query.columns.push_back({expression, ""});
  const auto plan = Plan(query);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ((*plan)->body().values.size(), 2u + 1 + 9);
  EXPECT_EQ((*plan)->result().columns.back().name, "expression_256");
  query.columns.push_back({expression, ""});
  Refuses(query, "257 result columns");
}

}  // namespace
}  // namespace eris::storage
