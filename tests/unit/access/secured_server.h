// A server with roles over a FakeEngine, plain or with TLS, and calls of any method as any caller.
#ifndef ERIS_TESTS_UNIT_ACCESS_SECURED_SERVER_H_
#define ERIS_TESTS_UNIT_ACCESS_SECURED_SERVER_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/access/token_file.h"
#include "server/access/token_hash.h"
#include "server/guard/raw_message.h"
#include "server/rpc_server.h"
#include "server/state/server_state.h"
#include "tests/unit/access/temporary_folder.h"
#include "tests/unit/access/test_certificates.h"
#include "tests/unit/server/fake_engine.h"
#include "tests/unit/server/io_thread.h"

namespace eris::server {

enum class Transport { kPlain, kTls, kMutualTls };

class SecuredServer {
 public:
  explicit SecuredServer(Transport transport) : transport_(transport) {
    config_.listen = "127.0.0.1:0";
    config_.security.tokens_file = folder.Write("tokens", "");
    if (transport != Transport::kPlain) {
      UseCertificate(authority.Issue({.common_name = "the server"}));
      config_.security.tls_cert = folder.File("cert.pem");
      config_.security.tls_key = folder.File("key.pem");
    }
    if (transport == Transport::kMutualTls) {
      config_.security.tls_client_ca = folder.Write("ca.pem", authority.pem());
    }
  }

  // Adds a caller to the tokens file. Returns its token; empty: it is a certificate.
  std::string Add(Caller caller) {
    std::string token;
    if (caller.credential.empty()) {
      token = *NewToken();
      caller.credential = HexOf(HashOf(token));
    }
    EXPECT_TRUE(AddToTokensFile(config_.security.tokens_file, caller).ok());
    return token;
  }
  void Revoke(const std::string& name) {
    EXPECT_TRUE(RemoveFromTokensFile(config_.security.tokens_file, name).ok());
  }
  void UseCertificate(const TestCertificate& certificate) {
    folder.Write("cert.pem", certificate.pem);
    folder.Write("key.pem", certificate.key_pem);
  }

  void Start() {
    auto started = RpcServer::Start(config_, &engine, io_thread_.io());
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  ServerState& state() { return server_->state(); }
  Access& access() { return state().access; }

  // A connection of its own. `certificate`: the client's.
  std::shared_ptr<grpc::Channel> Connect(const TestCertificate& certificate = {}) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const grpc::SslCredentialsOptions options{.pem_root_certs = authority.pem(),
                                              .pem_private_key = certificate.key_pem,
                                              .pem_cert_chain = certificate.pem};
    return grpc::CreateCustomChannel(server_->address(),
                                     transport_ == Transport::kPlain
                                         ? grpc::InsecureChannelCredentials()
                                         : grpc::SslCredentials(options),
                                     arguments);
  }
  const std::string& address() const { return server_->address(); }

  TemporaryFolder folder;
  const TestAuthority authority{"tests"};
  FakeEngine engine;

 private:
  const Transport transport_;
  ServerConfig config_;
  IoThread io_thread_;
  std::unique_ptr<RpcServer> server_;
};

// What the client gets of one call.
struct Outcome {
  grpc::Status status;
  std::vector<grpc::ByteBuffer> answers;
};

// Calls a method with one request, whatever its form. `authorization`: the headers' values.
inline Outcome CallMethod(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                          const google::protobuf::Message& request,
                          const std::vector<std::string>& authorization) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  for (const std::string& value : authorization) context.AddMetadata("authorization", value);
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  const auto call = stub.PrepareCall(&context, absl::StrCat("/", method), &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  Outcome outcome;
  call->StartCall(nullptr);
  bool open = wait();
  if (open) {
    call->WriteLast(WriteMessage(request), grpc::WriteOptions(), nullptr);
    wait();  // it fails if the server has ended the call
  }
  for (;;) {
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    if (!wait()) break;
    outcome.answers.push_back(std::move(answer));
  }
  call->Finish(&outcome.status, nullptr);
  wait();
  queue.Shutdown();
  while (wait()) {
  }
  return outcome;
}

inline std::vector<std::string> Bearer(const std::string& token) { return {"Bearer " + token}; }

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_ACCESS_SECURED_SERVER_H_
