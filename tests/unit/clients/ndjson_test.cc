// Lines of JSON objects: what is one, what becomes of its members, and what a file of them seems to
// be. Bad lines are planted; Python's json module has agreed on each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/row_file.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/inference/column_names.h"
#include "clients/cli/inference/inference.h"
#include "clients/cli/loading/json_file.h"
#include "clients/cli/ndjson/json_line.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "key=kind:text" of each member, or what is wrong.
std::string MembersOf(const std::string& line) {
  std::string padded = line;
  padded.append(kJsonPadBytes, '\xff');
  JsonLine json;
  std::string shown;
  const std::string problem = json.Read(
      absl::string_view(padded).substr(0, line.size()),
      [&](absl::string_view key, JsonKind kind, absl::string_view text) {
        absl::StrAppend(&shown, shown.empty() ? "" : " ", key, "=",
                        absl::string_view("-tns{").substr(static_cast<size_t>(kind), 1), text);
      });
  return problem.empty() ? shown : problem;
}

TEST(JsonLineTest, MembersAreToldInOrder) {
  EXPECT_EQ(MembersOf(R"({"a":1,"b":"x","c":null,"d":true, "e" : -1.50e+10 ,"f":false})"),
            "a=n1 b=sx c=-null d=ttrue e=n-1.50e+10 f=tfalse");
  EXPECT_EQ(MembersOf(R"({"a":[1, {"b":"]"}],"c":{"d":[]},"e":2})"),
            R"(a={[1, {"b":"]"}] c={{"d":[]} e=n2)");
  EXPECT_EQ(MembersOf("{\"a\":\"x\\ny\\u00e9\\ud83d\\ude00\\\"\"}\r"),
            "a=sx\ny\xc3\xa9\xf0\x9f\x98\x80\"");
  EXPECT_EQ(MembersOf("{\"a\\u0062\":\"\"}"), "ab=s");
  EXPECT_EQ(MembersOf("{}"), "");
  EXPECT_EQ(MembersOf(R"({"a":123456789012345678901234567890})"),
            "a=n123456789012345678901234567890");
}

TEST(JsonLineTest, WhatIsNoObjectIsRefused) {
  const std::vector<std::string> bad = {R"({"a":1)",
                                        R"({"a":1} x)",
                                        R"({"a":1}})",
                                        R"({"a":01})",
                                        R"({"a":12abc})",
                                        R"({"a":1.})",
                                        R"({"a":.5})",
                                        R"({"a":+1})",
                                        R"({"a":1e})",
                                        R"({"a":tru})",
                                        R"({"a":truex})",
                                        R"({"a":nul})",
                                        R"({"a":NaN})",
                                        "5",
                                        "null",
                                        R"({"a":[1 2]})",
                                        R"({"a":[1,2})",
                                        R"({"a":[1,2]]})",
                                        R"({"a":{"b":12x}})",
                                        R"({"a":[01]})",
                                        R"({"a":["\q"]})",
                                        R"({"a":{b:1}})",
                                        R"({"a":"\q"})",
                                        R"({"a":"\ud800"})",
                                        R"({"a":1,})",
                                        "{,}",
                                        R"({"a" 1})",
                                        "{a:1}",
                                        R"({"a":"x})",
                                        R"({"a":1}{"a":2})",
                                        R"({"a":})",
                                        "{\"a\":\"\xff\"}",
                                        R"({"a":1 "b":2})",
                                        "{\"a\":\"x\ny\"}",
                                        R"({"a":[tru]})",
                                        R"({"a":[nulL]})"};
  for (const std::string& line : bad) {
    EXPECT_THAT(MembersOf(line), testing::StartsWith("no JSON object")) << line;
  }
  EXPECT_THAT(MembersOf(R"({"a":1,)"), HasSubstr("which must end on its line"));
  EXPECT_THAT(MembersOf("[1]"), HasSubstr("an array: one object a line is read"));
}

