#include "storage/table/query/plan_compiler.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "storage/table/kernels/civil_date.h"

namespace eris::storage {
namespace {

using Kind = Expression::Kind;

constexpr size_t kTextBytesMax = 200;

std::string LiteralText(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<uint64_t>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<Decimal>(&value)) {
    return DecimalText(number->unscaled, number->scale);
  }
  if (const auto* date = std::get_if<Date>(&value)) return absl::StrCat("date ", date->days);
  if (const auto* text = std::get_if<std::string>(&value)) return absl::StrCat("'", *text, "'");
  return "null";
}

absl::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kColumn:
      return "a column";
    case Kind::kLiteral:
      return "a literal";
    case Kind::kBetween:
      return "between";
    case Kind::kIn:
      return "in";
    case Kind::kIsNull:
      return "is null";
    case Kind::kNot:
      return "not";
    case Kind::kLike:
      return "like";
    case Kind::kDatePart:
      return "date_part";
    default:
      return OperatorText(kind);
  }
}

void AppendText(const Expression& expression, std::string& out, bool inside) {
  if (out.size() > kTextBytesMax) return;
  if (expression.kind == Kind::kColumn) {
    absl::StrAppend(&out, expression.column);
    return;
  }
  if (expression.kind == Kind::kLiteral) {
    absl::StrAppend(&out, LiteralText(expression.value));
    return;
  }
  const bool prefix = OperatorText(expression.kind).empty();
  const bool brackets = inside || prefix;
  if (prefix) absl::StrAppend(&out, KindName(expression.kind));
  if (brackets) out.push_back('(');
  for (size_t i = 0; i < expression.arguments.size(); ++i) {
    if (i > 0) {
      const absl::string_view between = OperatorText(expression.kind);
      absl::StrAppend(&out, between.empty() ? "," : " ", between, " ");
    }
    AppendText(expression.arguments[i], out, true);
  }
  if (brackets) out.push_back(')');
}

absl::Status WrongArguments(const Expression& expression, size_t min, size_t max) {
  const size_t given = expression.arguments.size();
  return absl::InvalidArgumentError(absl::StrCat(
      KindName(expression.kind), " takes ", min,
      max > min && max < kExpressionSizeMax ? absl::StrCat(" to ", max) : "",
      max == 1 ? " argument" : " arguments", max == kExpressionSizeMax ? " or more, " : ", ", given,
      given == 1 ? " is given" : " are given"));
}

absl::Status CheckTree(const Expression& expression, uint32_t depth, uint32_t& size) {
  if (depth > kExpressionDepthMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression is deeper than ", kExpressionDepthMax, " levels"));
  }
  if (++size > kExpressionSizeMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression has more than ", kExpressionSizeMax, " parts"));
  }
  const size_t arguments = expression.arguments.size();
  size_t min = 2;
  size_t max = 2;
  switch (expression.kind) {
    case Kind::kColumn:
    case Kind::kLiteral:
      min = max = 0;
      break;
    case Kind::kNot:
    case Kind::kIsNull:
      min = max = 1;
      break;
    case Kind::kBetween:
      min = max = 3;
      break;
    case Kind::kIn:
    case Kind::kAnd:
    case Kind::kOr:
      max = kExpressionSizeMax;
      break;
    case Kind::kLike:
      max = 3;
      break;
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kDatePart:
    case Kind::kEqual:
    case Kind::kNotEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("an expression is of the unknown kind ", static_cast<int>(expression.kind)));
  }
  if (arguments < min || arguments > max) return WrongArguments(expression, min, max);
  if (const auto* decimal = std::get_if<Decimal>(&expression.value);
      decimal != nullptr && decimal->scale > kDecimalScaleMax) {
    return absl::InvalidArgumentError(absl::StrCat("a decimal literal has scale ",
                                                   static_cast<int>(decimal->scale), ", at most ",
                                                   static_cast<int>(kDecimalScaleMax)));
  }
  for (const Expression& argument : expression.arguments) {
    ERIS_RETURN_IF_ERROR(CheckTree(argument, depth + 1, size));
  }
  return absl::OkStatus();
}

ValueNode::Op OpOf(Kind kind) {
  switch (kind) {
    case Kind::kAdd:
      return ValueNode::Op::kAdd;
    case Kind::kSubtract:
      return ValueNode::Op::kSubtract;
    case Kind::kMultiply:
      return ValueNode::Op::kMultiply;
    default:
      return ValueNode::Op::kDivide;
  }
}

bool IsNumber(const ValueNode& value) {
  return value.value_class != ValueClass::kString && value.type != ColumnType::kDate;
}

}  // namespace

std::string ExpressionText(const Expression& expression) {
  std::string text;
  AppendText(expression, text, false);
  if (text.size() > kTextBytesMax) {
    text.resize(kTextBytesMax);
    text += "...";
  }
  return text;
}

absl::Status PlanCompiler::CheckShape(const Expression& expression) {
  uint32_t size = 0;
  return CheckTree(expression, 1, size);
}

std::string PlanCompiler::Describe(const ValueNode& value) const {
  std::string type = ColumnTypeName(value.type);
  if (value.type == ColumnType::kDecimal) {
    absl::StrAppend(&type, " of scale ", static_cast<int>(value.scale));
  }
  if (value.IsColumn()) {
    return absl::StrCat("column ", layout_.column(value.column).name, " (", type, ")");
  }
  return absl::StrCat(value.text, " (", type, ")");
}

