// Unary calls and streams over real gRPC in process, against the fake engine.
#include "server/data/data_service.h"

#include <thread>

#include "eris/types.h"
#include "gmock/gmock.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using DataServiceTest = RpcTest;

void ExpectRefused(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(text));
}

// The bits of a column of up to eight keys.
std::string Bits(int bits) { return std::string(1, static_cast<char>(bits)); }

TEST_F(DataServiceTest, ConditionalWritesAnswerByPosition) {
  v1::WriteResponse written;
  ASSERT_TRUE(
      Write(WriteOf(v1::WRITE_MODE_INSERT_IF_ABSENT, {5, 7, 5}, {50, 70, 51}), &written).ok());
  EXPECT_EQ(written.applied(), Bits(0b011));
  EXPECT_EQ(written.existed(), Bits(0b100));
  EXPECT_EQ(written.columns(0).type(), v1::COLUMN_TYPE_UINT64);
  EXPECT_THAT(Elements(written.columns(0)), ElementsAre(0, 0, 50));
  EXPECT_EQ(written.executed(), "");
  EXPECT_FALSE(written.has_refusal());

  ASSERT_TRUE(Write(WriteOf(v1::WRITE_MODE_REPLACE_IF_PRESENT, {5, 6}, {52, 60}), &written).ok());
  EXPECT_EQ(written.applied(), Bits(0b01));
  EXPECT_EQ(written.existed(), Bits(0b01));
  EXPECT_THAT(Elements(written.columns(0)), ElementsAre(50, 0));

  ASSERT_TRUE(
      Write(WriteOf(v1::WRITE_MODE_COMPARE_AND_SET, {5, 7, 6}, {53, 71, 1}, {52, 71, 0}), &written)
          .ok());
  EXPECT_EQ(written.applied(), Bits(0b001));
  EXPECT_EQ(written.existed(), Bits(0b011));
  EXPECT_THAT(Elements(written.columns(0)), ElementsAre(52, 70, 0));

  ASSERT_TRUE(Write(WriteOf(v1::WRITE_MODE_ADD, {7, 9, 9}, {~uint64_t{0}, 4, 5}), &written).ok());
  EXPECT_EQ(written.applied(), Bits(0b111));
  EXPECT_EQ(written.existed(), Bits(0b101));
  EXPECT_THAT(Elements(written.columns(0)), ElementsAre(69, 4, 9));

  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(LookupOf({5, 6, 7, 9}), &found).ok());
  EXPECT_EQ(found.found(), Bits(0b1101));
  EXPECT_EQ(Elements(found.columns(0))[0], 53u);
}

TEST_F(DataServiceTest, WriteThatSomeKeysAreRefusedOfTellsWhichTookEffect) {
  engine.RefuseKeys({2, 4});
  v1::WriteResponse written;
  ASSERT_TRUE(Write(WriteOf(v1::WRITE_MODE_ADD, {1, 2, 3}, {10, 20, 30}), &written).ok());
  EXPECT_EQ(written.executed(), Bits(0b101));
  EXPECT_EQ(written.applied(), Bits(0b101));
  EXPECT_THAT(Elements(written.columns(0)), ElementsAre(10, 0, 30));
  EXPECT_EQ(written.refusal().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(written.refusal().message(), HasSubstr("no memory"));
  // None took effect: the call itself fails.
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_ADD, {2, 4}, {1, 1})),
                grpc::StatusCode::RESOURCE_EXHAUSTED, "no memory");
}

