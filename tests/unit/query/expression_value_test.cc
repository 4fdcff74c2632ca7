// Expressions in the oracle of plans, with values computed by hand.
#include "tests/support/plan/expression_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tests/unit/query/plan_oracle_fixture.h"

namespace eris::test {
namespace {

using namespace expressions;  // NOLINT: as their users do

const Expression kTrue = Equal(Field(0), Literal(1));
const Expression kFalse = Equal(Field(0), Literal(2));
const Expression kUnknown = Equal(Field(1), Literal(1));
// A one, and a null.
const Cells kRow = {Int(1), NullInt()};

Value Text(const char* text) { return Value(std::string(text)); }

TEST(ExpressionValueTest, AndOrNotHaveThreeValues) {
  EXPECT_EQ(TruthFor(kUnknown, kRow), "unknown");
  EXPECT_EQ(TruthFor(!kUnknown, kRow), "unknown");
  EXPECT_EQ(TruthFor(kUnknown && kFalse, kRow), "false");
  EXPECT_EQ(TruthFor(kUnknown && kTrue, kRow), "unknown");
  EXPECT_EQ(TruthFor(kUnknown || kTrue, kRow), "true");
  EXPECT_EQ(TruthFor(kUnknown || kFalse, kRow), "unknown");
  EXPECT_EQ(TruthFor(kTrue && !kFalse, kRow), "true");
  EXPECT_EQ(TruthFor(IsNull(Field(1)), kRow), "true");
  EXPECT_EQ(TruthFor(IsNull(Field(0) + Field(1)), kRow), "true");
}

TEST(ExpressionValueTest, InWithANullIsNeverFalse) {
  EXPECT_EQ(TruthFor(In(Field(0), {int64_t{1}, Value()}), kRow), "true");
  EXPECT_EQ(TruthFor(In(Field(0), {int64_t{5}, Value()}), kRow), "unknown");
  EXPECT_EQ(TruthFor(In(Field(0), {int64_t{5}, int64_t{6}}), kRow), "false");
  EXPECT_EQ(TruthFor(In(Field(1), {int64_t{5}}), kRow), "unknown");
  EXPECT_EQ(TruthFor(In(Field(0), {1.0, Decimal{50, 1}}), kRow), "true");
}

TEST(ExpressionValueTest, BetweenDecidesWithOneEndAlone) {
  EXPECT_EQ(TruthFor(Between(Field(0), Literal(1), Literal(1)), kRow), "true");
  EXPECT_EQ(TruthFor(Between(Field(0), Literal(2), Literal(Value())), kRow), "false");
  EXPECT_EQ(TruthFor(Between(Field(0), Literal(0), Literal(Value())), kRow), "unknown");
  EXPECT_EQ(TruthFor(Between(Field(0), Field(1), Literal(0)), kRow), "false");
}

TEST(ExpressionValueTest, NanIsNeitherEqualNorUnequalInOrder) {
  const Cells row = {RealCell(std::numeric_limits<double>::quiet_NaN())};
  EXPECT_EQ(TruthFor(Equal(Field(0), Field(0)), row), "false");
  EXPECT_EQ(TruthFor(NotEqual(Field(0), Field(0)), row), "true");
  EXPECT_EQ(TruthFor(Field(0) < Literal(1), row), "false");
  EXPECT_EQ(TruthFor(Field(0) >= Literal(1), row), "false");
  EXPECT_EQ(TruthFor(IsNull(Field(0)), row), "false");
}

TEST(ExpressionValueTest, ArithmeticHasTheTypesOfTheHeader) {
  const Cells row = {DecimalCell(150, 2), DecimalCell(-1, 1), Int(7), Unsigned(3), RealCell(0.5)};
  EXPECT_EQ(ValueFor(Field(0) + Field(1), row), "1.4");
  EXPECT_EQ(ValueFor(Field(0) * Field(1), row), "-0.15");
  EXPECT_EQ(ValueFor(Field(0) - Field(2), row), "-5.5");
  EXPECT_EQ(ValueFor(Field(3) - Literal(4), row), "fails");  // u64
  EXPECT_EQ(ValueFor(Field(3) - Field(2), row), "-4");       // i64
  EXPECT_EQ(ValueFor(Field(3) + Literal(-4), row), "-1");    // i64
  EXPECT_EQ(ValueFor(Field(2) / Literal(2), row), "3.5");
  EXPECT_EQ(ValueFor(Field(2) / Literal(0), row), "inf");
  EXPECT_EQ(ValueFor(Field(2) * Field(4), row), "3.5");
  EXPECT_EQ(ValueFor(Field(0) * Literal(WideDecimal{{2, 0}, 1}), row), "0.3");
}

TEST(ExpressionValueTest, ResultsOutsideTheirTypeFail) {
  const Cells row = {Int(INT64_MAX), Int(INT64_MIN), Unsigned(UINT64_MAX), DecimalCell(1, 4)};
  EXPECT_EQ(ValueFor(Field(0) + Literal(1), row), "fails");
  EXPECT_EQ(ValueFor(Field(1) - Literal(1), row), "fails");
  EXPECT_EQ(ValueFor(Field(0) + Field(1), row), "-1");
  EXPECT_EQ(ValueFor(Field(2) + Literal(0u), row), "18446744073709551615");
  EXPECT_EQ(ValueFor(Field(2) - Field(0), row), "fails");  // i64
  EXPECT_EQ(ValueFor(Field(3) + Field(0), row), "fails");
}

TEST(ExpressionValueTest, WholeQuotientsAreCutOffTowardsZero) {
  EXPECT_EQ(ValueFor(Quotient(Field(0), Literal(2)), {Int(-7)}), "-3");
  EXPECT_EQ(ValueFor(Field(0) % Literal(2), {Int(-7)}), "-1");
  EXPECT_EQ(ValueFor(Field(0) % Literal(-2), {Int(7)}), "1");
  EXPECT_EQ(ValueFor(Quotient(Field(0), Literal(Value(Decimal{25, 2}))), {Int(2)}), "8");
  EXPECT_EQ(ValueFor(Literal(2) % Field(0), {DecimalCell(75, 2)}), "0.5");
  EXPECT_EQ(ValueFor(Field(0) % Literal(2), {RealCell(5.5)}), "1.5");
  EXPECT_EQ(ValueFor(Field(0) % Literal(0), {RealCell(5.5)}), "NaN");
  EXPECT_EQ(ValueFor(Field(0) % Literal(0), {Int(5)}), "fails");
  EXPECT_EQ(ValueFor(Field(0) % Literal(0), {NullInt()}), "null");
  EXPECT_EQ(ValueFor(Quotient(Field(0), Literal(-1)), {Int(INT64_MIN)}), "fails");
  EXPECT_EQ(ValueFor(Field(0) % Literal(-1), {Int(INT64_MIN)}), "0");
}

TEST(ExpressionValueTest, WideSumsOverflowOnlyAtTheirEnd) {
  const CellType wide{ColumnType::kInt128};
  const CellType wider{ColumnType::kInt128, 1};
  // 10 times the first number is outside 128 bits, the sum is not.
  const Int128 tenth = kInt128Largest / 10 + 1;
  const Cells row = {NumberCell(wide, tenth), NumberCell(wider, -10), NumberCell(wider, 10),
                     NumberCell(wide, kInt128Smallest), NumberCell(wide, -1)};
  EXPECT_EQ(ValueFor(Field(0) + Field(1), row), DigitsText(DigitsOf(kInt128Largest / 10 * 10, 1)));
  EXPECT_EQ(ValueFor(Field(0) - Field(2), row), DigitsText(DigitsOf(kInt128Largest / 10 * 10, 1)));
  EXPECT_EQ(ValueFor(Field(0) + Field(2), row), "fails");
  EXPECT_EQ(ValueFor(Field(4) - Field(3), row), DigitsText(DigitsOf(kInt128Largest, 0)));
  EXPECT_EQ(ValueFor(Field(3) + Field(4), row), "fails");
}

TEST(ExpressionValueTest, FailedValuesMatterOnlyIfTheyDecide) {
  const Cells row = {Int(INT64_MAX)};
  const Expression fails = Field(0) + Literal(1) > Literal(0);
  const Expression no = Equal(Field(0), Literal(0));
  EXPECT_EQ(TruthFor(fails, row), "fails");
  EXPECT_EQ(TruthFor(no && fails, row), "false");
  EXPECT_EQ(TruthFor(fails && no, row), "false");
  EXPECT_EQ(TruthFor(fails || !no, row), "true");
  EXPECT_EQ(TruthFor(fails || no, row), "fails");
  EXPECT_EQ(ValueFor(Case({no, Field(0) + Literal(1), !no, Literal(5)}), row), "5");
}

// Filters of one row whose sum is outside its type.
PlanNotes NotesOf(const Expression& condition) {
  QueryPlan plan;
  plan.nodes = {ReadNode{.object = "t"}, FilterNode{0, condition}};
  const auto answer = Interpret(plan, {{"t", TableOfInts({Int(INT64_MAX)})}});
  EXPECT_TRUE(answer.ok());
  return answer->notes;
}

TEST(ExpressionValueTest, OnlyValuesBehindAFalsePartAreOutOfOrder) {
  const Expression fails = Field(0) + Literal(1) > Literal(0);
  const Expression no = Equal(Field(0), Literal(0));
  EXPECT_TRUE(NotesOf(no && fails).possible.empty());
  EXPECT_EQ(NotesOf(no && fails).out_of_order.count(absl::StatusCode::kOutOfRange), 1u);
  EXPECT_EQ(NotesOf(fails && no).possible.count(absl::StatusCode::kOutOfRange), 1u);
  EXPECT_EQ(NotesOf(!no || fails).possible.count(absl::StatusCode::kOutOfRange), 1u);
  EXPECT_TRUE(NotesOf(no).out_of_order.empty());
}

TEST(ExpressionValueTest, CaseTakesTheFirstTrueCondition) {
  EXPECT_EQ(
      ValueFor(Case({kUnknown, Literal(1), kTrue, Field(0) + Literal(6), kTrue, Literal(3)}), kRow),
      "7");
  EXPECT_EQ(ValueFor(Case({kFalse, Field(0)}), kRow), "null");
  EXPECT_EQ(ValueFor(Case({kFalse, Field(0), Literal(Decimal{25, 1})}), kRow), "2.5");
  EXPECT_EQ(ValueFor(Case({kTrue, Field(0), Literal(0.5)}), kRow), "1");
  EXPECT_EQ(ValueFor(Case({kTrue, Literal(Value()), Field(0)}), kRow), "null");
  EXPECT_EQ(ValueFor(Case({kTrue, Literal(Text("x")), Field(0)}), kRow), "INVALID_ARGUMENT");
}

TEST(ExpressionValueTest, CaseConvertsToTheTypeOfASum) {
  // An i64 and a u64 give an i64, which does not hold all of the u64.
  const Cells row = {Int(1), Unsigned(UINT64_MAX)};
  EXPECT_EQ(ValueFor(Case({kTrue, Field(1), Field(0)}), row), "fails");
  EXPECT_EQ(ValueFor(Case({kFalse, Field(1), Field(0)}), row), "1");
  EXPECT_EQ(ValueFor(Case({kTrue, Field(1), Literal(1)}), row), "18446744073709551615");
}

TEST(ExpressionValueTest, CastsRoundAndCheck) {
  const auto cast = [](Cell cell, ColumnType type, uint8_t scale = 0) {
    return ValueFor(Cast(Field(0), type, scale), {std::move(cell)});
  };
  EXPECT_EQ(cast(RealCell(2.5), ColumnType::kInt64), "2");
  EXPECT_EQ(cast(RealCell(-3.5), ColumnType::kInt32), "-4");
  EXPECT_EQ(cast(DecimalCell(25, 1), ColumnType::kInt64), "3");
  EXPECT_EQ(cast(DecimalCell(-25, 1), ColumnType::kInt64), "-3");
  EXPECT_EQ(cast(RealCell(0.125), ColumnType::kDecimal, 2), "0.13");
  EXPECT_EQ(cast(DecimalCell(1249, 3), ColumnType::kDecimal, 1), "1.2");
  EXPECT_EQ(cast(Int(7), ColumnType::kFloat64), "7");
  EXPECT_EQ(cast(NullInt(), ColumnType::kFloat64), "null");
  EXPECT_EQ(cast(RealCell(std::numeric_limits<double>::quiet_NaN()), ColumnType::kInt64), "fails");
  EXPECT_EQ(cast(Int(-1), ColumnType::kUint64), "fails");
  EXPECT_EQ(cast(Int(1), ColumnType::kDecimal, 18), "1");
  EXPECT_EQ(cast(Int(10), ColumnType::kDecimal, 18), "fails");
  EXPECT_EQ(cast(Int(10), ColumnType::kInt128, 18), "10");
  EXPECT_EQ(cast(Int(int64_t{1} << 31), ColumnType::kInt32), "fails");
  EXPECT_EQ(cast(TextCell("1"), ColumnType::kInt32), "INVALID_ARGUMENT");
}

TEST(ExpressionValueTest, NullsMayBeCastToAnyType) {
  for (const ColumnType type : {ColumnType::kInt32, ColumnType::kDate, ColumnType::kString}) {
    EXPECT_EQ(ValueFor(Cast(Literal(Value()), type), {Int(1)}), "null");
  }
  EXPECT_EQ(ValueFor(Cast(Literal(1), ColumnType::kDate), {Int(1)}), "INVALID_ARGUMENT");
}

TEST(ExpressionValueTest, PartsOfDatesAreGregorian) {
  const auto part = [](DatePart which, int32_t days) {
    return ValueFor(PartOf(which, Field(0)), {DateCell(days)});
  };
  EXPECT_EQ(part(DatePart::kYear, -1), "1969");
  EXPECT_EQ(part(DatePart::kQuarter, 11016), "1");
  EXPECT_EQ(part(DatePart::kMonth, 11016), "2");
  EXPECT_EQ(part(DatePart::kDay, 11016), "29");
  EXPECT_EQ(part(DatePart::kYear, -719528), "0");
  EXPECT_EQ(ValueFor(PartOf(DatePart::kDay, Field(0)), {NullCell({ColumnType::kDate})}), "null");
}

TEST(ExpressionValueTest, TimestampsAreDatesWithATime) {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000;
  const auto part = [](DatePart which, int64_t micros) {
    return ValueFor(PartOf(which, Field(0)), {TimestampCell(micros)});
  };
  EXPECT_EQ(part(DatePart::kYear, -1), "1969");
  EXPECT_EQ(part(DatePart::kHour, -1), "23");
  EXPECT_EQ(part(DatePart::kMinute, 5 * kHour + 61'000'000), "1");
  EXPECT_EQ(part(DatePart::kSecond, 61'999'999), "1");
  EXPECT_EQ(part(DatePart::kYear, std::numeric_limits<int64_t>::min()), "-290308");
  EXPECT_EQ(ValueFor(PartOf(DatePart::kHour, Field(0)), {DateCell(1)}), "INVALID_ARGUMENT");
  EXPECT_EQ(ValueFor(Cast(Field(0), ColumnType::kDate), {TimestampCell(-1)}), "1969-12-31");
  EXPECT_EQ(ValueFor(Cast(Field(0), ColumnType::kTimestamp), {DateCell(1)}),
            "1970-01-02 00:00:00.000000");
  EXPECT_EQ(ValueFor(Cast(Field(0), ColumnType::kTimestamp), {DateCell(1 << 30)}), "fails");
  EXPECT_EQ(ValueFor(Cast(Field(0), ColumnType::kInt64), {TimestampCell(1)}), "INVALID_ARGUMENT");
}

TEST(ExpressionValueTest, StringsOfNullAreNull) {
  const Cells row = {TextCell("aä€"), NullCell(kText)};
  EXPECT_EQ(ValueFor(Substring(Field(0), 2, 1), row), CellText(TextCell("ä")));
  EXPECT_EQ(ValueFor(Substring(Field(1), 2, 1), row), "null");
  EXPECT_EQ(ValueFor(Substring(Field(0), 1, -1), row), "INVALID_ARGUMENT");
  EXPECT_EQ(TruthFor(Like(Field(0), "___"), row), "true");
  EXPECT_EQ(TruthFor(Like(Field(1), "%"), row), "unknown");
  EXPECT_EQ(TruthFor(Pair(Expression::Kind::kLike, Field(0), Literal(Value())), row), "unknown");
  EXPECT_EQ(TruthFor(Like(Field(0), "a!", "!"), row), "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace eris::test
