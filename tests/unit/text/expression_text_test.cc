#include "text/expression_text.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "text/cut_text.h"

namespace eris::text {
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
  EXPECT_EQ(Parsed("a % b div 2 * c"),
            Quotient(Column("a") % Column("b"), Literal(2)) * Column("c"));
  EXPECT_EQ(Parsed("a + b % c"), Column("a") + Column("b") % Column("c"));
  EXPECT_EQ(Parsed("div div div"), Quotient(Column("div"), Column("div")));
  EXPECT_EQ(ExpressionText(Quotient(Column("a"), Column("b") % Column("c"))), "a div (b % c)");
  EXPECT_EQ(Parsed("a + b like 'x%' and c"), Like(Column("a") + Column("b"), "x%") && Column("c"));
  EXPECT_EQ(Parsed("date_part('year', d) + 1 = 1995"),
            Equal(PartOf(DatePart::kYear, Column("d")) + Literal(1), Literal(1995)));
  EXPECT_EQ(Parsed("date_part = 1"), Equal(Column("date_part"), Literal(1)));
  EXPECT_EQ(Parsed("at >= timestamp '1970-01-01 00:00:01.5' and timestamp < 1"),
            Column("at") >= Literal(Timestamp{1'500'000}) && Column("timestamp") < Literal(1));
  EXPECT_EQ(
      Parsed("cast(at as date) = cast(d as timestamp)"),
      Equal(Cast(Column("at"), ColumnType::kDate), Cast(Column("d"), ColumnType::kTimestamp)));
  EXPECT_EQ(ExpressionText(Literal(Timestamp{-1})), "timestamp '1969-12-31 23:59:59.999999'");
}

TEST(ExpressionTextTest, CasesHavePairsAndMaybeALastValue) {
  const Expression air = Equal(Column("mode"), Literal(Value(std::string("AIR"))));
  EXPECT_EQ(Parsed("case when mode = 'AIR' then price else 0 end"),
            Case({air, Column("price"), Literal(0)}));
  EXPECT_EQ(Parsed("CASE WHEN a OR b THEN 1 WHEN c THEN -2 END"),
            Case({Column("a") || Column("b"), Literal(1), Column("c"), Literal(-2)}));
  EXPECT_EQ(Parsed("case when a then b end + 1 < 2"),
            Case({Column("a"), Column("b")}) + Literal(1) < Literal(2));
  EXPECT_EQ(Parsed("case when a then case when b then 1 end else 2 end"),
            Case({Column("a"), Case({Column("b"), Literal(1)}), Literal(2)}));
  // Only `case` is a keyword.
  EXPECT_EQ(Parsed("case when when then then else else end"),
            Case({Column("when"), Column("then"), Column("else")}));
  EXPECT_EQ(Parsed("end - \"case\""), Column("end") - Column("case"));
  EXPECT_EQ(ExpressionText(Column("case")), "\"case\"");
}

TEST(ExpressionTextTest, CastsNameATypeOfNumbers) {
  const Expression x = Column("x");
  EXPECT_EQ(Parsed("cast(x as int32)"), Cast(x, ColumnType::kInt32));
  EXPECT_EQ(Parsed("CAST(x + 1 AS Int64) * 2"),
            Cast(x + Literal(1), ColumnType::kInt64) * Literal(2));
  EXPECT_EQ(Parsed("cast(x as uint64)"), Cast(x, ColumnType::kUint64));
  EXPECT_EQ(Parsed("cast(x as float64)"), Cast(x, ColumnType::kFloat64));
  EXPECT_EQ(Parsed("cast(x as decimal(18))"), Cast(x, ColumnType::kDecimal, 18));
  EXPECT_EQ(Parsed("cast(x as decimal(18, 2))"), Cast(x, ColumnType::kDecimal, 2));
  EXPECT_EQ(Parsed("cast(x as decimal(19, 2))"), Cast(x, ColumnType::kInt128, 2));
  EXPECT_EQ(Parsed("cast(x as int128(38))"), Cast(x, ColumnType::kInt128, 38));
  EXPECT_EQ(Parsed("cast = 1"), Equal(Column("cast"), Literal(1)));
  EXPECT_EQ(ExpressionText(Cast(x, ColumnType::kDecimal, 2)), "cast(x as decimal(2))");
  EXPECT_EQ(ExpressionText(Cast(x, ColumnType::kInt128)), "cast(x as int128(0))");
  EXPECT_EQ(ExpressionText(Cast(x, ColumnType::kInt64)), "cast(x as int64)");
}

