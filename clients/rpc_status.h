// gRPC's status as ours: same codes, and same text where the server has written it. What gRPC
// itself says of a connection becomes a sentence for users. Used by everything in clients/. Any
// thread.
#ifndef ERIS_CLIENTS_RPC_STATUS_H_
#define ERIS_CLIENTS_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace eris::client {

// The two enumerations are google.rpc.Code both times.
inline absl::Status ToAbslStatus(int code, const std::string& message) {
  return {static_cast<absl::StatusCode>(code), message};
}
// The status of a call that has ended, with gRPC's texts made into sentences.
absl::Status ToAbslStatus(const grpc::Status& status);

// Why there is no connection, read from gRPC's text for it.
enum class ConnectionTrouble {
  kNone,         // the text is the server's own
  kRefused,      // nobody listens on the address
  kUnknownHost,  // the name has no address
  kForeign,      // something answers that is no gRPC server without TLS
  kBroken,       // a connection that was there has ended
  kOther,
};
ConnectionTrouble TroubleOf(absl::string_view grpc_text);

// The sentence. `server`: as the user knows it; empty: the address in the text, if there is one.
std::string ConnectionText(absl::string_view server, absl::string_view grpc_text);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_RPC_STATUS_H_