TEST(JsonLineTest, ValuesHaveNoMoreThan1000Levels) {
  const auto nested = [](size_t levels, const std::string& open, const std::string& inner,
                         const std::string& close) {
    std::string line = "{\"a\":";
    for (size_t i = 0; i < levels; ++i) line += open;
    line += inner;
    for (size_t i = 0; i < levels; ++i) line += close;
    return line + "}";
  };
  EXPECT_THAT(MembersOf(nested(1000, "[", "", "]")), testing::StartsWith("a={[[["));
  EXPECT_THAT(MembersOf(nested(1000, "{\"b\":", "1", "}")), testing::StartsWith("a={{\"b\":"));
  for (const size_t levels : {1'001, 1'025, 1'000'000}) {
    for (const std::string& line :
         {nested(levels, "[", "", "]"), nested(levels, "{\"b\":", "1", "}")}) {
      EXPECT_THAT(MembersOf(line), HasSubstr("a value has more than 1000 arrays and objects"));
    }
  }
}

struct JsonRows {
  std::vector<std::string> lines;  // null as "-"
  std::vector<std::string> complaints;
  std::set<std::string> passed_over;
};

JsonRows ReadJson(const std::string& text, absl::string_view columns, RowFileFormat format = {}) {
  const TempFile temp(text);
  const absl::StatusOr<Schema> schema = ParseSchema(columns, "");
  EXPECT_TRUE(schema.ok()) << schema.status();
  format.json = true;
  format.delimited = {.delimiter = '\n', .quotes = false};
  RowFile file(temp.fd(), "f", format, *schema);
  EXPECT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  JsonRows out;
  const auto on_bad_line = [&](const std::string& complaint) {
    out.complaints.push_back(complaint);
    return true;
  };
  EXPECT_TRUE(file.Read(100'000, rows, on_bad_line, 1 << 30).ok());
  for (uint64_t row = 0; row < rows.rows; ++row) {
    std::string line;
    for (size_t i = 0; i < schema->columns.size(); ++i) {
      if (i > 0) line += '|';
      if (rows.IsNull(i, row)) {
        line += '-';
      } else {
        AppendCell(schema->columns[i], rows, i, row, &line);
      }
    }
    out.lines.push_back(std::move(line));
  }
  out.passed_over = file.passed_over();
  return out;
}

TEST(NdjsonFileTest, KeysAreColumnsInAnyOrder) {
  const JsonRows read = ReadJson(
      "\xef\xbb\xbf{\"a\":1,\"b\":\"x\",\"d\":\"2024-01-02\"}\n\n  \r\n"
      "{\"d\":null,\"b\":\"\",\"a\":2}\r\n"
      "{\"b\":[1, \"z\"],\"a\":3}\n{\"a\":\"4\",\"b\":false}\n{\"a\":5,\"b\":1.50}\n{\"b\":\"no "
      "end\",\"a\":6}",
      "a:int64,b:string?,d:date?");
  EXPECT_THAT(read.complaints, IsEmpty());
  EXPECT_THAT(read.lines, ElementsAre("1|x|2024-01-02", "2||-", "3|[1, \"z\"]|-", "4|false|-",
                                      "5|1.50|-", "6|no end|-"));
}

TEST(NdjsonFileTest, StringsAreNoLines) {
  const JsonRows read =
      ReadJson("{\"b\":\"x\",\"a\":\"y\"}\n{\"a\":\"z\"}\n", "a:string?,b:string?");
  EXPECT_THAT(read.lines, ElementsAre("y|x", "z|-"));
  EXPECT_THAT(ReadJson("{\"a\":\"z\"}\n\n{}\n", "a:string?").lines, ElementsAre("z", "-"));
}

TEST(NdjsonFileTest, BadLinesAreNamed) {
  const JsonRows read = ReadJson(
      "{\"a\":1,\"s\":\"x\"}\n{\"a\":x}\n{\"a\":1.5,\"s\":\"\"}\n{\"s\":\"x\"}\n{\"a\":1}\n{\"a\":"
      "1,\"s\":null}\n"
      "{\"a\":1,\"a\":2,\"s\":\"x\"}\n{\"a\":1,\"s\":\"x\",\"b\":1,\"b\":2}\n{\"a\":2,\"s\":\"\"}"
      "\n",
      "a:int64,s:string");
  EXPECT_THAT(read.lines, ElementsAre("1|x", "2|"));
  ASSERT_EQ(read.complaints.size(), 7u);
  EXPECT_THAT(read.complaints[0], HasSubstr("f line 2: no JSON object: "));
  EXPECT_THAT(read.complaints[1], HasSubstr("f line 3: column 1 (a) is '1.5', no number from"));
  EXPECT_THAT(read.complaints[2],
              HasSubstr("f line 4: column 1 (a) is empty, and may not be null"));
  EXPECT_THAT(read.complaints[3],
              HasSubstr("f line 5: column 2 (s) is empty, and may not be null"));
  EXPECT_THAT(read.complaints[4],
              HasSubstr("f line 6: column 2 (s) is empty, and may not be null"));
  EXPECT_EQ(read.complaints[5], "f line 7: key 'a' twice");
  EXPECT_EQ(read.complaints[6], "f line 8: key 'b' twice");
}

TEST(NdjsonFileTest, ManyOtherKeysTakeNoTimeOfTheirSquare) {
  std::string line = "{\"a\":1";
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&line, ",\"k", i, "\":0");
  const absl::Time begin = absl::Now();
  EXPECT_THAT(ReadJson(line + "}\n", "a:int64").lines, ElementsAre("1"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));  // with its square it takes 46 s
  EXPECT_THAT(ReadJson(line + ",\"k5\":null}\n", "a:int64").complaints,
              ElementsAre("f line 1: key 'k5' twice"));
  EXPECT_THAT(ReadJson("{\"a\":1,\"z\":null,\"z\":2}\n", "a:int64").complaints,
              ElementsAre("f line 1: key 'z' twice"));
  EXPECT_THAT(ReadJson("{\"a\":1,\"z\":0}\n{\"a\":2,\"z\":0}\n", "a:int64").lines,
              ElementsAre("1", "2"));
}

TEST(NdjsonFileTest, OtherKeysAreToldOrBad) {
  const std::string text = "{\"a\":1,\"b\":2,\"c\":null}\n{\"a\":3}\n";
  const JsonRows told = ReadJson(text, "a:int64");
  EXPECT_THAT(told.lines, ElementsAre("1", "3"));
  EXPECT_THAT(told.passed_over, ElementsAre("b"));
  const JsonRows bad = ReadJson(text, "a:int64", {.only_keys = true});
  EXPECT_THAT(bad.lines, ElementsAre("3"));
  EXPECT_THAT(bad.complaints,
              ElementsAre("f line 1: key 'b' is no column, as no line of the sample "
                          "has it: give --schema with all columns"));
}

TEST(NdjsonFileTest, ALineWithoutAKeyOfTheTableIsBad) {
  const JsonRows read = ReadJson(
      "{\"A\":1,\"B\":2}\n{\"x\":null}\n{\"a\":null,\"x\":1}\n{}\n{\"y\":1,\"b\":2}\n{\"B\":1}\n",
      "a:int64?,b:int64?");
  EXPECT_THAT(read.lines, ElementsAre("-|-", "-|-", "-|2"));
  EXPECT_THAT(
      read.complaints,
      ElementsAre("f line 1: none of its keys is a column, as 'a' is; it has 'A', and upper "
                  "and lower case differ",
                  "f line 2: none of its keys is a column, as 'a' is",
                  "f line 6: none of its keys is a column, as 'b' is; it has 'B', and upper "
                  "and lower case differ"));
}

TEST(NdjsonFileTest, NullsOfTheUserAreNullInStrings) {
  const std::string text = "{\"n\":\"NA\",\"s\":\"NA\"}\n{\"n\":1,\"s\":\"\"}\n";
  EXPECT_THAT(ReadJson(text, "n:int64?,s:string?", {.nulls = {"NA"}}).lines,
              ElementsAre("-|-", "1|"));
  EXPECT_THAT(
      ReadJson(text, "n:int64?,s:string?", {.nulls = {"NA"}, .nulls_in_strings = false}).lines,
      ElementsAre("-|NA", "1|"));
}

TEST(NdjsonFileTest, ChosenKeysAreAnIndex) {
  const TempFile temp("{\"v\":7,\"k\":1,\"x\":0}\n");
  RowFileFormat format{.delimited = {.delimiter = '\n', .quotes = false}, .json = true};
  format.choice = ColumnChoice{.key = {"k"}, .value = "v"};
  const Schema schema = *ParseSchema("key:uint64,value:uint64", "key");
  RowFile file(temp.fd(), "f", format, schema);
  ASSERT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  ASSERT_TRUE(file.Read(10, rows, [](const std::string&) { return false; }).ok());
  ASSERT_EQ(rows.rows, 1u);
  std::string shown;
  AppendCell(schema.columns[1], rows, 1, 0, &shown);
  EXPECT_EQ(shown, "7");
  format.choice = ColumnChoice{};
  EXPECT_THAT(RowFile(temp.fd(), "f", format, schema).Open().message(), HasSubstr("--key NAME"));
}

TEST(NdjsonFileTest, LongLinesCrossBlocks) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, "{\"a\":", i, ",\"s\":\"", std::string(60'000, 'x'), "\"}\n");
  }
  const JsonRows read = ReadJson(text, "a:int64,s:string");
  EXPECT_THAT(read.complaints, IsEmpty());
  EXPECT_EQ(read.lines.size(), 40u);
  const JsonRows endless = ReadJson(
      "{\"a\":\"" + std::string(9 << 20, 'x') + "\"}\n{\"a\":1,\"s\":\"\"}\n", "a:int64,s:string");
  EXPECT_THAT(endless.lines, ElementsAre("1|"));
  EXPECT_THAT(endless.complaints, ElementsAre("f line 1: longer than 4194304 bytes"));
}