TEST(ExpressionTextTest, SubstringsAreWrittenWithCommasOrWords) {
  EXPECT_EQ(Parsed("substring(s, 2)"), Substring(Column("s"), 2));
  EXPECT_EQ(Parsed("substring(s, -1, 2) = 'a'"),
            Equal(Substring(Column("s"), -1, 2), Literal(Value(std::string("a")))));
  EXPECT_EQ(Parsed("SUBSTRING(s FROM 1)"), Substring(Column("s"), 1));
  EXPECT_EQ(Parsed("substring(s from 1 for 2)"), Substring(Column("s"), 1, 2));
  EXPECT_EQ(Parsed("substring - 1"), Column("substring") - Literal(1));
  EXPECT_EQ(ExpressionText(Substring(Column("s"), 1, 2)), "substring(s, 1, 2)");
}

TEST(ExpressionTextTest, NumbersOfMoreDigitsThan64BitsHoldAreWide) {
  const auto wide = [](absl::int128 number, uint8_t scale) {
    return Value(WideDecimal{
        {absl::Int128Low64(number), static_cast<uint64_t>(absl::Int128High64(number))}, scale});
  };
  const absl::int128 large = absl::int128(uint64_t{10'000'000'000'000'000'000u}) * 10 + 7;
  EXPECT_EQ(Parsed("100000000000000000007").value, wide(large, 0));
  EXPECT_EQ(Parsed("-100000000000000000007").value, wide(-large, 0));
  EXPECT_EQ(Parsed("1000000000000000000.07").value, wide(large, 2));
  EXPECT_EQ(Parsed("-1000000000000000000.07").value, wide(-large, 2));
  EXPECT_EQ(Parsed("0.1234567890123456789").value, wide(1234567890123456789, 19));
  EXPECT_EQ(Parsed("-18446744073709551615").value,
            wide(-absl::int128(std::numeric_limits<uint64_t>::max()), 0));
  EXPECT_EQ(Parsed("18446744073709551615.").value,
            wide(absl::int128(std::numeric_limits<uint64_t>::max()), 0));
  EXPECT_EQ(Parsed("-92233720368547758.08").value,
            Value(Decimal{std::numeric_limits<int64_t>::min(), 2}));
  absl::int128 largest = 0;  // 10^38 - 1
  for (int i = 0; i < 38; ++i) largest = largest * 10 + 9;
  const std::string nines(38, '9');
  EXPECT_EQ(Parsed("0" + nines).value, wide(largest, 0));
  EXPECT_EQ(Parsed("-." + nines).value, wide(-largest, 38));
  EXPECT_EQ(ExpressionText(Literal(wide(-largest, 38))), "-0." + nines);
  EXPECT_EQ(ExpressionText(Literal(wide(-5, 20))), "-0.00000000000000000005");
  EXPECT_EQ(ExpressionText(Column("a") - Literal(wide(-large, 0))), "a - -100000000000000000007.");
  EXPECT_THAT(ErrorOf(nines + "0"), HasSubstr("too many digits: numbers have at most 38;"));
  EXPECT_THAT(ErrorOf("0." + nines + "0"), HasSubstr("too many digits"));
  EXPECT_THAT(ErrorOf("." + std::string(39, '0')), HasSubstr("too many digits"));
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
  EXPECT_EQ(Parsed("x'00Ff'").value, Value(Bytes{std::string("\0\xff", 2)}));
  EXPECT_EQ(Parsed("X''").value, Value(Bytes{}));
  EXPECT_EQ(Parsed("x = x'61'"), Equal(Column("x"), Literal(Value(Bytes{"a"}))));
  EXPECT_EQ(ExpressionText(Parsed("x'00FF'")), "x'00ff'");
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
  EXPECT_EQ(ErrorOf("b = x'0'"), "at character 5: '0' is no even number of hexadecimal digits");
  EXPECT_THAT(ErrorOf("b = x'0g'"), HasSubstr("'0g' is no even number"));
  EXPECT_THAT(ErrorOf("b = x'00"), HasSubstr("at character 6: a string that has no end"));
  EXPECT_THAT(ErrorOf("a like x'61'"), HasSubstr("expected a string as a pattern"));
  EXPECT_THAT(ErrorOf("12abc"), HasSubstr("no number"));
  EXPECT_THAT(ErrorOf("1.2.3"), HasSubstr("no number"));
  EXPECT_THAT(ErrorOf("1e999"), HasSubstr("outside the range of a double"));
  EXPECT_THAT(ErrorOf("-'a'"), HasSubstr("expected a number behind '-'"));
  EXPECT_THAT(ErrorOf("a ; b"), HasSubstr("at character 3: ';'"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("found the end"));
  EXPECT_EQ(ErrorOf("a = 1 and lower(b)"),
            "at character 11: 'lower' is no function: an expression has columns, literals, "
            "operators, case, cast, date_part and substring");
  EXPECT_EQ(ErrorOf("Sum(b) > 1"),
            "at character 1: 'sum' is for aggregates alone, not for the inside of an expression");
}

TEST(ExpressionTextTest, ErrorsOfCasesCastsAndSubstringsNameWhatIsMissing) {
  EXPECT_EQ(ErrorOf("case a when 1 then 2 end"),
            "at character 6: expected 'when' of 'case', found 'a'");
  EXPECT_EQ(ErrorOf("case when a end"), "at character 13: expected 'then' of 'when', found 'end'");
  EXPECT_EQ(ErrorOf("case when a then b"),
            "at character 19: expected 'when', 'else' or 'end' of 'case', found the end");
  EXPECT_EQ(ErrorOf("case when a then b else c when d"),
            "at character 27: expected 'end' of 'case', found 'when'");
  EXPECT_EQ(ErrorOf("cast(a int64)"), "at character 8: expected 'as' of 'cast', found 'int64'");
  EXPECT_EQ(ErrorOf("cast(a as text)"),
            "at character 11: expected int32, int64, uint64, float64, decimal(SCALE), "
            "decimal(DIGITS, SCALE), int128(SCALE), date or timestamp, found 'text'");
  EXPECT_THAT(ErrorOf("cast(a as decimal)"), HasSubstr("at character 18: expected '('"));
  EXPECT_EQ(ErrorOf("cast(a as decimal(19))"),
            "at character 19: the scale of a decimal is 19, must be at most 18: write int128(19)");
  EXPECT_EQ(ErrorOf("cast(a as decimal(39, 2))"),
            "at character 19: a number of decimal() is 39, must be at most 38");
  EXPECT_EQ(ErrorOf("cast(a as decimal(5, 6))"),
            "at character 22: the scale of the decimal is 6, must be at most 5");
  EXPECT_EQ(ErrorOf("cast(a as int128(39))"),
            "at character 18: the scale of an int128 is 39, must be at most 38");
  EXPECT_EQ(ErrorOf("cast(a as int128(-1))"),
            "at character 18: expected the scale of an int128, 0 to 38, found '-'");
  EXPECT_THAT(ErrorOf("cast(a as int64(2))"), HasSubstr("at character 16: expected ')'"));
  EXPECT_THAT(ErrorOf("cast(a as int64, b)"), HasSubstr("at character 16: expected ')'"));
  EXPECT_EQ(ErrorOf("substring(s)"),
            "at character 12: expected ',' or 'from' of 'substring', found ')'");
  EXPECT_EQ(ErrorOf("substring(s, 'a')"),
            "at character 14: expected an integer as the first character of 'substring'");
  EXPECT_EQ(ErrorOf("substring(s from 1 for n)"),
            "at character 24: expected an integer as the number of characters of 'substring'");
  EXPECT_THAT(ErrorOf("substring(s from 1, 2)"), HasSubstr("at character 19: expected ')'"));
  EXPECT_THAT(ErrorOf("substring(s, 1, 2, 3)"), HasSubstr("at character 18: expected ')'"));
}

TEST(ExpressionTextTest, LimitsOfDepthSizeAndTextHold) {
  EXPECT_TRUE(ParseExpression(std::string(60, '(') + "a" + std::string(60, ')')).ok());
  EXPECT_THAT(ErrorOf(std::string(100'000, '(')), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '-')), HasSubstr("more than 64 levels"));
  std::string nots, sum = "a", in = "a in (0", cases, casts;
  for (int i = 0; i < 10'000; ++i) {
    nots += "not ";
    cases += "case when a then ";
    casts += "cast(";
    sum += " + a";
    absl::StrAppend(&in, ",", i);
  }
  EXPECT_THAT(ErrorOf(nots + "a"), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(sum), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(cases), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(casts), HasSubstr("more than 64 levels"));
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
            "at character 1: expected count, sum, min, max, avg or median, found 'total'");
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

}  // namespace
}  // namespace eris::text
