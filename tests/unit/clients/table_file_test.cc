// Files as columns: what is read equals what was written, whatever lies beside it; bad lines are
// named and lose nothing before them.
#include "clients/cli/files/table_file.h"

#include <unistd.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/files/field_text.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/files/tpch_tables.h"
#include "clients/expression_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TableFileFormat kTbl{.delimited = {'|', false, true}};
constexpr TableFileFormat kCsv{};

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
      continue;
    }
    switch (schema.columns[i].type) {
      case ColumnType::kInt32:
        absl::StrAppend(&line, rows.Get<int32_t>(i, row));
        break;
      case ColumnType::kInt64:
        absl::StrAppend(&line, rows.Get<int64_t>(i, row));
        break;
      case ColumnType::kUint64:
        absl::StrAppend(&line, rows.Get<uint64_t>(i, row));
        break;
      case ColumnType::kFloat64:
        absl::StrAppend(&line, rows.Get<double>(i, row));
        break;
      case ColumnType::kDate:
        line += DateText(rows.Get<int32_t>(i, row));
        break;
      case ColumnType::kDecimal:
        client::AppendDecimal(rows.Get<int64_t>(i, row), schema.columns[i].scale, &line);
        break;
      default: {
        const absl::string_view text = rows.GetString(i, row);
        line.append(text.data(), text.size());
      }
    }
  }
  return line;
}

// Reads the whole file in batches of rows_max, through one reused batch.
ReadRows ReadAll(const std::string& text, const TableFileFormat& format, const Schema& schema,
                 uint64_t rows_max = 1000) {
  const TempFile temp(text);
  TableFile file(temp.fd(), "f", format, schema);
  ReadRows out;
  absl::Status status = file.Open();
  client::OwnedRows rows;
  // Every second bad line ends its Read.
  const auto on_bad_line = [&](const std::string& complaint) {
    out.complaints.push_back(complaint);
    return out.complaints.size() % 2 == 1;
  };
  while (status.ok()) {
    const absl::StatusOr<TableFile::Result> result = file.Read(rows_max, rows, on_bad_line);
    status = result.status();
    if (!status.ok()) break;
    if (*result == TableFile::Result::kBadLine) continue;  // into the same batch
    EXPECT_LE(rows.rows, rows_max);
    for (uint64_t row = 0; row < rows.rows; ++row) out.lines.push_back(ShowRow(schema, rows, row));
    TableFile::Reset(rows);
    if (*result == TableFile::Result::kEnd) {
      EXPECT_EQ(file.bytes_read(), text.size());
      break;
    }
  }
  if (!status.ok()) out.complaints.push_back(std::string(status.message()));
  return out;
}

Schema Schema(absl::string_view text) {
  const absl::StatusOr<Schema> schema = ParseSchema(text, "");
  EXPECT_TRUE(schema.ok()) << schema.status();
  return *schema;
}

