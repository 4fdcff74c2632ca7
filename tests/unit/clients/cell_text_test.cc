#include "clients/cli/files/cell_text.h"

#include <cstring>
#include <limits>
#include <string>

#include "absl/numeric/int128.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/table_verbs.h"
#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/output_text.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string TextOf(ColumnType type, uint8_t scale, T value) {
  client::OwnedRows rows;
  rows.rows = 1;
  rows.columns.resize(1);
  rows.columns[0].values.assign(reinterpret_cast<const char*>(&value), sizeof(value));
  std::string text;
  AppendCell({.name = "x", .type = type, .scale = scale}, rows, 0, 0, &text);
  return text;
}

TEST(CellTextTest, SumsHaveAllTheirDigits) {
  const auto wide = [](absl::int128 value, uint8_t scale) {
    const uint64_t halves[] = {absl::Int128Low64(value),
                               static_cast<uint64_t>(absl::Int128High64(value))};
    struct Two {
      uint64_t low, high;
    } two{halves[0], halves[1]};
    return TextOf(ColumnType::kInt128, scale, two);
  };
  EXPECT_EQ(wide(0, 2), "0.00");
  EXPECT_EQ(wide(-5, 2), "-0.05");
  EXPECT_EQ(wide(12345, 4), "1.2345");
  EXPECT_EQ(wide(7, 0), "7");
  EXPECT_EQ(wide(absl::Int128Max(), 2), "1701411834604692317316873037158841057.27");
  EXPECT_EQ(wide(absl::Int128Min(), 0), "-170141183460469231731687303715884105728");
}

