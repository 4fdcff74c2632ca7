// Connections at the door of a real server: who gets in, who is closed and why.
#include "server/door/door.h"
#include "server/log/log.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/door/descriptors.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Frame(char type, char flags, uint32_t stream, const std::string& payload) {
  const size_t n = payload.size();
  std::string frame = {static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n),
                       type, flags};
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(stream >> shift);
  return frame + payload;
}
std::string Header(const std::string& name, const std::string& value) {
  return absl::StrCat(std::string(1, '\0'), std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}
std::string RequestHeaders() {
  return Header(":method", "POST") + Header(":scheme", "http") +
         Header(":path", "/eris.v1.Data/Lookup") + Header(":authority", "x") +
         Header("content-type", "application/grpc") + Header("te", "trailers");
}

// A raw connection.
class Client {
 public:
  explicit Client(int family = AF_INET) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval most = {20, 0};  // it only ends a test that has failed
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  }
  Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Client() {
    if (fd_ >= 0) close(fd_);
  }

  bool Connect(const std::string& address) const {
    sockaddr_storage to = {};
    if (address.rfind("unix:", 0) == 0) {
      auto& path = reinterpret_cast<sockaddr_un&>(to);
      path.sun_family = AF_UNIX;
      std::strncpy(path.sun_path, address.c_str() + 5, sizeof path.sun_path - 1);
      return connect(fd_, reinterpret_cast<sockaddr*>(&path), sizeof path) == 0;
    }
    auto& in = reinterpret_cast<sockaddr_in&>(to);
    uint32_t port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<uint16_t>(port));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd_, reinterpret_cast<sockaddr*>(&in), sizeof in) == 0;
  }
  // False: the server has closed it.
  bool Send(const std::string& bytes) const {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool Begin() const { return Send(absl::StrCat(kPreface, Frame(4, 0, 0, ""))); }
  // Whether the server closes it within ten seconds; what it sends is thrown away.
  bool IsClosed() const {
    for (;;) {
      pollfd wait = {fd_, POLLIN, 0};
      char scrap[4096];
      if (poll(&wait, 1, 10'000) <= 0) return false;
      if (recv(fd_, scrap, sizeof scrap, 0) <= 0) return true;
    }
  }
  // Resets it, without a word.
  void Drop() {
    const linger at_once = {1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

class DoorTest : public RpcTest {
 protected:
  explicit DoorTest(ServerConfig config_in = {}) : RpcTest(std::move(config_in)) {}

  bool Answers() { return Lookup(LookupOf({1})).ok(); }
  uint64_t closed(DoorCause cause) const { return server->ReadDoor().closed_for(cause); }
  bool AwaitOpen(uint64_t open) {
    return FakeEngine::Await([&] { return server->ReadDoor().open == open; });
  }
  bool AwaitClosed(DoorCause cause, uint64_t count) {
    return FakeEngine::Await([&] { return closed(cause) >= count; });
  }
};

// The soft limit of descriptors, for as long as it lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(uint64_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lower = before_;
    lower.rlim_cur = limit;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_F(DoorTest, GoesOnAcceptingAfterTheLastDescriptor) {
  // The sanitizer looks at the log's objects through a pipe, once: it must have had descriptors.
  Log(LogLevel::kWarning, "the last descriptors are taken");
  ASSERT_TRUE(Answers());
  std::vector<Client> clients(10);
  {
    const DescriptorLimit none_is_free(DescriptorsInUse());
    for (const Client& client : clients) {
      ASSERT_TRUE(client.Connect(server->address()));
      ASSERT_TRUE(client.IsClosed());
    }
    EXPECT_TRUE(Answers()) << "over the connection that was there before";
  }
  EXPECT_GE(closed(DoorCause::kDescriptors), 10u);
  data = v1::Data::NewStub(NewChannel());
  EXPECT_TRUE(Answers());
}

TEST_F(DoorTest, StormOfDroppedConnectionsLeavesNothing) {
  ASSERT_TRUE(Answers());
  const uint64_t before = server->ReadDoor().open;
  for (int i = 0; i < 2000; ++i) {
    Client client;
    ASSERT_TRUE(client.Connect(server->address())) << i;
    client.Drop();
  }
  EXPECT_TRUE(AwaitOpen(before));
  data = v1::Data::NewStub(NewChannel());
  EXPECT_TRUE(Answers());
}

TEST_F(DoorTest, EndlessHeadersAreCut) {
  ASSERT_TRUE(Answers());
  Client client;
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
  Client client;
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
  EXPECT_TRUE(Answers());
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
    config.first_call_ms_max = 300;
    config.handshake_ms_max = 200;
    return config;
  }
};

TEST_F(FewConnectionsTest, OneAddressHasItsShare) {
  ASSERT_TRUE(Answers());
  std::vector<Client> clients(3);
  ASSERT_TRUE(clients[0].Connect(server->address()) && clients[1].Connect(server->address()));
  ASSERT_TRUE(AwaitOpen(3));
  ASSERT_TRUE(clients[2].Connect(server->address()));
  EXPECT_TRUE(clients[2].IsClosed());
  EXPECT_EQ(closed(DoorCause::kAddress), 1u);
  EXPECT_TRUE(Answers());
}

TEST_F(FewConnectionsTest, SilentAndIdleConnectionsAreClosed) {
  ASSERT_TRUE(Answers());
  const Client silent, idle;
  ASSERT_TRUE(silent.Connect(server->address()));
  ASSERT_TRUE(idle.Connect(server->address()) && idle.Begin());
  EXPECT_TRUE(silent.IsClosed()) << "handshake_ms_max";
  EXPECT_TRUE(idle.IsClosed()) << "first_call_ms_max";
  EXPECT_TRUE(AwaitClosed(DoorCause::kNoCall, 1));
  EXPECT_TRUE(AwaitOpen(1));
  EXPECT_TRUE(Answers()) << "a connection that has had a call stays";
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
    const Client client;
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
  Client client(AF_UNIX);
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
