#include "clients/cli/files/cell_text.h"

#include <limits>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/files/schema_text.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string TextOf(ColumnType type, uint8_t scale, T value) {
  client::OwnedRows rows;
  rows.rows = 1;
  rows.columns.resize(1);
  rows.columns[0].values.assign(reinterpret_cast<const char*>(&value), sizeof(value));
  std::string text;
  AppendCell({.name = "x", .type = type, .scale = scale}, rows, 0, 0, &text);
  return text;
}

TEST(CellTextTest, SumsHaveAllTheirDigits) {
  const auto wide = [](absl::int128 value, uint8_t scale) {
    const uint64_t halves[] = {absl::Int128Low64(value),
                               static_cast<uint64_t>(absl::Int128High64(value))};
    struct Two {
      uint64_t low, high;
    } two{halves[0], halves[1]};
    return TextOf(ColumnType::kInt128, scale, two);
  };
  EXPECT_EQ(wide(0, 2), "0.00");
  EXPECT_EQ(wide(-5, 2), "-0.05");
  EXPECT_EQ(wide(12345, 4), "1.2345");
  EXPECT_EQ(wide(7, 0), "7");
  EXPECT_EQ(wide(absl::Int128Max(), 2), "1701411834604692317316873037158841057.27");
  EXPECT_EQ(wide(absl::Int128Min(), 0), "-170141183460469231731687303715884105728");
}

TEST(CellTextTest, OtherValues) {
  EXPECT_EQ(TextOf(ColumnType::kInt32, 0, std::numeric_limits<int32_t>::min()), "-2147483648");
  EXPECT_EQ(TextOf(ColumnType::kUint64, 0, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(TextOf(ColumnType::kFloat64, 0, 0.1), "0.1");
  EXPECT_EQ(TextOf(ColumnType::kDate, 0, int32_t{8766}), "1994-01-01");
  EXPECT_EQ(TextOf(ColumnType::kTimestamp, 0, int64_t{-1'500'000}), "1969-12-31 23:59:58.5");
  EXPECT_EQ(TextOf(ColumnType::kDecimal, 2, std::numeric_limits<int64_t>::min()),
            "-92233720368547758.08");
}

TEST(CellTextTest, KeysAreReadByTheirColumns) {
  const Schema schema = *ParseSchema("a:int64,b:date,c:decimal(2),d:int32", "d,b,c");
  client::OwnedRows keys;
  ASSERT_TRUE(AddKey(schema, "7/1994-01-01/-0.5", keys).ok());
  ASSERT_TRUE(AddKey(schema, "-1/1970-01-02/3", keys).ok());
  EXPECT_EQ(keys.rows, 2u);
  EXPECT_EQ(keys.Get<int32_t>(0, 1), -1);
  EXPECT_EQ(keys.Get<int32_t>(1, 0), 8766);
  EXPECT_EQ(keys.Get<int64_t>(2, 0), -50);
  EXPECT_EQ(keys.Get<int64_t>(2, 1), 300);
  EXPECT_EQ(KeyTextOf(schema, keys, 0), "7/1994-01-01/-0.50");
  EXPECT_EQ(AddKey(schema, "7/1994-01-01", keys).message(),
            "'7/1994-01-01' has 2 parts, the key has 3: d/b/c (int32,date,decimal(2))");
  EXPECT_EQ(AddKey(schema, "7/8/1", keys).message(),
            "'8' is no date YYYY-MM-DD from -5877641-06-23 to 5881580-07-11 (column b of '7/8/1')");
  EXPECT_THAT(std::string(AddKey(schema, "/1970-01-01/1", keys).message()),
              HasSubstr("'' is no number from -2147483648"));
  EXPECT_FALSE(AddKey(schema, "7/ 1970-01-01/1", keys).ok());
}

// No text of one part has the separator in it, so that every pair is read as it was written.
TEST(CellTextTest, KeysOfAllTypesGoRound) {
  constexpr ColumnType kTypes[] = {ColumnType::kUint64, ColumnType::kInt64, ColumnType::kFloat64,
                                   ColumnType::kDate, ColumnType::kTimestamp};
  for (const ColumnType first : kTypes) {
    for (const ColumnType second : kTypes) {
      const Schema schema = KeyValueSchema({first, second});
      for (const uint64_t a : {LowestKey(first), HighestKey(first), LowestKey(first) + 12345}) {
        for (const uint64_t b : {LowestKey(second), HighestKey(second), LowestKey(second) + 99}) {
          const std::string text = absl::StrCat(KeyText(first, a), "/", KeyText(second, b));
          client::OwnedRows rows;
          const absl::Status status = AddKey(schema, text, rows);
          ASSERT_TRUE(status.ok()) << status;
          EXPECT_EQ(KeyTextOf(schema, rows, 0), text);
        }
      }
    }
  }
}

TEST(CellTextTest, WhatIsNoKeyIsRefusedWithTheTypes) {
  const auto said = [](const KeyTypes& types, const char* text) {
    client::OwnedRows rows;
    return std::string(AddKey(KeyValueSchema(types), text, rows).message());
  };
  EXPECT_EQ(said({}, "-1"), "'-1' is no number from 0 to 18446744073709551615");
  EXPECT_EQ(said({}, ""), "'' is no number from 0 to 18446744073709551615");
  EXPECT_EQ(said({}, "7/8"), "'7/8' has 2 parts, the key has 1: key (uint64)");
  EXPECT_EQ(said({ColumnType::kUint64, ColumnType::kDate}, "7"),
            "'7' has 1 part, the key has 2: key/second_key (uint64,date)");
  EXPECT_THAT(said(ColumnType::kFloat64, "nan"),
              HasSubstr("'nan' is no number within the range of 64-bit floats"));
  EXPECT_THAT(said(ColumnType::kDate, "2023-02-29"), HasSubstr("'2023-02-29' is no date"));
}

}  // namespace
}  // namespace eris::cli