TEST_F(DataServiceTest, BadWritesGetTheirStatusAndChangeNothing) {
  constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
  auto request = WriteOf(v1::WRITE_MODE_ADD, {1}, {1});
  request.set_object("nothing");
  ExpectRefused(Write(request), grpc::StatusCode::NOT_FOUND, "nothing");
  request = WriteOf(v1::WRITE_MODE_ADD, {1}, {1});
  request.clear_mode();
  ExpectRefused(Write(request), kInvalid, "mode is 0, must be 1 to 7");
  request.set_mode(static_cast<v1::WriteMode>(8));
  ExpectRefused(Write(request), kInvalid, "mode is 8, must be 1 to 7");
  request.set_mode(static_cast<v1::WriteMode>(-1));
  ExpectRefused(Write(request), kInvalid, "mode is -1, must be 1 to 7");
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_ADD, {}, {})), kInvalid,
                "column columns.key: no elements");
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_ADD, {1, 2}, {1})), kInvalid,
                "column columns.value: data of 8 bytes, must be 16 for 2 rows");
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_COMPARE_AND_SET, {1, 2}, {1, 2}, {1})), kInvalid,
                "columns have 2 rows, expected 1: must be equal");
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_COMPARE_AND_SET, {1, 2}, {1, 2})), kInvalid,
                "expected: 0 columns, must be 1 (value COLUMN_TYPE_UINT64)");
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_ADD, {1}, {1}, {1, 2})), kInvalid,
                "expected: 1 columns, must be unset for mode WRITE_MODE_ADD");
  std::vector<uint64_t> many(kBatchKeysMax + 1);
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_ADD, many, many)), kInvalid,
                "1048577 elements, a batch has at most 1048576");
  many.pop_back();
  EXPECT_TRUE(Write(WriteOf(v1::WRITE_MODE_COMPARE_AND_SET, many, many, many)).ok());
  EXPECT_EQ(engine.Describe("orders")->keys, 0u);
}

TEST_F(DataServiceTest, WriteStreamGoesOnAfterARefusal) {
  engine.RefuseKeys({2});
  grpc::ClientContext context;
  auto stream = data->WriteStream(&context);
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(stream->Write(WriteOf(v1::WRITE_MODE_ADD, {1, 2}, {1, 1})));
    ASSERT_TRUE(stream->Write(WriteOf(v1::WRITE_MODE_ADD, {2}, {1})));
    ASSERT_TRUE(stream->Write(WriteOf(v1::WRITE_MODE_ADD, {1}, {1}, {1})));
  }
  stream->WritesDone();
  v1::WriteStreamResponse response;
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status().code(), 0);
    EXPECT_THAT(Elements(response.response().columns(0)), ElementsAre(i + 1, 0));
    EXPECT_EQ(response.response().refusal().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_FALSE(response.has_response());
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status().code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(DataServiceTest, LargestBatchGoesThrough) {
  std::vector<uint64_t> keys(kBatchKeysMax);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const grpc::Status status = Write(UpsertOf(keys, keys));
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(LookupOf(keys), &found).ok());
  EXPECT_EQ(Elements(found.columns(0)), keys);
  EXPECT_EQ(found.found(), std::string(kBatchKeysMax / 8, '\xff'));
  keys.push_back(0);
  ExpectRefused(Lookup(LookupOf(keys)), grpc::StatusCode::INVALID_ARGUMENT, "1048577 elements");
}

