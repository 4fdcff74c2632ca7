#include "clients/cli/inference/inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/inference/value_types.h"
#include "clients/cli/loading/file_sample.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

InferredFile Infer(absl::string_view text, const KnownOfFile& known = {}) {
  auto file = InferFile("f", {.beginning = text, .is_whole = true}, known);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : InferredFile();
}
std::string Columns(const InferredFile& file) { return SchemaText({.columns = file.columns}); }
std::string ColumnsOf(absl::string_view text) { return Columns(Infer(text)); }

TEST(InferenceTest, TypesAreTheNarrowestThatHaveAllValues) {
  EXPECT_EQ(ColumnsOf("a,b,c,d,e\n1,2.5,2024-01-02,x,18446744073709551615\n-7,1e3,1969-12-31,,1\n"),
            "a:int64?,b:float64?,c:date?,d:string?,e:uint64?");
  EXPECT_EQ(ColumnsOf("a,b\n1,2024-01-02\n2.5,7\n"), "a:float64?,b:string?");
  EXPECT_EQ(ColumnsOf("a,b\n-1,18446744073709551616\n18446744073709551615,1\n"),
            "a:string?,b:float64?");
  // Numbers that would not show their text again.
  EXPECT_EQ(ColumnsOf("zip,id,n\n00501,9007199254740993.0,0\n10115,9007199254740992,0.5\n"),
            "zip:string?,id:float64?,n:float64?");
  EXPECT_EQ(ColumnsOf("a,b,c\n999999999999998592,36893488147419103233,1e300\n0.5,0.5,0.5\n"),
            "a:float64?,b:string?,c:float64?");
  EXPECT_EQ(ColumnsOf("a,b,c\n-07,1.5,0\n3,9007199254740993,-0\n"), "a:string?,b:string?,c:int64?");
  EXPECT_EQ(ColumnsOf("a,b\n,1\n,2\n"), "a:string?,b:int64?");
  EXPECT_EQ(ColumnsOf("a,b\n 1 ,2\n3,4\n"), "a:int64?,b:int64?");
  EXPECT_EQ(ColumnsOf("a,b\n\xff,2\n3,4\n"), "a:bytes?,b:int64?");
  EXPECT_EQ(ColumnsOf(absl::StrCat("a,b\n", std::string(1000, '1'), ",2\n")), "a:string?,b:int64?");
}

TEST(InferenceTest, DelimitersAreFoundByWhatTheyExplain) {
  EXPECT_EQ(Infer("a;b\n1,5;2\n2,25;3\n").delimited.delimiter, ';');
  EXPECT_EQ(Infer("a\tb c\n1\t2,3\n").delimited.delimiter, '\t');
  EXPECT_EQ(Infer("a|b|c\n1|2|3\n").delimited.delimiter, '|');
  EXPECT_EQ(Infer("a,b\n\"x;y;z\",1\n\"1;2\n3\",2\n").delimited.delimiter, ',');
  EXPECT_EQ(Infer("one\n1\n2\n").delimited.delimiter, ',');
  EXPECT_EQ(ColumnsOf("one\n1\n2\n"), "one:int64?");
  EXPECT_EQ(Infer("a;b\n1;2\n", {.delimited = DelimitedFormat{.delimiter = ','}}).columns.size(),
            1u);
}

