// What a server does with more than it can serve, and with clients that hold what others need.
#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arrow/flight.grpc.pb.h"
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

ServerConfig BudgetToOverload() {
  ServerConfig small;
  small.in_flight_bytes_max = 3 << 19;
  small.receive_message_bytes_max = 2 << 20;
  small.queue_ms_max = 1;
  return small;
}

class OverloadTest : public RpcTest {
 protected:
  explicit OverloadTest(ServerConfig config_in = BudgetToOverload())
      : RpcTest(std::move(config_in)) {
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
  // As many calls as `client` may have although a queue is full.
  std::vector<ClientShares::Hold> TakeShare(const std::string& client) {
    std::vector<ClientShares::Hold> share;
    while (auto hold = server->state().beyond_queues.TryTake(client)) {
      share.push_back(std::move(hold));
    }
    return share;
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
  // Without the message that is parsed there would be room, but it is there as well.
  EXPECT_EQ(ReasonOf(Lookup(LookupOf(std::vector<uint64_t>(80'000, 1)))), "REQUEST_TOO_LARGE");
  // Writes get three quarters.
  const std::vector<uint64_t> keys(40'000, 1);
  const ErrorDetails written = ErrorDetailsOf(client::ToAbslStatus(Write(UpsertOf(keys, keys))));
  EXPECT_EQ(written.reason, "REQUEST_TOO_LARGE");
  EXPECT_GT(std::stoull(written.value), std::stoull(written.limit));
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
  const std::vector<ClientShares::Hold> beyond = TakeShare("ipv4:127.0.0.1");
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

TEST_F(OverloadTest, CallsOfOthersDoNotKeepAClientOut) {
  const std::vector<QueueGate::Stay> stays = FillQueue();
  std::vector<ClientShares::Hold> beyond = TakeShare("ipv4:10.0.0.7");
  EXPECT_EQ(beyond.size(), QueueGate::kCallsMin / 2);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Lookup(LookupOf({1})).ok()) << "one at a time, of 16";
  EXPECT_TRUE(
      FakeEngine::Await([&] { return server->state().beyond_queues.held() == beyond.size(); }));
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
  explicit UnreadScanTest(ServerConfig config_in = {}) : OverloadTest(std::move(config_in)) {
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
  // Whether a scan of so many rows has been opened, and has ended.
  bool AwaitScanOf(uint64_t limit) {
    return FakeEngine::Await([&] {
      return engine.last_query().limit == limit && engine.scans_open() == 0 &&
             engine.chunks_out() == 0;
    });
  }
  // Whether one call is under way, when those that have been answered are gone.
  bool AwaitOneCall() {
    return FakeEngine::Await([&] { return server->state().gate.inside() == 1; });
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

// All timers of the server are of one thread, which must not wait for the engine.
TEST_F(UnreadScanTest, TimersGoOnWhileAScanIsOpenedAgain) {
  grpc::ClientContext context;
  const auto reader = OpenUnread(&context);
  const int opens = engine.opens();
  engine.RefuseWith(Error(ErrorReason::kScanChunks, "all are in use"));
  grpc::Status status;
  std::thread rest([&] { status = ReadRest(*reader); });
  // The first time on a thread of gRPC, when the client has read; then by the timer.
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.opens() > opens; }));
  engine.HoldOpening(true);
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.opening() == 1; }));
  const auto ran = std::make_shared<std::promise<void>>();
  std::future<void> timer = ran->get_future();
  boost::asio::post(*io_thread.io(), [ran] { ran->set_value(); });
  EXPECT_EQ(timer.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(engine.opening(), 1);
  engine.RefuseWith(absl::OkStatus());
  engine.HoldOpening(false);
  rest.join();
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

TEST_F(UnreadScanTest, LastChunkNeedsNoScan) {
  const uint64_t limit = engine.rows_per_chunk;
  request_.mutable_query()->set_limit(limit);
  grpc::ClientContext context;
  const auto reader = data->Scan(&context, request_);
  EXPECT_TRUE(AwaitScanOf(limit));
  EXPECT_TRUE(AwaitOneCall());  // its chunk has not been read
  EXPECT_TRUE(ReadRest(*reader).ok());
  EXPECT_EQ(next_, limit);
}

// Scans over Arrow Flight have a limit here: without one an object may have several endpoints.
class UnreadFlightTest : public UnreadScanTest {
 protected:
  std::unique_ptr<grpc::ClientReader<arrow::flight::protocol::FlightData>> Get(
      grpc::ClientContext* context, uint64_t limit) {
    arrow::flight::protocol::FlightDescriptor descriptor;
    descriptor.set_type(arrow::flight::protocol::FlightDescriptor::CMD);
    descriptor.set_cmd(R"({"object": "orders", "limit": )" + std::to_string(limit) + "}");
    arrow::flight::protocol::FlightInfo info;
    grpc::ClientContext info_context;
    const grpc::Status status = flights_->GetFlightInfo(&info_context, descriptor, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return flights_->DoGet(context, info.endpoint(0).ticket());
  }
  // The bytes of columns of what has not been read.
  static uint64_t ReadBytes(grpc::ClientReader<arrow::flight::protocol::FlightData>& reader) {
    uint64_t bytes = 0;
    arrow::flight::protocol::FlightData message;
    while (reader.Read(&message)) bytes += message.data_body().size();
    const grpc::Status status = reader.Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return bytes;
  }

  const std::unique_ptr<arrow::flight::protocol::FlightService::Stub> flights_ =
      arrow::flight::protocol::FlightService::NewStub(channel);
};

TEST_F(UnreadFlightTest, LastChunkNeedsNoScan) {
  const uint64_t limit = engine.rows_per_chunk;
  grpc::ClientContext context;
  const auto reader = Get(&context, limit);
  EXPECT_TRUE(AwaitScanOf(limit));
  EXPECT_TRUE(AwaitOneCall());
  EXPECT_GE(ReadBytes(*reader), limit * 2 * sizeof(uint64_t));
}

TEST_F(UnreadFlightTest, ScanGivesItsChunksBackAndGoesOnFromItsPlace) {
  const uint64_t limit = 3 * engine.rows_per_chunk;
  grpc::ClientContext read_context;
  const uint64_t bytes = ReadBytes(*Get(&read_context, limit));
  grpc::ClientContext context;
  const auto reader = Get(&context, limit);
  arrow::flight::protocol::FlightData message;
  ASSERT_TRUE(reader->Read(&message));  // the schema
  ASSERT_TRUE(reader->Read(&message));
  EXPECT_TRUE(AwaitScanOf(limit));
  EXPECT_EQ(message.data_body().size() + ReadBytes(*reader), bytes);
}

class UnreadGroupsTest : public UnreadScanTest {
 protected:
  UnreadGroupsTest() {
    EXPECT_TRUE(
        engine.Create("facts", {.kind = ObjectKind::kTable, .schema = KeyValueSchema()}).ok());
    for (uint64_t first = 0; first < kRows; first += 20'000) {
      std::vector<uint64_t> keys(20'000);
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = first + i;
      v1::WriteRequest request = UpsertOf(keys, keys);
      request.set_object("facts");
      EXPECT_TRUE(Write(request).ok());
    }
    request_.set_object("facts");
    request_.mutable_query()->add_group_by("key");
    v1::AggregateColumn* const count = request_.mutable_query()->add_aggregates();
    count->set_function(v1::AggregateColumn::FUNCTION_COUNT);
    count->set_name("n");
  }
};

TEST_F(UnreadGroupsTest, ScanOfGroupsKeepsItsChunksWithinItsClientsShare) {
  ClientShares& unread = server->state().unread_groups;
  ASSERT_EQ(unread.max(), 2u);  // the fake engine has no plan of its memory
  grpc::ClientContext first_context;
  const auto first = data->Scan(&first_context, request_);
  EXPECT_TRUE(FakeEngine::Await([&] { return unread.held() == 1; }));
  EXPECT_EQ(engine.scans_open(), 1);

  grpc::ClientContext second_context;
  const auto second = data->Scan(&second_context, request_);
  v1::ScanResponse chunk;
  EXPECT_TRUE(second->Read(&chunk));
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.scans_open() == 1; }));
  while (second->Read(&chunk)) {
  }
  const grpc::Status refused = second->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "SCAN_CHUNKS") << refused.error_message();

  const grpc::Status status = ReadRest(*first);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(next_, kRows);
  EXPECT_EQ(unread.held(), 0u);
}

class ManyUnreadScansTest : public UnreadScanTest {
 protected:
  static ServerConfig Sixteen() {
    ServerConfig config;
    config.in_flight_bytes_max = 16 << 20;
    return config;
  }
  ManyUnreadScansTest() : UnreadScanTest(Sixteen()) {}
};

// Their messages are made and not read, so they hold a part of the budget for as long as the client
// likes.
TEST_F(ManyUnreadScansTest, NoClientTakesTheBudgetWithUnreadScans) {
  struct Unread {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::ScanResponse>> reader;
  };
  std::vector<std::unique_ptr<Unread>> scans;
  grpc::Status refused;
  while (refused.ok() && scans.size() < 8) {
    auto& one = *scans.emplace_back(std::make_unique<Unread>());
    one.reader = data->Scan(&one.context, request_);
    v1::ScanResponse chunk;
    if (!one.reader->Read(&chunk)) refused = one.reader->Finish();
  }
  EXPECT_EQ(scans.size(), 4u);  // 2 MiB each, of 12 MiB for all
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "IN_FLIGHT_BYTES") << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("no client gets more than are left"));
  EXPECT_LT(server->state().budget.used(), config.in_flight_bytes_max / 2);
  // Another client, which the test has no address for; and small calls of this one.
  EXPECT_TRUE(TakeAnswerShare(server->state(), "ipv4:10.0.0.7", 2 << 20).ok());
  EXPECT_TRUE(Lookup(LookupOf({1, 2, 3})).ok());
  // A large call needs a share, too.
  EXPECT_EQ(ReasonOf(Lookup(LookupOf(std::vector<uint64_t>(200'000, 1)))), "IN_FLIGHT_BYTES");
  scans.pop_back();
  for (const auto& scan : scans) scan->context.TryCancel();
  for (const auto& scan : scans) (void)ReadRest(*scan->reader);
  EXPECT_TRUE(FakeEngine::Await([&] { return server->state().answers.held() == 0; }));
  EXPECT_TRUE(Lookup(LookupOf(std::vector<uint64_t>(200'000, 1))).ok());
}

class ManyStreamsTest : public OverloadTest {
 protected:
  struct Stream {
    grpc::ClientContext context{};
    std::unique_ptr<grpc::ClientReaderWriter<v1::LookupRequest, v1::LookupStreamResponse>> calls{};
  };
  // A stream whose first request has been sent.
  std::unique_ptr<Stream> OpenStream() {
    auto stream = std::make_unique<Stream>();
    stream->calls = data->LookupStream(&stream->context);
    (void)stream->calls->Write(LookupOf({1}));
    return stream;
  }
  static bool Answers(Stream& stream) {
    v1::LookupStreamResponse response;
    return stream.calls->Read(&response);
  }
};

TEST_F(ManyStreamsTest, NoClientTakesTheBudgetWithIdleStreams) {
  ClientShares& shares = server->state().streams;
  std::vector<std::unique_ptr<Stream>> idle;
  while (idle.size() < shares.max() / 2) {
    idle.push_back(OpenStream());
    ASSERT_TRUE(Answers(*idle.back()));
  }
  EXPECT_LT(server->state().budget.used(), config.in_flight_bytes_max / 2);
  const std::unique_ptr<Stream> beyond = OpenStream();
  EXPECT_FALSE(Answers(*beyond));
  const grpc::Status status = beyond->calls->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "IN_FLIGHT_BYTES") << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("no client gets more than are left"));
  // Another client, which the test has no address for.
  EXPECT_TRUE(shares.TryTake("ipv4:10.0.0.7"));
  // A stream that has ended makes room.
  idle.back()->calls->WritesDone();
  EXPECT_TRUE(idle.back()->calls->Finish().ok());
  idle.pop_back();
  EXPECT_TRUE(FakeEngine::Await([&] { return shares.held() == idle.size(); }));
  idle.push_back(OpenStream());
  EXPECT_TRUE(Answers(*idle.back()));
  for (const auto& stream : idle) {
    stream->calls->WritesDone();
    EXPECT_TRUE(stream->calls->Finish().ok());
  }
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
