// Queries answered value by value, as the comments of eris/expression.h read: what plans and
// kernels are compared with. Numbers are compared as __float128, in which an i64 or a u64 is exact,
// and so is a double times 10^18.
#ifndef ERIS_TESTS_UNIT_TABLE_QUERY_ORACLE_H_
#define ERIS_TESTS_UNIT_TABLE_QUERY_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eris/key_text.h"
#include "eris/query.h"
#include "storage/table/kernels/exact_number.h"

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
  bool IsText() const { return type == ColumnType::kString; }
};

enum class Truth : uint8_t { kFalse, kTrue, kUnknown };

class QueryOracle {
 public:
  using Row = std::vector<OracleValue>;
  explicit QueryOracle(const Schema& schema) : schema_(schema) {}

  // Whether a value asked for since the last call was outside its type.
  bool TakeOverflow() { return std::exchange(overflow_, false); }

  OracleValue ValueOf(const Expression& e, const Row& row, const OracleValue* beside = nullptr) {
    using Kind = Expression::Kind;
    if (e.kind == Kind::kColumn) {
      for (size_t i = 0; i < schema_.columns.size(); ++i) {
        if (schema_.columns[i].name == e.column) return row[i];
      }
      return {};
    }
    if (e.kind == Kind::kLiteral) return LiteralOf(e.value, beside);
    if (e.kind == Kind::kDatePart) return PartOf(e, row);
    OracleValue a, b;
    if (e.arguments[0].kind == Kind::kLiteral && e.arguments[1].kind != Kind::kLiteral) {
      b = ValueOf(e.arguments[1], row);
      a = ValueOf(e.arguments[0], row, &b);
    } else {
      a = ValueOf(e.arguments[0], row);
      b = ValueOf(e.arguments[1], row, &a);
    }
    OracleValue out;
    out.null = a.null || b.null;
    if (a.IsReal() || b.IsReal() || e.kind == Kind::kDivide) {
      out.type = ColumnType::kFloat64;
      if (out.null) return out;
      const double x = RealOf(a), y = RealOf(b);
      out.real = e.kind == Kind::kAdd        ? x + y
                 : e.kind == Kind::kSubtract ? x - y
                 : e.kind == Kind::kMultiply ? x * y
                                             : x / y;
      return out;
    }
    const bool decimal = a.type == ColumnType::kDecimal || b.type == ColumnType::kDecimal;
    const bool positive = a.type == ColumnType::kUint64 && b.type == ColumnType::kUint64;
    out.type = decimal ? ColumnType::kDecimal : positive ? ColumnType::kUint64 : ColumnType::kInt64;
    Int128 x = a.number, y = b.number;
    if (e.kind == Kind::kMultiply) {
      out.scale = static_cast<uint8_t>(a.scale + b.scale);
    } else {
      out.scale = std::max(a.scale, b.scale);
      x *= kPowersOfTen[out.scale - a.scale];
      y *= kPowersOfTen[out.scale - b.scale];
    }
    if (out.null) return out;
    bool over = false;
    if (e.kind == Kind::kAdd) over = __builtin_add_overflow(x, y, &out.number);
    if (e.kind == Kind::kSubtract) over = __builtin_sub_overflow(x, y, &out.number);
    if (e.kind == Kind::kMultiply) over = __builtin_mul_overflow(x, y, &out.number);
    const Int128 min = out.type == ColumnType::kUint64 ? Int128{0} : Int128{INT64_MIN};
    const Int128 max = out.type == ColumnType::kUint64 ? Int128{UINT64_MAX} : Int128{INT64_MAX};
    if (over || out.number < min || out.number > max) {
      overflow_ = true;
      out.number = 0;
    }
    return out;
  }