TEST(InferenceTest, HeadersAreTextsAboveOtherThings) {
  EXPECT_TRUE(Infer("a,b\n1,2\n").header);
  EXPECT_FALSE(Infer("1,2\n3,4\n").header);
  EXPECT_EQ(ColumnsOf("1,2\n3,x\n"), "c1:int64?,c2:string?");
  EXPECT_TRUE(Infer("name,city\nAda,Bonn\n").header);
  EXPECT_FALSE(Infer("Ada,Ada\nBob,Kiel\n").header);
  EXPECT_FALSE(Infer("Ada,\nBob,Kiel\n").header);
  EXPECT_TRUE(Infer("id,\n1,x\n").header);
  EXPECT_FALSE(Infer("2020,2021\n1,2\n").header);
  EXPECT_TRUE(Infer("2020,2021\n1,2\n", {.header = true}).header);
  EXPECT_FALSE(Infer("a,b\n1,2\n", {.header = false}).header);
  EXPECT_EQ(Columns(Infer("a,b\n1,2\n", {.header = false})), "c1:string?,c2:string?");
  EXPECT_FALSE(Infer("x,y\n").header);
  // Years among names, and rows with names of their own.
  EXPECT_EQ(ColumnsOf("land,2001,2002,2003\nFR,1,2,3\n"),
            "land:string?,2001:int64?,2002:int64?,2003:int64?");
  EXPECT_FALSE(Infer("FR,1,2,3\nDE,1,2,3\n").header);
  EXPECT_FALSE(Infer("FR,2001,2003,2004\nDE,1,2,3\n").header);
  EXPECT_EQ(ColumnsOf("a,b\n1,2,x\n3,4,y\n"), "c1:int64?,a:int64?,b:string?");
  EXPECT_FALSE(Infer("a,b\nx,y,z\nu,v,w\n").header);
  EXPECT_TRUE(Infer("\"\",ok\n1,TRUE\n2,FALSE\n").header);
  EXPECT_FALSE(Infer("\"\",ok\nx,TRUE\ny,FALSE\n").header);
}

TEST(InferenceTest, ValuesAreNoNames) {
  for (const char* rows : {"01234,abc\n02345,def\n", "31/12/2024,abc\n30/12/2024,def\n",
                           "31.12.2024;abc\n30.12.2024;def\n", "1,5;abc\n2,5;def\n",
                           "2024-01-01 10:00:00,ERROR\n2024-01-01 10:00:01,INFO\n"}) {
    EXPECT_FALSE(Infer(rows).header) << rows;
  }
  // Names above decimal commas, and above dates in other forms.
  EXPECT_TRUE(Infer(";Preis;Menge\nA;1,5;2,5\nB;2,5;3,5\n").header);
  EXPECT_TRUE(Infer("a;a\n31.12.2024;x\n30.12.2024;y\n").header);
}

TEST(InferenceTest, LinesThatEndWithADelimiterKeepTheirNames) {
  EXPECT_EQ(ColumnsOf("name,city,qty\nann,bonn,5,\nbob,kiel,6,\n"),
            "name:string?,city:string?,qty:int64?,c4:string?");
}

TEST(InferenceTest, SemicolonsDivideNumbersWithDecimalCommas) {
  EXPECT_EQ(ColumnsOf("1,5;2,5;3,5\n1,6;2,7;3,8\n"), "c1:float64?,c2:float64?,c3:float64?");
  EXPECT_EQ(ColumnsOf("1;2,5\n2;3,5\n"), "c1:int64?,c2:float64?");
  EXPECT_EQ(ColumnsOf("1,a;b\n2,c;d\n"), "c1:int64?,c2:string?");
  EXPECT_EQ(ColumnsOf("a;b;c\n1,5;192.168.100.123;1.2e-10\n2,5;10.100.20.1;x\n"),
            "a:float64?,b:string?,c:string?");
}

TEST(InferenceTest, EscapesAreFoundByWhatTheyHelp) {
  const InferredFile file = Infer("a,b\n\"x \\\"y\\\" z\",1\n\"c:\\\\\",2\n");
  EXPECT_EQ(FormatText(file), "delimiter ',', a header, escape '\\'");
  EXPECT_EQ(Infer("a,b\n\"x \"\"y\"\" z\",1\n\"c:\\\",2\n").delimited.escape, '\0');
}

