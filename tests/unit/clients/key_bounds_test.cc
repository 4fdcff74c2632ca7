#include "clients/cli/files/key_bounds.h"

#include <string>
#include <utility>
#include <vector>

#include "clients/cli/files/schema_text.h"
#include "clients/cli/range_flags.h"
#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr KeyTypes kVisits{ColumnType::kUint64, ColumnType::kDate};

template <class Result>
std::string MessageOf(const Result& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

// What an object is created with, or what is wrong.
absl::StatusOr<CreateOptions> Bounds(ObjectKind kind, const Schema& schema, const char* expect,
                                     const char* split = "") {
  CreateOptions options{.kind = kind, .schema = schema};
  absl::Status status = SetBounds(expect, split, options);
  if (!status.ok()) return status;
  return options;
}
KeyRange Expected(ColumnType key, const char* expect) {
  return Bounds(ObjectKind::kIndex, KeyValueSchema(key), expect)->expected;
}

TEST(KeyBoundsTest, BoundsOfAnIndexAreKeys) {
  EXPECT_EQ(Expected(ColumnType::kUint64, "5:"), (KeyRange{5, std::nullopt}));
  EXPECT_EQ(Expected(ColumnType::kUint64, "5:9"), (KeyRange{5, 9}));
  EXPECT_EQ(Expected(ColumnType::kInt64, "-5:5"), Int64Range(-5, 5));
  EXPECT_EQ(Expected(ColumnType::kFloat64, "-inf:").lo, LowestKey(ColumnType::kFloat64));
  EXPECT_EQ(Expected(ColumnType::kDate, "1970-01-01:1970-01-03"), DateRange(0, 2));
  for (const char* text :
       {"1970-01-01 00:00:01:1970-01-01 00:00:02", "1970-01-01T00:00:01Z:1970-01-01T00:00:02Z",
        "1970-01-01 01:00:01+01:00:1970-01-01 00:00:02"}) {
    EXPECT_EQ(Expected(ColumnType::kTimestamp, text), Int64Range(1'000'000, 2'000'000)) << text;
  }
  EXPECT_EQ(Expected(ColumnType::kTimestamp, "1970-01-01 00:01:"),
            Int64Range(60'000'000, std::nullopt));
  EXPECT_THAT(
      Bounds(ObjectKind::kHash, KeyValueSchema(ColumnType::kInt64), "", "-1, 0,1")->split_points,
      ElementsAre(KeyFromInt64(-1), KeyFromInt64(0), KeyFromInt64(1)));
  EXPECT_TRUE(Bounds(ObjectKind::kHeapTable, *ParseSchema("a:int32", ""), "").ok());
}

TEST(KeyBoundsTest, BoundsOfATableAreTheFirstBytesOfItsKey) {
  const auto expected = [](const char* schema, const char* expect) {
    return Bounds(ObjectKind::kTable, *ParseSchema(schema, "a"), expect)->expected;
  };
  EXPECT_EQ(expected("b:string,a:date", "1970-01-01:1970-01-11"),
            (KeyRange{KeyFromDate(0) << 32, KeyFromDate(10) << 32}));
  EXPECT_EQ(expected("a:int32", "-5:7"), (KeyRange{KeyFromDate(-5) << 32, KeyFromDate(7) << 32}));
  EXPECT_EQ(expected("a:int64", "-5:7"), Int64Range(-5, 7));
  EXPECT_EQ(expected("a:decimal(2)", "-0.5:7"), Int64Range(-50, 700));
  for (const auto& [type, text] : {std::pair("a:int32", "-7"), std::pair("a:date", "1969-12-05"),
                                   std::pair("a:decimal(2)", "-0.50"),
                                   std::pair("a:float64", "-1.5"), std::pair("a:uint64", "7")}) {
    const Schema schema = *ParseSchema(type, "a");
    const ColumnSchema& column = schema.columns[0];
    const uint64_t word = *WordFromText(column, text);
    EXPECT_EQ(WordText(column, word), text);
    EXPECT_EQ(WordOfCut(ObjectKind::kTable, column, CutOf(ObjectKind::kTable, column, word)), word);
  }
}

TEST(KeyBoundsTest, WhatIsNoBoundIsRefused) {
  const auto said = [](const char* expect, const char* split, ColumnType type) {
    return MessageOf(Bounds(ObjectKind::kIndex, KeyValueSchema(type), expect, split));
  };
  for (const char* text : {"5", ":5", "a:b", "5:b", "-1:5", "5:18446744073709551616"}) {
    EXPECT_THAT(said(text, "", ColumnType::kUint64),
                HasSubstr("is no range; expected LO:HI (HI not included) or LO:, each a number"))
        << text;
  }
  EXPECT_THAT(said("2024-02-30:", "", ColumnType::kDate), HasSubstr("each a date YYYY-MM-DD from"));
  EXPECT_THAT(said("nan:2", "", ColumnType::kFloat64), HasSubstr("is no range"));
  EXPECT_EQ(said("5:-5", "", ColumnType::kInt64), "the expected range [5, -5) holds no key");
  EXPECT_EQ(said("5:5", "", ColumnType::kInt64), "the expected range [5, 5) holds no key");
  EXPECT_EQ(said("", "1,x,3", ColumnType::kUint64),
            "'x' is no number from 0 to 18446744073709551615");
  EXPECT_THAT(MessageOf(Bounds(ObjectKind::kHeapTable, *ParseSchema("a:int64", ""), "1:2")),
              HasSubstr("give --key"));
}

TEST(KeyBoundsTest, RangesAreOfWholeKeysOrOfFirstParts) {
  const Schema visits = KeyValueSchema(kVisits);
  RangeFlags flags;
  flags.from = "7";
  flags.to = "7/1970-01-02";
  EXPECT_EQ(*flags.Keys(visits), (KeyRange{7, 7, 0, KeyFromDate(1)}));
  flags.from = "7/1969-12-31";
  flags.to = "8";
  EXPECT_EQ(*flags.Keys(visits), (KeyRange{7, 8, KeyFromDate(-1), 0}));
  flags.to.clear();
  EXPECT_EQ(*flags.Keys(visits), (KeyRange{7, std::nullopt, KeyFromDate(-1), 0}));
  EXPECT_EQ(MessageOf(flags.Keys(KeyValueSchema())),
            "--from: '7/1969-12-31' has 2 parts, the key has 1: key (uint64)");
  flags.from = "7/1970-01-01/";
  EXPECT_EQ(MessageOf(flags.Keys(visits)),
            "--from: '7/1970-01-01/' has 3 parts, the key has 2: key/second_key (uint64,date), or "
            "the first alone");
  flags.from = "8/1970-01-01";
  flags.to = "8";
  EXPECT_EQ(MessageOf(flags.Keys(visits)), "inverted range: --to 8 is below --from 8/1970-01-01");
  EXPECT_EQ(BoundText(visits, {8, KeyFromDate(-1)}), "8/1969-12-31");
  EXPECT_EQ(BoundText(KeyValueSchema(), {8, 0}), "8");
}

TEST(KeyBoundsTest, RangesOfValuesAreNumbers) {
  RangeFlags flags;
  flags.min_value = "5";
  EXPECT_EQ(**flags.Values(), (ValueRange{5, ~uint64_t{0}}));
  flags.max_value = "3";
  EXPECT_EQ(MessageOf(flags.Values()), "inverted range: --max-value 3 is below --min-value 5");
  flags.min_value = "5/6";
  EXPECT_EQ(MessageOf(flags.Values()),
            "--min-value: '5/6' is no number from 0 to 18446744073709551615");
}

}  // namespace
}  // namespace eris::cli
