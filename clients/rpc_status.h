// gRPC's status as ours: same codes, same text. Used by everything in clients/. Any thread.
#ifndef ERIS_CLIENTS_RPC_STATUS_H_
#define ERIS_CLIENTS_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace eris::client {

// The two enumerations are google.rpc.Code both times.
inline absl::Status ToAbslStatus(int code, const std::string& message) {
  return {static_cast<absl::StatusCode>(code), message};
}
inline absl::Status ToAbslStatus(const grpc::Status& status) {
  return ToAbslStatus(static_cast<int>(status.error_code()), status.error_message());
}

}  // namespace eris::client

#endif  // ERIS_CLIENTS_RPC_STATUS_H_