InferredFile InferJson(absl::string_view text, KnownOfFile known = {}) {
  known.json = true;
  auto file = InferFile("f", {.beginning = text, .is_whole = true}, known);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : InferredFile();
}
std::string JsonColumns(absl::string_view text) {
  return SchemaText({.columns = InferJson(text).columns});
}

TEST(NdjsonInferenceTest, TypesAreThoseOfTheValues) {
  EXPECT_EQ(JsonColumns("{\"i\":1,\"f\":2.5,\"s\":\"x\",\"d\":\"2024-01-02\",\"b\":true}\n"
                        "{\"i\":-7,\"f\":1,\"u\":18446744073709551615,\"z\":null}\n"),
            "i:int64?,f:float64?,s:string?,d:date?,b:string?,u:uint64?,z:string?");
  // Numbers in quotes are text, and so are numbers that a number would not show again.
  EXPECT_EQ(
      JsonColumns(
          "{\"a\":\"7\",\"b\":9007199254740993,\"c\":\"7\"}\n{\"a\":\"8\",\"b\":0.5,\"c\":7}\n"),
      "a:string?,b:string?,c:string?");
  EXPECT_EQ(JsonColumns("{\"a\":\"2024-01-02\"}\n{\"a\":7}\n"), "a:string?");
  EXPECT_EQ(JsonColumns("{\"d\":\"31.12.2024\"}\n"), "d:date?");
  EXPECT_EQ(JsonColumns("{\"t\":\"2024-01-02 03:04:05.5\"}\n{\"t\":\"2024-01-02\"}\n"),
            "t:timestamp?");
  const InferredFile nulls = InferJson("{\"a\":\"NA\",\"b\":\"NA\"}\n{\"a\":7,\"b\":\"x\"}\n");
  EXPECT_EQ(FormatText(nulls), "NDJSON, null is 'NA' except in strings");
  EXPECT_EQ(SchemaText({.columns = nulls.columns}), "a:int64?,b:string?");
}

