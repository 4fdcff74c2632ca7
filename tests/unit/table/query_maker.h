// Random expressions over the columns of QuerySchema, well typed.
#ifndef ERIS_TESTS_UNIT_TABLE_QUERY_MAKER_H_
#define ERIS_TESTS_UNIT_TABLE_QUERY_MAKER_H_

#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/table/query_world.h"

namespace eris::storage {

class QueryMaker {
 public:
  explicit QueryMaker(QueryRandom& random) : random_(random) {}

  Expression Number(int depth) {
    using namespace expressions;
    if (depth <= 0 || OneIn(3)) return OneIn(4) ? Literal(NumberLiteral()) : NumberColumn();
    switch (random_() % 12) {
      case 0:
        return PartOf(static_cast<DatePart>(random_() % 4), DateValue(depth - 1));
      case 1:
      case 2:
        return CastOf(Number(depth - 1));
      case 3:
      case 4:
        return CaseOf(depth, [&] { return Number(depth - 1); });
      default:
        break;
    }
    if (OneIn(6)) return Division(depth);
    constexpr Expression::Kind kKinds[] = {Expression::Kind::kAdd, Expression::Kind::kSubtract,
                                           Expression::Kind::kMultiply, Expression::Kind::kDivide};
    Expression left = Number(depth - 1);
    Expression right = left.kind == Expression::Kind::kLiteral ? NumberColumn() : Number(depth - 1);
    return expressions::Pair(kKinds[random_() % (OneIn(3) ? 4 : 3)], std::move(left),
                             std::move(right));
  }
  // Mostly by a literal, since a 0 among the divisors ends the whole query.
  Expression Division(int depth) {
    using namespace expressions;
    constexpr const char* kExact[] = {"i32",   "i32n", "i64",  "u64",   "dec2",
                                      "dec4n", "u64n", "i64n", "dec18", "i32m"};
    const auto exact = [&] { return Column(kExact[random_() % std::size(kExact)]); };
    const auto divisor = [&]() -> Expression {
      if (OneIn(8)) return exact();
      const auto small = static_cast<int64_t>(random_() % 12) - 3;
      if (OneIn(3)) return Literal(Value(Decimal{small * 10 + 5, 1}));
      return Literal(small == 0 ? int64_t{7} : small);
    };
    if (OneIn(3)) return Number(depth - 1) % NumberColumn();
    Expression left = OneIn(3) ? exact() + exact() : exact();
    return OneIn(2) ? Quotient(std::move(left), divisor()) : std::move(left) % divisor();
  }
  Expression NumberColumn() {
    constexpr const char* kNumbers[] = {"i32",  "i32n",  "i64",  "u64",  "f64",   "f64n",
                                        "dec2", "dec4n", "u64n", "i64n", "dec18", "i32m"};
    return expressions::Column(kNumbers[random_() % std::size(kNumbers)]);
  }
  Expression AnyColumn() {
    const auto& columns = QuerySchema().columns;
    return expressions::Column(columns[random_() % columns.size()].name);
  }
  Expression DateValue(int depth) {
    using namespace expressions;
    if (depth > 0 && OneIn(4)) return CaseOf(depth, [&] { return DateValue(depth - 1); });
    if (depth > 0 && OneIn(16)) return Literal(DateLiteral());
    return Column(OneIn(2) ? "date" : "daten");
  }
  Expression String(int depth) {
    using namespace expressions;
    if (depth > 0 && OneIn(3)) {
      Expression part = Substring(String(depth - 1), static_cast<int64_t>(random_() % 8) - 2);
      if (!OneIn(3)) part.arguments.push_back(Literal(static_cast<int64_t>(random_() % 5)));
      if (OneIn(32)) part.arguments[1] = Literal(OneIn(2) ? INT64_MIN : INT64_MAX);
      if (OneIn(32) && part.arguments.size() > 2) part.arguments[2] = Literal(INT64_MAX);
      return part;
    }
    if (depth > 0 && OneIn(4)) return CaseOf(depth, [&] { return String(depth - 1); });
    if (depth > 0 && OneIn(16)) return Literal(Value(Text()));
    constexpr const char* kStrings[] = {"few", "text", "utf", "some"};
    return Column(kStrings[random_() % 4]);
  }
  // A value of any type.
  Expression Any(int depth) {
    const uint64_t family = random_() % 8;
    return family == 0   ? AnyColumn()
           : family == 1 ? DateValue(depth)
           : family < 4  ? String(depth)
                         : Number(depth);
  }

  Expression Condition(int depth) {
    using namespace expressions;
    using Kind = Expression::Kind;
    if (depth > 0 && OneIn(2)) {
      if (OneIn(4)) return !Condition(depth - 1);
      std::vector<Expression> parts;
      for (uint64_t i = 2 + random_() % 2; i > 0; --i) parts.push_back(Condition(depth - 1));
      return Of(OneIn(2) ? Kind::kAnd : Kind::kOr, std::move(parts));
    }
    const uint64_t family = random_() % 6;
    const int inner = depth > 0 ? 2 : 1;
    if (family == 0 && OneIn(3)) {
      if (OneIn(16)) return expressions::Pair(Kind::kLike, String(inner), Literal(Value()));
      return Like(String(inner), Pattern());
    }
    const auto value = [&] {
      return family == 0   ? String(inner)
             : family == 1 ? DateValue(inner)
             : family < 4  ? Number(inner)
                           : NumberColumn();
    };
    const auto literal = [&]() -> Value {
      if (OneIn(16)) return {};
      return family == 0 ? Value(Text()) : family == 1 ? Value(DateLiteral()) : NumberLiteral();
    };
    return Leaf(value, literal);
  }

