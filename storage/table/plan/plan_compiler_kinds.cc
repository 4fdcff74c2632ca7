// Values that are written as calls: parts of dates and of strings, casts, and case.
#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "storage/table/kernels/civil_date.h"
#include "storage/table/plan/literal_interval.h"
#include "storage/table/plan/plan_compiler.h"
#include "storage/table/plan/utf8_text.h"

namespace eris::storage {
namespace {

using Kind = Expression::Kind;
using Op = ValueNode::Op;

// The type of a + b, as a node.
ValueNode SumType(const ValueNode& a, const ValueNode& b) {
  const auto either = [&](ValueClass one) { return a.value_class == one || b.value_class == one; };
  ValueNode sum;
  if (either(ValueClass::kDouble)) {
    sum.type = ColumnType::kFloat64;
  } else if (either(ValueClass::kInt128)) {
    sum.type = ColumnType::kInt128;
    sum.scale = std::max(a.scale, b.scale);
  } else if (a.type == ColumnType::kDecimal || b.type == ColumnType::kDecimal) {
    sum.type = ColumnType::kDecimal;
    sum.scale = std::max(a.scale, b.scale);
  } else if (a.value_class == ValueClass::kUnsigned && b.value_class == ValueClass::kUnsigned) {
    sum.type = ColumnType::kUint64;
  }
  sum.value_class = ClassOf(sum.type);
  return sum;
}

// The integer of a literal.
absl::StatusOr<int64_t> NumberOf(const Expression& call, const Expression& argument) {
  if (argument.kind == Kind::kLiteral) {
    if (const auto* number = std::get_if<int64_t>(&argument.value)) return *number;
    const auto* positive = std::get_if<uint64_t>(&argument.value);
    if (positive != nullptr && *positive <= uint64_t{ValueNode::kAllCharacters}) {
      return static_cast<int64_t>(*positive);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      ExpressionText(call), " takes an integer literal, not ", ExpressionText(argument)));
}

}  // namespace

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
  const auto part = static_cast<DatePart>(at - std::begin(kDatePartNames));
  if (!IsTimeType(from.type)) {
    return absl::InvalidArgumentError(absl::StrCat(ExpressionText(expression), ": ", Describe(from),
                                                   " is neither a date nor a timestamp"));
  }
  if (from.type == ColumnType::kDate && IsTimePart(part)) {
    return absl::InvalidArgumentError(absl::StrCat(ExpressionText(expression), ": ", Describe(from),
                                                   " has no ", *at, ", a timestamp has"));
  }
  ValueNode node{.op = ValueNode::Op::kDatePart,
                 .nullable = from.nullable,
                 .left = days,
                 .part = part,
                 .text = ExpressionText(expression)};
  if (from.op == ValueNode::Op::kNull || from.op == ValueNode::Op::kConstant) {
    node.op = from.op;
    node.left = 0;
    if (from.op == ValueNode::Op::kConstant) {
      node.constant.i64 = PartOfTime(from.type, part, from.constant.i64);
    }
    node.part = {};
  }
  return AddValue(std::move(node));
}

absl::StatusOr<uint32_t> PlanCompiler::Substring(const Expression& expression) {
  const Expression& what = expression.arguments[0];
  ValueNode node{.op = Op::kSubstring,
                 .value_class = ValueClass::kString,
                 .type = ColumnType::kString,
                 .characters = ValueNode::kAllCharacters,
                 .text = ExpressionText(expression)};
  ERIS_ASSIGN_OR_RETURN(node.first, NumberOf(expression, expression.arguments[1]));
  if (expression.arguments.size() > 2) {
    ERIS_ASSIGN_OR_RETURN(node.characters, NumberOf(expression, expression.arguments[2]));
    if (node.characters < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          node.text, " takes a number of characters of at least 0, not ", node.characters));
    }
  } else {
    node.first = std::max<int64_t>(node.first, 1);
  }
  const ValueNode any_string{.value_class = ValueClass::kString, .type = ColumnType::kString};
  ERIS_ASSIGN_OR_RETURN(
      node.left, what.kind == Kind::kLiteral ? LiteralValue(what.value, &any_string) : Value(what));
  const ValueNode& from = body_.values[node.left];
  if (from.type != ColumnType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.text, ": ", Describe(from), " is not a string"));
  }
  node.nullable = from.nullable;
  if (from.op == Op::kNull) return node.left;
  if (from.IsConstant()) {
    node.op = Op::kConstant;
    node.string = CharactersOf(from.string, node.first, node.characters);
    node.left = 0;
    node.first = 1;
    node.characters = 0;
  }
  return AddValue(std::move(node));
}

