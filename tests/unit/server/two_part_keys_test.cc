// Keys of two parts over real gRPC in process, against the fake engine: every call takes both
// columns, and nothing else for such an object.
#include <cstring>
#include <limits>

#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "server/data/data_service.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<uint64_t, int32_t>>;

constexpr int32_t kFirstDay = std::numeric_limits<int32_t>::min();
constexpr int32_t kLastDay = std::numeric_limits<int32_t>::max();
constexpr uint64_t kLast = ~uint64_t{0};

void ExpectInvalid(const grpc::Status& status, const std::string& text) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(text));
}

class TwoPartKeysTest : public RpcTest {
 protected:
  TwoPartKeysTest() {
    EXPECT_TRUE(engine.Create("visits", {.key_type = {ColumnType::kUint64, ColumnType::kDate}}).ok());
    engine.rows_per_chunk = 2;
  }

  static void SetDates(v1::Column* column, const std::vector<int32_t>& days) {
    column->set_type(v1::COLUMN_TYPE_DATE32);
    column->set_data(std::string(reinterpret_cast<const char*>(days.data()), days.size() * 4));
  }

  // Keys on "visits", as a request of any kind; values 100, 101, ...
  template <class Request>
  static Request Of(const Pairs& keys) {
    Request request;
    request.set_object("visits");
    std::vector<uint64_t> first, values;
    std::vector<int32_t> second;
    for (const auto& [user, day] : keys) {
      first.push_back(user);
      second.push_back(day);
      values.push_back(100 + values.size());
    }
    SetColumn(request.mutable_keys(), first);
    SetDates(request.mutable_second_keys(), second);
    if constexpr (requires { request.mutable_values(); }) {
      SetColumn(request.mutable_values(), values);
    }
    if constexpr (requires { request.set_mode(v1::WRITE_MODE_ADD); }) {
      request.set_mode(v1::WRITE_MODE_INSERT_IF_ABSENT);
    }
    return request;
  }

  static Pairs KeysOf(const v1::ScanResponse& chunk) {
    EXPECT_EQ(chunk.keys().type(), v1::COLUMN_TYPE_UINT64);
    EXPECT_EQ(chunk.second_keys().type(), v1::COLUMN_TYPE_DATE32);
    const std::vector<uint64_t> first = Elements(chunk.keys());
    std::vector<int32_t> second(first.size());
    EXPECT_EQ(chunk.second_keys().data().size(), first.size() * 4);
    std::memcpy(second.data(), chunk.second_keys().data().data(), first.size() * 4);
    Pairs keys;
    for (size_t i = 0; i < first.size(); ++i) keys.emplace_back(first[i], second[i]);
    return keys;
  }

  Pairs ScanKeys(const v1::ScanRequest& request, std::vector<v1::ScanResponse>* chunks) {
    const grpc::Status status = Scan(request, chunks);
    EXPECT_TRUE(status.ok()) << status.error_message();
    Pairs keys;
    for (const v1::ScanResponse& chunk : *chunks) {
      for (const auto& key : KeysOf(chunk)) keys.push_back(key);
    }
    return keys;
  }
  Pairs ScanKeys(const v1::ScanRequest& request) {
    std::vector<v1::ScanResponse> chunks;
    return ScanKeys(request, &chunks);
  }

  static v1::ScanRequest ScanOf(const v1::KeyRange& range = {}) {
    v1::ScanRequest request;
    request.set_object("visits");
    *request.mutable_range() = range;
    return request;
  }

  const Pairs rows = {{0, kFirstDay}, {0, kLastDay}, {7, -1},          {7, 0},
                      {7, 1},         {8, 0},        {kLast, kLastDay}};
};

