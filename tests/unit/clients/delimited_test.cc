// SplitRecord on whole texts, and DelimitedReader against it when the text comes in pieces.
#include "clients/cli/files/delimited.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/clients/temp_file.h"

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
  const Split inside = SplitOf("1,2\"3\n4,5\n");
  EXPECT_EQ(inside.result, SplitResult::kBad);
  EXPECT_EQ(inside.consumed, 6u);
  EXPECT_EQ(SplitOf("\"1\"x,2\n").reason, "text behind the closing quote of field 1");
}

Fields ReadAll(DelimitedReader& reader) {
  Fields seen;
  std::vector<absl::string_view> fields;
  std::string reason;
  for (;;) {
    const auto result = reader.Next(fields, reason);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok() || *result == DelimitedReader::Result::kEnd) return seen;
    std::string record = std::to_string(reader.line()) + ":";
    if (*result == DelimitedReader::Result::kBad) {
      record += "BAD";
    } else {
      for (const absl::string_view field : fields) record += "[" + std::string(field) + "]";
    }
    seen.push_back(record);
  }
}

TEST(DelimitedReaderTest, LinesAreCountedAndEmptyOnesPassedOver) {
  const TempFile file(
      "\xef\xbb\xbf"
      "a,b\n\n1,\"x\ny\"\r\n\r\n\"q\n2,3");
  DelimitedReader reader(file.fd(), kCsv);
  EXPECT_EQ(ReadAll(reader), (Fields{"1:[a][b]", "3:[1][x\ny]", "6:BAD", "7:[2][3]"}));
  EXPECT_EQ(reader.bytes_read(), file.bytes());
}

TEST(DelimitedReaderTest, EndlessQuoteIsGivenUpAfterTheLimitAndReadingGoesOn) {
  std::string text = "1,2\n\"3,4\n";
  const size_t lines = kRecordBytesMax / 4 + 1000;
  for (size_t i = 0; i < lines; ++i) text += "5,6\n";
  const TempFile file(text);
  DelimitedReader reader(file.fd(), kCsv);
  const Fields seen = ReadAll(reader);
  ASSERT_EQ(seen.size(), lines + 2);
  EXPECT_EQ(seen[1], "2:BAD");
  EXPECT_EQ(seen[2], "3:[5][6]");
}

TEST(DelimitedReaderTest, TailOfALineThatIsTooLongIsNoRecord) {
  // Cut behind the fifth block.
  const TempFile file(std::string(5 << 18, 'x') + "3,4\n5,6\n");
  DelimitedReader reader(file.fd(), kCsv);
  EXPECT_EQ(ReadAll(reader), (Fields{"1:BAD", "2:[5][6]"}));
}

TEST(DelimitedReaderTest, ByteOrderMarkStandsBeforeAQuoteToo) {
  const TempFile file("\xef\xbb\xbf\"a\",b\n");
  DelimitedReader reader(file.fd(), kCsv);
  EXPECT_EQ(ReadAll(reader), (Fields{"1:[a][b]"}));
}

TEST(DelimitedReaderTest, TextInRandomPiecesGivesTheSameRecords) {
  const uint64_t seed = 20240611;
  std::mt19937_64 random(seed);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    static const std::vector<std::string> kFields = {"1", "", "\"a\"\"b\"", "\"x\ny\"", "\",\""};
    for (int field = 0; field < 3; ++field) {
      text += kFields[random() % kFields.size()] + (field < 2 ? "," : "");
    }
    text += random() % 2 == 0 ? "\n" : "\r\n";
  }
  const TempFile file(text);
  DelimitedReader whole(file.fd(), kCsv);
  const Fields expected = ReadAll(whole);

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    for (size_t at = 0; at < text.size();) {
      const size_t piece = std::min<size_t>(text.size() - at, 1 + random() % 200);
      EXPECT_EQ(write(ends[1], text.data() + at, piece), static_cast<ssize_t>(piece));
      at += piece;
    }
    close(ends[1]);
  });
  DelimitedReader pieces(ends[0], kCsv);
  EXPECT_EQ(ReadAll(pieces), expected) << "seed " << seed;
  writer.join();
  close(ends[0]);
}

}  // namespace
}  // namespace eris::cli
