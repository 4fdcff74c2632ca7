#include "storage/table/plan/plan_compiler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/batch.h"
#include "storage/table/plan/literal_interval.h"

namespace eris::storage {
namespace {

using Kind = Expression::Kind;

ValueNode::Op OpOf(Kind kind) {
  switch (kind) {
    case Kind::kAdd:
      return ValueNode::Op::kAdd;
    case Kind::kSubtract:
      return ValueNode::Op::kSubtract;
    case Kind::kMultiply:
      return ValueNode::Op::kMultiply;
    case Kind::kQuotient:
      return ValueNode::Op::kQuotient;
    case Kind::kRemainder:
      return ValueNode::Op::kRemainder;
    default:
      return ValueNode::Op::kDivide;
  }
}

}  // namespace

std::string PlanCompiler::Describe(const ValueNode& value) const {
  std::string type = ColumnTypeName(value.type);
  if (value.type == ColumnType::kDecimal) {
    absl::StrAppend(&type, " of scale ", static_cast<int>(value.scale));
  }
  if (value.IsColumn()) {
    return absl::StrCat("column ", schema_[value.column].name, " (", type, ")");
  }
  return absl::StrCat(value.text, " (", type, ")");
}

PlanCompiler::PlanCompiler(std::span<const ColumnSchema> columns, PlanBody& body,
                           std::span<const ColumnSchema> subqueries)
    : schema_(columns), body_(body), subqueries_(subqueries) {
  for (uint32_t i = 0; i < columns.size(); ++i) columns_.emplace(columns[i].name, i);
}

PlanCompiler::ValueKey PlanCompiler::KeyOf(const ValueNode& node) {
  return {node.op,           node.value_class, node.type,   node.scale, node.column,
          node.constant.u64, node.wide,        node.string, node.left,  node.right,
          node.left_power,   node.right_power, node.part,   node.first, node.characters,
          node.conditions,   node.branches,    node.scope};
}

absl::StatusOr<uint32_t> PlanCompiler::AddValue(ValueNode node) {
  const bool computed = !node.IsColumn() && !node.IsConstant() && node.op != ValueNode::Op::kNull;
  node.scope = computed ? scope_ : 0;
  const auto [at, is_new] =
      values_.try_emplace(KeyOf(node), static_cast<uint32_t>(body_.values.size()));
  if (!is_new) return at->second;
  if (body_.values.size() == kPlanValuesMax) {
    values_.erase(at);
    return absl::InvalidArgumentError(
        absl::StrCat("a query computes more than ", kPlanValuesMax, " different values"));
  }
  body_.values.push_back(std::move(node));
  return at->second;
}

absl::StatusOr<uint32_t> PlanCompiler::Column(const std::string& name) {
  const auto at = columns_.find(name);
  if (at == columns_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("the table has no column ", name));
  }
  return Field(at->second);
}

absl::StatusOr<uint32_t> PlanCompiler::Field(uint32_t number) {
  if (number >= schema_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no field ", number, ", the input has ", schema_.size()));
  }
  const ColumnSchema& found = schema_[number];
  ValueNode node{.op = ValueNode::Op::kColumn,
                 .value_class = ClassOf(found.type),
                 .type = found.type,
                 .scale = found.scale,
                 .nullable = found.nullable,
                 .column = number,
                 .text = found.name};
  return AddValue(std::move(node));
}

absl::StatusOr<uint32_t> PlanCompiler::Subquery(uint32_t number) {
  if (number >= subqueries_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no node ", number, " before this one, whose value is asked for"));
  }
  const ColumnSchema& found = subqueries_[number];
  const ValueNode type{
      .value_class = ClassOf(found.type), .type = found.type, .scale = found.scale};
  return LiteralValue({}, &type);
}

