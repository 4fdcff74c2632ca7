// Relations with one input that are not aggregates, and what all relations have in common.
#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "eris/schema.h"
#include "server/substrait/literals.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

using ::substrait::Rel;
using ::substrait::SortField;

absl::Status TooDeep(const Place& place) {
  return Malformed(place, "the plan has more than ", kPlanDepthMax, " levels");
}

// An enhancement changes what a relation means, so it must not be ignored.
absl::Status CheckNoEnhancement(const Rel& rel, absl::string_view name, const Place& place) {
  const google::protobuf::FieldDescriptor* field =
      Rel::descriptor()->FindFieldByName(std::string(name));
  const google::protobuf::Message& inner = rel.GetReflection()->GetMessage(rel, field);
  const google::protobuf::FieldDescriptor* extension =
      inner.GetDescriptor()->FindFieldByName("advanced_extension");
  if (extension == nullptr || !inner.GetReflection()->HasField(inner, extension)) {
    return absl::OkStatus();
  }
  const google::protobuf::Message& advanced = inner.GetReflection()->GetMessage(inner, extension);
  if (!static_cast<const ::substrait::extensions::AdvancedExtension&>(advanced).has_enhancement()) {
    return absl::OkStatus();
  }
  return Unsupported(place, "enhancements are not supported");
}

absl::StatusOr<SortKey> DirectionOf(const SortField& field, const Place& place) {
  if (field.sort_kind_case() == SortField::kComparisonFunctionReference) {
    return Unsupported(place, "sorting by a comparison function is not supported");
  }
  switch (field.direction()) {
    case SortField::SORT_DIRECTION_ASC_NULLS_FIRST:
      return SortKey{.nulls_first = true};
    case SortField::SORT_DIRECTION_ASC_NULLS_LAST:
      return SortKey{};
    case SortField::SORT_DIRECTION_DESC_NULLS_FIRST:
      return SortKey{.descending = true, .nulls_first = true};
    case SortField::SORT_DIRECTION_DESC_NULLS_LAST:
      return SortKey{.descending = true};
    case SortField::SORT_DIRECTION_UNSPECIFIED:
      return Malformed(place, "the sort has no direction");
    default:
      return Unsupported(place, "the sort direction ", static_cast<int>(field.direction()),
                         " is not supported");
  }
}

// The number of rows that a literal gives; nullopt for null.
absl::StatusOr<std::optional<int64_t>> RowsOf(const Part& part, const Place& place) {
  const Value* value = part.literal();
  if (value != nullptr && std::holds_alternative<std::monostate>(*value)) return std::nullopt;
  const auto* rows = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  if (rows == nullptr) return Unsupported(place, "a number of rows must be an integer literal");
  return *rows;
}

}  // namespace

absl::StatusOr<Relation> PlanTranslator::TakeRelation(const Rel& rel, const Place& place) {
  if (place.depth() > kPlanDepthMax) return TooDeep(place);
  const absl::string_view name = NameInOneof(rel, "rel_type");
  if (name.empty()) {
    if (!rel.GetReflection()->GetUnknownFields(rel).empty()) {
      return Unsupported(place, "a relation that Substrait 0.85 does not have");
    }
    return Malformed(place, "the relation is empty");
  }
  ERIS_RETURN_IF_ERROR(CheckNoEnhancement(rel, name, place));
  const Place inside(place, name);
  switch (rel.rel_type_case()) {
    case Rel::kRead:
      return TakeRead(rel.read(), inside);
    case Rel::kFilter:
      return TakeFilter(rel.filter(), inside);
    case Rel::kFetch:
      return TakeFetch(rel.fetch(), inside);
    case Rel::kAggregate:
      return TakeAggregate(rel.aggregate(), inside);
    case Rel::kSort:
      return TakeSort(rel.sort(), inside);
    case Rel::kJoin:
      return TakeJoin(rel.join(), inside);
    case Rel::kProject:
      return TakeProject(rel.project(), inside);
    case Rel::kCross:
      return TakeCross(rel.cross(), inside);
    case Rel::kSet:
      return TakeSet(rel.set(), inside);
    default:
      return Unsupported(place, "the relation \"", name, "\" is not supported");
  }
}

