// One value of a query as its answers are computed for tests, and what has no part in expressions:
// types of sums, casts, order. Pure functions.
#ifndef ERIS_TESTS_UNIT_TABLE_ORACLE_VALUE_H_
#define ERIS_TESTS_UNIT_TABLE_ORACLE_VALUE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "eris/expression.h"
#include "storage/table/kernels/exact_number.h"
#include "tests/unit/table/query_numbers.h"

namespace eris::storage {

__extension__ using Float128 = __float128;

// A value with the type it has even where it is null.
struct OracleValue {
  ColumnType type = ColumnType::kInt64;
  uint8_t scale = 0;
  bool null = false;
  Int128 number = 0;  // of integers, dates and decimals
  double real = 0;
  std::string text{};

  bool IsReal() const { return type == ColumnType::kFloat64; }
  bool IsText() const { return IsByteString(type); }
  bool IsWide() const { return type == ColumnType::kInt128; }
};

inline bool IsNullValue(const Value& value) {
  return std::holds_alternative<std::monostate>(value);
}

inline double RealOf(const OracleValue& value) {
  if (value.IsReal()) return value.real;
  if (value.IsWide()) return Digits(value.number, value.scale).Nearest();
  // A quotient of 113 bits, rounded once more: the doubles of the tests are not near enough to
  // a tie for that to matter.
  return static_cast<double>(static_cast<Float128>(value.number) /
                             static_cast<Float128>(kPowersOfTen[value.scale]));
}

// `other`: the other operand; nullptr: none.
inline OracleValue LiteralOf(const Value& value, const OracleValue* other) {
  OracleValue out;
  const bool unsigned_other = other != nullptr && other->type == ColumnType::kUint64;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    out.number = *number;
    if (unsigned_other && *number >= 0) out.type = ColumnType::kUint64;
  } else if (const auto* positive = std::get_if<uint64_t>(&value)) {
    out.number = *positive;
    if (*positive > uint64_t{INT64_MAX} || other == nullptr || unsigned_other) {
      out.type = ColumnType::kUint64;
    }
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.type = ColumnType::kFloat64;
    out.real = *real;
  } else if (const auto* decimal = std::get_if<Decimal>(&value)) {
    out.type = ColumnType::kDecimal;
    out.number = decimal->unscaled;
    out.scale = decimal->scale;
  } else if (const auto* date = std::get_if<Date>(&value)) {
    out.type = ColumnType::kDate;
    out.number = date->days;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    out.type = ColumnType::kString;
    out.text = *text;
  } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
    out.type = ColumnType::kBytes;
    out.text = bytes->bytes;
  } else if (const auto* wide = std::get_if<WideDecimal>(&value)) {
    out.type = ColumnType::kInt128;
    out.number = NumberOfHalves(wide->unscaled);
    out.scale = wide->scale;
  } else {
    if (other != nullptr) out = {.type = other->type, .scale = other->scale};
    out.null = true;
  }
  return out;
}

// The type of a + b, without the value. Dates and strings keep their own.
inline OracleValue TypeOfSum(const OracleValue& a, const OracleValue& b) {
  if (a.IsText() || a.type == ColumnType::kDate) return {.type = a.type};
  if (a.IsReal() || b.IsReal()) return {.type = ColumnType::kFloat64};
  const uint8_t scale = std::max(a.scale, b.scale);
  for (const ColumnType type : {ColumnType::kInt128, ColumnType::kDecimal}) {
    if (a.type == type || b.type == type) return {.type = type, .scale = scale};
  }
  const bool positive = a.type == ColumnType::kUint64 && b.type == ColumnType::kUint64;
  return {.type = positive ? ColumnType::kUint64 : ColumnType::kInt64};
}

// Whether a type of integers holds a number.
inline bool Holds(ColumnType type, Int128 number) {
  const auto within = [&](auto limits) { return number >= limits.min() && number <= limits.max(); };
  switch (type) {
    case ColumnType::kInt128:
      return true;
    case ColumnType::kInt32:
      return within(std::numeric_limits<int32_t>());
    case ColumnType::kUint64:
      return within(std::numeric_limits<uint64_t>());
    default:
      return within(std::numeric_limits<int64_t>());
  }
}

// nullopt: the type does not hold it. REQUIRES: numbers.
inline std::optional<OracleValue> CastOf(const OracleValue& from, ColumnType type, uint8_t scale) {
  OracleValue out{.type = type, .scale = scale, .null = from.null};
  if (from.null) return out;
  if (out.IsReal()) {
    out.real = RealOf(from);
    return out;
  }
  if (from.IsReal() && !std::isfinite(from.real)) return std::nullopt;
  if (!from.IsReal() && from.scale == scale) {
    out.number = from.number;
  } else {
    const Digits digits = from.IsReal() ? Digits(from.real) : Digits(from.number, from.scale);
    const auto rounded = digits.Rounded(scale, from.IsReal() && scale == 0);
    if (!rounded) return std::nullopt;
    out.number = *rounded;
  }
  if (!Holds(type, out.number)) return std::nullopt;
  return out;
}

struct Order {
  bool equal = false, less = false, greater = false;
};

// REQUIRES: comparable, not null. A NaN has no order.
inline Order OrderOf(const OracleValue& a, const OracleValue& b) {
  const auto order = [](const auto& x, const auto& y) { return Order{x == y, x<y, x> y}; };
  if (a.IsText()) return order(a.text, b.text);
  const auto digits = [](const OracleValue& value) {
    return value.IsReal() ? Digits(value.real) : Digits(value.number, value.scale);
  };
  if (a.IsWide() || b.IsWide()) {
    for (const OracleValue* side : {&a, &b}) {
      if (!side->IsReal() || std::isfinite(side->real)) continue;
      return order(a.IsReal() ? a.real : 0.0, b.IsReal() ? b.real : 0.0);
    }
    return order(digits(a).CompareTo(digits(b)), 0);
  }
  // Times 10^18, exact.
  const auto exactly = [](const OracleValue& value) {
    if (value.IsReal()) return static_cast<Float128>(value.real) * kPowersOfTen[18];
    return static_cast<Float128>(value.number) *
           static_cast<Float128>(kPowersOfTen[18 - value.scale]);
  };
  return order(exactly(a), exactly(b));
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_ORACLE_VALUE_H_