TEST_F(TwoPartKeysTest, BatchesGoRound) {
  ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>(rows)).ok());
  EXPECT_EQ(engine.Describe("visits")->keys, rows.size());
  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(Of<v1::LookupRequest>({{7, 1}, {7, 2}, {8, 1}, {0, kLastDay}}), &found).ok());
  EXPECT_EQ(found.values().validity(), "\x09");
  EXPECT_EQ(Elements(found.values())[0], 104u);
  v1::WriteResponse written;
  ASSERT_TRUE(Write(Of<v1::WriteRequest>({{7, 1}, {7, 2}}), &written).ok());
  EXPECT_EQ(written.applied(), "\x02");
  EXPECT_EQ(Elements(written.values())[0], 104u);
  v1::EraseResponse erased;
  ASSERT_TRUE(Erase(Of<v1::EraseRequest>({{7, 0}, {8, 1}, {7, 2}}), &erased).ok());
  EXPECT_EQ(erased.existed(), "\x05");
  EXPECT_EQ(engine.Describe("visits")->keys, rows.size() - 1);
}

TEST_F(TwoPartKeysTest, StreamsTakeThem) {
  grpc::ClientContext context;
  auto stream = data->UpsertStream(&context);
  ASSERT_TRUE(stream->Write(Of<v1::UpsertRequest>(rows)));
  auto one_part = Of<v1::UpsertRequest>(rows);
  one_part.clear_second_keys();
  ASSERT_TRUE(stream->Write(one_part));
  stream->WritesDone();
  v1::UpsertStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.status().code(), 0) << answer.status().message();
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.status().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status().message(), HasSubstr("column second_keys is unset"));
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(engine.Describe("visits")->keys, rows.size());
}

template <class Request, class Call>
void ExpectOddColumnsRefused(const Request& good, Call call) {
  Request request = good;
  request.clear_second_keys();
  ExpectInvalid(call(request),
                "column keys has 3 elements, column second_keys is unset: keys of object "
                "\"visits\" have two parts (u64,date)");
  request = good;
  request.mutable_second_keys()->mutable_data()->resize(8);
  ExpectInvalid(call(request),
                "column keys has 3 elements, column second_keys 2: must be equal, keys of object "
                "\"visits\" have two parts (u64,date)");
  request = good;
  *request.mutable_second_keys() = request.keys();
  ExpectInvalid(call(request),
                "column second_keys: type is COLUMN_TYPE_UINT64 (1), must be COLUMN_TYPE_DATE32 "
                "(22) as the keys of the object");
  request = good;
  request.mutable_second_keys()->set_validity("\x01");
  ExpectInvalid(call(request), "column second_keys: validity of 1 bytes");
  request = good;
  request.mutable_second_keys()->clear_data();
  ExpectInvalid(call(request), "column second_keys: no elements");
  request = good;
  request.set_object("orders");
  ExpectInvalid(call(request),
                "column keys has 3 elements, column second_keys has 3 elements: keys of object "
                "\"orders\" have one part (u64)");
}

TEST_F(TwoPartKeysTest, OddColumnsAreRefusedByEveryCall) {
  const Pairs keys = {{1, 2}, {3, 4}, {5, 6}};
  ExpectOddColumnsRefused(Of<v1::LookupRequest>(keys), [&](const auto& r) { return Lookup(r); });
  ExpectOddColumnsRefused(Of<v1::UpsertRequest>(keys), [&](const auto& r) { return Upsert(r); });
  ExpectOddColumnsRefused(Of<v1::EraseRequest>(keys), [&](const auto& r) { return Erase(r); });
  ExpectOddColumnsRefused(Of<v1::WriteRequest>(keys), [&](const auto& r) { return Write(r); });
  EXPECT_EQ(engine.Describe("visits")->keys, 0u);
  EXPECT_EQ(engine.Describe("orders")->keys, 0u);
}

TEST_F(TwoPartKeysTest, ByteStringsAreRefused) {
  auto upsert = Of<v1::UpsertRequest>({{1, 2}});
  upsert.mutable_values()->set_type(v1::COLUMN_TYPE_BYTES);
  auto write = Of<v1::WriteRequest>({{1, 2}});
  write.mutable_values()->set_type(v1::COLUMN_TYPE_BYTES);
  for (const grpc::Status& status : {Upsert(upsert), Write(write)}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("values of object \"visits\" are u64"));
  }
}

