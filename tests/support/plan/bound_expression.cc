#include "tests/support/plan/bound_expression.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/schema.h"

namespace eris::test {
namespace {

using Kind = Expression::Kind;
using Bound = BoundExpression;
using BoundResult = absl::StatusOr<BoundExpression>;
using References = std::vector<std::reference_wrapper<const Expression>>;

absl::Status Malformed(const char* why, const Expression& expression) {
  return absl::InvalidArgumentError(
      absl::StrCat(why, " (kind ", static_cast<int>(expression.kind), ")"));
}

bool Comparable(CellType left, CellType right) {
  return (IsNumber(left) && IsNumber(right)) || (IsTime(left) && IsTime(right)) ||
         left.type == right.type;
}

// A literal with the type that it has next to a value of type `other`.
BoundResult BindLiteral(const Expression& expression, const CellType* other) {
  Bound bound{.kind = Kind::kLiteral};
  const bool null = std::holds_alternative<std::monostate>(expression.value);
  if (null && other == nullptr) return Malformed("a null alone has no type", expression);
  bound.literal = CellOf(expression.value, null ? *other : CellType{});
  const auto* const signed_number = std::get_if<int64_t>(&expression.value);
  const auto* const positive = std::get_if<uint64_t>(&expression.value);
  const bool other_u64 = other != nullptr && other->type == ColumnType::kUint64;
  if (signed_number != nullptr && *signed_number >= 0 && other_u64) {
    bound.literal.type = {ColumnType::kUint64};
  }
  if (positive != nullptr && other != nullptr && !other_u64 &&
      *positive <= uint64_t{std::numeric_limits<int64_t>::max()}) {
    bound.literal.type = {ColumnType::kInt64};
  }
  const bool other_bytes = other != nullptr && IsBytes(*other);
  if (other_bytes && IsText(bound.literal.type)) bound.literal.type = *other;
  bound.type = bound.literal.type;
  return bound;
}

// The type that the literals among these expressions have next to them: the sum of the other
// numbers' types, or of other values the first one's.
std::optional<CellType> TypeOfOthers(const References& expressions,
                                     const std::vector<Bound>& bound) {
  std::optional<CellType> other;
  for (size_t i = 0; i < expressions.size(); ++i) {
    if (expressions[i].get().kind == Kind::kLiteral) continue;
    const CellType type = bound[i].type;
    other = other.has_value() && IsNumber(*other) && IsNumber(type) ? SumType(*other, type)
            : other.has_value()                                     ? *other
                                                                    : type;
  }
  return other;
}

// Values of which the literals get their types from the others.
absl::StatusOr<std::vector<Bound>> BindTogether(const References& expressions,
                                                const ExpressionScope& scope) {
  std::vector<Bound> bound(expressions.size());
  for (size_t i = 0; i < expressions.size(); ++i) {
    if (expressions[i].get().kind == Kind::kLiteral) continue;
    ERIS_ASSIGN_OR_RETURN(bound[i], BindValue(expressions[i], scope));
  }
  std::optional<CellType> other = TypeOfOthers(expressions, bound);
  for (const bool nulls : {false, true}) {
    for (size_t i = 0; i < expressions.size(); ++i) {
      const Expression& one = expressions[i];
      if (one.kind != Kind::kLiteral) continue;
      if (std::holds_alternative<std::monostate>(one.value) != nulls) continue;
      ERIS_ASSIGN_OR_RETURN(bound[i], BindLiteral(one, other.has_value() ? &*other : nullptr));
      if (!other.has_value()) other = bound[i].type;
    }
  }
  for (const Bound& one : bound) {
    if (!Comparable(bound[0].type, one.type)) {
      return absl::InvalidArgumentError(
          absl::StrCat(TypeText(bound[0].type), " and ", TypeText(one.type), " do not fit"));
    }
  }
  return bound;
}

References All(const std::vector<Expression>& expressions) {
  return References(expressions.begin(), expressions.end());
}

BoundResult BindArithmetic(const Expression& expression, const ExpressionScope& scope) {
  if (expression.arguments.size() != 2) return Malformed("two arguments", expression);
  Bound out{.kind = expression.kind};
  ERIS_ASSIGN_OR_RETURN(out.arguments, BindTogether(All(expression.arguments), scope));
  const CellType left = out.arguments[0].type;
  const CellType right = out.arguments[1].type;
  if (!IsNumber(left)) return Malformed("arithmetic of numbers alone", expression);
  out.type = SumType(left, right);
  if (expression.kind == Kind::kDivide) out.type = {ColumnType::kFloat64};
  const bool exact = !IsReal(out.type);
  if (expression.kind == Kind::kQuotient) {
    if (!exact) return Malformed("div takes no double", expression);
    out.type.scale = 0;
  }
  if (expression.kind != Kind::kMultiply || !exact) return out;
  const int scale = left.scale + right.scale;
  const int most = out.type.type == ColumnType::kInt128 ? kWideScaleMax : kDecimalScaleMax;
  if (scale > most) return Malformed("the product's scale is too large", expression);
  out.type.scale = static_cast<uint8_t>(scale);
  return out;
}

BoundResult BindDatePart(const Expression& expression, const ExpressionScope& scope) {
  if (expression.arguments.size() != 2) return Malformed("two arguments", expression);
  const auto* const name = std::get_if<std::string>(&expression.arguments[0].value);
  if (name == nullptr) return Malformed("a part of a date by name", expression);
  const auto* const at =
      std::find(std::begin(kDatePartNames), std::end(kDatePartNames), absl::string_view(*name));
  if (at == std::end(kDatePartNames)) return Malformed("unknown part of a date", expression);
  Bound out{.kind = Kind::kDatePart};
  out.part = static_cast<DatePart>(at - std::begin(kDatePartNames));
  const Expression& date = expression.arguments[1];
  const CellType any_date{ColumnType::kDate};
  ERIS_ASSIGN_OR_RETURN(Bound days, date.kind == Kind::kLiteral ? BindLiteral(date, &any_date)
                                                                : BindValue(date, scope));
  if (!IsTime(days.type)) return Malformed("not a date or timestamp", expression);
  if (IsDate(days.type) && out.part >= DatePart::kHour) return Malformed("no time", expression);
  out.arguments.push_back(std::move(days));
  return out;
}

BoundResult BindCase(const Expression& expression, const ExpressionScope& scope) {
  const auto& arguments = expression.arguments;
  if (arguments.size() < 2) return Malformed("a condition and a value", expression);
  References values;
  for (size_t i = 1; i < arguments.size(); i += 2) values.emplace_back(arguments[i]);
  if (arguments.size() % 2 != 0) values.emplace_back(arguments.back());
  ERIS_ASSIGN_OR_RETURN(std::vector<Bound> bound, BindTogether(values, scope));
  Bound out{.kind = Kind::kCase, .type = bound[0].type};
  for (const Bound& value : bound) {
    if (IsNumber(out.type)) {
      out.type = SumType(out.type, value.type);
    } else if (out.type != value.type) {
      return Malformed("values of a case have one type", expression);
    }
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    if (2 * i + 1 < arguments.size()) {
      ERIS_ASSIGN_OR_RETURN(Bound condition, BindCondition(arguments[2 * i], scope));
      out.arguments.push_back(std::move(condition));
    }
    out.arguments.push_back(std::move(bound[i]));
  }
  return out;
}

BoundResult BindCast(const Expression& expression, const ExpressionScope& scope) {
  if (expression.arguments.size() != 1) return Malformed("one argument", expression);
  const CellType type{expression.type, expression.scale};
  const bool wide = type.type == ColumnType::kInt128;
  const uint8_t most = wide                                ? kWideScaleMax
                       : type.type == ColumnType::kDecimal ? kDecimalScaleMax
                                                           : uint8_t{0};
  const Expression& from = expression.arguments[0];
  const bool null =
      from.kind == Kind::kLiteral && std::holds_alternative<std::monostate>(from.value);
  if ((HasText(type) && !null) || type.scale > most) {
    return Malformed("no type of a cast", expression);
  }
  if (null) return BindLiteral(from, &type);
  Bound out{.kind = Kind::kCast, .type = type};
  ERIS_ASSIGN_OR_RETURN(
      Bound bound, from.kind == Kind::kLiteral ? BindLiteral(from, &type) : BindValue(from, scope));
  if (IsTime(bound.type) != IsTime(type) || HasText(bound.type)) {
    return Malformed("a cast of another kind of value", expression);
  }
  out.arguments.push_back(std::move(bound));
  return out;
}

std::optional<int64_t> IntegerOf(const Expression& expression) {
  if (expression.kind != Kind::kLiteral) return std::nullopt;
  if (const auto* number = std::get_if<int64_t>(&expression.value)) return *number;
  if (const auto* number = std::get_if<uint64_t>(&expression.value)) {
    return static_cast<int64_t>(std::min<uint64_t>(*number, std::numeric_limits<int64_t>::max()));
  }
  return std::nullopt;
}

BoundResult BindSubstring(const Expression& expression, const ExpressionScope& scope) {
  const auto& arguments = expression.arguments;
  if (arguments.size() != 2 && arguments.size() != 3) return Malformed("arguments", expression);
  Bound out{.kind = Kind::kSubstring, .type = {ColumnType::kString}};
  ERIS_ASSIGN_OR_RETURN(Bound text, arguments[0].kind == Kind::kLiteral
                                        ? BindLiteral(arguments[0], &out.type)
                                        : BindValue(arguments[0], scope));
  if (!IsText(text.type)) return Malformed("not a string", expression);
  out.arguments.push_back(std::move(text));
  const std::optional<int64_t> first = IntegerOf(arguments[1]);
  if (!first.has_value()) return Malformed("the first character is an integer", expression);
  out.first = *first;
  if (arguments.size() == 2) return out;
  out.length = IntegerOf(arguments[2]);
  if (!out.length.has_value()) return Malformed("the length is an integer", expression);
  if (*out.length < 0) return Malformed("a length below 0", expression);
  return out;
}

BoundResult BindLike(const Expression& expression, const ExpressionScope& scope) {
  const auto& arguments = expression.arguments;
  if (arguments.size() != 2 && arguments.size() != 3) return Malformed("arguments", expression);
  Bound out{.kind = Kind::kLike, .condition = true};
  const CellType string{ColumnType::kString};
  ERIS_ASSIGN_OR_RETURN(Bound text, arguments[0].kind == Kind::kLiteral
                                        ? BindLiteral(arguments[0], &string)
                                        : BindValue(arguments[0], scope));
  if (!IsText(text.type)) return Malformed("not a string", expression);
  out.arguments.push_back(std::move(text));
  std::string texts[2];
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i].kind != Kind::kLiteral) return Malformed("a literal", expression);
    const auto* const literal = std::get_if<std::string>(&arguments[i].value);
    out.null_pattern |= std::holds_alternative<std::monostate>(arguments[i].value);
    if (literal != nullptr) texts[i - 1] = *literal;
  }
  if (out.null_pattern) return out;
  if (CharactersOf(texts[1]).size() > 1) return Malformed("an escape is a character", expression);
  const std::optional<LikePieces> pieces = ParsePattern(texts[0], texts[1]);
  if (!pieces.has_value()) return Malformed("the escape is before nothing", expression);
  out.pattern = *pieces;
  return out;
}

