// Keys of every type over real gRPC in process, against the fake engine: each call takes the
// object's type alone, and the numbers come back as they went.
#include <cmath>
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

template <class Number>
std::string Bytes(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

template <class Number>
std::vector<Number> NumbersOf(const v1::Column& column) {
  EXPECT_EQ(column.data().size() % sizeof(Number), 0u);
  std::vector<Number> numbers(column.data().size() / sizeof(Number));
  std::memcpy(numbers.data(), column.data().data(), column.data().size());
  return numbers;
}

void ExpectInvalid(const grpc::Status& status, const std::string& text) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(text));
}

class TypedKeysTest : public RpcTest {
 protected:
  TypedKeysTest() {
    EXPECT_TRUE(engine.Create("ints", {.key_type = ColumnType::kInt64}).ok());
    EXPECT_TRUE(engine.Create("floats", {.key_type = ColumnType::kFloat64}).ok());
    EXPECT_TRUE(engine.Create("dates", {.key_type = ColumnType::kDate}).ok());
  }

  // `keys` on an object, as a request of any kind.
  template <class Request, class Number>
  static Request Of(const std::string& object, v1::ColumnType type,
                    const std::vector<Number>& keys) {
    Request request;
    request.set_object(object);
    request.mutable_keys()->set_type(type);
    request.mutable_keys()->set_data(Bytes(keys));
    if constexpr (requires { request.mutable_values(); }) {
      std::vector<uint64_t> values(keys.size());
      for (size_t i = 0; i < values.size(); ++i) values[i] = 100 + i;
      SetColumn(request.mutable_values(), values);
    }
    if constexpr (requires { request.set_mode(v1::WRITE_MODE_ADD); }) {
      request.set_mode(v1::WRITE_MODE_ADD);
    }
    return request;
  }

  // Writes, reads, adds, scans and erases `numbers` (ascending, different).
  template <class Number>
  void GoesRound(const std::string& object, v1::ColumnType type,
                 const std::vector<Number>& numbers) {
    std::vector<Number> shuffled(numbers.rbegin(), numbers.rend());
    const grpc::Status upserted = Upsert(Of<v1::UpsertRequest>(object, type, shuffled));
    ASSERT_TRUE(upserted.ok()) << upserted.error_message();
    v1::LookupResponse found;
    ASSERT_TRUE(Lookup(Of<v1::LookupRequest>(object, type, numbers), &found).ok());
    std::vector<uint64_t> values = Elements(found.values());
    ASSERT_EQ(values.size(), numbers.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 99 + values.size() - i);

    v1::WriteResponse written;
    ASSERT_TRUE(Write(Of<v1::WriteRequest>(object, type, shuffled), &written).ok());
    EXPECT_EQ(Elements(written.values())[0], 200u);

    v1::ScanRequest scan;
    scan.set_object(object);
    engine.rows_per_chunk = 2;
    std::vector<v1::ScanResponse> chunks;
    ASSERT_TRUE(Scan(scan, &chunks).ok());
    std::vector<Number> scanned;
    for (const v1::ScanResponse& chunk : chunks) {
      EXPECT_EQ(chunk.keys().type(), type);
      EXPECT_EQ(chunk.values().type(), v1::COLUMN_TYPE_UINT64);
      for (const Number number : NumbersOf<Number>(chunk.keys())) scanned.push_back(number);
    }
    EXPECT_EQ(scanned, numbers);
    // A token goes on in the same type.
    ASSERT_GT(chunks.size(), 1u);
    scan.set_resume_token(chunks[0].resume_token());
    chunks.clear();
    ASSERT_TRUE(Scan(scan, &chunks).ok());
    EXPECT_EQ(NumbersOf<Number>(chunks[0].keys()), (std::vector<Number>{numbers[2], numbers[3]}));

    grpc::ClientContext context;
    auto stream = data->LookupStream(&context);
    ASSERT_TRUE(stream->Write(Of<v1::LookupRequest>(object, type, numbers)));
    stream->WritesDone();
    v1::LookupStreamResponse answer;
    ASSERT_TRUE(stream->Read(&answer));
    EXPECT_EQ(answer.status().code(), 0) << answer.status().message();
    EXPECT_FALSE(stream->Read(&answer));
    EXPECT_TRUE(stream->Finish().ok());

    ASSERT_TRUE(Erase(Of<v1::EraseRequest>(object, type, numbers)).ok());
    EXPECT_EQ(engine.Describe(object)->keys, 0u);
  }

