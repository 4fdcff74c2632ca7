#include "engine/query/planner/conditions.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "storage/query/plans/expression_tools.h"

namespace eris::engine {
namespace {

using Kind = Expression::Kind;

// The arguments of nested operations of one kind.
void AddNested(Kind kind, const Expression& expression, Conditions& parts) {
  if (expression.kind != kind) {
    parts.push_back(expression);
    return;
  }
  for (const Expression& argument : expression.arguments) AddNested(kind, argument, parts);
}
Conditions NestedOf(Kind kind, const Expression& expression) {
  Conditions parts;
  AddNested(kind, expression, parts);
  return parts;
}

Expression AnyOf(Conditions parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  return expressions::Of(Kind::kOr, std::move(parts));
}

// An `or` as a list of lists: one of them must be true, and of that one all parts.
std::vector<Conditions> AlternativesOf(const Expression& part) {
  std::vector<Conditions> alternatives;
  for (const Expression& one : NestedOf(Kind::kOr, part)) {
    alternatives.push_back(NestedOf(Kind::kAnd, one));
  }
  return alternatives;
}

// Adds an `or`, with what is common to its alternatives taken out. A part that can fail stays where
// it is: it is not computed for rows that the parts before it have dropped.
void AddAlternatives(const Expression& part, const std::vector<ColumnSchema>& columns,
                     Conditions& parts) {
  std::vector<Conditions> alternatives = AlternativesOf(part);
  Conditions common;
  for (const Expression& one : alternatives[0]) {
    const bool everywhere =
        std::all_of(alternatives.begin(), alternatives.end(),
                    [&](const Conditions& alternative) { return Holds(alternative, one); });
    if (everywhere && !Holds(common, one) && !CanFail(one, columns)) common.push_back(one);
  }
  if (common.empty()) {
    parts.push_back(part);
    return;
  }
  parts.insert(parts.end(), common.begin(), common.end());
  Conditions rest;
  for (Conditions& alternative : alternatives) {
    std::erase_if(alternative, [&](const Expression& one) { return Holds(common, one); });
    if (alternative.empty()) return;  // a or (a and y) is a
    rest.push_back(Conjunction(std::move(alternative)));
  }
  parts.push_back(AnyOf(std::move(rest)));
}

// Whether the expression is a double, as far as is plain from itself.
bool IsDouble(const Expression& expression, const std::vector<ColumnSchema>& columns) {
  switch (expression.kind) {
    case Kind::kField:
      return columns[expression.number].type == ColumnType::kFloat64;
    case Kind::kLiteral:
      return std::holds_alternative<double>(expression.value);
    case Kind::kDivide:
      return true;
    case Kind::kCast:
      return expression.type == ColumnType::kFloat64;
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kRemainder:
      return IsDouble(expression.arguments[0], columns) ||
             IsDouble(expression.arguments[1], columns);
    default:
      return false;
  }
}

// Whether the value of a `case` needs no conversion: it is a text, bytes, a point in time or a
// double.
bool KeepsType(const Expression& value, const std::vector<ColumnSchema>& columns) {
  if (IsDouble(value, columns) || value.kind == Kind::kSubstring) return true;
  if (value.kind == Kind::kField) {
    const ColumnType type = columns[value.number].type;
    return IsByteString(type) || IsTimeType(type);
  }
  return value.kind == Kind::kLiteral &&
         (std::holds_alternative<std::string>(value.value) ||
          std::holds_alternative<Bytes>(value.value) || std::holds_alternative<Date>(value.value) ||
          std::holds_alternative<Timestamp>(value.value));
}

bool CastCanFail(const Expression& cast, const std::vector<ColumnSchema>& columns) {
  if (cast.type == ColumnType::kFloat64) return false;
  const Expression& from = cast.arguments[0];
  if (from.kind != Kind::kField) return true;
  const ColumnSchema& column = columns[from.number];
  if (column.type == cast.type && column.scale == cast.scale) return false;
  if (IsTimeType(column.type)) return cast.type != ColumnType::kDate;
  if (column.type == ColumnType::kFloat64 || column.type == ColumnType::kInt128) return true;
  // 128 bits hold any other number, at the largest scale too.
  if (cast.type == ColumnType::kInt128) return false;
  return column.type != ColumnType::kInt32 || cast.type != ColumnType::kInt64;
}

}  // namespace

bool SameValue(const Value& left, const Value& right) {
  const auto* const a = std::get_if<double>(&left);
  const auto* const b = std::get_if<double>(&right);
  if (a == nullptr || b == nullptr) return left == right;
  return std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b);
}

bool SameExpression(const Expression& left, const Expression& right) {
  return left.kind == right.kind && left.number == right.number && left.type == right.type &&
         left.scale == right.scale && left.column == right.column &&
         SameValue(left.value, right.value) &&
         std::equal(left.arguments.begin(), left.arguments.end(), right.arguments.begin(),
                    right.arguments.end(), SameExpression);
}

bool Holds(const Conditions& parts, const Expression& part) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Expression& one) { return SameExpression(one, part); });
}

void AddParts(const Expression& condition, const std::vector<ColumnSchema>& columns,
              Conditions& parts) {
  for (const Expression& part : NestedOf(Kind::kAnd, condition)) {
    if (part.kind == Kind::kOr) {
      AddAlternatives(part, columns, parts);
    } else {
      parts.push_back(part);
    }
  }
}

Expression Conjunction(Conditions parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  return expressions::Of(Kind::kAnd, std::move(parts));
}

bool CanFail(const Expression& expression, const std::vector<ColumnSchema>& columns) {
  switch (expression.kind) {
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kQuotient:
    case Kind::kRemainder:
      if (!IsDouble(expression, columns)) return true;
      break;
    case Kind::kCast:
      if (CastCanFail(expression, columns)) return true;
      break;
    case Kind::kCase:
      if (!KeepsType(expression.arguments[1], columns)) return true;
      break;
    default:
      break;
  }
  return std::any_of(expression.arguments.begin(), expression.arguments.end(),
                     [&](const Expression& one) { return CanFail(one, columns); });
}

bool NamesOnly(const Expression& expression, OfSide of_side) {
  bool only = true;
  storage::ForFields(expression, [&](uint32_t field) { only &= of_side(field); });
  return only;
}

bool SeesSignOfZero(const Expression& expression) {
  return expression.kind == Kind::kDivide ||
         std::any_of(expression.arguments.begin(), expression.arguments.end(), SeesSignOfZero);
}

std::optional<Expression> ImpliedFor(const Expression& part, OfSide of_side) {
  if (part.kind != Kind::kOr) return std::nullopt;
  Conditions implied;
  for (Conditions& alternative : AlternativesOf(part)) {
    std::erase_if(alternative, [&](const Expression& one) { return !NamesOnly(one, of_side); });
    if (alternative.empty()) return std::nullopt;
    Expression one = Conjunction(std::move(alternative));
    if (!Holds(implied, one)) implied.push_back(std::move(one));
  }
  return AnyOf(std::move(implied));
}

}  // namespace eris::engine
