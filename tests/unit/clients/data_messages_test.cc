// Batches of all kinds of objects as requests, and answers that hold what they must or are refused.
#include "clients/data_messages.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/test_objects.h"

namespace eris::client {
namespace {

using ::testing::HasSubstr;

const ObjectInfo kNumbers = IndexOf({});
const ObjectInfo kTable = {
    .name = "t",
    .kind = ObjectKind::kTable,
    .schema = {.columns = {{.name = "text", .type = ColumnType::kString, .nullable = true},
                           {.name = "id", .type = ColumnType::kInt32},
                           {.name = "price", .type = ColumnType::kDecimal, .scale = 2}},
               .key = {1}}};

template <class T>
std::string MessageOf(const absl::StatusOr<T>& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  return std::string(result.status().message());
}

TEST(DataMessagesTest, NumbersAreLittleEndianColumns) {
  v1::WriteRequest request;
  const auto shape = FillWrite(kNumbers, WriteMode::kUpsert, {0x0102030405060708u, UINT64_MAX},
                               {7, 8}, {}, request);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->rows, 2u);
  EXPECT_TRUE(shape->columns.empty());
  EXPECT_EQ(request.object(), "o");
  EXPECT_EQ(request.mode(), v1::WRITE_MODE_UPSERT);
  ASSERT_EQ(request.columns_size(), 2);
  EXPECT_EQ(request.columns(0).type(), v1::COLUMN_TYPE_UINT64);
  EXPECT_EQ(request.columns(0).data(),
            std::string("\x08\x07\x06\x05\x04\x03\x02\x01") + std::string(8, '\xff'));
  EXPECT_TRUE(request.columns(0).validity().empty());
  EXPECT_EQ(NumbersOf(request.columns(1)), (std::vector<uint64_t>{7, 8}));
}

TEST(DataMessagesTest, RequestThatIsUsedAgainHasNothingOfTheLastOne) {
  v1::WriteRequest request;
  auto shape = FillWrite(kNumbers, WriteMode::kCompareAndSet, {1, 2}, {3, 4}, {5, 6}, request);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(request.mode(), v1::WRITE_MODE_COMPARE_AND_SET);
  ASSERT_EQ(request.expected_size(), 1);
  EXPECT_EQ(NumbersOf(request.expected(0)), (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(shape->columns.size(), 1u);
  shape = FillWrite(kNumbers, WriteMode::kErase, {1}, {}, {}, request);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(request.mode(), v1::WRITE_MODE_ERASE);
  EXPECT_EQ(request.expected_size(), 0);
  ASSERT_EQ(request.columns_size(), 1);
  EXPECT_EQ(request.columns(0).data().size(), 8u);
}

TEST(DataMessagesTest, KeysOfTwoPartsAreTwoColumns) {
  const std::vector<uint64_t> orders = {1, 2, 3}, lines = {7, 8, 9};
  v1::LookupRequest request;
  const ObjectInfo items = IndexOf({ColumnType::kUint64, ColumnType::kUint64});
  ASSERT_TRUE(FillLookup(items, {orders, lines}, request).ok());
  ASSERT_EQ(request.keys_size(), 2);
  EXPECT_EQ(NumbersOf(request.keys(0)), orders);
  EXPECT_EQ(NumbersOf(request.keys(1)), lines);
  ASSERT_TRUE(FillLookup(kNumbers, orders, request).ok());
  EXPECT_EQ(request.keys_size(), 1);
}

TEST(DataMessagesTest, ColumnsOfAllTypesTravelAsTheyAre) {
  OwnedRows rows{.rows = 2,
                 .columns = {StringColumn({"a", "bc"}), NumberColumn<int32_t>({-1, 5}),
                             NumberColumn<int64_t>({100, -250})}};
  rows.columns[0].validity = "\x02";
  v1::WriteRequest request;
  ASSERT_TRUE(FillWrite(kTable, WriteMode::kUpsert, rows.view().batch(), {}, request).ok());
  ASSERT_EQ(request.columns_size(), 3);
  EXPECT_EQ(request.columns(0).type(), v1::COLUMN_TYPE_STRING);
  EXPECT_EQ(request.columns(0).data(), "abc");
  EXPECT_EQ(request.columns(0).validity(), "\x02");
  EXPECT_EQ(request.columns(0).offsets(), rows.columns[0].offsets);
  EXPECT_EQ(request.columns(1).type(), v1::COLUMN_TYPE_INT32);
  EXPECT_EQ(request.columns(1).data(), std::string("\xff\xff\xff\xff\5\0\0\0", 8));
  EXPECT_EQ(request.columns(2).type(), v1::COLUMN_TYPE_DECIMAL64);
  EXPECT_EQ(rows.GetString(0, 1), "bc");

  // A lookup has the key's columns alone, and is answered the others, or those it names.
  const OwnedRows keys{.rows = 1, .columns = {NumberColumn<int32_t>({5})}};
  v1::LookupRequest lookup;
  auto shape = FillLookup(kTable, keys.view().batch(), {}, 1000, lookup);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(lookup.keys(0).type(), v1::COLUMN_TYPE_INT32);
  EXPECT_EQ(lookup.answer_bytes_max(), 1000u);
  EXPECT_EQ(shape->columns, (wire::ColumnTypes{ColumnType::kString, ColumnType::kDecimal}));
  shape = FillLookup(kTable, keys.view().batch(), {"price", "id"}, 0, lookup);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->columns, (wire::ColumnTypes{ColumnType::kDecimal, ColumnType::kInt32}));
  EXPECT_THAT(MessageOf(FillLookup(kTable, keys.view().batch(), {"colour"}, 0, lookup)),
              HasSubstr("\"colour\""));
}

TEST(DataMessagesTest, BatchThatDoesNotFitTheObjectIsRefused) {
  const std::vector<uint64_t> three = {1, 2, 3}, two = {1, 2};
  const ObjectInfo pairs = IndexOf({ColumnType::kUint64, ColumnType::kUint64});
  v1::WriteRequest request;
  const auto write = [&](const ObjectInfo& object, WriteMode mode, const KeyColumns& keys,
                         absl::Span<const uint64_t> values = {},
                         absl::Span<const uint64_t> expected = {}) {
    return MessageOf(FillWrite(object, mode, keys, values, expected, request));
  };
  using enum WriteMode;
  EXPECT_EQ(write(pairs, kUpsert, three, three),
            "the batch has 2 columns; for object \"o\" it must have 3");
  EXPECT_THAT(write(kNumbers, kErase, {three, three}), HasSubstr("it must have 1"));
  EXPECT_THAT(write(kNumbers, kUpsert, three), HasSubstr("it must have 2"));
  EXPECT_EQ(write(pairs, kErase, {three, two}),
            "the batch has 3 keys and 2 second parts: must be equally many");
  EXPECT_THAT(write(kNumbers, kAdd, three, two), HasSubstr("3 keys and 2 values"));
  EXPECT_THAT(write(kNumbers, kCompareAndSet, two, two, three),
              HasSubstr("2 keys and 3 expected values"));
  EXPECT_EQ(write(IndexOf({ColumnType::kInt64}), kErase, two),
            "column \"key\" of object \"o\" is int64, not uint64: give columns of its types");
  EXPECT_THAT(write(IndexOf({}, ColumnType::kString), kUpsert, two, two), HasSubstr("\"value\""));

  const OwnedRows keys{.rows = 2,
                       .columns = {NumberColumn<uint64_t>(two), NumberColumn<uint64_t>(two)}};
  EXPECT_EQ(MessageOf(FillWrite(IndexOf({}, ColumnType::kString), kUpsert, keys.view().batch(), {},
                                request)),
            "column \"value\" is of strings and has no offsets");
  const ObjectInfo heap = {.name = "h",
                           .kind = ObjectKind::kHeapTable,
                           .schema = {.columns = {{.name = "a", .type = ColumnType::kUint64}}}};
  v1::LookupRequest lookup;
  EXPECT_EQ(MessageOf(FillLookup({.name = "o"}, RowBatch{}, {}, 0, lookup)),
            "the ObjectInfo of object \"o\" has no schema: Client::Get gives one");
  EXPECT_EQ(FillLookup(heap, two, lookup).status(),
            absl::FailedPreconditionError("rows of object \"h\" have no key: it is a heap table"));
}

TEST(DataMessagesTest, StringsThatNoRequestCanCarryAreRefused) {
  const std::vector<uint32_t> offsets = {0, kBatchValueBytesMax / 2 + 1};
  const std::string bytes(offsets[1], 'x');
  const uint64_t key = 1;
  const ColumnView views[] = {{.values = &key},
                              {.values = bytes.data(), .offsets = offsets.data()}};
  const RowBatch row{1, views}, value{1, absl::MakeConstSpan(views).subspan(1)};
  const ObjectInfo strings = IndexOf({}, ColumnType::kString);
  v1::WriteRequest request;
  EXPECT_TRUE(FillWrite(strings, WriteMode::kUpsert, row, {}, request).ok());
  EXPECT_EQ(MessageOf(FillWrite(strings, WriteMode::kCompareAndSet, row, value, request)),
            "the values of a batch have at most 33554432 bytes together, these have 33554434");
}

v1::LookupResponse TwoFound() {
  v1::LookupResponse response;
  v1::Column& number = *response.add_columns();
  number.set_type(v1::COLUMN_TYPE_INT32);
  number.set_data(std::string(8, '\2'));
  v1::Column& text = *response.add_columns();
  text.set_type(v1::COLUMN_TYPE_STRING);
  text.set_data("abc");
  const uint32_t offsets[] = {0, 1, 3};
  text.set_offsets(offsets, sizeof(offsets));
  response.set_found("\x03");
  return response;
}
const AnswerShape kTwoFound = {
    .rows = 2, .bits = 2, .columns = {ColumnType::kInt32, ColumnType::kString}};

TEST(DataMessagesTest, AnswerToALookupIsTakenWithItsBits) {
  v1::LookupResponse response = TwoFound();
  absl::StatusOr<LookupResult> result = TakeLookup(kTwoFound, response);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rows.rows, 2u);
  EXPECT_EQ(result->rows.Get<int32_t>(0, 1), 0x02020202);
  EXPECT_EQ(result->rows.GetString(1, 1), "bc");
  EXPECT_FALSE(result->rows.IsNull(0, 0));
  EXPECT_EQ(result->found.Count(), 2u);
  EXPECT_EQ(result->executed.Count(), 2u);
  EXPECT_TRUE(result->refusal.ok());

  response = TwoFound();
  response.set_found("\x01");
  response.set_executed("\x01");
  response.mutable_refusal()->set_code(8);
  response.mutable_refusal()->set_message("no room");
  result = TakeLookup(kTwoFound, response);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->found[1]);
  EXPECT_FALSE(result->executed[1]);
  EXPECT_EQ(result->refusal, absl::ResourceExhaustedError("no room"));
}

