// In which order steps are made, and which scans are filtered by which keys.
#include "engine/query/key_filter_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace eris::engine {
namespace {

using namespace expressions;

using storage::JoinStep;
using storage::MapStep;
using storage::QueryStep;
using storage::ScanStep;
using storage::SortStep;
using storage::UnionStep;

using Filters = std::vector<KeyFilterPlan>;
using Steps = std::vector<uint32_t>;

Schema Pair() {
  return {.columns = {{"k", ColumnType::kInt64, 0, true}, {"v", ColumnType::kInt64, 0, true}}};
}
QueryStep Scan(uint64_t rows, uint32_t uses = 1) {
  ScanStep scan{.object = "t"};
  scan.query.columns = {{Field(4), ""}, {Field(2), ""}};
  return {.what = std::move(scan), .schema = Pair(), .uses = uses, .rows_about = rows};
}
QueryStep JoinedStep(uint32_t left, uint32_t right, JoinType type = JoinType::kInner,
                     JoinNode::Key key = {.left = 0, .right = 0}) {
  JoinStep join{.left = left, .right = right, .type = type, .keys = {key}};
  join.columns = {0, type == JoinType::kInner || type == JoinType::kLeft ? 2u : 1u};
  return {.what = std::move(join), .schema = Pair(), .uses = 1, .rows_about = 50};
}
QueryStep ColumnStep(uint32_t input) {
  MapStep map{.input = input};
  map.query.columns = {{Field(0), ""}, {Field(1), ""}};
  return {.what = std::move(map), .schema = Pair(), .uses = 1, .rows_about = 1000};
}
QueryStep Group(uint32_t input) {
  MapStep map{.input = input};
  map.query.group_by = {"f1"};
  map.query.aggregates = {{.function = AggregateFunction::kMax, .argument = Field(0), .name = {}}};
  return {.what = std::move(map), .schema = Pair(), .uses = 1, .rows_about = 1000};
}

TEST(KeyFilterPlanTest, TheSmallerSideIsFirst) {
  const StepOrder right = OrderSteps({Scan(1000), Scan(10), JoinedStep(0, 1)});
  EXPECT_EQ(right.steps, (Steps{1, 0, 2}));
  EXPECT_EQ(right.filters, (Filters{{.scan = 0, .scan_column = 0, .made = 1, .made_column = 0}}));
  const StepOrder left = OrderSteps({Scan(10), Scan(1000), JoinedStep(0, 1)});
  EXPECT_EQ(left.steps, (Steps{0, 1, 2}));
  EXPECT_EQ(left.filters, (Filters{{.scan = 1, .scan_column = 0, .made = 0, .made_column = 0}}));
}

// A left join hands out rows without partners, an anti join nothing else.
TEST(KeyFilterPlanTest, RowsWithoutPartnersAreNotDropped) {
  for (const JoinType type : {JoinType::kLeft, JoinType::kAnti}) {
    const StepOrder order = OrderSteps({Scan(1000), Scan(10), JoinedStep(0, 1, type)});
    EXPECT_EQ(order.steps, (Steps{0, 1, 2}));
    EXPECT_EQ(order.filters, (Filters{{.scan = 1, .scan_column = 0, .made = 0, .made_column = 0}}));
  }
  const StepOrder semi = OrderSteps({Scan(1000), Scan(10), JoinedStep(0, 1, JoinType::kSemi)});
  EXPECT_EQ(semi.filters, (Filters{{.scan = 0, .scan_column = 0, .made = 1, .made_column = 0}}));
}

TEST(KeyFilterPlanTest, KeysGoDownToTheScan) {
  // Through a grouping by the column, and a join that has it from its right side.
  const StepOrder order =
      OrderSteps({Scan(1000), Scan(900), JoinedStep(0, 1), Group(2), Scan(10), JoinedStep(3, 4)});
  EXPECT_EQ(order.steps, (Steps{4, 1, 0, 2, 3, 5}));
  EXPECT_EQ(order.filters, (Filters{{.scan = 1, .scan_column = 0, .made = 4, .made_column = 0},
                                    {.scan = 0, .scan_column = 0, .made = 1, .made_column = 0}}));
  // Not by what is computed, nor to the right side of a left join.
  EXPECT_EQ(OrderSteps({Scan(1000), Group(0), Scan(10), JoinedStep(1, 2, JoinType::kInner, {1, 0})})
                .filters.size(),
            0u);
  EXPECT_EQ(OrderSteps({Scan(1000), Scan(900), JoinedStep(0, 1, JoinType::kLeft), Scan(10),
                        JoinedStep(2, 3, JoinType::kInner, {1, 0})})
                .filters.size(),
            1u);
}

// What is computed of a part of a group may fail where that of the whole one does not.
TEST(KeyFilterPlanTest, GroupsOfWhichSomethingCanFailAreWhole) {
  const auto whole_groups = [](QueryStep below, Expression computed) {
    MapStep map{.input = 1};
    map.query.columns = {{Field(0), ""}, {std::move(computed), ""}};
    const QueryStep above{.what = std::move(map), .schema = Pair(), .uses = 1, .rows_about = 900};
    const StepOrder order = OrderSteps({Scan(1000), below, above, Scan(10), JoinedStep(2, 3)});
    return order.filters.at(0).whole_groups;
  };
  EXPECT_FALSE(whole_groups(Group(0), Field(1)));
  EXPECT_FALSE(whole_groups(Group(0), operator/(Field(1), Literal(2))));  // doubles
  EXPECT_TRUE(whole_groups(Group(0), operator+(Field(1), Field(1))));
  // Rows that are not grouped are whole.
  EXPECT_FALSE(whole_groups(ColumnStep(0), operator+(Field(1), Field(1))));
}

TEST(KeyFilterPlanTest, AJoinWithoutKeysSeesAllOfItsRightSide) {
  QueryStep join = JoinedStep(0, 1);
  std::get<JoinStep>(join.what).keys.clear();
  const auto filters = [&](uint32_t key) {
    return OrderSteps({Scan(1000), Scan(900), join, Scan(10),
                       JoinedStep(2, 3, JoinType::kInner, {key, 0})})
        .filters;
  };
  EXPECT_EQ(filters(0).size(), 1u);
  EXPECT_EQ(filters(1).size(), 0u);
}

TEST(KeyFilterPlanTest, WhatOthersReadIsWhole) {
  EXPECT_TRUE(
      OrderSteps({Scan(1000, 2), Scan(10), JoinedStep(0, 1), JoinedStep(2, 0)}).filters.empty());
  SortStep limit{.input = 0, .keys = {}, .count = 5};
  const QueryStep some{.what = limit, .schema = Pair(), .uses = 1, .rows_about = 1000};
  EXPECT_TRUE(OrderSteps({Scan(1000), some, Scan(10), JoinedStep(1, 2)}).filters.empty());
  limit.count = storage::kAllRows;
  const QueryStep all{.what = limit, .schema = Pair(), .uses = 1, .rows_about = 1000};
  EXPECT_EQ(OrderSteps({Scan(1000), all, Scan(10), JoinedStep(1, 2)}).filters.size(), 1u);
}

TEST(KeyFilterPlanTest, KeysMustBeNumbersOfOneType) {
  for (const ColumnType type : {ColumnType::kString, ColumnType::kFloat64, ColumnType::kInt128}) {
    std::vector<QueryStep> steps{Scan(1000), Scan(10), JoinedStep(0, 1)};
    steps[0].schema.columns[0].type = steps[1].schema.columns[0].type = type;
    EXPECT_TRUE(OrderSteps(steps).filters.empty());
  }
  std::vector<QueryStep> other{Scan(1000), Scan(10), JoinedStep(0, 1)};
  other[0].schema.columns[0].type = ColumnType::kDecimal;
  EXPECT_TRUE(OrderSteps(other).filters.empty());
}

// A step whose value another one reads is made first, and once.
TEST(KeyFilterPlanTest, ValuesAreFirst) {
  std::vector<QueryStep> steps{Scan(1000), Scan(1), Scan(10), JoinedStep(0, 2)};
  std::get<ScanStep>(steps[0].what).query.filter = Equal(Field(0), Subquery(1));
  const StepOrder order = OrderSteps(steps);
  EXPECT_EQ(order.steps, (Steps{2, 1, 0, 3}));
}

TEST(KeyFilterPlanTest, ColumnsOfTheTable) {
  const std::vector<ColumnSchema> table{{.name = "a"}, {.name = "b"}, {.name = "c"}};
  ScanStep scan{.object = "t"};
  EXPECT_EQ(TableColumnOf(scan, 0, table), std::nullopt);  // an index, as it is
  scan.query.columns = {{Field(2), ""}, {operator+(Field(0), Literal(1)), ""}};
  EXPECT_EQ(TableColumnOf(scan, 0, table), 2u);
  EXPECT_EQ(TableColumnOf(scan, 1, table), std::nullopt);
  scan.query = {};
  scan.query.group_by = {"b"};
  EXPECT_EQ(TableColumnOf(scan, 0, table), 1u);
  EXPECT_EQ(TableColumnOf(scan, 1, table), std::nullopt);
}

}  // namespace
}  // namespace eris::engine
