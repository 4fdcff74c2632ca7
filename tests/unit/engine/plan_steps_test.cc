// The steps that the planner makes, as ExplainSteps shows them.
#include "engine/query/plan_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "engine/query/explain_steps.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators
using testing::HasSubstr;

absl::StatusOr<Schema> PlannedSchema(absl::string_view name) {
  if (name != "orders") return absl::NotFoundError("no object");
  return Schema{.columns = {{.name = "id", .type = ColumnType::kInt64},
                            {.name = "day", .type = ColumnType::kDate, .nullable = true},
                            {.name = "price", .type = ColumnType::kDecimal, .scale = 2},
                            {.name = "ratio", .type = ColumnType::kFloat64}},
                .key = {0}};
}

// The steps of the plan without the guesses of their rows, or what is wrong with it.
std::string StepsText(std::vector<PlanNode> nodes) {
  const QueryPlan plan{.nodes = std::move(nodes), .names = {}};
  const auto steps = PlanSteps(plan, {.schema_of = PlannedSchema,
                                      .is_table = [](absl::string_view) { return true; },
                                      .rows_of = [](absl::string_view) { return uint64_t{100}; }});
  if (!steps.ok()) return steps.status().ToString();
  const absl::StatusOr<std::string> text = ExplainSteps(*steps, PlannedSchema);
  if (!text.ok()) return text.status().ToString();
  return std::regex_replace(*text, std::regex("; ~[0-9]+ rows"), "");
}

TEST(PlanStepsTest, ProjectionsMayLeaveTheOrderOut) {
  EXPECT_EQ(StepsText({ReadNode{.object = "orders"}, SortNode{0, {{.column = 1}}},
                       ProjectNode{1, {Field(0)}}, LimitNode{2, 1, 3}}),
            "step 0: scan orders; gives f0 = id, f1 = day -> step 1\n"
            "step 1: sort step 0; by f1; without the first 1 rows; first 3 rows; gives f0, f1 -> "
            "step 2\n"
            "step 2: compute from step 1; gives id = f0 -> answer\n");
}

TEST(PlanStepsTest, LimitOfASortThatOthersReadIsAStep) {
  EXPECT_EQ(StepsText({ReadNode{.object = "orders", .columns = {0}}, SortNode{0, {{.column = 0}}},
                       ProjectNode{1, {Field(0)}}, LimitNode{2, 0, 3},
                       JoinNode{.left = 3, .right = 1, .keys = {{0, 0}}}}),
            "step 0: scan orders; gives f0 = id -> step 1\n"
            "step 1: sort step 0; by f0; gives f0 -> step 2, step 3 (table)\n"
            "step 2: limit step 1; first 3 rows; gives f0 -> step 3\n"
            "step 3: inner join, step 2 with a table of step 1; on left.f0 = right.f0; gives id = "
            "left.f0, id_2 = right.f0 -> answer\n");
}

TEST(PlanStepsTest, DistinctValuesOfTwoColumnsAreGroupedApart) {
  const Measure ids{.argument = Field(0), .distinct = true};
  const Measure prices{.argument = Field(2), .distinct = true};
  const std::string steps = StepsText(
      {ReadNode{.object = "orders"},
       AggregateNode{.input = 0, .keys = {1}, .measures = {ids, Measure{}, prices, ids}}});
  // Two groupings each, of which the first one is a scan's; the key of the join may be null.
  EXPECT_THAT(steps, HasSubstr("scan and group orders; by id, carrying day; "));
  EXPECT_THAT(steps, HasSubstr("scan and group orders; by day, price; "));
  EXPECT_THAT(steps, HasSubstr("inner join"));
  EXPECT_THAT(steps, HasSubstr(" = right."));
  EXPECT_THAT(steps, HasSubstr("case("));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), '\n'), 8) << steps;
}

// The values of a group's parts are not enough for it, so it is no measure of two groupings.
TEST(PlanStepsTest, AMedianIsGroupedApartFromDistinctValues) {
  const Measure ids{.argument = Field(0), .distinct = true};
  const Measure median{.function = AggregateFunction::kMedian, .argument = Field(2)};
  const std::string steps =
      StepsText({ReadNode{.object = "orders"},
                 AggregateNode{.input = 0, .keys = {1}, .measures = {median, ids, Measure{}}}});
  EXPECT_THAT(steps, HasSubstr("scan and group orders; by id, carrying day; "));
  EXPECT_THAT(steps,
              HasSubstr("scan and group orders; by day; gives f0 = day, f1 = median(price)"));
  EXPECT_THAT(steps, HasSubstr("inner join"));
  // A median of distinct values is the second grouping's.
  const Measure distinct{
      .function = AggregateFunction::kMedian, .argument = Field(2), .distinct = true};
  EXPECT_THAT(
      StepsText({ReadNode{.object = "orders"},
                 AggregateNode{.input = 0, .keys = {1}, .measures = {distinct}}}),
      testing::AllOf(HasSubstr("scan and group orders; by day, price; "),
                     HasSubstr("group step 0; by f0; gives day = f0, median = median(f1)")));
}

TEST(PlanStepsTest, DistinctValuesWithoutKeysAreJoinedWithoutKeys) {
  const std::string steps =
      StepsText({ReadNode{.object = "orders"},
                 AggregateNode{.input = 0,
                               .measures = {{.argument = Field(0), .distinct = true},
                                            {.argument = Field(1), .distinct = true}}}});
  EXPECT_THAT(steps, HasSubstr("on no key"));
}

TEST(PlanStepsTest, DistinctValuesNeedAKeyOfTheirOwn) {
  AggregateNode aggregate{.input = 0, .measures = {{.argument = Field(0), .distinct = true}}};
  aggregate.keys.assign(kPlanGroupKeysMax, 1);
  EXPECT_EQ(StepsText({ReadNode{.object = "orders"}, aggregate}),
            "INVALID_ARGUMENT: an aggregate of distinct values groups by 16 columns, at most 15");
}

