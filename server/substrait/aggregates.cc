// Aggregates: their keys and measures.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "eris/schema.h"
#include "server/substrait/functions.h"
#include "server/substrait/literals.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

using ::substrait::AggregateRel;
using PlanFunction = ::substrait::AggregateFunction;

// An aggregate function by its name in a plan. Any value of a group may be taken for all of them,
// so the largest one is. Of truth values, which are 1 and 0, an "and" is the smallest one.
std::optional<AggregateFunction> FunctionOfName(absl::string_view name) {
  if (name == "any_value" || name == "bool_or") return AggregateFunction::kMax;
  if (name == "bool_and") return AggregateFunction::kMin;
  return AggregateFunctionFromName(name);
}

absl::Status CheckWhole(const PlanFunction& function, const Place& place) {
  switch (function.phase()) {
    case ::substrait::AGGREGATION_PHASE_UNSPECIFIED:
    case ::substrait::AGGREGATION_PHASE_INITIAL_TO_RESULT:
      break;
    default:
      return Unsupported(place, "parts of an aggregation (phase ",
                         static_cast<int>(function.phase()), ") are not supported");
  }
  if (function.arguments().empty() && !function.args().empty()) {
    return Unsupported(place, "the field \"args\" is not supported: it is \"arguments\" now");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> IsDistinct(const PlanFunction& function, const Place& place) {
  switch (function.invocation()) {
    case PlanFunction::AGGREGATION_INVOCATION_UNSPECIFIED:
    case PlanFunction::AGGREGATION_INVOCATION_ALL:
      return false;
    case PlanFunction::AGGREGATION_INVOCATION_DISTINCT:
      return true;
    default:
      return Unsupported(place, "the invocation ", static_cast<int>(function.invocation()),
                         " is not supported");
  }
}

// Errors: InvalidArgument (the function does not take such values).
absl::StatusOr<ValueType> TypeOfMeasure(AggregateFunction function, absl::string_view name,
                                        ValueType argument, const Place& place) {
  switch (function) {
    case AggregateFunction::kCount:
      return TypeOfColumn(ColumnType::kUint64, 0);
    case AggregateFunction::kSum:
    case AggregateFunction::kAverage:
    case AggregateFunction::kMedian:
      if (!IsNumber(argument.kind) && argument.kind != ValueKind::kNull) {
        return Malformed(place, "the function \"", name, "\" is called with ",
                         KindText(argument.kind), ", must be a number");
      }
      if (function == AggregateFunction::kSum) return ValueType{.kind = argument.kind};
      if (function == AggregateFunction::kMedian && argument.kind == ValueKind::kDecimal) {
        return argument;
      }
      return TypeOfColumn(ColumnType::kFloat64, 0);
    default:
      return argument;
  }
}

// The argument where the filter is true, else null, which all aggregates pass over.
absl::StatusOr<Part> Filtered(Part filter, std::optional<Part> argument, const Place& place) {
  ERIS_ASSIGN_OR_RETURN(filter, AsCondition(std::move(filter), place));
  Part value = argument.has_value() ? *std::move(argument) : LiteralPart(int64_t{1});
  std::vector<Part> arguments;
  arguments.push_back(std::move(filter));
  arguments.push_back(std::move(value));
  return ComposeCase(std::move(arguments), place);
}

}  // namespace

// A grouping names its keys by their numbers in the aggregate; older plans contain them.
absl::StatusOr<std::vector<Part>> PlanTranslator::TakeKeys(const AggregateRel& aggregate,
                                                           const RelationFields& input,
                                                           const Place& place) {
  std::vector<Part> keys;
  if (aggregate.groupings_size() > 1) {
    return Unsupported(place,
                       "several groupings in one aggregate, as of rollup, are not supported");
  }
  if (aggregate.groupings().empty()) return keys;
  const Place at(place, "groupings", 0);
  const AggregateRel::Grouping& grouping = aggregate.groupings(0);
  if (grouping.expression_references().empty()) {
    for (int i = 0; i < grouping.grouping_expressions_size(); ++i) {
      ERIS_ASSIGN_OR_RETURN(Part key, TakeValue(true, grouping.grouping_expressions(i), input,
                                                Place(at, "grouping_expressions", i)));
      keys.push_back(std::move(key));
    }
    return keys;
  }
  for (int i = 0; i < grouping.expression_references_size(); ++i) {
    const uint32_t reference = grouping.expression_references(i);
    if (reference >= static_cast<uint32_t>(aggregate.grouping_expressions_size())) {
      return Malformed(at, "expression_references[", i, "] is ", reference, ", but there are ",
                       aggregate.grouping_expressions_size(), " grouping_expressions");
    }
    const int number = static_cast<int>(reference);
    ERIS_ASSIGN_OR_RETURN(Part key, TakeValue(true, aggregate.grouping_expressions(number), input,
                                              Place(place, "grouping_expressions", number)));
    keys.push_back(std::move(key));
  }
  return keys;
}

absl::StatusOr<std::pair<Measure, ValueType>> PlanTranslator::TakeMeasure(
    const AggregateRel::Measure& message, const RelationFields& input, const Place& place) {
  const PlanFunction& function = message.measure();
  const Place at(place, "measure");
  ERIS_ASSIGN_OR_RETURN(const absl::string_view name,
                        FunctionName(function.function_reference(), at));
  const std::optional<AggregateFunction> known = FunctionOfName(name);
  if (!known.has_value()) return Unsupported(at, "the function \"", name, "\" is unknown");
  ERIS_RETURN_IF_ERROR(CheckWhole(function, at));
  Measure measure{.function = *known};
  ERIS_ASSIGN_OR_RETURN(measure.distinct, IsDistinct(function, at));
  ERIS_ASSIGN_OR_RETURN(std::vector<Part> arguments,
                        TakeArguments(function.arguments(), input, at));
  const bool counts = *known == AggregateFunction::kCount;
  if (arguments.size() > 1 || (arguments.empty() && (!counts || measure.distinct))) {
    return Malformed(at, "the function \"", name, "\" has ", arguments.size(),
                     " arguments, must have ", counts && !measure.distinct ? "at most 1" : "1");
  }
  std::optional<Part> argument;
  if (!arguments.empty()) argument = std::move(arguments[0]);
  // A literal is no null in any row, so that it counts rows.
  if (counts && !measure.distinct && argument.has_value() && argument->literal() != nullptr &&
      argument->type.kind != ValueKind::kNull) {
    argument.reset();
  }
  const bool of_numbers = *known == AggregateFunction::kSum ||
                          *known == AggregateFunction::kAverage ||
                          *known == AggregateFunction::kMedian;
  if (argument.has_value()) {
    ERIS_ASSIGN_OR_RETURN(argument, of_numbers ? AsNumber(*std::move(argument), at)
                                               : AsValue(*std::move(argument), at));
  }
  ERIS_ASSIGN_OR_RETURN(const ValueType type,
                        TypeOfMeasure(*known, name, argument ? argument->type : ValueType{}, at));
  ERIS_RETURN_IF_ERROR(CheckOptions(function.options(), type.kind, at));
  if (message.has_filter()) {
    const Place filter_at(place, "filter");
    ERIS_ASSIGN_OR_RETURN(Part filter, TakeExpression(message.filter(), input, filter_at));
    ERIS_ASSIGN_OR_RETURN(argument, Filtered(std::move(filter), std::move(argument), filter_at));
  }
  if (argument.has_value()) {
    ERIS_RETURN_IF_ERROR(CountParts(argument->size, at));
    measure.argument = std::move(argument->expression);
  }
  return std::pair(std::move(measure), type);
}

absl::StatusOr<Relation> PlanTranslator::TakeAggregate(const AggregateRel& aggregate,
                                                       const Place& place) {
  ERIS_ASSIGN_OR_RETURN(Relation input,
                        TakeInput(aggregate.has_input(), aggregate.input(), Place(place, "input")));
  ERIS_ASSIGN_OR_RETURN(std::vector<Part> keys, TakeKeys(aggregate, input.fields, place));
  Relation out;
  for (const Part& key : keys) out.fields.push_back({0, key.type});
  ERIS_ASSIGN_OR_RETURN(const std::vector<uint32_t> columns,
                        AsColumns(input.node, std::move(keys), place));
  // A key may be named twice.
  AggregateNode node;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto found = std::find(node.keys.begin(), node.keys.end(), columns[i]);
    out.fields[i].column = static_cast<uint32_t>(found - node.keys.begin());
    if (found == node.keys.end()) node.keys.push_back(columns[i]);
  }
  if (node.keys.size() > kPlanGroupKeysMax) {
    return Malformed(place, node.keys.size(), " keys of groups, must be at most ",
                     kPlanGroupKeysMax);
  }
  if (static_cast<uint32_t>(aggregate.measures_size()) > kTableColumnsMax) {
    return Malformed(place, aggregate.measures_size(), " measures, must be at most ",
                     kTableColumnsMax);
  }
  for (int i = 0; i < aggregate.measures_size(); ++i) {
    const Place at(place, "measures", i);
    ERIS_ASSIGN_OR_RETURN(auto measure, TakeMeasure(aggregate.measures(i), input.fields, at));
    out.fields.push_back(
        {static_cast<uint32_t>(node.keys.size() + node.measures.size()), measure.second});
    node.measures.push_back(std::move(measure.first));
  }
  if (out.fields.empty()) return Malformed(place, "an aggregate without a key or a measure");
  const size_t width = node.keys.size() + node.measures.size();
  node.input = input.node;  // a measure's subquery has its nodes before this one, too
  ERIS_ASSIGN_OR_RETURN(out.node, Append(std::move(node), width, place));
  return Emit(aggregate.common(), std::move(out), place);
}

}  // namespace eris::server::plans
