// Converts an absl::Status to gRPC's, and to the status inside a stream or batch. Both carry the
// reason (include/eris/errors.h) as a google.rpc.ErrorInfo, and RetryInfo if the error names a time
// after which to try again. Any thread, no state.
#ifndef ERIS_SERVER_GUARD_RPC_STATUS_H_
#define ERIS_SERVER_GUARD_RPC_STATUS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "eris/v1/data.pb.h"

namespace eris::server {

// Counts an error (metrics/refusals.h): call it once for each that a client is told. The same code
// number. The message is cut at 1 KiB, between characters: it is sent in the trailing
// headers, whose size clients limit, and may quote the client's input.
grpc::Status ToRpcStatus(const absl::Status& status);
// The same, for the end of a call that has not been finished: also sends the time after which to
// try again in `grpc-retry-pushback-ms`, which gRPC's own retries obey.
grpc::Status ToRpcStatus(const absl::Status& status, grpc::CallbackServerContext& context);

// The same for a status inside a response. REQUIRES: `message` is empty.
void FillRequestStatus(const absl::Status& status, v1::RequestStatus* message);

// Errors: InvalidArgument (empty, or longer than kObjectNameBytesMax). Check a name before quoting
// it.
absl::Status CheckObjectName(absl::string_view name);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_RPC_STATUS_H_