  // The keys from `start` to `end` of a scan.
  template <class Number>
  std::vector<Number> Range(const std::string& object, const v1::KeyRange& range) {
    v1::ScanRequest scan;
    scan.set_object(object);
    *scan.mutable_range() = range;
    std::vector<v1::ScanResponse> chunks;
    const grpc::Status status = Scan(scan, &chunks);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return chunks.empty() ? std::vector<Number>() : NumbersOf<Number>(chunks[0].keys());
  }
};

TEST_F(TypedKeysTest, EveryTypeGoesRound) {
  using Ints = std::numeric_limits<int64_t>;
  using Floats = std::numeric_limits<double>;
  using Days = std::numeric_limits<int32_t>;
  GoesRound<uint64_t>("orders", v1::COLUMN_TYPE_UINT64, {0, 1, 2, uint64_t{1} << 63, ~uint64_t{0}});
  GoesRound<int64_t>("ints", v1::COLUMN_TYPE_INT64, {Ints::min(), -1, 0, 1, Ints::max()});
  GoesRound<double>("floats", v1::COLUMN_TYPE_FLOAT64,
                    {-Floats::infinity(), -Floats::max(), -Floats::denorm_min(), 0.0,
                     Floats::denorm_min(), Floats::max(), Floats::infinity()});
  GoesRound<int32_t>("dates", v1::COLUMN_TYPE_DATE32, {Days::min(), -1, 0, 1, Days::max()});
}

// 4 bytes a key, so every other place in the message is no multiple of 8.
TEST_F(TypedKeysTest, BatchesOfAnyLengthGoRound) {
  for (const int count : {1, 2, 3, 511, 512, 513, 2000}) {
    std::vector<int32_t> days;
    for (int i = 0; i < count; ++i) days.push_back(i - 300);
    ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>("dates", v1::COLUMN_TYPE_DATE32, days)).ok());
    EXPECT_EQ(engine.Describe("dates")->keys, static_cast<uint64_t>(count));
    engine.rows_per_chunk = 5000;
    EXPECT_EQ(Range<int32_t>("dates", {}), days);
  }
}

TEST_F(TypedKeysTest, WrongTypeIsRefusedByEveryCallWithBothTypes) {
  const std::string text =
      "column keys: type is COLUMN_TYPE_UINT64 (1), must be COLUMN_TYPE_INT64 (20) as the keys of "
      "the object";
  const std::vector<uint64_t> keys = {1, 2};
  const auto type = v1::COLUMN_TYPE_UINT64;
  ExpectInvalid(Lookup(Of<v1::LookupRequest>("ints", type, keys)), text);
  ExpectInvalid(Upsert(Of<v1::UpsertRequest>("ints", type, keys)), text);
  ExpectInvalid(Erase(Of<v1::EraseRequest>("ints", type, keys)), text);
  ExpectInvalid(Write(Of<v1::WriteRequest>("ints", type, keys)), text);
  ExpectInvalid(Lookup(Of<v1::LookupRequest>("orders", v1::COLUMN_TYPE_FLOAT64, std::vector{1.0})),
                "type is COLUMN_TYPE_FLOAT64 (21), must be COLUMN_TYPE_UINT64 (1)");
  ExpectInvalid(Lookup(Of<v1::LookupRequest>("floats", v1::COLUMN_TYPE_DATE32, std::vector{1})),
                "type is COLUMN_TYPE_DATE32 (22), must be COLUMN_TYPE_FLOAT64 (21)");
  ExpectInvalid(Lookup(Of<v1::LookupRequest>("dates", v1::COLUMN_TYPE_DATE32, std::vector{'a'})),
                "keys: 1 bytes, not a multiple of 4");
  // Values are u64 whatever the keys are.
  auto upsert = Of<v1::UpsertRequest>("ints", v1::COLUMN_TYPE_INT64, std::vector<int64_t>{1});
  upsert.mutable_values()->set_type(v1::COLUMN_TYPE_INT64);
  ExpectInvalid(Upsert(upsert), "column values: type is COLUMN_TYPE_INT64 (20), must be");
  for (const char* object : {"ints", "floats", "dates", "orders"}) {
    EXPECT_EQ(engine.Describe(object)->keys, 0u);
  }
}

