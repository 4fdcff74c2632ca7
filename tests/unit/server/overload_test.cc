// What a server does with more than it can serve, and with clients that hold what others need.
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "clients/rpc_status.h"
#include "eris/errors.h"
#include "gmock/gmock.h"
#include "server/state/server_state.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::string ReasonOf(const grpc::Status& status) {
  return ErrorDetailsOf(client::ToAbslStatus(status)).reason;
}

ServerConfig SmallBudget() {
  ServerConfig small;
  small.in_flight_bytes_max = 3 << 19;
  small.receive_message_bytes_max = 2 << 20;
  small.queue_ms_max = 1;
  return small;
}

class OverloadTest : public RpcTest {
 protected:
  explicit OverloadTest(ServerConfig config_in = SmallBudget()) : RpcTest(std::move(config_in)) {
    // A window that does not grow, so that a scan that is not read stops early.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    channel =
        grpc::CreateCustomChannel(server->address(), grpc::InsecureChannelCredentials(), arguments);
    data = v1::Data::NewStub(channel);
  }

  grpc::Status LookupOfBytes(const std::string& bytes) {
    grpc::Slice slice(bytes);
    grpc::ByteBuffer request(&slice, 1), response;
    grpc::ClientContext context;
    std::promise<grpc::Status> done;
    grpc::GenericStub(channel).UnaryCall(
        &context, "/eris.v1.Data/Lookup", {}, &request, &response,
        [&](const grpc::Status& status) { done.set_value(status); });
    return done.get_future().get();
  }

  // Makes the gate of lookups full, as a server in which ten calls are done in a second.
  std::vector<QueueGate::Stay> FillQueue() {
    QueueGate& gate = server->state().lookups_queued;
    std::vector<QueueGate::Stay> stays;
    for (uint32_t i = 0; i < 2 * QueueGate::kCallsMin; ++i) stays.push_back(gate.Enter());
    auto now = QueueGate::Clock::now();
    for (int window = 0; window < 3; ++window, now += QueueGate::kWindowMin) {
      stays.back().Done(now);
      stays.pop_back();
    }
    EXPECT_EQ(gate.limit(), QueueGate::kCallsMin);
    EXPECT_TRUE(gate.Full());
    return stays;
  }
};

TEST_F(OverloadTest, RequestWithoutRoomIsNotParsed) {
  const std::vector<uint64_t> keys(50'000, 1);
  engine.Hold();
  std::thread first([&] { EXPECT_TRUE(Lookup(LookupOf(keys)).ok()); });
  EXPECT_TRUE(engine.AwaitHeld(1));
  // If it were parsed, it would be found malformed.
  const grpc::Status status =
      LookupOfBytes(LookupOf(keys).SerializeAsString() + std::string("\x20\xff", 2));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "IN_FLIGHT_BYTES");
  EXPECT_GT(ErrorDetailsOf(client::ToAbslStatus(status)).retry_ms, 0u);
  engine.Release();
  first.join();
}

