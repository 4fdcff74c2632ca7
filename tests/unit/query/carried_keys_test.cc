#include "engine/query/planner/carried_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/query/planner_fixture.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

// A key of two columns (int64), a decimal, a nullable int64; a key that is a double; one of a
// narrower type, and one whose values are of another class; an index.
absl::StatusOr<Schema> SchemaOf(absl::string_view name) {
  const auto column = [](const char* one, ColumnType type, uint8_t scale = 0) {
    return ColumnSchema{.name = one, .type = type, .scale = scale};
  };
  if (name == "pairs") {
    Schema schema{
        .columns = {column("p", ColumnType::kInt64), column("q", ColumnType::kInt64),
                    column("price", ColumnType::kDecimal, 2), column("n", ColumnType::kInt64)},
        .key = {0, 1}};
    schema.columns[3].nullable = true;
    return schema;
  }
  const std::vector<std::pair<std::string, ColumnType>> keys = {{"reals", ColumnType::kFloat64},
                                                                {"narrow", ColumnType::kInt32},
                                                                {"unsigned", ColumnType::kUint64}};
  for (const auto& [table, type] : keys) {
    if (name != table) continue;
    return Schema{.columns = {column("k", type), column("v", ColumnType::kInt64)}, .key = {0}};
  }
  if (name == "index") return KeyValueSchema(KeyTypes(ColumnType::kInt64));
  return test::PlannedSchema(name);
}

// The places of the keys of the last node that it carries, such as "1 2".
std::string Carried(std::vector<PlanNode> nodes) {
  const QueryPlan plan = test::PlanOf(std::move(nodes));
  const auto schemas = storage::PlanSchemas(plan, SchemaOf);
  if (!schemas.ok()) return schemas.status().ToString();
  const auto carried = CarriedKeys(plan, *schemas, SchemaOf);
  if (!carried.ok()) return carried.status().ToString();
  std::string text;
  for (uint32_t key = 0; key < 16; ++key) {
    if ((carried->back() >> key & 1) != 0) absl::StrAppend(&text, text.empty() ? "" : " ", key);
  }
  return text;
}

AggregateNode By(uint32_t input, std::vector<uint32_t> keys) {
  return {.input = input, .keys = std::move(keys), .measures = {Measure{}}};
}
ReadNode Read(const char* object, std::vector<uint32_t> columns = {}) {
  return {.object = object, .columns = std::move(columns)};
}
JoinNode Join(uint32_t left, uint32_t right, std::vector<JoinNode::Key> keys,
              JoinType type = JoinType::kInner) {
  return {.left = left, .right = right, .type = type, .keys = std::move(keys)};
}

// Columns of "a" and "key_a": 0 to 2 are x, y, z; 3 is the nullable double, 4 the string. x is the
// key of "key_a". In a join of two of them the second one's begin at 5.

TEST(CarriedKeysTest, AKeyDeterminesTheRow) {
  EXPECT_EQ(Carried({Read("key_a"), By(0, {0, 1, 3, 4})}), "1 2 3");
  EXPECT_EQ(Carried({Read("key_a"), By(0, {4, 2, 0})}), "0 1");
  EXPECT_EQ(Carried({Read("key_a", {4, 0, 1}), By(0, {0, 1, 2})}), "0 2");
  EXPECT_EQ(Carried({Read("key_a"), By(0, {1, 2, 4})}), "");
  EXPECT_EQ(Carried({Read("key_a", {1, 2}), By(0, {0, 1})}), "");
  EXPECT_EQ(Carried({Read("key_a"), By(0, {0})}), "");
  EXPECT_EQ(Carried({Read("index"), By(0, {1, 0})}), "0");
}

TEST(CarriedKeysTest, HeapTablesHaveNoKey) {
  EXPECT_EQ(Carried({Read("a"), By(0, {0, 1, 4})}), "");
  EXPECT_EQ(Carried({Read("a"), By(0, {})}), "");
}

TEST(CarriedKeysTest, AKeyOfTwoColumnsNeedsBoth) {
  EXPECT_EQ(Carried({Read("pairs"), By(0, {0, 1, 2, 3})}), "2 3");
  EXPECT_EQ(Carried({Read("pairs"), By(0, {0, 2, 3})}), "");
  EXPECT_EQ(Carried({Read("pairs", {0, 2}), By(0, {0, 1})}), "");
}

TEST(CarriedKeysTest, TheSameColumnTwiceIsComparedOnce) {
  EXPECT_EQ(Carried({Read("a", {1, 1, 2}), By(0, {0, 1, 2})}), "1");
  EXPECT_EQ(Carried({Read("a"), ProjectNode{0, {Field(4), Field(4)}}, By(1, {0, 1})}), "1");
  // Doubles of a group may be spelled in two ways.
  EXPECT_EQ(Carried({Read("a", {3, 3}), By(0, {0, 1})}), "");
}

