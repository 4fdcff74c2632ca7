#include "engine/query/key_filter_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "engine/query/groups/two_phase_groups.h"
#include "engine/query/planner/conditions.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/query/plans/subquery_values.h"
#include "storage/table/query/key_filter.h"

namespace eris::engine {
namespace {

using storage::JoinStep;
using storage::MapStep;
using storage::QueryStep;
using storage::ScanStep;
using storage::SortStep;
using storage::UnionStep;
using storage::ValuesStep;

// A column of a step, or of the table that a scan reads.
struct Place {
  uint32_t step = 0;
  uint32_t column = 0;
};

// The number of a column that FieldName has named.
std::optional<uint32_t> FieldOf(const std::string& name, size_t columns) {
  for (uint32_t i = 0; i < columns; ++i) {
    if (storage::FieldName(i) == name) return i;
  }
  return std::nullopt;
}

// Whether TableColumnOf finds one.
bool IsColumn(const ScanStep& scan, uint32_t column) {
  if (MakesGroups(scan.query)) return column < scan.query.group_by.size();
  return column < scan.query.columns.size() &&
         scan.query.columns[column].expression.kind == Expression::Kind::kField;
}

class OrderMaker {
 public:
  explicit OrderMaker(const std::vector<QueryStep>& steps)
      : steps_(steps), made_(steps.size(), false) {}

  StepOrder Run() {
    Make(static_cast<uint32_t>(steps_.size() - 1));
    return std::move(order_);
  }

 private:
  void Make(uint32_t step) {
    if (made_[step]) return;
    made_[step] = true;
    MakeValues(steps_[step]);
    std::visit([&](const auto& what) { MakeInputs(what); }, steps_[step].what);
    order_.steps.push_back(step);
  }
  void MakeValues(const QueryStep& step) {
    storage::ForSubqueries(step, [&](uint32_t value) { Make(value); });
  }
  void MakeInputs(const ScanStep&) {}
  void MakeInputs(const ValuesStep&) {}
  void MakeInputs(const MapStep& map) { Make(map.input); }
  void MakeInputs(const SortStep& sort) { Make(sort.input); }
  void MakeInputs(const UnionStep& all) {
    for (const UnionStep::Input& input : all.inputs) Make(input.step);
  }
  void MakeInputs(const JoinStep& join) {
    const bool right_filters = join.type == JoinType::kInner || join.type == JoinType::kSemi;
    const bool right_first = right_filters && RowsOf(join.right) < RowsOf(join.left);
    const uint32_t first = right_first ? join.right : join.left;
    const uint32_t other = right_first ? join.left : join.right;
    Make(first);
    for (const JoinNode::Key& key : join.keys) {
      AddFilter({first, right_first ? key.right : key.left},
                {other, right_first ? key.left : key.right});
    }
    Make(other);
  }
  uint64_t RowsOf(uint32_t step) const {
    return steps_[step].rows_about.value_or(std::numeric_limits<uint64_t>::max());
  }

  void AddFilter(const Place& keys, Place filtered) {
    const ColumnSchema& made = steps_[keys.step].schema.columns[keys.column];
    const ColumnSchema& wanted = steps_[filtered.step].schema.columns[filtered.column];
    if (!storage::HasKeyFilter(made.type) || made.type != wanted.type ||
        made.scale != wanted.scale) {
      return;
    }
    bool can_fail = false;
    bool whole_groups = false;
    for (;;) {
      const QueryStep& step = steps_[filtered.step];
      if (made_[filtered.step] || step.uses > 1) return;
      whole_groups = whole_groups || (can_fail && GroupsRows(step));
      can_fail = can_fail || ComputesWhatCanFail(step);
      if (const auto* scan = std::get_if<ScanStep>(&step.what)) {
        if (!IsColumn(*scan, filtered.column)) return;
        order_.filters.push_back({.scan = filtered.step,
                                  .scan_column = filtered.column,
                                  .made = keys.step,
                                  .made_column = keys.column,
                                  .whole_groups = whole_groups});
        return;
      }
      const std::optional<Place> below =
          std::visit([&](const auto& what) { return Below(what, filtered.column); }, step.what);
      if (!below) return;
      filtered = *below;
    }
  }

