// Listening, health, reflection and the drain.
#include "server/rpc_server.h"

#include <google/protobuf/descriptor.h>
#include <grpc/grpc.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/state/server_state.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RpcServerTest : public RpcTest {
 protected:
  // Calls health's Check, which has no stub in the packages.
  std::pair<grpc::Status, int> Check(const std::string& service) {
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    grpc::ClientContext context;
    const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check",
                                           grpc::internal::RpcMethod::NORMAL_RPC, channel);
    const grpc::Status status =
        grpc::internal::BlockingUnaryCall(channel.get(), method, &context, request, &response);
    return {status, response.status()};
  }

  // Waits for the drain's end; false after ten seconds.
  static bool Ends(std::future<void>& empty) {
    return empty.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  }
  std::future<void> BeginDrain() {
    auto promise = std::make_shared<std::promise<void>>();
    server->BeginDrain([promise] { promise->set_value(); });
    return promise->get_future();
  }
};

TEST_F(RpcServerTest, HealthKnowsEveryService) {
  for (const char* service : {"", "eris.v1.Data", "eris.v1.Queries", "eris.v1.Catalog",
                              "eris.v1.Admin", "arrow.flight.protocol.FlightService"}) {
    const auto [status, serving] = Check(service);
    EXPECT_TRUE(status.ok()) << service << ": " << status.error_message();
    EXPECT_EQ(serving, grpc::health::v1::HealthCheckResponse::SERVING) << service;
  }
  EXPECT_EQ(Check("eris.v1.Nothing").first.error_code(), grpc::StatusCode::NOT_FOUND);
}

// An open Watch, cancelled in the destructor.
class HealthWatcher {
 public:
  explicit HealthWatcher(const std::shared_ptr<grpc::Channel>& channel)
      : reader_(grpc::health::v1::Health::NewStub(channel)->Watch(&context_, {})) {}
  ~HealthWatcher() {
    context_.TryCancel();
    reader_->Finish();
  }
  bool Serving() {
    grpc::health::v1::HealthCheckResponse response;
    return reader_->Read(&response) &&
           response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReader<grpc::health::v1::HealthCheckResponse>> reader_;
};
grpc::Status StatusOfWatch(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  const auto reader = grpc::health::v1::Health::NewStub(channel)->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  if (reader->Read(&response)) context.TryCancel();  // not refused: it would never end
  return reader->Finish();
}

TEST_F(RpcServerTest, ClientHasItsShareOfHealthWatches) {
  ClientShares& shares = server->state().health_watches;
  std::vector<ClientShares::Hold> holds;
  for (;;) {
    ClientShares::Hold hold = shares.TryTake("ipv4:127.0.0.1");
    if (!hold) break;
    holds.push_back(std::move(hold));
  }
  EXPECT_EQ(holds.size(), ServerState::kHealthWatchesMax / 2);
  const grpc::Status refused = StatusOfWatch(channel);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("health watches"));
  EXPECT_EQ(Check("").first.error_code(), grpc::StatusCode::OK) << "other calls have no limit";
  holds.pop_back();
  {
    HealthWatcher watcher(channel);
    EXPECT_TRUE(watcher.Serving());
    EXPECT_EQ(StatusOfWatch(channel).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_TRUE(FakeEngine::Await([&] { return shares.held() == holds.size(); }));
  HealthWatcher next(channel);
  EXPECT_TRUE(next.Serving());
}

TEST_F(RpcServerTest, DescriptorsForReflectionAreInTheBinary) {
  for (const char* service : {"eris.v1.Data", "eris.v1.Queries", "eris.v1.Catalog", "eris.v1.Admin",
                              "arrow.flight.protocol.FlightService", "grpc.health.v1.Health"}) {
    EXPECT_NE(google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service),
              nullptr)
        << service;
  }
}

TEST_F(RpcServerTest, SecondServerOnThePortIsRefusedWithTheReason) {
  ServerConfig second = config;
  second.listen = server->address();
  const auto started = RpcServer::Start(second, &engine, io_thread.io());
  ASSERT_EQ(started.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(started.status().message()), HasSubstr(server->address()));
  EXPECT_THAT(std::string(started.status().message()), HasSubstr("Address already in use"));
}

TEST_F(RpcServerTest, UnknownAddressIsRefusedWithTheReason) {
  ServerConfig second = config;
  second.security.open = true;
  for (const char* listen : {"192.0.2.1:7411", "no.such.host.invalid:1"}) {
    second.listen = listen;
    const auto started = RpcServer::Start(second, &engine, io_thread.io());
    ASSERT_EQ(started.status().code(), absl::StatusCode::kUnavailable) << listen;
    EXPECT_THAT(std::string(started.status().message()), HasSubstr(listen));
    EXPECT_THAT(std::string(started.status().message()), Not(HasSubstr("{"))) << "of gRPC";
  }
}

TEST_F(RpcServerTest, UnixSocketServesAndASecondServerOnItIsRefused) {
  ServerConfig on_unix = config;
  on_unix.listen = absl::StrCat("unix:", testing::TempDir(), "/eris_", getpid());
  auto first = RpcServer::Start(on_unix, &engine, io_thread.io());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->address(), on_unix.listen);
  const auto second = RpcServer::Start(on_unix, &engine, io_thread.io());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  auto stub =
      v1::Data::NewStub(grpc::CreateChannel(on_unix.listen, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::LookupResponse response;
  EXPECT_TRUE(stub->Lookup(&context, LookupOf({1}), &response).ok());
}

// Its shutdown may sleep for ten seconds, which a stopping server has no time for.
TEST_F(RpcServerTest, LibraryStaysUpWhenItsLastUserIsGone) {
  data.reset();
  catalog.reset();
  admin.reset();
  channel.reset();
  server.reset();
  EXPECT_NE(grpc_is_initialized(), 0);
}

TEST_F(RpcServerTest, DrainAnswersWhatIsUnderWayAndRefusesTheRest) {
  engine.Hold();
  std::thread client([&] { EXPECT_TRUE(Lookup(LookupOf({1})).ok()); });
  ASSERT_TRUE(engine.AwaitHeld(1));
  auto empty = BeginDrain();
  const grpc::Status refused = Lookup(LookupOf({1}));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("stopping"));
  grpc::ClientContext context;
  v1::ListObjectsResponse listed;
  EXPECT_EQ(catalog->ListObjects(&context, {}, &listed).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Check("").second, grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("eris.v1.Data").second, grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  engine.Release();
  client.join();
  EXPECT_TRUE(Ends(empty));
}

TEST_F(RpcServerTest, DrainEndsAStreamAfterItsAnswers) {
  engine.Hold();
  grpc::ClientContext context;
  auto stream = data->LookupStream(&context);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(LookupOf({1})));
  ASSERT_TRUE(engine.AwaitHeld(3));
  auto empty = BeginDrain();
  engine.Release();
  v1::LookupStreamResponse response;
  int answers = 0;
  while (stream->Read(&response)) ++answers;
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Ends(empty));
}