 private:
  bool OneIn(uint64_t n) { return random_() % n == 0; }

  template <class MakeValue, class MakeLiteral>
  Expression Leaf(MakeValue value, MakeLiteral literal) {
    using namespace expressions;
    switch (random_() % 9) {
      case 0:
        return IsNull(value());
      case 1:
        return Between(value(), Literal(literal()), Literal(literal()));
      case 2: {
        std::vector<Value> values;
        for (uint64_t i = 1 + random_() % (OneIn(3) ? 20 : 3); i > 0; --i) {
          values.push_back(literal());
        }
        return In(value(), values);
      }
      case 3:
        return expressions::Pair(Comparison(), value(), value());
      case 4:
        return expressions::Pair(Comparison(), Literal(literal()), value());
      case 5:
        return Between(value(), value(), OneIn(2) ? value() : Literal(literal()));
      default:
        return expressions::Pair(Comparison(), value(), Literal(literal()));
    }
  }

  template <class MakeValue>
  Expression CaseOf(int depth, MakeValue value) {
    using namespace expressions;
    std::vector<Expression> arguments;
    bool typed = false;
    const auto branch = [&](bool last) {
      const bool null = OneIn(8) && (typed || !last);
      typed |= !null;
      arguments.push_back(null ? Literal(Value()) : value());
    };
    const uint64_t pairs = 1 + random_() % 3;
    const bool has_else = OneIn(2);
    for (uint64_t i = 1; i <= pairs; ++i) {
      arguments.push_back(Condition(depth - 2));
      branch(i == pairs && !has_else);
    }
    if (has_else) branch(true);
    return Case(std::move(arguments));
  }

  Expression CastOf(Expression what) {
    constexpr ColumnType kTypes[] = {
        ColumnType::kInt32,   ColumnType::kInt64,  ColumnType::kUint64, ColumnType::kFloat64,
        ColumnType::kDecimal, ColumnType::kInt128, ColumnType::kInt128};
    const ColumnType type = kTypes[random_() % std::size(kTypes)];
    const bool scaled = type == ColumnType::kDecimal || type == ColumnType::kInt128;
    const uint64_t scale = OneIn(8) ? random_() % 19 : random_() % 4;
    return expressions::Cast(std::move(what), type, scaled ? static_cast<uint8_t>(scale) : 0);
  }

  Expression::Kind Comparison() {
    return static_cast<Expression::Kind>(static_cast<int>(Expression::Kind::kEqual) +
                                         random_() % 6);
  }
  Value NumberLiteral() {
    const auto small = static_cast<int64_t>(random_() % 21) - 10;
    switch (random_() % 13) {
      case 0:
        return Value(static_cast<double>(small) / 4);
      case 1:
        return Value(0.1);
      case 2:
        return Value(Decimal{small * 10 + 5, 1});
      case 3:
        return Value(Decimal{small * 1000 + 5, 3});
      case 4:
        return Value(static_cast<uint64_t>(small < 0 ? -small : small));
      case 5:
        return OneIn(8) ? Value(UINT64_MAX) : Value(small);
      case 6:
        return OneIn(8) ? Value(INT64_MIN) : Value(small);
      case 7:
        return OneIn(8) ? Value(std::numeric_limits<double>::quiet_NaN())
                        : Value(1e30 * static_cast<double>(small));
      case 8:
        return WideLiteral(small);
      default:
        return Value(small);
    }
  }
  WideDecimal WideLiteral(int64_t small) {
    const Int128 ends[] = {kInt128Max, kInt128Min, Int128{1} << 64, -(Int128{1} << 63) - 1};
    const bool any = OneIn(4);
    const auto scale = static_cast<uint8_t>(any ? random_() % 19 : random_() % 3);
    // Around an end it may wrap.
    const auto near = static_cast<Uint128>(Int128{OneIn(2) ? 0 : small});
    const Uint128 end = static_cast<Uint128>(ends[random_() % 4]) + near;
    const Int128 number = any ? static_cast<Int128>(end) : Int128{small} * kPowersOfTen[scale];
    return {HalvesOf(number), scale};
  }
  Date DateLiteral() { return {static_cast<int32_t>(random_() % 21) - 10}; }
  std::string Pattern() {
    constexpr const char* kParts[] = {"a", "b", "%", "_", "\u00e9", "\u20ac"};
    std::string text;
    for (uint64_t i = random_() % 5; i > 0; --i) text += kParts[random_() % (OneIn(3) ? 6 : 4)];
    return text;
  }
  std::string Text() {
    constexpr const char* kLetters[] = {"a", "b", "\u00e9", "\U0001f600"};
    std::string text;
    for (uint64_t i = random_() % 3; i > 0; --i) text += kLetters[random_() % (OneIn(4) ? 4 : 2)];
    return text;
  }

  QueryRandom& random_;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_QUERY_MAKER_H_