  Truth TruthOf(const Expression& e, const Row& row) {
    using Kind = Expression::Kind;
    const auto& arguments = e.arguments;
    switch (e.kind) {
      case Kind::kAnd:
      case Kind::kOr: {
        const Truth decides = e.kind == Kind::kAnd ? Truth::kFalse : Truth::kTrue;
        Truth result = e.kind == Kind::kAnd ? Truth::kTrue : Truth::kFalse;
        for (const Expression& argument : arguments) {
          const Truth truth = TruthOf(argument, row);
          if (truth == decides || result == decides) {
            result = decides;
          } else if (truth == Truth::kUnknown) {
            result = Truth::kUnknown;
          }
        }
        return result;
      }
      case Kind::kNot:
        return Not(TruthOf(arguments[0], row));
      case Kind::kIsNull:
        return ValueOf(arguments[0], row).null ? Truth::kTrue : Truth::kFalse;
      case Kind::kBetween:
        return And(Compared(arguments[0], arguments[1], Kind::kGreaterEqual, row),
                   Compared(arguments[0], arguments[2], Kind::kLessEqual, row));
      case Kind::kIn: {
        Truth result = Truth::kFalse;
        for (size_t i = 1; i < arguments.size(); ++i) {
          const Truth one = Compared(arguments[0], arguments[i], Kind::kEqual, row);
          if (one == Truth::kTrue) return one;
          if (one == Truth::kUnknown) result = one;
        }
        return result;
      }
      case Kind::kLike: {
        const OracleValue text = ValueOf(arguments[0], row);
        const auto* const pattern = std::get_if<std::string>(&arguments[1].value);
        if (text.null || pattern == nullptr) return Truth::kUnknown;
        return IsLike(text.text.c_str(), pattern->c_str()) ? Truth::kTrue : Truth::kFalse;
      }
      default:
        return Compared(arguments[0], arguments[1], e.kind, row);
    }
  }
  // For characters of one byte, without an escape.
  static bool IsLike(const char* text, const char* pattern) {
    if (*pattern == 0) return *text == 0;
    if (*pattern == '%') {
      return IsLike(text, pattern + 1) || (*text != 0 && IsLike(text + 1, pattern));
    }
    return *text != 0 && (*pattern == '_' || *pattern == *text) && IsLike(text + 1, pattern + 1);
  }

 private:
  OracleValue PartOf(const Expression& e, const Row& row) {
    const std::string& part = std::get<std::string>(e.arguments[0].value);
    const OracleValue date = ValueOf(e.arguments[1], row);
    OracleValue out;
    out.null = date.null;
    if (out.null) return out;
    const absl::CivilDay day = CivilDayFromDate(static_cast<int32_t>(date.number));
    out.number = part == "year"      ? day.year()
                 : part == "quarter" ? (day.month() - 1) / 3 + 1
                 : part == "month"   ? day.month()
                                     : day.day();
    return out;
  }
  static Truth Not(Truth truth) {
    return truth == Truth::kUnknown ? truth : truth == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
  }
  static Truth And(Truth a, Truth b) {
    if (a == Truth::kFalse || b == Truth::kFalse) return Truth::kFalse;
    return a == Truth::kUnknown ? a : b;
  }

  static double RealOf(const OracleValue& value) {
    if (value.IsReal()) return value.real;
    // A quotient of 113 bits, rounded once more: the doubles of the tests are not near enough to
    // a tie for that to matter.
    return static_cast<double>(static_cast<Float128>(value.number) /
                               static_cast<Float128>(kPowersOfTen[value.scale]));
  }

  static OracleValue LiteralOf(const Value& value, const OracleValue* beside) {
    OracleValue out;
    if (const auto* number = std::get_if<int64_t>(&value)) {
      out.number = *number;
      if (beside != nullptr && beside->type == ColumnType::kUint64 && *number >= 0) {
        out.type = ColumnType::kUint64;
      }
    } else if (const auto* positive = std::get_if<uint64_t>(&value)) {
      out.number = *positive;
      if (*positive > uint64_t{INT64_MAX} || beside == nullptr ||
          beside->type == ColumnType::kUint64) {
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
    } else {
      if (beside != nullptr) out = *beside;
      out.null = true;
    }
    return out;
  }

  // Times 10^18, exact.
  static Float128 Exactly(const OracleValue& value) {
    if (value.IsReal()) return static_cast<Float128>(value.real) * kPowersOfTen[18];
    return static_cast<Float128>(value.number) *
           static_cast<Float128>(kPowersOfTen[18 - value.scale]);
  }

  Truth Compared(const Expression& left, const Expression& right, Expression::Kind kind,
                 const Row& row) {
    using Kind = Expression::Kind;
    const OracleValue a = ValueOf(left, row);
    const OracleValue b = ValueOf(right, row);
    if (a.null || b.null) return Truth::kUnknown;
    bool equal = false, less = false, greater = false;
    if (a.IsText()) {
      equal = a.text == b.text;
      less = a.text < b.text;
      greater = a.text > b.text;
    } else {
      const Float128 x = Exactly(a), y = Exactly(b);
      equal = x == y;
      less = x < y;
      greater = x > y;
    }
    bool holds = false;
    switch (kind) {
      case Kind::kEqual:
        holds = equal;
        break;
      case Kind::kNotEqual:
        holds = !equal;
        break;
      case Kind::kLess:
        holds = less;
        break;
      case Kind::kLessEqual:
        holds = less || equal;
        break;
      case Kind::kGreater:
        holds = greater;
        break;
      default:
        holds = greater || equal;
        break;
    }
    return holds ? Truth::kTrue : Truth::kFalse;
  }

  const Schema& schema_;
  bool overflow_ = false;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_QUERY_ORACLE_H_
