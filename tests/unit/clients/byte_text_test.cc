#include "clients/cli/text/byte_text.h"

#include <unistd.h>

#include <string>

#include "eris/batch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

std::string PathOf(const TempFile& file) { return "@/proc/self/fd/" + std::to_string(file.fd()); }

TEST(ByteTextTest, TextHexAndBase64AreDecoded) {
  EXPECT_EQ(*ParseByteText(ByteFormat::kText, "a \\n b"), "a \\n b");
  EXPECT_EQ(*ParseByteText(ByteFormat::kHex, "00fF10"), std::string("\0\xff\x10", 3));
  EXPECT_EQ(*ParseByteText(ByteFormat::kHex, ""), "");
  EXPECT_EQ(*ParseByteText(ByteFormat::kBase64, "AP8="), std::string("\0\xff", 2));
  for (const char* bad : {"0", "0g", "abc", "0x10"}) {
    EXPECT_EQ(ParseByteText(ByteFormat::kHex, bad).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
  EXPECT_FALSE(ParseByteText(ByteFormat::kBase64, "a$b=").ok());
}

TEST(ByteTextTest, AtSignTakesAFileAsItIs) {
  const std::string content("\0hex? 00\n", 9);
  const TempFile file(content);
  EXPECT_EQ(*ParseByteArgument(ByteFormat::kHex, PathOf(file)), content);
  EXPECT_EQ(*ParseByteArgument(ByteFormat::kText, "@@home"), "@home");
  EXPECT_EQ(*ParseByteText(ByteFormat::kText, "@home"), "@home");
  const auto missing = ParseByteArgument(ByteFormat::kText, "@/no/such/file");
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/no/such/file"));
}

TEST(ByteTextTest, FileLongerThanAValueIsRefused) {
  const TempFile largest(std::string(kValueBytesMax, 'x'));
  EXPECT_EQ(ParseByteArgument(ByteFormat::kText, PathOf(largest))->size(), kValueBytesMax);
  const TempFile larger(std::string(kValueBytesMax + 1, 'x'));
  const auto refused = ParseByteArgument(ByteFormat::kText, PathOf(larger));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("1048576"));
}

TEST(ByteTextTest, TableShowsWhatIsNoTextAsEscapes) {
  EXPECT_EQ(ShowBytes(ByteFormat::kText, "{\"a\": \"\xc3\xa4\"}"), "{\"a\": \"\xc3\xa4\"}");
  EXPECT_EQ(ShowBytes(ByteFormat::kText, absl::string_view("a\n\t\0\xff\xc3", 6)),
            "a\\n\\t\\x00\\xff\\xc3");
  EXPECT_EQ(ShowBytes(ByteFormat::kText, "\xed\xa0\x80\xc0\xaf"), "\\xed\\xa0\\x80\\xc0\\xaf");
  EXPECT_EQ(ShowBytes(ByteFormat::kHex, "\x01z"), "017a");
  EXPECT_EQ(ShowBytes(ByteFormat::kBase64, "\x01z"), "AXo=");
}

TEST(ByteTextTest, JsonIsExact) {
  EXPECT_EQ(ToJsonMember(ByteFormat::kText, "value", "a\"\n"), "\"value\": \"a\\\"\\n\"");
  EXPECT_EQ(ToJsonMember(ByteFormat::kText, "value", "\xff"), "\"value_base64\": \"/w==\"");
  EXPECT_EQ(ToJsonMember(ByteFormat::kHex, "value", "\xff"), "\"value\": \"ff\"");
}

}  // namespace
}  // namespace eris::cli
