// Queries answered value by value, as the comments of eris/expression.h read: what plans and
// kernels are compared with. Numbers of up to 64 bits are compared as __float128, in which an i64
// or a u64 is exact, and so is a double times 10^18; wider ones by their digits.
#ifndef ERIS_TESTS_UNIT_TABLE_QUERY_ORACLE_H_
#define ERIS_TESTS_UNIT_TABLE_QUERY_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eris/key_text.h"
#include "eris/query.h"
#include "storage/table/kernels/exact_number.h"
#include "tests/unit/table/oracle_value.h"

namespace eris::storage {

enum class Truth : uint8_t { kFalse, kTrue, kUnknown };

class QueryOracle {
 public:
  using Row = std::vector<OracleValue>;
  explicit QueryOracle(const Schema& schema) : schema_(schema) {}

  // Whether a value that is computed has been outside its type since the last call: a run fails.
  bool TakeOverflow() { return std::exchange(overflow_, false); }
  // Whether a condition has looked at such a value: a run may fail. Unless all that it looks at is
  // known without the row.
  bool TakeUncertain() { return std::exchange(uncertain_, false); }

  OracleValue ValueOf(const Expression& e, const Row& row, const OracleValue* other = nullptr) {
    switch (e.kind) {
      case Kind::kColumn:
        for (size_t i = 0; i < schema_.columns.size(); ++i) {
          if (schema_.columns[i].name == e.column) return row[i];
        }
        return {};
      case Kind::kLiteral:
        return LiteralOf(e.value, other);
      case Kind::kDatePart:
        return PartOf(e, row);
      case Kind::kCase:
        return CaseOf(e, row);
      case Kind::kCast:
        return Cast(ValueOf(e.arguments[0], row), e.type, e.scale);
      case Kind::kSubstring:
        return SubstringOf(e, row);
      default:
        return Arithmetic(e, row);
    }
  }

  // Has three values. Only what LookAt computes can be outside its type.
  Truth TruthOf(const Expression& e, const Row& row) {
    const bool overflow = overflow_;
    const bool uncertain = uncertain_;
    const Truth truth = Plainly(e, row);
    uncertain_ = uncertain;
    overflow_ = false;
    LookAt(e, row, false);
    uncertain_ |= overflow_;
    overflow_ = overflow;
    return truth;
  }

  // Without an escape.
  static bool IsLike(const char* text, const char* pattern) {
    if (*pattern == 0) return *text == 0;
    const char* next = text;
    if (*text != 0) next = EndOfCharacter(text);
    if (*pattern == '%') {
      return IsLike(text, pattern + 1) || (*text != 0 && IsLike(next, pattern));
    }
    if (*text == 0) return false;
    if (*pattern == '_') return IsLike(next, pattern + 1);
    return *pattern == *text && IsLike(text + 1, pattern + 1);
  }

 private:
  using Kind = Expression::Kind;

  static const char* EndOfCharacter(const char* text) {
    for (++text; (static_cast<unsigned char>(*text) & 0xc0) == 0x80;) ++text;
    return text;
  }
  OracleValue Cast(const OracleValue& from, ColumnType type, uint8_t scale) {
    if (auto made = CastOf(from, type, scale); made.has_value()) return *std::move(made);
    overflow_ = true;
    return {.type = type, .scale = scale};
  }