TEST(CarriedKeysTest, DoublesDetermineNothing) {
  EXPECT_EQ(Carried({Read("reals"), By(0, {0, 1})}), "");
  // An expression of -0.0 may be another one than of 0.0.
  EXPECT_EQ(Carried({Read("a"), ProjectNode{0, {Field(3), Literal(1) / Field(3)}}, By(1, {0, 1})}),
            "");
  // But they are determined, and what is computed of them, too.
  EXPECT_EQ(
      Carried({Read("key_a"), ProjectNode{0, {Field(0), Literal(1) / Field(3)}}, By(1, {0, 1})}),
      "1");
  EXPECT_EQ(Carried({Read("key_a"), By(0, {3, 0})}), "0");
  // A grouping gives equal ones one spelling, after which they are less than they were.
  EXPECT_EQ(Carried({Read("a"), ProjectNode{0, {Field(3), Literal(1) / Field(3)}}, By(1, {0, 1}),
                     By(2, {0, 1})}),
            "");
}

TEST(CarriedKeysTest, EqualDoublesAreNotTheSame) {
  EXPECT_EQ(Carried({Read("key_a"), Read("a"), Join(0, 1, {{3, 3}}), By(2, {0, 8})}), "");
  EXPECT_EQ(Carried({Read("key_a"), Read("a"), Join(0, 1, {{3, 3}}), By(2, {0, 3})}), "1");
}

TEST(CarriedKeysTest, AnInnerJoinsEqualityDeterminesBothWays) {
  // a.y = key_a.x, which is unique.
  const JoinNode join = Join(0, 1, {{1, 0}});
  EXPECT_EQ(Carried({Read("a"), Read("key_a"), join, By(2, {1, 5, 6, 9})}), "1 2 3");
  EXPECT_EQ(Carried({Read("a"), Read("key_a"), join, By(2, {9, 1, 2})}), "0");
  EXPECT_EQ(Carried({Read("a"), Read("key_a"), join, By(2, {5, 0, 1})}), "2");
  EXPECT_EQ(Carried({Read("a"), Read("key_a"), join, By(2, {0, 6, 9})}), "");
  // A condition of the join drops rows.
  JoinNode with_condition = join;
  with_condition.condition = Field(2) < Field(7);
  EXPECT_EQ(Carried({Read("a"), Read("key_a"), with_condition, By(2, {1, 6})}), "1");
}

// As in TPC-H's queries 3 and 18: lineitem, orders, customer.
TEST(CarriedKeysTest, EqualitiesLeadFromTableToTable) {
  const std::vector<PlanNode> joined = {Read("a"), Read("key_b"), Join(0, 1, {{0, 0}}),
                                        Read("key_c"), Join(2, 3, {{6, 0}})};
  const auto by = [&](std::vector<uint32_t> keys) {
    std::vector<PlanNode> nodes = joined;
    nodes.push_back(By(4, std::move(keys)));
    return Carried(std::move(nodes));
  };
  EXPECT_EQ(by({14, 10, 0, 7, 8}), "0 1 3 4");
  EXPECT_EQ(by({14, 6, 7}), "0");
  EXPECT_EQ(by({14, 11, 7}), "");
  // The columns in between may be projected away.
  std::vector<PlanNode> nodes = joined;
  nodes.push_back(ProjectNode{4, {Field(14), Field(0), Field(7)}});
  nodes.push_back(By(5, {0, 1, 2}));
  EXPECT_EQ(Carried(std::move(nodes)), "0 2");
}

TEST(CarriedKeysTest, AKeyOfTwoColumnsMayBeJoinedAway) {
  EXPECT_EQ(Carried({Read("a"), Read("pairs"), Join(0, 1, {{0, 0}, {1, 1}}),
                     ProjectNode{2, {Field(0), Field(1), Field(7)}}, By(3, {0, 1, 2})}),
            "2");
}

TEST(CarriedKeysTest, EqualitiesOfOtherTypes) {
  // An int64 and an int32 that are equal have one value each.
  EXPECT_EQ(Carried({Read("a"), Read("narrow"), Join(0, 1, {{0, 0}}), By(2, {0, 5, 6})}), "1 2");
  // Those that are compared as doubles determine nothing, whatever the types.
  EXPECT_EQ(Carried({Read("a"), Read("unsigned"), Join(0, 1, {{0, 0}}), By(2, {0, 5})}), "");
  EXPECT_EQ(Carried({Read("a"), Read("pairs"), Join(0, 1, {{0, 2}}), By(2, {0, 7})}), "");
  EXPECT_EQ(Carried({Read("a"), Read("reals"), Join(0, 1, {{0, 0}}), By(2, {0, 5, 6})}), "");
  EXPECT_EQ(Carried({Read("a"), Read("unsigned"), Join(0, 1, {{0, 0}}), By(2, {5, 6})}), "1");
}

