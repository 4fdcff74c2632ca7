// Converts gRPC's status to ours: same codes, and the same text and reason if the server has
// written it. gRPC's own texts about a connection become a sentence for users. Used by everything
// in clients/. Any thread.
#ifndef ERIS_CLIENTS_RPC_STATUS_H_
#define ERIS_CLIENTS_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "eris/v1/data.pb.h"

namespace eris::client {

// A status inside a response, with its reason (include/eris/errors.h).
absl::Status ToAbslStatus(const v1::RequestStatus& status);
// The status of an ended call, with its reason, and with gRPC's texts converted to sentences.
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