absl::StatusOr<Relation> PlanTranslator::TakeInput(bool present, const Rel& rel,
                                                   const Place& place) {
  if (!present) return Malformed(place, "the input is missing");
  return TakeRelation(rel, place);
}

absl::StatusOr<Relation> PlanTranslator::Emit(const ::substrait::RelCommon& common,
                                              Relation relation, const Place& place) const {
  if (common.has_emit()) {
    const auto& mapping = common.emit().output_mapping();
    RelationFields fields;
    for (int i = 0; i < mapping.size(); ++i) {
      if (mapping[i] < 0 || static_cast<size_t>(mapping[i]) >= relation.fields.size()) {
        return Malformed(place, "common.emit.output_mapping[", i, "] is ", mapping[i],
                         ", but there are ", relation.fields.size(), " fields");
      }
      fields.push_back(relation.fields[static_cast<size_t>(mapping[i])]);
    }
    relation.fields = std::move(fields);
  }
  if (relation.fields.size() > kTableColumnsMax) {
    return Malformed(place, "a relation of ", relation.fields.size(),
                     " columns, must have at most ", kTableColumnsMax);
  }
  return relation;
}

absl::StatusOr<uint32_t> PlanTranslator::AppendFilter(uint32_t input, Expression condition,
                                                      const Place& place) {
  if (IsTrue(condition)) return input;
  return Append(FilterNode{.input = input, .condition = std::move(condition)}, widths_[input],
                place);
}

absl::StatusOr<Relation> PlanTranslator::TakeFilter(const ::substrait::FilterRel& filter,
                                                    const Place& place) {
  ERIS_ASSIGN_OR_RETURN(Relation relation,
                        TakeInput(filter.has_input(), filter.input(), Place(place, "input")));
  ERIS_ASSIGN_OR_RETURN(Expression condition,
                        TakeCondition(filter.has_condition(), filter.condition(), relation.fields,
                                      Place(place, "condition")));
  ERIS_ASSIGN_OR_RETURN(relation.node, AppendFilter(relation.node, std::move(condition), place));
  return Emit(filter.common(), std::move(relation), place);
}

absl::StatusOr<Relation> PlanTranslator::TakeProject(const ::substrait::ProjectRel& project,
                                                     const Place& place) {
  ERIS_ASSIGN_OR_RETURN(Relation input,
                        TakeInput(project.has_input(), project.input(), Place(place, "input")));
  // As if all values were columns behind those of the input's node; the mapping then picks some.
  const uint32_t width = widths_[input.node];
  std::vector<Expression> computed;
  Relation all{.node = input.node};
  const bool replaces = dialect_.projects_replace && !project.common().has_emit();
  if (!replaces) all.fields = input.fields;
  for (int i = 0; i < project.expressions_size(); ++i) {
    const Place at(place, "expressions", i);
    ERIS_ASSIGN_OR_RETURN(Part part, TakeValue(true, project.expressions(i), input.fields, at));
    const bool is_field = part.expression.kind == Expression::Kind::kField;
    all.fields.push_back(
        {is_field ? part.expression.number : width + static_cast<uint32_t>(computed.size()),
         part.type});
    if (!is_field) computed.push_back(std::move(part.expression));
  }
  ERIS_ASSIGN_OR_RETURN(Relation out, Emit(project.common(), std::move(all), place));

  // Each column once, in the order of the fields that need it.
  ProjectNode node{.input = input.node};
  std::unordered_map<uint32_t, uint32_t> places;
  bool computes = false;
  for (const RelationField& field : out.fields) {
    if (!places.try_emplace(field.column, static_cast<uint32_t>(node.columns.size())).second) {
      continue;
    }
    const bool is_field = field.column < width;
    computes |= !is_field;
    node.columns.push_back(is_field ? expressions::Field(field.column)
                                    : std::move(computed[field.column - width]));
  }
  if (!computes) return out;
  for (RelationField& field : out.fields) field.column = places.at(field.column);
  const size_t columns = node.columns.size();
  ERIS_ASSIGN_OR_RETURN(out.node, Append(std::move(node), columns, place));
  return out;
}

