#include "engine/query/planner/plan_needs.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "storage/query/plans/expression_tools.h"
#include "storage/query/plans/plan_schemas.h"

namespace eris::engine {
namespace {

class NeedFinder {
 public:
  NeedFinder(const QueryPlan& plan, const std::vector<Schema>& schemas) : plan_(plan) {
    for (const Schema& schema : schemas) needs_.columns.emplace_back(schema.columns.size());
    needs_.uses.resize(plan.nodes.size());
  }

  PlanNeeds Run() {
    needs_.columns.back().assign(needs_.columns.back().size(), true);
    needs_.uses.back() = 1;
    for (size_t node = plan_.nodes.size(); node-- > 0;) {
      if (needs_.uses[node] == 0) continue;
      for (const uint32_t input : storage::InputsOf(plan_.nodes[node])) ++needs_.uses[input];
      std::visit([&](const auto& one) { NeedOf(one, static_cast<uint32_t>(node)); },
                 plan_.nodes[node]);
    }
    return std::move(needs_);
  }

 private:
  void NeedFields(uint32_t input, const Expression& expression) {
    storage::ForFields(expression, [&](uint32_t field) { needs_.columns[input][field] = true; });
    storage::ForSubqueries(expression, [&](uint32_t node) {
      needs_.columns[node][0] = true;
      ++needs_.uses[node];
    });
  }
  void NeedSame(uint32_t input, uint32_t node) {
    for (size_t i = 0; i < needs_.columns[node].size(); ++i) {
      if (needs_.columns[node][i]) needs_.columns[input][i] = true;
    }
  }
  void NeedOf(const ReadNode&, uint32_t) {}
  void NeedOf(const ValuesNode&, uint32_t node) {
    auto& needed = needs_.columns[node];
    // If only their number is asked for, they still have a column.
    if (std::find(needed.begin(), needed.end(), true) == needed.end()) needed[0] = true;
  }
  void NeedOf(const FilterNode& filter, uint32_t node) {
    NeedSame(filter.input, node);
    NeedFields(filter.input, filter.condition);
  }
  void NeedOf(const ProjectNode& project, uint32_t node) {
    for (size_t i = 0; i < project.columns.size(); ++i) {
      if (needs_.columns[node][i]) NeedFields(project.input, project.columns[i]);
    }
  }
  void NeedOf(const JoinNode& join, uint32_t node) {
    const size_t left = needs_.columns[join.left].size();
    const auto need = [&](size_t field) {
      if (field < left) needs_.columns[join.left][field] = true;
      if (field >= left) needs_.columns[join.right][field - left] = true;
    };
    for (size_t i = 0; i < needs_.columns[node].size(); ++i) {
      if (needs_.columns[node][i]) need(i);
    }
    for (const JoinNode::Key& key : join.keys) {
      needs_.columns[join.left][key.left] = true;
      needs_.columns[join.right][key.right] = true;
    }
    if (!join.condition) return;
    storage::ForFields(*join.condition, need);
    storage::ForSubqueries(*join.condition, [&](uint32_t value) {
      needs_.columns[value][0] = true;
      ++needs_.uses[value];
    });
  }
  void NeedOf(const AggregateNode& aggregate, uint32_t node) {
    for (const uint32_t key : aggregate.keys) needs_.columns[aggregate.input][key] = true;
    for (size_t i = 0; i < aggregate.measures.size(); ++i) {
      const Measure& measure = aggregate.measures[i];
      if (!needs_.columns[node][aggregate.keys.size() + i] || !measure.argument) continue;
      NeedFields(aggregate.input, *measure.argument);
    }
  }
  void NeedOf(const SortNode& sort, uint32_t node) {
    NeedSame(sort.input, node);
    for (const SortKey& key : sort.keys) needs_.columns[sort.input][key.column] = true;
  }
  void NeedOf(const LimitNode& limit, uint32_t node) { NeedSame(limit.input, node); }

  void NeedOf(const UnionNode& all, uint32_t node) {
    auto& needed = needs_.columns[node];
    // If only their number is asked for, a column that all inputs have is still needed.
    if (std::find(needed.begin(), needed.end(), true) == needed.end()) needed[0] = true;
    for (const uint32_t input : all.inputs) NeedSame(input, node);
  }

  const QueryPlan& plan_;
  PlanNeeds needs_;
};

}  // namespace

PlanNeeds NeedsOf(const QueryPlan& plan, const std::vector<Schema>& schemas) {
  return NeedFinder(plan, schemas).Run();
}

}  // namespace eris::engine