TEST(CarriedKeysTest, ALeftJoinsLeftSideIsAsBefore) {
  const JoinNode join = Join(0, 1, {{1, 0}}, JoinType::kLeft);
  EXPECT_EQ(Carried({Read("key_a"), Read("key_b"), join, By(2, {0, 1, 4})}), "1 2");
}

TEST(CarriedKeysTest, ALeftJoinsRightSideIsDeterminedByWhatIsNeverNull) {
  const JoinNode join = Join(0, 1, {{1, 0}}, JoinType::kLeft);
  // The key of a table: it is null only in rows without a partner, where all is null.
  EXPECT_EQ(Carried({Read("a"), Read("key_b"), join, By(2, {5, 6, 9})}), "1 2");
  // A key that may be null by itself: (null, 5) of a partner, and (null, null) of none.
  const std::vector<PlanNode> nullable = {Read("a"), Read("pairs"), By(1, {3}),
                                          JoinNode{0, 2, JoinType::kLeft, {}, Field(0) < Field(5)}};
  std::vector<PlanNode> nodes = nullable;
  nodes.push_back(By(3, {5, 6}));
  EXPECT_EQ(Carried(nodes), "");
  // As an inner join's side it determines the count.
  std::get<JoinNode>(nodes[3]).type = JoinType::kInner;
  EXPECT_EQ(Carried(nodes), "1");
}

TEST(CarriedKeysTest, ALeftJoinsConstantsMayBeNull) {
  const std::vector<PlanNode> sides = {Read("a"), Read("key_b"),
                                       ProjectNode{1, {Field(0), Literal(7)}}};
  std::vector<PlanNode> nodes = sides;
  nodes.push_back(Join(0, 2, {{1, 0}}, JoinType::kLeft));
  nodes.push_back(By(3, {0, 6}));
  EXPECT_EQ(Carried(nodes), "");
  std::get<JoinNode>(nodes[3]).type = JoinType::kInner;
  EXPECT_EQ(Carried(nodes), "1");
}

TEST(CarriedKeysTest, ALeftJoinsEqualityHoldsOneWay) {
  const JoinNode join = Join(0, 1, {{1, 0}}, JoinType::kLeft);
  EXPECT_EQ(Carried({Read("a"), Read("key_b"), join, By(2, {1, 5})}), "1");
  EXPECT_EQ(Carried({Read("a"), Read("key_b"), join, By(2, {1, 9})}), "1");
  // Nulls on the right say nothing of the left side.
  EXPECT_EQ(
      Carried({Read("key_a"), Read("key_b"), Join(0, 1, {{0, 0}}, JoinType::kLeft), By(2, {5, 4})}),
      "");
  // With a condition one row with the same key may have a partner, and another one none.
  JoinNode with_condition = join;
  with_condition.condition = Field(2) < Field(7);
  EXPECT_EQ(Carried({Read("a"), Read("key_b"), with_condition, By(2, {1, 5})}), "");
  EXPECT_EQ(Carried({Read("a"), Read("key_b"), with_condition, By(2, {1, 9})}), "");
  EXPECT_EQ(
      Carried({Read("a"), Read("reals"), Join(0, 1, {{3, 0}}, JoinType::kLeft), By(2, {3, 5})}),
      "");
}

TEST(CarriedKeysTest, SemiAndAntiJoinsKeepTheLeftSide) {
  for (const JoinType type : {JoinType::kSemi, JoinType::kAnti}) {
    EXPECT_EQ(Carried({Read("key_a"), Read("a"), Join(0, 1, {{1, 0}}, type), By(2, {0, 1})}), "1");
    EXPECT_EQ(Carried({Read("a"), Read("key_a"), Join(0, 1, {{0, 0}}, type), By(2, {0, 1})}), "");
  }
}

TEST(CarriedKeysTest, FiltersSortsAndLimitsKeepAll) {
  EXPECT_EQ(Carried({Read("key_a"), FilterNode{0, Field(1) < Literal(3)}, SortNode{1, {{1}}},
                     LimitNode{2, 1, 5}, By(3, {1, 0})}),
            "0");
}

