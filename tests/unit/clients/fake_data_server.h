// Services in this process, on a free port of the loopback, whose methods a test overrides.
#ifndef ERIS_TESTS_UNIT_CLIENTS_FAKE_DATA_SERVER_H_
#define ERIS_TESTS_UNIT_CLIENTS_FAKE_DATA_SERVER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "clients/eris_client.h"
#include "eris/v1/data.grpc.pb.h"

namespace eris::client {

class FakeDataServer {
 public:
  // The services must outlive the server.
  template <class... Services>
  explicit FakeDataServer(Services&... services) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    (builder.RegisterService(&services), ...);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  // Calls still open are cut off.
  ~FakeDataServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }
  std::unique_ptr<Client> Connect(absl::Duration timeout = absl::Seconds(30)) const {
    auto client = Client::Connect({.server = address_, .timeout = timeout});
    return client.ok() ? *std::move(client) : nullptr;
  }

 private:
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace eris::client

#endif  // ERIS_TESTS_UNIT_CLIENTS_FAKE_DATA_SERVER_H_
