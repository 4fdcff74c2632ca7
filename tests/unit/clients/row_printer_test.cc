#include "clients/cli/files/row_printer.h"

#include <string>
#include <utility>
#include <vector>

#include "clients/cli/files/schema_text.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/output_text.h"

namespace eris::cli {
namespace {

class RowPrinterTest : public ::testing::Test {
 protected:
  RowPrinterTest() {
    rows_.rows = 2;
    rows_.columns.resize(2);
    const int64_t numbers[] = {12345, -1};
    rows_.columns[0].values.assign(reinterpret_cast<const char*>(numbers), sizeof(numbers));
    rows_.columns[0].validity = std::string(1, '\1');
    rows_.columns[1].values = "a\"b\n";
    const uint32_t offsets[] = {0, 3, 4};
    rows_.columns[1].offsets.assign(reinterpret_cast<const char*>(offsets), sizeof(offsets));
  }
  std::string Printed(bool json, bool any, ByteFormat format = ByteFormat::kText,
                      size_t truths = RowPrinter::kNoColumn) {
    return OutputText([&](Output& output) {
      RowPrinter printer(output, json, format, truths);
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

TEST_F(RowPrinterTest, TableHasAlignedColumns) {
  EXPECT_EQ(Printed(false, true),
            "    n  text\n"
            "12345  a\"b\n"
            "    -  \\n\n");
  EXPECT_EQ(Printed(false, false), "n  text\n");
}

TEST_F(RowPrinterTest, WidthsAreOfCharactersAndOfTheFirstRowsTogether) {
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

TEST_F(RowPrinterTest, WidthsGrowBehindTheFirstRows) {
  std::swap(schema_.columns[0], schema_.columns[1]);
  SetStrings(std::vector<std::string>(RowPrinter::kRowsBeforeHead, "word"), rows_);
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

TEST_F(RowPrinterTest, LongStringTakesFromTheBlanksBehindIt) {
  schema_ = *ParseSchema("text:string,wide_name:int64,last:string", "");
  const std::string longest(63, 'x');
  SetStrings({longest, std::string(60, 'y')}, rows_);
  rows_.columns = {rows_.columns[1], rows_.columns[0], rows_.columns[1]};
  EXPECT_EQ(Printed(false, true), "text" + std::string(58, ' ') + "wide_name  last\n" + longest +
                                      "       0  " + longest + "\n" + std::string(60, 'y') +
                                      "          0  " + std::string(60, 'y') + "\n");
}

TEST_F(RowPrinterTest, MissingRowsAreLeftOutOrNull) {
  second_ = &rows_;
  present_ = client::RowBits(std::string(1, '\1'), 2);
  EXPECT_EQ(Printed(false, false), "    n  text\n12345  a\"b\n");
  EXPECT_EQ(Printed(true, false), "[\n  {\"n\": \"12345\", \"text\": \"a\\\"b\"},\n  null\n]\n");
}

TEST_F(RowPrinterTest, JsonIsAnArrayOfObjects) {
  EXPECT_EQ(Printed(true, true), R"([
  {"n": "12345", "text": "a\"b"},
  {"n": null, "text": "\n"}
]
)");
  EXPECT_EQ(Printed(true, false), "[]\n");
}

TEST_F(RowPrinterTest, StringsAreShownAsTheFormatSays) {
  EXPECT_EQ(Printed(false, true, ByteFormat::kHex), "    n  text\n12345  612262\n    -  0a\n");
  EXPECT_EQ(
      Printed(true, true, ByteFormat::kBase64),
      "[\n  {\"n\": \"12345\", \"text\": \"YSJi\"},\n  {\"n\": null, \"text\": \"Cg==\"}\n]\n");
}

TEST_F(RowPrinterTest, TruthsAreYesOrNo) {
  schema_ = *ParseSchema("n:int64?,done:int32", "");
  rows_.columns[1] = client::NumberColumn<int32_t>({1, 0});
  EXPECT_EQ(Printed(false, true, ByteFormat::kText, 1), "    n  done\n12345   yes\n    -    no\n");
  EXPECT_EQ(Printed(true, true, ByteFormat::kText, 1),
            "[\n  {\"n\": \"12345\", \"done\": true},\n  {\"n\": null, \"done\": false}\n]\n");
}

}  // namespace
}  // namespace eris::cli