TEST(NdjsonInferenceTest, NamesAndNestedValuesAreTold) {
  const InferredFile file = InferJson("{\"a,b\":1,\"n\":{\"x\":1}}\n{\"n\":\"text\",\"\":[]}\n");
  EXPECT_EQ(SchemaText({.columns = file.columns}), "a_b:int64?,n:string?,c3:string?");
  EXPECT_THAT(file.keys, ElementsAre("a,b", "n", ""));
  EXPECT_THAT(file.notes,
              ElementsAre("column 1, 'a,b' in the file, is called a_b",
                          "column 3, '' in the file, is called c3",
                          "arrays and objects are kept as their JSON text, in columns n, c3"));
}

TEST(NdjsonInferenceTest, NamesDoNotDependOnTheOrderOfKeys) {
  for (const char* line : {"{\"a,b\":1,\"a_b\":2}\n", "{\"a_b\":2,\"a,b\":1}\n"}) {
    const InferredFile file = InferJson(line);
    EXPECT_EQ(file.columns[file.keys[0] == "a_b" ? 0 : 1].name, "a_b") << line;
    EXPECT_EQ(file.columns[file.keys[0] == "a_b" ? 1 : 0].name, "a_b_2") << line;
  }
  EXPECT_THAT(ColumnNames({"a", " a ", "a", "a_2", "", "c5", "c6"}),
              ElementsAre("a", "a_3", "a_4", "a_2", "c5_2", "c5", "c6"));
}

