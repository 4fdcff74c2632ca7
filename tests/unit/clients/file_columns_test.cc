// Which columns of a file an index keeps, as its import reads them.
#include "clients/cli/files/file_columns.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/row_file.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

constexpr DelimitedFormat kTbl{'|', false, true};
constexpr KeyTypes kPairs{ColumnType::kUint64, ColumnType::kUint64};

// How the file is read.
struct Choice {
  DelimitedFormat delimited{};
  std::optional<bool> header{};
  std::string table{};
  std::vector<std::string> key{"1"};
  std::string value{};
  KeyTypes types{};
};
RowFileFormat FormatOf(const Choice& choice) {
  return {.delimited = choice.delimited,
          .header = choice.header,
          .choice = ColumnChoice{choice.key, choice.value, choice.table}};
}

// Rows as "key=value" or "first/second=value", bad lines as their complaint, with `hints` behind.
std::vector<std::string> Import(const std::string& text, const Choice& choice, bool hints = false) {
  const TempFile content(text);
  const Schema schema = KeyValueSchema(choice.types);
  RowFile file(content.fd(), "f", FormatOf(choice), schema);
  const absl::Status status = file.Open();
  if (!status.ok()) return {std::string(status.message())};
  std::vector<std::string> seen;
  client::OwnedRows rows;
  for (;;) {
    RowFile::Reset(rows);
    std::string bad;
    const auto result = file.Read(1000, rows, [&](const std::string& complaint) {
      bad = hints ? complaint + file.hint() : complaint;
      return false;
    });
    EXPECT_TRUE(result.ok()) << result.status();
    for (uint64_t row = 0; row < rows.rows; ++row) {
      std::string& pair = seen.emplace_back(KeyTextOf(schema, rows, row) + "=");
      AppendCell(schema.columns.back(), rows, schema.columns.size() - 1, row, &pair);
    }
    if (!bad.empty()) seen.push_back(bad);
    if (!result.ok() || *result == RowFile::Result::kEnd) return seen;
  }
}

using Seen = std::vector<std::string>;

TEST(FileColumnsTest, OrdersColumnsAreFoundByName) {
  EXPECT_EQ(Import("1|370|O|172799.49|1996-01-02|5-LOW|Clerk#000000951|0|text|\n"
                   "2|781|O|38426.09|1996-12-01|1-URGENT|Clerk#000000880|0|text|\n",
                   {.delimited = kTbl,
                    .header = false,
                    .table = "orders",
                    .key = {"o_orderkey"},
                    .value = "o_custkey"}),
            (Seen{"1=370", "2=781"}));
}

// What would help against the first line, which is bad.
std::string HintOf(const std::string& text, const Choice& choice = {}) {
  const std::string seen = Import(text, choice, /*hints=*/true).at(0);
  const size_t hint = seen.find(';');
  return hint == seen.npos ? "" : seen.substr(hint);
}

TEST(FileColumnsTest, AFieldThatNoIndexKeepsIsAnsweredWithWhatDoes) {
  EXPECT_EQ(HintOf("id,price\n1,3.50\n"),
            "; a table keeps others, as with --schema 'id:int64,price:decimal(2)' --key id");
  EXPECT_EQ(HintOf("1,-5\n", {.header = false}),
            "; a table keeps others, as with --schema 'c1:int64,c2:int64' --key c1");
  EXPECT_EQ(HintOf("name,born\nAda,1815-12-10\n", {.header = true}),
            "; a table keeps others, as with --schema 'name:string,born:date' --key name");
  EXPECT_EQ(HintOf("day,n\n2024-01-31,7\n"), "; for such keys give --key-type date");
  EXPECT_EQ(HintOf("-7,7\n", {.header = false}), "; for such keys give --key-type int64");
  EXPECT_EQ(HintOf("0.5,7\n", {.header = false}), "; for such keys give --key-type float64");
  EXPECT_EQ(HintOf("1,x,7\n", {.header = false, .key = {"1", "2"}, .types = kPairs}),
            "; a table keeps others, as with --schema 'c1:int64,c2:string,c3:int64' --key c1");
  EXPECT_EQ(HintOf("1,1999-01-01,7\n", {.header = false, .key = {"1", "2"}, .types = kPairs}),
            "; for such keys give --key-type uint64,date");
}