TEST_F(TwoPartKeysTest, ScansGoBothWaysAndOnFromEveryToken) {
  ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>(rows)).ok());
  for (const bool backward : {false, true}) {
    Pairs expected = rows;
    if (backward) std::reverse(expected.begin(), expected.end());
    v1::ScanRequest request = ScanOf();
    if (backward) request.set_direction(v1::SCAN_DIRECTION_BACKWARD);
    std::vector<v1::ScanResponse> chunks;
    EXPECT_EQ(ScanKeys(request, &chunks), expected);
    ASSERT_EQ(chunks.size(), 4u);
    for (size_t i = 0; i + 1 < chunks.size(); ++i) {
      v1::ScanRequest resumed;
      resumed.set_object("visits");
      resumed.set_resume_token(chunks[i].resume_token());
      EXPECT_EQ(ScanKeys(resumed), Pairs(expected.begin() + 2 * (i + 1), expected.end()));
    }
  }
  v1::ScanRequest keys_only = ScanOf();
  keys_only.set_keys_only(true);
  keys_only.set_limit(3);
  std::vector<v1::ScanResponse> chunks;
  EXPECT_EQ(ScanKeys(keys_only, &chunks), Pairs(rows.begin(), rows.begin() + 3));
  EXPECT_FALSE(chunks[0].has_values());
}

TEST_F(TwoPartKeysTest, RangesHaveBoundsInsideAFirstPart) {
  ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>(rows)).ok());
  v1::KeyRange range;
  range.mutable_start()->set_u64(7);
  range.mutable_start_second()->set_date32(0);
  EXPECT_THAT(ScanKeys(ScanOf(range)), ElementsAre(rows[3], rows[4], rows[5], rows[6]));
  range.mutable_end()->set_u64(7);
  range.mutable_end_second()->set_date32(1);
  EXPECT_THAT(ScanKeys(ScanOf(range)), ElementsAre(rows[3]));
  // Without second parts: from the first row of 7, up to the first of 8.
  range.clear_start_second();
  range.clear_end_second();
  range.mutable_end()->set_u64(8);
  EXPECT_THAT(ScanKeys(ScanOf(range)), ElementsAre(rows[2], rows[3], rows[4]));
  // The lowest second part is none; the highest leaves one row out.
  range.mutable_end_second()->set_date32(kFirstDay);
  EXPECT_THAT(ScanKeys(ScanOf(range)), ElementsAre(rows[2], rows[3], rows[4]));
  range.Clear();
  range.mutable_start()->set_u64(kLast);
  range.mutable_start_second()->set_date32(kLastDay);
  EXPECT_THAT(ScanKeys(ScanOf(range)), ElementsAre(rows[6]));
  range.Clear();
  range.set_hi(0);
  range.mutable_end_second()->set_date32(kLastDay);
  EXPECT_THAT(ScanKeys(ScanOf(range)), ElementsAre(rows[0]));
}

TEST_F(TwoPartKeysTest, OddRangesAreRefused) {
  const auto refused = [&](const std::string& object, const v1::KeyRange& range,
                           const std::string& text) {
    v1::ScanRequest scan = ScanOf(range);
    scan.set_object(object);
    std::vector<v1::ScanResponse> chunks;
    ExpectInvalid(Scan(scan, &chunks), text);
    v1::AggregateRequest aggregate;
    aggregate.set_object(object);
    *aggregate.mutable_range() = range;
    v1::AggregateResponse response;
    ExpectInvalid(Aggregate(aggregate, &response), text);
  };
  v1::KeyRange range;
  range.mutable_start_second()->set_date32(1);
  refused("visits", range, "range.start_second is set without range.start");
  range.mutable_start()->set_u64(1);
  refused("orders", range,
          "range.start_second is set, but the keys of the object have one part (u64)");
  range.mutable_start_second()->set_u64(1);
  refused("visits", range, "range.start_second: u64 is set, must be date32");
  range.mutable_start_second()->set_date32(5);
  range.mutable_end_second()->set_date32(1);
  refused("visits", range, "range.end_second is set without range.end");
  range.mutable_end()->set_u64(1);
  refused("visits", range, "range is inverted: hi 1/1970-01-02 is below lo 1/1970-01-06");
  range.clear_end_second();
  refused("visits", range, "is below lo 1/1970-01-06");
  range.Clear();
  range.mutable_end()->set_u64(1);
  range.mutable_end_second();
  refused("orders", range,
          "range.end_second is set, but the keys of the object have one part (u64)");
}

