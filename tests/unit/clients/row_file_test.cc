// Files as columns: what is read equals what was written, whatever lies beside it; bad lines are
// named and lose nothing before them.
#include "clients/cli/files/row_file.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/schema_text.h"
#include "eris/key_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"
#include "tests/unit/clients/temp_file.h"
#include "text/expression_text.h"

namespace eris::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const RowFileFormat kTbl{.delimited = {'|', false, true}};
const RowFileFormat kCsv{};

struct ReadRows {
  std::vector<std::string> lines;  // each as text again; null as "-"
  std::vector<std::string> complaints;
};

std::string ShowRow(const Schema& schema, const client::OwnedRows& rows, uint64_t row) {
  std::string line;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (i > 0) line += '|';
    if (rows.IsNull(i, row)) {
      line += '-';
    } else {
      AppendCell(schema.columns[i], rows, i, row, &line);
    }
  }
  return line;
}

// Reads the whole file in batches of rows_max, through one reused batch.
ReadRows ReadAll(const std::string& text, const RowFileFormat& format, const Schema& schema,
                 uint64_t rows_max = 1000) {
  const TempFile temp(text);
  RowFile file(temp.fd(), "f", format, schema);
  ReadRows out;
  absl::Status status = file.Open();
  client::OwnedRows rows;
  // Every second bad line ends its Read.
  const auto on_bad_line = [&](const std::string& complaint) {
    out.complaints.push_back(complaint);
    return out.complaints.size() % 2 == 1;
  };
  while (status.ok()) {
    const absl::StatusOr<RowFile::Result> result = file.Read(rows_max, rows, on_bad_line);
    status = result.status();
    if (!status.ok()) break;
    if (*result == RowFile::Result::kBadLine) continue;  // into the same batch
    EXPECT_LE(rows.rows, rows_max);
    for (uint64_t row = 0; row < rows.rows; ++row) out.lines.push_back(ShowRow(schema, rows, row));
    RowFile::Reset(rows);
    if (*result == RowFile::Result::kEnd) {
      EXPECT_EQ(file.bytes_read(), text.size());
      break;
    }
  }
  if (!status.ok()) out.complaints.push_back(std::string(status.message()));
  return out;
}

Schema SchemaOf(absl::string_view text, absl::string_view key = "") {
  const absl::StatusOr<Schema> schema = ParseSchema(text, key);
  EXPECT_TRUE(schema.ok()) << schema.status();
  return *schema;
}

TEST(RowFileTest, TblOfAllTypesIsReadAsItStands) {
  const Schema schema =
      SchemaOf("a:int64,b:decimal(2),c:string?,d:int32?,e:uint64,f:float64,g:date,h:string");
  const ReadRows read = ReadAll(
      "1|2.50|x|7|8|1.5|1994-01-01|last|\n"
      "-1|-2.50|||18446744073709551615|-1e+20|1970-01-01||\n"
      "\n"
      "3|0.07|a, \"b\"|-7|0|0|2000-02-29|no line end|",
      kTbl, schema);
  EXPECT_THAT(read.complaints, ElementsAre());
  EXPECT_THAT(read.lines, ElementsAre("1|2.50|x|7|8|1.5|1994-01-01|last",
                                      "-1|-2.50|-|-|18446744073709551615|-1e+20|1970-01-01|",
                                      "3|0.07|a, \"b\"|-7|0|0|2000-02-29|no line end"));
}

