// Expressions other than calls of functions, which functions.h translates.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "server/substrait/functions.h"
#include "server/substrait/literals.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

using PlanExpression = ::substrait::Expression;

// Only whole columns of the relation itself are known.
absl::StatusOr<Part> TakeField(const PlanExpression::FieldReference& reference,
                               const RelationFields& input, const Place& place) {
  if (reference.root_type_case() != PlanExpression::FieldReference::kRootReference &&
      reference.root_type_case() != PlanExpression::FieldReference::ROOT_TYPE_NOT_SET) {
    return Unsupported(place, "fields of an \"", NameInOneof(reference, "root_type"),
                       "\" are not supported");
  }
  if (!reference.has_direct_reference()) {
    if (reference.has_masked_reference()) {
      return Unsupported(place, "masked references are not supported");
    }
    return Malformed(place, "the reference is empty");
  }
  const PlanExpression::ReferenceSegment& segment = reference.direct_reference();
  if (!segment.has_struct_field()) {
    const absl::string_view name = NameInOneof(segment, "reference_type");
    if (name.empty()) return Malformed(place, "the reference is empty");
    return Unsupported(place, "references to a \"", name, "\" are not supported");
  }
  if (segment.struct_field().has_child()) {
    return Unsupported(place, "parts of a column are not supported");
  }
  const int field = segment.struct_field().field();
  if (field < 0 || static_cast<size_t>(field) >= input.size()) {
    return Malformed(place, "field ", field, " is used, but there are ", input.size(), " fields");
  }
  const RelationField& column = input[static_cast<size_t>(field)];
  return Part{.expression = expressions::Field(column.column), .type = column.type};
}

// Refuses a list that cannot become an expression before its items take memory.
absl::Status CheckItems(int items, const Place& place) {
  if (static_cast<uint32_t>(items) <= kExpressionSizeMax) return absl::OkStatus();
  return Malformed(place, "an expression of more than ", kExpressionSizeMax, " parts");
}

// The same for a part of which each item gets a copy.
absl::Status CheckCopies(const Part& part, size_t copies, const Place& place) {
  if (uint64_t{part.size} * copies <= kExpressionSizeMax) return absl::OkStatus();
  return Malformed(place, "an expression of more than ", kExpressionSizeMax, " parts");
}

absl::StatusOr<Part> Equality(Part left, Part right, const Place& place) {
  ERIS_RETURN_IF_ERROR(MakeComparable(left, right, place));
  return Compose(Expression::Kind::kEqual, std::move(left), std::move(right), kConditionType,
                 place);
}

}  // namespace

absl::StatusOr<Part> PlanTranslator::TakeWhole(bool present, const PlanExpression& expression,
                                               const RelationFields& input, const Place& place) {
  if (!present) return Malformed(place, "the expression is missing");
  ERIS_ASSIGN_OR_RETURN(Part part, TakeExpression(expression, input, place));
  ERIS_RETURN_IF_ERROR(CountParts(part.size, place));
  return part;
}

absl::StatusOr<Part> PlanTranslator::TakeValue(bool present, const PlanExpression& expression,
                                               const RelationFields& input, const Place& place) {
  if (!present) return Malformed(place, "the expression is missing");
  ERIS_ASSIGN_OR_RETURN(Part part, TakeExpression(expression, input, place));
  ERIS_ASSIGN_OR_RETURN(part, AsValue(std::move(part), place));
  ERIS_RETURN_IF_ERROR(CountParts(part.size, place));
  return part;
}

absl::StatusOr<Expression> PlanTranslator::TakeCondition(bool present,
                                                         const PlanExpression& expression,
                                                         const RelationFields& input,
                                                         const Place& place) {
  ERIS_ASSIGN_OR_RETURN(Part part, TakeWhole(present, expression, input, place));
  ERIS_ASSIGN_OR_RETURN(part, AsCondition(std::move(part), place));
  return std::move(part.expression);
}

