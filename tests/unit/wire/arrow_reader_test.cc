// Batches as clients send them: each type and conversion, nulls, columns by name, and what is
// refused. What ArrowBatch writes comes back.
#include "wire/arrow_reader.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/arrow_messages.h"
#include "tests/support/table_rows.h"
#include "wire/arrow_ipc.h"

namespace eris::wire {
namespace {

using ::eris::test::ArrowBatchOf;
using ::eris::test::ArrowColumn;
using ::eris::test::ArrowMessage;
using ::eris::test::ArrowSchemaOf;
using ::eris::test::BytesOf;
using ::eris::test::NumberColumn;
using ::eris::test::TextColumn;
using ::testing::HasSubstr;

absl::Status AllowAny(uint64_t, uint64_t) { return absl::OkStatus(); }

absl::StatusOr<ArrowReader> ReaderOf(const Schema& schema, const std::string& header) {
  const absl::StatusOr<ArrowHeader> read = ArrowHeader::From(header);
  if (!read.ok()) return read.status();
  return ArrowReader::Make(schema, AllColumns(schema), *read);
}

absl::StatusOr<ViewedColumns> ReadRows(const Schema& schema,
                                       const std::vector<ArrowColumn>& columns,
                                       const ArrowMessage& batch,
                                       ArrowReader::Charge charge = AllowAny) {
  const absl::StatusOr<ArrowReader> reader = ReaderOf(schema, ArrowSchemaOf(columns));
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<ArrowHeader> header = ArrowHeader::From(batch.header);
  if (!header.ok()) return header.status();
  return reader->Read(*header, batch.body, charge);
}

Schema OneColumn(ColumnType type, bool nullable = false, uint8_t scale = 0) {
  return {.columns = {{.name = "c", .type = type, .scale = scale, .nullable = nullable}}};
}

// Sends one column, and reads it as `type`.
template <class To>
absl::StatusOr<std::vector<To>> Sent(ColumnType type, const ArrowColumn& column, int64_t rows,
                                     uint8_t scale = 0) {
  const ArrowMessage batch = ArrowBatchOf(rows, {column});
  const Schema schema = OneColumn(type, column.nulls > 0, scale);
  const absl::StatusOr<ViewedColumns> read = ReadRows(schema, {column}, batch);
  if (!read.ok()) return read.status();
  EXPECT_EQ(read->rows, static_cast<uint64_t>(rows));
  const auto* const values = static_cast<const To*>(read->views[0].values);
  return std::vector<To>(values, values + read->rows);
}

std::string RefusalOf(const Schema& schema, const std::vector<ArrowColumn>& columns, int64_t rows) {
  const absl::StatusOr<ViewedColumns> read = ReadRows(schema, columns, ArrowBatchOf(rows, columns));
  EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
  return std::string(read.status().message());
}

TEST(ArrowReaderTest, WhatArrowBatchWritesComesBackInPlace) {
  const Schema schema = {.columns = {{.name = "u", .type = ColumnType::kUint64},
                                     {.name = "i", .type = ColumnType::kInt32, .nullable = true},
                                     {.name = "g", .type = ColumnType::kFloat64},
                                     {.name = "day", .type = ColumnType::kDate},
                                     {.name = "p", .type = ColumnType::kDecimal, .scale = 2},
                                     {.name = "s", .type = ColumnType::kString}}};
  test::Rows rows(schema.columns);
  rows.Add({uint64_t{1}, int64_t{5}, 0.5, Date{-1}, Decimal{1234, 2}, std::string("ab")});
  rows.Add({~uint64_t{0}, Value(), -0.0, Date{19'000}, Decimal{-5, 2}, std::string()});
  const ArrowBatch batch(schema, rows.batch());
  std::string body(batch.body_bytes(), 'x');
  batch.CopyBody(body.data());
  const auto reader = ReaderOf(schema, ArrowSchema(schema));
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto header = ArrowHeader::From(batch.header());
  ASSERT_TRUE(header.ok()) << header.status();
  const auto read = reader->Read(*header, body, AllowAny);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rows, 2u);
  EXPECT_TRUE(read->copies.empty());
  ASSERT_EQ(read->views.size(), 6u);
  EXPECT_EQ(static_cast<const uint64_t*>(read->views[0].values)[1], ~uint64_t{0});
  EXPECT_EQ(read->views[0].validity, nullptr);
  EXPECT_EQ(*read->views[1].validity & 3, 1);
  EXPECT_EQ(static_cast<const int64_t*>(read->views[4].values)[1], -5);
  EXPECT_EQ(std::string(static_cast<const char*>(read->views[5].values), read->views[5].offsets[1]),
            "ab");
}

TEST(ArrowReaderTest, TimestampsOfAnyUnitAreMicroseconds) {
  const auto sent = [](const char* type, std::vector<int64_t> values) {
    return Sent<int64_t>(ColumnType::kTimestamp, NumberColumn<int64_t>("c", type, values),
                         static_cast<int64_t>(values.size()));
  };
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  using Values = std::vector<int64_t>;
  EXPECT_EQ(*sent("timestamp[us]", {kMin, -1, 7}), (Values{kMin, -1, 7}));
  EXPECT_EQ(*sent("timestamp[s]", {-2, 3}), (Values{-2'000'000, 3'000'000}));
  EXPECT_EQ(*sent("timestamp[ms]", {-2, 3}), (Values{-2'000, 3'000}));
  EXPECT_EQ(*sent("timestamp[ns]", {-2'000, 0, 3'000}), (Values{-2, 0, 3}));
  EXPECT_THAT(std::string(sent("timestamp[ns]", {1'000, -1'001}).status().message()),
              HasSubstr("column \"c\": row 1 is -1001 nanoseconds, which are no whole micro"));
  EXPECT_THAT(std::string(sent("timestamp[s]", {1, kMin}).status().message()),
              HasSubstr("row 1 is -9223372036854775808 seconds, which do not fit in 64 bits"));
  const std::string refusal =
      RefusalOf(OneColumn(ColumnType::kTimestamp), {NumberColumn<int32_t>("c", "date32", {1})}, 1);
  EXPECT_EQ(refusal,
            "column \"c\" comes as date32, but is timestamp here: cast it, for example to "
            "pyarrow.timestamp('us')");
}

TEST(ArrowReaderTest, NarrowerIntegersAreWidened) {
  const auto signs = NumberColumn<int8_t>("c", "int8", {-128, 127});
  EXPECT_EQ(*Sent<int32_t>(ColumnType::kInt32, signs, 2), (std::vector<int32_t>{-128, 127}));
  EXPECT_EQ(*Sent<int64_t>(ColumnType::kInt64, signs, 2), (std::vector<int64_t>{-128, 127}));
  const auto words = NumberColumn<uint16_t>("c", "uint16", {0, 65'535});
  EXPECT_EQ(*Sent<int32_t>(ColumnType::kInt32, words, 2), (std::vector<int32_t>{0, 65'535}));
  EXPECT_EQ(*Sent<uint64_t>(ColumnType::kUint64, words, 2), (std::vector<uint64_t>{0, 65'535}));
  const auto unsigned32 = NumberColumn<uint32_t>("c", "uint32", {0, 0xffffffff});
  EXPECT_EQ(*Sent<int64_t>(ColumnType::kInt64, unsigned32, 2),
            (std::vector<int64_t>{0, 0xffffffff}));
  const auto signed32 = NumberColumn<int32_t>("c", "int32", {7, 2'147'483'647});
  EXPECT_EQ(*Sent<uint64_t>(ColumnType::kUint64, signed32, 2),
            (std::vector<uint64_t>{7, 2'147'483'647}));
}

TEST(ArrowReaderTest, NegativeNumbersDoNotBecomeLargeOnes) {
  const auto column = NumberColumn<int16_t>("c", "int16", {5, -1, -2});
  EXPECT_EQ(RefusalOf(OneColumn(ColumnType::kUint64), {column}, 3),
            "column \"c\": row 1 is negative");
  // Null rows have any value.
  ArrowColumn with_null = column;
  with_null.buffers[0] = "\x01";
  with_null.nulls = 2;
  EXPECT_TRUE(Sent<uint64_t>(ColumnType::kUint64, with_null, 3).ok());
}

TEST(ArrowReaderTest, DecimalsOfAllWidths) {
  ArrowColumn column = NumberColumn<int32_t>("c", "decimal32", {-5, 999'999'999});
  column.scale = 2;
  EXPECT_EQ(*Sent<int64_t>(ColumnType::kDecimal, column, 2, 2),
            (std::vector<int64_t>{-5, 999'999'999}));
  constexpr int64_t kMost = 999'999'999'999'999'999;
  column = NumberColumn<int64_t>("c", "decimal64", {-kMost, kMost});
  EXPECT_EQ(*Sent<int64_t>(ColumnType::kDecimal, column, 2), (std::vector<int64_t>{-kMost, kMost}));
  column = NumberColumn<int64_t>("c", "decimal128", {-kMost, -1, kMost, 0, -1, -1});
  EXPECT_EQ(*Sent<int64_t>(ColumnType::kDecimal, column, 3),
            (std::vector<int64_t>{-kMost, kMost, -1}));
}

TEST(ArrowReaderTest, DecimalsOfMoreThan18DigitsAreRefused) {
  const Schema schema = OneColumn(ColumnType::kDecimal);
  constexpr int64_t kMost = 999'999'999'999'999'999;
  EXPECT_EQ(RefusalOf(schema, {NumberColumn<int64_t>("c", "decimal64", {0, kMost + 1})}, 2),
            "column \"c\": row 1 has more than 18 digits");
  for (const std::vector<int64_t>& halves : std::vector<std::vector<int64_t>>{
           {kMost + 1, 0}, {5, 1}, {5, -1}, {-5, 0}, {-kMost - 1, -1}}) {
    EXPECT_EQ(RefusalOf(schema, {NumberColumn("c", "decimal128", halves)}, 1),
              "column \"c\": row 0 has more than 18 digits");
  }
}

TEST(ArrowReaderTest, StringsOfBothKindsAndWidths) {
  for (const auto& [type, column_type] :
       {std::pair("string", ColumnType::kString), std::pair("binary", ColumnType::kString),
        std::pair("string", ColumnType::kBytes), std::pair("binary", ColumnType::kBytes)}) {
    const auto column = TextColumn<uint32_t>("c", type, {2, 2, 5}, "..abc");
    const ArrowMessage batch = ArrowBatchOf(2, {column});
    const auto read = ReadRows(OneColumn(column_type), {column}, batch);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->copies.empty());
    EXPECT_EQ(read->views[0].offsets[2], 5u);
    const auto large = TextColumn<uint64_t>("c", std::string("large_") + type, {2, 2, 5}, "..abc");
    const ArrowMessage large_batch = ArrowBatchOf(2, {large});
    const auto read_large = ReadRows(OneColumn(column_type), {large}, large_batch);
    ASSERT_TRUE(read_large.ok()) << read_large.status();
    EXPECT_EQ(read_large->views[0].offsets[0], 2u);
    EXPECT_EQ(read_large->views[0].offsets[2], 5u);
    EXPECT_EQ(std::memcmp(read_large->views[0].values, "..abc", 5), 0);
  }
}

TEST(ArrowReaderTest, ABodyIsNotTheRowsOfSeveralColumns) {
  const Schema schema = {.columns = {{.name = "a", .type = ColumnType::kInt64},
                                     {.name = "b", .type = ColumnType::kInt64}}};
  const std::vector<ArrowColumn> columns = {NumberColumn<int64_t>("a", "int64", {1, 2}),
                                            NumberColumn<int64_t>("b", "int64", {1, 2})};
  const auto read = ReadRows(schema, columns,
                             ArrowBatchOf(2, columns, /*compressed=*/false, 64, /*shared=*/true));
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("buffers that overlap"));
}

TEST(ArrowReaderTest, NamesOfColumnsAreShort) {
  const auto column = NumberColumn<int64_t>(std::string(256, 'n'), "int64", {1});
  const auto header = ArrowHeader::From(ArrowSchemaOf({column}));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(std::string(header->Fields().status().message()),
              HasSubstr("name has 256 bytes, must have at most 255"));
}

TEST(ArrowReaderTest, OffsetsAreNotBelieved) {
  const Schema schema = OneColumn(ColumnType::kString);
  const std::string wrong = "has offsets that do not ascend";
  EXPECT_THAT(RefusalOf(schema, {TextColumn<uint32_t>("c", "string", {0, 6}, "abc")}, 1),
              HasSubstr(wrong));
  EXPECT_THAT(RefusalOf(schema, {TextColumn<uint32_t>("c", "string", {0, 3, 2, 3}, "abc")}, 3),
              HasSubstr(wrong));
  EXPECT_THAT(RefusalOf(schema, {TextColumn<int32_t>("c", "string", {-1, 0}, "abc")}, 1),
              HasSubstr(wrong));
  EXPECT_THAT(RefusalOf(schema, {TextColumn<int64_t>("c", "large_string", {0, -1}, "abc")}, 1),
              HasSubstr(wrong));
  EXPECT_THAT(
      RefusalOf(schema, {TextColumn<uint64_t>("c", "large_string", {0, 1ull << 32, 2}, "abc")}, 2),
      HasSubstr(wrong));
  EXPECT_THAT(RefusalOf(schema, {TextColumn<uint32_t>("c", "string", {0}, "abc")}, 1),
              HasSubstr("4 bytes of offsets for 1 rows"));
}

TEST(ArrowReaderTest, ColumnsAreFoundByName) {
  const Schema schema = {.columns = {{.name = "a", .type = ColumnType::kInt64},
                                     {.name = "b", .type = ColumnType::kInt64, .nullable = true},
                                     {.name = "c", .type = ColumnType::kString, .nullable = true}}};
  const std::vector<ArrowColumn> sent = {NumberColumn<int64_t>("b", "int64", {1, 2}),
                                         NumberColumn<int64_t>("a", "int64", {3, 4})};
  uint64_t charged = 0;
  const ArrowMessage batch = ArrowBatchOf(2, sent);
  const auto read = ReadRows(schema, sent, batch, [&](uint64_t count, uint64_t bytes) {
    EXPECT_EQ(count, 2u);
    charged += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(static_cast<const int64_t*>(read->views[0].values)[1], 4);
  EXPECT_EQ(static_cast<const int64_t*>(read->views[1].values)[1], 2);
  // What is missing is null, in copies that have been charged.
  EXPECT_EQ(*read->views[2].validity, 0);
  EXPECT_EQ(read->views[2].offsets[2], 0u);
  EXPECT_EQ(charged, 1 + 3 * sizeof(uint32_t));
  const auto refused = ReadRows(schema, sent, ArrowBatchOf(2, sent), [](uint64_t, uint64_t) {
    return absl::ResourceExhaustedError("no");
  });
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status()));

  EXPECT_EQ(RefusalOf(schema, {sent[0]}, 2), "column \"a\" is missing, and is not nullable");
  EXPECT_EQ(RefusalOf(schema, {sent[0], sent[1], sent[1]}, 2), "column \"a\" comes twice");
  EXPECT_THAT(RefusalOf(schema, {sent[1], NumberColumn<int64_t>("d", "int64", {1, 2})}, 2),
              HasSubstr("column \"d\" is not among"));
}

TEST(ArrowReaderTest, RefusedTypesNameACast) {
  const std::string floats =
      RefusalOf(OneColumn(ColumnType::kFloat64), {NumberColumn<float>("c", "float", {1})}, 1);
  EXPECT_EQ(floats,
            "column \"c\" comes as float, but is float64 here: cast it, for example to "
            "pyarrow.float64()");
  const auto refusal = [](ColumnType type, ArrowColumn column) {
    return RefusalOf(OneColumn(type), {std::move(column)}, 1);
  };
  const auto longs = NumberColumn<int64_t>("c", "int64", {1});
  EXPECT_THAT(refusal(ColumnType::kInt32, longs), HasSubstr("comes as int64"));
  EXPECT_THAT(refusal(ColumnType::kUint64, longs), HasSubstr("pyarrow.uint64()"));
  EXPECT_THAT(refusal(ColumnType::kInt64, NumberColumn<uint64_t>("c", "uint64", {1})),
              HasSubstr("comes as uint64"));
  EXPECT_THAT(refusal(ColumnType::kInt32, NumberColumn<uint32_t>("c", "uint32", {1})),
              HasSubstr("pyarrow.int32()"));
  EXPECT_THAT(refusal(ColumnType::kDate, NumberColumn<int64_t>("c", "date64", {1})),
              HasSubstr("pyarrow.date32()"));
  EXPECT_THAT(refusal(ColumnType::kDate, NumberColumn<int32_t>("c", "int32", {1})),
              HasSubstr("comes as int32"));
  EXPECT_THAT(refusal(ColumnType::kInt32, {.name = "c", .type = "bool", .buffers = {"", "\1"}}),
              HasSubstr("comes as bool"));
  ArrowColumn decimal = NumberColumn<int64_t>("c", "decimal128", {1, 0});
  decimal.scale = 4;
  EXPECT_THAT(refusal(ColumnType::kDecimal, decimal),
              HasSubstr("decimal128(9, 4), but is decimal here: cast it, for example to "
                        "pyarrow.decimal128(18, 0)"));
  ArrowColumn category = TextColumn<uint32_t>("c", "string", {0, 1}, "a");
  category.dictionary = true;
  EXPECT_THAT(refusal(ColumnType::kString, category), HasSubstr("comes as dictionary of string"));
  ArrowColumn list = longs;
  list.nested = true;
  EXPECT_THAT(refusal(ColumnType::kInt64, list), HasSubstr("pyarrow.int64()"));
}

TEST(ArrowReaderTest, NullsAreCountedAndRefusedWhereNoneMayBe) {
  ArrowColumn column = NumberColumn<int64_t>("c", "int64", {1, 2, 3});
  column.buffers[0] = "\x05";
  column.nulls = 1;
  EXPECT_EQ(RefusalOf(OneColumn(ColumnType::kInt64), {column}, 3),
            "column \"c\": row 1 is null, which the column cannot be");
  const Schema nullable = OneColumn(ColumnType::kInt64, true);
  EXPECT_TRUE(ReadRows(nullable, {column}, ArrowBatchOf(3, {column})).ok());
  column.nulls = 2;
  EXPECT_EQ(RefusalOf(nullable, {column}, 3), "column \"c\": is said to have 2 nulls, but has 1");
  column.nulls = 4;
  EXPECT_THAT(RefusalOf(nullable, {column}, 3), HasSubstr("4 nulls in a batch of 3 rows"));
  column.nulls = 1;
  column.buffers[0] = "";
  EXPECT_THAT(RefusalOf(nullable, {column}, 3), HasSubstr("0 bytes for the nulls of 3 rows"));
  // Bits behind the last row mean nothing.
  column.buffers[0] = "\xf7";
  column.nulls = 0;
  const ArrowMessage batch = ArrowBatchOf(3, {column});
  const auto read = ReadRows(nullable, {column}, batch);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->views[0].validity, nullptr);
}

TEST(ArrowReaderTest, BatchWithoutARow) {
  const auto column = TextColumn<uint32_t>("c", "string", {}, "");
  const auto read = ReadRows(OneColumn(ColumnType::kString), {column}, ArrowBatchOf(0, {column}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rows, 0u);
}

TEST(ArrowReaderTest, ValuesAtOddPlacesAreCopied) {
  const std::vector<ArrowColumn> columns = {
      {.name = "c", .type = "int64", .buffers = {"\x03", BytesOf<int64_t>({-7, 1})}}};
  const ArrowMessage batch = ArrowBatchOf(2, columns, false, /*alignment=*/1);
  const auto read = ReadRows(OneColumn(ColumnType::kInt64), columns, batch);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->copies.size(), 1u);
  EXPECT_EQ(static_cast<const int64_t*>(read->views[0].values)[0], -7);
}

TEST(ArrowReaderTest, BuffersOutsideTheBodyAreRefused) {
  const auto column = NumberColumn<int64_t>("c", "int64", {1, 2});
  const Schema schema = OneColumn(ColumnType::kInt64);
  ArrowMessage batch = ArrowBatchOf(2, {column});
  const auto refusal = [&] {
    const auto read = ReadRows(schema, {column}, batch);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    return std::string(read.status().message());
  };
  batch.body.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("its body has 15 bytes, its header says 16"));
  batch.body.push_back('\0');
  auto& buffers = const_cast<flatbuffers::Vector<const ipc::Buffer*>&>(
      *ipc::GetMessage(batch.header.data())->header_as_RecordBatch()->buffers());
  const auto set = [&](int64_t offset, int64_t length) {
    const ipc::Buffer buffer(offset, length);
    std::memcpy(buffers.Data() + sizeof(buffer), &buffer, sizeof(buffer));
  };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (const auto& [offset, length] : std::vector<std::pair<int64_t, int64_t>>{
           {8, 16}, {-8, 16}, {0, -1}, {kHuge, kHuge}, {16, 1}, {17, 0}}) {
    set(offset, length);
    EXPECT_THAT(refusal(), HasSubstr("outside its body of 16 bytes"));
  }
  set(0, 8);
  EXPECT_EQ(refusal(), "column \"c\": has 8 bytes for 2 rows");
}

TEST(ArrowReaderTest, NumbersOfABatchMustFitItsSchema) {
  const auto column = NumberColumn<int64_t>("c", "int64", {1, 2});
  const Schema schema = OneColumn(ColumnType::kInt64);
  const auto refusal = [&](const ArrowMessage& batch) {
    const auto read = ReadRows(schema, {column}, batch);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    return std::string(read.status().message());
  };
  EXPECT_THAT(refusal(ArrowBatchOf(2, {column, column})),
              HasSubstr("has 2 columns and 4 buffers, must have 1 and 2"));
  EXPECT_THAT(refusal(ArrowBatchOf(2, {})), HasSubstr("has 0 columns and 0 buffers"));
  EXPECT_THAT(refusal(ArrowBatchOf(-1, {column})), HasSubstr("has -1 rows"));
  EXPECT_THAT(refusal(ArrowBatchOf(int64_t{1} << 60, {column})), HasSubstr("rows in 16 bytes"));
  EXPECT_THAT(refusal(ArrowBatchOf(2, {column}, /*compressed=*/true)), HasSubstr("compressed"));
  EXPECT_THAT(refusal({.header = ArrowSchemaOf({column})}), HasSubstr("a second schema"));
  EXPECT_THAT(refusal({.header = test::ArrowDictionaryBatch()}), HasSubstr("dictionary"));
}

TEST(ArrowReaderTest, DamagedHeadersAreRefused) {
  const auto column = NumberColumn<int64_t>("c", "int64", {1, 2});
  const std::string good = ArrowSchemaOf({column});
  const Schema schema = OneColumn(ColumnType::kInt64);
  ASSERT_TRUE(ReaderOf(schema, good).ok());
  // The last bytes may be there for the alignment alone.
  for (size_t bytes = 0; bytes + sizeof(uint64_t) < good.size(); ++bytes) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReaderOf(schema, good.substr(0, bytes)).status()));
  }
  EXPECT_FALSE(ReaderOf(schema, std::string(100, '\xff')).ok());
  EXPECT_THAT(ReaderOf(schema, std::string(kArrowHeaderBytesMax + 1, 'x')).status().message(),
              HasSubstr("must have at most"));
  EXPECT_THAT(ReaderOf(schema, ArrowSchemaOf({})).status().message(), HasSubstr("without columns"));
  EXPECT_THAT(ReaderOf(schema, ArrowSchemaOf({column}, ipc::MetadataVersion_V3)).status().message(),
              HasSubstr("before V4"));
  EXPECT_THAT(
      ReaderOf(schema, ArrowSchemaOf({column}, ipc::MetadataVersion_V5, 1)).status().message(),
      HasSubstr("big-endian"));
  EXPECT_THAT(
      ReaderOf(schema, ArrowSchemaOf(std::vector<ArrowColumn>(257, column))).status().message(),
      HasSubstr("257 columns"));
}

// Bytes of the header that a client may set: refused, or read without leaving the body.
TEST(ArrowReaderTest, AnyByteOfAHeaderMayBeWrong) {
  const Schema schema = {.columns = {{.name = "n", .type = ColumnType::kInt64},
                                     {.name = "s", .type = ColumnType::kString}}};
  const std::vector<ArrowColumn> columns = {NumberColumn<int8_t>("n", "int8", {1, 2}),
                                            TextColumn<uint32_t>("s", "string", {0, 1, 3}, "abc")};
  const ArrowMessage batch = ArrowBatchOf(2, columns);
  for (size_t at = 0; at < batch.header.size(); ++at) {
    for (const int byte : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      ArrowMessage changed = batch;
      changed.header[at] = static_cast<char>(byte);
      const auto read = ReadRows(schema, columns, changed);
      if (!read.ok() || read->rows == 0) continue;
      const ColumnView& strings = read->views[1];
      const char* const begin = static_cast<const char*>(strings.values);
      EXPECT_GE(begin, changed.body.data());
      EXPECT_LE(begin + strings.offsets[read->rows], changed.body.data() + changed.body.size());
    }
  }
}

}  // namespace
}  // namespace eris::wire
