// Which groups must be made at once, and the two queries that make them.
#include "engine/query/groups/whole_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eris::engine {
namespace {

using namespace expressions;

AggregateColumn Of(AggregateFunction function, Expression argument) {
  return {.function = function, .argument = std::move(argument), .name = {}};
}

TEST(WholeGroupsTest, OnlyMediansNeedThem) {
  Query query{.group_by = {"a"}};
  EXPECT_FALSE(NeedsWholeGroups(query));
  for (size_t i = 0; i < std::size(kAggregateFunctionNames); ++i) {
    const auto function = static_cast<AggregateFunction>(i + 1);
    query.aggregates = {{}, Of(function, Column("b"))};
    EXPECT_EQ(NeedsWholeGroups(query), function == AggregateFunction::kMedian) << i;
  }
}

TEST(WholeGroupsTest, RowsHaveKeysAndEachArgumentOnce) {
  Query query{.filter = Column("a") > Literal(3), .group_by = {"a", "b"}};
  query.aggregates = {Of(AggregateFunction::kMedian, Column("c")),
                      {},
                      Of(AggregateFunction::kSum, Column("c") * Column("d")),
                      Of(AggregateFunction::kMax, Column("c")),
                      Of(AggregateFunction::kCount, Column("a"))};
  const WholeGroups whole = WholeGroupsOf(query, 0b10);
  EXPECT_EQ(whole.keys, 2u);
  EXPECT_EQ(whole.carried, 0b10);
  EXPECT_EQ(whole.rows.filter, query.filter);
  const std::vector<Expression> columns = {Column("a"), Column("b"), Column("c"),
                                           Column("c") * Column("d"), Column("a")};
  ASSERT_EQ(whole.rows.columns.size(), columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    EXPECT_EQ(whole.rows.columns[i].expression, columns[i]) << i;
  }
  EXPECT_TRUE(whole.rows.aggregates.empty());
  EXPECT_EQ(whole.groups.group_by, (std::vector<std::string>{"f0", "f1"}));
  const std::vector<std::optional<Expression>> arguments = {Field(2), std::nullopt, Field(3),
                                                            Field(2), Field(4)};
  ASSERT_EQ(whole.groups.aggregates.size(), arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    EXPECT_EQ(whole.groups.aggregates[i].function, query.aggregates[i].function) << i;
    EXPECT_EQ(whole.groups.aggregates[i].argument, arguments[i]) << i;
  }
}

}  // namespace
}  // namespace eris::engine