absl::StatusOr<Part> PlanTranslator::TakeExpression(const PlanExpression& expression,
                                                    const RelationFields& input,
                                                    const Place& place) {
  if (place.depth() > kPlanDepthMax) {
    return Malformed(place, "the plan has more than ", kPlanDepthMax, " levels");
  }
  switch (expression.rex_type_case()) {
    case PlanExpression::kLiteral:
      return TakeLiteral(expression.literal(), place);
    case PlanExpression::kSelection:
      return TakeField(expression.selection(), input, place);
    case PlanExpression::kScalarFunction:
      return TakeFunction(expression.scalar_function(), input, place);
    case PlanExpression::kCast:
      return TakeCast(expression.cast(), input, Place(place, "cast"));
    case PlanExpression::kIfThen:
      return TakeIfThen(expression.if_then(), input, Place(place, "if_then"));
    case PlanExpression::kSingularOrList:
      return TakeOrList(expression.singular_or_list(), input, Place(place, "singular_or_list"));
    case PlanExpression::kSubquery:
      return TakeSubquery(expression.subquery(), Place(place, "subquery"));
    case PlanExpression::REX_TYPE_NOT_SET:
      if (!expression.GetReflection()->GetUnknownFields(expression).empty()) {
        return Unsupported(place, "an expression that Substrait 0.85 does not have");
      }
      return Malformed(place, "the expression is empty");
    default:
      return Unsupported(place, "the expression \"", NameInOneof(expression, "rex_type"),
                         "\" is not supported");
  }
}

absl::StatusOr<absl::string_view> PlanTranslator::FunctionName(uint32_t reference,
                                                               const Place& place) const {
  const auto found = functions_.find(reference);
  if (found != functions_.end()) return absl::string_view(found->second);
  return Malformed(place, "function_reference is ", reference,
                   ", but the plan declares no such function");
}

absl::StatusOr<std::vector<Part>> PlanTranslator::TakeArguments(
    const google::protobuf::RepeatedPtrField<::substrait::FunctionArgument>& arguments,
    const RelationFields& input, const Place& place) {
  using ::substrait::FunctionArgument;
  ERIS_RETURN_IF_ERROR(CheckItems(arguments.size(), place));
  std::vector<Part> parts;
  for (int i = 0; i < arguments.size(); ++i) {
    const Place at(place, "arguments", i);
    switch (arguments[i].arg_type_case()) {
      case FunctionArgument::kValue: {
        ERIS_ASSIGN_OR_RETURN(Part part,
                              TakeExpression(arguments[i].value(), input, Place(at, "value")));
        parts.push_back(std::move(part));
        break;
      }
      case FunctionArgument::kEnum:
        // Some producers write the same argument as a literal.
        parts.push_back(LiteralPart(arguments[i].enum_()));
        break;
      case FunctionArgument::kType:
        return Unsupported(at, "a type as an argument is not supported");
      case FunctionArgument::ARG_TYPE_NOT_SET:
        return Malformed(at, "the argument is empty");
    }
  }
  return parts;
}

absl::StatusOr<Part> PlanTranslator::TakeFunction(const PlanExpression::ScalarFunction& function,
                                                  const RelationFields& input, const Place& place) {
  ERIS_ASSIGN_OR_RETURN(const absl::string_view name,
                        FunctionName(function.function_reference(), place));
  if (!IsFunction(name)) return Unsupported(place, "the function \"", name, "\" is unknown");
  if (function.arguments().empty() && !function.args().empty()) {
    return Unsupported(place, "the field \"args\" is not supported: it is \"arguments\" now");
  }
  ERIS_ASSIGN_OR_RETURN(
      std::vector<Part> arguments,
      TakeArguments(function.arguments(), input, Place(place, "scalar_function")));
  ERIS_ASSIGN_OR_RETURN(Part result, CallFunction(name, std::move(arguments), place));
  ERIS_RETURN_IF_ERROR(CheckOptions(function.options(), result.type.kind, place));
  return result;
}

absl::StatusOr<Part> PlanTranslator::TakeCast(const PlanExpression::Cast& cast,
                                              const RelationFields& input, const Place& place) {
  if (!cast.has_input()) return Malformed(place, "the input is missing");
  ERIS_ASSIGN_OR_RETURN(Part part, TakeExpression(cast.input(), input, Place(place, "input")));
  const bool null_on_failure =
      cast.failure_behavior() == PlanExpression::Cast::FAILURE_BEHAVIOR_RETURN_NULL;
  return CastPart(std::move(part), cast.type(), null_on_failure, place);
}

