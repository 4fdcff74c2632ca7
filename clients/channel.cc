#include "clients/channel.h"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace eris::client {
namespace {

namespace experimental = grpc::experimental;

// A lookup of kBatchKeysMax keys answers with 8.2 MB; lists of many objects may be longer.
constexpr int kMessageBytesMax = 64 << 20;
constexpr size_t kFileBytesMax = 1 << 20;

// Adds the header to every call. gRPC's own credentials for calls do so only over TLS, and a server
// on a loopback address needs none.
class Authorize final : public experimental::Interceptor {
 public:
  explicit Authorize(const std::string& value) : value_(value) {}
  void Intercept(experimental::InterceptorBatchMethods* methods) override {
    using Point = experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", value_);
    }
    methods->Proceed();
  }

 private:
  const std::string value_;  // a call may outlive its channel
};

class AuthorizeFactory final : public experimental::ClientInterceptorFactoryInterface {
 public:
  explicit AuthorizeFactory(std::string value) : value_(std::move(value)) {}
  experimental::Interceptor* CreateClientInterceptor(experimental::ClientRpcInfo*) override {
    return new Authorize(value_);
  }

 private:
  const std::string value_;
};

absl::StatusOr<std::string> FileText(absl::string_view what, const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path));
  std::string text(kFileBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  const bool failed = std::ferror(file) != 0;
  const int error = errno;
  std::fclose(file);
  if (failed) return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
  if (!text.empty() && text.size() <= kFileBytesMax) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      what, " ", path,
      text.empty() ? " is empty" : absl::StrCat(" has more than ", kFileBytesMax, " bytes")));
}

// The token; empty: none. Errors quote nothing of it.
absl::StatusOr<std::string> TokenOf(const ClientSecurity& security) {
  std::string token = security.token;
  if (!security.token_file.empty()) {
    absl::StatusOr<std::string> text = FileText("token file", security.token_file);
    if (!text.ok()) return text.status();
    token = text->substr(0, text->find('\n'));
  }
  token = std::string(absl::StripAsciiWhitespace(token));
  const bool printable =
      std::all_of(token.begin(), token.end(), [](char c) { return absl::ascii_isgraph(c); });
  if (printable && (!token.empty() || security.token_file.empty())) return token;
  return absl::InvalidArgumentError(absl::StrCat(
      security.token_file.empty() ? "the token" : absl::StrCat("token file ", security.token_file),
      ": the first line must be a token alone, as `eris token new` prints it"));
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const ClientSecurity& security) {
  if (security.tls_cert.empty() != security.tls_key.empty()) {
    return absl::InvalidArgumentError("a client's certificate and its key must be given together");
  }
  if (security.tls_ca.empty()) {
    if (security.tls_cert.empty()) return grpc::InsecureChannelCredentials();
    return absl::InvalidArgumentError(
        "a client's certificate is given without the authorities of the server's (--tls-ca)");
  }
  grpc::SslCredentialsOptions options;
  const auto read = [](absl::string_view what, const std::string& path, std::string& into) {
    if (path.empty()) return absl::OkStatus();
    absl::StatusOr<std::string> text = FileText(what, path);
    if (text.ok()) into = *std::move(text);
    return text.status();
  };
  absl::Status status;
  if (security.tls_ca != "system") {
    status.Update(read("authorities", security.tls_ca, options.pem_root_certs));
  }
  status.Update(read("certificate", security.tls_cert, options.pem_cert_chain));
  status.Update(read("key", security.tls_key, options.pem_private_key));
  if (!status.ok()) return status;
  return grpc::SslCredentials(options);
}

}  // namespace

// A host's name may begin like an address: 127.example.com.
bool IsLoopback(absl::string_view server) {
  if (absl::StartsWith(server, "unix:") || absl::StartsWith(server, "localhost:") ||
      absl::StartsWith(server, "[::1]:")) {
    return true;
  }
  in_addr address{};
  const std::string host(server.substr(0, server.rfind(':')));
  constexpr uint32_t kLoopbackNet = 127;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24 == kLoopbackNet;
}

absl::StatusOr<ChannelMaker> ChannelMaker::Make(const std::string& server,
                                                const ClientSecurity& security) {
  ChannelMaker maker;
  maker.server_ = server;
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials = CredentialsOf(security);
  if (!credentials.ok()) return credentials.status();
  maker.credentials_ = *std::move(credentials);
  absl::StatusOr<std::string> token = TokenOf(security);
  if (!token.ok()) return token.status();
  if (token->empty()) return maker;
  if (security.tls_ca.empty() && !IsLoopback(server)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the token would go to ", server, " in plain text: give the authorities of the server's ",
        "certificate (--tls-ca)"));
  }
  maker.authorization_ = absl::StrCat("Bearer ", *token);
  return maker;
}

std::shared_ptr<grpc::Channel> ChannelMaker::Open(bool own_connection) const {
  grpc::ChannelArguments arguments;
  // A proxy of the environment would see a token that goes to this machine in plain text.
  if (!authorization_.empty()) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  if (own_connection) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (authorization_.empty()) return grpc::CreateCustomChannel(server_, credentials_, arguments);
  std::vector<std::unique_ptr<experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<AuthorizeFactory>(authorization_));
  return experimental::CreateCustomChannelWithInterceptors(server_, credentials_, arguments,
                                                           std::move(interceptors));
}

}  // namespace eris::client
