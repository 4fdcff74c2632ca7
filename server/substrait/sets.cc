// Unions of relations.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "eris/schema.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

using ::substrait::SetRel;

// The type of a column whose values come from columns of these types. Numbers get one type where
// that is possible without knowing the scales of decimals; what does not fit then is the engine's
// to refuse.
ValueType TypeOfUnion(const std::vector<ValueType>& types) {
  const ValueType& first = types.front();
  const bool same = std::all_of(types.begin(), types.end(), [&](const ValueType& type) {
    return type == first && type.column.has_value();
  });
  if (same) return first;
  ValueKind kind = ValueKind::kNull;
  for (const ValueType& type : types) {
    if (!IsNumber(type.kind)) return first;
    kind = std::max(kind, type.kind);
  }
  if (kind == ValueKind::kInteger) return TypeOfColumn(ColumnType::kInt64, 0);
  if (kind == ValueKind::kDouble) return TypeOfColumn(ColumnType::kFloat64, 0);
  return {.kind = kind};
}

// The field as a column of the union.
Expression ColumnOf(const RelationField& field, const ValueType& type) {
  Expression column = expressions::Field(field.column);
  const bool number = type.column == ColumnType::kInt64 || type.column == ColumnType::kFloat64;
  if (!number || field.type == type) return column;
  return expressions::Cast(std::move(column), *type.column);
}

}  // namespace

absl::StatusOr<Relation> PlanTranslator::TakeSet(const SetRel& set, const Place& place) {
  if (set.op() != SetRel::SET_OP_UNION_ALL && set.op() != SetRel::SET_OP_UNION_DISTINCT) {
    if (set.op() == SetRel::SET_OP_UNSPECIFIED) return Malformed(place, "the set has no operation");
    if (!SetRel::SetOp_IsValid(set.op())) {
      return Unsupported(place, "the operation ", static_cast<int>(set.op()), " is unknown");
    }
    return Unsupported(place, "the operation ", SetRel::SetOp_Name(set.op()), " is not supported");
  }
  if (set.inputs_size() < 2) {
    return Malformed(place, set.inputs_size(), " inputs, must be at least 2");
  }
  if (static_cast<uint32_t>(set.inputs_size()) > kPlanNodesMax) {
    return Malformed(place, set.inputs_size(), " inputs, must be at most ", kPlanNodesMax);
  }
  std::vector<Relation> inputs;
  for (int i = 0; i < set.inputs_size(); ++i) {
    const Place at(place, "inputs", i);
    ERIS_ASSIGN_OR_RETURN(Relation input, TakeRelation(set.inputs(i), at));
    if (i > 0 && input.fields.size() != inputs[0].fields.size()) {
      return Malformed(at, input.fields.size(), " columns, but the first input has ",
                       inputs[0].fields.size());
    }
    inputs.push_back(std::move(input));
  }
  ERIS_ASSIGN_OR_RETURN(Relation out, AppendUnion(inputs, place));
  if (set.op() == SetRel::SET_OP_UNION_DISTINCT) {
    const size_t width = out.fields.size();
    if (width == 0 || width > kPlanGroupKeysMax) {
      return Malformed(place, "a union of distinct rows of ", width, " columns, must be 1 to ",
                       kPlanGroupKeysMax);
    }
    AggregateNode distinct{.input = out.node};
    for (uint32_t column = 0; column < width; ++column) distinct.keys.push_back(column);
    ERIS_ASSIGN_OR_RETURN(out.node, Append(std::move(distinct), width, place));
  }
  return Emit(set.common(), std::move(out), place);
}

absl::StatusOr<Relation> PlanTranslator::AppendUnion(const std::vector<Relation>& inputs,
                                                     const Place& place) {
  Relation out;
  for (size_t column = 0; column < inputs[0].fields.size(); ++column) {
    std::vector<ValueType> types;
    for (const Relation& input : inputs) types.push_back(input.fields[column].type);
    out.fields.push_back({static_cast<uint32_t>(column), TypeOfUnion(types)});
  }
  UnionNode node;
  for (const Relation& input : inputs) {
    ERIS_ASSIGN_OR_RETURN(node.inputs.emplace_back(), AsNode(input, out.fields, place));
  }
  const size_t width = std::max<size_t>(out.fields.size(), 1);
  ERIS_ASSIGN_OR_RETURN(out.node, Append(std::move(node), width, place));
  return out;
}

// The input's fields in the types of the union's.
absl::StatusOr<uint32_t> PlanTranslator::AsNode(const Relation& input, const RelationFields& fields,
                                                const Place& place) {
  ProjectNode project{.input = input.node};
  if (fields.empty()) {  // only their number is asked for, but a node has a column at least
    project.columns.push_back(expressions::Literal(1));
    return Append(std::move(project), 1, place);
  }
  bool casts = false;
  for (size_t i = 0; i < fields.size(); ++i) {
    project.columns.push_back(ColumnOf(input.fields[i], fields[i].type));
    casts |= project.columns.back().kind == Expression::Kind::kCast;
  }
  if (!casts) return AsNode(input, place);
  ERIS_RETURN_IF_ERROR(CountParts(static_cast<uint32_t>(2 * fields.size()), place));
  return Append(std::move(project), fields.size(), place);
}

}  // namespace eris::server::plans
