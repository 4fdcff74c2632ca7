// Columns get wider types: a file is read as often as the types cannot be known before, whatever
// the number of columns is.
#include "clients/cli/loading/widening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/loading/row_loader.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Reading {
  int reads = 0;  // of the whole file
  uint64_t bytes = 0;
  uint64_t rows = 0;
  std::string columns;
  std::vector<std::string> nulls;
  std::string problem;
};

// Reads a file as `eris import --dry-run` does when its beginning, of `sample_bytes`, has been
// looked at.
Reading ReadWidening(const std::string& text, size_t sample_bytes, bool json = false,
                     absl::string_view key = "", size_t given = ~size_t{0}) {
  const TempFile temp(text);
  const auto inferred = InferFile(
      "f", {.beginning = absl::string_view(text).substr(0, sample_bytes)}, {.json = json});
  EXPECT_TRUE(inferred.ok()) << inferred.status();
  InferredTable table{.file = *inferred};
  table.schema.columns = inferred->columns;
  EXPECT_TRUE(key.empty() || SetKey(key, table.schema).ok());
  table.given_types.resize(table.schema.columns.size());
  if (given < table.given_types.size()) table.given_types[given] = true;
  Reading out;
  for (bool again = true; again;) {
    RowFileFormat format{.delimited = table.file.delimited,
                         .header = table.file.header,
                         .in_order = true,
                         .nulls = table.file.nulls,
                         .nulls_in_strings = false,
                         .guessed = std::vector<bool>(table.schema.columns.size(), true),
                         .json = json,
                         .keys = table.file.keys,
                         .only_keys = true};
    if (json) format.delimited = {.delimiter = '\n', .quotes = false};
    EXPECT_EQ(lseek(temp.fd(), 0, SEEK_SET), 0);
    RowFile file(temp.fd(), "f", format, table.schema);
    EXPECT_TRUE(file.Open().ok());
    LoadedRows read;
    const absl::Status status = ReadRows({}, file, read);
    ++out.reads;
    out.rows = read.rows;
    out.problem = std::string(status.message());
    const absl::StatusOr<bool> widened = status.ok() ? false : WidenColumns(file, table);
    EXPECT_TRUE(widened.ok()) << widened.status();
    again = *widened;
    out.bytes += file.bytes_read();
    EXPECT_LT(out.reads, 100);
    if (out.reads == 100) break;
  }
  out.columns = SchemaText(table.schema);
  out.nulls = table.file.nulls;
  return out;
}

TEST(WideningTest, SixtyColumnsNeedOneReadMore) {
  constexpr size_t kColumns = 60;
  std::string text, wanted;
  for (size_t i = 0; i < kColumns; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", "n", i);
    absl::StrAppend(&wanted, i == 0 ? "" : ",", "n", i, i % 3 == 0 ? ":string?" : ":float64?");
  }
  text += '\n';
  const size_t begin = text.size();
  size_t sample = 0;
  for (size_t row = 0; row < 40 * kColumns; ++row) {
    if (row == 100) sample = text.size();
    for (size_t i = 0; i < kColumns; ++i) {
      // Each has its first odd value in another row, every third one also a text.
      const char* const value = row % 40 == 20 && row / 40 == i && row > 100          ? "0.5"
                                : i % 3 == 0 && row == kColumns * 40 - 1 - i && i > 0 ? "x"
                                                                                      : "7";
      absl::StrAppend(&text, i == 0 ? "" : ",",
                      i < 3 && row == 2000 ? (i == 0 ? "x" : "0.5") : value);
    }
    text += '\n';
  }
  const Reading import = ReadWidening(text, sample);
  EXPECT_EQ(import.columns, wanted);
  EXPECT_EQ(import.rows, 40 * kColumns);
  EXPECT_EQ(import.reads, 2);
  EXPECT_LE(import.bytes, 2 * text.size());
  EXPECT_GT(import.bytes, 2 * (text.size() - begin));
}