TEST(CellTextTest, OtherValues) {
  EXPECT_EQ(TextOf(ColumnType::kInt32, 0, std::numeric_limits<int32_t>::min()), "-2147483648");
  EXPECT_EQ(TextOf(ColumnType::kUint64, 0, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(TextOf(ColumnType::kFloat64, 0, 0.1), "0.1");
  EXPECT_EQ(TextOf(ColumnType::kDate, 0, int32_t{8766}), "1994-01-01");
  EXPECT_EQ(TextOf(ColumnType::kDecimal, 2, std::numeric_limits<int64_t>::min()),
            "-92233720368547758.08");
}

TEST(CellTextTest, KeysAreReadByTheirColumns) {
  const Schema schema = *ParseSchema("a:int64,b:date,c:decimal(2),d:int32", "d,b,c");
  client::OwnedRows keys;
  ASSERT_TRUE(AddKeyRow(schema, "7/1994-01-01/-0.5", keys).ok());
  ASSERT_TRUE(AddKeyRow(schema, "-1/1970-01-02/3", keys).ok());
  EXPECT_EQ(keys.rows, 2u);
  EXPECT_EQ(keys.Get<int32_t>(0, 1), -1);
  EXPECT_EQ(keys.Get<int32_t>(1, 0), 8766);
  EXPECT_EQ(keys.Get<int64_t>(2, 0), -50);
  EXPECT_EQ(keys.Get<int64_t>(2, 1), 300);
  EXPECT_THAT(std::string(AddKeyRow(schema, "7/1994-01-01", keys).message()),
              HasSubstr("2 parts, the key has 3 (d/b/c)"));
  EXPECT_THAT(std::string(AddKeyRow(schema, "7/x/1", keys).message()),
              HasSubstr("'x' of key column b is no date"));
}

TEST(CellTextTest, BoundsAreValuesOfTheFirstKeyColumn) {
  const Schema dates = *ParseSchema("a:date,b:int64", "a");
  const auto range = ParseTableBounds(dates, "1970-01-01:1970-01-11", "");
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->start, Value(Date{0}));
  EXPECT_EQ(range->end, Value(Date{10}));
  const Schema numbers = *ParseSchema("a:date,b:int32", "b");
  const auto points = ParseTableBounds(numbers, "", "-5,5");
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_EQ(points->splits, (std::vector<Value>{int64_t{-5}, int64_t{5}}));
  EXPECT_FALSE(ParseTableBounds(*ParseSchema("a:int64", ""), "1:2", "").ok());
  EXPECT_FALSE(ParseTableBounds(*ParseSchema("a:decimal(2)", "a"), "1:2", "").ok());
  EXPECT_TRUE(ParseTableBounds(*ParseSchema("a:decimal(2)", "a"), "", "").ok());
}

TEST(CellTextTest, BoundsFromASampleAreValuesOfTheColumn) {
  const ColumnSchema narrow{.name = "a", .type = ColumnType::kInt32};
  std::vector<uint64_t> sample;
  for (const int64_t one : {int64_t{-5}, int64_t{1} << 32, int64_t{7}, -(int64_t{1} << 40),
                            int64_t{20}, int64_t{1} << 50}) {
    sample.push_back(KeyFromInt64(one));
  }
  EXPECT_EQ(SampledBounds(narrow, sample, 3), (std::vector<Value>{int64_t{7}, int64_t{20}}));
  const ColumnSchema wide{.name = "a", .type = ColumnType::kInt64};
  EXPECT_EQ(SampledBounds(wide, sample, 2), (std::vector<Value>{int64_t{20}}));
}

TEST(CellTextTest, QueriesNameTheFlagThatIsWrong) {
  const auto error = [](const TableScanFlags& flags) {
    return std::string(QueryOf(flags, 0).status().message());
  };
  EXPECT_TRUE(QueryOf({.filter = "a < 1", .aggregates = "count(*)", .group_by = "a"}, 3).ok());
  EXPECT_THAT(error({.filter = "a <"}), HasSubstr("--filter: at character 4"));
  EXPECT_THAT(error({.columns = "a b"}), HasSubstr("--columns: at character 3"));
  EXPECT_THAT(error({.aggregates = "a"}), HasSubstr("--agg: at character 1"));
  EXPECT_THAT(error({.aggregates = "count(*)", .group_by = "a+b"}), HasSubstr("--group-by:"));
  EXPECT_THAT(error({.group_by = "a"}), HasSubstr("without --agg"));
}

class CellPrinterTest : public ::testing::Test {
 protected:
  CellPrinterTest() {
    rows_.rows = 2;
    rows_.columns.resize(2);
    const int64_t numbers[] = {12345, -1};
    rows_.columns[0].values.assign(reinterpret_cast<const char*>(numbers), sizeof(numbers));
    rows_.columns[0].validity = std::string(1, '\1');
    rows_.columns[1].values = "a\"b\n";
    const uint32_t offsets[] = {0, 3, 4};
    rows_.columns[1].offsets.assign(reinterpret_cast<const char*>(offsets), sizeof(offsets));
  }
  std::string Printed(bool json, bool any) {
    return OutputText([&](Output& output) {
      CellPrinter printer(output, json);
      if (any) printer.Add(schema_, rows_, nullptr);
      if (second_ != nullptr) printer.Add(schema_, *second_, &present_);
      printer.End(schema_);
    });
  }
  static void SetStrings(const std::vector<std::string>& strings, client::OwnedRows& rows) {
    rows.rows = strings.size();
    rows.columns = std::vector<ColumnBuffers>(2);
    rows.columns[0].values.assign(strings.size() * sizeof(int64_t), '\0');
    uint32_t end = 0;
    rows.columns[1].offsets.assign(sizeof(end), '\0');
    for (const std::string& one : strings) {
      rows.columns[1].values += one;
      end += static_cast<uint32_t>(one.size());
      rows.columns[1].offsets.append(reinterpret_cast<const char*>(&end), sizeof(end));
    }
  }
  Schema schema_ = *ParseSchema("n:int64?,text:string", "");
  client::OwnedRows rows_;
  const client::OwnedRows* second_ = nullptr;  // a chunk with missing rows
  client::RowBits present_;
};

TEST_F(CellPrinterTest, TableHasAlignedColumns) {
  EXPECT_EQ(Printed(false, true),
            "    n  text\n"
            "12345  a\"b\n"
            "    -  \\n\n");
  EXPECT_EQ(Printed(false, false), "n  text\n");
}

TEST_F(CellPrinterTest, WidthsAreOfCharactersAndOfTheFirstRowsTogether) {
  std::swap(schema_.columns[0], schema_.columns[1]);
  SetStrings({"gr\xc3\xbc\xc3\x9f", "a"}, rows_);
  std::swap(rows_.columns[0], rows_.columns[1]);
  client::OwnedRows wider;
  SetStrings({"longer words", std::string(70, 'x'), "b"}, wider);
  std::swap(wider.columns[0], wider.columns[1]);
  second_ = &wider;
  present_ = client::RowBits(std::string(1, '\7'), 3);
  EXPECT_EQ(Printed(false, true),
            "text          n\n"
            "gr\xc3\xbc\xc3\x9f          0\n"
            "a             0\n"
            "longer words  0\n" +
                std::string(70, 'x') + "  0\n" + "b             0\n");
}

TEST_F(CellPrinterTest, WidthsGrowBehindTheFirstRows) {
  std::swap(schema_.columns[0], schema_.columns[1]);
  SetStrings(std::vector<std::string>(CellPrinter::kRowsBeforeHead, "word"), rows_);
  std::swap(rows_.columns[0], rows_.columns[1]);
  client::OwnedRows wider;
  SetStrings({"longer words", "b"}, wider);
  std::swap(wider.columns[0], wider.columns[1]);
  second_ = &wider;
  present_ = client::RowBits(std::string(1, '\3'), 2);
  const std::string text = Printed(false, true);
  EXPECT_EQ(text.substr(0, 16), "text  n\nword  0\n");
  EXPECT_EQ(text.substr(text.size() - 32), "longer words  0\nb             0\n");
}

TEST_F(CellPrinterTest, LongStringTakesFromTheBlanksBehindIt) {
  schema_ = *ParseSchema("text:string,wide_name:int64,last:string", "");
  const std::string longest(63, 'x');
  SetStrings({longest, std::string(60, 'y')}, rows_);
  rows_.columns = {rows_.columns[1], rows_.columns[0], rows_.columns[1]};
  EXPECT_EQ(Printed(false, true), "text" + std::string(58, ' ') + "wide_name  last\n" + longest +
                                      "       0  " + longest + "\n" + std::string(60, 'y') +
                                      "          0  " + std::string(60, 'y') + "\n");
}

TEST_F(CellPrinterTest, MissingRowsAreLeftOutOrNull) {
  second_ = &rows_;
  present_ = client::RowBits(std::string(1, '\1'), 2);
  EXPECT_EQ(Printed(false, false), "    n  text\n12345  a\"b\n");
  EXPECT_EQ(Printed(true, false), "[\n  {\"n\": \"12345\", \"text\": \"a\\\"b\"},\n  null\n]\n");
}

TEST_F(CellPrinterTest, JsonIsAnArrayOfObjects) {
  EXPECT_EQ(Printed(true, true), R"([
  {"n": "12345", "text": "a\"b"},
  {"n": null, "text": "\n"}
]
)");
  EXPECT_EQ(Printed(true, false), "[]\n");
}

}  // namespace
}  // namespace eris::cli
