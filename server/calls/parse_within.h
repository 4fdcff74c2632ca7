// Parses a request from bytes to a message, inside the budget of all calls.
#ifndef ERIS_SERVER_CALLS_PARSE_WITHIN_H_
#define ERIS_SERVER_CALLS_PARSE_WITHIN_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/status/statusor.h"
#include "server/guard/byte_budget.h"
#include "server/state/server_state.h"

namespace eris::server {

// Charges the received bytes and the parsed message, parses it and frees the bytes. The result is
// the charge of the message, for its lifetime. Errors: ResourceExhausted (nothing was parsed),
// InvalidArgument (too large for the whole budget: nothing was parsed; or malformed).
absl::StatusOr<ByteBudget::Charge> ParseWithin(ServerState& server, bool is_write,
                                               grpc::ByteBuffer* raw,
                                               google::protobuf::Message* message);

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_PARSE_WITHIN_H_
