#include "clients/cli/text/object_key.h"

#include <gtest/gtest.h>

#include <string>

#include "clients/cli/text/range_flags.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

constexpr ColumnType kTypes[] = {ColumnType::kUint64, ColumnType::kInt64, ColumnType::kFloat64, ColumnType::kDate};
constexpr KeyTypes kVisits{ColumnType::kUint64, ColumnType::kDate};

template <class Result>
std::string MessageOf(const Result& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

TEST(ObjectKeyTest, NamesOfTypesGoRound) {
  EXPECT_EQ(KeyTypesName(ColumnType::kInt64), "i64");
  EXPECT_EQ(KeyTypesName(kVisits), "u64,date");
  for (const ColumnType first : kTypes) {
    EXPECT_EQ(*ParseKeyTypes(KeyTypesName(first)), KeyTypes(first));
    for (const ColumnType second : kTypes) {
      const KeyTypes types(first, second);
      EXPECT_EQ(*ParseKeyTypes(KeyTypesName(types)), types);
    }
  }
  EXPECT_EQ(*ParseKeyTypes("u64, date"), kVisits);
  for (const char* text :
       {"", "u32", ",", "u64,", ",date", "u64,date,i64", "u64/date", "u64 date"}) {
    EXPECT_FALSE(ParseKeyTypes(text).ok()) << text;
    EXPECT_FALSE(CheckKeyTypes(text).empty()) << text;
  }
  EXPECT_EQ(MessageOf(ParseKeyTypes("i32")),
            "'i32' is no type of keys: u64, i64, f64 or date, or two of them as in u64,date");
  EXPECT_EQ(CheckKeyTypes("u64,date"), "");
}

// No text of one part has the separator in it, so that every pair is read as it was written.
TEST(ObjectKeyTest, TextsOfAllPairsOfTypesGoRound) {
  for (const ColumnType first : kTypes) {
    for (const ColumnType second : kTypes) {
      const KeyTypes types(first, second);
      for (const uint64_t a : {LowestKey(first), HighestKey(first), LowestKey(first) + 12345}) {
        for (const uint64_t b : {LowestKey(second), HighestKey(second), LowestKey(second) + 99}) {
          const std::string text = ObjectKeyText(types, {a, b});
          const auto key = ParseKey(text, types);
          ASSERT_TRUE(key.ok()) << key.status();
          EXPECT_EQ(*key, (ObjectKey{a, b})) << text;
        }
      }
    }
  }
  EXPECT_EQ(ObjectKeyText({ColumnType::kInt64, ColumnType::kDate}, {KeyFromInt64(-7), KeyFromDate(-1)}),
            "-7/1969-12-31");
  EXPECT_EQ(ObjectKeyText({}, {7, 0}), "7");
}

TEST(ObjectKeyTest, TextOfOtherPartsIsRefusedWithTheTypes) {
  EXPECT_EQ(MessageOf(ParseKey("7", kVisits)),
            "'7' has 1 part, the keys of the object have 2 (u64,date): FIRST/SECOND");
  EXPECT_EQ(MessageOf(ParseKey("7/1970-01-01/3", kVisits)),
            "'7/1970-01-01/3' has 3 parts, the keys of the object have 2 (u64,date): FIRST/SECOND");
  EXPECT_EQ(MessageOf(ParseKey("7/8", ColumnType::kInt64)),
            "'7/8' has 2 parts, the keys of the object have 1 (i64)");
  EXPECT_EQ(MessageOf(ParseBound("7/1970-01-01/", kVisits)),
            "'7/1970-01-01/' has 3 parts, the keys of the object have 2 (u64,date): FIRST/SECOND, "
            "or FIRST alone");
  EXPECT_EQ(MessageOf(ParseBound("7/8", {})),
            "'7/8' has 2 parts, the keys of the object have 1 (u64)");
}

TEST(ObjectKeyTest, PartThatIsNoKeyIsNamed) {
  EXPECT_EQ(MessageOf(ParseKey("7/8", kVisits)),
            "'8' is no date YYYY-MM-DD from -5877641-06-23 to 5881580-07-11 (the second part of "
            "'7/8')");
  EXPECT_EQ(MessageOf(ParseKey("/1970-01-01", kVisits)),
            "'' is no number from 0 to 18446744073709551615 (the first part of '/1970-01-01')");
  EXPECT_EQ(MessageOf(ParseKey("-1")), "'-1' is no number from 0 to 18446744073709551615");
  EXPECT_FALSE(ParseKey("7/ 1970-01-01", kVisits).ok());
}

TEST(ObjectKeyTest, BoundsHaveOnePartOrTwo) {
  RangeFlags flags;
  flags.from = "7";
  flags.to = "7/1970-01-02";
  EXPECT_EQ(*flags.Keys(kVisits), (KeyRange{7, 7, 0, KeyFromDate(1)}));
  flags.from = "7/1969-12-31";
  flags.to = "8";
  EXPECT_EQ(*flags.Keys(kVisits), (KeyRange{7, 8, KeyFromDate(-1), 0}));
  flags.to.clear();
  EXPECT_EQ(*flags.Keys(kVisits), (KeyRange{7, std::nullopt, KeyFromDate(-1), 0}));
  EXPECT_EQ(MessageOf(flags.Keys({})),
            "--from: '7/1969-12-31' has 2 parts, the keys of the object have 1 (u64)");
  flags.from = "8/1970-01-01";
  flags.to = "8";
  EXPECT_EQ(MessageOf(flags.Keys(kVisits)), "inverted range: --to 8 is below --from 8/1970-01-01");
  flags.min_value = "5";
  EXPECT_EQ(**flags.Values(), (ValueRange{5, ~uint64_t{0}}));
  flags.max_value = "3";
  EXPECT_EQ(MessageOf(flags.Values()), "inverted range: --max-value 3 is below --min-value 5");
  flags.min_value = "5/6";
  EXPECT_EQ(MessageOf(flags.Values()),
            "--min-value: '5/6' is no number from 0 to 18446744073709551615");
}

TEST(ObjectKeyTest, BatchesAreColumns) {
  KeyBatch two(kVisits);
  EXPECT_TRUE(two.empty());
  two.Add({1, 2});
  two.Add({3, 4});
  EXPECT_TRUE(two.columns().two_parts());
  EXPECT_EQ(two.columns().size(), 2u);
  EXPECT_EQ(two.columns().second()[1], 4u);
  EXPECT_EQ(two[1], (ObjectKey{3, 4}));
  two.clear();
  EXPECT_EQ(two.columns().second().size(), 0u);
  KeyBatch one({});
  one.Add({5});
  EXPECT_FALSE(one.columns().two_parts());
  EXPECT_EQ(one[0], ObjectKey{5});
}

}  // namespace
}  // namespace eris::cli