absl::StatusOr<uint32_t> PlanCompiler::Cast(const Expression& expression) {
  const Expression& what = expression.arguments[0];
  const ColumnType type = expression.type;
  const std::string text = ExpressionText(expression);
  const ValueNode target{.value_class = ClassOf(type), .type = type, .scale = expression.scale};
  const bool known = IsColumnType(type) || type == ColumnType::kInt128;
  if (!known || (IsByteString(type) && !IsNullLiteral(what))) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, " takes a type of numbers, date or timestamp, not ", ColumnTypeName(type)));
  }
  const uint8_t scale_max = type == ColumnType::kDecimal  ? kDecimalScaleMax
                            : type == ColumnType::kInt128 ? kWideScaleMax
                                                          : uint8_t{0};
  if (expression.scale > scale_max) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, " to ", ColumnTypeName(type), " has scale ", static_cast<int>(expression.scale),
        ", at most ", static_cast<int>(scale_max)));
  }
  if (IsNullLiteral(what)) return LiteralValue(what.value, &target);
  if (IsTimeType(type)) return CastToTime(expression);
  ERIS_ASSIGN_OR_RETURN(const uint32_t value, Value(what));
  if (!IsNumber(body_.values[value])) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, ": ", Describe(body_.values[value]), " is not a number"));
  }
  if (type == ColumnType::kFloat64) return ToDouble(value);
  return AddCast(value, type, expression.scale, text);
}

absl::StatusOr<uint32_t> PlanCompiler::CastToTime(const Expression& expression) {
  const Expression& what = expression.arguments[0];
  const auto* const text =
      what.kind == Kind::kLiteral ? std::get_if<std::string>(&what.value) : nullptr;
  uint32_t value = 0;
  if (text != nullptr) {
    ERIS_ASSIGN_OR_RETURN(const eris::Value time, TimeFromText(*text));
    ERIS_ASSIGN_OR_RETURN(value, LiteralValue(time, nullptr));
  } else {
    ERIS_ASSIGN_OR_RETURN(value, Value(what));
  }
  if (IsTimeType(body_.values[value].type)) {
    return AddCast(value, expression.type, 0, ExpressionText(expression));
  }
  return absl::InvalidArgumentError(absl::StrCat(ExpressionText(expression), ": ",
                                                 Describe(body_.values[value]),
                                                 " is neither a date nor a timestamp"));
}

absl::StatusOr<uint32_t> PlanCompiler::AddCast(uint32_t value, ColumnType type, uint8_t scale,
                                               std::string text) {
  const ValueNode& from = body_.values[value];
  if (from.type == type && from.scale == scale) return value;
  ValueNode node{.op = Op::kCast,
                 .value_class = ClassOf(type),
                 .type = type,
                 .scale = scale,
                 .nullable = from.nullable,
                 .left = value,
                 .text = std::move(text)};
  if (from.op == Op::kNull) {
    node.op = Op::kNull;
    node.left = 0;
  } else if (from.IsConstant()) {
    Int128 number = 0;
    const bool fits = from.value_class == ValueClass::kDouble
                          ? Rescale(from.constant.f64, scale, number)
                          : CastInteger(from, IntegerOf(from), node, number);
    const RangeOfValues limits = RangeOf(node);
    // One that does not fit is an error only for rows that need it.
    if (fits && number >= limits.min && number <= limits.max) {
      node.left = 0;
      node.op = Op::kConstant;
      return AddConstant(std::move(node), number, true);
    }
  }
  return AddValue(std::move(node));
}