TEST(InferenceTest, DatesAndFractionsInOtherForms) {
  const InferredFile german =
      Infer("Tag;Preis;n;x\n31.12.2024;1.234,5;7;a\n1.2.2025;-0,25;8;1,5\nNA;;9;\n");
  EXPECT_EQ(Columns(german), "Tag:date?,Preis:float64?,n:int64?,x:string?");
  EXPECT_EQ(FormatText(german),
            "delimiter ';', a header, dates DD.MM.YYYY, decimal commas, null is 'NA' "
            "except in strings");
  EXPECT_EQ(ColumnsOf("d\n2024/01/02\n2024/1/3\n"), "d:date?");
  EXPECT_EQ(ColumnsOf("d,e\n12/31/2024,2024-01-02\n01/02/2024,2024-01-03\n"), "d:date?,e:date?");
  // One column tells the form of the other.
  EXPECT_EQ(Infer("d,e\n01/02/2024,13/02/2024\n").forms.date, "DD/MM/YYYY");
  const InferredFile doubtful = Infer("d,n\n01/02/2024,1\n03/04/2024,2\n");
  EXPECT_EQ(Columns(doubtful), "d:string?,n:int64?");
  EXPECT_THAT(doubtful.notes, ElementsAre("column 1 may be dates: --date-format DD/MM/YYYY or "
                                          "MM/DD/YYYY"));
  EXPECT_EQ(Columns(Infer("d,n\n01/02/2024,1\n", {.forms = {.date = "MM/DD/YYYY"}})),
            "d:date?,n:int64?");
  EXPECT_EQ(Columns(Infer("d,n\n1 5 2024,1\n", {.forms = {.date = "DD MM YYYY"}})),
            "d:date?,n:int64?");
  // What is none.
  EXPECT_EQ(ColumnsOf("d\n31.12.24\n01.02.25\n"), "d:string?");
  EXPECT_EQ(ColumnsOf("d\n31.13.2024\n"), "d:string?");
  EXPECT_EQ(ColumnsOf("a,b\n\"1,5\",1\n"), "a:string?,b:int64?");
  EXPECT_EQ(ColumnsOf("a;b\n1,500;1\n"), "a:string?,b:int64?");
  EXPECT_EQ(ColumnsOf("a;b\n1,5;1.5\n"), "a:string?,b:float64?");
}

// How a file is read into a table that exists.
FieldForms FormsFor(absl::string_view columns, const std::string& text) {
  const TempFile temp(text);
  InputFile input;
  EXPECT_TRUE(input.Open(absl::StrCat("/proc/self/fd/", temp.fd())).ok());
  const auto file = InferForms(input, {}, *ParseSchema(columns, ""));
  EXPECT_TRUE(file.has_value());
  return file ? file->forms : FieldForms();
}

TEST(InferenceTest, OnlyFractionsOfATableTellOfDecimalCommas) {
  constexpr absl::string_view kTable = "id:int64,w:float64,note:string";
  EXPECT_FALSE(FormsFor(kTable, "id;w;note\n1;1.500;1,25\n2;2.250;3,5\n").decimal_comma);
  EXPECT_FALSE(FormsFor(kTable, "note;w;id\n1,25;1.500;1\n3,5;2.250;2\n").decimal_comma);
  EXPECT_FALSE(FormsFor(kTable, "1;1.500;1,25\n2;2.250;3,5\n").decimal_comma);
  EXPECT_TRUE(FormsFor(kTable, "id;w;note\n1;1,5;1.25\n2;2,25;3.5\n").decimal_comma);
  EXPECT_TRUE(FormsFor("w:decimal(2)?,n:string", "w;n\n1.234;a\n1.234,5;b\n").decimal_comma);
  // 1.500 may be a thousand or a fraction, and a value of another column does not tell.
  EXPECT_FALSE(FormsFor("a:float64,b:float64", "a;b\n1.500;1,25\n2.250;3,5\n").decimal_comma);
  // A column that the table has not is passed over.
  EXPECT_FALSE(FormsFor("w:float64", "w;note\n1.500;1,25\n2.250;3,5\n").decimal_comma);
}