TEST(WideningTest, AFloatThatLosesDigitsOfAnEarlierNumberNeedsAThird) {
  std::string text = "a,b\n1,1\n";
  const size_t sample = text.size();
  text += "9007199254740993,9007199254740993\n0.5,0.5\n2,2\n";
  const Reading import = ReadWidening(text, sample);
  EXPECT_EQ(import.columns, "a:string?,b:string?");
  EXPECT_EQ(import.rows, 4u);
  EXPECT_EQ(import.reads, 3);
}

TEST(WideningTest, AllOddValuesOfALineAreTaken) {
  const Reading import = ReadWidening("a,b,c\n1,1,1\n2,0.5,x\n3,3,3\n", 12);
  EXPECT_EQ(import.columns, "a:int64?,b:float64?,c:string?");
  EXPECT_EQ(import.reads, 2);
}

TEST(WideningTest, LaterTextsOfNullsAreNull) {
  const Reading import = ReadWidening("a,b\n1,x\nNA,NA\n-,y\n", 8);
  EXPECT_EQ(import.columns, "a:int64?,b:string?");
  EXPECT_THAT(import.nulls, ElementsAre("NA", "-"));
  EXPECT_EQ(import.reads, 2);
  EXPECT_EQ(ReadWidening("a,b\n1,x\nNA,NA\nnone,y\n", 8).columns, "a:string?,b:string?");
}

TEST(WideningTest, KeysGivenTypesAndBadLinesStay) {
  const std::string text = "k,v\n1,1\nx,2\n2,x\n";
  EXPECT_THAT(ReadWidening(text, 8, false, "k").problem, HasSubstr("line 3: column 1 (k) is 'x'"));
  const Reading given = ReadWidening("k,v\n1,1\n0.5,2\n2,x\n", 8, false, "", 1);
  EXPECT_EQ(given.columns, "k:float64?,v:int64?");
  EXPECT_THAT(given.problem, HasSubstr("line 4: column 2 (v) is 'x'"));
  const Reading bad = ReadWidening("k,v\n1,1\n0.5,2\n2,3,4\n", 8);
  EXPECT_EQ(bad.columns, "k:float64?,v:int64?");
  EXPECT_THAT(bad.problem, HasSubstr("line 4: 3 fields, expected 2"));
  EXPECT_EQ(bad.rows, 2u);
}

TEST(WideningTest, LaterKeysBecomeColumns) {
  const std::string beginning = "{\"a\":1}\n{\"a\":2}\n";
  std::string text = beginning;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&text, "{\"k", i % 30, "\":", i, ",\"a\":0.5}\n");
  absl::StrAppend(&text, "{\"k7\":\"x\",\"z\":null,\"y\":\"7\"}\n");
  const Reading import = ReadWidening(text, beginning.size(), true);
  EXPECT_THAT(import.columns, HasSubstr("a:float64?,k0:int64?,k1:int64?,"));
  EXPECT_THAT(import.columns, HasSubstr(",k7:string?,k8:int64?,"));
  EXPECT_THAT(import.columns, testing::EndsWith(",k29:int64?,y:string?"));
  EXPECT_EQ(import.rows, 63u);
  EXPECT_EQ(import.reads, 2);
  // As many as a table may have.
  text = beginning;
  for (int i = 0; i < 300; ++i) absl::StrAppend(&text, "{\"k", i, "\":1}\n");
  EXPECT_THAT(ReadWidening(text, beginning.size(), true).problem,
              HasSubstr("line 258: key 'k255' is no column"));
  // All keys of a line count.
  const auto line = [](int keys) {
    std::string many = "{\"a\":3";
    for (int i = 0; i < keys; ++i) absl::StrAppend(&many, ",\"k", i, "\":1");
    return many + "}\n";
  };
  EXPECT_EQ(ReadWidening(beginning + line(255), beginning.size(), true).problem, "");
  const Reading too_many = ReadWidening(beginning + line(256), beginning.size(), true);
  EXPECT_THAT(too_many.problem, HasSubstr("line 3: key 'k0' is no column"));
  EXPECT_EQ(too_many.columns, "a:int64?");
}

}  // namespace
}  // namespace eris::cli
