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
    ValueType operator()(const Timestamp&) const { return {.kind = ValueKind::kTimestamp}; }
    ValueType operator()(const std::string&) const { return {.kind = ValueKind::kString}; }
    ValueType operator()(const Bytes&) const { return {.kind = ValueKind::kBytes}; }
  };
  return std::visit(Visitor{}, value);
}

absl::StatusOr<Part> ComposeCast(Part part, ColumnType column, ValueType type, const Place& place) {
  const uint8_t scale = part.type.scale;
  ERIS_ASSIGN_OR_RETURN(Part cast, Compose(Expression::Kind::kCast, std::move(part), type, place));
  cast.expression.type = column;
  cast.expression.scale = scale;
  return cast;
}

// The type of a value that is one of several. Errors: InvalidArgument (they do not fit).
absl::StatusOr<ValueType> CommonType(const std::vector<ValueType>& types, const Place& place) {
  ValueType common;
  for (const ValueType& type : types) {
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
    case ColumnType::kTimestamp:
      out.kind = ValueKind::kTimestamp;
      break;
    case ColumnType::kDecimal:
    case ColumnType::kInt128:
      out.kind = ValueKind::kDecimal;
      break;
    case ColumnType::kString:
      out.kind = ValueKind::kString;
      break;
    case ColumnType::kBytes:
      out.kind = ValueKind::kBytes;
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
    case ValueKind::kTruth:
      return "a truth value";
    case ValueKind::kInteger:
      return "an integer";
    case ValueKind::kDecimal:
      return "a decimal";
    case ValueKind::kDouble:
      return "a double";
    case ValueKind::kDate:
      return "a date";
    case ValueKind::kTimestamp:
      return "a timestamp";
    case ValueKind::kString:
      return "a string";
    case ValueKind::kBytes:
      return "bytes";
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
  if (part.type.kind == ValueKind::kTruth) {
    return Compose(Expression::Kind::kNotEqual, std::move(part), LiteralPart(int64_t{0}),
                   kConditionType, place);
  }
  if (part.type.kind == ValueKind::kNull) return ConstantCondition(std::nullopt);
  return Malformed(place, KindText(part.type.kind), " where a condition must be");
}

absl::StatusOr<Part> AsValue(Part part, const Place& place) {
  if (part.type.kind == ValueKind::kNull && part.literal() != nullptr) {
    const ColumnType column = part.type.column.value_or(ColumnType::kInt32);
    const ValueType type =
        part.type.column.has_value() ? TypeOfColumn(column, part.type.scale) : ValueType{};
    return ComposeCast(std::move(part), column, type, place);
  }
  if (part.type.kind != ValueKind::kCondition) return part;
  constexpr std::optional<bool> kConstants[] = {true, false, std::nullopt};
  for (const std::optional<bool>& constant : kConstants) {
    if (!(part.expression == ConstantCondition(constant).expression)) continue;
    const Value value = constant.has_value() ? Value(int64_t{*constant ? 1 : 0}) : Value();
    return ComposeCast(LiteralPart(value), ColumnType::kInt32, kTruthType, place);
  }
  // Where neither the condition nor its opposite is true, it is null.
  std::vector<Part> arguments;
  arguments.push_back(part);
  arguments.push_back(LiteralPart(int64_t{1}));
  ERIS_ASSIGN_OR_RETURN(Part opposite,
                        Compose(Expression::Kind::kNot, std::move(part), kConditionType, place));
  arguments.push_back(std::move(opposite));
  arguments.push_back(LiteralPart(int64_t{0}));
  ERIS_ASSIGN_OR_RETURN(Part truth,
                        Compose(Expression::Kind::kCase, std::move(arguments), kTruthType, place));
  return ComposeCast(std::move(truth), ColumnType::kInt32, kTruthType, place);
}

absl::StatusOr<Part> AsNumber(Part part, const Place& place) {
  if (part.type.kind == ValueKind::kNull && part.literal() != nullptr) {
    const bool number = part.type.column.has_value() &&
                        IsNumber(TypeOfColumn(*part.type.column, part.type.scale).kind);
    if (!number) part.type = {.column = ColumnType::kInt64};
  }
  return AsValue(std::move(part), place);
}

absl::StatusOr<Part> ComposeCase(std::vector<Part> arguments, const Place& place) {
  std::vector<ValueType> types;
  std::optional<size_t> null;  // the first one, or the first with a type
  for (size_t i = 1; i <= arguments.size(); i += 2) {
    Part& value = arguments[std::min(i, arguments.size() - 1)];
    if (value.type.kind == ValueKind::kCondition) {
      ERIS_ASSIGN_OR_RETURN(value, AsValue(std::move(value), place));
    }
    types.push_back(value.type);
    const bool better = !null.has_value() || !arguments[*null].type.column.has_value();
    if (better) null = static_cast<size_t>(&value - arguments.data());
  }
  ERIS_ASSIGN_OR_RETURN(ValueType type, CommonType(types, place));
  if (type.kind == ValueKind::kNull) {
    Part& value = arguments[*null];
    ERIS_ASSIGN_OR_RETURN(value, AsValue(std::move(value), place));
    type = value.type;
  }
  return Compose(Expression::Kind::kCase, std::move(arguments), type, place);
}

absl::Status MakeComparable(Part& left, Part& right, const Place& place) {
  for (Part* side : {&left, &right}) {
    if (side->type.kind != ValueKind::kCondition) continue;
    ERIS_ASSIGN_OR_RETURN(*side, AsValue(std::move(*side), place));
  }
  const ValueKind a = left.type.kind;
  const ValueKind b = right.type.kind;
  if (a == ValueKind::kNull || b == ValueKind::kNull || a == b || (IsNumber(a) && IsNumber(b)) ||
      (IsTime(a) && IsTime(b))) {
    return absl::OkStatus();
  }
  return Malformed(place, KindText(a), " is compared with ", KindText(b));
}

}  // namespace eris::server::plans