TEST_F(OverloadTest, RequestThatNeverFitsIsInvalid) {
  const grpc::Status status = Lookup(LookupOf(std::vector<uint64_t>(110'000, 1)));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "REQUEST_TOO_LARGE");
  EXPECT_THAT(status.error_message(), HasSubstr("send smaller batches"));
  // Writes get three quarters.
  const std::vector<uint64_t> keys(40'000, 1);
  EXPECT_EQ(ReasonOf(Write(UpsertOf(keys, keys))), "REQUEST_TOO_LARGE");
}

TEST_F(OverloadTest, MalformedRequestIsToldByItsOffset) {
  const std::string good = LookupOf({1}).SerializeAsString();
  const grpc::Status status = LookupOfBytes(good + std::string("\x20\xff", 2));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const ErrorDetails details = ErrorDetailsOf(client::ToAbslStatus(status));
  EXPECT_EQ(details.reason, "REQUEST_MALFORMED");
  EXPECT_EQ(details.field, "answer_bytes_max");
  EXPECT_EQ(details.value, std::to_string(good.size()));
}

TEST_F(OverloadTest, EveryRefusalNamesItsReason) {
  v1::LookupRequest unknown = LookupOf({1});
  unknown.set_object("nobody");
  EXPECT_EQ(ReasonOf(Lookup(unknown)), "OBJECT_UNKNOWN");
  unknown.set_object("");
  EXPECT_EQ(ReasonOf(Lookup(unknown)), "OBJECT_NAME_INVALID");
  EXPECT_EQ(ReasonOf(Lookup(LookupOf({}))), "COLUMN_INVALID");
  EXPECT_EQ(ReasonOf(Write(WriteOf(v1::WRITE_MODE_UNSPECIFIED, {1}, {1}))), "WRITE_MODE_INVALID");
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  unknown.set_object("nobody");
  ASSERT_TRUE(stream->Write(unknown));
  v1::LookupStreamResponse response;
  ASSERT_TRUE(stream->Read(&response));
  const absl::Status inside = client::ToAbslStatus(response.status());
  EXPECT_EQ(inside.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorDetailsOf(inside).reason, "OBJECT_UNKNOWN");
  EXPECT_EQ(ErrorDetailsOf(inside).value, "nobody");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(OverloadTest, CallIsRefusedWhileAcceptedOnesWaitTooLong) {
  std::vector<QueueGate::Stay> stays = FillQueue();
  grpc::ClientContext context;
  v1::LookupResponse response;
  const grpc::Status status = data->Lookup(&context, LookupOf({1}), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "QUEUE_TOO_LONG");
  EXPECT_EQ(status.error_message(),
            "accepted calls wait longer than server.queue_ms_max, 1 ms: nothing was done, try "
            "again later");
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto pushback = trailing.find("grpc-retry-pushback-ms");
  ASSERT_NE(pushback, trailing.end());
  EXPECT_EQ(std::to_string(ErrorDetailsOf(client::ToAbslStatus(status)).retry_ms),
            std::string(pushback->second.data(), pushback->second.size()));
  // Writes, scans and aggregates have queues of their own, or none.
  EXPECT_TRUE(Write(UpsertOf({1}, {1})).ok());
  v1::AggregateRequest aggregate;
  aggregate.set_object("orders");
  v1::AggregateResponse sum;
  EXPECT_TRUE(Aggregate(aggregate, &sum).ok());
  stays.clear();
  EXPECT_TRUE(Lookup(LookupOf({1})).ok());
}

TEST_F(OverloadTest, StreamGoesOnOneByOneWhileCallsAreRefused) {
  const std::vector<QueueGate::Stay> stays = FillQueue();
  engine.Hold();
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  constexpr int kRequests = 3;
  for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(stream->Write(LookupOf({1})));
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(engine.AwaitHeld(1));
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(engine.held(), 1);
    engine.ReleaseHeld();
    v1::LookupStreamResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status().code(), 0);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

class UnreadScanTest : public OverloadTest {
 protected:
  static constexpr uint64_t kRows = 120'000;
  UnreadScanTest() : OverloadTest(ServerConfig()) {
    engine.rows_per_chunk = 32768;
    for (uint64_t first = 0; first < kRows; first += 20'000) {
      std::vector<uint64_t> keys(20'000);
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = first + i;
      EXPECT_TRUE(Write(UpsertOf(keys, keys)).ok());
    }
    request_.set_object("orders");
  }
  // Opens a scan, and reads until its first chunk. Returns when the scan has given its chunks back.
  std::unique_ptr<grpc::ClientReader<v1::ScanResponse>> OpenUnread(grpc::ClientContext* context) {
    auto reader = data->Scan(context, request_);
    v1::ScanResponse chunk;
    EXPECT_TRUE(reader->Read(&chunk));
    Take(chunk);
    EXPECT_TRUE(
        FakeEngine::Await([&] { return engine.scans_open() == 0 && engine.chunks_out() == 0; }));
    return reader;
  }
  void Take(const v1::ScanResponse& chunk) {
    if (chunk.rows() == 0) return;
    for (const uint64_t key : Elements(chunk.columns(0))) EXPECT_EQ(key, next_++);
  }
  grpc::Status ReadRest(grpc::ClientReader<v1::ScanResponse>& reader) {
    v1::ScanResponse chunk;
    while (reader.Read(&chunk)) {
      Take(chunk);
      EXPECT_FALSE(chunk.new_snapshot());
    }
    return reader.Finish();
  }

  v1::ScanRequest request_;
  uint64_t next_ = 0;
};

TEST_F(UnreadScanTest, ScanGivesItsChunksBackAndGoesOnFromItsPlace) {
  grpc::ClientContext context;
  const auto reader = OpenUnread(&context);
  // The rest shows the same snapshot.
  EXPECT_TRUE(Write(UpsertOf({kRows}, {1})).ok());
  const grpc::Status status = ReadRest(*reader);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(next_, kRows);
}

TEST_F(UnreadScanTest, LimitCountsRowsOfBothParts) {
  request_.mutable_query()->set_limit(kRows - 1000);
  grpc::ClientContext context;
  const auto reader = OpenUnread(&context);
  EXPECT_TRUE(ReadRest(*reader).ok());
  EXPECT_EQ(next_, kRows - 1000);
}

TEST_F(UnreadScanTest, ScanWaitsUntilOthersGiveChunksBack) {
  grpc::ClientContext context;
  const auto reader = OpenUnread(&context);
  engine.RefuseWith(Error(ErrorReason::kScanChunks, "all are in use"));
  std::thread others([this] {
    std::this_thread::sleep_for(milliseconds(600));
    engine.RefuseWith(absl::OkStatus());
  });
  const grpc::Status status = ReadRest(*reader);
  others.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(next_, kRows);
}

TEST_F(UnreadScanTest, ScanThatCannotGoOnEndsWithTheReason) {
  grpc::ClientContext context;
  const auto reader = OpenUnread(&context);
  engine.RefuseWith(Error(ErrorReason::kSnapshotGivenUp, "it was too old"));
  const grpc::Status status = ReadRest(*reader);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(status), "SNAPSHOT_GIVEN_UP");
}

TEST_F(UnreadScanTest, ClientMayGoMeanwhile) {
  {
    grpc::ClientContext context;
    const auto reader = OpenUnread(&context);
    context.TryCancel();
    EXPECT_EQ(ReadRest(*reader).error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(FakeEngine::Await([&] { return server->state().gate.inside() == 0; }));
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.snapshots_held() == 0; }));
}

TEST_F(OverloadTest, NoClientTakesAllSnapshots) {
  std::vector<uint64_t> taken;
  for (;;) {
    grpc::ClientContext context;
    v1::TakeSnapshotResponse response;
    const grpc::Status status = data->TakeSnapshot(&context, {}, &response);
    if (!status.ok()) {
      EXPECT_EQ(ReasonOf(status), "SNAPSHOTS_HELD") << status.error_message();
      break;
    }
    taken.push_back(response.snapshot());
    ASSERT_LE(taken.size(), SnapshotLeases::kTakenMax);
  }
  EXPECT_EQ(taken.size(), SnapshotLeases::kTakenMax / 2);
  // Another client, which the test has no address for.
  EXPECT_TRUE(TakeLease(server->state(), "ipv4:10.0.0.7", milliseconds(1000)).ok());
  grpc::ClientContext context;
  v1::ReleaseSnapshotRequest release;
  release.set_snapshot(taken.back());
  v1::ReleaseSnapshotResponse released;
  EXPECT_TRUE(data->ReleaseSnapshot(&context, release, &released).ok());
  grpc::ClientContext again;
  v1::TakeSnapshotResponse response;
  EXPECT_TRUE(data->TakeSnapshot(&again, {}, &response).ok());
}

}  // namespace
}  // namespace eris::server
