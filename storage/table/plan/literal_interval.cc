#include "storage/table/plan/literal_interval.h"
#include "storage/table/plan/plan_compiler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "eris/key_text.h"

namespace eris::storage {
namespace {

using Kind = Expression::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Number {  // the number of a literal
  bool is_double = false;
  double real = 0;
  Int128 unscaled = 0;
  uint8_t scale = 0;
};

Number NumberOf(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return {.unscaled = *number};
  if (const auto* number = std::get_if<uint64_t>(&value)) return {.unscaled = *number};
  if (const auto* number = std::get_if<double>(&value)) return {.is_double = true, .real = *number};
  if (const auto* number = std::get_if<Decimal>(&value)) {
    return {.unscaled = number->unscaled, .scale = number->scale};
  }
  if (const auto* number = std::get_if<WideDecimal>(&value)) {
    return {.unscaled = NumberOfHalves(number->unscaled), .scale = number->scale};
  }
  if (const auto* time = std::get_if<Timestamp>(&value)) return {.unscaled = time->micros};
  return {.unscaled = std::get<Date>(value).days};
}

// The last value of the type that is not above the literal.
Floor LastNotAbove(const ValueNode& value, const Number& number, const Value& literal) {
  if (value.type == ColumnType::kTimestamp && std::holds_alternative<Date>(literal)) {
    return {number.unscaled * kMicrosPerDay, /*exact=*/true};
  }
  if (value.type == ColumnType::kDate && std::holds_alternative<Timestamp>(literal)) {
    const int32_t day = DayOfTimestamp(static_cast<int64_t>(number.unscaled));
    return {day, number.unscaled == Int128{day} * kMicrosPerDay};
  }
  return number.is_double ? FloorOf(number.real, value.scale)
                          : FloorOf(number.unscaled, number.scale, value.scale);
}

Interval IntegerInterval(const ValueNode& value, Kind kind, const Number& number,
                         const Value& literal) {
  if (number.is_double && std::isnan(number.real)) return {.empty = true};
  const Floor floor = LastNotAbove(value, number, literal);
  const RangeOfValues limits = RangeOf(value);
  Int128 lo = limits.min;
  Int128 hi = limits.max;
  switch (kind) {
    case Kind::kEqual:
      if (!floor.exact) return {.empty = true};
      lo = std::max(lo, floor.value);
      hi = std::min(hi, floor.value);
      break;
    case Kind::kLess:
      hi = std::min(hi, floor.exact ? floor.value - 1 : floor.value);
      break;
    case Kind::kLessEqual:
      hi = std::min(hi, floor.value);
      break;
    case Kind::kGreater:
      lo = std::max(lo, floor.value + 1);
      break;
    default:
      lo = std::max(lo, floor.exact ? floor.value : floor.value + 1);
      break;
  }
  if (lo > hi) return {.empty = true};
  return {.lo = {.u64 = static_cast<uint64_t>(lo)}, .hi = {.u64 = static_cast<uint64_t>(hi)}};
}

Interval DoubleInterval(Kind kind, const Number& number) {
  if (number.is_double && std::isnan(number.real)) return {.empty = true};
  const double below =
      number.is_double ? number.real : LargestNotAbove(number.unscaled, number.scale);
  const double above =
      number.is_double ? number.real : SmallestNotBelow(number.unscaled, number.scale);
  double lo = -kInfinity;
  double hi = kInfinity;
  switch (kind) {
    case Kind::kEqual:
      lo = above;
      hi = below;
      break;
    case Kind::kLess:
      if (below == above && below == -kInfinity) return {.empty = true};
      hi = below == above ? std::nextafter(below, -kInfinity) : below;
      break;
    case Kind::kLessEqual:
      hi = below;
      break;
    case Kind::kGreater:
      if (below == above && above == kInfinity) return {.empty = true};
      lo = below == above ? std::nextafter(above, kInfinity) : above;
      break;
    default:
      lo = above;
      break;
  }
  if (lo > hi) return {.empty = true};
  return {.lo = {.f64 = lo}, .hi = {.f64 = hi}};
}

}  // namespace

Interval IntervalOf(const ValueNode& value, Kind kind, const Value& literal) {
  const Number number = NumberOf(literal);
  return value.value_class == ValueClass::kDouble ? DoubleInterval(kind, number)
                                                  : IntegerInterval(value, kind, number, literal);
}

Interval Intersect(ValueClass value_class, Interval a, const Interval& b) {
  if (a.empty || b.empty) return {.empty = true};
  if (Below(value_class, a.lo, b.lo)) a.lo = b.lo;
  if (Below(value_class, b.hi, a.hi)) a.hi = b.hi;
  a.empty = Below(value_class, a.hi, a.lo);
  return a;
}

RangeOfValues RangeOf(const ValueNode& value) {
  if (value.value_class == ValueClass::kInt128) return {kInt128Min, kInt128Max};
  // A column has those of its type, and so has a cast; a computed value all of its class.
  const ColumnType wide =
      value.value_class == ValueClass::kUnsigned ? ColumnType::kUint64 : ColumnType::kInt64;
  const bool typed = value.IsColumn() || value.op == ValueNode::Op::kCast;
  return VisitColumnType(typed ? value.type : wide, []<class T>(ColumnTraits<T>) {
    RangeOfValues range{};
    if constexpr (std::is_integral_v<T>) {
      range = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    }
    return range;
  });
}

absl::StatusOr<Value> TimeFromText(absl::string_view text) {
  if (int32_t days = 0; ParseDate(text, days)) return Value(Date{days});
  if (int64_t micros = 0; ParseTimestamp(text, micros)) return Value(Timestamp{micros});
  return absl::InvalidArgumentError(absl::StrCat(LiteralText(Value(std::string(text))),
                                                 " is neither a date YYYY-MM-DD nor a ",
                                                 kTimestampRange));
}

bool Below(ValueClass value_class, Scalar a, Scalar b) {
  switch (value_class) {
    case ValueClass::kUnsigned:
      return a.u64 < b.u64;
    case ValueClass::kDouble:
      return a.f64 < b.f64;
    default:
      return a.i64 < b.i64;
  }
}

std::partial_ordering OrderOfConstants(const ValueNode& a, const ValueNode& b) {
  if (a.value_class == ValueClass::kDouble && b.value_class == ValueClass::kDouble) {
    return a.constant.f64 <=> b.constant.f64;
  }
  if (b.value_class == ValueClass::kDouble) return Compare(IntegerOf(a), a.scale, b.constant.f64);
  if (a.value_class == ValueClass::kDouble)
    return 0 <=> Compare(IntegerOf(b), b.scale, a.constant.f64);
  return Compare(IntegerOf(a), a.scale, IntegerOf(b), b.scale);
}

}  // namespace eris::storage