TEST(DataMessagesTest, AnswersThatBreakTheProtocolAreInternalErrors) {
  const auto error = [](auto change, AnswerShape shape = kTwoFound) {
    v1::LookupResponse response = TwoFound();
    change(response);
    const absl::Status status = TakeLookup(shape, response).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(error([](auto& m) { m.mutable_columns()->RemoveLast(); }), HasSubstr("1 columns"));
  EXPECT_THAT(error([](auto&) {}, {.rows = 3, .bits = 3, .columns = kTwoFound.columns}),
              HasSubstr("for 3 rows"));
  EXPECT_THAT(error([](auto& m) { m.mutable_columns(0)->set_type(v1::COLUMN_TYPE_DATE32); }),
              HasSubstr("DATE32"));
  EXPECT_THAT(error(
                  [](auto& m) {
                    m.mutable_columns(0)->set_data(std::string(36, 'x'));
                    m.mutable_columns(0)->set_validity("x");
                  },
                  {.rows = 9, .bits = 9, .columns = kTwoFound.columns}),
              HasSubstr("for 9 rows"));
  error([](auto& m) { m.mutable_columns(1)->mutable_offsets()->resize(8); });
  EXPECT_EQ(error([](auto& m) { m.clear_found(); }),
            "the server sent 0 bytes of found bits for 2 rows; expected 1");
}

TEST(DataMessagesTest, AnswerToAWriteIsTakenWholeOrNotAtAll) {
  const AnswerShape shape{.rows = 9, .bits = 9, .columns = {ColumnType::kUint64}};
  v1::WriteResponse good;
  v1::Column& values = *good.add_columns();
  values.set_type(v1::COLUMN_TYPE_UINT64);
  values.set_data(std::string("\x0a") + std::string(71, '\0'));
  good.set_written(1);
  good.set_applied("\x01" + std::string(1, '\0'));
  good.set_existed(std::string(2, '\0'));
  v1::WriteResponse response = good;
  absl::StatusOr<WriteResult> result = TakeWrite(shape, response);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->refusal.ok());
  EXPECT_EQ(result->written, 1u);
  EXPECT_EQ(result->executed.Count(), 9u);  // no bits: all
  EXPECT_EQ(result->applied.Count(), 1u);
  EXPECT_EQ(result->existed.Count(), 0u);
  EXPECT_EQ(result->values.Uint64s(0)[0], 10u);

  response = good;
  response.set_executed(std::string("\x01\x01", 2));
  response.set_refused(7);
  response.mutable_refusal()->set_code(8);
  response.mutable_refusal()->set_message("full");
  result = TakeWrite(shape, response);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->executed[1]);
  EXPECT_TRUE(result->executed[8]);
  EXPECT_EQ(result->refused, 7u);
  EXPECT_EQ(result->refusal, absl::ResourceExhaustedError("full"));

  const auto is_internal = [&](auto change) {
    v1::WriteResponse bad = good;
    change(bad);
    EXPECT_EQ(TakeWrite(shape, bad).status().code(), absl::StatusCode::kInternal);
  };
  is_internal([](auto& m) { m.mutable_columns(0)->mutable_data()->resize(64); });
  is_internal([](auto& m) { m.clear_columns(); });
  is_internal([](auto& m) { m.clear_applied(); });
  is_internal([](auto& m) { m.clear_existed(); });
  is_internal([](auto& m) { m.set_executed("\x01"); });

  // Appends are answered no bits.
  v1::WriteResponse appended;
  appended.set_written(9);
  EXPECT_TRUE(TakeWrite({.rows = 9}, appended).ok());
}

TEST(RowsTest, BitsStandInArrowOrder) {
  const RowBits bits("\x05\x02", 10);
  std::vector<size_t> set;
  for (size_t row = 0; row < bits.size(); ++row) {
    if (bits[row]) set.push_back(row);
  }
  EXPECT_EQ(set, (std::vector<size_t>{0, 2, 9}));
  EXPECT_EQ(bits.Count(), 3u);
}

}  // namespace
}  // namespace eris::client
