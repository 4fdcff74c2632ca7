#include "engine/query/explain_steps.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

using storage::JoinStep;
using storage::MapStep;
using storage::QueryStep;
using storage::ScanStep;
using storage::SortStep;

absl::StatusOr<Schema> SchemaOf(absl::string_view name) {
  if (name == "names") return KeyValueSchema();
  if (name != "orders") return absl::NotFoundError("no object");
  return Schema{.columns = {{.name = "id", .type = ColumnType::kInt64},
                            {.name = "day", .type = ColumnType::kDate},
                            {.name = "price", .type = ColumnType::kDecimal, .scale = 2},
                            {.name = "customer", .type = ColumnType::kUint64}},
                .key = {0}};
}

// A step that gives columns of these names.
template <class Step>
QueryStep Giving(const std::vector<std::string>& names, Step step) {
  QueryStep out{.what = std::move(step)};
  for (const std::string& name : names) out.schema.columns.push_back({.name = name});
  return out;
}

std::string Explained(std::vector<QueryStep> steps) {
  const absl::StatusOr<std::string> text = ExplainSteps({.steps = std::move(steps)}, SchemaOf);
  return text.ok() ? *text : text.status().ToString();
}

TEST(ExplainStepsTest, ScanShowsFilterAndColumnsByName) {
  Query query{.filter = Field(1) < Literal(Value(Date{9204}))};
  query.columns = {{Field(2) * Literal(2), ""}, {Field(1), ""}};
  EXPECT_EQ(
      Explained({Giving({"twice", "day"}, ScanStep{.object = "orders", .query = query})}),
      "step 0: scan orders; where day < 1995-03-15; gives twice = price * 2, day -> answer\n");
}

// As of "select distinct".
TEST(ExplainStepsTest, GroupsWithoutAggregatesAreGroups) {
  Query days;
  days.group_by = {"day"};
  Query again;
  again.group_by = {"f0"};
  EXPECT_EQ(Explained({Giving({"day"}, ScanStep{.object = "orders", .query = days}),
                       Giving({"day"}, MapStep{.input = 0, .query = again})}),
            "step 0: scan and group orders; by day; gives f0 = day -> step 1\n"
            "step 1: group step 0; by f0; gives day = f0 -> answer\n");
}

TEST(ExplainStepsTest, CarriedKeysAreApart) {
  Query query;
  query.group_by = {"day", "id", "price"};
  Query again;
  again.group_by = {"f0", "f1"};
  EXPECT_EQ(Explained({Giving({"", "", ""}, ScanStep{"orders", query, 0b101}),
                       Giving({"day", "id"}, MapStep{0, again, 0b10})}),
            "step 0: scan and group orders; by id, carrying day, price; gives f0 = day, f1 = id, "
            "f2 = price -> step 1\n"
            "step 1: group step 0; by f0, carrying f1; gives day = f0, id = f1 -> answer\n");
}

TEST(ExplainStepsTest, ALimitedSortOfGroups) {
  Query clerks;
  clerks.group_by = {"customer"};
  clerks.aggregates = {{}};
  const SortStep sort{.input = 0, .keys = {{.column = 1, .descending = true}}, .count = 3};
  std::vector<QueryStep> steps = {Giving({"", ""}, ScanStep{.object = "orders", .query = clerks}),
                                  Giving({"customer", "n"}, sort)};
  steps[0].rows_about = 70;
  steps[1].rows_about = 3;
  EXPECT_EQ(Explained(std::move(steps)),
            "step 0: scan and group orders; by customer; gives f0 = customer, f1 = count(*); "
            "~70 rows -> step 1\n"
            "step 1: sort step 0; by f1 desc; first 3 rows; gives customer = f0, n = f1; "
            "~3 rows -> answer\n");
}

TEST(ExplainStepsTest, EachStepSaysWhereItsRowsGo) {
  Query orders;
  orders.columns = {{Field(2), ""}, {Field(3), ""}};
  Query groups;
  groups.group_by = {"f1"};
  groups.aggregates = {{}, {.function = AggregateFunction::kSum, .argument = Field(0), .name = {}}};
  const std::vector<std::string> two = {"a", "b"};
  const std::vector<std::string> three = {"name", "orders", "sum"};
  const JoinStep join{
      .left = 0, .right = 1, .keys = {{1, 0}}, .condition = Field(0) > Field(3), .columns = {0, 3}};
  const SortStep sort{
      .input = 3, .keys = {{.column = 1, .descending = true}}, .offset = 5, .count = 10};
  EXPECT_EQ(Explained({Giving(two, ScanStep{.object = "orders", .query = orders}),
                       Giving(two, ScanStep{.object = "names"}), Giving(two, join),
                       Giving(three, MapStep{.input = 2, .query = groups}), Giving(three, sort)}),
            "step 0: scan orders; gives f0 = price, f1 = customer -> step 2\n"
            "step 1: scan names; gives f0 = key, f1 = value -> step 2 (table)\n"
            "step 2: inner join, step 0 with a table of step 1; on left.f1 = right.f0; "
            "where left.f0 > right.f1; gives f0 = left.f0, f1 = right.f1 -> step 3\n"
            "step 3: group step 2; by f1; gives f0 = f1, f1 = count(*), f2 = sum(f0) -> step 4\n"
            "step 4: sort step 3; by f1 desc; without the first 5 rows; first 10 rows; "
            "gives name = f0, orders = f1, sum = f2 -> answer\n");
}

TEST(ExplainStepsTest, ValuesOfSubqueriesAreNamedByTheirStep) {
  Query average;
  average.aggregates = {
      {.function = AggregateFunction::kAverage, .argument = Field(2), .name = {}}};
  Query above{.filter = Field(2) > Subquery(0)};
  above.columns = {{Field(0), ""}};
  EXPECT_EQ(Explained({Giving({"a"}, ScanStep{.object = "orders", .query = average}),
                       Giving({"id"}, ScanStep{.object = "orders", .query = above})}),
            "step 0: scan and group orders; gives f0 = avg(price) -> step 1 (value)\n"
            "step 1: scan orders; where price > (value of step 0); gives id -> answer\n");
}

}  // namespace
}  // namespace eris::engine