absl::StatusOr<Relation> PlanTranslator::TakeSort(const ::substrait::SortRel& sort,
                                                  const Place& place) {
  ERIS_ASSIGN_OR_RETURN(Relation relation,
                        TakeInput(sort.has_input(), sort.input(), Place(place, "input")));
  std::vector<Part> values;
  SortNode node;
  for (int i = 0; i < sort.sorts_size(); ++i) {
    const Place at(place, "sorts", i);
    ERIS_ASSIGN_OR_RETURN(Part value, TakeValue(sort.sorts(i).has_expr(), sort.sorts(i).expr(),
                                                relation.fields, Place(at, "expr")));
    values.push_back(std::move(value));
    ERIS_ASSIGN_OR_RETURN(node.keys.emplace_back(), DirectionOf(sort.sorts(i), at));
  }
  if (!node.keys.empty()) {
    ERIS_ASSIGN_OR_RETURN(const std::vector<uint32_t> columns,
                          AsColumns(relation.node, std::move(values), place));
    for (size_t i = 0; i < columns.size(); ++i) node.keys[i].column = columns[i];
    node.input = relation.node;
    ERIS_ASSIGN_OR_RETURN(relation.node, Append(std::move(node), widths_[relation.node], place));
  }
  return Emit(sort.common(), std::move(relation), place);
}

absl::StatusOr<Relation> PlanTranslator::TakeFetch(const ::substrait::FetchRel& fetch,
                                                   const Place& place) {
  using ::substrait::FetchRel;
  ERIS_ASSIGN_OR_RETURN(Relation relation,
                        TakeInput(fetch.has_input(), fetch.input(), Place(place, "input")));
  std::optional<int64_t> offset = 0;
  std::optional<int64_t> count;  // nullopt: all
  if (fetch.has_offset_expr()) {
    const Place at(place, "offset_expr");
    ERIS_ASSIGN_OR_RETURN(const Part part, TakeWhole(true, fetch.offset_expr(), {}, at));
    ERIS_ASSIGN_OR_RETURN(offset, RowsOf(part, at));
  } else if (fetch.offset_mode_case() == FetchRel::kOffset) {
    offset = fetch.offset();
  }
  if (fetch.has_count_expr()) {
    const Place at(place, "count_expr");
    ERIS_ASSIGN_OR_RETURN(const Part part, TakeWhole(true, fetch.count_expr(), {}, at));
    ERIS_ASSIGN_OR_RETURN(count, RowsOf(part, at));
  } else if (fetch.count_mode_case() == FetchRel::kCount && fetch.count() != -1) {
    count = fetch.count();
  }
  if (offset.value_or(0) < 0) {
    return Malformed(place, "the offset is ", *offset, " rows, must be at least 0");
  }
  if (count.value_or(0) < 0) {
    return Malformed(place, "the count is ", *count, " rows, must be at least 0");
  }
  const LimitNode node{
      .input = relation.node,
      .offset = static_cast<uint64_t>(offset.value_or(0)),
      .count = count ? static_cast<uint64_t>(*count) : std::numeric_limits<uint64_t>::max()};
  if (node.offset != 0 || count.has_value()) {
    ERIS_ASSIGN_OR_RETURN(relation.node, Append(node, widths_[relation.node], place));
  }
  return Emit(fetch.common(), std::move(relation), place);
}

}  // namespace eris::server::plans
