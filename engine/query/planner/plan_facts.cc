#include "engine/query/planner/plan_facts.h"

#include <variant>

#include "storage/query/plans/expression_tools.h"
#include "storage/query/plans/plan_schemas.h"

namespace eris::engine {
namespace {

bool IsOneRow(const ReadNode&, const std::vector<bool>&) { return false; }
bool IsOneRow(const ValuesNode& values, const std::vector<bool>&) {
  return values.rows.size() <= 1;
}
bool IsOneRow(const LimitNode& limit, const std::vector<bool>& one_row) {
  return limit.count <= 1 || one_row[limit.input];
}
bool IsOneRow(const AggregateNode& aggregate, const std::vector<bool>& one_row) {
  return aggregate.keys.empty() || one_row[aggregate.input];
}
bool IsOneRow(const JoinNode& join, const std::vector<bool>& one_row) {
  const bool pairs = join.type == JoinType::kInner || join.type == JoinType::kLeft;
  return one_row[join.left] && (!pairs || one_row[join.right]);
}
bool IsOneRow(const UnionNode& all, const std::vector<bool>& one_row) {
  return all.inputs.size() == 1 && one_row[all.inputs[0]];
}
template <class Node>
bool IsOneRow(const Node& node, const std::vector<bool>& one_row) {
  return one_row[node.input];
}

}  // namespace

std::vector<uint32_t> PlanUses(const QueryPlan& plan) {
  std::vector<uint32_t> uses(plan.nodes.size());
  uses.back() = 1;
  for (size_t node = plan.nodes.size(); node-- > 0;) {
    if (uses[node] == 0) continue;
    for (const uint32_t input : storage::InputsOf(plan.nodes[node])) ++uses[input];
    storage::ForExpressions(plan.nodes[node], [&](const Expression& expression) {
      storage::ForSubqueries(expression, [&](uint32_t subquery) { ++uses[subquery]; });
    });
  }
  return uses;
}

std::vector<bool> OneRowNodes(const QueryPlan& plan) {
  std::vector<bool> one_row;
  for (const PlanNode& node : plan.nodes) {
    const bool is = std::visit([&](const auto& one) { return IsOneRow(one, one_row); }, node);
    one_row.push_back(is);
  }
  return one_row;
}

}  // namespace eris::engine
