#include "server/calls/parse_within.h"

#include <cstdint>

#include "base/status_macros.h"
#include "server/guard/raw_message.h"

namespace eris::server {

absl::StatusOr<ByteBudget::Charge> ParseWithin(ServerState& server, bool is_write,
                                               grpc::ByteBuffer* raw,
                                               google::protobuf::Message* message) {
  const uint64_t raw_bytes = raw->Length();
  const uint64_t parsed_bytes = ParsedBytesMax(*message->GetDescriptor(), *raw);
  const uint64_t bytes = parsed_bytes + raw_bytes;
#ifdef ERIS_PLANTED_CHARGE_AFTER_PARSING
  ERIS_RETURN_IF_ERROR(ParseMessage(raw, message));
#endif
  ByteBudget::Charge charge = TakeBudget(server, is_write, bytes);
  if (!charge) {
    raw->Clear();
    return OverBudgetStatus(server.budget, bytes, is_write);
  }
#ifndef ERIS_PLANTED_CHARGE_AFTER_PARSING
  ERIS_RETURN_IF_ERROR(ParseMessage(raw, message));
#endif
  charge.Shrink(parsed_bytes);
  return charge;
}

}  // namespace eris::server