TEST(SchemaTextTest, TextAndSchemaAreTheSame) {
  const std::string text = "a:int64,b:decimal(2),c:string?,d:int32,e:uint64,f:double?,g:date";
  EXPECT_EQ(SchemaText(Schema(text)), text);
  const absl::StatusOr<Schema> keyed = ParseSchema(" a:int64 , b : date", "b, a");
  ASSERT_TRUE(keyed.ok()) << keyed.status();
  EXPECT_THAT(keyed->key, ElementsAre(1u, 0u));
  EXPECT_EQ(TableKeyText(*keyed), "b,a");
  for (const char* bad : {"", "a", "a:", ":int64", "a:text", "a:decimal", "a:decimal(19)",
                          "a:int64(2)", "a:decimal(x)", "a:int64,,b:int64", "tpch:nothing"}) {
    EXPECT_EQ(ParseSchema(bad, "").status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_THAT(std::string(ParseSchema("a:int64,b:date", "nosuch").status().message()),
              HasSubstr("no column 'nosuch', its columns are a, b"));
  EXPECT_THAT(std::string(ParseSchema("a:int64,b:date", "1").status().message()),
              HasSubstr("no column '1', its columns are a, b (by name, not by number)"));
}

TEST(SchemaTextTest, LineitemOfTpchHasItsTypesAndKey) {
  const Schema schema = Schema("tpch:lineitem");
  EXPECT_EQ(SchemaText(schema),
            "l_orderkey:int64,l_partkey:int64,l_suppkey:int64,l_linenumber:int32,"
            "l_quantity:decimal(2),l_extendedprice:decimal(2),l_discount:decimal(2),"
            "l_tax:decimal(2),l_returnflag:string,l_linestatus:string,l_shipdate:date,"
            "l_commitdate:date,l_receiptdate:date,l_shipinstruct:string,l_shipmode:string,"
            "l_comment:string");
  EXPECT_EQ(TableKeyText(schema), "l_orderkey,l_linenumber");
  EXPECT_EQ(ParseSchema("tpch:lineitem", "none")->key.size(), 0u);
  for (const char* table :
       {"orders", "customer", "part", "partsupp", "supplier", "nation", "region"}) {
    EXPECT_FALSE(TpchSchema(table).key.empty()) << table;
  }
}

template <class T>
bool Parses(absl::string_view text, T expected) {
  std::string padded(text);
  padded.append(16, '7');  // what lies behind a field must not matter
  T number{};
  return ParseField(absl::string_view(padded).substr(0, text.size()), number) && number == expected;
}
bool ParsesDecimal(absl::string_view text, uint8_t scale, int64_t expected) {
  std::string padded(text);
  padded.append(16, '7');
  int64_t number = 0;
  return ParseDecimalField(absl::string_view(padded).substr(0, text.size()), scale, number) &&
         number == expected;
}
bool ParsesDate(absl::string_view text, absl::string_view expected) {
  std::string padded(text);
  padded.append(16, '7');
  int32_t days = 0;
  return ParseDateField(absl::string_view(padded).substr(0, text.size()), days) &&
         DateText(days) == expected;
}

TEST(FieldTextTest, NumbersToTheirLimits) {
  EXPECT_TRUE(Parses<uint64_t>("0", 0));
  EXPECT_TRUE(Parses<uint64_t>("00000000000000000012", 12));
  EXPECT_TRUE(Parses<uint64_t>("18446744073709551615", ~uint64_t{0}));
  EXPECT_TRUE(Parses<int64_t>("-9223372036854775808", std::numeric_limits<int64_t>::min()));
  EXPECT_TRUE(Parses<int32_t>("2147483647", 2147483647));
  EXPECT_TRUE(Parses<int32_t>("-2147483648", std::numeric_limits<int32_t>::min()));
  EXPECT_TRUE(Parses<double>("1e-7", 1e-7));
  uint64_t u = 0;
  int64_t i = 0;
  int32_t n = 0;
  double d = 0;
  for (const char* bad :
       {"", "-", "+1", " 1", "1 ", "1a", "18446744073709551616", "1.0", "/", ":"}) {
    const std::string padded = std::string(bad) + "00000000";
    const absl::string_view text = absl::string_view(padded).substr(0, std::strlen(bad));
    EXPECT_FALSE(ParseField(text, u)) << bad;
    EXPECT_FALSE(ParseField(text, i)) << bad;
    EXPECT_FALSE(ParseField(text, n)) << bad;
  }
  const std::string too_large = "2147483648        ", words = "abc             ";
  EXPECT_FALSE(ParseField(absl::string_view(too_large).substr(0, 10), n));
  EXPECT_FALSE(ParseField(absl::string_view(words).substr(0, 3), d));
}

TEST(FieldTextTest, DecimalsKeepTheirScale) {
  EXPECT_TRUE(ParsesDecimal("0.05", 2, 5));
  EXPECT_TRUE(ParsesDecimal("901.00", 2, 90100));
  EXPECT_TRUE(ParsesDecimal("104949.50", 2, 10494950));
  EXPECT_TRUE(ParsesDecimal("17", 2, 1700));
  EXPECT_TRUE(ParsesDecimal("-17.5", 2, -1750));
  EXPECT_TRUE(ParsesDecimal(".5", 2, 50));
  EXPECT_TRUE(ParsesDecimal("5.", 2, 500));
  EXPECT_TRUE(ParsesDecimal("1.2300", 2, 123));
  EXPECT_TRUE(ParsesDecimal("-92233720368547758.08", 2, std::numeric_limits<int64_t>::min()));
  EXPECT_TRUE(ParsesDecimal("9223372036854775807", 0, std::numeric_limits<int64_t>::max()));
  EXPECT_TRUE(ParsesDecimal("9.223372036854775807", 18, std::numeric_limits<int64_t>::max()));
  for (const char* bad :
       {"", ".", "-", "1.234", "1e3", "1.2.3", "--1", "a.bc", "1.x0", "x1.00",
        "92233720368547758.08", "99999999999999999999", "12345678901234567.89x"}) {
    const std::string padded = std::string(bad) + "0000000000000000";
    int64_t number = 0;
    EXPECT_FALSE(
        ParseDecimalField(absl::string_view(padded).substr(0, std::strlen(bad)), 2, number))
        << bad;
  }
}

TEST(FieldTextTest, EveryDayIsReadAndNoOtherOne) {
  for (int32_t days = -40'000; days < 60'000; ++days) {
    const std::string text = DateText(days);
    ASSERT_TRUE(ParsesDate(text, text));
  }
  EXPECT_TRUE(ParsesDate("0001-01-01", "0001-01-01"));
  EXPECT_TRUE(ParsesDate("10000-01-01", "10000-01-01"));
  for (const char* bad :
       {"1999-02-29", "1900-02-29", "2000-13-01", "2000-00-01", "2000-01-00", "2000-01-32",
        "2000/01/01", "2000-1-001", "20x0-01-01", "x000-01-01", ""}) {
    std::string padded = std::string(bad) + "0000000000";
    int32_t days = 0;
    EXPECT_FALSE(ParseDateField(absl::string_view(padded).substr(0, std::strlen(bad)), days))
        << bad;
  }
}

TEST(TableFileTest, TblOfAllTypesIsReadAsItStands) {
  const Schema schema =
      Schema("a:int64,b:decimal(2),c:string?,d:int32?,e:uint64,f:double,g:date,h:string");
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

TEST(TableFileTest, BadLinesAreNamedAndLoseNothingBeforeOrBehind) {
  const Schema schema = Schema("a:int64,b:string,c:decimal(2),d:date");
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

TEST(TableFileTest, CsvHasQuotesAndLineEndsInThem) {
  const Schema schema = Schema("a:int64,b:string?,c:string?");
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

TEST(TableFileTest, HeaderNamesTheColumnsInAnyOrder) {
  const Schema schema = Schema("a:int64,b:string");
  TableFileFormat format;
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

TEST(TableFileTest, AHeaderInOtherLettersAndAnotherDelimiterAreNamed) {
  const Schema schema = Schema("a:int64,b:string");
  TableFileFormat format;
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

TEST(TableFileTest, LongStringsAreTakenUpToTheirLimit) {
  const Schema schema = Schema("a:string,b:int32");
  const std::string longest(kTableStringBytesMax, 'x');
  const ReadRows read =
      ReadAll(absl::StrCat(longest, "|1|\n", longest, "y|2|\nz|3|\n"), kTbl, schema);
  EXPECT_THAT(read.lines, ElementsAre(longest + "|1", "z|3"));
  EXPECT_THAT(read.complaints, ElementsAre(HasSubstr("line 2: column 1 (a) is 'xxx")));
  const ReadRows endless = ReadAll(std::string(3 << 20, 'x') + "\nq|4|\n", kTbl, schema);
  EXPECT_THAT(endless.lines, ElementsAre("q|4"));
  EXPECT_FALSE(endless.complaints.empty());
}

TEST(TableFileTest, TailOfALineThatIsTooLongIsNoRow) {
  const Schema schema = Schema("a:string,b:int32");
  // Cut behind the fifth block, with what could be a row behind it.
  const ReadRows read =
      ReadAll(absl::StrCat(std::string(5 << 18, 'x'), "1|2|3|\n", "y|4|\n"), kTbl, schema);
  EXPECT_THAT(read.lines, ElementsAre("y|4"));
  EXPECT_THAT(read.complaints, ElementsAre(HasSubstr("f line 1: longer than 1048576 bytes")));
  const ReadRows last = ReadAll(absl::StrCat("z|1|\n", std::string(5 << 18, 'x'), "1|2|"), kTbl,
                                Schema("a:string,b:int32"));
  EXPECT_THAT(last.lines, ElementsAre("z|1"));
  EXPECT_EQ(last.complaints.size(), 1u);
}

TEST(TableFileTest, BadLinesDoNotWidenABatch) {
  constexpr uint64_t kTextMax = 9 << 20;  // 8 MiB, and a record
  const Schema schema = Schema("a:string,b:int32");
  std::string text;
  for (int i = 0; i < 400; ++i) {
    absl::StrAppend(&text, std::string(60'000, 'x'), "|", i % 7 == 6 ? "bad" : "1", "|\n");
  }
  const TempFile temp(text);
  TableFile file(temp.fd(), "f", kTbl, schema);
  ASSERT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  uint64_t count = 0;
  for (;;) {
    const absl::StatusOr<TableFile::Result> result =
        file.Read(100'000, rows, [](const std::string&) { return true; });
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_NE(*result, TableFile::Result::kBadLine);
    EXPECT_LE(rows.columns[0].values.size(), kTextMax);
    count += rows.rows;
    TableFile::Reset(rows);
    if (*result == TableFile::Result::kEnd) break;
  }
  EXPECT_EQ(count, 400u - 400 / 7);
}

// Each Read lays out room for all rows of a batch, 100 MB of it for 200 columns: once for a batch,
// however many of its lines are bad.
TEST(TableFileTest, BadLinesOfAWideFileAreReadInAsFewReadsAsGoodOnes) {
  constexpr int kColumns = 200;
  constexpr int kLines = 2'000;
  std::vector<std::string> columns;
  for (int i = 0; i < kColumns; ++i) columns.push_back(absl::StrCat("c", i, ":int64"));
  const Schema schema = Schema(absl::StrJoin(columns, ","));
  for (const bool half_bad : {false, true}) {
    std::string text;
    for (int i = 0; i < kLines; ++i) {
      text += half_bad && i % 2 == 1 ? "bad" : "1";
      for (int column = 1; column < kColumns; ++column) text += "|1";
      text += "|\n";
    }
    const TempFile temp(text);
    TableFile file(temp.fd(), "f", kTbl, schema);
    ASSERT_TRUE(file.Open().ok());
    client::OwnedRows rows;
    int reads = 0;
    int bad = 0;
    uint64_t count = 0;
    for (bool more = true; more; ++reads) {
      TableFile::Reset(rows);
      const absl::StatusOr<TableFile::Result> result =
          file.Read(kLines, rows, [&](const std::string&) { return ++bad > 0; });
      ASSERT_TRUE(result.ok()) << result.status();
      count += rows.rows;
      more = *result != TableFile::Result::kEnd;
    }
    EXPECT_EQ(bad, half_bad ? kLines / 2 : 0);
    EXPECT_EQ(count, static_cast<uint64_t>(kLines - bad));
    EXPECT_LE(reads, 2);
  }
}

TEST(TableFileTest, KeysThatAreNotNumbersAreBadLines) {
  const absl::StatusOr<Schema> schema = ParseSchema("a:double,b:double", "a");
  ASSERT_TRUE(schema.ok());
  const ReadRows read = ReadAll("1.5|nan|\nnan|2|\n-inf|3|\n-NAN|4|\n", kTbl, *schema);
  EXPECT_THAT(read.lines, ElementsAre("1.5|nan", "-inf|3"));
  ASSERT_EQ(read.complaints.size(), 2u);
  EXPECT_THAT(read.complaints[0], HasSubstr("f line 2: column 1 (a) is 'nan', no number"));
  EXPECT_THAT(read.complaints[0], HasSubstr("a key is not NaN"));
}

TEST(TableFileTest, ByteOrderMarkIsNoPartOfTheFirstField) {
  const std::string mark = "\xef\xbb\xbf";
  const Schema schema = Schema("a:int64,b:string");
  EXPECT_THAT(ReadAll(mark + "1,x\n2,y\n", kCsv, schema).lines, ElementsAre("1|x", "2|y"));
  TableFileFormat either = kCsv;
  either.header.reset();
  EXPECT_THAT(ReadAll(mark + "1,x\n", either, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(ReadAll(mark + "\"1\",x\n", kCsv, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(ReadAll(mark + "a,b\n1,x\n", either, schema).lines, ElementsAre("1|x"));
  EXPECT_THAT(ReadAll(mark, kCsv, schema).complaints, ElementsAre());
  EXPECT_THAT(ReadAll("1," + mark + "\n", kCsv, schema).lines, ElementsAre("1|" + mark));
}

TEST(TableFileTest, TblHasNoByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_THAT(ReadAll(mark + "x|\n", kTbl, Schema("a:string")).lines, ElementsAre(mark + "x"));
  EXPECT_THAT(ReadAll(mark + "1|\n", kTbl, Schema("a:int32")).complaints.size(), 1u);
}

TEST(TableFileTest, OneFieldInQuotesIsARowAndNoEmptyLine) {
  EXPECT_THAT(ReadAll("\"\"\na\n\n\"\"\r\n\r\n", kCsv, Schema("a:string")).lines,
              ElementsAre("", "a", ""));
  // Where the one field may be null an empty line is one.
  EXPECT_THAT(ReadAll("\"\"\na\n\n", kCsv, Schema("a:string?")).lines, ElementsAre("", "a", "-"));
  EXPECT_THAT(ReadAll("1\n\n", kCsv, Schema("a:int32?")).lines, ElementsAre("1", "-"));
  const ReadRows quotes = ReadAll("\"\"\n1,2\n", kCsv, Schema("a:int32,b:int32"));
  EXPECT_THAT(quotes.lines, ElementsAre("1|2"));
  EXPECT_THAT(quotes.complaints, ElementsAre("f line 1: 1 fields, expected 2"));
}

TEST(TableFileTest, InterruptEndsAReadThatWaitsForAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "1|\n", 3), 3);
  TableFile file(ends[0], "f", kTbl, Schema("a:int32"));
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

// Random rows, some of them bad, in batches of all sizes, over many blocks.
TEST(TableFileTest, RandomFilesAreReadAsTheyWereWritten) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  const Schema schema = Schema("a:int64,b:decimal(3)?,c:string?,d:date,e:int32,f:string");
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
        client::AppendDecimal(cents, 3, &decimal);
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
