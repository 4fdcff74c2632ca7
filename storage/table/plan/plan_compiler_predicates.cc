// Conditions: comparisons with literals become ranges of the column's own type, so that kernels
// need not know literals, scales and rounding.
#include <algorithm>
#include <cmath>
#include <compare>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/table/plan/literal_interval.h"
#include "storage/table/plan/plan_compiler.h"

namespace eris::storage {
namespace {

using Kind = Expression::Kind;

Kind Flipped(Kind kind) {
  switch (kind) {
    case Kind::kLess:
      return Kind::kGreater;
    case Kind::kLessEqual:
      return Kind::kGreaterEqual;
    case Kind::kGreater:
      return Kind::kLess;
    case Kind::kGreaterEqual:
      return Kind::kLessEqual;
    default:
      return kind;
  }
}

bool IsNull(const Value& value) { return std::holds_alternative<std::monostate>(value); }

// A constant as a literal.
Value ValueOf(const ValueNode& constant) {
  switch (constant.type) {
    case ColumnType::kFloat64:
      return constant.constant.f64;
    case ColumnType::kUint64:
      return constant.constant.u64;
    case ColumnType::kDate:
      return Date{static_cast<int32_t>(constant.constant.i64)};
    case ColumnType::kTimestamp:
      return Timestamp{constant.constant.i64};
    case ColumnType::kDecimal:
      return Decimal{constant.constant.i64, constant.scale};
    case ColumnType::kString:
      return constant.string;
    case ColumnType::kBytes:
      return Bytes{constant.string};
    case ColumnType::kInt128:
      return WideDecimal{HalvesOf(constant.wide), constant.scale};
    default:
      return constant.constant.i64;
  }
}

bool Holds(std::partial_ordering order, Kind kind) {
  switch (kind) {
    case Kind::kEqual:
      return order == 0;
    case Kind::kLess:
      return order < 0;
    case Kind::kLessEqual:
      return order <= 0;
    case Kind::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

}  // namespace

bool PlanCompiler::IsPredicate(Expression::Kind kind) {
  return (kind >= Kind::kEqual && kind <= Kind::kNot) || kind == Kind::kLike;
}

uint32_t PlanCompiler::AddPredicate(PredicateNode node) {
  body_.predicates.push_back(std::move(node));
  return static_cast<uint32_t>(body_.predicates.size() - 1);
}

uint32_t PlanCompiler::Constant(bool all) {
  return AddPredicate({.kind = all ? PredicateNode::Kind::kAll : PredicateNode::Kind::kNone});
}

uint32_t PlanCompiler::NotNull(uint32_t value) {
  const ValueNode& node = body_.values[value];
  if (node.op == ValueNode::Op::kNull) return Constant(false);
  if (!node.nullable) return Constant(true);
  return AddPredicate({.kind = PredicateNode::Kind::kIsNull, .negated = true, .value = value});
}

uint32_t PlanCompiler::Range(uint32_t value, Scalar lo, Scalar hi, bool empty, bool negated) {
  const ValueNode& node = body_.values[value];
  if (node.op == ValueNode::Op::kNull) return Constant(false);
  if (node.op == ValueNode::Op::kConstant) {
    const bool nan = node.value_class == ValueClass::kDouble && std::isnan(node.constant.f64);
    const bool within = !empty && !nan && !Below(node.value_class, node.constant, lo) &&
                        !Below(node.value_class, hi, node.constant);
    return Constant(within != negated);
  }
  if (empty) return negated ? NotNull(value) : Constant(false);
  if (node.value_class != ValueClass::kDouble) {
    // Not valid for doubles, because NaNs are in no range.
    const RangeOfValues limits = RangeOf(node);
    const bool all = node.value_class == ValueClass::kUnsigned
                         ? lo.u64 == 0 && hi.u64 == limits.max
                         : lo.i64 == limits.min && hi.i64 == limits.max;
    if (all) return negated ? Constant(false) : NotNull(value);
  }
  return AddPredicate({.kind = PredicateNode::Kind::kRange,
                       .negated = negated,
                       .value = value,
                       .lo = lo,
                       .hi = hi});
}

absl::StatusOr<Value> PlanCompiler::Comparable(const ValueNode& value,
                                               const eris::Value& literal) const {
  const char* what = "a number";
  bool fits = IsNumber(value);
  if (std::holds_alternative<Date>(literal) || std::holds_alternative<Timestamp>(literal)) {
    what = std::holds_alternative<Date>(literal) ? "a date" : "a timestamp";
    fits = IsTimeType(value.type);
  } else if (const auto* text = std::get_if<std::string>(&literal)) {
    if (IsTimeType(value.type)) return TimeFromText(*text);
    what = "a string";
    fits = IsByteString(value.type);
  } else if (std::holds_alternative<Bytes>(literal)) {
    what = "bytes";
    fits = value.type == ColumnType::kBytes;
  } else if (IsNull(literal)) {
    fits = true;
  }
  if (fits) return literal;
  return absl::InvalidArgumentError(
      absl::StrCat(Describe(value), " cannot be compared with ", what));
}

absl::StatusOr<uint32_t> PlanCompiler::CompareLiteral(uint32_t value, Kind kind,
                                                      const eris::Value& given, bool negated) {
  const ValueNode& node = body_.values[value];
  ERIS_ASSIGN_OR_RETURN(const eris::Value literal, Comparable(node, given));
  if (IsNull(literal)) return Constant(false);
  if (kind == Kind::kNotEqual) {
    kind = Kind::kEqual;
    negated = !negated;
  }
  if (node.value_class == ValueClass::kString) {
    return CompareString(value, kind, *TextOf(literal), negated);
  }
  if (node.value_class == ValueClass::kInt128) {
    ERIS_ASSIGN_OR_RETURN(const uint32_t constant, LiteralValue(literal, &node));
    return CompareNodes(value, constant, kind, negated);
  }
  const Interval interval = IntervalOf(node, kind, literal);
  return Range(value, interval.lo, interval.hi, interval.empty, negated);
}

absl::StatusOr<uint32_t> PlanCompiler::CompareValues(uint32_t left, uint32_t right, Kind kind,
                                                     bool negated) {
  const ColumnType types[] = {body_.values[left].type, body_.values[right].type};
  if (types[0] != types[1] && IsTimeType(types[0]) && IsTimeType(types[1])) {
    // As microseconds in 128 bits: the midnights of some dates are no timestamps.
    for (uint32_t* const side : {&left, &right}) {
      const std::string text = body_.values[*side].text;
      ERIS_ASSIGN_OR_RETURN(*side, AddCast(*side, ColumnType::kInt128, 0, text));
    }
  }
  const ValueNode& a = body_.values[left];
  const ValueNode& b = body_.values[right];
  const auto family = [](const ValueNode& node) {
    return IsNumber(node) ? ColumnType::kInt64 : node.type;
  };
  if (family(a) != family(b)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(a), " cannot be compared with ", Describe(b)));
  }
  if (kind == Kind::kNotEqual) {
    kind = Kind::kEqual;
    negated = !negated;
  }
  if (a.op == ValueNode::Op::kNull || b.op == ValueNode::Op::kNull) return Constant(false);
  if (a.IsConstant() && b.IsConstant()) {
    const bool strings = a.value_class == ValueClass::kString;
    const std::partial_ordering order = strings ? a.string <=> b.string : OrderOfConstants(a, b);
    return Constant(Holds(order, kind) != negated);
  }
  // Ranges prune segments.
  if (b.IsConstant() && a.value_class != ValueClass::kInt128) {
    return CompareLiteral(left, kind, ValueOf(b), negated);
  }
  if (a.IsConstant() && b.value_class != ValueClass::kInt128) {
    return CompareLiteral(right, Flipped(kind), ValueOf(a), negated);
  }
  return CompareNodes(left, right, kind, negated);
}

uint32_t PlanCompiler::CompareNodes(uint32_t left, uint32_t right, Kind kind, bool negated) {
  if (kind == Kind::kGreater || kind == Kind::kGreaterEqual) {
    std::swap(left, right);
    kind = Flipped(kind);
  }
  PredicateNode node{
      .kind = PredicateNode::Kind::kCompare, .negated = negated, .value = left, .other = right};
  node.comparison = kind == Kind::kEqual  ? PredicateNode::Comparison::kEqual
                    : kind == Kind::kLess ? PredicateNode::Comparison::kLess
                                          : PredicateNode::Comparison::kLessEqual;
  return AddPredicate(std::move(node));
}

absl::StatusOr<uint32_t> PlanCompiler::Comparison(const Expression& left, const Expression& right,
                                                  Kind kind, bool negated) {
  if (left.kind == Kind::kLiteral && right.kind == Kind::kLiteral) {
    if (IsNull(left.value) || IsNull(right.value)) return Constant(false);
    const std::string* const a = TextOf(left.value);
    const std::string* const b = TextOf(right.value);
    if (a != nullptr && b != nullptr) {
      const bool equal = kind == Kind::kEqual || kind == Kind::kNotEqual;
      const bool holds = equal ? *a == *b : Holds(*a <=> *b, kind);
      return Constant((holds != (kind == Kind::kNotEqual)) != negated);
    }
  }
  if (right.kind == Kind::kLiteral) {
    ERIS_ASSIGN_OR_RETURN(const uint32_t value, Value(left));
    return CompareLiteral(value, kind, right.value, negated);
  }
  if (left.kind == Kind::kLiteral) {
    ERIS_ASSIGN_OR_RETURN(const uint32_t value, Value(right));
    return CompareLiteral(value, Flipped(kind), left.value, negated);
  }
  ERIS_ASSIGN_OR_RETURN(const uint32_t a, Value(left));
  ERIS_ASSIGN_OR_RETURN(const uint32_t b, Value(right));
  return CompareValues(a, b, kind, negated);
}

absl::StatusOr<uint32_t> PlanCompiler::Between(const Expression& expression, bool negated) {
  const Expression& what = expression.arguments[0];
  const Expression& from = expression.arguments[1];
  const Expression& to = expression.arguments[2];
  const bool one_range = from.kind == Kind::kLiteral && to.kind == Kind::kLiteral &&
                         what.kind != Kind::kLiteral && !IsNull(from.value) && !IsNull(to.value);
  uint32_t value = 0;
  if (one_range) {
    ERIS_ASSIGN_OR_RETURN(value, Value(what));
  }
  if (!one_range || body_.values[value].value_class == ValueClass::kInt128) {
    ERIS_ASSIGN_OR_RETURN(const uint32_t low, Comparison(what, from, Kind::kGreaterEqual, negated));
    ERIS_ASSIGN_OR_RETURN(const uint32_t high, Comparison(what, to, Kind::kLessEqual, negated));
    return Join({low, high}, !negated);
  }
  const ValueNode& node = body_.values[value];
  ERIS_ASSIGN_OR_RETURN(const eris::Value low, Comparable(node, from.value));
  ERIS_ASSIGN_OR_RETURN(const eris::Value high, Comparable(node, to.value));
  if (node.value_class == ValueClass::kString) {
    PredicateNode leaf{.kind = PredicateNode::Kind::kString, .negated = negated, .value = value};
    leaf.test = PredicateNode::StringTest::kRange;
    leaf.range = {.has_lo = true,
                  .has_hi = true,
                  .lo_included = true,
                  .hi_included = true,
                  .lo = *TextOf(low),
                  .hi = *TextOf(high)};
    return AddPredicate(std::move(leaf));
  }
  const Interval interval = Intersect(node.value_class, IntervalOf(node, Kind::kGreaterEqual, low),
                                      IntervalOf(node, Kind::kLessEqual, high));
  return Range(value, interval.lo, interval.hi, interval.empty, negated);
}

absl::StatusOr<uint32_t> PlanCompiler::In(const Expression& expression, bool negated) {
  ERIS_ASSIGN_OR_RETURN(const uint32_t value, Value(expression.arguments[0]));
  const ValueClass value_class = body_.values[value].value_class;
  PredicateNode node{.kind = PredicateNode::Kind::kSet, .negated = negated, .value = value};
  std::vector<uint32_t> of_int128;
  bool null = false;
  for (size_t i = 1; i < expression.arguments.size(); ++i) {
    const Expression& argument = expression.arguments[i];
    if (argument.kind != Kind::kLiteral) {
      return absl::InvalidArgumentError(
          absl::StrCat("`in` takes literals, not ", ExpressionText(argument)));
    }
    ERIS_ASSIGN_OR_RETURN(const eris::Value literal,
                          Comparable(body_.values[value], argument.value));
    if (IsNull(literal)) {
      null = true;
    } else if (value_class == ValueClass::kString) {
      node.strings.push_back(*TextOf(literal));
    } else if (value_class == ValueClass::kInt128) {
      ERIS_ASSIGN_OR_RETURN(const uint32_t equal,
                            CompareLiteral(value, Kind::kEqual, literal, negated));
      of_int128.push_back(equal);
    } else {
      const Interval one = IntervalOf(body_.values[value], Kind::kEqual, literal);
      if (!one.empty) node.set.push_back(one.lo);
    }
  }
  // "Not in" a set with an unknown value is never true.
  if (null && negated) return Constant(false);
  if (value_class == ValueClass::kInt128) return Join(std::move(of_int128), negated);
  return value_class == ValueClass::kString ? Set(value, std::move(node.strings), negated)
                                            : Set(value, std::move(node.set), negated);
}

uint32_t PlanCompiler::Set(uint32_t value, std::vector<Scalar> set, bool negated) {
  const ValueClass value_class = body_.values[value].value_class;
  const auto below = [&](Scalar a, Scalar b) { return Below(value_class, a, b); };
  const auto same = [&](Scalar a, Scalar b) { return !below(a, b) && !below(b, a); };
  std::sort(set.begin(), set.end(), below);
  set.erase(std::unique(set.begin(), set.end(), same), set.end());
  if (set.empty()) return Range(value, {}, {}, true, negated);
  const bool dense =
      value_class != ValueClass::kDouble && set.back().u64 - set.front().u64 == set.size() - 1;
  if (set.size() == 1 || dense) return Range(value, set.front(), set.back(), false, negated);
  if (body_.values[value].op == ValueNode::Op::kNull) return Constant(false);
  if (body_.values[value].op == ValueNode::Op::kConstant) {
    const Scalar constant = body_.values[value].constant;
    const bool found = std::any_of(set.begin(), set.end(), [&](Scalar one) {
      return value_class == ValueClass::kDouble ? one.f64 == constant.f64 : same(one, constant);
    });
    return Constant(found != negated);
  }
  return AddPredicate({.kind = PredicateNode::Kind::kSet,
                       .negated = negated,
                       .value = value,
                       .set = std::move(set)});
}

std::vector<uint32_t> PlanCompiler::MergeSets(const std::vector<uint32_t>& children,
                                              bool conjunction) {
  using NodeKind = PredicateNode::Kind;
  const auto is_set = [&](const PredicateNode& node) {
    const ValueNode& value = body_.values[node.value];
    if (node.negated != conjunction || !value.IsColumn()) return false;
    return (node.kind == NodeKind::kString && node.test == PredicateNode::StringTest::kSet) ||
           node.kind == NodeKind::kSet ||
           (node.kind == NodeKind::kRange && !Below(value.value_class, node.lo, node.hi));
  };
  struct Sets {
    size_t at = 0;  // among the remaining ones
    std::vector<uint32_t> members{};
  };
  std::vector<uint32_t> left;
  std::map<uint32_t, Sets> by_value;
  for (const uint32_t child : children) {
    const PredicateNode& node = body_.predicates[child];
    if (is_set(node)) {
      Sets& sets = by_value[node.value];
      sets.members.push_back(child);
      if (sets.members.size() > 1) continue;
      sets.at = left.size();
    }
    left.push_back(child);
  }
  for (const auto& [value, sets] : by_value) {
    if (sets.members.size() == 1) continue;
    std::vector<std::string> strings;
    std::vector<Scalar> numbers;
    for (const uint32_t member : sets.members) {
      PredicateNode& node = body_.predicates[member];
      if (node.kind == NodeKind::kRange) numbers.push_back(node.lo);
      numbers.insert(numbers.end(), node.set.begin(), node.set.end());
      std::move(node.strings.begin(), node.strings.end(), std::back_inserter(strings));
      // It is no longer used.
      node = {.kind = NodeKind::kNone};
    }
    left[sets.at] = strings.empty() ? Set(value, std::move(numbers), conjunction)
                                    : Set(value, std::move(strings), conjunction);
  }
  return left;
}

absl::StatusOr<uint32_t> PlanCompiler::Join(std::vector<uint32_t> children, bool conjunction) {
  using NodeKind = PredicateNode::Kind;
  const NodeKind decides = conjunction ? NodeKind::kNone : NodeKind::kAll;
  const NodeKind says_nothing = conjunction ? NodeKind::kAll : NodeKind::kNone;
  std::vector<uint32_t> kept;
  for (const uint32_t child : children) {
    if (body_.predicates[child].kind == decides) return child;
    if (body_.predicates[child].kind != says_nothing) kept.push_back(child);
  }
  kept = MergeSets(kept, conjunction);
  if (kept.empty()) return Constant(conjunction);
  if (kept.size() == 1) return kept[0];
  return AddPredicate(
      {.kind = conjunction ? NodeKind::kAnd : NodeKind::kOr, .children = std::move(kept)});
}

absl::StatusOr<uint32_t> PlanCompiler::Predicate(const Expression& expression, bool negated) {
  switch (expression.kind) {
    case Kind::kAnd:
    case Kind::kOr: {
      std::vector<uint32_t> children;
      for (const Expression& argument : expression.arguments) {
        ERIS_ASSIGN_OR_RETURN(const uint32_t child, Predicate(argument, negated));
        children.push_back(child);
      }
      return Join(std::move(children), (expression.kind == Kind::kAnd) != negated);
    }
    case Kind::kNot:
      return Predicate(expression.arguments[0], !negated);
    case Kind::kIsNull: {
      const Expression& argument = expression.arguments[0];
      if (argument.kind == Kind::kLiteral) return Constant(IsNull(argument.value) != negated);
      ERIS_ASSIGN_OR_RETURN(const uint32_t value, Value(argument));
      const ValueNode& node = body_.values[value];
      if (node.op == ValueNode::Op::kNull) return Constant(!negated);
      if (!node.nullable) return Constant(negated);
      return AddPredicate(
          {.kind = PredicateNode::Kind::kIsNull, .negated = negated, .value = value});
    }
    case Kind::kBetween:
      return Between(expression, negated);
    case Kind::kIn:
      return In(expression, negated);
    case Kind::kLike:
      return Like(expression, negated);
    case Kind::kEqual:
    case Kind::kNotEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
      return Comparison(expression.arguments[0], expression.arguments[1], expression.kind, negated);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(ExpressionText(expression), " is a value where a condition is asked for"));
  }
}