  // REQUIRES: two numbers.
  OracleValue Arithmetic(const Expression& e, const Row& row) {
    OracleValue a, b;
    if (e.arguments[0].kind == Kind::kLiteral && e.arguments[1].kind != Kind::kLiteral) {
      b = ValueOf(e.arguments[1], row);
      a = ValueOf(e.arguments[0], row, &b);
    } else {
      a = ValueOf(e.arguments[0], row);
      b = ValueOf(e.arguments[1], row, &a);
    }
    OracleValue out =
        e.kind == Kind::kDivide ? OracleValue{.type = ColumnType::kFloat64} : TypeOfSum(a, b);
    const uint8_t scale = out.scale;
    if (e.kind == Kind::kQuotient) out.scale = 0;
    if (!out.IsReal() && e.kind == Kind::kMultiply)
      out.scale = static_cast<uint8_t>(a.scale + b.scale);
    out.null = a.null || b.null;
    if (out.null) return out;
    if (out.IsReal()) {
      const double x = RealOf(a), y = RealOf(b);
      out.real = e.kind == Kind::kAdd        ? x + y
                 : e.kind == Kind::kSubtract ? x - y
                 : e.kind == Kind::kMultiply ? x * y
                 : e.kind == Kind::kDivide   ? x / y
                                             : std::fmod(x, y);
      return out;
    }
    Int128 x = a.number, y = b.number;
    bool over = false;
    if (e.kind != Kind::kMultiply) {
      over = __builtin_mul_overflow(x, Int128{kPowersOfTen[scale - a.scale]}, &x) ||
             __builtin_mul_overflow(y, Int128{kPowersOfTen[scale - b.scale]}, &y);
    }
    if (e.kind == Kind::kQuotient || e.kind == Kind::kRemainder) {
      // Once more without the sign, which the processor could not take from the smallest number.
      const auto positive = [](Int128 n) {
        return n < 0 ? -static_cast<Uint128>(n) : static_cast<Uint128>(n);
      };
      const bool quotient = e.kind == Kind::kQuotient;
      over |= y == 0;
      const Uint128 number = over       ? 0
                             : quotient ? positive(x) / positive(y)
                                        : positive(x) % positive(y);
      const bool negative = quotient ? (x < 0) != (y < 0) : x < 0;
      over |= number > Uint128{kInt128Max} + (negative ? 1 : 0);
      out.number = static_cast<Int128>(negative ? -number : number);
      if (over || !Holds(out.type, out.number)) {
        overflow_ = true;
        out.number = 0;
      }
      return out;
    }
    over |= e.kind == Kind::kAdd        ? __builtin_add_overflow(x, y, &out.number)
            : e.kind == Kind::kSubtract ? __builtin_sub_overflow(x, y, &out.number)
                                        : __builtin_mul_overflow(x, y, &out.number);
    if (over || !Holds(out.type, out.number)) {
      overflow_ = true;
      out.number = 0;
    }
    return out;
  }

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

  // The type of a case: of all of its values, literals after the others.
  OracleValue TypeOfCase(const std::vector<const Expression*>& values, const Row& row) {
    OracleValue type;
    bool first = true;
    for (const bool literals : {false, true}) {
      for (const Expression* const value : values) {
        const bool literal = value->kind == Kind::kLiteral;
        if (literal != literals || (literal && IsNullValue(value->value))) continue;
        const OracleValue one = ValueOf(*value, row, first ? nullptr : &type);
        type = TypeOfSum(first ? one : type, one);
        first = false;
      }
    }
    return type;
  }

  // The same, found once. The values computed for it do not count.
  const OracleValue& KnownTypeOfCase(const Expression& e,
                                     const std::vector<const Expression*>& values, const Row& row) {
    const auto [at, is_new] = case_types_.try_emplace(&e);
    if (!is_new) return at->second;
    const bool overflow = overflow_;
    const bool uncertain = uncertain_;
    at->second = TypeOfCase(values, row);
    overflow_ = overflow;
    uncertain_ = uncertain;
    return at->second;
  }

  OracleValue CaseOf(const Expression& e, const Row& row) {
    const auto& arguments = e.arguments;
    std::vector<const Expression*> values;
    for (size_t i = 1; i < arguments.size(); i += 2) values.push_back(&arguments[i]);
    if (arguments.size() % 2 != 0) values.push_back(&arguments.back());
    OracleValue out = KnownTypeOfCase(e, values, row);
    size_t taken = 0;
    while (taken * 2 + 1 < arguments.size() && TruthOf(arguments[taken * 2], row) != Truth::kTrue) {
      ++taken;
    }
    if (taken == values.size()) {
      out.null = true;
      return out;
    }
    const OracleValue value = ValueOf(*values[taken], row, &out);
    if (value.IsText() || value.type == ColumnType::kDate || value.null) {
      out.null = value.null;
      out.number = value.number;
      out.text = value.text;
      return out;
    }
    return Cast(value, out.type, out.scale);
  }