TEST(InferenceTest, OnlyDatesOfATableTellOfTheirForm) {
  EXPECT_EQ(FormsFor("id:int64,d:date,note:string", "1,01/02/2024,25/12/2024\n").date, "");
  EXPECT_EQ(FormsFor("id:int64,d:date,e:date", "1,01/02/2024,25/12/2024\n").date, "DD/MM/YYYY");
  EXPECT_EQ(FormsFor("d:date,s:string", "s,d\n31/12/2024,12/31/2024\n").date, "MM/DD/YYYY");
}

TEST(InferenceTest, LinesAboveATableAreTold) {
  EXPECT_THAT(Infer("made by a program\n\n7,8\na,b,c\n1,2,3\n4,5,6\n").notes,
              ElementsAre("line 1 has 1 field, most lines have 3: --skip 3 passes over what is "
                          "before them"));
  EXPECT_THAT(Infer("a,b,c\n1,2,3\n7,8\n").notes, IsEmpty());
}

TEST(InferenceTest, SpacesDivideWhatIsNoText) {
  EXPECT_EQ(ColumnsOf("\"name\" \"n\"\n\"New York\" 7\nBonn 8\n"), "name:string?,n:int64?");
  EXPECT_EQ(ColumnsOf("x n\n\"New York\" 7 1\nBonn 8 2\n"), "c1:string?,x:int64?,n:int64?");
  EXPECT_EQ(ColumnsOf("full name\nAda Lovelace\nAlan Turing\n"), "full name:string?");
  EXPECT_EQ(ColumnsOf("event time\n2024-01-01 10:00:00\n2024-01-02 10:00:00\n"),
            "event time:timestamp?");
  EXPECT_EQ(ColumnsOf("day n\n2024-01-01 1\n2024-01-02 2\n"), "day:date?,n:int64?");
}

TEST(InferenceTest, TextsOfNullsAreThoseThatNarrowAColumn) {
  const InferredFile file = Infer("a,b,c\n1,NA,x\nNA,2024-01-02,NA\n3,?,y\n");
  EXPECT_THAT(file.nulls, ElementsAre("?", "NA"));
  EXPECT_EQ(Columns(file), "a:int64?,b:date?,c:string?");
  EXPECT_EQ(FormatText(file), "delimiter ',', a header, null is '?' or 'NA' except in strings");
  EXPECT_THAT(file.notes, ElementsAre("column 3, c, has 'NA' as text: --null 'NA' makes it null in "
                                      "all columns"));
  EXPECT_TRUE(NullsHold(file, ColumnType::kDate));
  EXPECT_FALSE(NullsHold(file, ColumnType::kString));
  EXPECT_TRUE(NullsHold(Infer("a\nNA\n", {.nulls = {{"NA"}}}), ColumnType::kString));
  // Text among texts, and what a double may be.
  EXPECT_THAT(Infer("a,b\nNA,x\nDE,y\n").nulls, IsEmpty());
  EXPECT_EQ(ColumnsOf("a,b\n1.5,1\nNaN,2\n"), "a:float64?,b:int64?");
  EXPECT_EQ(Columns(Infer("a,b\n1,x\n-99,y\nnone,z\n", {.nulls = {{"none"}}})),
            "a:int64?,b:string?");
  // Where nulls would not help.
  EXPECT_THAT(Infer("d,s\n\"1,5\",NA\nNA,x\n").nulls, IsEmpty());
  EXPECT_THAT(Infer("d,s\n01/02/2024,NA\nNA,x\n").nulls, IsEmpty());
  // Nothing but nulls.
  EXPECT_EQ(ColumnsOf("a,b,c\nNA,1,7\nNA,NA,8\n"), "a:string?,b:int64?,c:int64?");
}

