// What is written as CSV or .tbl is read as the same rows, bit for bit.
#include "clients/cli/files/row_text.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "clients/cli/files/row_file.h"
#include "clients/cli/files/schema_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"
#include "tests/unit/clients/output_text.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

std::string Written(const Schema& schema, const client::OwnedRows& rows, bool tbl,
                    absl::Status* error = nullptr) {
  return OutputText([&](Output& output) {
    RowText text(output, tbl);
    const absl::Status status = text.Add(schema, rows);
    if (error != nullptr) *error = status;
    text.End(schema);
  });
}

client::OwnedRows ReadBack(const Schema& schema, const std::string& text, bool tbl) {
  const TempFile temp(text);
  RowFileFormat format;
  format.delimited = tbl ? DelimitedFormat{'|', false, true} : DelimitedFormat{};
  format.header = tbl ? std::optional<bool>(false) : std::nullopt;
  RowFile file(temp.fd(), "f", format, schema);
  EXPECT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  std::string complaint;
  const auto result = file.Read(1'000'000, rows, [&](const std::string& bad) {
    complaint = bad;
    return false;
  });
  EXPECT_TRUE(result.ok() && *result == RowFile::Result::kEnd) << complaint;
  return rows;
}

template <class T>
void AppendValue(const T& value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// nullopt: null.
void AddStrings(const std::vector<std::optional<std::string>>& values, ColumnBuffers& column) {
  AppendValue(uint32_t{0}, column.offsets);
  column.validity.assign((values.size() + 7) / 8, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) {
      column.values += *values[i];
      column.validity[i >> 3] = static_cast<char>(column.validity[i >> 3] | 1 << (i & 7));
    }
    AppendValue(static_cast<uint32_t>(column.values.size()), column.offsets);
  }
}

TEST(RowTextTest, CsvHasAHeaderNullsAndQuotes) {
  Schema schema = *ParseSchema("n:int32,b:string?", "");
  schema.columns[1].name = "a,b";
  client::OwnedRows rows{.rows = 5, .columns = std::vector<ColumnBuffers>(2)};
  for (const int32_t n : {1, 2, 3, 4, 5}) AppendValue(n, rows.columns[0].values);
  AddStrings({"x", std::nullopt, "", "say \"a\",\nb", "\r"}, rows.columns[1]);
  EXPECT_EQ(Written(schema, rows, false),
            "n,\"a,b\"\n1,x\n2,\n3,\"\"\n4,\"say \"\"a\"\",\nb\"\n5,\"\r\"\n");
  EXPECT_EQ(Written(schema, {.rows = 0, .columns = std::vector<ColumnBuffers>(2)}, false),
            "n,\"a,b\"\n");
}

TEST(RowTextTest, TblRefusesWhatItCannotHold) {
  const Schema schema = *ParseSchema("a:string?", "");
  for (const char* bad : {"", "a|b", "a\nb"}) {
    client::OwnedRows rows{.rows = 2, .columns = std::vector<ColumnBuffers>(1)};
    AddStrings({"fine", bad}, rows.columns[0]);
    absl::Status status;
    EXPECT_EQ(Written(schema, rows, true, &status), "fine|\n");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("column a of row 2"));
  }
}

// All types, in both forms, with the worst strings that each can hold.
TEST(RowTextTest, RowsComeBackBitForBit) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  constexpr uint64_t kRows = 3000;
  const Schema schema = *ParseSchema(
      "s:string?,d:float64?,i:int32,l:int64,u:uint64,day:date,m:decimal(4)?,t:string,b:bytes?", "");
  for (const bool tbl : {false, true}) {
    client::OwnedRows rows{.rows = kRows, .columns = std::vector<ColumnBuffers>(9)};
    const std::string letters =
        tbl ? std::string("ab,\"\r\0 \\x", 9) : std::string("ab,\"\r\n|\0 \\x", 11);
    const auto word = [&] {
      std::string text;
      for (uint64_t n = random() % 6; n > 0; --n)
        text += random() % 4 == 0 ? "\xc3\xbc" : std::string(1, letters[random() % letters.size()]);
      return text;
    };
    const auto bytes = [&] {
      std::string any;
      for (uint64_t n = random() % 6; n > 0; --n) any += static_cast<char>(random());
      return any;
    };
    std::vector<std::optional<std::string>> nullable, whole, any;
    const double special[] = {0.0,
                              -0.0,
                              0.1,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::denorm_min(),
                              std::numeric_limits<double>::max(),
                              std::numeric_limits<double>::quiet_NaN()};
    for (const size_t column : {1u, 6u}) {
      rows.columns[column].validity.resize((kRows + 7) / 8);
      for (char& bits : rows.columns[column].validity) bits = static_cast<char>(random());
    }
    for (uint64_t row = 0; row < kRows; ++row) {
      std::string text = word();
      if (tbl && text.empty()) text = "x";
      nullable.push_back(random() % 5 == 0 ? std::nullopt : std::optional(text));
      whole.push_back(word());
      any.push_back(random() % 5 == 0 ? std::nullopt : std::optional(bytes()));
      double real = std::bit_cast<double>(random());
      if (std::isnan(real) || row % 7 == 0) real = special[random() % std::size(special)];
      const auto at = [&](size_t column) -> std::string& { return rows.columns[column].values; };
      AppendValue(rows.IsNull(1, row) ? 0.0 : real, at(1));
      AppendValue(static_cast<int32_t>(random()), at(2));
      AppendValue(static_cast<int64_t>(random()), at(3));
      AppendValue(random(), at(4));
      AppendValue(static_cast<int32_t>(random()), at(5));
      AppendValue(rows.IsNull(6, row) ? int64_t{0} : static_cast<int64_t>(random()), at(6));
    }
    AddStrings(nullable, rows.columns[0]);
    AddStrings(whole, rows.columns[7]);
    rows.columns[7].validity.clear();
    AddStrings(any, rows.columns[8]);

    absl::Status status;
    const std::string text = Written(schema, rows, tbl, &status);
    ASSERT_TRUE(status.ok()) << status;
    const client::OwnedRows back = ReadBack(schema, text, tbl);
    ASSERT_EQ(back.rows, rows.rows);
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      EXPECT_EQ(back.columns[i].values, rows.columns[i].values) << schema.columns[i].name;
      EXPECT_EQ(back.columns[i].offsets, rows.columns[i].offsets) << schema.columns[i].name;
      for (uint64_t row = 0; row < kRows; ++row) {
        ASSERT_EQ(back.IsNull(i, row), rows.IsNull(i, row)) << schema.columns[i].name;
      }
    }
  }
}

TEST(RowTextTest, NullsOfASingleColumnComeBack) {
  const Schema schema = *ParseSchema("a:string?", "");
  client::OwnedRows rows{.rows = 4, .columns = std::vector<ColumnBuffers>(1)};
  AddStrings({std::nullopt, "", "x", std::nullopt}, rows.columns[0]);
  const client::OwnedRows back = ReadBack(schema, Written(schema, rows, false), false);
  ASSERT_EQ(back.rows, 4u);
  EXPECT_TRUE(back.IsNull(0, 0));
  EXPECT_FALSE(back.IsNull(0, 1));
  EXPECT_EQ(back.GetString(0, 2), "x");
  EXPECT_TRUE(back.IsNull(0, 3));
}

}  // namespace
}  // namespace eris::cli
