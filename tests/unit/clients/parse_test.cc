#include "clients/cli/text/parse.h"

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

TEST(ParseTest, KindsHaveNames) {
  EXPECT_EQ(KindName(ObjectKind::kIndex), "index");
  EXPECT_EQ(KindName(ObjectKind::kHeapTable), "heap table");
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

}  // namespace
}  // namespace eris::cli
