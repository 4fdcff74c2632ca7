#include "clients/columns.h"

#include <gtest/gtest.h>

#include "eris/key_encoding.h"
#include "eris/v1/column.pb.h"
#include "eris/v1/data.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace eris::client {
namespace {

TEST(ColumnsTest, ElementsAreLittleEndianBytes) {
  v1::Column column;
  ToColumn(std::vector<uint64_t>{0x0102030405060708u, UINT64_MAX}, column);
  EXPECT_EQ(column.type(), v1::COLUMN_TYPE_UINT64);
  EXPECT_EQ(column.data(),
            std::string("\x08\x07\x06\x05\x04\x03\x02\x01") + std::string(8, '\xff'));
  EXPECT_TRUE(column.validity().empty());
  std::vector<uint64_t> elements;
  ASSERT_TRUE(FromColumn(column, elements).ok());
  EXPECT_EQ(elements, (std::vector<uint64_t>{0x0102030405060708u, UINT64_MAX}));
}

TEST(ColumnsTest, ColumnOfAnotherTypeIsInternal) {
  v1::Column column;
  column.set_data(std::string(8, 'x'));
  std::vector<uint64_t> elements;
  EXPECT_EQ(FromColumn(column, elements).code(), absl::StatusCode::kInternal);
}

TEST(ColumnsTest, LengthThatIsNoMultipleOfEightIsInternal) {
  v1::Column column;
  column.set_type(v1::COLUMN_TYPE_UINT64);
  column.set_data("123456789");
  std::vector<uint64_t> elements;
  EXPECT_EQ(FromColumn(column, elements).code(), absl::StatusCode::kInternal);
}

TEST(ColumnsTest, RowBitsStandInArrowOrder) {
  RowBits bits;
  ASSERT_TRUE(ToRowBits("\x05\x02", 10, false, bits).ok());
  std::vector<size_t> set;
  for (size_t row = 0; row < bits.size(); ++row) {
    if (bits[row]) set.push_back(row);
  }
  EXPECT_EQ(set, (std::vector<size_t>{0, 2, 9}));
  EXPECT_EQ(bits.Count(), 3u);
}

TEST(ColumnsTest, EmptyValidityMeansAllPresent) {
  RowBits bits;
  ASSERT_TRUE(ToRowBits("", 9, true, bits).ok());
  EXPECT_EQ(bits.Count(), 9u);
}

TEST(ColumnsTest, TooFewBitsAreInternal) {
  RowBits bits;
  EXPECT_EQ(ToRowBits("", 9, false, bits).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ToRowBits("x", 9, true, bits).code(), absl::StatusCode::kInternal);
}

TEST(ColumnsTest, AnswerWithAnotherNumberOfValuesIsInternal) {
  v1::LookupResponse response;
  ToColumn(std::vector<uint64_t>{1, 2}, *response.mutable_values());
  LookupResult result;
  EXPECT_TRUE(TakeLookupResult(response, 2, result).ok());
  EXPECT_EQ(TakeLookupResult(response, 3, result).code(), absl::StatusCode::kInternal);
}

TEST(ColumnsTest, KeysTravelInTheTypeOfTheirObject) {
  const auto goes_round = [](ColumnType type, v1::ColumnType column_type, size_t width,
                             const std::vector<uint64_t>& keys) {
    v1::Column column;
    ASSERT_TRUE(ToKeyColumn("keys", type, keys, column).ok());
    EXPECT_EQ(column.type(), column_type);
    EXPECT_EQ(column.data().size(), keys.size() * width);
    std::vector<uint64_t> back;
    EXPECT_TRUE(FromKeyColumn(column, back).ok());
    EXPECT_EQ(back, keys);
    column.mutable_data()->push_back('x');
    EXPECT_EQ(FromKeyColumn(column, back).code(), absl::StatusCode::kInternal);
  };
  goes_round(ColumnType::kUint64, v1::COLUMN_TYPE_UINT64, 8, {0, ~uint64_t{0}});
  goes_round(ColumnType::kInt64, v1::COLUMN_TYPE_INT64, 8, {0, KeyFromInt64(-1), ~uint64_t{0}});
  goes_round(ColumnType::kFloat64, v1::COLUMN_TYPE_FLOAT64, 8,
             {LowestKey(ColumnType::kFloat64), KeyFromFloat64(-0.5), KeyFromFloat64(0)});
  goes_round(ColumnType::kDate, v1::COLUMN_TYPE_DATE32, 4, {0, KeyFromDate(-1), KeyFromDate(20'000)});
  v1::Column column;
  ASSERT_TRUE(ToKeyColumn("keys", ColumnType::kInt64, {{KeyFromInt64(-2)}}, column).ok());
  EXPECT_EQ(column.data(), std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8));
  column.set_type(static_cast<v1::ColumnType>(99));
  std::vector<uint64_t> back;
  EXPECT_EQ(FromKeyColumn(column, back).code(), absl::StatusCode::kInternal);
}

std::string Refusal(const KeyTypes& types, const KeyColumns& keys) {
  v1::EraseRequest request;
  const absl::Status status = SetKeys(types, keys, request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ColumnsTest, KeysThatTheirTypeDoesNotHaveAreRefused) {
  constexpr uint64_t kBeyondDates = uint64_t{1} << 32;
  EXPECT_EQ(Refusal(ColumnType::kDate, {0, kBeyondDates - 1, kBeyondDates, 5}),
            "keys[2] is 4294967296, no key of type date: encoded they are 0 to 4294967295");
  EXPECT_EQ(Refusal(ColumnType::kDate, {~uint64_t{0}}),
            "keys[0] is 18446744073709551615, no key of type date: encoded they are 0 to "
            "4294967295");
  const std::vector<uint64_t> users = {1, 2};
  const std::vector<uint64_t> days = {KeyFromDate(0), kBeyondDates + 7};
  EXPECT_EQ(Refusal({ColumnType::kUint64, ColumnType::kDate}, {users, days}),
            "second_keys[1] is 4294967303, no key of type date: encoded they are 0 to 4294967295");
  const uint64_t lowest = LowestKey(ColumnType::kFloat64), highest = HighestKey(ColumnType::kFloat64);
  EXPECT_EQ(Refusal(ColumnType::kFloat64, {lowest, lowest - 1}),
            "keys[1] is 4503599627370495, no key of type f64: encoded they are 4503599627370496 to "
            "18442240474082181120");
  EXPECT_EQ(Refusal(ColumnType::kFloat64, {highest + 1}).substr(0, 8), "keys[0] ");
  v1::EraseRequest request;
  EXPECT_TRUE(SetKeys(ColumnType::kFloat64, {lowest, highest}, request).ok());
  EXPECT_TRUE(SetKeys(ColumnType::kInt64, {0, ~uint64_t{0}}, request).ok());
}

TEST(ColumnsTest, KeysOfTwoPartsAreTwoColumns) {
  const std::vector<uint64_t> users = {1, 2, 3};
  const std::vector<uint64_t> days = {KeyFromDate(-1), KeyFromDate(0), KeyFromDate(1)};
  v1::LookupRequest request;
  ASSERT_TRUE(SetKeys({ColumnType::kUint64, ColumnType::kDate}, {users, days}, request).ok());
  std::vector<uint64_t> back;
  EXPECT_EQ(request.keys().type(), v1::COLUMN_TYPE_UINT64);
  ASSERT_TRUE(FromKeyColumn(request.keys(), back).ok());
  EXPECT_EQ(back, users);
  EXPECT_EQ(request.second_keys().type(), v1::COLUMN_TYPE_DATE32);
  ASSERT_TRUE(FromKeyColumn(request.second_keys(), back).ok());
  EXPECT_EQ(back, days);
  // A stream uses the request again, for another object.
  ASSERT_TRUE(SetKeys({}, users, request).ok());
  EXPECT_FALSE(request.has_second_keys());
}

TEST(ColumnsTest, KeysOfOtherPartsThanTheirTypeAreRefused) {
  const std::vector<uint64_t> three = {1, 2, 3}, two = {1, 2};
  EXPECT_EQ(Refusal({ColumnType::kUint64, ColumnType::kDate}, three),
            "3 keys have one part, their type has two parts (u64,date)");
  EXPECT_EQ(Refusal(ColumnType::kInt64, {three, three}),
            "3 keys have two parts, their type has one part (i64)");
  EXPECT_EQ(Refusal({ColumnType::kUint64, ColumnType::kUint64}, {three, two}),
            "keys have 3 first parts and 2 second parts: must be equal");
}

TEST(ColumnsTest, WriteRequestHasAnExpectedColumnOnlyIfGiven) {
  v1::WriteRequest request;
  ASSERT_TRUE(
      ToWriteRequest("o", WriteMode::kCompareAndSet, {1, 2}, {{3, 4}}, {{5, 6}}, request).ok());
  EXPECT_EQ(request.mode(), v1::WRITE_MODE_COMPARE_AND_SET);
  EXPECT_TRUE(request.has_expected());
  // A stream uses it again.
  ASSERT_TRUE(ToWriteRequest("o", WriteMode::kAdd, {1}, {{3}}, {}, request).ok());
  EXPECT_EQ(request.mode(), v1::WRITE_MODE_ADD);
  EXPECT_EQ(request.keys().data().size(), 8u);
  EXPECT_FALSE(request.has_expected());
}

TEST(ColumnsTest, AnswerToAWriteIsTakenWholeOrNotAtAll) {
  v1::WriteResponse response;
  ToColumn(std::vector<uint64_t>{10, 0}, *response.mutable_values());
  response.set_applied("\x01");
  response.set_existed(std::string(1, '\0'));
  WriteResult result;
  ASSERT_TRUE(TakeWriteResult(response, 2, result).ok());
  EXPECT_TRUE(result.refusal.ok());
  EXPECT_EQ(result.executed.Count(), 2u);
  EXPECT_EQ(result.applied.Count(), 1u);
  EXPECT_EQ(result.values, (std::vector<uint64_t>{10, 0}));
  response.set_executed("\x01");
  response.mutable_refusal()->set_code(8);
  response.mutable_refusal()->set_message("full");
  ASSERT_TRUE(TakeWriteResult(response, 2, result).ok());
  EXPECT_FALSE(result.executed[1]);
  EXPECT_EQ(result.refusal, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(TakeWriteResult(response, 3, result).code(), absl::StatusCode::kInternal);
  response.clear_applied();
  EXPECT_EQ(TakeWriteResult(response, 2, result).code(), absl::StatusCode::kInternal);
  response.set_applied("\x01");
  response.clear_existed();
  EXPECT_EQ(TakeWriteResult(response, 2, result).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace eris::client