absl::StatusOr<uint32_t> PlanCompiler::Convert(uint32_t value, const ValueNode& type) {
  const ValueNode& from = body_.values[value];
  if (from.value_class == type.value_class && from.scale == type.scale) return value;
  if (type.value_class == ValueClass::kDouble) return ToDouble(value);
  return AddCast(value, type.type, type.scale, from.text);
}

absl::Status PlanCompiler::AddBranch(const Expression& value, ValueNode& type, bool first,
                                     uint32_t& branch) {
  scope_ = ++scopes_;
  if (value.kind == Kind::kLiteral) {
    ERIS_ASSIGN_OR_RETURN(branch, LiteralValue(value.value, first ? nullptr : &type));
  } else {
    ERIS_ASSIGN_OR_RETURN(branch, Value(value));
  }
  const ValueNode& node = body_.values[branch];
  const bool alike = first || (IsNumber(node) ? IsNumber(type) : node.type == type.type);
  if (!alike) {
    return absl::InvalidArgumentError(
        absl::StrCat("a case has values of different types: ", Describe(node), " is no ",
                     IsNumber(type) ? "number" : ColumnTypeName(type.type)));
  }
  if (IsNumber(node)) {
    type = first ? SumType(node, node) : SumType(type, node);
  } else {
    type = {.value_class = node.value_class, .type = node.type};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint32_t>> PlanCompiler::Branches(
    const std::vector<const Expression*>& values, ValueNode& type) {
  std::vector<uint32_t> branches(values.size());
  bool first = true;
  // A literal takes its type from the others.
  for (const bool literals : {false, true}) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (IsNullLiteral(*values[i]) || (values[i]->kind == Kind::kLiteral) != literals) continue;
      ERIS_RETURN_IF_ERROR(AddBranch(*values[i], type, first, branches[i]));
      first = false;
    }
  }
  if (first) return absl::InvalidArgumentError("a case whose values are all null has no type");
  for (size_t i = 0; i < values.size(); ++i) {
    scope_ = ++scopes_;
    if (IsNullLiteral(*values[i])) {
      ERIS_ASSIGN_OR_RETURN(branches[i], LiteralValue({}, &type));
    } else {
      ERIS_ASSIGN_OR_RETURN(branches[i], Convert(branches[i], type));
    }
  }
  return branches;
}

absl::StatusOr<uint32_t> PlanCompiler::Case(const Expression& expression) {
  const auto& arguments = expression.arguments;
  const uint32_t outer = scope_;
  ValueNode node;
  std::vector<uint32_t> conditions, tested;
  std::vector<const Expression*> values;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    scope_ = ++scopes_;
    ERIS_ASSIGN_OR_RETURN(const uint32_t condition, Predicate(arguments[i], false));
    conditions.push_back(condition);
    AddTested(condition, tested);
    values.push_back(&arguments[i + 1]);
  }
  if (arguments.size() % 2 != 0) values.push_back(&arguments.back());
  ERIS_ASSIGN_OR_RETURN(node.branches, Branches(values, node));
  scope_ = outer;
  node.op = Op::kCase;
  node.nullable = values.size() == conditions.size();
  for (const uint32_t branch : node.branches) node.nullable |= body_.values[branch].nullable;
  node.text = ExpressionText(expression);
  body_.case_conditions.insert(body_.case_conditions.end(), conditions.begin(), conditions.end());
  node.conditions = std::move(conditions);
  node.tested = std::move(tested);
  return AddValue(std::move(node));
}

void PlanCompiler::AddTested(uint32_t predicate, std::vector<uint32_t>& tested) const {
  const PredicateNode& node = body_.predicates[predicate];
  for (const uint32_t child : node.children) AddTested(child, tested);
  const bool leaf = node.kind != PredicateNode::Kind::kAll &&
                    node.kind != PredicateNode::Kind::kNone && node.children.empty();
  if (!leaf) return;
  tested.push_back(node.value);
  if (node.kind == PredicateNode::Kind::kCompare) tested.push_back(node.other);
}

}  // namespace eris::storage
