#include "clients/cli/files/write_text.h"

#include <cstdint>
#include <limits>
#include <string>

#include "clients/cli/files/cell_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();

// One row of an index: "key=value", of kCompareAndSet "key=expected:value", or what is wrong.
std::string Read(WriteMode mode, const Schema& schema, const std::string& text,
                 bool from_input = false) {
  RowsToWrite to;
  const absl::Status status = AddWrite(schema, {.mode = mode}, from_input, text, to);
  if (!status.ok()) return std::string(status.message());
  const ColumnSchema& value = schema.columns.back();
  std::string out = KeyTextOf(schema, to.rows, 0) + "=";
  if (mode == WriteMode::kCompareAndSet) {
    AppendCell(value, to.expected, 0, 0, &out);
    out += ":";
  }
  AppendCell(value, to.rows, schema.columns.size() - 1, 0, &out);
  return out;
}
std::string Read(const std::string& text, const KeyTypes& types = {}) {
  return Read(WriteMode::kUpsert, KeyValueSchema(types), text);
}

TEST(WriteTextTest, PairsAreJoinedByEqualsOrBlanks) {
  for (const char* text : {"7=42", "7 42", " 7\t 42 "}) EXPECT_EQ(Read(text), "7=42") << text;
  for (const char* text : {"7", "=7", "7=", "a=1", "1=a", "1=2=3", "1 2 3"}) {
    EXPECT_THAT(Read(text), HasSubstr("is no")) << text;
  }
  EXPECT_THAT(Read("7"), HasSubstr("'7' is no pair; expected key=value or 'key value'"));
}

TEST(WriteTextTest, KeysAreReadByTheirTypes) {
  EXPECT_EQ(Read("-5=3", ColumnType::kInt64), "-5=3");
  EXPECT_EQ(Read("-1.5e-7 3", ColumnType::kFloat64), "-1.5e-07=3");
  EXPECT_EQ(Read("1970-01-11=3", ColumnType::kDate), "1970-01-11=3");
  const KeyTypes pairs{ColumnType::kInt64, ColumnType::kDate};
  EXPECT_EQ(Read(" -5/1969-01-01 3 ", pairs), "-5/1969-01-01=3");
  EXPECT_THAT(Read("-5=3", pairs), HasSubstr("'-5' has 1 part"));
  // The value is a uint64 whatever the key is.
  EXPECT_THAT(Read("-5=-3", ColumnType::kInt64), HasSubstr("'-3' is no number from 0"));
}

