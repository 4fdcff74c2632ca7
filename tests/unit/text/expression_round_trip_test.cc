// Random expressions as text and back, and random text.
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"
#include "text/expression_text.h"

namespace eris::text {
namespace {

using namespace expressions;  // NOLINT: the operators of expression.h
using ::testing::HasSubstr;
using Kind = Expression::Kind;

// Random trees as the parser can give them back.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(random_); }

  Expression Any(int depth) {
    if (depth == 0 || Below(5) == 0) {
      return Below(2) == 0 ? Column(Name()) : Literal(AnyValue());
    }
    const auto one = [&] { return Any(depth - 1); };
    switch (Below(15)) {
      case 9:
        return Below(2) == 0   ? one() / one()
               : Below(2) == 0 ? one() % one()
                               : Quotient(one(), one());
      case 10: {
        std::vector<Expression> arguments = {one(), Literal(Value(std::string("%a_")))};
        if (Below(2) == 0) arguments.push_back(Literal(Value(std::string("!"))));
        return Of(Kind::kLike, std::move(arguments));
      }
      case 11:
        return PartOf(static_cast<DatePart>(Below(std::size(kDatePartNames))), one());
      case 12:
      case 13:
      case 14:
        return AnyCall(depth);
      case 0:
        return !one();
      case 1:
        return IsNull(one());
      case 2:
        return Between(one(), one(), one());
      case 3: {
        std::vector<Value> values;
        for (uint64_t i = Below(4) + 1; i > 0; --i) values.push_back(AnyValue());
        return In(one(), values);
      }
      case 4:
      case 5: {
        std::vector<Expression> arguments;
        for (uint64_t i = Below(3) + 2; i > 0; --i) arguments.push_back(one());
        return Of(Below(2) == 0 ? Kind::kAnd : Kind::kOr, std::move(arguments));
      }
      default: {
        const auto kind = static_cast<Kind>(static_cast<uint64_t>(Kind::kAdd) + Below(9));
        return Pair(kind, one(), one());
      }
    }
  }
  std::string Noise() {
    static constexpr const char* kPieces[] = {"a",
                                              "and ",
                                              "or ",
                                              "not ",
                                              "in ",
                                              "(",
                                              ")",
                                              ",",
                                              "between ",
                                              "is ",
                                              "null ",
                                              "1.5",
                                              "-",
                                              "+",
                                              "*",
                                              "/",
                                              "%",
                                              "div ",
                                              "like ",
                                              "escape ",
                                              "date_part(",
                                              "'x'",
                                              "'",
                                              "\"",
                                              "1e9",
                                              "<=",
                                              "1994-01-01",
                                              "date ",
                                              "sum(",
                                              "as ",
                                              "=",
                                              " ",
                                              "9e",
                                              "\xff",
                                              "99999999999999999999",
                                              "0.",
                                              "!",
                                              "case when ",
                                              "then ",
                                              "else ",
                                              "end ",
                                              "cast(",
                                              "as int64)",
                                              "substring(",
                                              "int128(",
                                              "0.00000000000000000001"};
    std::string text;
    for (uint64_t i = Below(20); i > 0; --i) text += kPieces[Below(std::size(kPieces))];
    return text;
  }

 private:
  // A case, a cast or a substring.
  Expression AnyCall(int depth) {
    const auto one = [&] { return Any(depth - 1); };
    switch (Below(3)) {
      case 0: {
        std::vector<Expression> arguments;
        for (uint64_t i = Below(5) + 2; i > 0; --i) arguments.push_back(one());
        return Case(std::move(arguments));
      }
      case 1:
        return AnyCast(one());
      default: {
        const auto first = static_cast<int64_t>(random_());
        return Below(2) == 0 ? Substring(one(), first)
                             : Substring(one(), first, static_cast<int64_t>(Below(9)) - 4);
      }
    }
  }
  Expression AnyCast(Expression what) {
    switch (Below(6)) {
      case 0:
        return Cast(std::move(what), ColumnType::kDecimal, static_cast<uint8_t>(Below(19)));
      case 1:
        return Cast(std::move(what), ColumnType::kInt128, static_cast<uint8_t>(Below(39)));
      default: {
        static constexpr ColumnType kTypes[] = {ColumnType::kInt32, ColumnType::kInt64,
                                                ColumnType::kUint64, ColumnType::kFloat64};
        return Cast(std::move(what), kTypes[Below(4)]);
      }
    }
  }
  std::string Name() {
    static constexpr const char* kNames[] = {"a",    "l_tax", "In",   "two words", "q\"q", "date",
                                             "Case", "when",  "then", "else",      "END",  "_1"};
    return kNames[Below(std::size(kNames))];
  }
  Value AnyValue() {
    const auto number = static_cast<int64_t>(random_() >> Below(64));
    switch (Below(8)) {
      case 0:
        return Value();
      case 7: {
        // Too large for the other types, and of at most 38 digits.
        const uint64_t high = 1 + (random_() >> Below(64)) % 0x4B3B4CA85A86C479;
        const bool negative = Below(2) == 0;
        return Value(
            WideDecimal{{random_(), negative ? ~high : high}, static_cast<uint8_t>(Below(39))});
      }
      case 1:
        return Value(Below(2) == 0 ? number : -1 - (number & std::numeric_limits<int64_t>::max()));
      case 2:
        return Value(static_cast<uint64_t>(number) | uint64_t{1} << 63);
      case 3:
        return Value(static_cast<double>(number) * 1e-7);
      case 4:
        return Value(Decimal{number, static_cast<uint8_t>(Below(19))});
      case 5:
        return Value(Date{static_cast<int32_t>(number)});
      default:
        return Value(std::string(Below(4), '\'') + "x\n");
    }
  }
  std::mt19937_64 random_;
};

TEST(ExpressionRoundTripTest, TextOfAnyTreeIsReadAsTheSameTree) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  Generator generator(seed);
  for (int i = 0; i < 3000; ++i) {
    const Expression expression = generator.Any(1 + i % 5);
    const std::string text = ExpressionText(expression);
    const absl::StatusOr<Expression> again = ParseExpression(text);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    ASSERT_EQ(*again, expression) << text << "\n" << ExpressionText(*again);
  }
}

TEST(ExpressionRoundTripTest, NoiseIsReadOrRefusedButNeverMisprinted) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  Generator generator(seed);
  int read = 0;
  for (int i = 0; i < 30'000; ++i) {
    const std::string text = generator.Noise();
    (void)ParseAggregates(text);
    (void)ParseColumns(text);
    const absl::StatusOr<Expression> expression = ParseExpression(text);
    if (!expression.ok()) {
      ASSERT_THAT(std::string(expression.status().message()), HasSubstr("at character ")) << text;
      continue;
    }
    ++read;
    const absl::StatusOr<Expression> again = ParseExpression(ExpressionText(*expression));
    ASSERT_TRUE(again.ok()) << again.status() << " of " << text;
    ASSERT_EQ(*again, *expression) << text;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace eris::text
