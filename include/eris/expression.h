// Expressions over the columns of a table: filters, computed columns and aggregates of a scan. A
// plain tree, checked against the table's schema when the scan is opened.
//
//   using namespace eris::expressions;
//   auto filter = Column("l_shipdate") < Literal(Date{8766}) && Column("l_quantity") < Literal(24);
//
// Nulls are SQL's: an operation on a null is null, `and`, `or` and `not` have three values, and a
// filter keeps the rows for which it is true. Comparisons of doubles are IEEE 754's: nothing is
// equal to, less or greater than a NaN.
//
// Types. Comparison: numbers with numbers (exactly, whatever their types; a literal may have more
// digits than the decimal column it is compared with), dates with dates, strings with strings,
// bytes with bytes. A string literal next to bytes counts as its bytes.
// Like: a string with a pattern, in which % is any text and _ any one character of UTF-8; %, _ and
// the escape character itself are taken as they are behind the escape character, and nothing else
// may be there. A pattern has at most 1,024 bytes, and at most 63 besides its % if it has a _.
// Arithmetic: numbers only. A double with anything gives a double, and so does a quotient.
// Decimals, and decimals with integers, give a decimal of the larger scale; a product's scale is
// the sum of both, at most kDecimalScaleMax. Two u64 give a u64, other integers an i64; an integer
// literal that is not negative counts as u64 next to a u64. A sum of 128 bits with integers and
// decimals gives 128 bits. `x div y` is for integers and decimals: how often y is in x, a number of
// the type of a sum, but of scale 0, cut off towards 0. `x % y` is what is left, x - (x div y) * y:
// its type is that of a sum, and its sign that of x. With y = 0 both are OutOfRange, unlike x / y.
// With a double, x % y is what C calls fmod, with y = 0 a NaN. A result outside its type is an
// error, OutOfRange, and never wraps. Nulls are not computed, nor are rows that an earlier part of
// an `and` has dropped. Case: all values are numbers, or all of one other type; numbers
// get the type of a sum of them. A value is computed for the rows that take it. Cast: a number to
// any type of numbers. Digits that the new scale lacks are rounded, halves away from zero, of a
// double to scale 0 to the even one; what the new type does not hold is OutOfRange, a NaN too. A
// null literal may be cast to any type. Substring: characters of UTF-8, those outside the string
// left out, so that a part of a text is text. Like and substring are not for bytes, which have no
// characters. A length below 0 is InvalidArgument. Minima, maxima and groups use a total order of
// doubles: -0.0 is below 0.0 (but in the same group), and NaN, which is one value, is above all
// others.
//
// Dates and timestamps are compared with each other: a date is its midnight. A string literal that
// is compared with one is read as such (calendar_text.h), and InvalidArgument if it is none. A date
// may be cast to a timestamp, OutOfRange if none has its midnight, a timestamp to the date of its
// day, and a string literal to both. There is no arithmetic on them.
#ifndef ERIS_EXPRESSION_H_
#define ERIS_EXPRESSION_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "eris/column_type.h"