TEST(RowFileTest, BadLinesAreNamedAndLoseNothingBeforeOrBehind) {
  const Schema schema = SchemaOf("a:int64,b:string,c:decimal(2),d:date");
  const ReadRows read = ReadAll(
      "1|one|1.00|1994-01-01|\n"
      "2|two|1.234|1994-01-01|\n"
      "3|three|3.00|1994-01-01|\n"
      "4|four|4.00|\n"
      "x|five|5.00|1994-01-01|\n"
      "6|six|6.00|1994-02-30|\n"
      "|seven|7.00|1994-01-01|\n"
      "8|eight|8.00|1994-01-01|9|\n"
      "9|nine|9.00|1994-01-01|\n",
      kTbl, schema);
  EXPECT_THAT(read.lines, ElementsAre("1|one|1.00|1994-01-01", "3|three|3.00|1994-01-01",
                                      "9|nine|9.00|1994-01-01"));
  ASSERT_EQ(read.complaints.size(), 6u);
  EXPECT_EQ(read.complaints[0],
            "f line 2: column 3 (c) is '1.234', no decimal from -92233720368547758.08 to "
            "92233720368547758.07 with 2 digits behind the point");
  EXPECT_EQ(read.complaints[1], "f line 4: 3 fields, expected 4");
  EXPECT_THAT(read.complaints[2], HasSubstr("line 5: column 1 (a) is 'x', no number from -92"));
  EXPECT_THAT(read.complaints[3], HasSubstr("line 6: column 4 (d) is '1994-02-30', no date"));
  EXPECT_THAT(read.complaints[4], HasSubstr("line 7: column 1 (a) is empty, and may not be null"));
  EXPECT_EQ(read.complaints[5], "f line 8: 5 fields, expected 4");
}

TEST(RowFileTest, GuessedTypesLoseNoDigits) {
  const Schema schema = SchemaOf("zip:int64?,plz:int64?,x:float64?");
  RowFileFormat format;
  format.guessed = {true, false, true};
  const ReadRows read = ReadAll(
      "10115,007,9007199254740992\n00501,1,1\n\"-01\",1,1\n1,1,9007199254740993\n"
      "0,0,00.5\n-0,0,0.5\n,,\n",
      format, schema);
  EXPECT_THAT(read.lines, ElementsAre("10115|7|9007199254740992", "0|0|0.5", "-|-|-"));
  ASSERT_EQ(read.complaints.size(), 4u);
  EXPECT_EQ(read.complaints[0],
            "f line 2: column 1 (zip) is '00501', of which a number does not keep all digits: "
            "--types 'zip=string' does");
  EXPECT_THAT(read.complaints[2], HasSubstr("line 4: column 3 (x) is '9007199254740993', of"));
}

TEST(RowFileTest, DatesAndFractionsInOtherForms) {
  const Schema schema = SchemaOf("d:date?,x:float64?,p:decimal(2)?,n:int64?");
  RowFileFormat format;
  format.delimited.delimiter = ';';
  format.forms = {.date = "DD.MM.YYYY", .decimal_comma = true};
  const ReadRows read = ReadAll(
      "31.12.2024;1,5;1.234,50;1\n1.2.2025;-1.000.000,25;7;2\n2024-02-29;1e3;0,1;3\n"
      " 1.1.1 ;1;1;4\n;1.5;1;5\n;1,5,5;1;6\n;1.00,5;1;7\n;1,5;1;8\n30.2.2024;1;1;9\n",
      format, schema);
  EXPECT_THAT(read.lines, ElementsAre("2024-12-31|1.5|1234.50|1", "2025-02-01|-1000000.25|7.00|2",
                                      "2024-02-29|1000|0.10|3", "-|1.5|1.00|8"));
  EXPECT_EQ(read.complaints.size(), 5u);
}

TEST(RowFileTest, ExponentsAreNoGroupsOfDigits) {
  RowFileFormat format;
  format.delimited.delimiter = ';';
  format.forms = {.decimal_comma = true};
  const ReadRows read =
      ReadAll("1.2e-10\n1.234e10\n1,2e-10\n1.234\n-1.234,5\n", format, SchemaOf("x:float64"));
  EXPECT_THAT(read.lines, ElementsAre("1.2e-10", "1234", "-1234.5"));
  EXPECT_EQ(read.complaints.size(), 2u);
}

