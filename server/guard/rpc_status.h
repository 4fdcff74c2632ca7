// Where an absl::Status becomes gRPC's. Any thread, no state.
#ifndef ERIS_SERVER_GUARD_RPC_STATUS_H_
#define ERIS_SERVER_GUARD_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace eris::server {

// The same code by number. The message is cut at 1 KiB, between characters: it travels in the
// trailing headers, whose size clients limit, and may quote what a client has sent.
grpc::Status ToRpcStatus(const absl::Status& status);

// Errors: InvalidArgument (empty, or longer than kObjectNameBytesMax). Checked before a name is
// quoted anywhere.
absl::Status CheckObjectName(absl::string_view name);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_RPC_STATUS_H_