  OracleValue SubstringOf(const Expression& e, const Row& row) {
    OracleValue text = ValueOf(e.arguments[0], row);
    const auto number = [&](size_t i) { return Int128{std::get<int64_t>(e.arguments[i].value)}; };
    const Int128 first = number(1);
    const Int128 behind = e.arguments.size() > 2 ? first + number(2) : kInt128Max;
    std::string taken;
    Int128 at = 1;
    for (const char* c = text.text.c_str(); *c != 0; ++at) {
      const char* const end = EndOfCharacter(c);
      if (at >= first && at < behind) taken.append(c, end);
      c = end;
    }
    text.text = std::move(taken);
    return text;
  }

  Truth Plainly(const Expression& e, const Row& row) {
    const auto& arguments = e.arguments;
    switch (e.kind) {
      case Kind::kAnd:
      case Kind::kOr: {
        const Truth decides = e.kind == Kind::kAnd ? Truth::kFalse : Truth::kTrue;
        Truth result = e.kind == Kind::kAnd ? Truth::kTrue : Truth::kFalse;
        for (const Expression& argument : arguments) {
          const Truth truth = Plainly(argument, row);
          if (truth == decides || result == decides) {
            result = decides;
          } else if (truth == Truth::kUnknown) {
            result = Truth::kUnknown;
          }
        }
        return result;
      }
      case Kind::kNot:
        return Not(Plainly(arguments[0], row));
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

  // Computes what a condition may look at: an `and` stops at the first part that is not true, an
  // `or` at the first that is, after every `not` has moved inwards.
  void LookAt(const Expression& e, const Row& row, bool negated) {
    if (e.kind == Kind::kNot) return LookAt(e.arguments[0], row, !negated);
    if (e.kind != Kind::kAnd && e.kind != Kind::kOr) {
      Plainly(e, row);
      return;
    }
    const bool conjunction = (e.kind == Kind::kAnd) != negated;
    for (const Expression& argument : e.arguments) {
      LookAt(argument, row, negated);
      const bool overflow = overflow_;
      const bool uncertain = uncertain_;
      const bool passes = Plainly(argument, row) == (negated ? Truth::kFalse : Truth::kTrue);
      overflow_ = overflow;
      uncertain_ = uncertain;
      // What has left its type may have passed or not.
      if (!overflow && passes != conjunction) return;
    }
  }

  static Truth Not(Truth truth) {
    return truth == Truth::kUnknown ? truth : truth == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
  }
  static Truth And(Truth a, Truth b) {
    if (a == Truth::kFalse || b == Truth::kFalse) return Truth::kFalse;
    return a == Truth::kUnknown ? a : b;
  }

  Truth Compared(const Expression& left, const Expression& right, Kind kind, const Row& row) {
    const OracleValue a = ValueOf(left, row);
    const OracleValue b = ValueOf(right, row);
    if (a.null || b.null) return Truth::kUnknown;
    const Order order = OrderOf(a, b);
    bool holds = false;
    switch (kind) {
      case Kind::kEqual:
        holds = order.equal;
        break;
      case Kind::kNotEqual:
        holds = !order.equal;
        break;
      case Kind::kLess:
        holds = order.less;
        break;
      case Kind::kLessEqual:
        holds = order.less || order.equal;
        break;
      case Kind::kGreater:
        holds = order.greater;
        break;
      default:
        holds = order.greater || order.equal;
        break;
    }
    return holds ? Truth::kTrue : Truth::kFalse;
  }

  const Schema& schema_;
  std::map<const Expression*, OracleValue> case_types_;  // of expressions that outlive this
  bool overflow_ = false;
  bool uncertain_ = false;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_QUERY_ORACLE_H_
