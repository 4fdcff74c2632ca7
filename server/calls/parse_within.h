// Parses a request from bytes to a message, inside the budget of all calls.
#ifndef ERIS_SERVER_CALLS_PARSE_WITHIN_H_
#define ERIS_SERVER_CALLS_PARSE_WITHIN_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "server/guard/raw_message.h"
#include "server/state/server_state.h"

namespace eris::server {

// Charges the received bytes and the parsed message, parses it and frees the bytes. The result is
// the charge of the message, for its lifetime. Errors: ResourceExhausted, InvalidArgument.
inline absl::StatusOr<ByteBudget::Charge> ParseWithin(ServerState& server, bool is_write,
                                                      grpc::ByteBuffer* raw,
                                                      google::protobuf::Message* message) {
  const uint64_t parsed_bytes = ParsedBytesMax(*message->GetDescriptor(), *raw);
  const uint64_t bytes = parsed_bytes + raw->Length();
  ByteBudget::Charge charge = TakeBudget(server, is_write, bytes);
  if (!charge) {
    raw->Clear();
    return OverBudgetStatus(server.budget, bytes);
  }
  ERIS_RETURN_IF_ERROR(ParseMessage(raw, message));
  charge.Shrink(parsed_bytes);
  return charge;
}

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_PARSE_WITHIN_H_
