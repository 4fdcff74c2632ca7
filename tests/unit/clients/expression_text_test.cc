#include "clients/expression_text.h"

#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cut_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"

namespace eris::client {
namespace {

using namespace expressions;  // NOLINT: the operators of expression.h
using ::testing::HasSubstr;
using Kind = Expression::Kind;

Expression Parsed(absl::string_view text) {
  absl::StatusOr<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status() << " of " << text;
  return expression.ok() ? *std::move(expression) : Expression{};
}
std::string ErrorOf(absl::string_view text) {
  const absl::StatusOr<Expression> expression = ParseExpression(text);
  EXPECT_EQ(expression.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(expression.status().message());
}

TEST(ExpressionTextTest, FilterOfTpchQ6) {
  const Expression expected =
      Of(Kind::kAnd,
         {Column("l_shipdate") >= Literal(Date{8766}), Column("l_shipdate") < Literal(Date{9131}),
          Between(Column("l_discount"), Literal(Decimal{5, 2}), Literal(Decimal{7, 2})),
          Column("l_quantity") < Literal(24)});
  EXPECT_EQ(Parsed("l_shipdate >= 1994-01-01 and l_shipdate < date '1995-01-01' and l_discount "
                   "between 0.05 and 0.07 AND l_quantity < 24"),
            expected);
}

TEST(ExpressionTextTest, OperatorsBindAsInSql) {
  EXPECT_EQ(Parsed("a or b = 1 and not c"),
            Column("a") || (Equal(Column("b"), Literal(1)) && !Column("c")));
  EXPECT_EQ(Parsed("a - b - c * d"), (Column("a") - Column("b")) - Column("c") * Column("d"));
  EXPECT_EQ(Parsed("a * (1 - b) * (1 + c)"),
            Column("a") * (Literal(1) - Column("b")) * (Literal(1) + Column("c")));
  EXPECT_EQ(Parsed("x between 1 and 2 and y"),
            Between(Column("x"), Literal(1), Literal(2)) && Column("y"));
  EXPECT_EQ(Parsed("not a = 1"), !Equal(Column("a"), Literal(1)));
  EXPECT_EQ(Parsed("a+b<c"), Column("a") + Column("b") < Column("c"));
  EXPECT_EQ(Parsed("-a*b"), (Literal(0) - Column("a")) * Column("b"));
  EXPECT_EQ(Parsed("a / b * c / 2"), Column("a") / Column("b") * Column("c") / Literal(2));
  EXPECT_EQ(Parsed("a + b like 'x%' and c"), Like(Column("a") + Column("b"), "x%") && Column("c"));
  EXPECT_EQ(Parsed("date_part('year', d) + 1 = 1995"),
            Equal(PartOf(DatePart::kYear, Column("d")) + Literal(1), Literal(1995)));
  EXPECT_EQ(Parsed("date_part = 1"), Equal(Column("date_part"), Literal(1)));
}

TEST(ExpressionTextTest, NegatedFormsAreNotOfThePlainOnes) {
  EXPECT_EQ(Parsed("a is null"), IsNull(Column("a")));
  EXPECT_EQ(Parsed("a is not null"), !IsNull(Column("a")));
  EXPECT_EQ(Parsed("a not in (1, 2)"), !In(Column("a"), {int64_t{1}, int64_t{2}}));
  EXPECT_EQ(Parsed("a not between 1 and 2"), !Between(Column("a"), Literal(1), Literal(2)));
  EXPECT_EQ(Parsed("a not like '_b'"), !Like(Column("a"), "_b"));
  const Expression escaped = Of(Kind::kLike, {Column("a"), Literal(Value(std::string("5!%"))),
                                              Literal(Value(std::string("!")))});
  EXPECT_EQ(Parsed("a LIKE '5!%' ESCAPE '!'"), escaped);
  EXPECT_EQ(Parsed("a <> 1"), NotEqual(Column("a"), Literal(1)));
  EXPECT_EQ(Parsed("a != 1"), NotEqual(Column("a"), Literal(1)));
}

TEST(ExpressionTextTest, LiteralsKeepTheirTypesAndDigits) {
  EXPECT_EQ(Parsed("0.050").value, Value(Decimal{50, 3}));
  EXPECT_EQ(Parsed("-0.05").value, Value(Decimal{-5, 2}));
  EXPECT_EQ(Parsed(".5").value, Value(Decimal{5, 1}));
  EXPECT_EQ(Parsed("5.").value, Value(Decimal{5, 0}));
  EXPECT_EQ(Parsed("1e3").value, Value(1000.0));
  EXPECT_EQ(Parsed("-2.5E-1").value, Value(-0.25));
  EXPECT_EQ(Parsed("9223372036854775807").value, Value(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(Parsed("-9223372036854775808").value, Value(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(Parsed("18446744073709551615").value, Value(std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(Parsed("'it''s'").value, Value(std::string("it's")));
  EXPECT_EQ(Parsed("''").value, Value(std::string()));
  EXPECT_EQ(Parsed("NULL").value, Value());
  EXPECT_EQ(Parsed("2000-02-29").value, Value(Date{11016}));
  EXPECT_EQ(Parsed("1994 - 01 - 01"), (Literal(1994) - Literal(1)) - Literal(1));
}

TEST(ExpressionTextTest, ColumnsThatAreNoIdentifiersStandInDoubleQuotes) {
  EXPECT_EQ(Parsed("\"two words\" = \"in\""), Equal(Column("two words"), Column("in")));
  EXPECT_EQ(Parsed("\"a\"\"b\""), Column("a\"b"));
  EXPECT_EQ(Parsed("date < x"), Column("date") < Column("x"));
  EXPECT_EQ(Parsed("größe"), Column("größe"));
}

TEST(ExpressionTextTest, ErrorsNamePositionExpectationAndFind) {
  EXPECT_EQ(ErrorOf("a and"), "at character 6: expected a column, a literal or '(', found the end");
  EXPECT_EQ(ErrorOf("a < )"), "at character 5: expected a column, a literal or '(', found ')'");
  EXPECT_EQ(ErrorOf("(a < 1"), "at character 7: expected ')', found the end");
  EXPECT_EQ(ErrorOf("a b"), "at character 3: expected an operator or the end, found 'b'");
  EXPECT_THAT(ErrorOf("a < 1 < 2"), HasSubstr("at character 7: expected an operator or the end"));
  EXPECT_THAT(ErrorOf("a between 1 or 2"), HasSubstr("at character 13: expected 'and'"));
  EXPECT_THAT(ErrorOf("a in (1, b)"), HasSubstr("at character 10: expected a literal"));
  EXPECT_THAT(ErrorOf("a in ()"), HasSubstr("at character 7"));
  EXPECT_THAT(ErrorOf("a is 1"), HasSubstr("at character 6: expected 'null', found '1'"));
  EXPECT_THAT(ErrorOf("a not 1"), HasSubstr("'between', 'in' or 'like'"));
  EXPECT_THAT(ErrorOf("a like b"), HasSubstr("at character 8: expected a string as a pattern"));
  EXPECT_THAT(ErrorOf("a like 'b' escape 1"),
              HasSubstr("at character 19: expected a string as a character of 'escape'"));
  EXPECT_THAT(ErrorOf("date_part('year')"),
              HasSubstr("at character 1: date_part takes a part and a date, 1 arguments"));
  EXPECT_THAT(ErrorOf("date_part('year', d"), HasSubstr("at character 20: expected ')'"));
  EXPECT_THAT(ErrorOf("'abc"), HasSubstr("at character 1: a string that has no end"));
  EXPECT_THAT(ErrorOf("x = 1994-02-30"), HasSubstr("'1994-02-30' is no date"));
  EXPECT_THAT(ErrorOf("date '1994'"), HasSubstr("no date"));
  EXPECT_THAT(ErrorOf("12abc"), HasSubstr("no number"));
  EXPECT_THAT(ErrorOf("1.2.3"), HasSubstr("no number"));
  EXPECT_THAT(ErrorOf("1e999"), HasSubstr("outside the range of a double"));
  EXPECT_THAT(ErrorOf("99999999999999999999"), HasSubstr("too many digits"));
  EXPECT_THAT(ErrorOf("0.1234567890123456789"), HasSubstr("at most 18"));
  EXPECT_THAT(ErrorOf("-18446744073709551615"), HasSubstr("below"));
  EXPECT_THAT(ErrorOf("-'a'"), HasSubstr("expected a number behind '-'"));
  EXPECT_THAT(ErrorOf("a ; b"), HasSubstr("at character 3: ';'"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("found the end"));
  EXPECT_EQ(ErrorOf("a = 1 and lower(b)"),
            "at character 11: 'lower' is no function: an expression has columns, literals, "
            "operators and date_part");
  EXPECT_EQ(ErrorOf("Sum(b) > 1"),
            "at character 1: 'sum' stands in aggregates alone, not inside an expression");
}

TEST(ExpressionTextTest, LimitsOfDepthSizeAndTextHold) {
  EXPECT_TRUE(ParseExpression(std::string(60, '(') + "a" + std::string(60, ')')).ok());
  EXPECT_THAT(ErrorOf(std::string(100'000, '(')), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '-')), HasSubstr("more than 64 levels"));
  std::string nots, sum = "a", in = "a in (0";
  for (int i = 0; i < 10'000; ++i) {
    nots += "not ";
    sum += " + a";
    absl::StrAppend(&in, ",", i);
  }
  EXPECT_THAT(ErrorOf(nots + "a"), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(sum), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(in + ")"), HasSubstr("more than 4096 terms"));
  EXPECT_THAT(ErrorOf(std::string(kExpressionTextBytesMax + 1, ' ')), HasSubstr("bytes"));
}

TEST(ExpressionTextTest, AggregatesHaveNamesOfTheirOwnOrTheirText) {
  const auto aggregates =
      ParseAggregates("sum(l_extendedprice * (1 - l_discount)) as revenue, count( * ), Avg(q)");
  ASSERT_TRUE(aggregates.ok()) << aggregates.status();
  ASSERT_EQ(aggregates->size(), 3u);
  EXPECT_EQ((*aggregates)[0].function, AggregateFunction::kSum);
  EXPECT_EQ((*aggregates)[0].name, "revenue");
  EXPECT_EQ(*(*aggregates)[0].argument,
            Column("l_extendedprice") * (Literal(1) - Column("l_discount")));
  EXPECT_EQ((*aggregates)[1].function, AggregateFunction::kCount);
  EXPECT_FALSE((*aggregates)[1].argument.has_value());
  EXPECT_EQ((*aggregates)[1].name, "count( * )");
  EXPECT_EQ((*aggregates)[2].function, AggregateFunction::kAverage);
  EXPECT_EQ((*aggregates)[2].name, "Avg(q)");
  for (const char* bad :
       {"sum(*)", "total(a)", "sum", "sum(a", "sum(a) b", "sum(a),", "", "sum()"}) {
    EXPECT_FALSE(ParseAggregates(bad).ok()) << bad;
  }
}

TEST(ExpressionTextTest, WrongNumberOfArgumentsNamesFunctionAndNumbers) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseAggregates(text).status().message());
  };
  EXPECT_EQ(error("sum()"), "at character 1: sum takes 1 argument, 0 are given");
  EXPECT_EQ(error("min(a), MAX(a, b + 1, c)"), "at character 9: max takes 1 argument, 3 are given");
  EXPECT_EQ(error("avg(*)"), "at character 1: avg takes 1 argument: * is for count");
  EXPECT_EQ(error("count()"), "at character 1: count takes * or 1 argument, 0 are given");
  EXPECT_EQ(error("count(a, b)"), "at character 1: count takes * or 1 argument, 2 are given");
  EXPECT_EQ(error("count(*, b)"), "at character 1: count takes * or 1 argument, 2 are given");
  // What is wrong inside an argument comes first.
  EXPECT_EQ(error("sum(a, )"), "at character 8: expected a column, a literal or '(', found ')'");
  EXPECT_EQ(error("sum(a b)"), "at character 7: expected ')', found 'b'");
  EXPECT_EQ(error("total(a)"),
            "at character 1: expected count, sum, min, max or avg, found 'total'");
}

TEST(ExpressionTextTest, ColumnsHaveNames) {
  const auto columns = ParseColumns("a, \"b c\", a + 1 as next, 2*a");
  ASSERT_TRUE(columns.ok()) << columns.status();
  std::vector<std::string> names;
  for (const auto& column : *columns) names.push_back(column.name);
  EXPECT_THAT(names, ::testing::ElementsAre("a", "b c", "next", "2*a"));
  EXPECT_THAT(*ParseNames("a, \"b c\""), ::testing::ElementsAre("a", "b c"));
  EXPECT_FALSE(ParseNames("a + 1").ok());
  EXPECT_FALSE(ParseColumns("a,,b").ok());
}

TEST(ExpressionTextTest, NamesAndMessagesEndBetweenCharacters) {
  // 254 bytes, and one character of two.
  const std::string text = "a + " + std::string(250, 'b') + "\xc3\xbc\xc3\xbc";
  EXPECT_EQ((*ParseColumns(text))[0].name, text.substr(0, 254));
  EXPECT_EQ((*ParseAggregates("sum(" + text.substr(4) + ")"))[0].name,
            ("sum(" + text.substr(4)).substr(0, 254));
  EXPECT_THAT(ErrorOf("1\xc3\xbc"), HasSubstr("'1\xc3\xbc' is no number"));
  EXPECT_THAT(ErrorOf("a b" + std::string(38, 'b') + "\xc3\xbc"),
              HasSubstr("found 'b" + std::string(38, 'b') + "'"));
}

TEST(CutTextTest, CutsBetweenCharactersAndOtherBytesAnywhere) {
  const std::string text = "a\xc3\xbc\xf0\x9f\x98\x80z";
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
  for (size_t most = 0; most < std::size(ends); ++most) {
    EXPECT_EQ(CutText(text, most), text.substr(0, ends[most])) << most;
  }
  EXPECT_EQ(CutText(std::string(20, '\x80'), 10).size(), 10u);
  EXPECT_EQ(CutText(std::string(20, '\x80'), 3).size(), 3u);
}

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
    switch (Below(12)) {
      case 9:
        return one() / one();
      case 10: {
        std::vector<Expression> arguments = {one(), Literal(Value(std::string("%a_")))};
        if (Below(2) == 0) arguments.push_back(Literal(Value(std::string("!"))));
        return Of(Kind::kLike, std::move(arguments));
      }
      case 11:
        return PartOf(static_cast<DatePart>(Below(4)), one());
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
    static constexpr const char* kPieces[] = {"a",          "and ",  "or ",
                                              "not ",       "in ",   "(",
                                              ")",          ",",     "between ",
                                              "is ",        "null ", "1.5",
                                              "-",          "+",     "*",
                                              "/",          "like ", "escape ",
                                              "date_part(", "'x'",   "'",
                                              "\"",         "1e9",   "<=",
                                              "1994-01-01", "date ", "sum(",
                                              "as ",        "=",     " ",
                                              "9e",         "\xff",  "99999999999999999999",
                                              "0.",         "!"};
    std::string text;
    for (uint64_t i = Below(20); i > 0; --i) text += kPieces[Below(std::size(kPieces))];
    return text;
  }

 private:
  std::string Name() {
    static constexpr const char* kNames[] = {"a", "l_tax", "In", "two words", "q\"q", "date", "_1"};
    return kNames[Below(std::size(kNames))];
  }
  Value AnyValue() {
    const auto number = static_cast<int64_t>(random_() >> Below(64));
    switch (Below(7)) {
      case 0:
        return Value();
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

TEST(ExpressionTextTest, TextOfAnyTreeIsReadAsTheSameTree) {
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

TEST(ExpressionTextTest, NoiseIsReadOrRefusedButNeverMisprinted) {
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
}  // namespace eris::client
