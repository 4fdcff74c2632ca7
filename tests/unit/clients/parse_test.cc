#include "clients/cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

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
    EXPECT_EQ(*pair, std::pair(uint64_t{7}, uint64_t{42}));
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
    EXPECT_EQ(write->key, 7u);
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

TEST(ParseTest, KindsHaveNames) {
  for (const ObjectKind kind : {ObjectKind::kIndex, ObjectKind::kHash}) {
    EXPECT_EQ(*ParseKind(KindName(kind)), kind);
  }
  EXPECT_EQ(ParseKind("tree").status(),
            absl::InvalidArgumentError("'tree' is no kind: index or hash"));
  EXPECT_EQ(KindName(static_cast<ObjectKind>(7)), "kind 7");  // of a newer server
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