PlanCompiler::PlanCompiler(const TableLayout& layout, PlanBody& body)
    : layout_(layout), body_(body) {
  for (uint32_t i = 0; i < layout.columns(); ++i) columns_.emplace(layout.column(i).name, i);
}

PlanCompiler::ValueKey PlanCompiler::KeyOf(const ValueNode& node) {
  return {node.op,         node.value_class,  node.type, node.scale,
          node.column,     node.constant.u64, node.left, node.right,
          node.left_power, node.right_power,  node.part};
}

absl::StatusOr<uint32_t> PlanCompiler::AddValue(ValueNode node) {
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
  const ColumnSchema* const found = &layout_.column(at->second);
  ValueNode node{.op = ValueNode::Op::kColumn,
                 .value_class = ClassOf(found->type),
                 .type = found->type,
                 .scale = found->scale,
                 .nullable = found->nullable,
                 .column = at->second,
                 .text = name};
  return AddValue(std::move(node));
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
  } else if (std::holds_alternative<std::string>(literal)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the string ", node.text,
                     " can only be compared with a column, neither computed with nor "
                     "handed out"));
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
      return Arithmetic(expression);
    case Kind::kDatePart:
      return PartOfDate(expression);
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
    const Int128 unscaled = from.value_class == ValueClass::kUnsigned ? Int128{from.constant.u64}
                                                                      : Int128{from.constant.i64};
    node.constant.f64 = NearestDouble(unscaled, from.scale);
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
  const ValueNode& a = body_.values[left];
  const ValueNode& b = body_.values[right];
  node.left = left;
  node.right = right;
  node.nullable = a.nullable || b.nullable;
  if (node.value_class != ValueClass::kDouble) {
    if (a.type == ColumnType::kDecimal || b.type == ColumnType::kDecimal) {
      node.type = ColumnType::kDecimal;
      const int scale =
          node.op == ValueNode::Op::kMultiply ? a.scale + b.scale : std::max(a.scale, b.scale);
      if (scale > kDecimalScaleMax) {
        return absl::InvalidArgumentError(absl::StrCat(ExpressionText(expression), " has scale ",
                                                       scale, ", decimals at most ",
                                                       static_cast<int>(kDecimalScaleMax)));
      }
      node.scale = static_cast<uint8_t>(scale);
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

absl::StatusOr<uint32_t> PlanCompiler::PartOfDate(const Expression& expression) {
  const Expression& name = expression.arguments[0];
  const auto* const text =
      name.kind == Kind::kLiteral ? std::get_if<std::string>(&name.value) : nullptr;
  const auto* const at =
      text == nullptr ? std::end(kDatePartNames)
                      : std::find(std::begin(kDatePartNames), std::end(kDatePartNames), *text);
  if (at == std::end(kDatePartNames)) {
    return absl::InvalidArgumentError(absl::StrCat(ExpressionText(expression), " takes one of '",
                                                   absl::StrJoin(kDatePartNames, "', '"), "', not ",
                                                   ExpressionText(name)));
  }
  const ValueNode any_date{.type = ColumnType::kDate};
  const Expression& date = expression.arguments[1];
  ERIS_ASSIGN_OR_RETURN(const uint32_t days, date.kind == Kind::kLiteral
                                                 ? LiteralValue(date.value, &any_date)
                                                 : Value(date));
  const ValueNode& from = body_.values[days];
  if (from.type != ColumnType::kDate) {
    return absl::InvalidArgumentError(
        absl::StrCat(ExpressionText(expression), ": ", Describe(from), " is not a date"));
  }
  ValueNode node{.op = ValueNode::Op::kDatePart,
                 .nullable = from.nullable,
                 .left = days,
                 .part = static_cast<DatePart>(at - std::begin(kDatePartNames)),
                 .text = ExpressionText(expression)};
  if (from.op == ValueNode::Op::kNull || from.op == ValueNode::Op::kConstant) {
    node.op = from.op;
    node.left = 0;
    if (from.op == ValueNode::Op::kConstant) {
      node.constant.i64 = storage::PartOfDate(node.part, from.constant.i64);
    }
    node.part = {};
  }
  return AddValue(std::move(node));
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
                                                                : x / y;
    return AddValue(std::move(folded));
  }
  const auto wide = [](const ValueNode& side) {
    return side.value_class == ValueClass::kUnsigned ? Int128{side.constant.u64}
                                                     : Int128{side.constant.i64};
  };
  const Int128 x = wide(a) * kPowersOfTen[node.left_power];
  const Int128 y = wide(b) * kPowersOfTen[node.right_power];
  Int128 result = 0;
  const bool over = node.op == ValueNode::Op::kAdd        ? __builtin_add_overflow(x, y, &result)
                    : node.op == ValueNode::Op::kSubtract ? __builtin_sub_overflow(x, y, &result)
                                                          : __builtin_mul_overflow(x, y, &result);
  const bool is_unsigned = node.value_class == ValueClass::kUnsigned;
  const Int128 min = is_unsigned ? Int128{0} : Int128{std::numeric_limits<int64_t>::min()};
  const Int128 max = is_unsigned ? Int128{std::numeric_limits<uint64_t>::max()}
                                 : Int128{std::numeric_limits<int64_t>::max()};
  if (over || result < min || result > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.text, " is outside its type, ", ColumnTypeName(node.type)));
  }
  folded.constant.u64 = static_cast<uint64_t>(result);
  return AddValue(std::move(folded));
}

}  // namespace eris::storage
