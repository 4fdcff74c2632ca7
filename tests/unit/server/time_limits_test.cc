// The server's own limits of time: calls whose AEU is held back, and clients that do not read.
#include <future>
#include <thread>

#include "eris/types.h"
#include "gmock/gmock.h"
#include "server/metrics/refusals.h"
#include "server/state/server_state.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

ServerConfig ShortCalls() {
  ServerConfig config;
  config.call_ms_max = 50;
  return config;
}

class CallLimitTest : public RpcTest {
 protected:
  CallLimitTest() : RpcTest(ShortCalls()) {}
};

TEST_F(CallLimitTest, CallWithoutADeadlineEndsAtTheServersLimit) {
  engine.Hold();
  const grpc::Status read = Lookup(LookupOf({1}));
  EXPECT_EQ(read.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(read.error_message(), "the call took longer than server.call_ms_max, 50 ms");
  for (const grpc::Status& write : {Write(UpsertOf({1}, {1})), Write(EraseOf({1}))}) {
    EXPECT_EQ(write.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_THAT(write.error_message(), HasSubstr("50 ms: the outcome is unknown"));
  }
  EXPECT_TRUE(engine.AwaitHeld(0));  // the engine has been told
  engine.Release();
  EXPECT_TRUE(Lookup(LookupOf({1})).ok());
}

TEST_F(CallLimitTest, RequestOfAStreamEndsAtTheServersLimitAndTheStreamGoesOn) {
  Load(10);
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  v1::LookupStreamResponse response;
  for (int round = 0; round < 2; ++round) {
    engine.Hold();
    ASSERT_TRUE(stream->Write(LookupOf({10})));
    ASSERT_TRUE(stream->Write(LookupOf({20})));
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(stream->Read(&response));
      EXPECT_EQ(response.status().code(), grpc::StatusCode::DEADLINE_EXCEEDED);
      EXPECT_THAT(response.status().message(), HasSubstr("server.call_ms_max, 50 ms"));
    }
    EXPECT_TRUE(engine.AwaitHeld(0));
    engine.Release();
    ASSERT_TRUE(stream->Write(LookupOf({10})));
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status().code(), 0);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(CallLimitTest, RefusedWriteOfAStreamSaysThatTheOutcomeIsUnknown) {
  engine.Hold();
  grpc::ClientContext context;
  auto stream = data->WriteStream(&context);
  ASSERT_TRUE(stream->Write(UpsertOf({1}, {1})));
  v1::WriteStreamResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status().code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(response.status().message(), HasSubstr("the outcome is unknown"));
  engine.Release();
}

ServerConfig ImpatientServer() {
  ServerConfig config;
  config.stall_ms_max = 100;
  config.in_flight_bytes_max = 26 << 20;
  config.receive_message_bytes_max = 26 << 20;
  return config;
}

class StallLimitTest : public RpcTest {
 protected:
  StallLimitTest() : RpcTest(ImpatientServer()) {
    // A window that does not grow with what the connection has carried before.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    data = v1::Data::NewStub(grpc::CreateCustomChannel(
        server->address(), grpc::InsecureChannelCredentials(), arguments));
  }

  // A call that needs more of the budget than the call under test leaves: served as soon as that
  // one has given its bytes back.
  bool BytesAreBack() {
    const v1::LookupRequest large = LookupOf(std::vector<uint64_t>(kBatchKeysMax, 1));
    return FakeEngine::Await([&] { return Lookup(large).ok(); });
  }
  static void ExpectStalled(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(),
              "the client has not read its answer for server.stall_ms_max, 100 ms");
  }
};

TEST_F(StallLimitTest, ScanThatIsNotReadEndsAndGivesEverythingBack) {
  engine.rows_per_chunk = 32768;
  Load(400'000);
  // Writes that are answered are watched until they have gone.
  ASSERT_TRUE(FakeEngine::Await([&] { return server->state().gate.inside() == 0; }));
  const uint64_t cut_before = Refusals::OfProcess().Read()["ANSWER_UNREAD"];
  grpc::ClientContext context;
  v1::ScanRequest request;
  request.set_object("orders");
  auto reader = data->Scan(&context, request);
  v1::ScanResponse chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  // The last step's chunk goes when its callback returns, which may be after the call's end.
  EXPECT_TRUE(
      FakeEngine::Await([&] { return engine.scans_open() == 0 && engine.chunks_out() == 0; }));
  while (reader->Read(&chunk)) {
  }
  ExpectStalled(reader->Finish());
  EXPECT_EQ(Refusals::OfProcess().Read()["ANSWER_UNREAD"], cut_before + 1) << "it is not counted";
}

TEST_F(StallLimitTest, StreamWhoseAnswersAreNotReadEndsAndGivesItsBytesBack) {
  const std::vector<uint64_t> keys(300'000, 1);
  engine.Hold();
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(stream->Write(LookupOf(keys)));
  EXPECT_TRUE(engine.AwaitHeld(2));
  engine.Release();
  EXPECT_TRUE(BytesAreBack());
  v1::LookupStreamResponse response;
  while (stream->Read(&response)) {
  }
  ExpectStalled(stream->Finish());
}

TEST_F(StallLimitTest, UnaryAnswerThatIsNotReadEndsAndGivesItsBytesBack) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  auto reader =
      data->PrepareAsyncLookup(&context, LookupOf(std::vector<uint64_t>(700'000, 1)), &queue);
  reader->StartCall();
  void* tag = nullptr;
  bool ok = false;
  reader->ReadInitialMetadata(&tag);  // sends the request; the server has answered when it comes
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_TRUE(BytesAreBack());
  v1::LookupResponse response;
  grpc::Status status;
  reader->Finish(&response, &status, &tag);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ExpectStalled(status);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

TEST_F(StallLimitTest, StalledScanDoesNotHoldTheDrainUp) {
  engine.rows_per_chunk = 32768;
  Load(400'000);
  grpc::ClientContext context;
  v1::ScanRequest request;
  request.set_object("orders");
  auto reader = data->Scan(&context, request);
  v1::ScanResponse chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  std::promise<void> empty;
  server->BeginDrain([&] { empty.set_value(); });
  EXPECT_EQ(empty.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(engine.scans_open(), 0);
}

TEST_F(StallLimitTest, ClientThatReadsSlowlyButReadsKeepsItsScan) {
  engine.rows_per_chunk = 32768;
  Load(200'000);
  v1::ScanRequest request;
  request.set_object("orders");
  grpc::ClientContext context;
  auto reader = data->Scan(&context, request);
  v1::ScanResponse chunk;
  uint64_t rows = 0;
  while (reader->Read(&chunk)) {
    rows += chunk.rows();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(rows, 200'000u);
}

}  // namespace
}  // namespace eris::server