absl::StatusOr<Part> PlanTranslator::TakeIfThen(const PlanExpression::IfThen& if_then,
                                                const RelationFields& input, const Place& place) {
  ERIS_RETURN_IF_ERROR(CheckItems(if_then.ifs_size(), place));
  // DataFusion writes "case value when ..." with the value as a first clause that has no result.
  std::optional<Part> compared;
  const auto& clauses = if_then.ifs();
  if (clauses.size() > 1 && clauses[0].has_if_() && !clauses[0].has_then()) {
    const Place at(place, "ifs", 0);
    ERIS_ASSIGN_OR_RETURN(compared, TakeExpression(clauses[0].if_(), input, Place(at, "if")));
    ERIS_RETURN_IF_ERROR(CheckCopies(*compared, static_cast<size_t>(clauses.size()), place));
  }
  std::vector<Part> arguments;
  for (int i = compared.has_value() ? 1 : 0; i < clauses.size(); ++i) {
    const Place at(place, "ifs", i);
    if (!clauses[i].has_if_() || !clauses[i].has_then()) {
      return Malformed(at, "the clause is incomplete");
    }
    const Place if_at(at, "if");
    ERIS_ASSIGN_OR_RETURN(Part condition, TakeExpression(clauses[i].if_(), input, if_at));
    if (compared.has_value()) {
      ERIS_ASSIGN_OR_RETURN(condition, Equality(*compared, std::move(condition), if_at));
    }
    ERIS_ASSIGN_OR_RETURN(condition, AsCondition(std::move(condition), if_at));
    arguments.push_back(std::move(condition));
    ERIS_ASSIGN_OR_RETURN(Part value, TakeExpression(clauses[i].then(), input, Place(at, "then")));
    arguments.push_back(std::move(value));
  }
  if (arguments.empty()) return Malformed(place, "there is no condition");
  if (if_then.has_else_()) {
    ERIS_ASSIGN_OR_RETURN(Part value, TakeExpression(if_then.else_(), input, Place(place, "else")));
    arguments.push_back(std::move(value));
  }
  return ComposeCase(std::move(arguments), place);
}

absl::StatusOr<Part> PlanTranslator::TakeOrList(const PlanExpression::SingularOrList& list,
                                                const RelationFields& input, const Place& place) {
  if (!list.has_value()) return Malformed(place, "the value is missing");
  if (list.options().empty()) return Malformed(place, "there is no option");
  ERIS_RETURN_IF_ERROR(CheckItems(list.options_size(), place));
  std::vector<Part> parts;
  ERIS_ASSIGN_OR_RETURN(Part value, TakeExpression(list.value(), input, Place(place, "value")));
  bool literals = true;
  for (int i = 0; i < list.options_size(); ++i) {
    const Place at(place, "options", i);
    ERIS_ASSIGN_OR_RETURN(Part option, TakeExpression(list.options(i), input, at));
    ERIS_RETURN_IF_ERROR(MakeComparable(value, option, at));
    literals = literals && option.literal() != nullptr && option.type.kind != ValueKind::kNull;
    parts.push_back(std::move(option));
  }
  if (value.type.kind == ValueKind::kNull) return ConstantCondition(std::nullopt);
  if (literals) {
    parts.insert(parts.begin(), std::move(value));
    return Compose(Expression::Kind::kIn, std::move(parts), kConditionType, place);
  }
  ERIS_RETURN_IF_ERROR(CheckCopies(value, parts.size(), place));
  for (Part& part : parts) {
    ERIS_ASSIGN_OR_RETURN(part, Equality(value, std::move(part), place));
  }
  return Connect(Expression::Kind::kOr, std::move(parts), place);
}

absl::StatusOr<Part> PlanTranslator::TakeSubquery(const PlanExpression::Subquery& subquery,
                                                  const Place& place) {
  if (!subquery.has_scalar()) {
    const absl::string_view name = NameInOneof(subquery, "subquery_type");
    if (name.empty()) return Malformed(place, "the subquery is empty");
    return Unsupported(place, "the subquery \"", name, "\" is not supported");
  }
  const Place at(place, "scalar");
  const Place input(at, "input");
  ERIS_ASSIGN_OR_RETURN(const Relation relation,
                        TakeInput(subquery.scalar().has_input(), subquery.scalar().input(), input));
  if (relation.fields.size() != 1) {
    return Malformed(at, "a scalar subquery with ", relation.fields.size(), " columns");
  }
  ERIS_ASSIGN_OR_RETURN(const uint32_t node, AsNode(relation, at));
  return Part{.expression = expressions::Subquery(node), .type = relation.fields[0].type};
}

}  // namespace eris::server::plans
