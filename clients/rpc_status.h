// Converts gRPC's status to ours: same codes, and the same text if the server has written it.
// gRPC's own texts about a connection become a sentence for users. Used by everything in clients/.
// Any thread.
#ifndef ERIS_CLIENTS_RPC_STATUS_H_
#define ERIS_CLIENTS_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace eris::client {

// Both enumerations are google.rpc.Code.
inline absl::Status ToAbslStatus(int code, const std::string& message) {
  return {static_cast<absl::StatusCode>(code), message};
}
// The status of an ended call, with gRPC's texts converted to sentences.
absl::Status ToAbslStatus(const grpc::Status& status);

// Why there is no connection, derived from gRPC's text.
enum class ConnectionTrouble {
  kNone,         // the text is from the server
  kRefused,      // nothing listens on the address
  kUnknownHost,  // the name has no address
  kForeign,      // the peer is not a gRPC server without TLS
  kBroken,       // an existing connection has ended
  kOther,
};
ConnectionTrouble TroubleOf(absl::string_view grpc_text);

// The sentence. `server`: the user's name for it; empty: the address in the text, if there is one.
std::string ConnectionText(absl::string_view server, absl::string_view grpc_text);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_RPC_STATUS_H_