TEST(PlanStepsTest, KeysThatOthersDetermineAreCarried) {
  EXPECT_EQ(StepsText({ReadNode{.object = "orders"}, AggregateNode{.input = 0, .keys = {1, 0, 2}}}),
            "step 0: scan and group orders; by id, carrying day, price; "
            "gives day, id, price -> answer\n");
  // A column that is there twice is one of the scan's, and compared.
  EXPECT_EQ(StepsText({ReadNode{.object = "orders", .columns = {0, 0, 2}},
                       AggregateNode{.input = 0, .keys = {0, 1, 2}}}),
            "step 0: scan and group orders; by id, carrying price; gives f0 = id, f1 = price -> "
            "step 1\n"
            "step 1: compute from step 0; gives id = f0, id_2 = f0, price = f1 -> answer\n");
  // The first of the two groupings of distinct values carries, and so does the second.
  const std::string steps = StepsText(
      {ReadNode{.object = "orders"},
       AggregateNode{
           .input = 0, .keys = {0, 1}, .measures = {{.argument = Field(3), .distinct = true}}}});
  EXPECT_THAT(steps, HasSubstr("scan and group orders; by id, carrying day, ratio; "));
  EXPECT_THAT(steps, HasSubstr("group step 0; by f0, carrying f1; "));
}

TEST(PlanStepsTest, UnionsTakeTheColumnsThatAreNeeded) {
  EXPECT_EQ(StepsText({ReadNode{.object = "orders"},
                       ReadNode{.object = "orders", .columns = {0, 1, 2, 3}}, UnionNode{{0, 1}},
                       ProjectNode{2, {Field(3), Field(0)}}}),
            "step 0: scan orders; gives f0 = id, f1 = ratio -> step 2\n"
            "step 1: scan orders; gives f0 = id, f1 = ratio -> step 2\n"
            "step 2: union of step 0 (f0, f1), step 1 (f0, f1); gives f0, f1 -> step 3\n"
            "step 3: compute from step 2; gives ratio = f1, id = f0 -> answer\n");
  EXPECT_EQ(StepsText({ReadNode{.object = "orders", .columns = {0}},
                       ReadNode{.object = "orders", .columns = {2}}, UnionNode{{0, 1}}}),
            "INVALID_ARGUMENT: node 2 (union): column 0 of its input node 1 is decimal of scale 2, "
            "of the first input int64 of scale 0: cast one of them");
}

TEST(PlanStepsTest, ValuesHandOutWhatIsNeeded) {
  const ValuesNode values{
      .columns = {{.name = "k"}, {.type = ColumnType::kString, .nullable = true}, {.name = "d"}},
      .rows = {{int64_t{1}, std::string("a"), int64_t{2}}, {int64_t{3}, {}, int64_t{4}}}};
  EXPECT_EQ(StepsText({values}),
            "step 0: values, 2 rows; gives k = f0, value = f1, d = f2 -> answer\n");
  EXPECT_EQ(StepsText({values, ProjectNode{0, {Field(2)}}}),
            "step 0: values, 2 rows; gives d = f0 -> answer\n");
  // Few rows come first, and their keys filter what they are joined with.
  EXPECT_THAT(StepsText({values, ReadNode{.object = "orders"},
                         JoinNode{.left = 1, .right = 0, .keys = {{0, 0}}}}),
              HasSubstr("scan orders; id among f0 of step"));
  // Only their number is asked for.
  EXPECT_THAT(StepsText({values, AggregateNode{.input = 0, .measures = {Measure{}}}}),
              HasSubstr("values, 2 rows; gives f0 -> step 1"));
}

TEST(PlanStepsTest, ValuesHaveTheTypesOfTheirColumns) {
  const auto refused = [](ColumnSchema column, Value value) {
    return StepsText({ValuesNode{.columns = {std::move(column)}, .rows = {{std::move(value)}}}});
  };
  const std::string no = "INVALID_ARGUMENT: node 0 (values): row 0 has no value of column 0, ";
  EXPECT_EQ(refused({}, Value()), no + "which is int64 of scale 0");
  EXPECT_EQ(refused({}, 1.5), no + "which is int64 of scale 0");
  EXPECT_EQ(refused({.type = ColumnType::kInt32}, int64_t{1} << 31),
            no + "which is int32 of scale 0");
  EXPECT_EQ(refused({.type = ColumnType::kDecimal, .scale = 2}, Decimal{1, 1}),
            no + "which is decimal of scale 2");
  EXPECT_EQ(refused({.type = ColumnType::kInt128, .scale = 2}, Decimal{1, 2}),
            no + "which is int128 of scale 2");
  EXPECT_THAT(refused({.type = ColumnType::kString}, std::string(1 << 16, 'x')), HasSubstr(no));
  EXPECT_EQ(refused({.scale = 1}, int64_t{1}),
            "INVALID_ARGUMENT: node 0 (values): no column of it can be int64 of scale 1");
  EXPECT_EQ(StepsText({ValuesNode{}}), "INVALID_ARGUMENT: node 0 (values): it hands out no column");
  EXPECT_EQ(StepsText({ValuesNode{.columns = {{}}, .rows = {{}}}}),
            "INVALID_ARGUMENT: node 0 (values): row 0 has 0 values for 1 columns");
  ValuesNode many{.columns = {{}}};
  many.rows.assign(kPlanValueRowsMax + 1, {int64_t{1}});
  EXPECT_EQ(StepsText({many}), "INVALID_ARGUMENT: node 0 (values): it has 1025 rows, at most 1024");
}

}  // namespace
}  // namespace eris::engine