  static bool GroupsRows(const QueryStep& step) {
    const auto* scan = std::get_if<ScanStep>(&step.what);
    const auto* map = std::get_if<MapStep>(&step.what);
    return (scan != nullptr && MakesGroups(scan->query)) ||
           (map != nullptr && MakesGroups(map->query));
  }
  bool ComputesWhatCanFail(const QueryStep& step) const {
    if (const auto* map = std::get_if<MapStep>(&step.what)) {
      const Query& query = map->query;
      const std::vector<ColumnSchema>& input = steps_[map->input].schema.columns;
      const auto fails = [&](const Expression& one) { return CanFail(one, input); };
      return (query.filter && fails(*query.filter)) ||
             std::any_of(query.columns.begin(), query.columns.end(),
                         [&](const auto& column) { return fails(column.expression); }) ||
             std::any_of(query.aggregates.begin(), query.aggregates.end(), [&](const auto& column) {
               return column.argument && fails(*column.argument);
             });
    }
    const auto* join = std::get_if<JoinStep>(&step.what);
    if (join == nullptr || !join->condition) return false;
    std::vector<ColumnSchema> both = steps_[join->left].schema.columns;
    const std::vector<ColumnSchema>& right = steps_[join->right].schema.columns;
    both.insert(both.end(), right.begin(), right.end());
    return CanFail(*join->condition, both);
  }

  // The column of a step's input whose values a column of the step has, if rows of the input with
  // other values matter to no row of the step.
  std::optional<Place> Below(const ScanStep&, uint32_t) const { return std::nullopt; }
  std::optional<Place> Below(const MapStep& map, uint32_t column) const {
    const Query& query = map.query;
    if (MakesGroups(query)) {
      if (column >= query.group_by.size()) return std::nullopt;
      const auto field = FieldOf(query.group_by[column], steps_[map.input].schema.columns.size());
      return field ? std::optional(Place{map.input, *field}) : std::nullopt;
    }
    const Expression& expression = query.columns[column].expression;
    if (expression.kind != Expression::Kind::kField) return std::nullopt;
    return Place{map.input, expression.number};
  }
  std::optional<Place> Below(const SortStep& sort, uint32_t column) const {
    if (sort.offset > 0 || sort.count != storage::kAllRows) return std::nullopt;
    return Place{sort.input, column};
  }
  std::optional<Place> Below(const UnionStep&, uint32_t) const { return std::nullopt; }
  std::optional<Place> Below(const ValuesStep&, uint32_t) const { return std::nullopt; }
  std::optional<Place> Below(const JoinStep& join, uint32_t column) const {
    const uint32_t of_both = join.columns[column];
    const auto left = static_cast<uint32_t>(steps_[join.left].schema.columns.size());
    if (of_both < left) return Place{join.left, of_both};
    // Without keys more than one row there is an error, which must not depend on a filter.
    if (join.type != JoinType::kInner || join.keys.empty()) return std::nullopt;
    return Place{join.right, of_both - left};
  }

  const std::vector<QueryStep>& steps_;
  std::vector<bool> made_;  // or being made
  StepOrder order_;
};

}  // namespace

std::optional<uint32_t> TableColumnOf(const ScanStep& scan, uint32_t column,
                                      const std::vector<ColumnSchema>& table) {
  if (!IsColumn(scan, column)) return std::nullopt;
  if (!MakesGroups(scan.query)) return scan.query.columns[column].expression.number;
  for (uint32_t i = 0; i < table.size(); ++i) {
    if (table[i].name == scan.query.group_by[column]) return i;
  }
  return std::nullopt;
}

StepOrder OrderSteps(const std::vector<QueryStep>& steps) { return OrderMaker(steps).Run(); }

}  // namespace eris::engine
