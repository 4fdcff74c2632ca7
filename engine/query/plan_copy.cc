#include "engine/query/plan_copy.h"

#include <variant>

namespace eris::engine {
namespace {

void RenumberIn(Expression& expression, absl::FunctionRef<uint32_t(uint32_t)> number) {
  if (expression.kind == Expression::Kind::kSubquery) expression.number = number(expression.number);
  for (Expression& argument : expression.arguments) RenumberIn(argument, number);
}

}  // namespace

PlanNode Renumbered(const PlanNode& node, absl::FunctionRef<uint32_t(uint32_t)> number) {
  PlanNode copy = node;
  if (auto* const join = std::get_if<JoinNode>(&copy)) {
    join->left = number(join->left);
    join->right = number(join->right);
    if (join->condition) RenumberIn(*join->condition, number);
  } else if (auto* const filter = std::get_if<FilterNode>(&copy)) {
    filter->input = number(filter->input);
    RenumberIn(filter->condition, number);
  } else if (auto* const project = std::get_if<ProjectNode>(&copy)) {
    project->input = number(project->input);
    for (Expression& column : project->columns) RenumberIn(column, number);
  } else if (auto* const aggregate = std::get_if<AggregateNode>(&copy)) {
    aggregate->input = number(aggregate->input);
    for (Measure& measure : aggregate->measures) {
      if (measure.argument) RenumberIn(*measure.argument, number);
    }
  } else if (auto* const sort = std::get_if<SortNode>(&copy)) {
    sort->input = number(sort->input);
  } else if (auto* const limit = std::get_if<LimitNode>(&copy)) {
    limit->input = number(limit->input);
  } else if (auto* const all = std::get_if<UnionNode>(&copy)) {
    for (uint32_t& input : all->inputs) input = number(input);
  }
  return copy;
}

Expression Renumbered(const Expression& expression, absl::FunctionRef<uint32_t(uint32_t)> number) {
  Expression copy = expression;
  RenumberIn(copy, number);
  return copy;
}

}  // namespace eris::engine
