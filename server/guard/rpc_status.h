// Converts an absl::Status to gRPC's. Any thread, no state.
#ifndef ERIS_SERVER_GUARD_RPC_STATUS_H_
#define ERIS_SERVER_GUARD_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace eris::server {

// The same code number. The message is cut at 1 KiB, between characters: it is sent in the trailing
// headers, whose size clients limit, and may quote the client's input.
grpc::Status ToRpcStatus(const absl::Status& status);

// Errors: InvalidArgument (empty, or longer than kObjectNameBytesMax). Check a name before quoting
// it.
absl::Status CheckObjectName(absl::string_view name);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_RPC_STATUS_H_
