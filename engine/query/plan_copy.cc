#include "engine/query/plan_copy.h"

#include <variant>

namespace eris::engine {

void PlanCopy::Renumber(Expression& expression) const {
  if (expression.kind == Expression::Kind::kSubquery) {
    expression.number = numbers_[expression.number];
  }
  for (Expression& argument : expression.arguments) Renumber(argument);
}

PlanNode PlanCopy::Renumbered(const PlanNode& original) const {
  PlanNode node = original;
  if (auto* const join = std::get_if<JoinNode>(&node)) {
    join->left = numbers_[join->left];
    join->right = numbers_[join->right];
    if (join->condition) Renumber(*join->condition);
  } else if (auto* const filter = std::get_if<FilterNode>(&node)) {
    filter->input = numbers_[filter->input];
    Renumber(filter->condition);
  } else if (auto* const project = std::get_if<ProjectNode>(&node)) {
    project->input = numbers_[project->input];
    for (Expression& column : project->columns) Renumber(column);
  } else if (auto* const aggregate = std::get_if<AggregateNode>(&node)) {
    aggregate->input = numbers_[aggregate->input];
    for (Measure& measure : aggregate->measures) {
      if (measure.argument) Renumber(*measure.argument);
    }
  } else if (auto* const sort = std::get_if<SortNode>(&node)) {
    sort->input = numbers_[sort->input];
  } else if (auto* const limit = std::get_if<LimitNode>(&node)) {
    limit->input = numbers_[limit->input];
  }
  return node;
}

}  // namespace eris::engine