absl::Status PlanCompiler::Filter(const Expression& expression, bool negated) {
  if (expression.kind == Kind::kNot) return Filter(expression.arguments[0], !negated);
  if (expression.kind == (negated ? Kind::kOr : Kind::kAnd)) {
    for (const Expression& argument : expression.arguments) {
      ERIS_RETURN_IF_ERROR(Filter(argument, negated));
    }
    return absl::OkStatus();
  }
  ERIS_ASSIGN_OR_RETURN(const uint32_t made, Predicate(expression, negated));
  const PredicateNode node = body_.predicates[made];
  if (node.kind == PredicateNode::Kind::kAll) return absl::OkStatus();
  if (node.kind == PredicateNode::Kind::kRange && !node.negated) {
    // Merges two bounds of one column.
    const auto [at, is_new] = ranges_.try_emplace(node.value, made);
    if (!is_new) {
      PredicateNode& other = body_.predicates[at->second];
      const Interval both =
          Intersect(body_.values[node.value].value_class, {.lo = other.lo, .hi = other.hi},
                    {.lo = node.lo, .hi = node.hi});
      if (both.empty) other.kind = PredicateNode::Kind::kNone;
      other.lo = both.lo;
      other.hi = both.hi;
      return absl::OkStatus();
    }
  }
  body_.conjuncts.push_back(made);
  return absl::OkStatus();
}

}  // namespace eris::storage
