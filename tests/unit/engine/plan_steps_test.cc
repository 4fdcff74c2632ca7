// The steps that the planner makes, as ExplainSteps shows them.
#include "engine/query/plan_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/query/explain_steps.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

absl::StatusOr<Schema> SchemaOf(absl::string_view name) {
  if (name != "orders") return absl::NotFoundError("no object");
  return Schema{.columns = {{.name = "id", .type = ColumnType::kInt64},
                            {.name = "day", .type = ColumnType::kDate, .nullable = true},
                            {.name = "price", .type = ColumnType::kDecimal, .scale = 2},
                            {.name = "ratio", .type = ColumnType::kFloat64}},
                .key = {0}};
}

// The steps of the plan, or what is wrong with it.
std::string Steps(std::vector<PlanNode> nodes) {
  const QueryPlan plan{.nodes = std::move(nodes), .names = {}};
  const auto steps = PlanSteps(plan, SchemaOf, [](absl::string_view) { return true; });
  if (!steps.ok()) return steps.status().ToString();
  const absl::StatusOr<std::string> text = ExplainSteps(*steps, SchemaOf);
  return text.ok() ? *text : text.status().ToString();
}

TEST(PlanStepsTest, ProjectionsMayLeaveTheOrderOut) {
  EXPECT_EQ(Steps({ReadNode{.object = "orders"}, SortNode{0, {{.column = 1}}},
                   ProjectNode{1, {Field(0)}}, LimitNode{2, 1, 3}}),
            "step 0: scan orders; gives f0 = id, f1 = day -> step 1\n"
            "step 1: sort step 0; by f1; without the first 1 rows; first 3 rows; gives f0, f1 -> "
            "step 2\n"
            "step 2: compute from step 1; gives id = f0 -> answer\n");
}

TEST(PlanStepsTest, LimitOfASortThatOthersReadIsAStep) {
  EXPECT_EQ(Steps({ReadNode{.object = "orders", .columns = {0}}, SortNode{0, {{.column = 0}}},
                   ProjectNode{1, {Field(0)}}, LimitNode{2, 0, 3},
                   JoinNode{.left = 3, .right = 1, .keys = {{0, 0}}}}),
            "step 0: scan orders; gives f0 = id -> step 1\n"
            "step 1: sort step 0; by f0; gives f0 -> step 2, step 3 (table)\n"
            "step 2: limit step 1; first 3 rows; gives f0 -> step 3\n"
            "step 3: inner join, step 2 with a table of step 1; on left.f0 = right.f0; gives id = "
            "left.f0, id_2 = right.f0 -> answer\n");
}

}  // namespace
}  // namespace eris::engine
