#include "engine/query/planner/conditions.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/query_plan_text.h"

namespace eris::engine {
namespace {

using namespace eris::expressions;  // operators

const std::vector<ColumnSchema>& Columns() {
  static const std::vector<ColumnSchema> columns = {
      {.name = "i64", .type = ColumnType::kInt64},
      {.name = "i32", .type = ColumnType::kInt32},
      {.name = "real", .type = ColumnType::kFloat64},
      {.name = "text", .type = ColumnType::kString},
      {.name = "date", .type = ColumnType::kDate},
      {.name = "money", .type = ColumnType::kDecimal, .scale = 2},
      {.name = "sum", .type = ColumnType::kInt128, .scale = 2}};
  return columns;
}
constexpr uint32_t kI64 = 0, kI32 = 1, kReal = 2, kText = 3, kDate = 4, kMoney = 5, kSum = 6;

bool Fails(const Expression& expression) { return CanFail(expression, Columns()); }

std::string Parts(const Expression& condition) {
  Conditions parts;
  AddParts(condition, Columns(), parts);
  std::string text;
  for (const Expression& part : parts) absl::StrAppend(&text, test::TextOf(part), "; ");
  return text;
}

Expression Is(uint32_t field, int64_t value) { return Equal(Field(field), Literal(value)); }

TEST(ConditionsTest, NestedConjunctionIsAListOfParts) {
  EXPECT_EQ(Parts((Is(0, 1) && Is(0, 2)) && (Is(0, 3) && (Is(0, 4) || Is(0, 5)))),
            "(= #0 1); (= #0 2); (= #0 3); (or (= #0 4) (= #0 5)); ");
}

TEST(ConditionsTest, WhatAlternativesHaveInCommonIsAPart) {
  EXPECT_EQ(Parts((Is(0, 1) && Is(1, 1)) || (Is(1, 2) && Is(0, 1))),
            "(= #0 1); (or (= #1 1) (= #1 2)); ");
  EXPECT_EQ(Parts((Is(0, 1) && Is(1, 1) && Is(2, 3)) || (Is(0, 1) && Is(2, 3)) || Is(0, 1)),
            "(= #0 1); ");
  EXPECT_EQ(Parts((Is(0, 1) && Is(1, 1)) || Is(1, 2)), "(or (and (= #0 1) (= #1 1)) (= #1 2)); ");
}

TEST(ConditionsTest, WhatCanFailStaysBehindThePartsBeforeIt) {
  const Expression fails = Field(kI64) + Literal(1) > Literal(2);
  EXPECT_EQ(Parts((Is(1, 1) && fails) || (Is(1, 2) && fails)),
            "(or (and (= #1 1) (> (+ #0 1) 2)) (and (= #1 2) (> (+ #0 1) 2))); ");
}

TEST(ConditionsTest, ZerosOfDifferentSignsAreNotTheSame) {
  EXPECT_FALSE(SameExpression(Literal(Value(0.0)), Literal(Value(-0.0))));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(SameExpression(Literal(Value(nan)), Literal(Value(nan))));
  EXPECT_FALSE(SameExpression(Literal(1), Literal(Value(1.0))));
  EXPECT_FALSE(
      SameExpression(Cast(Field(0), ColumnType::kInt32), Cast(Field(0), ColumnType::kInt64)));
  EXPECT_FALSE(SameExpression(Field(0), Field(1)));
}

TEST(ConditionsTest, TestsNeverFail) {
  EXPECT_FALSE(Fails(Is(kI64, 1) && !(Field(kI32) < Field(kI64) || IsNull(Field(kSum)))));
  EXPECT_FALSE(Fails(Like(Substring(Field(kText), 1, 2), "a%")));
  EXPECT_FALSE(Fails(In(Field(kMoney), {int64_t{1}, Value()})));
  EXPECT_FALSE(Fails(Between(PartOf(DatePart::kYear, Field(kDate)), Literal(1), Literal(2))));
  EXPECT_FALSE(Fails(Field(kI64) > Subquery(3)));
}

TEST(ConditionsTest, ArithmeticFailsUnlessItIsOfDoubles) {
  EXPECT_TRUE(Fails(Field(kI64) + Literal(1) > Literal(0)));
  EXPECT_TRUE(Fails(Field(kMoney) * Field(kMoney) > Literal(0)));
  EXPECT_FALSE(Fails(Field(kI64) * Field(kReal) > Literal(0)));
  EXPECT_FALSE(Fails(Field(kI64) - Literal(Value(0.5)) > Literal(0)));
  EXPECT_FALSE(Fails(Field(kI64) / Field(kI32) > Literal(0)));
  EXPECT_TRUE(Fails((Field(kI64) - Literal(1)) / Field(kI32) > Literal(0)));
  // By 0; of doubles it is a NaN.
  EXPECT_TRUE(Fails(Field(kI64) % Field(kI32) > Literal(0)));
  EXPECT_TRUE(Fails(Quotient(Field(kMoney), Field(kI32)) > Literal(0)));
  EXPECT_FALSE(Fails(Field(kReal) % Field(kI32) > Literal(0)));
}

TEST(ConditionsTest, CastsFailUnlessTheTypeHoldsAllValues) {
  EXPECT_FALSE(Fails(Cast(Field(kSum), ColumnType::kFloat64)));
  EXPECT_FALSE(Fails(Cast(Field(kI32), ColumnType::kInt64)));
  EXPECT_TRUE(Fails(Cast(Field(kI64), ColumnType::kInt32)));
  EXPECT_FALSE(Fails(Cast(Field(kMoney), ColumnType::kInt128, 18)));
  EXPECT_TRUE(Fails(Cast(Field(kSum), ColumnType::kInt128, 18)));
  EXPECT_FALSE(Fails(Cast(Field(kSum), ColumnType::kInt128, 2)));
  EXPECT_TRUE(Fails(Cast(Field(kReal), ColumnType::kInt128)));
  EXPECT_TRUE(Fails(Cast(Field(kMoney), ColumnType::kDecimal, 3)));
}

TEST(ConditionsTest, CaseFailsIfItsNumbersAreConverted) {
  EXPECT_TRUE(Fails(Case({Is(0, 1), Field(kI64), Field(kMoney)})));
  EXPECT_FALSE(Fails(Case({Is(0, 1), Field(kText)})));
  EXPECT_FALSE(Fails(Case({Is(0, 1), Field(kReal), Field(kMoney)})));
  EXPECT_TRUE(Fails(Case({Field(kI64) + Literal(1) > Literal(1), Field(kText)})));
}

TEST(ConditionsTest, AlternativesImplyWhatTheySayOfOneSide) {
  const auto left = [](uint32_t field) { return field < 2; };
  const auto implied = ImpliedFor((Is(0, 1) && Is(2, 2)) || (Is(2, 1) && Is(0, 2)), left);
  ASSERT_TRUE(implied.has_value());
  EXPECT_EQ(test::TextOf(*implied), "(or (= #0 1) (= #0 2))");
  EXPECT_FALSE(ImpliedFor((Is(0, 1) && Is(2, 2)) || Is(2, 1), left).has_value());
  EXPECT_FALSE(ImpliedFor(Is(2, 1), left).has_value());
  const auto same = ImpliedFor((Is(0, 1) && Is(2, 2)) || (Is(2, 1) && Is(0, 1)), left);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(test::TextOf(*same), "(= #0 1)");
}

TEST(ConditionsTest, QuotientsSeeTheSignOfZero) {
  EXPECT_TRUE(SeesSignOfZero(Literal(1) / Field(kReal) > Literal(0)));
  EXPECT_FALSE(SeesSignOfZero(Field(kReal) * Literal(2) > Literal(0)));
}

}  // namespace
}  // namespace eris::engine