TEST(CarriedKeysTest, ExpressionsOfDeterminedColumnsAreDetermined) {
  const ProjectNode computed{0, {Field(0), Field(1) + Field(2), Substring(Field(4), 1, 2)}};
  EXPECT_EQ(Carried({Read("key_a"), computed, By(1, {2, 1, 0})}), "0 1");
  EXPECT_EQ(Carried({Read("a"), computed, By(1, {2, 1, 0})}), "");
  EXPECT_EQ(Carried({Read("a"), ProjectNode{0, {Field(1), Field(1) + Literal(2)}}, By(1, {0, 1})}),
            "1");
  EXPECT_EQ(Carried({Read("a"), ProjectNode{0, {Field(1), Field(1) + Field(2)}}, By(1, {0, 1})}),
            "");
  // What is computed of a key need not be unique.
  EXPECT_EQ(
      Carried({Read("key_a"), ProjectNode{0, {Field(0) * Literal(0), Field(1)}}, By(1, {0, 1})}),
      "");
}

TEST(CarriedKeysTest, ConstantsAreCarriedUnlessTheyAreAll) {
  const ProjectNode constants{0, {Literal(1), Literal("a"), Field(1)}};
  EXPECT_EQ(Carried({Read("a"), constants, By(1, {0, 1, 2})}), "0 1");
  EXPECT_EQ(Carried({Read("a"), constants, By(1, {0, 1})}), "1");
  EXPECT_EQ(Carried({Read("a"), By(0, {}), Read("a"), ProjectNode{2, {Field(1), Subquery(1)}},
                     By(3, {0, 1})}),
            "1");
}

TEST(CarriedKeysTest, UnionsKeepNothing) {
  EXPECT_EQ(Carried({Read("key_a"), Read("key_b"), UnionNode{{0, 1}}, By(2, {0, 1})}), "");
  EXPECT_EQ(Carried({Read("a"), ProjectNode{0, {Field(0), Literal(1)}},
                     ProjectNode{0, {Field(0), Literal(2)}}, UnionNode{{1, 2}}, By(3, {0, 1})}),
            "");
}

TEST(CarriedKeysTest, KeysOfAGroupingBelowAreUnique) {
  EXPECT_EQ(Carried({Read("a"), By(0, {1, 2}), By(1, {0, 1, 2})}), "2");
  EXPECT_EQ(Carried({Read("a"), By(0, {1, 2}), By(1, {0, 2})}), "");
  // Only those that are compared need be there.
  EXPECT_EQ(Carried({Read("key_a"), By(0, {1, 0, 4}), By(1, {1, 3, 2})}), "1 2");
  // What held below still does; keys with doubles tell nothing apart.
  EXPECT_EQ(Carried({Read("key_a"), By(0, {0, 1, 4}), By(1, {0, 1})}), "1");
  EXPECT_EQ(Carried({Read("a"), By(0, {1, 3}), By(1, {0, 1, 2})}), "");
  // One row in all.
  EXPECT_EQ(Carried({Read("a"), By(0, {}), Read("a"), Join(2, 0, {{0, 0}}), By(2, {0, 1})}), "");
  EXPECT_EQ(
      Carried({Read("a"), Read("a"), By(1, {}), JoinNode{.left = 0, .right = 2}, By(3, {1, 5})}),
      "1");
}

// A node that is joined with itself has two rows in each pair.
TEST(CarriedKeysTest, TheSidesOfASelfJoinAreApart) {
  EXPECT_EQ(Carried({Read("key_a"), Join(0, 0, {{1, 1}}), By(1, {0, 7})}), "");
  EXPECT_EQ(Carried({Read("key_a"), Join(0, 0, {{0, 0}}), By(1, {0, 7})}), "1");
  EXPECT_EQ(Carried({Read("key_a"), Join(0, 0, {{1, 1}}), By(1, {0, 1, 6, 7})}), "1 2");
}

// More dependencies than are kept: those that are forgotten carry nothing.
TEST(CarriedKeysTest, ManyJoinsAreWorkedOutQuickly) {
  std::vector<PlanNode> nodes = {Read("key_a")};
  for (uint32_t i = 0; i < 300; ++i) {
    const uint32_t last = static_cast<uint32_t>(nodes.size()) - 1;
    nodes.push_back(Join(last, last, {{1, 1}}));
    ProjectNode project{last + 1, {}};
    const uint32_t width = i < 5 ? 5u << i : 80;
    for (uint32_t field = 0; field < 2 * width && field < 80; ++field) {
      project.columns.push_back(Field(field * (i < 4 ? 1 : 2)));
    }
    nodes.push_back(std::move(project));
  }
  nodes.push_back(By(static_cast<uint32_t>(nodes.size()) - 1, {0, 2, 5}));
  EXPECT_EQ(Carried(std::move(nodes)), "");
}

}  // namespace
}  // namespace eris::engine