TEST(FileColumnsTest, AnotherDelimiterIsNamed) {
  EXPECT_EQ(Import("id;price\n1;2\n", {}),
            (Seen{"f has columns 1 to 1, no column 2; the line has no ',' but ';': give "
                  "--delimiter ';'"}));
  EXPECT_EQ(Import("id\tprice\n1\t2\n", {.key = {"id"}}),
            (Seen{"f has no column 'id'; it has id\tprice; the line has no ',' but tab: give "
                  "--delimiter tab"}));
  EXPECT_EQ(Import("5\n", {.header = false}), (Seen{"f has columns 1 to 1, no column 2"}));
}

TEST(FileColumnsTest, KeysAreReadByTheirType) {
  EXPECT_EQ(Import("day,mm\n1970-01-03,5\n1970-02-30,6\n", {.types = ColumnType::kDate}),
            (Seen{"1970-01-03=5",
                  "f line 3: column 1 (day) is '1970-02-30', no date YYYY-MM-DD from "
                  "-5877641-06-23 to 5881580-07-11"}));
  // Without a header the first line is a row: its key is a key of the type.
  EXPECT_EQ(Import("-1,2\n-9223372036854775809,3\n", {.types = ColumnType::kInt64}),
            (Seen{"-1=2",
                  "f line 2: column 1 (key) is '-9223372036854775809', no number from "
                  "-9223372036854775808 to 9223372036854775807"}));
  EXPECT_EQ(Import("0.5,2\nnan,3\n", {.types = ColumnType::kFloat64}).size(), 2u);
}

TEST(FileColumnsTest, KeysOfTwoPartsHaveTwoColumns) {
  const std::string lines =
      "1|1552|93|1|17|24710.35|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|D|TRUCK|text|\n"
      "1|674|75|2|36|56688.12|0.09|0.06|N|O|1996-04-12|1996-02-28|1996-04-20|T|MAIL|text|\n"
      "2|674|75|x|36|56688.12|0.09|0.06|N|O|1996-04-12|1996-02-28|1996-04-20|T|MAIL|text|\n";
  const Seen seen = {"1/1=1552", "1/2=674",
                     "f line 3: column 4 (l_linenumber) is 'x', no number from 0 to "
                     "18446744073709551615"};
  EXPECT_EQ(Import(lines, {.delimited = kTbl,
                           .header = false,
                           .table = "lineitem",
                           .key = {"l_orderkey", "l_linenumber"},
                           .value = "l_partkey",
                           .types = kPairs}),
            seen);
  EXPECT_EQ(Import(lines, {.delimited = kTbl,
                           .header = false,
                           .table = "lineitem",
                           .key = {"1", "4"},
                           .value = "2",
                           .types = kPairs}),
            seen);
}

TEST(FileColumnsTest, EachPartIsReadByItsTypeAndDecidesOnTheHeader) {
  const KeyTypes types{ColumnType::kUint64, ColumnType::kDate};
  const auto import = [&](const std::string& text, const char* key, const char* second) {
    return Import(text, {.key = {key, second}, .value = "3", .types = types});
  };
  const std::string row = "7/1970-01-03=5";
  EXPECT_EQ(import("7,1970-01-03,5\n", "1", "2"), Seen{row});
  EXPECT_EQ(import("user,day,count\n7,1970-01-03,5\n", "1", "2"), Seen{row});
  // One of two is no header: it is a bad line.
  EXPECT_EQ(import("1,,9\n7,1970-01-03,5\n", "1", "2"),
            (Seen{"f line 1: column 2 (second_key) is empty, and may not be null; expected a date "
                  "YYYY-MM-DD from -5877641-06-23 to 5881580-07-11",
                  row}));
  EXPECT_EQ(import("user,day,count\n7,1970-01-03,5\n", "user", "day"), Seen{row});
  EXPECT_EQ(import("user,day,count\n", "user", "days"),
            Seen{"f has no column 'days'; it has user, day, count"});
  EXPECT_EQ(import("7,1970-01-03,5\n", "1", "4"), Seen{"f has columns 1 to 3, no column 4"});
  EXPECT_EQ(
      import("7,1970-01-03,5\n7,1970-02-30,6\n", "1", "2")[1],
      "f line 2: column 2 (second_key) is '1970-02-30', no date YYYY-MM-DD from -5877641-06-23 to "
      "5881580-07-11");
}

