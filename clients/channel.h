// Opens channels to servers, with TLS and a token if the server asks for them.
#ifndef ERIS_CLIENTS_CHANNEL_H_
#define ERIS_CLIENTS_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/client_security.h"

namespace eris::client {

// Whether only this machine reaches the server: its address is of the loopback, or a Unix socket.
// Does not ask the resolver. Any thread.
bool IsLoopback(absl::string_view server);

class ChannelMaker {
 public:
  // Reads the files. Errors: InvalidArgument (a certificate without its key; a token that would
  // cross a network in plain text; an unreadable token), NotFound and the like (a file that cannot
  // be read).
  static absl::StatusOr<ChannelMaker> Make(const std::string& server,
                                           const ClientSecurity& security);

  // `own_connection`: not shared with other channels of the process.
  std::shared_ptr<grpc::Channel> Open(bool own_connection) const;

 private:
  ChannelMaker() = default;

  std::string server_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::string authorization_;  // the header's value; empty: no token
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_CHANNEL_H_