TEST(RowFileTest, NullsMayBeInQuotesUnlessTheyAreText) {
  RowFileFormat format;
  format.nulls = {"NA"};
  const ReadRows read =
      ReadAll("\"1\",\"NA\"\n\"NA\",NA\n", format, SchemaOf("n:int64?,s:string?"));
  EXPECT_THAT(read.complaints, ElementsAre());
  EXPECT_THAT(read.lines, ElementsAre("1|NA", "-|-"));
}

TEST(RowFileTest, FormsOfDatesAreChecked) {
  for (const char* good : {"DD.MM.YYYY", "YYYYMMDD", "MM/DD/YYYY", "YYYY-MM-DD"}) {
    EXPECT_EQ(CheckDateForm(good), "");
  }
  for (const char* bad : {"", "DD.MM.YY", "DD.MM", "DD.MM.YYYYY", "DDD.MM.YYYY", "D1D.MM.YYYY",
                          "DD.MM.YYYY1", "MM.MM.YYYY"}) {
    EXPECT_NE(CheckDateForm(bad), "") << bad;
  }
}

TEST(RowFileTest, StringsAreTextAndBytesAreNot) {
  const Schema schema = SchemaOf("a:int64,s:string?,b:bytes?");
  const ReadRows read = ReadAll(
      "1,caf\xc3\xa9,caf\xe9\n"
      "2,caf\xe9,x\n"
      "3,\"\xff\",x\n"
      "4,\\x00,\\x00FF\n"
      "5,,\\x\n"
      "6,,\n"
      "7,,\\x0\n"
      "8,,\"\\x2c\"\n"
      "9,\xc3\n"
      "10,\xe2\x82\xac,end",
      kCsv, schema);
  EXPECT_THAT(read.lines, ElementsAre("1|caf\xc3\xa9|caf\xe9", std::string("4|\\x00|\0\xff", 9),
                                      "5|-|", "6|-|-", "8|-|,", "10|\xe2\x82\xac|end"));
  ASSERT_EQ(read.complaints.size(), 4u);
  EXPECT_EQ(
      read.complaints[0],
      "f line 2: column 2 (s) is 'caf\\xe9', which is not UTF-8, and a string is text: a column "
      "of type bytes takes any bytes");
  EXPECT_THAT(read.complaints[1], HasSubstr("line 3: column 2 (s) is '\\xff', which is not UTF-8"));
  EXPECT_THAT(
      read.complaints[2],
      HasSubstr("line 7: column 3 (b) is '\\x0', no value of at most 65535 bytes, as they are "
                "or in hexadecimal digits behind \\x"));
  EXPECT_THAT(read.complaints[3], HasSubstr("line 9: 2 fields, expected 3"));
}

// Blocks of a file end anywhere, also within a character.
TEST(RowFileTest, CharactersAcrossTheBlocksOfAFileAreText) {
  const Schema schema = SchemaOf("s:string");
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'x');
    while (text.size() < 600 << 10) text += "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\n";
    const ReadRows good = ReadAll(text, kTbl, schema, 100'000);
    EXPECT_THAT(good.complaints, ElementsAre());
    EXPECT_EQ(good.lines.size(), static_cast<size_t>(std::count(text.begin(), text.end(), '\n')));
    const size_t fault = (256 << 10) + shift;
    text[fault] = text[fault] == '\n' ? '\n' : '\xff';
    const ReadRows bad = ReadAll(text, kTbl, schema, 100'000);
    EXPECT_EQ(bad.complaints.size(), text[fault] == '\n' ? 0u : 1u);
    EXPECT_EQ(bad.lines.size() + bad.complaints.size(), good.lines.size());
  }
}