TEST_F(RpcServerTest, DrainEndsAnIdleStream) {
  grpc::ClientContext context;
  auto stream = data->WriteStream(&context);
  ASSERT_TRUE(stream->Write(UpsertOf({1}, {1})));
  v1::WriteStreamResponse response;
  ASSERT_TRUE(stream->Read(&response));
  auto empty = BeginDrain();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Ends(empty));
}

TEST_F(RpcServerTest, CallsThatTakeTooLongEndWithUnavailable) {
  Load(10);
  engine.Hold();
  std::thread unary(
      [&] { EXPECT_EQ(Lookup(LookupOf({1})).error_code(), grpc::StatusCode::UNAVAILABLE); });
  grpc::ClientContext stream_context, scan_context;
  auto stream = data->LookupStream(&stream_context);
  ASSERT_TRUE(stream->Write(LookupOf({1})));
  v1::ScanRequest request;
  request.set_object("orders");
  auto scan = data->Scan(&scan_context, request);
  ASSERT_TRUE(engine.AwaitHeld(3));
  auto empty = BeginDrain();
  server->EndCalls();
  unary.join();
  v1::LookupStreamResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  v1::ScanResponse chunk;
  EXPECT_FALSE(scan->Read(&chunk));
  EXPECT_EQ(scan->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Ends(empty));
  EXPECT_TRUE(engine.AwaitHeld(0));
}

TEST_F(RpcServerTest, EveryCallOfALoadIsAnsweredOrUnavailable) {
  constexpr int kClients = 8;
  std::atomic<int> answered{0}, unavailable{0}, other{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&] {
      auto stub = v1::Data::NewStub(NewChannel());
      while (!stop.load()) {
        grpc::ClientContext context;
        v1::LookupResponse response;
        const grpc::Status status = stub->Lookup(&context, LookupOf({1, 2, 3}), &response);
        if (status.ok()) {
          answered.fetch_add(1);
        } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
          unavailable.fetch_add(1);
        } else {
          other.fetch_add(1);
          ADD_FAILURE() << status.error_code() << ": " << status.error_message();
        }
      }
    });
  }
  ASSERT_TRUE(FakeEngine::Await([&] { return answered.load() >= 500; }));
  auto empty = BeginDrain();
  EXPECT_TRUE(Ends(empty));
  server->Shutdown(absl::Milliseconds(500));
  const int before = unavailable.load();
  ASSERT_TRUE(FakeEngine::Await([&] { return unavailable.load() > before + kClients; }));
  stop.store(true);
  for (std::thread& client : clients) client.join();
  EXPECT_GE(answered.load(), 500);
  EXPECT_EQ(other.load(), 0);
}

}  // namespace
}  // namespace eris::server
