// Calls of Arrow Flight over real gRPC with a fake engine, which counts snapshots and blocks: what
// is held, and what waits for what.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arrow/flight.grpc.pb.h"
#include "gtest/gtest.h"
#include "server/guard/snapshot_leases.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

namespace protocol = ::arrow::flight::protocol;
using std::chrono::milliseconds;

class FlightCallsTest : public RpcTest {
 protected:
  explicit FlightCallsTest(ServerConfig config_in = {}) : RpcTest(std::move(config_in)) {
    flights_ = protocol::FlightService::NewStub(channel);
    WriteRows(10);
  }

  void WriteRows(uint64_t rows) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < rows; ++i) keys.push_back(i);
    EXPECT_TRUE(Write(UpsertOf(keys, keys)).ok());
  }
  // With a snapshot: the fake engine has no shares, but a limit has one endpoint.
  protocol::FlightInfo SharedInfo() {
    protocol::FlightDescriptor descriptor;
    descriptor.set_type(protocol::FlightDescriptor::CMD);
    descriptor.set_cmd(R"({"object": "orders", "shares": 1, "limit": 10})");
    protocol::FlightInfo info;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    const grpc::Status status = flights_->GetFlightInfo(&context, descriptor, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return info;
  }
  grpc::Status Get(const protocol::FlightInfo& info) {
    grpc::ClientContext context;
    auto reader = flights_->DoGet(&context, info.endpoint(0).ticket());
    protocol::FlightData message;
    while (reader->Read(&message)) {
    }
    return reader->Finish();
  }
  bool AwaitSnapshots(int snapshots) {
    return FakeEngine::Await([&] { return engine.snapshots_held() == snapshots; });
  }

  std::unique_ptr<protocol::FlightService::Stub> flights_;
};

TEST_F(FlightCallsTest, SnapshotIsHeldUntilASecondAfterItsTicketWasRead) {
  const protocol::FlightInfo info = SharedInfo();
  EXPECT_EQ(engine.snapshots_held(), 1);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(Get(info).ok());
  EXPECT_TRUE(Get(info).ok());  // once more
  EXPECT_TRUE(AwaitSnapshots(0));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, SnapshotLeases::kReadOutTimeToLive);
  EXPECT_EQ(Get(info).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(FlightCallsTest, ATicketThatWasReadInPartKeepsItsSnapshot) {
  const protocol::FlightInfo info = SharedInfo();
  engine.Hold();
  {
    grpc::ClientContext context;
    auto reader = flights_->DoGet(&context, info.endpoint(0).ticket());
    protocol::FlightData message;
    ASSERT_TRUE(reader->Read(&message));  // the schema
    context.TryCancel();
    (void)reader->Finish();
  }
  engine.Release();
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.scans_open() == 0; }));
  std::this_thread::sleep_for(SnapshotLeases::kReadOutTimeToLive + milliseconds(300));
  EXPECT_EQ(engine.snapshots_held(), 1);
  EXPECT_TRUE(Get(info).ok());
}

TEST_F(FlightCallsTest, InfosWithoutReadersHoldFewSnapshots) {
  for (size_t i = 0; i < SnapshotLeases::kTakenMax + 10; ++i) (void)SharedInfo();
  EXPECT_EQ(engine.snapshots_held(), static_cast<int>(SnapshotLeases::kTicketsMax));
}

class ShortFlightCallsTest : public FlightCallsTest {
 protected:
  static ServerConfig Short() {
    ServerConfig config;
    config.flight_snapshot_ms = 1000;
    return config;
  }
  ShortFlightCallsTest() : FlightCallsTest(Short()) {}
};

TEST_F(ShortFlightCallsTest, SnapshotsThatNobodyReadsComeBack) {
  for (int i = 0; i < 5; ++i) (void)SharedInfo();
  EXPECT_EQ(engine.snapshots_held(), 5);
  EXPECT_TRUE(AwaitSnapshots(0));
}

// An operator's call that takes long has the control thread to itself.
TEST_F(FlightCallsTest, PlansDoNotWaitForTheControlThread) {
  engine.HoldVerifying(true);
  std::thread verify([&] {
    grpc::ClientContext context;
    v1::VerifyMemoryResponse response;
    EXPECT_TRUE(admin->VerifyMemory(&context, {}, &response).ok());
  });
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.verifying() == 1; }));
  EXPECT_TRUE(Get(SharedInfo()).ok());
  grpc::ClientContext list_context;
  list_context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  auto list = flights_->ListFlights(&list_context, {});
  protocol::FlightInfo info;
  EXPECT_TRUE(list->Read(&info));
  EXPECT_FALSE(list->Read(&info));
  EXPECT_TRUE(list->Finish().ok());
  EXPECT_EQ(engine.verifying(), 1);
  engine.HoldVerifying(false);
  verify.join();
}

}  // namespace
}  // namespace eris::server
