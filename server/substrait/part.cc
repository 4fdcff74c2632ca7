#include "server/substrait/part.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "base/status_macros.h"

namespace eris::server::plans {
namespace {

absl::Status CheckSize(uint64_t size, uint32_t levels, const Place& place) {
  if (size > kExpressionSizeMax) {
    return Malformed(place, "an expression of ", size, " parts, must have at most ",
                     kExpressionSizeMax);
  }
  if (levels > kExpressionDepthMax) {
    return Malformed(place, "an expression has more than ", kExpressionDepthMax, " levels");
  }
  return absl::OkStatus();
}

ValueType TypeOfValue(const Value& value) {
  struct Visitor {
    ValueType operator()(std::monostate) const { return {}; }
    ValueType operator()(int64_t) const { return {.kind = ValueKind::kInteger}; }
    ValueType operator()(uint64_t) const { return {.kind = ValueKind::kInteger}; }
    ValueType operator()(double) const { return TypeOfColumn(ColumnType::kFloat64, 0); }
    ValueType operator()(const Decimal&) const { return {.kind = ValueKind::kDecimal}; }
    ValueType operator()(const WideDecimal&) const { return {.kind = ValueKind::kDecimal}; }
    ValueType operator()(const Date&) const { return {.kind = ValueKind::kDate}; }
    ValueType operator()(const std::string&) const { return {.kind = ValueKind::kString}; }
  };
  return std::visit(Visitor{}, value);
}

}  // namespace

ValueType TypeOfColumn(ColumnType type, uint8_t scale) {
  ValueType out{.column = type, .scale = scale};
  switch (type) {
    case ColumnType::kInt32:
    case ColumnType::kInt64:
    case ColumnType::kUint64:
      out.kind = ValueKind::kInteger;
      break;
    case ColumnType::kFloat64:
      out.kind = ValueKind::kDouble;
      break;
    case ColumnType::kDate:
      out.kind = ValueKind::kDate;
      break;
    case ColumnType::kDecimal:
    case ColumnType::kInt128:
      out.kind = ValueKind::kDecimal;
      break;
    case ColumnType::kString:
      out.kind = ValueKind::kString;
      break;
  }
  return out;
}

absl::string_view KindText(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNull:
      return "a null";
    case ValueKind::kCondition:
      return "a condition";
    case ValueKind::kInteger:
      return "an integer";
    case ValueKind::kDecimal:
      return "a decimal";
    case ValueKind::kDouble:
      return "a double";
    case ValueKind::kDate:
      return "a date";
    case ValueKind::kString:
      return "a string";
  }
  return "a value";
}

Part LiteralPart(Value value) {
  const ValueType type = TypeOfValue(value);
  return {.expression = expressions::Literal(std::move(value)), .type = type};
}

absl::StatusOr<Part> Compose(Expression::Kind kind, std::vector<Part> arguments, ValueType type,
                             const Place& place) {
  uint64_t size = 1;
  uint32_t levels = 0;
  for (const Part& argument : arguments) {
    size += argument.size;
    levels = std::max(levels, argument.levels);
  }
  ERIS_RETURN_IF_ERROR(CheckSize(size, ++levels, place));
  Part out{.type = type, .size = static_cast<uint32_t>(size), .levels = levels};
  out.expression.kind = kind;
  out.expression.arguments.reserve(arguments.size());
  for (Part& argument : arguments) {
    out.expression.arguments.push_back(std::move(argument.expression));
  }
  return out;
}

absl::StatusOr<Part> Compose(Expression::Kind kind, Part left, Part right, ValueType type,
                             const Place& place) {
  std::vector<Part> arguments;
  arguments.push_back(std::move(left));
  arguments.push_back(std::move(right));
  return Compose(kind, std::move(arguments), type, place);
}

absl::StatusOr<Part> Compose(Expression::Kind kind, Part argument, ValueType type,
                             const Place& place) {
  std::vector<Part> arguments;
  arguments.push_back(std::move(argument));
  return Compose(kind, std::move(arguments), type, place);
}

absl::StatusOr<Part> Connect(Expression::Kind kind, std::vector<Part> arguments,
                             const Place& place) {
  if (arguments.empty()) return Malformed(place, "there is no condition");
  Part out{.type = kConditionType};
  out.expression.kind = kind;
  uint64_t size = 1;
  for (Part& argument : arguments) {
    ERIS_ASSIGN_OR_RETURN(Part condition, AsCondition(std::move(argument), place));
    if (arguments.size() == 1) return condition;
    const bool same = condition.expression.kind == kind;
    size += same ? condition.size - 1 : condition.size;
    out.levels = std::max(out.levels, same ? condition.levels : condition.levels + 1);
    ERIS_RETURN_IF_ERROR(CheckSize(size, out.levels, place));
    if (!same) {
      out.expression.arguments.push_back(std::move(condition.expression));
      continue;
    }
    for (Expression& inner : condition.expression.arguments) {
      out.expression.arguments.push_back(std::move(inner));
    }
  }
  out.size = static_cast<uint32_t>(size);
  return out;
}

Part ConstantCondition(std::optional<bool> value) {
  const Value compared = value.has_value() ? Value(int64_t{*value ? 1 : 0}) : Value();
  return {.expression = expressions::Equal(expressions::Literal(1), expressions::Literal(compared)),
          .type = kConditionType,
          .size = 3,
          .levels = 2};
}

bool IsTrue(const Expression& expression) {
  // Most expressions differ in the kind, so the constant is built only for comparisons.
  return expression.kind == Expression::Kind::kEqual &&
         expression == ConstantCondition(true).expression;
}

absl::StatusOr<Part> AsCondition(Part part, const Place& place) {
  if (part.type.kind == ValueKind::kCondition) return part;
  if (part.type.kind == ValueKind::kNull) return ConstantCondition(std::nullopt);
  return Malformed(place, KindText(part.type.kind), " where a condition must be");
}

absl::StatusOr<ValueType> CommonType(const std::vector<ValueType>& types, const Place& place) {
  ValueType common;
  for (const ValueType& type : types) {
    if (type.kind == ValueKind::kCondition) {
      return Unsupported(place, "a condition as a value is not supported");
    }
    if (type.kind == ValueKind::kNull || type == common) continue;
    if (common.kind == ValueKind::kNull) {
      common = type;
    } else if (IsNumber(type.kind) && IsNumber(common.kind)) {
      common = {.kind = std::max(type.kind, common.kind)};
    } else if (type.kind != common.kind) {
      return Malformed(place, KindText(type.kind), " and ", KindText(common.kind),
                       " as values of one expression");
    }
  }
  return common;
}

absl::Status CheckComparable(ValueKind left, ValueKind right, const Place& place) {
  if (left == ValueKind::kCondition || right == ValueKind::kCondition) {
    return Unsupported(place, "a comparison of conditions is not supported");
  }
  if (left == ValueKind::kNull || right == ValueKind::kNull || left == right ||
      (IsNumber(left) && IsNumber(right))) {
    return absl::OkStatus();
  }
  return Malformed(place, KindText(left), " is compared with ", KindText(right));
}

}  // namespace eris::server::plans