TEST_F(TypedKeysTest, NanIsRefusedWithItsPositionAndNothingIsWritten) {
  std::vector<double> keys(1000, 0.5);
  keys[700] = std::nan("");
  keys[701] = -std::nan("7");
  const std::string text = "column keys: element 700 is NaN";
  const auto type = v1::COLUMN_TYPE_FLOAT64;
  ExpectInvalid(Lookup(Of<v1::LookupRequest>("floats", type, keys)), text);
  ExpectInvalid(Upsert(Of<v1::UpsertRequest>("floats", type, keys)), text);
  ExpectInvalid(Erase(Of<v1::EraseRequest>("floats", type, keys)), text);
  ExpectInvalid(Write(Of<v1::WriteRequest>("floats", type, keys)), text);
  EXPECT_EQ(engine.Describe("floats")->keys, 0u);
}

TEST_F(TypedKeysTest, MinusZeroFindsZero) {
  const auto type = v1::COLUMN_TYPE_FLOAT64;
  ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>("floats", type, std::vector{-0.0})).ok());
  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(Of<v1::LookupRequest>("floats", type, std::vector{0.0}), &found).ok());
  EXPECT_EQ(found.values().validity(), "\x01");
  const std::vector<double> scanned = Range<double>("floats", {});
  ASSERT_EQ(scanned.size(), 1u);
  EXPECT_FALSE(std::signbit(scanned[0]));
}

TEST_F(TypedKeysTest, RangesAreOfTheObjectsType) {
  ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>("ints", v1::COLUMN_TYPE_INT64,
                                           std::vector<int64_t>{-20, -10, 0, 10, 20}))
                  .ok());
  v1::KeyRange range;
  range.mutable_start()->set_i64(-10);
  EXPECT_THAT(Range<int64_t>("ints", range), ElementsAre(-10, 0, 10, 20));
  range.mutable_end()->set_i64(10);
  EXPECT_THAT(Range<int64_t>("ints", range), ElementsAre(-10, 0));
  range.clear_start();
  EXPECT_THAT(Range<int64_t>("ints", range), ElementsAre(-20, -10, 0));
  ASSERT_TRUE(
      Upsert(Of<v1::UpsertRequest>("dates", v1::COLUMN_TYPE_DATE32, std::vector{-1, 0, 1})).ok());
  range.mutable_end()->set_date32(0);
  EXPECT_THAT(Range<int32_t>("dates", range), ElementsAre(-1));
  ASSERT_TRUE(
      Upsert(Of<v1::UpsertRequest>("floats", v1::COLUMN_TYPE_FLOAT64, std::vector{-1.5, 2.5}))
          .ok());
  range.mutable_end()->set_f64(2.5);
  EXPECT_THAT(Range<double>("floats", range), ElementsAre(-1.5));
  // Of u64 keys either form.
  ASSERT_TRUE(Upsert(UpsertOf({1, 2, 3}, {1, 2, 3})).ok());
  range.Clear();
  range.mutable_start()->set_u64(2);
  EXPECT_THAT(Range<uint64_t>("orders", range), ElementsAre(2, 3));
}

TEST_F(TypedKeysTest, RangesOfAnotherTypeAreRefused) {
  const auto refused = [&](const std::string& object, const v1::KeyRange& range,
                           const std::string& text) {
    v1::ScanRequest scan;
    scan.set_object(object);
    *scan.mutable_range() = range;
    std::vector<v1::ScanResponse> chunks;
    ExpectInvalid(Scan(scan, &chunks), text);
  };
  v1::KeyRange range;
  range.set_hi(10);
  refused("ints", range, "range: lo and hi are for keys of type u64");
  range.mutable_end()->set_u64(10);
  refused("orders", range, "not beside start and end");
  range.Clear();
  range.mutable_start()->set_f64(1);
  refused("ints", range, "range.start: f64 is set, must be i64 as the keys of the object");
  range.mutable_start()->Clear();
  refused("ints", range, "range.start: none is set, must be i64");
  range.mutable_start()->set_f64(std::nan(""));
  refused("floats", range, "range.start is NaN");
  range.mutable_start()->set_date32(1);
  range.mutable_end()->set_date32(-1);
  refused("dates", range, "range is inverted: hi 1969-12-31 is below lo 1970-01-02");
}

