// Connections at the door of a real server: which ones it accepts, closes or refuses, and why.
#include "server/door/door.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/door/descriptors.h"
#include "tests/unit/server/raw_client.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

std::string Header(const std::string& name, const std::string& value) {
  return absl::StrCat(std::string(1, '\0'), std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}
std::string RequestHeaders() {
  return Header(":method", "POST") + Header(":scheme", "http") +
         Header(":path", "/eris.v1.Data/Lookup") + Header(":authority", "x") +
         Header("content-type", "application/grpc") + Header("te", "trailers");
}

class DoorTest : public RpcTest {
 protected:
  explicit DoorTest(ServerConfig config_in = {}) : RpcTest(std::move(config_in)) {}

  testing::AssertionResult Answers() {
    const grpc::Status status = Lookup(LookupOf({1}));
    if (status.ok()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << status.error_code() << ": " << status.error_message();
  }
  uint64_t closed(DoorCause cause) const { return server->ReadDoor().closed_for(cause); }
  bool AwaitOpen(uint64_t open) {
    return FakeEngine::Await([&] { return server->ReadDoor().open == open; });
  }
  bool AwaitClosed(DoorCause cause, uint64_t count) {
    return FakeEngine::Await([&] { return closed(cause) >= count; });
  }
};

TEST_F(DoorTest, StormOfDroppedConnectionsLeavesNothing) {
  ASSERT_TRUE(Answers());
  const uint64_t before = server->ReadDoor().open;
  for (int i = 0; i < 2000; ++i) {
    RawClient client;
    ASSERT_TRUE(client.Connect(server->address())) << i;
    client.Drop();
  }
  EXPECT_TRUE(AwaitOpen(before));
  data = v1::Data::NewStub(NewChannel());
  EXPECT_TRUE(Answers());
}

TEST_F(DoorTest, EndlessHeadersAreCut) {
  ASSERT_TRUE(Answers());
  RawClient client;
  ASSERT_TRUE(client.Connect(server->address()) && client.Begin());
  client.Send(Frame(1, 0, 1, RequestHeaders()));
  std::string more;
  while (more.size() < 15'000) more += Header("x-a", std::string(100, 'b'));
  const std::string frame = Frame(9, 0, 1, more);
  uint64_t sent = 0;
  while (sent < 1u << 30 && client.Send(frame)) sent += frame.size();
  EXPECT_LT(sent, 1u << 30);
  EXPECT_EQ(closed(DoorCause::kUnusedBytes), 1u);
  EXPECT_TRUE(Answers());
}

TEST_F(DoorTest, CallsThatAreResetAreCut) {
  ASSERT_TRUE(Answers());
  RawClient client;
  ASSERT_TRUE(client.Connect(server->address()) && client.Begin());
  uint32_t stream = 1;
  const std::string headers = RequestHeaders();
  bool open = true;
  while (open && stream < 2'000'000) {
    std::string frames;
    for (int i = 0; i < 100; ++i, stream += 2) {
      frames += Frame(1, 4, stream, headers) + Frame(3, 0, stream, std::string("\0\0\0\10", 4));
    }
    open = client.Send(frames);
  }
  EXPECT_FALSE(open);
  EXPECT_EQ(closed(DoorCause::kCancelledCalls), 1u);
  // Its last calls may still be inside, so that the gate refuses others for a moment.
  EXPECT_TRUE(FakeEngine::Await([&] { return bool{Answers()}; }));
}

// A message that comes in pieces over a second, with pauses in which nothing else comes.
TEST_F(DoorTest, SlowLargeUploadIsAnswered) {
  std::vector<uint64_t> keys(500'000);
  v1::LookupResponse response;
  const grpc::Status status = Lookup(LookupOf(keys), &response);
  EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(closed(DoorCause::kUnusedBytes), 0u);
}

TEST_F(DoorTest, CompressedRequestsAreRefused) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::LookupResponse response;
  const grpc::Status status =
      data->Lookup(&context, LookupOf(std::vector<uint64_t>(1000)), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
}

class FewConnectionsTest : public DoorTest {
 protected:
  FewConnectionsTest() : DoorTest(Few()) {}
  static ServerConfig Few() {
    ServerConfig config;
    config.connections_max = 4;
    config.connections_per_address_max = 3;
    return config;
  }
};

TEST_F(FewConnectionsTest, OneAddressHasItsShare) {
  ASSERT_TRUE(Answers());
  std::vector<RawClient> clients(3);
  ASSERT_TRUE(clients[0].Connect(server->address()) && clients[1].Connect(server->address()));
  ASSERT_TRUE(AwaitOpen(3));
  ASSERT_TRUE(clients[2].Connect(server->address()));
  EXPECT_TRUE(clients[2].IsClosed());
  EXPECT_EQ(closed(DoorCause::kAddress), 1u);
  EXPECT_TRUE(Answers());
}

class ShortPatienceTest : public DoorTest {
 protected:
  ShortPatienceTest() : DoorTest(Short()) {}
  static ServerConfig Short() {
    ServerConfig config;
    config.first_call_ms_max = 2000;
    config.handshake_ms_max = 1000;
    return config;
  }
};

TEST_F(ShortPatienceTest, SilentAndIdleConnectionsAreClosed) {
  ASSERT_TRUE(Answers());
  const RawClient silent, idle;
  ASSERT_TRUE(silent.Connect(server->address()));
  ASSERT_TRUE(idle.Connect(server->address()) && idle.Begin());
  EXPECT_TRUE(silent.IsClosed()) << "handshake_ms_max";
  EXPECT_TRUE(idle.IsClosed()) << "first_call_ms_max";
  EXPECT_TRUE(AwaitClosed(DoorCause::kNoCall, 1));
  EXPECT_TRUE(AwaitOpen(1));
  EXPECT_TRUE(Answers()) << "a connection that has had a call stays";
}

class SharedConnectionsTest : public DoorTest {
 protected:
  SharedConnectionsTest() : DoorTest(Shared()) {}
  static ServerConfig Shared() {
    ServerConfig config;
    config.connections_max = 4;
    return config;
  }
};

TEST_F(SharedConnectionsTest, AddressesThatHoldManyLeaveSomeToOthers) {
  ASSERT_TRUE(Answers());  // from 127.0.0.1
  std::vector<RawClient> clients(5);
  ASSERT_TRUE(clients[0].Connect(server->address()));
  ASSERT_TRUE(AwaitOpen(2));
  ASSERT_TRUE(clients[1].Connect(server->address()));
  EXPECT_TRUE(clients[1].IsClosed());
  EXPECT_EQ(closed(DoorCause::kAddress), 1u);
  ASSERT_TRUE(clients[2].ComeFrom(2) && clients[2].Connect(server->address()));
  ASSERT_TRUE(AwaitOpen(3));
  ASSERT_TRUE(clients[3].ComeFrom(2) && clients[3].Connect(server->address()));
  EXPECT_TRUE(clients[3].IsClosed());
  EXPECT_EQ(closed(DoorCause::kAddress), 2u);
  ASSERT_TRUE(clients[4].ComeFrom(3) && clients[4].Connect(server->address()));
  EXPECT_TRUE(AwaitOpen(4));
  EXPECT_EQ(closed(DoorCause::kConnections), 0u);
}

TEST(DoorAddressTest, ServesEachOfSeveralAndRemovesItsSocketFile) {
  const std::string path = absl::StrCat(testing::TempDir(), "/eris_door_", getpid());
  IoThread io_thread;
  FakeEngine engine;
  ASSERT_TRUE(engine.Create("orders", {}).ok());
  ServerConfig config;
  config.listen = absl::StrCat("127.0.0.1:0, unix:", path, ",127.0.0.1:0");
  config.unix_mode = "0620";
  auto server = RpcServer::Start(config, &engine, io_thread.io());
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_EQ((*server)->addresses().size(), 3u);
  for (const std::string& address : (*server)->addresses()) {
    auto stub = v1::Data::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::LookupResponse response;
    v1::LookupRequest request;
    request.set_object("orders");
    const grpc::Status status = stub->Lookup(&context, request, &response);
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE) << address;
  }
  struct stat file = {};
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0620u);
  (*server).reset();
  EXPECT_NE(stat(path.c_str(), &file), 0);
}

// Limits that gRPC itself has for connections of its listener hold for those of the door, too.
TEST(DoorAddressTest, IdleAndOldConnectionsAreClosed) {
  for (uint32_t ServerConfig::*limit :
       {&ServerConfig::connection_idle_ms_max, &ServerConfig::connection_age_ms_max}) {
    IoThread io_thread;
    FakeEngine engine;
    ServerConfig config;
    config.listen = "127.0.0.1:0";
    config.first_call_ms_max = 0;
    config.connection_idle_ms_max = 0;
    config.call_ms_max = 1000;  // so long an old connection may stay that ignores its farewell
    config.*limit = 1000;
    auto server = RpcServer::Start(config, &engine, io_thread.io());
    ASSERT_TRUE(server.ok()) << server.status();
    const RawClient client;
    ASSERT_TRUE(client.Connect((*server)->address()) && client.Begin());
    EXPECT_TRUE(client.IsClosed());
  }
}

// Where the system counts no bytes, gRPC's counts are looked at.
TEST(DoorAddressTest, CallsThatAreResetAreCutOnAUnixSocket) {
  IoThread io_thread;
  FakeEngine engine;
  ServerConfig config;
  config.listen = absl::StrCat("unix:", testing::TempDir(), "/eris_resets_", getpid());
  auto server = RpcServer::Start(config, &engine, io_thread.io());
  ASSERT_TRUE(server.ok()) << server.status();
  RawClient client(AF_UNIX);
  ASSERT_TRUE(client.Connect((*server)->address()) && client.Begin());
  const std::string headers = RequestHeaders();
  bool open = true;
  for (uint32_t stream = 1; open && stream < 2'000'000; stream += 2) {
    open = client.Send(Frame(1, 4, stream, headers) +
                       Frame(3, 0, stream, std::string("\0\0\0\10", 4)));
  }
  EXPECT_FALSE(open);
  EXPECT_EQ((*server)->ReadDoor().closed_for(DoorCause::kCancelledCalls), 1u);
}

TEST(DescriptorsTest, ConnectionsFitBelowTheLimit) {
  EXPECT_EQ(ConnectionsWithin(1024, 40), 444u);
  EXPECT_EQ(ConnectionsWithin(1'048'576, 40), 524'220u);
  EXPECT_EQ(ConnectionsWithin(100, 40), 1u);
}

}  // namespace
}  // namespace eris::server