TEST_F(TwoPartKeysTest, AggregatesTellBothPartsOfTheirEnds) {
  ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>(rows)).ok());
  v1::AggregateRequest request;
  request.set_object("visits");
  request.mutable_range()->mutable_start()->set_u64(7);
  request.mutable_range()->mutable_start_second()->set_date32(0);
  request.mutable_range()->mutable_end()->set_u64(8);
  v1::AggregateResponse response;
  ASSERT_TRUE(Aggregate(request, &response).ok());
  EXPECT_EQ(response.count(), 2u);
  EXPECT_EQ(response.first_key().u64(), 7u);
  EXPECT_EQ(response.first_second().date32(), 0);
  EXPECT_EQ(response.last_key().u64(), 7u);
  EXPECT_EQ(response.last_second().date32(), 1);
  request.set_count_only(true);
  response.Clear();
  ASSERT_TRUE(Aggregate(request, &response).ok());
  EXPECT_EQ(response.count(), 2u);
  EXPECT_FALSE(response.has_first_key() || response.has_first_second());
  // Of one-part keys there are none.
  ASSERT_TRUE(Upsert(UpsertOf({1, 2}, {3, 4})).ok());
  request.Clear();
  request.set_object("orders");
  response.Clear();
  ASSERT_TRUE(Aggregate(request, &response).ok());
  EXPECT_TRUE(response.has_first_key());
  EXPECT_FALSE(response.has_first_second() || response.has_last_second());
}

TEST_F(TwoPartKeysTest, CatalogShowsBothTypesAndCutsBetweenFirstParts) {
  v1::CreateObjectRequest request;
  request.set_name("x");
  request.set_key_type(v1::KEY_TYPE_INT64);
  request.set_second_key_type(v1::KEY_TYPE_FLOAT64);
  request.add_split_keys()->set_i64(-5);
  v1::CreateObjectResponse response;
  const auto create = [&] {
    grpc::ClientContext context;
    return catalog->CreateObject(&context, request, &response);
  };
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(response.object().key_type(), v1::KEY_TYPE_INT64);
  EXPECT_EQ(response.object().second_key_type(), v1::KEY_TYPE_FLOAT64);
  ASSERT_EQ(response.object().partitions_size(), 2);
  EXPECT_EQ(response.object().partitions(1).range().start().i64(), -5);
  EXPECT_FALSE(response.object().partitions(1).range().has_start_second());

  grpc::ClientContext get, list;
  v1::GetObjectRequest name;
  name.set_name("orders");
  v1::GetObjectResponse got;
  ASSERT_TRUE(catalog->GetObject(&get, name, &got).ok());
  EXPECT_EQ(got.object().second_key_type(), v1::KEY_TYPE_UNSPECIFIED);
  v1::ListObjectsResponse listed;
  ASSERT_TRUE(catalog->ListObjects(&list, {}, &listed).ok());
  std::vector<v1::KeyType> seconds;
  for (const v1::Object& one : listed.objects()) seconds.push_back(one.second_key_type());
  EXPECT_THAT(seconds,
              ElementsAre(v1::KEY_TYPE_UNSPECIFIED, v1::KEY_TYPE_DATE32, v1::KEY_TYPE_FLOAT64));

  request.set_name("y");
  request.set_second_key_type(static_cast<v1::KeyType>(9));
  ExpectInvalid(create(), "second_key_type is 9, must be 1 to 4");
  request.set_second_key_type(v1::KEY_TYPE_DATE32);
  request.mutable_expected()->mutable_start()->set_i64(1);
  request.mutable_expected()->mutable_start_second()->set_date32(1);
  ExpectInvalid(create(), "expected.start_second is set: partitions are cut between first parts");
  request.clear_expected();
  request.mutable_split_keys(0)->set_date32(1);
  ExpectInvalid(create(), "split_keys[0]: date32 is set, must be i64");
}

}  // namespace
}  // namespace eris::server