BoundResult BindConnective(const Expression& expression, const ExpressionScope& scope) {
  Bound out{.kind = expression.kind, .condition = true};
  for (const Expression& argument : expression.arguments) {
    ERIS_ASSIGN_OR_RETURN(Bound condition, BindCondition(argument, scope));
    out.arguments.push_back(std::move(condition));
  }
  const bool one = expression.kind == Kind::kNot;
  if (one ? out.arguments.size() != 1 : out.arguments.size() < 2) {
    return Malformed("arguments", expression);
  }
  return out;
}

}  // namespace

CellType SumType(CellType left, CellType right) {
  if (IsReal(left) || IsReal(right)) return {ColumnType::kFloat64};
  const auto either = [&](ColumnType type) { return left.type == type || right.type == type; };
  const uint8_t scale = std::max(left.scale, right.scale);
  if (either(ColumnType::kInt128)) return {ColumnType::kInt128, scale};
  if (either(ColumnType::kDecimal)) return {ColumnType::kDecimal, scale};
  const bool positive = left.type == ColumnType::kUint64 && right.type == ColumnType::kUint64;
  return {positive ? ColumnType::kUint64 : ColumnType::kInt64};
}

BoundResult BindValue(const Expression& expression, const ExpressionScope& scope) {
  switch (expression.kind) {
    case Kind::kLiteral:
      return BindLiteral(expression, nullptr);
    case Kind::kField:
      if (expression.number >= scope.fields.size()) return Malformed("no such field", expression);
      return Bound{.kind = Kind::kField,
                   .type = scope.fields[expression.number],
                   .number = expression.number};
    case Kind::kSubquery:
      if (expression.number >= scope.nodes.size()) return Malformed("no such node", expression);
      if (scope.nodes[expression.number].size() != 1) return Malformed("one column", expression);
      return Bound{.kind = Kind::kSubquery,
                   .type = scope.nodes[expression.number][0],
                   .number = expression.number};
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kQuotient:
    case Kind::kRemainder:
      return BindArithmetic(expression, scope);
    case Kind::kDatePart:
      return BindDatePart(expression, scope);
    case Kind::kCase:
      return BindCase(expression, scope);
    case Kind::kCast:
      return BindCast(expression, scope);
    case Kind::kSubstring:
      return BindSubstring(expression, scope);
    default:
      return Malformed("not a value of a plan", expression);
  }
}

BoundResult BindCondition(const Expression& expression, const ExpressionScope& scope) {
  Bound out{.kind = expression.kind, .condition = true};
  size_t least = 2;
  size_t most = 2;
  switch (expression.kind) {
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kNot:
      return BindConnective(expression, scope);
    case Kind::kLike:
      return BindLike(expression, scope);
    case Kind::kIsNull:
      least = most = 1;
      break;
    case Kind::kBetween:
      least = most = 3;
      break;
    case Kind::kIn:
      most = kExpressionSizeMax;
      break;
    case Kind::kEqual:
    case Kind::kNotEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
      break;
    default:
      return Malformed("not a condition", expression);
  }
  const size_t given = expression.arguments.size();
  if (given < least || given > most) return Malformed("arguments", expression);
  ERIS_ASSIGN_OR_RETURN(out.arguments, BindTogether(All(expression.arguments), scope));
  return out;
}

}  // namespace eris::test