// `other` is the other operand; nullptr if there is none.
absl::StatusOr<uint32_t> PlanCompiler::LiteralValue(const eris::Value& literal,
                                                    const ValueNode* other) {
  ValueNode node{.op = ValueNode::Op::kConstant, .text = LiteralText(literal)};
  if (const auto* number = std::get_if<int64_t>(&literal)) {
    node.constant.i64 = *number;
    if (*number >= 0 && other != nullptr && other->value_class == ValueClass::kUnsigned) {
      node.value_class = ValueClass::kUnsigned;
      node.type = ColumnType::kUint64;
    }
  } else if (const auto* positive = std::get_if<uint64_t>(&literal)) {
    node.constant.u64 = *positive;
    const bool fits = *positive <= uint64_t{std::numeric_limits<int64_t>::max()};
    if (!fits || other == nullptr || other->value_class == ValueClass::kUnsigned) {
      node.value_class = ValueClass::kUnsigned;
      node.type = ColumnType::kUint64;
    }
  } else if (const auto* real = std::get_if<double>(&literal)) {
    node.constant.f64 = *real;
    node.value_class = ValueClass::kDouble;
    node.type = ColumnType::kFloat64;
  } else if (const auto* decimal = std::get_if<Decimal>(&literal)) {
    node.constant.i64 = decimal->unscaled;
    node.type = ColumnType::kDecimal;
    node.scale = decimal->scale;
  } else if (const auto* date = std::get_if<Date>(&literal)) {
    node.constant.i64 = date->days;
    node.type = ColumnType::kDate;
  } else if (const auto* time = std::get_if<Timestamp>(&literal)) {
    node.constant.i64 = time->micros;
    node.type = ColumnType::kTimestamp;
  } else if (const std::string* const text = TextOf(literal)) {
    // It may become part of a result, whose strings have the room of a column's.
    if (text->size() > kTableStringBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a literal has ", text->size(), " bytes, at most ", kTableStringBytesMax));
    }
    node.string = *text;
    node.value_class = ValueClass::kString;
    const bool bytes = std::holds_alternative<Bytes>(literal) ||
                       (other != nullptr && other->type == ColumnType::kBytes);
    node.type = bytes ? ColumnType::kBytes : ColumnType::kString;
  } else if (const auto* wide = std::get_if<WideDecimal>(&literal)) {
    node.wide = NumberOfHalves(wide->unscaled);
    node.value_class = ValueClass::kInt128;
    node.type = ColumnType::kInt128;
    node.scale = wide->scale;
  } else {
    if (other == nullptr) {
      return absl::InvalidArgumentError("a null alone has no type");
    }
    node.op = ValueNode::Op::kNull;
    node.value_class = other->value_class;
    node.type = other->type;
    node.scale = other->scale;
    node.nullable = true;
  }
  return AddValue(std::move(node));
}

absl::StatusOr<uint32_t> PlanCompiler::Value(const Expression& expression) {
  switch (expression.kind) {
    case Kind::kColumn:
      return Column(expression.column);
    case Kind::kLiteral:
      return LiteralValue(expression.value, nullptr);
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kQuotient:
    case Kind::kRemainder:
      return Arithmetic(expression);
    case Kind::kDatePart:
      return PartOfDate(expression);
    case Kind::kCase:
      return Case(expression);
    case Kind::kCast:
      return Cast(expression);
    case Kind::kSubstring:
      return Substring(expression);
    case Kind::kField:
      return Field(expression.number);
    case Kind::kSubquery:
      return Subquery(expression.number);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(ExpressionText(expression), " is a condition where a value is asked for"));
  }
}

absl::StatusOr<uint32_t> PlanCompiler::ToDouble(uint32_t value) {
  const ValueNode& from = body_.values[value];
  if (from.value_class == ValueClass::kDouble) return value;
  ValueNode node{.op = ValueNode::Op::kToDouble,
                 .value_class = ValueClass::kDouble,
                 .type = ColumnType::kFloat64,
                 .nullable = from.nullable,
                 .left = value,
                 .text = from.text};
  if (from.op == ValueNode::Op::kNull) {
    node.op = ValueNode::Op::kNull;
    node.left = 0;
  } else if (from.op == ValueNode::Op::kConstant) {
    node.op = ValueNode::Op::kConstant;
    node.left = 0;
    node.constant.f64 = NearestDouble(IntegerOf(from), from.scale);
  }
  return AddValue(std::move(node));
}