TEST(NdjsonInferenceTest, KeysOfATableThatExistsAreThoseThatCanBeTold) {
  const auto keys = [](const std::vector<std::string>& of_file, absl::string_view columns) {
    return KeysOfColumns(of_file, *ParseSchema(columns, ""));
  };
  EXPECT_THAT(keys({"a,b", "n"}, "n:int64,a_b:int64"), ElementsAre("n", "a,b"));
  for (const std::vector<std::string>& of_file :
       {std::vector<std::string>{"a,b", "a_b"}, {"a_b", "a,b"}, {"a,b", "a:b"}, {"x"}}) {
    EXPECT_THAT(keys(of_file, "a_b:int64,c:int64"), ElementsAre("a_b", "c"));
  }
  EXPECT_THAT(keys({"a,b"}, "a_b:int64,a_b_2:int64"), ElementsAre("a_b", "a_b_2"));
  EXPECT_THAT(keys({"", "x"}, "c1:int64,x:int64"), ElementsAre("c1", "x"));
}

TEST(NdjsonInferenceTest, PlacesFurtherBehindCount) {
  const auto file =
      InferFile("f", {.beginning = "{\"a\":\"x\"}\n{\"a\":", .others = {"1}\n{\"b\":1.5}\n{\"c"}},
                {.json = true});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(SchemaText({.columns = file->columns}), "a:string?,b:float64?");
}

TEST(NdjsonInferenceTest, AFileWithoutAnObjectIsRefused) {
  const auto refused = [](absl::string_view text) {
    return std::string(
        InferFile("f", {.beginning = text, .is_whole = true}, {.json = true}).status().message());
  };
  EXPECT_THAT(refused("\n\n{\n  \"a\": 1\n}\n"),
              HasSubstr("f line 3: no JSON object, which must end"));
  EXPECT_THAT(refused("{}\n"), HasSubstr("no whole line with a key"));
  EXPECT_THAT(refused(""), HasSubstr("no whole line with a key"));
}

TEST(NdjsonInferenceTest, LaterKeysAreColumnsByTheirFirstValue) {
  InferredFile file = InferJson("{\"a\":1}\n");
  AddColumn("b", "7", false, file);
  AddColumn("c", "7", true, file);
  AddColumn("a:", "2024-01-02", true, file);
  AddColumn("a,", "[1]", false, file);
  AddColumn("t", "2024-01-02T03:04:05Z", true, file);
  EXPECT_EQ(SchemaText({.columns = file.columns}),
            "a:int64?,b:int64?,c:string?,a_:date?,a__2:string?,t:timestamp?");
  EXPECT_THAT(file.keys, ElementsAre("a", "b", "c", "a:", "a,", "t"));
}

TEST(JsonFileTest, NamesTellTheFormat) {
  EXPECT_EQ(JsonNameOf("a.ndjson"), JsonName::kLines);
  EXPECT_EQ(JsonNameOf("d/a.b.jsonl.gz"), JsonName::kLines);
  EXPECT_EQ(JsonNameOf("a.json.zst"), JsonName::kJson);
  EXPECT_EQ(JsonNameOf("a.json.csv"), JsonName::kNone);
  EXPECT_EQ(JsonNameOf("ndjson"), JsonName::kNone);
}

}  // namespace
}  // namespace eris::cli
