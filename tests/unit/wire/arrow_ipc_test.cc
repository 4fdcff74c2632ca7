// What is written is read again with the interface that flatc makes: types, buffers, nulls,
// strings.
#include "wire/arrow_ipc.h"

#include <arrow/ipc_generated.h>

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/table_rows.h"

namespace eris::wire {
namespace {

const std::vector<ColumnSchema> kColumns = {
    {.name = "u", .type = ColumnType::kUint64},
    {.name = "l", .type = ColumnType::kInt64},
    {.name = "i", .type = ColumnType::kInt32, .nullable = true},
    {.name = "g", .type = ColumnType::kFloat64},
    {.name = "day", .type = ColumnType::kDate},
    {.name = "price", .type = ColumnType::kDecimal, .scale = 2},
    {.name = "note", .type = ColumnType::kString, .nullable = true}};

const ipc::Message& Read(const std::string& bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  EXPECT_TRUE(ipc::VerifyMessageBuffer(verifier));
  const ipc::Message& message = *ipc::GetMessage(bytes.data());
  EXPECT_EQ(message.version(), ipc::MetadataVersion_V5);
  return message;
}

std::string BodyOf(const ArrowBatch& batch) {
  std::string body(batch.body_bytes(), 'x');
  batch.CopyBody(body.data());
  return body;
}

template <class T>
std::vector<T> ValuesOf(const std::string& body, const ipc::RecordBatch& batch, uint32_t buffer) {
  const ipc::Buffer& at = *batch.buffers()->Get(buffer);
  EXPECT_EQ(at.offset() % 64, 0);
  std::vector<T> values(static_cast<size_t>(at.length()) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), body.data() + at.offset(), at.length());
  return values;
}

TEST(ArrowIpcTest, SchemaHasTheTypesOfExportArrow) {
  Schema schema{.columns = kColumns};
  schema.columns.push_back({.name = "sum", .type = ColumnType::kInt128, .scale = 4});
  schema.columns.push_back({.name = "bin", .type = ColumnType::kBytes});
  schema.columns.push_back({.name = "at", .type = ColumnType::kTimestamp});
  const std::string bytes = ArrowSchema(schema);
  const ipc::Message& message = Read(bytes);
  EXPECT_EQ(message.body_length(), 0);
  ASSERT_EQ(message.header_type(), ipc::MessageHeader_Schema);
  const auto& fields = *message.header_as_Schema()->fields();
  ASSERT_EQ(fields.size(), 10u);
  EXPECT_EQ(fields[0]->name()->str(), "u");
  EXPECT_EQ(fields[0]->type_as_Int()->bit_width(), 64);
  EXPECT_FALSE(fields[0]->type_as_Int()->is_signed());
  EXPECT_FALSE(fields[0]->nullable());
  ASSERT_NE(fields[0]->children(), nullptr);
  EXPECT_EQ(fields[0]->children()->size(), 0u);
  EXPECT_EQ(fields[1]->type_as_Int()->bit_width(), 64);
  EXPECT_TRUE(fields[1]->type_as_Int()->is_signed());
  EXPECT_EQ(fields[2]->type_as_Int()->bit_width(), 32);
  EXPECT_TRUE(fields[2]->nullable());
  EXPECT_EQ(fields[3]->type_as_FloatingPoint()->precision(), ipc::Precision_DOUBLE);
  EXPECT_EQ(fields[4]->type_as_Date()->unit(), ipc::DateUnit_DAY);
  EXPECT_EQ(fields[5]->type_as_Decimal()->precision(), 18);
  EXPECT_EQ(fields[5]->type_as_Decimal()->scale(), 2);
  EXPECT_EQ(fields[5]->type_as_Decimal()->bit_width(), 64);
  EXPECT_EQ(fields[6]->type_type(), ipc::Type_Utf8);
  EXPECT_EQ(fields[8]->type_type(), ipc::Type_Binary);
  EXPECT_EQ(fields[7]->type_as_Decimal()->precision(), 38);
  EXPECT_EQ(fields[7]->type_as_Decimal()->scale(), 4);
  EXPECT_EQ(fields[7]->type_as_Decimal()->bit_width(), 128);
  EXPECT_EQ(fields[9]->type_as_Timestamp()->unit(), ipc::TimeUnit_MICROSECOND);
  EXPECT_EQ(fields[9]->type_as_Timestamp()->timezone(), nullptr);
}

// The places of types in the union are on the wire.
TEST(ArrowIpcTest, NumbersOfTypesAreArrows) {
  EXPECT_EQ(ipc::Type_Int, 2);
  EXPECT_EQ(ipc::Type_FloatingPoint, 3);
  EXPECT_EQ(ipc::Type_Binary, 4);
  EXPECT_EQ(ipc::Type_Utf8, 5);
  EXPECT_EQ(ipc::Type_Bool, 6);
  EXPECT_EQ(ipc::Type_Decimal, 7);
  EXPECT_EQ(ipc::Type_Date, 8);
  EXPECT_EQ(ipc::Type_Timestamp, 10);
  EXPECT_EQ(ipc::Type_LargeBinary, 19);
  EXPECT_EQ(ipc::Type_LargeUtf8, 20);
  EXPECT_EQ(ipc::MessageHeader_Schema, 1);
  EXPECT_EQ(ipc::MessageHeader_DictionaryBatch, 2);
  EXPECT_EQ(ipc::MessageHeader_RecordBatch, 3);
  EXPECT_EQ(ipc::MetadataVersion_V5, 4);
}

TEST(ArrowIpcTest, FrameHasTheMarkAndAMultipleOfEight) {
  const std::string framed = FramedArrow("0123456789");
  EXPECT_EQ(framed, std::string("\xff\xff\xff\xff\x10\0\0\0"
                                "0123456789\0\0\0\0\0\0",
                                24));
}

TEST(ArrowIpcTest, RowsComeBack) {
  test::Rows rows(kColumns);
  rows.Add(
      {uint64_t{1}, int64_t{-1}, int64_t{5}, 0.5, Date{-1}, Decimal{1234, 2}, std::string("ab")});
  rows.Add({~uint64_t{0}, int64_t{2}, Value(), -0.0, Date{19'000}, Decimal{-5, 2}, Value()});
  rows.Add(
      {uint64_t{3}, int64_t{3}, int64_t{7}, 1e300, Date{0}, Decimal{0, 2}, std::string("cde")});
  const ArrowBatch batch({.columns = kColumns}, rows.batch());
  const std::string body = BodyOf(batch);
  const ipc::Message& message = Read(batch.header());
  EXPECT_EQ(message.body_length(), static_cast<int64_t>(body.size()));
  ASSERT_EQ(message.header_type(), ipc::MessageHeader_RecordBatch);
  const ipc::RecordBatch& header = *message.header_as_RecordBatch();
  EXPECT_EQ(header.length(), 3);
  ASSERT_EQ(header.nodes()->size(), 7u);
  EXPECT_EQ(header.nodes()->Get(1)->null_count(), 0);
  EXPECT_EQ(header.nodes()->Get(2)->null_count(), 1);
  EXPECT_EQ(header.nodes()->Get(6)->null_count(), 1);
  ASSERT_EQ(header.buffers()->size(), 15u);
  EXPECT_EQ(ValuesOf<uint64_t>(body, header, 1), (std::vector<uint64_t>{1, ~uint64_t{0}, 3}));
  EXPECT_EQ(header.buffers()->Get(0)->length(), 0);  // no row is null
  EXPECT_EQ(ValuesOf<int64_t>(body, header, 3), (std::vector<int64_t>{-1, 2, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(body, header, 4), std::vector<uint8_t>{5});
  EXPECT_EQ(ValuesOf<int32_t>(body, header, 5), (std::vector<int32_t>{5, -77, 7}));
  EXPECT_EQ(ValuesOf<double>(body, header, 7), (std::vector<double>{0.5, -0.0, 1e300}));
  EXPECT_EQ(ValuesOf<int32_t>(body, header, 9), (std::vector<int32_t>{-1, 19'000, 0}));
  EXPECT_EQ(ValuesOf<int64_t>(body, header, 11), (std::vector<int64_t>{1234, -5, 0}));
  EXPECT_EQ(ValuesOf<uint32_t>(body, header, 13), (std::vector<uint32_t>{0, 2, 2, 5}));
  EXPECT_EQ(ValuesOf<char>(body, header, 14), (std::vector<char>{'a', 'b', 'c', 'd', 'e'}));
  EXPECT_EQ(body.find('x'), std::string::npos);  // what lies between the buffers is written, too
}

TEST(ArrowIpcTest, NullsAreCountedBeyondAWord) {
  const std::vector<ColumnSchema> columns = {
      {.name = "v", .type = ColumnType::kInt64, .nullable = true}};
  test::Rows rows(columns);
  for (int64_t i = 0; i < 133; ++i) rows.Add({i % 5 == 0 ? Value() : Value(i)});
  const ArrowBatch batch({.columns = columns}, rows.batch());
  const ipc::RecordBatch& header = *Read(batch.header()).header_as_RecordBatch();
  EXPECT_EQ(header.nodes()->Get(0)->null_count(), 27);
  EXPECT_EQ(header.buffers()->Get(0)->length(), 17);
}

TEST(ArrowIpcTest, PieceOfALongerColumnBeginsAtZero) {
  const uint32_t offsets[] = {2, 3, 5};
  const std::vector<ColumnView> views = {{.values = "abcdefg", .offsets = offsets}};
  const ArrowBatch batch({.columns = {{.name = "s", .type = ColumnType::kString}}}, {2, views});
  const std::string body = BodyOf(batch);
  const ipc::RecordBatch& header = *Read(batch.header()).header_as_RecordBatch();
  EXPECT_EQ(ValuesOf<uint32_t>(body, header, 1), (std::vector<uint32_t>{0, 1, 3}));
  EXPECT_EQ(ValuesOf<char>(body, header, 2), (std::vector<char>{'c', 'd', 'e'}));
}

TEST(ArrowIpcTest, FoundIsTheFirstColumn) {
  const std::vector<ColumnSchema> columns = {
      {.name = "v", .type = ColumnType::kInt64, .nullable = true}};
  const std::string schema = ArrowSchema("found", {.columns = columns});
  const auto& fields = *Read(schema).header_as_Schema()->fields();
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0]->name()->str(), "found");
  EXPECT_EQ(fields[0]->type_type(), ipc::Type_Bool);
  EXPECT_FALSE(fields[0]->nullable());
  test::Rows rows(columns);
  rows.Add({int64_t{7}});
  rows.Add({Value()});
  const uint8_t found = 1;
  const ArrowBatch batch(&found, {.columns = columns}, rows.batch());
  const std::string body = BodyOf(batch);
  const ipc::RecordBatch& header = *Read(batch.header()).header_as_RecordBatch();
  ASSERT_EQ(header.nodes()->size(), 2u);
  EXPECT_EQ(header.nodes()->Get(0)->null_count(), 0);
  ASSERT_EQ(header.buffers()->size(), 4u);
  EXPECT_EQ(ValuesOf<uint8_t>(body, header, 1), std::vector<uint8_t>{1});
  EXPECT_EQ(ValuesOf<int64_t>(body, header, 3)[0], 7);
}

TEST(ArrowIpcTest, BatchWithoutARow) {
  const std::vector<ColumnView> views(2);
  const ArrowBatch batch({.columns = {{.name = "s", .type = ColumnType::kString},
                                      {.name = "n", .type = ColumnType::kInt64}}},
                         {0, views});
  EXPECT_EQ(batch.body_bytes(), 0u);
  const ipc::RecordBatch& header = *Read(batch.header()).header_as_RecordBatch();
  EXPECT_EQ(header.length(), 0);
  EXPECT_EQ(header.nodes()->size(), 2u);
  EXPECT_EQ(header.buffers()->size(), 5u);
}

}  // namespace
}  // namespace eris::wire
