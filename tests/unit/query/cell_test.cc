#include "tests/support/plan/cell.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/plan/utf8_text.h"

namespace eris::test {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(ExactDigitsTest, DoublesHaveAllTheirDigits) {
  EXPECT_EQ(DigitsText(DigitsOf(0.1)), "0.1000000000000000055511151231257827021181583404541015625");
  EXPECT_EQ(DigitsText(DigitsOf(-2.5)), "-2.5");
  EXPECT_EQ(DigitsText(DigitsOf(-0.0)), "0");
  EXPECT_EQ(DigitsText(DigitsOf(1e22)), "10000000000000000000000");
}

TEST(ExactDigitsTest, NumbersHaveTheirScale) {
  EXPECT_EQ(DigitsText(DigitsOf(Int128{-1250}, 2)), "-12.5");
  EXPECT_EQ(DigitsText(DigitsOf(Int128{5}, 3)), "0.005");
  EXPECT_EQ(DigitsText(DigitsOf(Int128{0}, 3)), "0");
  EXPECT_EQ(DigitsText(DigitsOf(kInt128Smallest, 0)), "-170141183460469231731687303715884105728");
}

TEST(ExactDigitsTest, HalvesAreRoundedAsAskedFor) {
  const auto rounded = [](double value, uint8_t scale, Halves halves) {
    return static_cast<int64_t>(Rounded(DigitsOf(value), scale, halves).value());
  };
  EXPECT_EQ(rounded(2.5, 0, Halves::kToEven), 2);
  EXPECT_EQ(rounded(3.5, 0, Halves::kToEven), 4);
  EXPECT_EQ(rounded(-2.5, 0, Halves::kToEven), -2);
  EXPECT_EQ(rounded(0.5, 0, Halves::kToEven), 0);
  EXPECT_EQ(rounded(2.5, 0, Halves::kAwayFromZero), 3);
  EXPECT_EQ(rounded(-2.5, 0, Halves::kAwayFromZero), -3);
  EXPECT_EQ(rounded(0.125, 2, Halves::kAwayFromZero), 13);
  // The double is a little less than the half.
  EXPECT_EQ(rounded(0.145, 2, Halves::kAwayFromZero), 14);
  EXPECT_EQ(rounded(2.5000001, 0, Halves::kToEven), 3);
}

TEST(ExactDigitsTest, RoundingEndsAtTheEndsOf128Bits) {
  EXPECT_EQ(Rounded(DigitsOf(kInt128Smallest, 0), 0, Halves::kToEven), kInt128Smallest);
  EXPECT_EQ(Rounded(DigitsOf(kInt128Largest, 0), 0, Halves::kToEven), kInt128Largest);
  EXPECT_EQ(Rounded(DigitsOf(kInt128Largest, 0), 1, Halves::kToEven), std::nullopt);
  EXPECT_EQ(Rounded(DigitsOf(1e39), 0, Halves::kToEven), std::nullopt);
}

TEST(CellTest, NumbersCompareExactlyWhateverTheirTypes) {
  EXPECT_TRUE(CompareCells(DecimalCell(150, 2), DecimalCell(15, 1)) == 0);
  EXPECT_TRUE(CompareCells(IntegerCell(1), RealCell(1.5)) < 0);
  // 2^53 + 1 is no double.
  const Cell odd = IntegerCell((int64_t{1} << 53) + 1);
  EXPECT_TRUE(CompareCells(odd, RealCell(0x1p53)) > 0);
  EXPECT_TRUE(CompareCells(RealCell(0x1p53), odd) < 0);
  EXPECT_TRUE(CompareCells(DecimalCell(1, 1), RealCell(0.1)) < 0);
  EXPECT_TRUE(CompareCells(NumberCell({ColumnType::kUint64}, UINT64_MAX), IntegerCell(-1)) > 0);
  EXPECT_TRUE(CompareCells(IntegerCell(INT64_MAX), RealCell(kInfinite)) < 0);
  EXPECT_TRUE(CompareCells(IntegerCell(INT64_MIN), RealCell(-0x1p63)) == 0);
}

TEST(CellTest, NanIsEqualToNothingInComparisonsAndLargestInTheOrder) {
  const Cell nan = RealCell(kNotANumber);
  EXPECT_TRUE(std::is_neq(CompareCells(nan, nan)));
  EXPECT_FALSE(std::is_lt(CompareCells(IntegerCell(1), nan)));
  EXPECT_TRUE(CompareTotally(nan, RealCell(-kNotANumber)) == 0);
  EXPECT_TRUE(CompareTotally(nan, RealCell(kInfinite)) > 0);
}

TEST(CellTest, ZerosAreEqualInOrderAndInOneGroup) {
  const Cell minus = RealCell(-0.0);
  const Cell plus = RealCell(0.0);
  EXPECT_TRUE(CompareCells(minus, plus) == 0);
  EXPECT_TRUE(CompareTotally(minus, plus) < 0);
  EXPECT_TRUE(CompareGroups(minus, plus) == 0);
  EXPECT_FALSE(SameCell(minus, plus));
}

TEST(CellTest, NullsAreOneGroupBelowAllOthers) {
  const Cell null = NullCell({ColumnType::kInt64});
  EXPECT_TRUE(CompareGroups(null, null) == 0);
  EXPECT_TRUE(CompareGroups(null, IntegerCell(INT64_MIN)) < 0);
  EXPECT_TRUE(CompareGroups(IntegerCell(INT64_MIN), null) > 0);
  EXPECT_TRUE(SameCell(null, null));
  EXPECT_FALSE(SameCell(null, IntegerCell(0)));
}

TEST(CellTest, StringsCompareByBytes) {
  EXPECT_TRUE(CompareCells(TextCell("B"), TextCell("a")) < 0);
  EXPECT_TRUE(CompareCells(TextCell("z"), TextCell("ä")) < 0);
  EXPECT_TRUE(CompareCells(TextCell(""), TextCell("a")) < 0);
  EXPECT_TRUE(CompareCells(TextCell("special"), TextCell("special offer")) < 0);
}

TEST(CellTest, ValuesComeBack) {
  const std::vector<Value> values = {int64_t{-3}, uint64_t{7},      1.5, Decimal{-150, 2},
                                     Date{11017}, std::string("x"), {}};
  for (const Value& value : values) EXPECT_EQ(ValueOf(CellOf(value)), value);
  EXPECT_EQ(CellText(DateCell(11016)), "2000-02-29");
  EXPECT_EQ(CellText(CellOf(WideDecimal{{0, 1}, 0})), "18446744073709551616");
}

TEST(Utf8TextTest, PatternsMatchCharacters) {
  const auto is_like = [](const char* text, const char* pattern, const char* escape = "") {
    return IsLike(text, ParsePattern(pattern, escape).value());
  };
  EXPECT_TRUE(is_like("ä", "_"));
  EXPECT_FALSE(is_like("ä", "__"));
  EXPECT_TRUE(is_like("\U0001F600x", "_x"));
  EXPECT_TRUE(is_like("", "%"));
  EXPECT_FALSE(is_like("", "_"));
  EXPECT_TRUE(is_like("special order", "special%order"));
  EXPECT_FALSE(is_like("special order", "special%orde"));
  EXPECT_TRUE(is_like("a%b", "a!%b", "!"));
  EXPECT_FALSE(is_like("axb", "a!%b", "!"));
  EXPECT_TRUE(is_like("!", "!!", "!"));
  EXPECT_FALSE(ParsePattern("a!b", "!").has_value());
  EXPECT_FALSE(ParsePattern("a!", "!").has_value());
}

TEST(Utf8TextTest, PartsLeaveOutWhatIsOutside) {
  EXPECT_EQ(PartOfText("aäb€", 2, 2), "äb");
  EXPECT_EQ(PartOfText("aäb€", 4, std::nullopt), "€");
  EXPECT_EQ(PartOfText("abc", 0, 2), "a");
  EXPECT_EQ(PartOfText("abc", -1, 2), "");
  EXPECT_EQ(PartOfText("abc", -1, 3), "a");
  EXPECT_EQ(PartOfText("abc", 4, 1), "");
  EXPECT_EQ(PartOfText("abc", 2, INT64_MAX), "bc");
  EXPECT_EQ(PartOfText("abc", INT64_MIN, INT64_MAX), "");
}

}  // namespace
}  // namespace eris::test
