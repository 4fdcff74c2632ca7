// SplitRecord on whole texts.
#include "clients/cli/files/delimited.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eris::cli {
namespace {

using Fields = std::vector<std::string>;

constexpr DelimitedFormat kCsv;
constexpr DelimitedFormat kTbl{'|', false, true};

struct Split {
  SplitResult result;
  Fields fields;
  size_t consumed = 0;
  std::string reason;
};

Split SplitOf(const std::string& text, const DelimitedFormat& format = kCsv, bool at_end = true) {
  Split split;
  std::vector<absl::string_view> fields;
  std::string scratch;
  split.result = SplitRecord(text, at_end, format, fields, scratch, split.consumed, split.reason);
  for (const absl::string_view field : fields) split.fields.emplace_back(field);
  return split;
}

TEST(SplitRecordTest, PlainFieldsEndAtDelimiterAndLineEnd) {
  const Split split = SplitOf("1,two,\nnext");
  EXPECT_EQ(split.result, SplitResult::kRecord);
  EXPECT_EQ(split.fields, (Fields{"1", "two", ""}));
  EXPECT_EQ(split.consumed, 7u);
}

TEST(SplitRecordTest, CarriageReturnBelongsToTheLineEnd) {
  EXPECT_EQ(SplitOf("1,2\r\n").fields, (Fields{"1", "2"}));
  EXPECT_EQ(SplitOf("\"1\",2\r\n").fields, (Fields{"1", "2"}));
  EXPECT_EQ(SplitOf("1,\"2\"\r\n").fields, (Fields{"1", "2"}));
}

TEST(SplitRecordTest, QuotedFieldHoldsDelimitersLineEndsAndDoubledQuotes) {
  const Split split = SplitOf("\"a,b\",\"c\nd\",\"say \"\"hi\"\"\",5\n");
  EXPECT_EQ(split.fields, (Fields{"a,b", "c\nd", "say \"hi\"", "5"}));
  EXPECT_EQ(split.consumed, 27u);
}

TEST(SplitRecordTest, TblHasADelimiterBehindEveryField) {
  EXPECT_EQ(SplitOf("1|370|O|\n", kTbl).fields, (Fields{"1", "370", "O"}));
  EXPECT_EQ(SplitOf("1|\"|\n", kTbl).fields, (Fields{"1", "\""}));
}

TEST(SplitRecordTest, LastLineMayLackItsEnd) {
  EXPECT_EQ(SplitOf("1,2").fields, (Fields{"1", "2"}));
  EXPECT_EQ(SplitOf("1,\"2\"").fields, (Fields{"1", "2"}));
  EXPECT_EQ(SplitOf("1,2", kCsv, false).result, SplitResult::kNeedMore);
  EXPECT_EQ(SplitOf("1,\"2\"", kCsv, false).result, SplitResult::kNeedMore);
  EXPECT_EQ(SplitOf("\"1\n2", kCsv, false).result, SplitResult::kNeedMore);
}

TEST(SplitRecordTest, BadQuotesAreRefusedWithTheReasonAndOneLineIsConsumed) {
  const Split open = SplitOf("\"1,2\n3,4\n");
  EXPECT_EQ(open.result, SplitResult::kBad);
  EXPECT_EQ(open.reason, "a quote is not closed");
  EXPECT_EQ(open.consumed, 5u);
  EXPECT_EQ(SplitOf("\"1\"x,2\n").reason, "text behind the closing quote of field 1");
}

TEST(SplitRecordTest, QuotesMayBeEscaped) {
  const DelimitedFormat escaped{.escape = '\\'};
  EXPECT_EQ(SplitOf("\"a \\\"b\\\"\",\"c\\\\\",\"\"\"\",d\\\n", escaped).fields,
            (Fields{"a \"b\"", "c\\", "\"", "d\\"}));
  EXPECT_EQ(SplitOf("\"C:\\temp\\new\"\n", escaped).fields, (Fields{"C:\\temp\\new"}));
  EXPECT_EQ(SplitOf("\"a\\", escaped, false).result, SplitResult::kNeedMore);
  EXPECT_EQ(SplitOf("\"a\\", escaped).reason, "a quote is not closed");
  EXPECT_EQ(SplitOf("\"a\\\"\n1", escaped).reason, "a quote is not closed");
}

TEST(SplitRecordTest, QuotesInsideAFieldAreText) {
  EXPECT_EQ(SplitOf("1,2\"3\n4,5\n").fields, (Fields{"1", "2\"3"}));
  EXPECT_EQ(SplitOf("52'37.8\"N, \"x\",\"a,b\"\r\n").fields,
            (Fields{"52'37.8\"N", " \"x\"", "a,b"}));
}

}  // namespace
}  // namespace eris::cli