TEST(WriteTextTest, TimestampsAsKeysHaveBlanksInside) {
  const auto numbers = [](const std::string& text) { return Read(text, ColumnType::kTimestamp); };
  for (const char* text : {"2024-02-29 03:04:05.25=1", "2024-02-29 03:04:05.25 1",
                           "2024-02-29T03:04:05.25=1", "2024-02-29 05:04:05.25 +02 1"}) {
    EXPECT_EQ(numbers(text), "2024-02-29 03:04:05.25=1") << text;
  }
  EXPECT_EQ(numbers("2024-02-29=1"), "2024-02-29 00:00:00=1");
  EXPECT_EQ(numbers("2024-02-29 1"), "2024-02-29 00:00:00=1");
  EXPECT_THAT(numbers("2024-02-29 03:04"), HasSubstr("'03:04' is no number"));
  EXPECT_EQ(Read("7/2024-02-29 03:04 1", {ColumnType::kInt64, ColumnType::kTimestamp}),
            "7/2024-02-29 03:04:00=1");
  const Schema strings = KeyValueSchema(ColumnType::kTimestamp, ColumnType::kString);
  const auto text = [&](const std::string& pair) {
    return Read(WriteMode::kUpsert, strings, pair);
  };
  EXPECT_EQ(text("2024-02-29 03:04:05=hello"), "2024-02-29 03:04:05=hello");
  EXPECT_EQ(text("2024-02-29 03:04:05 a=b c"), "2024-02-29 03:04:05=a=b c");
  EXPECT_EQ(text("2024-02-29 " + std::string(100'000, ' ') + "x"), "2024-02-29 00:00:00=x");
  const auto compared = [](const std::string& pair) {
    return Read(WriteMode::kCompareAndSet, KeyValueSchema(ColumnType::kTimestamp), pair);
  };
  EXPECT_EQ(compared("2024-03-01 17:05=1:2"), "2024-03-01 17:05:00=1:2");
  EXPECT_EQ(compared("2024-03-01 17:05 1 2"), "2024-03-01 17:05:00=1:2");
  EXPECT_THAT(compared("2024-03-01 17:05"), HasSubstr("is no pair"));
  EXPECT_THAT(compared("2024-03-01 17:05 1"), HasSubstr("is no pair"));
}

TEST(WriteTextTest, DeltasHaveASignAndAreModular) {
  const auto read = [](const std::string& text) {
    return Read(WriteMode::kAdd, KeyValueSchema(), "7=" + text);
  };
  const auto pair = [](uint64_t value) { return "7=" + std::to_string(value); };
  EXPECT_EQ(read("18446744073709551615"), pair(kLargest));
  EXPECT_EQ(read("-1"), pair(kLargest));
  EXPECT_EQ(read("-0"), "7=0");
  EXPECT_EQ(read("-9223372036854775808"), pair(uint64_t{1} << 63));
  for (const char* text :
       {"", "-", "+1", "--1", "- 1", "-9223372036854775809", "1.5", "18446744073709551616"}) {
    EXPECT_THAT(read(text), HasSubstr("is no number from -9223372036854775808")) << text;
  }
  EXPECT_THAT(Read(WriteMode::kAdd, KeyValueSchema(), "7"), HasSubstr("key=delta"));
}

TEST(WriteTextTest, ComparedValuesStandBeforeTheNewOnes) {
  const auto read = [](const std::string& text) {
    return Read(WriteMode::kCompareAndSet, KeyValueSchema(), text);
  };
  for (const char* text : {"7=41:42", "7 41 42", " 7 \t41\t 42 ", "7=41 42"}) {
    EXPECT_EQ(read(text), "7=41:42") << text;
  }
  for (const char* text : {"7=41", "7 41", "7=:42", "7=41:", "=41:42", "7=41:42:43", "7=a:42"}) {
    EXPECT_THAT(read(text), HasSubstr("is no")) << text;
  }
  EXPECT_THAT(read("7=41"), HasSubstr("key=expected:value"));
}

TEST(WriteTextTest, StringsStandAsTheyAre) {
  const Schema schema = KeyValueSchema({}, ColumnType::kString);
  const auto read = [&](const std::string& text, bool from_input = false) {
    return Read(WriteMode::kUpsert, schema, text, from_input);
  };
  EXPECT_EQ(read("7= a=b "), "7= a=b ");
  EXPECT_EQ(read("7 \t {\"a\"=1} "), "7={\"a\"=1} ");
  EXPECT_EQ(read(" 18446744073709551615="), "18446744073709551615=");
  EXPECT_THAT(read("7"), HasSubstr("is no pair"));
  EXPECT_THAT(read("x=7"), HasSubstr("'x' is no number"));
  EXPECT_EQ(Read(WriteMode::kCompareAndSet, schema, "7=a b: c:d"), "7=a b: c:d");
  // Only in arguments does @ name a file.
  const TempFile file("from a file");
  const std::string path = "@/proc/self/fd/" + std::to_string(file.fd());
  EXPECT_EQ(read("7=" + path), "7=from a file");
  EXPECT_EQ(read("7=" + path, /*from_input=*/true), "7=" + path);
}

TEST(WriteTextTest, RowsAreAddedAndTheirValuesCounted) {
  RowsToWrite to;
  const Schema schema = KeyValueSchema({}, ColumnType::kString);
  const WriteSyntax syntax{.mode = WriteMode::kCompareAndSet, .format = ByteFormat::kHex};
  EXPECT_TRUE(AddWrite(schema, syntax, false, "1=00:0102", to).ok());
  EXPECT_TRUE(AddWrite(schema, syntax, false, "2=:03", to).ok());
  EXPECT_EQ(to.rows.rows, 2u);
  EXPECT_EQ(to.expected.rows, 2u);
  EXPECT_EQ(to.value_bytes(), 2 * 8 + 4u);
  EXPECT_EQ(to.rows.GetString(1, 1), "\3");
  RowsToWrite erased;
  EXPECT_TRUE(AddWrite(schema, {.mode = WriteMode::kErase}, false, " 7 ", erased).ok());
  EXPECT_EQ(erased.rows.columns.size(), 1u);
  EXPECT_EQ(erased.value_bytes(), 8u);
}

}  // namespace
}  // namespace eris::cli
