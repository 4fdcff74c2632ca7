#include "tests/support/plan/plan_types.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::test {
namespace {

using TypesResult = absl::StatusOr<CellTypes>;

absl::Status Wrong(uint32_t node, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("node ", node, ": ", why));
}

// Types of one node, by its kind.
struct TypesOfNode {
  const uint32_t node;
  const std::vector<CellTypes>& before;
  const PlanTables& tables;

  bool Is(uint32_t input) const { return input < node; }
  ExpressionScope ScopeOf(CellTypes fields) const {
    return {std::move(fields), {before.begin(), before.begin() + node}};
  }
  TypesResult Same(uint32_t input) const {
    if (!Is(input)) return Wrong(node, "its input comes later");
    return before[input];
  }

  TypesResult operator()(const ReadNode& read) const {
    const auto table = tables.find(read.object);
    if (table == tables.end()) return Wrong(node, absl::StrCat("no object ", read.object));
    const CellTypes all = TypesOf(table->second.schema);
    if (read.columns.empty()) return all;
    CellTypes types;
    for (const uint32_t column : read.columns) {
      if (column >= all.size()) return Wrong(node, "no such column");
      types.push_back(all[column]);
    }
    return types;
  }
  TypesResult operator()(const FilterNode& filter) const {
    ERIS_ASSIGN_OR_RETURN(CellTypes types, Same(filter.input));
    ERIS_RETURN_IF_ERROR(BindCondition(filter.condition, ScopeOf(types)).status());
    return types;
  }
  TypesResult operator()(const ProjectNode& project) const {
    ERIS_ASSIGN_OR_RETURN(const CellTypes input, Same(project.input));
    if (project.columns.empty()) return Wrong(node, "a projection has no column");
    CellTypes types;
    for (const Expression& column : project.columns) {
      ERIS_ASSIGN_OR_RETURN(const BoundExpression bound, BindValue(column, ScopeOf(input)));
      types.push_back(bound.type);
    }
    return types;
  }
  TypesResult operator()(const JoinNode& join) const {
    ERIS_ASSIGN_OR_RETURN(CellTypes left, Same(join.left));
    ERIS_ASSIGN_OR_RETURN(const CellTypes right, Same(join.right));
    for (const JoinNode::Key& key : join.keys) {
      if (key.left >= left.size() || key.right >= right.size()) return Wrong(node, "no such key");
      const CellType a = left[key.left];
      const CellType b = right[key.right];
      if (!(IsNumber(a) && IsNumber(b)) && a.type != b.type) return Wrong(node, "keys do not fit");
    }
    const CellTypes both = Together(left, right);
    if (join.condition.has_value()) {
      ERIS_RETURN_IF_ERROR(BindCondition(*join.condition, ScopeOf(both)).status());
    }
    return join.type == JoinType::kInner || join.type == JoinType::kLeft ? both : left;
  }
  TypesResult operator()(const AggregateNode& aggregate) const {
    ERIS_ASSIGN_OR_RETURN(const CellTypes input, Same(aggregate.input));
    if (aggregate.keys.size() > kPlanGroupKeysMax) return Wrong(node, "too many keys");
    CellTypes types;
    for (const uint32_t key : aggregate.keys) {
      if (key >= input.size()) return Wrong(node, "no such key");
      types.push_back(input[key]);
    }
    for (const Measure& measure : aggregate.measures) {
      if (!measure.argument.has_value()) {
        if (measure.function != AggregateFunction::kCount) return Wrong(node, "no argument");
        types.push_back({ColumnType::kUint64});
        continue;
      }
      ERIS_ASSIGN_OR_RETURN(const BoundExpression bound,
                            BindValue(*measure.argument, ScopeOf(input)));
      const bool sums = measure.function == AggregateFunction::kSum ||
                        measure.function == AggregateFunction::kAverage ||
                        measure.function == AggregateFunction::kMedian;
      if (sums && !IsNumber(bound.type)) return Wrong(node, "a sum or median of numbers alone");
      types.push_back(MeasureType(measure.function, bound.type));
    }
    if (types.empty()) return Wrong(node, "it hands out no column");
    return types;
  }
  TypesResult operator()(const SortNode& sort) const {
    ERIS_ASSIGN_OR_RETURN(CellTypes types, Same(sort.input));
    for (const SortKey& key : sort.keys) {
      if (key.column >= types.size()) return Wrong(node, "no such column");
    }
    return types;
  }
  TypesResult operator()(const LimitNode& limit) const { return Same(limit.input); }
  TypesResult operator()(const UnionNode& all) const {
    if (all.inputs.empty()) return Wrong(node, "a union of nothing");
    ERIS_ASSIGN_OR_RETURN(CellTypes types, Same(all.inputs[0]));
    for (const uint32_t input : all.inputs) {
      ERIS_ASSIGN_OR_RETURN(const CellTypes others, Same(input));
      if (others != types) return Wrong(node, "inputs of a union have other types");
    }
    return types;
  }
  TypesResult operator()(const ValuesNode& values) const {
    if (values.columns.empty()) return Wrong(node, "values without a column");
    return TypesOf({.columns = values.columns});
  }
};

}  // namespace

CellTypes TypesOf(const Schema& schema) {
  CellTypes types;
  for (const ColumnSchema& column : schema.columns) types.push_back({column.type, column.scale});
  return types;
}

CellTypes Together(const CellTypes& left, const CellTypes& right) {
  CellTypes both = left;
  both.insert(both.end(), right.begin(), right.end());
  return both;
}

CellType MeasureType(AggregateFunction function, CellType argument) {
  switch (function) {
    case AggregateFunction::kCount:
      return {ColumnType::kUint64};
    case AggregateFunction::kSum:
      return IsReal(argument) ? argument : CellType{ColumnType::kInt128, argument.scale};
    case AggregateFunction::kAverage:
      return {ColumnType::kFloat64};
    case AggregateFunction::kMedian:
      if (argument.type == ColumnType::kDecimal ||
          (argument.type == ColumnType::kInt128 && argument.scale > 0)) {
        return argument;
      }
      return {ColumnType::kFloat64};
    default:
      return argument;
  }
}

TypesResult NodeTypes(const QueryPlan& plan, uint32_t node, const std::vector<CellTypes>& before,
                      const PlanTables& tables) {
  return std::visit(TypesOfNode{node, before, tables}, plan.nodes[node]);
}

absl::StatusOr<std::vector<Schema>> SchemasOf(const QueryPlan& plan, const PlanTables& tables) {
  std::vector<CellTypes> types;
  std::vector<Schema> schemas;
  for (uint32_t node = 0; node < plan.nodes.size(); ++node) {
    ERIS_ASSIGN_OR_RETURN(CellTypes one, NodeTypes(plan, node, types, tables));
    Schema schema;
    for (const CellType& type : one) {
      schema.columns.push_back(
          {absl::StrCat("c", schema.columns.size()), type.type, type.scale, true});
    }
    schemas.push_back(std::move(schema));
    types.push_back(std::move(one));
  }
  return schemas;
}

}  // namespace eris::test