TEST(FileColumnsTest, ValueIsTheFirstColumnThatIsNoKeyUnlessItIsNamed) {
  EXPECT_EQ(Import("1,2,3\n", {.key = {"1", "2"}, .types = kPairs}), Seen{"1/2=3"});
  EXPECT_EQ(Import("1,2,3\n", {.key = {"3", "1"}, .types = kPairs}), Seen{"3/1=2"});
  EXPECT_EQ(Import("1,2,3\n", {.key = {"2"}, .value = "1"}), Seen{"2=1"});
  // With three columns one would be lost.
  EXPECT_EQ(Import("1,2,3\n", {.key = {"2"}}).at(0).substr(0, 15), "f has 3 columns");
  EXPECT_EQ(Import("1,2,3,4\n", {.key = {"1", "2"}, .types = kPairs}).at(0).substr(0, 15),
            "f has 4 columns");
  EXPECT_EQ(Import("1,2,3\n", {.key = {"2"}, .value = "2"}),
            Seen{"column 2 is both key and value: give another one with --value"});
  EXPECT_EQ(Import("1,2,3\n", {.key = {"2", "2"}, .types = kPairs}),
            Seen{"both parts of the key are column 2: they must be two columns"});
}

TEST(FileColumnsTest, AnExportOfTwoPartKeysIsNoFileOfOnePartKeys) {
  const std::string text = "key,second_key,value\n1,10,100\n";
  EXPECT_EQ(Import(text, {}),
            Seen{"f holds keys of two parts: import it with --key key,second_key"});
  EXPECT_EQ(Import(text, {.key = {"key", "second_key"}, .types = kPairs}), Seen{"1/10=100"});
}

TEST(FileColumnsTest, HeaderIsFoundByItsKeyThatIsNoNumber) {
  EXPECT_EQ(Import("id,group\n1,2\n", {}), (Seen{"1=2"}));
  EXPECT_EQ(Import("3,4\n1,2\n", {}), (Seen{"3=4", "1=2"}));
  EXPECT_EQ(Import("3,4\n1,2\n", {.header = true}), (Seen{"1=2"}));
  EXPECT_EQ(Import("id,group\n1,2\n", {.header = true, .key = {"group"}, .value = "id"}),
            (Seen{"2=1"}));
}

TEST(FileColumnsTest, WithoutHeaderAFirstLineThatIsNoNumberIsBad) {
  const Seen seen = Import("id,group\n1,2\n", {.header = false});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], "f line 1: column 1 (key) is 'id', no number from 0 to 18446744073709551615");
}

TEST(FileColumnsTest, BadLinesAreNamedAndTheOthersGoOn) {
  EXPECT_EQ(Import("k,v\n1,2\n1\n3,x\n18446744073709551616,1\n\"5\",\"6\"\n7,8,9\n", {}),
            (Seen{"1=2", "f line 3: 1 fields, expected 2",
                  "f line 4: column 2 (v) is 'x', no number from 0 to 18446744073709551615",
                  "f line 5: column 1 (k) is '18446744073709551616', no number from 0 to "
                  "18446744073709551615",
                  "5=6", "f line 7: 3 fields, expected 2"}));
}

TEST(FileColumnsTest, UnknownColumnIsRefusedWithThoseThatAreThere) {
  EXPECT_EQ(Import("a,b\n1,2\n", {.key = {"c"}}), (Seen{"f has no column 'c'; it has a, b"}));
  EXPECT_EQ(Import("1,2\n", {.key = {"3"}}), (Seen{"f has columns 1 to 2, no column 3"}));
  EXPECT_EQ(Import("1,2\n", {.key = {"0"}}), (Seen{"f has columns 1 to 2, no column 0"}));
}

TEST(FileColumnsTest, LinesBeforeTheFirstRecordAreNoHeader) {
  EXPECT_EQ(Import("\n\nid,group\n1,2\n", {}), (Seen{"1=2"}));
  EXPECT_EQ(
      Import("\"1\"x,2\nid,group\n1,2\n", {}),
      (Seen{"f line 1: text behind the closing quote of field 1",
            "f line 2: column 1 (key) is 'id', no number from 0 to 18446744073709551615", "1=2"}));
}

TEST(FileColumnsTest, EmptyFileHasNoRows) { EXPECT_EQ(Import("", {}), Seen{}); }

}  // namespace
}  // namespace eris::cli