TEST(InferenceTest, NamesAreThereOnceAndFitTheCommandLine) {
  const InferredFile file = Infer("a, a ,a,,x:y,\"p,q\"\n1,2,3,4,5,6\n");
  EXPECT_EQ(Columns(file), "a:int64?,a_2:int64?,a_3:int64?,c4:int64?,x_y:int64?,p_q:int64?");
  EXPECT_THAT(file.notes, ElementsAre("column 2, ' a ' in the header, is called a_2",
                                      "column 3, 'a' in the header, is called a_3",
                                      "column 4, '' in the header, is called c4",
                                      "column 5, 'x:y' in the header, is called x_y",
                                      "column 6, 'p,q' in the header, is called p_q"));
  EXPECT_EQ(ColumnsOf(absl::StrCat(std::string(300, 'n'), ",\xff\n1,2\n")), "c1:int64?,c2:int64?");
}

TEST(InferenceTest, PlacesFurtherBehindCountUnlessLinesMayBeInQuotes) {
  const auto columns = [](absl::string_view beginning, absl::string_view other) {
    const auto file = InferFile("f", {.beginning = beginning, .others = {other}}, {});
    return file.ok() ? Columns(*file) : file.status().ToString();
  };
  EXPECT_EQ(columns("a,b\n1,2\n3,4\n5,", "9,rest of a line\n5,x\n6,cut o"), "a:int64?,b:string?");
  EXPECT_EQ(columns("a,b\n1,\"2\"\n3,4\n", "9\n5,x\n6,7\n"), "a:int64?,b:int64?");
  EXPECT_EQ(columns("a,b\n1,2\n3,4\n", "no line end"), "a:int64?,b:int64?");
}

TEST(InferenceTest, ATextWithoutALineIsRefused) {
  for (const bool whole : {false, true}) {
    const auto file = InferFile("f", {.beginning = "\n\n", .is_whole = whole}, {});
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << file.status();
  }
}

TEST(InferenceTest, TimestampsAndDatesAmongThem) {
  const auto type = [](absl::string_view values) {
    const std::string text = absl::StrCat("name,at\n", values);
    const auto file = InferFile("f", {.beginning = text, .is_whole = true}, {});
    EXPECT_TRUE(file.ok()) << file.status();
    return file->columns[1].type;
  };
  EXPECT_EQ(type("a,2024-01-02 03:04:05\nb,2024-01-02T03:04:05.5Z\n"), ColumnType::kTimestamp);
  EXPECT_EQ(type("a,2024-01-02\nb,2024-01-02 03:04\nc,\n"), ColumnType::kTimestamp);
  EXPECT_EQ(type("a,2024-01-02\nb,2024-01-03\n"), ColumnType::kDate);
  EXPECT_EQ(type("a,2024-01-02 03:04:05\nb,NA\n"), ColumnType::kTimestamp);
  // Digits that it would lose, a leap second, or no time at all.
  EXPECT_EQ(type("a,2024-01-02 03:04:05.123456789\n"), ColumnType::kString);
  EXPECT_EQ(type("a,2016-12-31 23:59:60\n"), ColumnType::kString);
  EXPECT_EQ(type("a,2024-01-02 03:04:05\nb,7\n"), ColumnType::kString);
}

TEST(InferenceTest, WiderTypes) {
  EXPECT_EQ(WidenedType(ColumnType::kInt64, "1.5"), ColumnType::kFloat64);
  EXPECT_EQ(WidenedType(ColumnType::kInt64, "18446744073709551615"), ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kInt64, "007"), ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kInt64, "x"), ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kFloat64, "x"), ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kDate, "7"), ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kDate, "2024-01-02 03:04:05"), ColumnType::kTimestamp);
  EXPECT_EQ(WidenedType(ColumnType::kDate, "2024-01-02 03:04:05", {.date = "DD.MM.YYYY"}),
            ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kTimestamp, "03:04:05"), ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kString, "\xff"), ColumnType::kBytes);
  EXPECT_EQ(WidenedType(ColumnType::kString, "x"), ColumnType::kString);
  EXPECT_EQ(WidenedType(ColumnType::kBytes, "x"), ColumnType::kBytes);
}

}  // namespace
}  // namespace eris::cli