absl::Status PlanCompiler::Operands(const Expression& expression, uint32_t& left, uint32_t& right) {
  // A literal takes its type from the other operand, so that is compiled first.
  const Expression& left_expression = expression.arguments[0];
  const Expression& right_expression = expression.arguments[1];
  if (left_expression.kind == Kind::kLiteral && right_expression.kind != Kind::kLiteral) {
    ERIS_ASSIGN_OR_RETURN(right, Value(right_expression));
    const ValueNode other = body_.values[right];
    ERIS_ASSIGN_OR_RETURN(left, LiteralValue(left_expression.value, &other));
  } else {
    ERIS_ASSIGN_OR_RETURN(left, Value(left_expression));
    if (right_expression.kind == Kind::kLiteral) {
      const ValueNode other = body_.values[left];
      ERIS_ASSIGN_OR_RETURN(right, LiteralValue(right_expression.value, &other));
    } else {
      ERIS_ASSIGN_OR_RETURN(right, Value(right_expression));
    }
  }
  for (const uint32_t side : {left, right}) {
    if (!IsNumber(body_.values[side])) {
      return absl::InvalidArgumentError(absl::StrCat(
          ExpressionText(expression), ": ", Describe(body_.values[side]), " is not a number"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> PlanCompiler::Arithmetic(const Expression& expression) {
  uint32_t left = 0;
  uint32_t right = 0;
  ERIS_RETURN_IF_ERROR(Operands(expression, left, right));
  ValueNode node;
  node.op = OpOf(expression.kind);
  if (node.op == ValueNode::Op::kDivide || body_.values[left].value_class == ValueClass::kDouble ||
      body_.values[right].value_class == ValueClass::kDouble) {
    ERIS_ASSIGN_OR_RETURN(left, ToDouble(left));
    ERIS_ASSIGN_OR_RETURN(right, ToDouble(right));
    node.value_class = ValueClass::kDouble;
    node.type = ColumnType::kFloat64;
  }
  if (node.op == ValueNode::Op::kQuotient && node.value_class == ValueClass::kDouble) {
    return absl::InvalidArgumentError(absl::StrCat(
        ExpressionText(expression), ": div takes integers and decimals, no float64: cast it"));
  }
  const ValueNode& a = body_.values[left];
  const ValueNode& b = body_.values[right];
  node.left = left;
  node.right = right;
  node.nullable = a.nullable || b.nullable;
  if (node.value_class != ValueClass::kDouble) {
    const bool wide = a.value_class == ValueClass::kInt128 || b.value_class == ValueClass::kInt128;
    if (wide || a.type == ColumnType::kDecimal || b.type == ColumnType::kDecimal) {
      node.type = wide ? ColumnType::kInt128 : ColumnType::kDecimal;
      node.value_class = ClassOf(node.type);
      const int scale =
          node.op == ValueNode::Op::kMultiply ? a.scale + b.scale : std::max(a.scale, b.scale);
      if (scale > kDecimalScaleMax) {
        return absl::InvalidArgumentError(absl::StrCat(ExpressionText(expression), " has scale ",
                                                       scale, ", decimals at most ",
                                                       static_cast<int>(kDecimalScaleMax)));
      }
      node.scale = static_cast<uint8_t>(node.op == ValueNode::Op::kQuotient ? 0 : scale);
      if (node.op != ValueNode::Op::kMultiply) {
        node.left_power = static_cast<uint8_t>(scale - a.scale);
        node.right_power = static_cast<uint8_t>(scale - b.scale);
      }
    } else if (a.value_class == ValueClass::kUnsigned && b.value_class == ValueClass::kUnsigned) {
      node.value_class = ValueClass::kUnsigned;
      node.type = ColumnType::kUint64;
    }
  }
  // Make the text only for a new value: equal ones occur often.
  if (const auto known = values_.find(KeyOf(node)); known != values_.end()) return known->second;
  node.text = ExpressionText(expression);
  return Fold(node);
}

// Folds constants into their result; other nodes stay as they are.
absl::StatusOr<uint32_t> PlanCompiler::Fold(const ValueNode& node) {
  const ValueNode& a = body_.values[node.left];
  const ValueNode& b = body_.values[node.right];
  ValueNode folded = node;
  folded.left = folded.right = 0;
  folded.left_power = folded.right_power = 0;
  if (a.op == ValueNode::Op::kNull || b.op == ValueNode::Op::kNull) {
    folded.op = ValueNode::Op::kNull;
    folded.nullable = true;
    return AddValue(std::move(folded));
  }
  if (a.op != ValueNode::Op::kConstant || b.op != ValueNode::Op::kConstant) return AddValue(node);
  folded.op = ValueNode::Op::kConstant;
  if (node.value_class == ValueClass::kDouble) {
    const double x = a.constant.f64;
    const double y = b.constant.f64;
    folded.constant.f64 = node.op == ValueNode::Op::kAdd        ? x + y
                          : node.op == ValueNode::Op::kSubtract ? x - y
                          : node.op == ValueNode::Op::kMultiply ? x * y
                          : node.op == ValueNode::Op::kDivide   ? x / y
                                                                : std::fmod(x, y);
    return AddValue(std::move(folded));
  }
  Int128 x = 0;
  Int128 y = 0;
  Int128 result = 0;
  bool over = __builtin_mul_overflow(IntegerOf(a), Int128{kPowersOfTen[node.left_power]}, &x) ||
              __builtin_mul_overflow(IntegerOf(b), Int128{kPowersOfTen[node.right_power]}, &y);
  if (node.op == ValueNode::Op::kQuotient || node.op == ValueNode::Op::kRemainder) {
    // One that cannot be computed is an error only for rows that need it.
    const bool made = !over && DivideExactly(x, y, node.op == ValueNode::Op::kRemainder, result);
    return made ? AddConstant(std::move(folded), result, true) : AddValue(node);
  }
  over |= node.op == ValueNode::Op::kAdd        ? __builtin_add_overflow(x, y, &result)
          : node.op == ValueNode::Op::kSubtract ? __builtin_sub_overflow(x, y, &result)
                                                : __builtin_mul_overflow(x, y, &result);
  return AddConstant(std::move(folded), result, !over);
}

absl::StatusOr<uint32_t> PlanCompiler::AddConstant(ValueNode node, Int128 value, bool fits) {
  const RangeOfValues limits = RangeOf(node);
  if (!fits || value < limits.min || value > limits.max) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.text, " is outside its type, ", ColumnTypeName(node.type)));
  }
  if (node.value_class == ValueClass::kInt128) {
    node.wide = value;
  } else {
    node.constant.u64 = static_cast<uint64_t>(value);
  }
  return AddValue(std::move(node));
}

}  // namespace eris::storage
