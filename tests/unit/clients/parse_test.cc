#include "clients/cli/text/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "eris/key_encoding.h"

namespace eris::cli {
namespace {

TEST(ParseTest, NumbersAreDigitsAloneUpToTheLargestKey) {
  uint64_t value = 0;
  EXPECT_TRUE(ParseU64("0", value));
  EXPECT_TRUE(ParseU64("18446744073709551615", value));
  EXPECT_EQ(value, UINT64_MAX);
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "18446744073709551616"}) {
    EXPECT_FALSE(ParseU64(text, value)) << "'" << text << "'";
  }
}

TEST(ParseTest, PairsAreJoinedByEqualsOrBlanks) {
  for (const char* text : {"7=42", "7 42", " 7\t 42 "}) {
    const auto pair = ParseKeyValue(text);
    ASSERT_TRUE(pair.ok()) << text;
    EXPECT_EQ(*pair, std::pair(ObjectKey{7}, uint64_t{42}));
  }
  for (const char* text : {"7", "=7", "7=", "a=1", "1=a", "1=2=3", "1 2 3"}) {
    EXPECT_EQ(ParseKeyValue(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseTest, DeltasHaveASignAndAreModular) {
  EXPECT_EQ(*ParseDelta("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*ParseDelta("-1"), UINT64_MAX);
  EXPECT_EQ(*ParseDelta("-0"), 0u);
  EXPECT_EQ(*ParseDelta("-9223372036854775808"), uint64_t{1} << 63);
  for (const char* text :
       {"", "-", "+1", "--1", "- 1", "-9223372036854775809", "1.5", "18446744073709551616"}) {
    EXPECT_EQ(ParseDelta(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseTest, WritesHaveTheColumnsOfTheirMode) {
  for (const char* text : {"7=41:42", "7 41 42", " 7 \t41\t 42 ", "7=41 42"}) {
    const auto write = ParseWrite(WriteMode::kCompareAndSet, text);
    ASSERT_TRUE(write.ok()) << text;
    EXPECT_EQ(write->key, ObjectKey{7});
    EXPECT_EQ(write->expected, 41u);
    EXPECT_EQ(write->value, 42u);
  }
  for (const char* text : {"7=41", "7 41", "7=:42", "7=41:", "=41:42", "7=41:42:43", "7=a:42"}) {
    EXPECT_EQ(ParseWrite(WriteMode::kCompareAndSet, text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(ParseWrite(WriteMode::kAdd, "7=-3")->value, UINT64_MAX - 2);
  EXPECT_EQ(ParseWrite(WriteMode::kAdd, "7 -3")->value, UINT64_MAX - 2);
  EXPECT_FALSE(ParseWrite(WriteMode::kInsertIfAbsent, "7=-3").ok());
  EXPECT_FALSE(ParseWrite(WriteMode::kInsertIfAbsent, "7=1:2").ok());
  EXPECT_EQ(ParseWrite(WriteMode::kReplaceIfPresent, "7=1")->value, 1u);
  EXPECT_THAT(std::string(ParseWrite(WriteMode::kAdd, "7").status().message()),
              testing::HasSubstr("key=delta"));
}

TEST(ParseTest, RangeWithoutEndGoesToTheEndOfTheKeySpace) {
  ASSERT_TRUE(ParseRange("5:").ok());
  EXPECT_EQ(*ParseRange("5:"), (KeyRange{5, std::nullopt}));
  EXPECT_EQ(*ParseRange("5:9"), (KeyRange{5, 9}));
  for (const char* text : {"", "5", ":5", "a:b", "5:b"}) {
    EXPECT_FALSE(ParseRange(text).ok()) << text;
  }
}

TEST(ParseTest, KeysAreReadByTheirType) {
  EXPECT_EQ(*ParseKeyValue("-5=3", ColumnType::kInt64),
            std::pair(ObjectKey{KeyFromInt64(-5)}, uint64_t{3}));
  EXPECT_EQ(*ParseKeyValue("-1.5e-7 3", ColumnType::kFloat64),
            std::pair(ObjectKey{KeyFromFloat64(-1.5e-7)}, uint64_t{3}));
  EXPECT_EQ(ParseKeyValue("1970-01-11=3", ColumnType::kDate)->first, ObjectKey{KeyFromDate(10)});
  // The value is a u64 whatever the key is.
  EXPECT_THAT(std::string(ParseKeyValue("-5=-3", ColumnType::kInt64).status().message()),
              testing::HasSubstr("'-3' is no number from 0"));
  const auto write = ParseWrite(WriteMode::kCompareAndSet, "1970-01-11=41:42", ColumnType::kDate);
  ASSERT_TRUE(write.ok()) << write.status();
  EXPECT_EQ(write->key, ObjectKey{KeyFromDate(10)});
  EXPECT_EQ(write->expected, 41u);
  EXPECT_EQ(*ParseRange("-5:5", ColumnType::kInt64), Int64Range(-5, 5));
  EXPECT_EQ(*ParseRange("-inf:", ColumnType::kFloat64),
            *Float64Range(-std::numeric_limits<double>::infinity(), std::nullopt));
  EXPECT_EQ(*ParseRange("1970-01-01:1970-01-03", ColumnType::kDate), DateRange(0, 2));
  EXPECT_EQ(*ParseKeyList("-1, 0,1", ColumnType::kInt64),
            (std::vector<uint64_t>{KeyFromInt64(-1), KeyFromInt64(0), KeyFromInt64(1)}));
  EXPECT_THAT(std::string(ParseRange("2024-02-30:", ColumnType::kDate).status().message()),
              testing::HasSubstr("each a date YYYY-MM-DD from"));
  EXPECT_THAT(std::string(ParseKey("-1").status().message()),
              testing::HasSubstr("'-1' is no number from 0 to 18446744073709551615"));
  EXPECT_THAT(std::string(ParseKey("nan", ColumnType::kFloat64).status().message()),
              testing::HasSubstr("'nan' is no number within the range of 64-bit floats"));
}

TEST(ParseTest, KeysOfTwoPartsAreJoinedByASlash) {
  const KeyTypes types{ColumnType::kInt64, ColumnType::kDate};
  const ObjectKey key{KeyFromInt64(-5), KeyFromDate(-365)};
  EXPECT_EQ(*ParseKeyValue("-5/1969-01-01=3", types), std::pair(key, uint64_t{3}));
  EXPECT_EQ(*ParseKeyValue(" -5/1969-01-01 3 ", types), std::pair(key, uint64_t{3}));
  EXPECT_EQ(ParseWrite(WriteMode::kCompareAndSet, "-5/1969-01-01=41:42", types)->key, key);
  EXPECT_EQ(ParseWrite(WriteMode::kAdd, "-5/1969-01-01=-1", types)->value, UINT64_MAX);
  EXPECT_THAT(std::string(ParseKeyValue("-5=3", types).status().message()),
              testing::HasSubstr("'-5' has 1 part"));
}

TEST(ParseTest, KindsHaveNames) {
  for (const ObjectKind kind : {ObjectKind::kIndex, ObjectKind::kHash}) {
    EXPECT_EQ(*ParseKind(KindName(kind)), kind);
  }
  EXPECT_EQ(ParseKind("tree").status(),
            absl::InvalidArgumentError("'tree' is no kind: index or hash"));
  EXPECT_EQ(KindName(static_cast<ObjectKind>(7)), "kind 7");  // of a newer server
  EXPECT_EQ(ValueTypeName(ColumnType::kUint64), "u64");
  EXPECT_EQ(ValueTypeName(ColumnType::kString), "bytes");
}

TEST(ParseTest, SizesHaveBinaryUnits) {
  EXPECT_EQ(*ParseBytes("4096"), 4096u);
  EXPECT_EQ(*ParseBytes("64KiB"), 65536u);
  EXPECT_EQ(*ParseBytes("512 MiB"), 512u << 20);
  EXPECT_EQ(*ParseBytes("4GiB"), uint64_t{4} << 30);
  for (const char* text : {"", "GiB", "4GB", "4.5GiB", "-1", "99999999999TiB"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

TEST(ParseTest, KeyListNamesThePartThatIsNoNumber) {
  EXPECT_EQ(*ParseKeyList("1, 2,3"), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_NE(ParseKeyList("1,x,3").status().message().find("'x'"), absl::string_view::npos);
}

}  // namespace
}  // namespace eris::cli
