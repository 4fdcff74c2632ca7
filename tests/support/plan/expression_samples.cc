#include "tests/support/plan/expression_samples.h"

#include <iterator>
#include <string>
#include <utility>

namespace eris::test {
namespace {

using Kind = Expression::Kind;
using expressions::Case;
using expressions::Field;
using expressions::Literal;
using expressions::Of;
using expressions::Pair;

constexpr const char* kPatterns[] = {"%",   "a%",  "%b",         "_",       "__",   "a_%",
                                     "%ä%", "a_€", "special%",   "%offer%", "",     "%c%e%",
                                     "_b",  "%_",  "special _%", "ab",      "%a%b%"};
constexpr const char* kEscapedPatterns[] = {"a!%b", "a!_b", "!%", "%!_%", "!!%"};

bool NamesSomething(const Expression& expression) {
  if (expression.kind == Kind::kField || expression.kind == Kind::kSubquery) return true;
  for (const Expression& one : expression.arguments) {
    if (NamesSomething(one)) return true;
  }
  return false;
}

Expression NullLiteral() { return Literal(Value()); }

}  // namespace

ExpressionSamples::ExpressionSamples(PlanRandom& random, const ExpressionScope& scope)
    : random_(random), scope_(scope) {
  for (uint32_t i = 0; i < scope.fields.size(); ++i) {
    const CellType type = scope.fields[i];
    (IsText(type)    ? texts_
     : IsBytes(type) ? bytes_
     : IsDate(type)  ? dates_
     : IsTime(type)  ? timestamps_
                     : numbers_)
        .push_back(i);
  }
}

const ExpressionSamples::Fields& ExpressionSamples::FieldsOf(CellType type) const {
  return IsText(type)    ? texts_
         : IsBytes(type) ? bytes_
         : IsDate(type)  ? dates_
         : IsTime(type)  ? timestamps_
                         : numbers_;
}

Expression ExpressionSamples::FieldOf(const Fields& fields) {
  return Field(fields[Below(random_, fields.size())]);
}

Expression ExpressionSamples::NumberLiteral() {
  constexpr CellType kTypes[] = {{ColumnType::kInt64},      {ColumnType::kInt64},
                                 {ColumnType::kUint64},     {ColumnType::kFloat64},
                                 {ColumnType::kDecimal, 1}, {ColumnType::kDecimal, 3}};
  const CellType type = kTypes[Below(random_, std::size(kTypes))];
  const Reach reach = OneIn(random_, 20) ? Reach::kExtreme : Reach::kNear;
  const Cell cell = SampleCell(random_, type, reach);
  if (!OneIn(random_, 12) || IsReal(type)) return Literal(ValueOf(cell));
  const auto bits = static_cast<Uint128>(cell.number);
  const Int128Halves halves{static_cast<uint64_t>(bits), static_cast<uint64_t>(bits >> 64)};
  return Literal(Value(WideDecimal{halves, type.scale}));
}

Expression ExpressionSamples::Cast(int depth) {
  Expression what = Number(depth - 1);
  ColumnType type = kCastTypes[Below(random_, std::size(kCastTypes))];
  if (IsTimeType(type)) type = ColumnType::kInt64;
  const bool scaled = type == ColumnType::kDecimal || type == ColumnType::kInt128;
  const auto scale = static_cast<uint8_t>(scaled ? 1 + Below(random_, 4) : 0);
  return expressions::Cast(std::move(what), type, scale);
}

Expression ExpressionSamples::NumberCase(int depth) {
  std::vector<Expression> arguments;
  for (uint64_t pairs = 1 + Below(random_, 2); pairs > 0; --pairs) {
    arguments.push_back(Condition(depth - 1));
    const bool first = arguments.size() == 1;
    arguments.push_back(first || OneIn(random_, 2) ? Number(depth - 1) : NumberLiteral());
  }
  if (OneIn(random_, 2)) {
    arguments.push_back(OneIn(random_, 4) ? NullLiteral() : NumberLiteral());
  }
  return Case(std::move(arguments));
}

Expression ExpressionSamples::NumberTree(int depth) {
  const uint64_t choice = Below(random_, 10);
  if (choice == 0 && !(dates_.empty() && timestamps_.empty())) {
    const bool date = timestamps_.empty() || (!dates_.empty() && OneIn(random_, 2));
    const uint64_t parts = date ? 4 : std::size(kDatePartNames);
    const auto part = static_cast<DatePart>(Below(random_, parts));
    const CellType type{date ? ColumnType::kDate : ColumnType::kTimestamp};
    return expressions::PartOf(part, TimeValue(type, depth - 1));
  }
  if (choice == 1) return Cast(depth);
  if (choice == 2) return NumberCase(depth);
  constexpr Kind kKinds[] = {Kind::kAdd, Kind::kAdd, Kind::kSubtract, Kind::kMultiply,
                             Kind::kDivide};
  const Kind kind = kKinds[Below(random_, std::size(kKinds))];
  if (OneIn(random_, 6)) return Division(depth);
  Expression left = OneIn(random_, 4) ? NumberLiteral() : Number(depth - 1);
  const bool literal = left.kind != Kind::kLiteral && OneIn(random_, 3);
  Expression right = literal ? NumberLiteral() : Number(depth - 1);
  return Pair(kind, std::move(left), std::move(right));
}

// Mostly by a literal, since divisors that may be 0 make a plan fail.
Expression ExpressionSamples::Division(int depth) {
  Expression left = Number(depth - 1);
  Expression right = OneIn(random_, 4) ? Number(depth - 1) : NumberLiteral();
  return Pair(OneIn(random_, 2) ? Kind::kQuotient : Kind::kRemainder, std::move(left),
              std::move(right));
}

Expression ExpressionSamples::Number(int depth) {
  if (depth <= 0 || OneIn(random_, 3)) return FieldOf(numbers_);
  Expression tree = NumberTree(depth);
  // A product whose scale is too large, for example, is left out.
  const bool fits = NamesSomething(tree) && BindValue(tree, scope_).ok();
  return fits ? tree : FieldOf(numbers_);
}

Expression ExpressionSamples::Text(int depth) {
  if (depth <= 0 || OneIn(random_, 2)) return FieldOf(texts_);
  if (OneIn(random_, 2)) {
    Expression what = Text(depth - 1);
    const int64_t first = static_cast<int64_t>(Below(random_, 7)) - 2;
    if (OneIn(random_, 3)) return expressions::Substring(std::move(what), first);
    const auto length = static_cast<int64_t>(Below(random_, 5));
    return expressions::Substring(std::move(what), first, length);
  }
  std::vector<Expression> arguments;
  arguments.push_back(Condition(depth - 1));
  arguments.push_back(FieldOf(texts_));
  if (OneIn(random_, 2)) arguments.push_back(Counterpart({ColumnType::kString}, 0));
  return Case(std::move(arguments));
}

Expression ExpressionSamples::TimeValue(CellType type, int depth) {
  const CellType other{IsDate(type) ? ColumnType::kTimestamp : ColumnType::kDate};
  if (depth > 0 && OneIn(random_, 4) && !FieldsOf(other).empty()) {
    return expressions::Cast(FieldOf(FieldsOf(other)), type.type);
  }
  const Fields& fields = FieldsOf(type);
  if (depth <= 0 || !OneIn(random_, 4)) return FieldOf(fields);
  std::vector<Expression> arguments;
  arguments.push_back(Condition(depth - 1));
  arguments.push_back(FieldOf(fields));
  arguments.push_back(OneIn(random_, 2)
                          ? FieldOf(fields)
                          : Literal(ValueOf(SampleCell(random_, type, Reach::kNear))));
  return Case(std::move(arguments));
}

// Dates and timestamps are compared with each other.
Expression ExpressionSamples::TimeLiteral(CellType type) {
  const bool date = OneIn(random_, 3) != IsDate(type);
  const Reach reach = OneIn(random_, 8) ? Reach::kExtreme : Reach::kNear;
  const CellType its{date ? ColumnType::kDate : ColumnType::kTimestamp};
  return Literal(ValueOf(SampleCell(random_, its, reach)));
}

Expression ExpressionSamples::BytesValue(int depth) {
  if (depth <= 0 || !OneIn(random_, 4)) return FieldOf(bytes_);
  return Case({Condition(depth - 1), FieldOf(bytes_), BytesLiteral()});
}

// A text next to bytes counts as its bytes.
Expression ExpressionSamples::BytesLiteral() {
  const ColumnType type = OneIn(random_, 3) ? ColumnType::kString : ColumnType::kBytes;
  return Literal(ValueOf(SampleCell(random_, {type}, Reach::kNear)));
}

Expression ExpressionSamples::ValueOfType(CellType type, int depth) {
  if (IsBytes(type)) return BytesValue(depth);
  return IsText(type) ? Text(depth) : IsTime(type) ? TimeValue(type, depth) : Number(depth);
}

Expression ExpressionSamples::TypedNull(CellType type) {
  return expressions::Cast(NullLiteral(), type.type, type.scale);
}

// A condition as 1, 0 or null.
Expression ExpressionSamples::Truth(int depth) {
  Expression condition = Condition(depth);
  Expression opposite = expressions::operator!(condition);
  return expressions::Cast(
      Case({std::move(condition), Literal(1), std::move(opposite), Literal(0)}),
      ColumnType::kInt32);
}

Expression ExpressionSamples::AnyValue(int depth) {
  if (OneIn(random_, 12)) return Truth(depth - 1);
  if (OneIn(random_, 20)) return TypedNull(scope_.fields[Below(random_, scope_.fields.size())]);
  return ValueOfType(scope_.fields[Below(random_, scope_.fields.size())], depth);
}

Expression ExpressionSamples::Counterpart(CellType type, int depth) {
  if (OneIn(random_, 16)) return NullLiteral();
  if (OneIn(random_, 24)) return TypedNull(type);
  const Fields& fields = FieldsOf(type);
  if (!fields.empty() && OneIn(random_, 3)) return ValueOfType(type, depth);
  if (IsTime(type)) {
    const CellType other{IsDate(type) ? ColumnType::kTimestamp : ColumnType::kDate};
    const bool mixed = !FieldsOf(other).empty() && OneIn(random_, 4);
    return mixed ? ValueOfType(other, depth) : TimeLiteral(type);
  }
  if (IsNumber(type)) return NumberLiteral();
  if (IsBytes(type)) return BytesLiteral();
  return Literal(ValueOf(SampleCell(random_, type, Reach::kNear)));
}

Expression ExpressionSamples::LikePattern(int depth) {
  Expression text = Text(depth);
  if (OneIn(random_, 4)) {
    return expressions::Like(std::move(text),
                             kEscapedPatterns[Below(random_, std::size(kEscapedPatterns))], "!");
  }
  if (OneIn(random_, 12)) return Pair(Kind::kLike, std::move(text), NullLiteral());
  return expressions::Like(std::move(text), kPatterns[Below(random_, std::size(kPatterns))]);
}

Expression ExpressionSamples::Comparison(int depth) {
  const CellType type = scope_.fields[Below(random_, scope_.fields.size())];
  if (OneIn(random_, 8)) return expressions::IsNull(ValueOfType(type, depth));
  if (IsText(type) && !OneIn(random_, 3)) return LikePattern(depth);
  Expression value = ValueOfType(type, depth);
  if (OneIn(random_, 5)) {
    Expression from = Counterpart(type, 0);
    Expression to = Counterpart(type, 0);
    return expressions::Between(std::move(value), std::move(from), std::move(to));
  }
  if (OneIn(random_, 5)) {
    std::vector<Expression> arguments;
    arguments.push_back(std::move(value));
    for (uint64_t i = 1 + Below(random_, 4); i > 0; --i) {
      Expression literal = OneIn(random_, 8) ? NullLiteral()
                           : IsNumber(type)  ? NumberLiteral()
                           : IsTime(type)    ? TimeLiteral(type)
                           : IsBytes(type)
                               ? BytesLiteral()
                               : Literal(ValueOf(SampleCell(random_, type, Reach::kNear)));
      arguments.push_back(std::move(literal));
    }
    return Of(Kind::kIn, std::move(arguments));
  }
  constexpr Kind kKinds[] = {Kind::kEqual,     Kind::kNotEqual, Kind::kLess,
                             Kind::kLessEqual, Kind::kGreater,  Kind::kGreaterEqual};
  const Kind kind = kKinds[Below(random_, std::size(kKinds))];
  Expression other = Counterpart(type, depth);
  if (OneIn(random_, 4)) return Pair(kind, std::move(other), std::move(value));
  return Pair(kind, std::move(value), std::move(other));
}

Expression ExpressionSamples::Condition(int depth) {
  if (depth <= 0 || OneIn(random_, 2)) return Comparison(depth - 1);
  if (OneIn(random_, 4)) return expressions::operator!(Condition(depth - 1));
  const Kind kind = OneIn(random_, 2) ? Kind::kAnd : Kind::kOr;
  std::vector<Expression> parts;
  for (uint64_t i = 2 + Below(random_, 2); i > 0; --i) parts.push_back(Condition(depth - 1));
  return Of(kind, std::move(parts));
}

}  // namespace eris::test