TEST_F(TypedKeysTest, AggregatesTellTheirEndsAsNumbersOfTheObjectsType) {
  ASSERT_TRUE(Upsert(Of<v1::UpsertRequest>("ints", v1::COLUMN_TYPE_INT64,
                                           std::vector<int64_t>{-20, -10, 0, 10, 20}))
                  .ok());
  v1::AggregateRequest request;
  request.set_object("ints");
  request.mutable_range()->mutable_start()->set_i64(-15);
  request.mutable_range()->mutable_end()->set_i64(20);
  v1::AggregateResponse response;
  const grpc::Status status = Aggregate(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.count(), 3u);
  EXPECT_EQ(response.sum_low(), 101u + 102 + 103);
  EXPECT_EQ(response.first_key().i64(), -10);
  EXPECT_EQ(response.last_key().i64(), 10);
  request.clear_range();
  request.mutable_range()->set_hi(10);
  ExpectInvalid(Aggregate(request, &response), "range: lo and hi are for keys of type u64");
  request.mutable_range()->Clear();
  request.mutable_range()->mutable_start()->set_date32(1);
  ExpectInvalid(Aggregate(request, &response), "range.start: date32 is set, must be i64");

  ASSERT_TRUE(
      Upsert(Of<v1::UpsertRequest>("dates", v1::COLUMN_TYPE_DATE32, std::vector{-1, 1})).ok());
  request.Clear();
  request.set_object("dates");
  response.Clear();
  ASSERT_TRUE(Aggregate(request, &response).ok());
  EXPECT_EQ(response.first_key().date32(), -1);
  EXPECT_EQ(response.last_key().date32(), 1);
}

class TypedCatalogTest : public TypedKeysTest {
 protected:
  grpc::Status Create(const v1::CreateObjectRequest& request, v1::Object* object = nullptr) {
    grpc::ClientContext context;
    v1::CreateObjectResponse response;
    const grpc::Status status = catalog->CreateObject(&context, request, &response);
    if (object != nullptr) *object = response.object();
    return status;
  }
};

TEST_F(TypedCatalogTest, ObjectsKeepTheirKeyTypeAndShowBoundsInIt) {
  v1::CreateObjectRequest request;
  request.set_name("temperatures");
  request.set_key_type(v1::KEY_TYPE_FLOAT64);
  request.add_split_keys()->set_f64(-10.5);
  request.add_split_keys()->set_f64(30);
  v1::Object object;
  const grpc::Status status = Create(request, &object);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(object.key_type(), v1::KEY_TYPE_FLOAT64);
  ASSERT_EQ(object.partitions_size(), 3);
  EXPECT_FALSE(object.partitions(0).range().has_start());
  EXPECT_EQ(object.partitions(0).range().end().f64(), -10.5);
  EXPECT_EQ(object.partitions(1).range().start().f64(), -10.5);
  EXPECT_EQ(object.partitions(2).range().start().f64(), 30);
  EXPECT_FALSE(object.partitions(2).range().has_end());
  EXPECT_EQ(object.partitions(2).range().lo(), 0u);

  grpc::ClientContext list;
  v1::ListObjectsResponse listed;
  ASSERT_TRUE(catalog->ListObjects(&list, {}, &listed).ok());
  std::vector<v1::KeyType> types;
  for (const v1::Object& one : listed.objects()) types.push_back(one.key_type());
  EXPECT_THAT(types, ElementsAre(v1::KEY_TYPE_DATE32, v1::KEY_TYPE_FLOAT64, v1::KEY_TYPE_INT64,
                                 v1::KEY_TYPE_UINT64, v1::KEY_TYPE_FLOAT64));
}

TEST_F(TypedCatalogTest, BoundsOfAnotherTypeAreRefused) {
  v1::CreateObjectRequest request;
  request.set_name("x");
  request.set_key_type(static_cast<v1::KeyType>(5));
  ExpectInvalid(Create(request), "key_type is 5, must be 1 to 4");
  request.set_key_type(v1::KEY_TYPE_INT64);
  request.mutable_expected()->set_hi(7);
  ExpectInvalid(Create(request), "expected: lo and hi are for keys of type u64");
  request.mutable_expected()->Clear();
  request.mutable_expected()->mutable_end()->set_u64(7);
  ExpectInvalid(Create(request), "expected.end: u64 is set, must be i64");
  request.mutable_expected()->Clear();
  request.add_split_points(7);
  ExpectInvalid(Create(request), "1 split_points: they are for keys of type UINT64 alone");
  request.clear_split_points();
  request.add_split_keys()->set_i64(-1);
  request.add_split_keys()->set_u64(1);
  ExpectInvalid(Create(request), "split_keys[1]: u64 is set, must be i64");
  request.mutable_split_keys(1)->set_i64(1);
  EXPECT_TRUE(Create(request).ok());
}

}  // namespace
}  // namespace eris::server