TEST(RowFileTest, CsvHasQuotesAndLineEndsInThem) {
  const Schema schema = SchemaOf("a:int64,b:string?,c:string?");
  const ReadRows read = ReadAll(
      "1,\"a, \"\"b\"\"\nc\",x\r\n"
      "\"2\",,\"\"\r\n"
      "3,\"open\n"
      "4,y,z\n",
      kCsv, schema);
  EXPECT_THAT(read.lines, ElementsAre("1|a, \"b\"\nc|x", "2|-|", "4|y|z"));
  ASSERT_EQ(read.complaints.size(), 1u);
  EXPECT_THAT(read.complaints[0], HasSubstr("f line 4: a quote is not closed"));
}

TEST(RowFileTest, HeaderNamesTheColumnsInAnyOrder) {
  const Schema schema = SchemaOf("a:int64,b:string");
  RowFileFormat format;
  format.header = true;
  EXPECT_THAT(ReadAll("\xef\xbb\xbf"
                      "b,other,\"a\"\nx,ignored,1\ny,,2\n",
                      format, schema)
                  .lines,
              ElementsAre("1|x", "2|y"));
  EXPECT_THAT(ReadAll("b,c\nx,1\n", format, schema).complaints,
              ElementsAre(HasSubstr("no column 'a'")));
  EXPECT_THAT(ReadAll("a,b,a\n1,x,1\n", format, schema).complaints,
              ElementsAre(HasSubstr("'a' twice")));
  EXPECT_THAT(ReadAll("", format, schema).complaints, ElementsAre(HasSubstr("no column")));
  format.header.reset();
  EXPECT_THAT(ReadAll("b,a\nx,1\n", format, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(ReadAll("1,x\n", format, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(
      ReadAll("a,c\n1,x\n", format, schema).complaints,
      ElementsAre("f: the header has no column 'b' of the table; if the first line, with 'a' "
                  "in it, is a row, say --no-header"));
  EXPECT_THAT(ReadAll("", format, schema).complaints, ElementsAre());
}

TEST(RowFileTest, AHeaderInOtherLettersAndAnotherDelimiterAreNamed) {
  const Schema schema = SchemaOf("a:int64,b:string");
  RowFileFormat format;
  format.header.reset();
  EXPECT_THAT(ReadAll("A,B\n1,x\n", format, schema).complaints,
              ElementsAre("f: the header has no column 'a' of the table; it has 'A', and upper and "
                          "lower case differ"));
  EXPECT_THAT(ReadAll("a,B\n1,x\n", format, schema).complaints,
              ElementsAre(HasSubstr("no column 'b' of the table; it has 'B', and upper")));
  EXPECT_THAT(ReadAll("1;x\n", format, schema).complaints,
              ElementsAre("f line 1: 1 fields, expected 2; the line has no ',' but ';': give "
                          "--delimiter ';'"));
  format.header = true;
  EXPECT_THAT(ReadAll("a;b\n1;x\n", format, schema).complaints,
              ElementsAre(HasSubstr("no column 'a' of the table; the line has no ',' but ';'")));
  format.header.reset();
  EXPECT_THAT(ReadAll("1,B\n", format, schema).lines, ElementsAre("1|B"));
}

TEST(RowFileTest, LongStringsAreTakenUpToTheirLimit) {
  const Schema schema = SchemaOf("a:string,b:int32");
  const std::string longest(kTableStringBytesMax, 'x');
  const ReadRows read =
      ReadAll(absl::StrCat(longest, "|1|\n", longest, "y|2|\nz|3|\n"), kTbl, schema);
  EXPECT_THAT(read.lines, ElementsAre(longest + "|1", "z|3"));
  EXPECT_THAT(read.complaints, ElementsAre(HasSubstr("line 2: column 1 (a) is 'xxx")));
  const ReadRows endless = ReadAll(std::string(9 << 20, 'x') + "\nq|4|\n", kTbl, schema);
  EXPECT_THAT(endless.lines, ElementsAre("q|4"));
  EXPECT_FALSE(endless.complaints.empty());
}

TEST(RowFileTest, TailOfALineThatIsTooLongIsNoRow) {
  const Schema schema = SchemaOf("a:string,b:int32");
  // Cut behind the fifth block, with what could be a row behind it.
  const ReadRows read =
      ReadAll(absl::StrCat(std::string(5 << 20, 'x'), "1|2|3|\n", "y|4|\n"), kTbl, schema);
  EXPECT_THAT(read.lines, ElementsAre("y|4"));
  EXPECT_THAT(read.complaints, ElementsAre(HasSubstr("f line 1: longer than 4194304 bytes")));
  const ReadRows last = ReadAll(absl::StrCat("z|1|\n", std::string(5 << 20, 'x'), "1|2|"), kTbl,
                                SchemaOf("a:string,b:int32"));
  EXPECT_THAT(last.lines, ElementsAre("z|1"));
  EXPECT_EQ(last.complaints.size(), 1u);
}

TEST(RowFileTest, BadLinesDoNotWidenABatch) {
  constexpr uint64_t kTextMax = 9 << 20;  // 8 MiB, and a record
  const Schema schema = SchemaOf("a:string,b:int32");
  std::string text;
  for (int i = 0; i < 400; ++i) {
    absl::StrAppend(&text, std::string(60'000, 'x'), "|", i % 7 == 6 ? "bad" : "1", "|\n");
  }
  const TempFile temp(text);
  RowFile file(temp.fd(), "f", kTbl, schema);
  ASSERT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  uint64_t count = 0;
  for (;;) {
    const absl::StatusOr<RowFile::Result> result =
        file.Read(100'000, rows, [](const std::string&) { return true; });
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_NE(*result, RowFile::Result::kBadLine);
    EXPECT_LE(rows.columns[0].values.size(), kTextMax);
    count += rows.rows;
    RowFile::Reset(rows);
    if (*result == RowFile::Result::kEnd) break;
  }
  EXPECT_EQ(count, 400u - 400 / 7);
}

// Each Read lays out room for all rows of a batch, 100 MB of it for 200 columns: once for a batch,
// however many of its lines are bad.
TEST(RowFileTest, BadLinesOfAWideFileAreReadInAsFewReadsAsGoodOnes) {
  constexpr int kColumns = 200;
  constexpr int kLines = 2'000;
  std::vector<std::string> columns;
  for (int i = 0; i < kColumns; ++i) columns.push_back(absl::StrCat("c", i, ":int64"));
  const Schema schema = SchemaOf(absl::StrJoin(columns, ","));
  for (const bool half_bad : {false, true}) {
    std::string text;
    for (int i = 0; i < kLines; ++i) {
      text += half_bad && i % 2 == 1 ? "bad" : "1";
      for (int column = 1; column < kColumns; ++column) text += "|1";
      text += "|\n";
    }
    const TempFile temp(text);
    RowFile file(temp.fd(), "f", kTbl, schema);
    ASSERT_TRUE(file.Open().ok());
    client::OwnedRows rows;
    int reads = 0;
    int bad = 0;
    uint64_t count = 0;
    for (bool more = true; more; ++reads) {
      RowFile::Reset(rows);
      const absl::StatusOr<RowFile::Result> result =
          file.Read(kLines, rows, [&](const std::string&) { return ++bad > 0; });
      ASSERT_TRUE(result.ok()) << result.status();
      count += rows.rows;
      more = *result != RowFile::Result::kEnd;
    }
    EXPECT_EQ(bad, half_bad ? kLines / 2 : 0);
    EXPECT_EQ(count, static_cast<uint64_t>(kLines - bad));
    EXPECT_LE(reads, 2);
  }
}

TEST(RowFileTest, KeysThatAreNotNumbersAreBadLines) {
  const ReadRows read =
      ReadAll("1.5|nan|\nnan|2|\n-inf|3|\n-NAN|4|\n", kTbl, SchemaOf("a:float64,b:float64", "a"));
  EXPECT_THAT(read.lines, ElementsAre("1.5|nan", "-inf|3"));
  ASSERT_EQ(read.complaints.size(), 2u);
  EXPECT_THAT(read.complaints[0], HasSubstr("f line 2: column 1 (a) is 'nan', no number"));
  EXPECT_THAT(read.complaints[0], HasSubstr("(inf and -inf are, nan is not)"));
}

TEST(RowFileTest, ByteOrderMarkIsNoPartOfTheFirstField) {
  const std::string mark = "\xef\xbb\xbf";
  const Schema schema = SchemaOf("a:int64,b:string");
  EXPECT_THAT(ReadAll(mark + "1,x\n2,y\n", kCsv, schema).lines, ElementsAre("1|x", "2|y"));
  RowFileFormat either = kCsv;
  either.header.reset();
  EXPECT_THAT(ReadAll(mark + "1,x\n", either, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(ReadAll(mark + "\"1\",x\n", kCsv, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(ReadAll(mark + "a,b\n1,x\n", either, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(ReadAll(mark, kCsv, schema).complaints, ElementsAre());
  EXPECT_THAT(ReadAll("1," + mark + "\n", kCsv, schema).lines, ElementsAre("1|" + mark));
}

TEST(RowFileTest, TblHasNoByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_THAT(ReadAll(mark + "x|\n", kTbl, SchemaOf("a:string")).lines, ElementsAre(mark + "x"));
  EXPECT_THAT(ReadAll(mark + "1|\n", kTbl, SchemaOf("a:int32")).complaints.size(), 1u);
}

TEST(RowFileTest, OneFieldInQuotesIsARowAndNoEmptyLine) {
  EXPECT_THAT(ReadAll("\"\"\na\n\n\"\"\r\n\r\n", kCsv, SchemaOf("a:string")).lines,
              ElementsAre("", "a", ""));
  // Where the one field may be null an empty line is one.
  EXPECT_THAT(ReadAll("\"\"\na\n\n", kCsv, SchemaOf("a:string?")).lines, ElementsAre("", "a", "-"));
  EXPECT_THAT(ReadAll("1\n\n", kCsv, SchemaOf("a:int32?")).lines, ElementsAre("1", "-"));
  const ReadRows quotes = ReadAll("\"\"\n1,2\n", kCsv, SchemaOf("a:int32,b:int32"));
  EXPECT_THAT(quotes.lines, ElementsAre("1|2"));
  EXPECT_THAT(quotes.complaints, ElementsAre("f line 1: 1 fields, expected 2"));
}

TEST(RowFileTest, InterruptEndsAReadThatWaitsForAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "1|\n", 3), 3);
  RowFile file(ends[0], "f", kTbl, SchemaOf("a:int32"));
  ASSERT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  absl::Status status;
  std::thread reader(
      [&] { status = file.Read(10, rows, [](const std::string&) { return true; }).status(); });
  file.Interrupt();
  reader.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  close(ends[0]);
  close(ends[1]);
}

// Lines are counted through quotes, empty lines and a quote that nobody closes.
TEST(RowFileTest, EndlessQuoteIsGivenUpAfterTheLimitAndReadingGoesOn) {
  const Schema schema = SchemaOf("a:int64,b:string");
  std::string text = "1,\"x\ny\"\r\n\n\"3,4\n";
  const size_t lines = kRecordBytesMax / 4 + 1000;
  for (size_t i = 0; i < lines; ++i) text += "5,6\n";
  text += "bad,7\n";
  const ReadRows read = ReadAll(text, kCsv, schema, 1 << 20);
  ASSERT_EQ(read.lines.size(), lines + 1);
  EXPECT_EQ(read.lines[0], "1|x\ny");
  EXPECT_EQ(read.lines[1], "5|6");
  ASSERT_EQ(read.complaints.size(), 2u);
  EXPECT_THAT(read.complaints[0], HasSubstr("f line 4: longer than 4194304 bytes"));
  EXPECT_THAT(read.complaints[1], HasSubstr(absl::StrCat("f line ", lines + 5, ": column 1 (a)")));
}

TEST(RowFileTest, TextInRandomPiecesGivesTheSameRows) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  const Schema schema = SchemaOf("a:string,b:string?,c:string");
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    static const std::vector<std::string> kFields = {"1", "", "\"a\"\"b\"", "\"x\ny\"", "\",\""};
    for (int field = 0; field < 3; ++field) {
      text += kFields[random() % kFields.size()] + (field < 2 ? "," : "");
    }
    text += random() % 2 == 0 ? "\n" : "\r\n";
  }
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
  RowFile file(ends[0], "f", kCsv, schema);
  EXPECT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  const auto result = file.Read(10'000, rows, [](const std::string&) { return true; });
  writer.join();
  close(ends[0]);
  ASSERT_TRUE(result.ok() && *result == RowFile::Result::kEnd);
  std::vector<std::string> lines;
  for (uint64_t row = 0; row < rows.rows; ++row) lines.push_back(ShowRow(schema, rows, row));
  EXPECT_EQ(lines, ReadAll(text, kCsv, schema, 10'000).lines);
  EXPECT_EQ(lines.size(), 3000u);
}

// Random rows, some of them bad, in batches of all sizes, over many blocks.
TEST(RowFileTest, RandomFilesAreReadAsTheyWereWritten) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  const Schema schema = SchemaOf("a:int64,b:decimal(3)?,c:string?,d:date,e:int32,f:string");
  for (const bool csv : {false, true}) {
    for (const uint64_t rows_max : {1u, 7u, 1000u, 16384u}) {
      std::string text;
      std::vector<std::string> expected;
      size_t bad = 0;
      const uint64_t count = rows_max < 100 ? 300 : 12'000;
      for (uint64_t i = 0; i < count; ++i) {
        const char delimiter = csv ? ',' : '|';
        const auto number = static_cast<int64_t>(random() >> below(64)) * (below(2) ? 1 : -1);
        const int64_t cents = number >> below(40);
        std::string decimal;
        text::AppendDecimal(cents, 3, &decimal);
        std::string word(below(40), static_cast<char>('a' + below(26)));
        std::string last(below(9), 'z');
        const std::string date = DateText(static_cast<int32_t>(below(80'000)) - 30'000);
        const auto small = static_cast<int32_t>(random());
        const bool no_decimal = below(9) == 0;
        const bool quoted = csv && below(3) == 0;
        if (quoted) word += "\"\n,";
        if (quoted && last.empty()) last = "z";
        std::string shown_word = word.empty() && !quoted ? "-" : word;
        std::string in_file = word;
        if (quoted) {
          in_file = "\"";
          for (const char c : word) in_file += c == '"' ? std::string("\"\"") : std::string(1, c);
          in_file += '"';
        }
        const bool is_bad = below(50) == 0;
        std::string line = absl::StrCat(
            number, std::string(1, delimiter), no_decimal ? "" : decimal, std::string(1, delimiter),
            in_file, std::string(1, delimiter), is_bad ? "1999-99-99" : date,
            std::string(1, delimiter), small, std::string(1, delimiter), last);
        if (!csv) line += '|';
        text += line + (csv && below(2) == 0 ? "\r\n" : "\n");
        if (is_bad) {
          ++bad;
          continue;
        }
        expected.push_back(absl::StrCat(number, "|", no_decimal ? "-" : decimal, "|", shown_word,
                                        "|", date, "|", small, "|", last));
      }
      const ReadRows read = ReadAll(text, csv ? kCsv : kTbl, schema, rows_max);
      ASSERT_EQ(read.lines.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(read.lines[i], expected[i]);
      EXPECT_EQ(read.complaints.size(), bad);
    }
  }
}

}  // namespace
}  // namespace eris::cli