TEST_F(DataServiceTest, BadInputGetsItsStatusAndChangesNothing) {
  auto unknown = LookupOf({1});
  unknown.set_object("nothing");
  ExpectRefused(Lookup(unknown), grpc::StatusCode::NOT_FOUND, "nothing");
  unknown.set_object("");
  ExpectRefused(Lookup(unknown), grpc::StatusCode::INVALID_ARGUMENT, "name is empty");
  unknown.set_object(std::string(100'000, 'n'));
  ExpectRefused(Lookup(unknown), grpc::StatusCode::INVALID_ARGUMENT, "100000 bytes");

  ExpectRefused(Lookup(LookupOf({})), grpc::StatusCode::INVALID_ARGUMENT, "no elements");
  ExpectRefused(Write(UpsertOf({1, 2}, {1})), grpc::StatusCode::INVALID_ARGUMENT,
                "must be 16 for 2 rows");
  EXPECT_EQ(engine.Describe("orders")->keys, 0u);
}

TEST_F(DataServiceTest, EnginesRefusalsKeepTheirCode) {
  engine.RefuseWith(absl::ResourceExhaustedError("incoming buffer stayed full"));
  ExpectRefused(Lookup(LookupOf({1})), grpc::StatusCode::RESOURCE_EXHAUSTED, "stayed full");
}

TEST_F(DataServiceTest, DeadlineEndsACallWhoseAeuIsHeldBack) {
  engine.Hold();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::LookupResponse response;
  EXPECT_EQ(data->Lookup(&context, LookupOf({1}), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(engine.AwaitHeld(0));  // the server has told the engine
  engine.Release();
  EXPECT_TRUE(Lookup(LookupOf({1})).ok());
}

TEST_F(DataServiceTest, ClientThatVanishesInABatchLeavesNothingBehind) {
  engine.Hold();
  grpc::ClientContext context;
  std::thread client([&] {
    v1::WriteResponse response;
    EXPECT_EQ(data->Write(&context, UpsertOf({1}, {1}), &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(engine.AwaitHeld(1));
  context.TryCancel();
  client.join();
  EXPECT_TRUE(engine.AwaitHeld(0));
  engine.Release();
}

TEST_F(DataServiceTest, StreamAnswersInOrderAndGoesOnAfterAFailedRequest) {
  Load(10);
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  auto unknown = LookupOf({1});
  unknown.set_object("nothing");
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(stream->Write(LookupOf({10, 11})));
    ASSERT_TRUE(stream->Write(round % 2 == 0 ? unknown : LookupOf({})));
    ASSERT_TRUE(stream->Write(LookupOf({20})));
  }
  stream->WritesDone();
  v1::LookupStreamResponse response;
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status().code(), 0);
    EXPECT_EQ(response.response().found(), "\x01");
    EXPECT_EQ(Elements(response.response().columns(0))[0], 11u);
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status().code(),
              round % 2 == 0 ? grpc::StatusCode::NOT_FOUND : grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_FALSE(response.has_response());
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_THAT(Elements(response.response().columns(0)), ElementsAre(21));
  }
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(DataServiceTest, WriteStreamKeepsTheOrderOfWritesToOneKey) {
  grpc::ClientContext context;
  auto stream = data->WriteStream(&context);
  for (uint64_t i = 0; i < 200; ++i) ASSERT_TRUE(stream->Write(UpsertOf({1}, {i})));
  stream->WritesDone();
  v1::WriteStreamResponse response;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.response().existed(), std::string(1, i == 0 ? '\0' : '\x01'));
  }
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(LookupOf({1}), &found).ok());
  EXPECT_THAT(Elements(found.columns(0)), ElementsAre(199));
}

TEST_F(DataServiceTest, StreamWithoutARequestEndsWithOk) {
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(DataServiceTest, ClientThatVanishesInAStreamLeavesNothingBehind) {
  engine.Hold();
  {
    grpc::ClientContext context;
    auto stream = data->LookupStream(&context);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(stream->Write(LookupOf({1})));
    EXPECT_TRUE(engine.AwaitHeld(10));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(engine.AwaitHeld(0));
  engine.Release();
}

TEST_F(DataServiceTest, StreamHoldsNoMoreThanItsLimitInFlight) {
  engine.Hold();
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  const uint32_t limit = config.stream_requests_max;
  std::thread writer([&] {
    for (uint32_t i = 0; i < 2 * limit; ++i) ASSERT_TRUE(stream->Write(LookupOf({1})));
    stream->WritesDone();
  });
  EXPECT_TRUE(engine.AwaitHeld(static_cast<int>(limit)));
  engine.Release();
  v1::LookupStreamResponse response;
  uint32_t answers = 0;
  while (stream->Read(&response)) ++answers;
  writer.join();
  EXPECT_EQ(answers, 2 * limit);
  EXPECT_TRUE(stream->Finish().ok());
}

ServerConfig BudgetOfOneMessage() {
  ServerConfig small;
  small.in_flight_bytes_max = 3 << 19;
  small.receive_message_bytes_max = 2 << 20;
  return small;
}

class SmallBudgetTest : public RpcTest {
 protected:
  SmallBudgetTest() : RpcTest(BudgetOfOneMessage()) {}
};

TEST_F(SmallBudgetTest, CallsBeyondTheBudgetAreRefusedAndLaterOnesServed) {
  // 800 kB with their answer, and as much as bytes and message before it begins.
  const std::vector<uint64_t> keys(50'000, 1);
  engine.Hold();
  std::thread first([&] { EXPECT_TRUE(Lookup(LookupOf(keys)).ok()); });
  EXPECT_TRUE(engine.AwaitHeld(1));
  ExpectRefused(Lookup(LookupOf(keys)), grpc::StatusCode::RESOURCE_EXHAUSTED,
                "server.in_flight_bytes_max is 1572864");
  engine.Release();
  first.join();
  // The bytes come back when gRPC has let go of the call, a moment after its answer has arrived.
  EXPECT_TRUE(FakeEngine::Await([&] { return Lookup(LookupOf(keys)).ok(); }));
}

TEST_F(SmallBudgetTest, MessageBeyondTheReceiveLimitIsRefused) {
  const std::vector<uint64_t> keys(300'000, 1);
  EXPECT_EQ(Lookup(LookupOf(keys)).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

v1::AggregateRequest AggregateOf(uint64_t lo, uint64_t hi) {
  v1::AggregateRequest request;
  request.set_object("orders");
  request.mutable_range()->set_lo(lo);
  request.mutable_range()->set_hi(hi);
  return request;
}

TEST_F(DataServiceTest, AggregatesAnswerCountAndFigures) {
  Load(100);  // 0 -> 1, 10 -> 11, ...
  v1::AggregateResponse sum;
  ASSERT_TRUE(Aggregate(AggregateOf(5, 40), &sum).ok());
  EXPECT_EQ(sum.count(), 3u);
  EXPECT_EQ(sum.min(), 11u);
  EXPECT_EQ(sum.max(), 31u);
  EXPECT_EQ(sum.sum_low(), 63u);
  EXPECT_TRUE(sum.has_sum_high());
  EXPECT_EQ(sum.sum_high(), 0u);
  EXPECT_EQ(sum.first_key().u64(), 10u);
  EXPECT_EQ(sum.last_key().u64(), 30u);

  v1::AggregateRequest filtered;
  filtered.set_object("orders");
  filtered.mutable_values()->set_lo(901);
  ASSERT_TRUE(Aggregate(filtered, &sum).ok());
  EXPECT_EQ(sum.count(), 10u);
  filtered.set_count_only(true);
  ASSERT_TRUE(Aggregate(filtered, &sum).ok());
  EXPECT_EQ(sum.count(), 10u);
  EXPECT_FALSE(sum.has_min());

  ASSERT_TRUE(Write(UpsertOf({0, 1}, {~uint64_t{0}, ~uint64_t{0}})).ok());
  ASSERT_TRUE(Aggregate(AggregateOf(0, 2), &sum).ok());
  EXPECT_EQ(sum.sum_high(), 1u);
  EXPECT_EQ(sum.sum_low(), ~uint64_t{1});

  ASSERT_TRUE(Aggregate(AggregateOf(3, 3), &sum).ok());
  EXPECT_EQ(sum.count(), 0u);
  EXPECT_FALSE(sum.has_min() || sum.has_sum_low() || sum.has_first_key());
}

TEST_F(DataServiceTest, BadAggregatesGetTheirStatus) {
  v1::AggregateResponse sum;
  ExpectRefused(Aggregate(AggregateOf(2, 1), &sum), grpc::StatusCode::INVALID_ARGUMENT,
                "hi 1 is below lo 2");
  v1::AggregateRequest request = AggregateOf(0, 1);
  request.mutable_values()->set_lo(1);
  request.mutable_values()->set_last(0);
  ExpectRefused(Aggregate(request, &sum), grpc::StatusCode::INVALID_ARGUMENT, "inverted");
  request = AggregateOf(0, 1);
  request.set_object("nothing");
  ExpectRefused(Aggregate(request, &sum), grpc::StatusCode::NOT_FOUND, "nothing");
  request.set_object("");
  ExpectRefused(Aggregate(request, &sum), grpc::StatusCode::INVALID_ARGUMENT, "empty");
}

TEST_F(DataServiceTest, AnAggregateWhoseDeadlinePassesIsCancelledInTheEngine) {
  Load(10);
  engine.Hold();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::AggregateResponse sum;
  const grpc::Status status = data->Aggregate(&context, AggregateOf(0, 100), &sum);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(engine.AwaitHeld(0));
}

}  // namespace
}  // namespace eris::server
