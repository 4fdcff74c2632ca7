#include "engine/query/join_key_plan.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "engine/query/plan_copy.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/table/plan/plan_body.h"

namespace eris::engine {
namespace {

using expressions::Field;

bool Alike(const ColumnSchema& a, const ColumnSchema& b) {
  if (IsTimeType(a.type)) return a.type == b.type;
  return storage::ClassOf(a.type) == storage::ClassOf(b.type) && a.scale == b.scale;
}

ProjectNode AllOf(uint32_t input, size_t columns) {
  ProjectNode project{.input = input};
  for (uint32_t i = 0; i < columns; ++i) project.columns.push_back(Field(i));
  return project;
}

// Replaces the join, whose inputs are those of the copy, by one over inputs with further columns.
void AddAlike(JoinNode join, const Schema& left, const Schema& right, PlanCopy& copy) {
  const auto left_columns = static_cast<uint32_t>(left.columns.size());
  const auto right_columns = static_cast<uint32_t>(right.columns.size());
  ProjectNode left_side = AllOf(join.left, left_columns);
  ProjectNode right_side = AllOf(join.right, right_columns);
  std::vector<JoinNode::Key> unlike;
  for (JoinNode::Key& key : join.keys) {
    if (Alike(left.columns[key.left], right.columns[key.right])) continue;
    unlike.push_back(key);
    const bool times = IsTimeType(left.columns[key.left].type);
    const ColumnType common = times ? ColumnType::kDate : ColumnType::kFloat64;
    left_side.columns.push_back(expressions::Cast(Field(key.left), common));
    right_side.columns.push_back(expressions::Cast(Field(key.right), common));
    key = {static_cast<uint32_t>(left_side.columns.size() - 1),
           static_cast<uint32_t>(right_side.columns.size() - 1)};
  }
  const auto left_width = static_cast<uint32_t>(left_side.columns.size());
  const auto moved = [&](uint32_t field) {
    return Field(field < left_columns ? field : field - left_columns + left_width);
  };
  if (join.condition) {
    join.condition = storage::Replaced(*join.condition, moved, &expressions::Subquery);
  }
  for (const JoinNode::Key& key : unlike) {
    Expression equal = expressions::Equal(Field(key.left), Field(left_width + key.right));
    join.condition = join.condition
                         ? expressions::operator&&(*std::move(join.condition), std::move(equal))
                         : std::move(equal);
  }
  ProjectNode result{.input = 0};
  for (uint32_t i = 0; i < left_columns; ++i) result.columns.push_back(Field(i));
  const bool both = join.type == JoinType::kInner || join.type == JoinType::kLeft;
  for (uint32_t i = 0; both && i < right_columns; ++i) {
    result.columns.push_back(Field(left_width + i));
  }
  join.left = copy.Add(std::move(left_side));
  join.right = copy.Add(std::move(right_side));
  result.input = copy.Add(std::move(join));
  copy.Add(std::move(result));
}

}  // namespace

QueryPlan WithAlikeKeys(const QueryPlan& plan, const std::vector<Schema>& schemas) {
  PlanCopy copy;
  for (const PlanNode& original : plan.nodes) {
    PlanNode node = copy.Renumbered(original);
    const auto* const join = std::get_if<JoinNode>(&original);
    bool alike = true;
    if (join != nullptr) {
      for (const JoinNode::Key& key : join->keys) {
        alike &=
            Alike(schemas[join->left].columns[key.left], schemas[join->right].columns[key.right]);
      }
    }
    if (alike) {
      copy.Add(std::move(node));
    } else {
      AddAlike(std::get<JoinNode>(std::move(node)), schemas[join->left], schemas[join->right],
               copy);
    }
    copy.EndNode();
  }
  return copy.Take(plan);
}

}  // namespace eris::engine
