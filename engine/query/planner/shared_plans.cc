#include "engine/query/planner/shared_plans.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/query/plan_copy.h"
#include "engine/query/planner/conditions.h"

namespace eris::engine {
namespace {

bool SameOptional(const std::optional<Expression>& a, const std::optional<Expression>& b) {
  return a.has_value() == b.has_value() && (!a || SameExpression(*a, *b));
}

// Whether two nodes with the same inputs hand out the same rows.
bool SameNode(const ReadNode& a, const ReadNode& b) {
  return a.object == b.object && a.columns == b.columns;
}
bool SameNode(const FilterNode& a, const FilterNode& b) {
  return a.input == b.input && SameExpression(a.condition, b.condition);
}
bool SameNode(const ProjectNode& a, const ProjectNode& b) {
  return a.input == b.input && std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(),
                                          b.columns.end(), SameExpression);
}
bool SameNode(const JoinNode& a, const JoinNode& b) {
  return a.left == b.left && a.right == b.right && a.type == b.type && a.keys == b.keys &&
         SameOptional(a.condition, b.condition);
}
bool SameMeasure(const Measure& a, const Measure& b) {
  return a.function == b.function && a.distinct == b.distinct &&
         SameOptional(a.argument, b.argument);
}
bool SameNode(const AggregateNode& a, const AggregateNode& b) {
  return a.input == b.input && a.keys == b.keys &&
         std::equal(a.measures.begin(), a.measures.end(), b.measures.begin(), b.measures.end(),
                    SameMeasure);
}
bool SameNode(const SortNode& a, const SortNode& b) {
  return a.input == b.input && a.keys == b.keys;
}
bool SameNode(const LimitNode& a, const LimitNode& b) {
  return a.input == b.input && a.offset == b.offset && a.count == b.count;
}
bool SameNode(const UnionNode& a, const UnionNode& b) { return a.inputs == b.inputs; }
bool SameNode(const ValuesNode& a, const ValuesNode& b) {
  const auto same_row = [](const std::vector<Value>& one, const std::vector<Value>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), SameValue);
  };
  return a.columns == b.columns &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(), same_row);
}
bool SameNode(const PlanNode& a, const PlanNode& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& one) { return SameNode(one, std::get<std::decay_t<decltype(one)>>(b)); }, a);
}

// Whether rows of such a node are stored in any case.
bool IsStored(const PlanNode& node) {
  return !std::holds_alternative<ReadNode>(node) && !std::holds_alternative<FilterNode>(node) &&
         !std::holds_alternative<ProjectNode>(node);
}

class NodeSharer {
 public:
  explicit NodeSharer(const QueryPlan& plan) : plan_(plan), made_(plan.nodes.size()) {}

  QueryPlan Run() {
    FindFirst();
    Number(static_cast<uint32_t>(plan_.nodes.size() - 1));
    out_.names = plan_.names;
    return std::move(out_);
  }

 private:
  // By node, the first one that is equal to it.
  void FindFirst() {
    std::vector<PlanNode> nodes;  // with the first ones as their inputs
    for (uint32_t node = 0; node < plan_.nodes.size(); ++node) {
      nodes.push_back(
          Renumbered(plan_.nodes[node], [this](uint32_t input) { return first_[input]; }));
      uint32_t same = 0;
      while (!SameNode(nodes[same], nodes[node])) ++same;
      first_.push_back(same);
    }
  }
  uint32_t Number(uint32_t node) {
    if (IsStored(plan_.nodes[node])) node = first_[node];
    if (!made_[node]) {
      PlanNode copy =
          Renumbered(plan_.nodes[node], [this](uint32_t input) { return Number(input); });
      out_.nodes.push_back(std::move(copy));
      made_[node] = static_cast<uint32_t>(out_.nodes.size() - 1);
    }
    return *made_[node];
  }

  const QueryPlan& plan_;
  std::vector<uint32_t> first_;
  std::vector<std::optional<uint32_t>> made_;  // by node, its number in `out_`
  QueryPlan out_;
};

}  // namespace

QueryPlan WithSharedNodes(const QueryPlan& plan) { return NodeSharer(plan).Run(); }

}  // namespace eris::engine
