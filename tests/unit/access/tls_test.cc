// TLS: which connections are accepted, and certificates that are replaced under load.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eris/v1/admin.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/access/secured_server.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

constexpr char kMethod[] = "eris.v1.Admin/GetServer";

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() : server_(Transport::kTls) {
    token_ = server_.Add({.name = "reader", .patterns = {"*"}});
    server_.Start();
  }

  grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel) const {
    return CallMethod(channel, kMethod, v1::GetServerRequest(), Bearer(token_)).status;
  }
  // The certificate that a new connection is shown; empty: it failed.
  std::string Shown() const {
    const auto channel = server_.Connect();
    const auto stub = v1::Admin::NewStub(channel);
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token_);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::GetServerResponse response;
    if (!stub->GetServer(&context, {}, &response).ok()) return "";
    const auto pem = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    return pem.empty() ? "" : std::string(pem[0].data(), pem[0].size());
  }

  SecuredServer server_;
  std::string token_;
};

TEST_F(TlsTest, PlainClientsAndStrangersAuthoritiesGetNoConnection) {
  EXPECT_TRUE(Call(server_.Connect()).ok());
  EXPECT_EQ(
      Call(grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials())).error_code(),
      grpc::StatusCode::UNAVAILABLE);
  const TestAuthority stranger("stranger");
  EXPECT_EQ(
      Call(grpc::CreateChannel(server_.address(), grpc::SslCredentials({stranger.pem(), "", ""})))
          .error_code(),
      grpc::StatusCode::UNAVAILABLE);
}

TEST(MutualTlsTest, ClientsWithoutACertificateOfTheAuthorityGetNoConnection) {
  SecuredServer server(Transport::kMutualTls);
  const std::string token = server.Add({.name = "reader", .patterns = {"*"}});
  server.Start();
  const auto call = [&](const TestCertificate& certificate) {
    return CallMethod(server.Connect(certificate), kMethod, v1::GetServerRequest(), Bearer(token))
        .status.error_code();
  };
  const TestAuthority stranger("stranger");
  EXPECT_EQ(call(server.authority.Issue({.common_name = "c"})), grpc::StatusCode::OK);
  EXPECT_EQ(call({}), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call(stranger.Issue({.common_name = "c"})), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(
      call(server.authority.Issue({.common_name = "c", .until = absl::Now() - absl::Minutes(1)})),
      grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, ABadCertificateIsNotHandedOn) {
  const std::string before = Shown();
  ASSERT_NE(before, "");
  const TestCertificate other = server_.authority.Issue({.common_name = "the server"});
  const TestCertificate late = server_.authority.Issue(
      {.common_name = "the server", .until = absl::Now() - absl::Minutes(1)});
  const auto try_files = [&](const std::string& pem, const std::string& key_pem) {
    server_.folder.Write("cert.pem", pem);
    server_.folder.Write("key.pem", key_pem);
    server_.access().Poll();
    server_.access().Poll();
  };
  uint64_t refusals = 0;
  // The server may look at any time, also between the two files: no two of them are a good pair.
  for (const TestCertificate& bad :
       {TestCertificate{"damaged", late.key_pem}, TestCertificate{other.pem, late.key_pem}, late}) {
    try_files(bad.pem, bad.key_pem);
    EXPECT_EQ(Shown(), before) << bad.pem;
    EXPECT_EQ(server_.access().tls_files().refusals(), ++refusals);
  }
  try_files(other.pem, other.key_pem);
  EXPECT_NE(Shown(), before);
  EXPECT_EQ(server_.access().tls_files().reloads(), 1u);
}

TEST_F(TlsTest, AHundredCertificatesUnderLoadAndNoCallFails) {
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> clients;
  for (const bool reconnects : {true, true, false}) {
    clients.emplace_back([&, reconnects] {
      auto channel = server_.Connect();
      while (!stop.load()) {
        if (reconnects) channel = server_.Connect();
        if (!Call(channel).ok()) failed.fetch_add(1);
        calls.fetch_add(1);
      }
    });
  }
  const std::string first = Shown();
  std::string last = first;
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    server_.UseCertificate(server_.authority.Issue({.common_name = absl::StrCat("server ", i)}));
    server_.access().Poll();
    const std::string shown = Shown();  // with this, a handshake for each certificate
    same += shown == last;
    last = shown;
  }
  stop.store(true);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failed.load(), 0) << "of " << calls.load();
  EXPECT_GT(calls.load(), 100);
  EXPECT_EQ(same, 0) << "each new connection is shown the newest certificate";
  // The timer may have read some of them before their Poll, between their two files.
  EXPECT_GE(server_.access().tls_files().reloads(), 100u);
}

}  // namespace
}  // namespace eris::server