namespace eris {

struct Decimal {
  int64_t unscaled = 0;
  uint8_t scale = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};
// A decimal of any number of digits that 128 bits hold: a sum, or what is compared with one.
struct WideDecimal {
  Int128Halves unscaled{};
  uint8_t scale = 0;  // at most kWideScaleMax
  friend bool operator==(const WideDecimal&, const WideDecimal&) = default;
};
struct Date {
  int32_t days = 0;  // since 1970-01-01
  friend bool operator==(const Date&, const Date&) = default;
};
struct Timestamp {
  int64_t micros = 0;  // since 1970-01-01 00:00:00 UTC
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};
// Any bytes. A std::string is text instead, and must be UTF-8.
struct Bytes {
  std::string bytes{};
  friend bool operator==(const Bytes&, const Bytes&) = default;
};
// std::monostate: null.
using Value = std::variant<std::monostate, int64_t, uint64_t, double, Decimal, Date, std::string,
                           WideDecimal, Bytes, Timestamp>;
inline constexpr uint8_t kWideScaleMax = 18;

struct Expression {
  enum class Kind : uint8_t {
    kColumn = 1,
    kLiteral = 2,
    kAdd = 3,
    kSubtract = 4,
    kMultiply = 5,
    kEqual = 6,
    kNotEqual = 7,
    kLess = 8,
    kLessEqual = 9,
    kGreater = 10,
    kGreaterEqual = 11,
    kBetween = 12,  // arguments: value, from, to; both ends included
    kIn = 13,       // arguments: value, then at least one literal
    kIsNull = 14,
    kAnd = 15,  // two arguments or more
    kOr = 16,
    kNot = 17,
    kLike = 18,    // arguments: string, pattern, and maybe an escape character: both literals
    kDivide = 19,  // a double, as of IEEE 754: x / 0 is an infinity or a NaN
    // Arguments: one of kDatePartNames as a literal, then a date or a timestamp. An i64.
    kDatePart = 20,
    // Arguments: condition, value, any number of further such pairs, and maybe a last value. The
    // value of the first condition that is true; else the last one, without which it is null.
    kCase = 21,
    kCast = 22,  // one argument; to `type` and `scale`
    // Arguments: string, then as integer literals the number of its first character, which counts
    // from 1, and maybe how many.
    kSubstring = 23,
    kQuotient = 24,   // `div`, without digits behind the point
    kRemainder = 25,  // %: what kQuotient leaves
    // Only plans (query_plan.h) have these, by `number`: a column of the node's input; the only
    // value of another node. Kinds that queries have, too, come before them.
    kField = 100,
    kSubquery = 101,
  };
  Kind kind = Kind::kLiteral;
  std::string column{};  // kColumn
  Value value{};         // kLiteral
  std::vector<Expression> arguments{};
  uint32_t number = 0;                   // kField, kSubquery
  ColumnType type = ColumnType::kInt64;  // kCast
  uint8_t scale = 0;                     // kCast, to a kDecimal or kInt128
  friend bool operator==(const Expression&, const Expression&) = default;
};

// The text between the arguments of an operator: "+", "<=", "and". Empty for kinds that are written
// differently: columns, literals, between, in, is null, not, like, and what looks like a call.
inline absl::string_view OperatorText(Expression::Kind kind) {
  switch (kind) {
    case Expression::Kind::kAdd:
      return "+";
    case Expression::Kind::kSubtract:
      return "-";
    case Expression::Kind::kMultiply:
      return "*";
    case Expression::Kind::kDivide:
      return "/";
    case Expression::Kind::kQuotient:
      return "div";
    case Expression::Kind::kRemainder:
      return "%";
    case Expression::Kind::kEqual:
      return "=";
    case Expression::Kind::kNotEqual:
      return "!=";
    case Expression::Kind::kLess:
      return "<";
    case Expression::Kind::kLessEqual:
      return "<=";
    case Expression::Kind::kGreater:
      return ">";
    case Expression::Kind::kGreaterEqual:
      return ">=";
    case Expression::Kind::kAnd:
      return "and";
    case Expression::Kind::kOr:
      return "or";
    default:
      return "";
  }
}

// What kDatePart takes from a date or a timestamp, by name; those from kHour on from a timestamp
// alone. Years are those of the Gregorian calendar, also before it was made; the year before 1 is
// 0. Seconds are without their fraction.
enum class DatePart : uint8_t { kYear, kQuarter, kMonth, kDay, kHour, kMinute, kSecond };
inline constexpr absl::string_view kDatePartNames[] = {"year", "quarter", "month", "day",
                                                       "hour", "minute",  "second"};
// What kCast makes.
inline constexpr ColumnType kCastTypes[] = {
    ColumnType::kInt32,   ColumnType::kInt64,  ColumnType::kUint64, ColumnType::kFloat64,
    ColumnType::kDecimal, ColumnType::kInt128, ColumnType::kDate,   ColumnType::kTimestamp};

// Limits of one expression: number of TreeNodes, and of levels.
inline constexpr uint32_t kExpressionSizeMax = 4096;
inline constexpr uint32_t kExpressionDepthMax = 64;

namespace expressions {

inline Expression Column(std::string name) {
  return {.kind = Expression::Kind::kColumn, .column = std::move(name)};
}
inline Expression Literal(Value value) {
  return {.kind = Expression::Kind::kLiteral, .value = std::move(value)};
}
template <std::integral Number>
Expression Literal(Number number) {
  if constexpr (std::signed_integral<Number>)
    return Literal(Value(int64_t{number}));
  else
    return Literal(Value(uint64_t{number}));
}
inline Expression Of(Expression::Kind kind, std::vector<Expression> arguments) {
  return {.kind = kind, .arguments = std::move(arguments)};
}
inline Expression Pair(Expression::Kind kind, Expression left, Expression right) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(left));
  arguments.push_back(std::move(right));
  return Of(kind, std::move(arguments));
}
inline Expression operator+(Expression left, Expression right) {
  return Pair(Expression::Kind::kAdd, std::move(left), std::move(right));
}
inline Expression operator-(Expression left, Expression right) {
  return Pair(Expression::Kind::kSubtract, std::move(left), std::move(right));
}
inline Expression operator*(Expression left, Expression right) {
  return Pair(Expression::Kind::kMultiply, std::move(left), std::move(right));
}
inline Expression Equal(Expression left, Expression right) {
  return Pair(Expression::Kind::kEqual, std::move(left), std::move(right));
}
inline Expression NotEqual(Expression left, Expression right) {
  return Pair(Expression::Kind::kNotEqual, std::move(left), std::move(right));
}
inline Expression operator/(Expression left, Expression right) {
  return Pair(Expression::Kind::kDivide, std::move(left), std::move(right));
}
inline Expression Quotient(Expression left, Expression right) {
  return Pair(Expression::Kind::kQuotient, std::move(left), std::move(right));
}
inline Expression operator%(Expression left, Expression right) {
  return Pair(Expression::Kind::kRemainder, std::move(left), std::move(right));
}
inline Expression operator<(Expression left, Expression right) {
  return Pair(Expression::Kind::kLess, std::move(left), std::move(right));
}
inline Expression operator<=(Expression left, Expression right) {
  return Pair(Expression::Kind::kLessEqual, std::move(left), std::move(right));
}
inline Expression operator>(Expression left, Expression right) {
  return Pair(Expression::Kind::kGreater, std::move(left), std::move(right));
}
inline Expression operator>=(Expression left, Expression right) {
  return Pair(Expression::Kind::kGreaterEqual, std::move(left), std::move(right));
}
inline Expression operator&&(Expression left, Expression right) {
  return Pair(Expression::Kind::kAnd, std::move(left), std::move(right));
}
inline Expression operator||(Expression left, Expression right) {
  return Pair(Expression::Kind::kOr, std::move(left), std::move(right));
}
inline Expression operator!(Expression argument) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(argument));
  return Of(Expression::Kind::kNot, std::move(arguments));
}
inline Expression IsNull(Expression argument) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(argument));
  return Of(Expression::Kind::kIsNull, std::move(arguments));
}
inline Expression Between(Expression what, Expression from, Expression to) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(what));
  arguments.push_back(std::move(from));
  arguments.push_back(std::move(to));
  return Of(Expression::Kind::kBetween, std::move(arguments));
}
inline Expression Like(Expression what, std::string pattern) {
  return Pair(Expression::Kind::kLike, std::move(what), Literal(Value(std::move(pattern))));
}
inline Expression Like(Expression what, std::string pattern, std::string escape) {
  Expression like = Like(std::move(what), std::move(pattern));
  like.arguments.push_back(Literal(Value(std::move(escape))));
  return like;
}
inline Expression PartOf(DatePart part, Expression date) {
  return Pair(Expression::Kind::kDatePart,
              Literal(Value(std::string(kDatePartNames[static_cast<size_t>(part)]))),
              std::move(date));
}
inline Expression Case(std::vector<Expression> arguments) {
  return Of(Expression::Kind::kCase, std::move(arguments));
}
inline Expression Cast(Expression what, ColumnType type, uint8_t scale = 0) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(what));
  Expression cast = Of(Expression::Kind::kCast, std::move(arguments));
  cast.type = type;
  cast.scale = scale;
  return cast;
}
inline Expression Substring(Expression what, int64_t first) {
  return Pair(Expression::Kind::kSubstring, std::move(what), Literal(first));
}
inline Expression Substring(Expression what, int64_t first, int64_t characters) {
  Expression part = Substring(std::move(what), first);
  part.arguments.push_back(Literal(characters));
  return part;
}
inline Expression Field(uint32_t number) {
  Expression field{.kind = Expression::Kind::kField};
  field.number = number;
  return field;
}
inline Expression Subquery(uint32_t node) {
  Expression subquery{.kind = Expression::Kind::kSubquery};
  subquery.number = node;
  return subquery;
}
inline Expression In(Expression what, const std::vector<Value>& values) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(what));
  for (const Value& value : values) arguments.push_back(Literal(value));
  return Of(Expression::Kind::kIn, std::move(arguments));
}

}  // namespace expressions
}  // namespace eris

#endif  // ERIS_EXPRESSION_H_
