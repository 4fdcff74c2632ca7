// The actions of Arrow Flight: an endpoint's snapshot is kept longer, or let go at once. On a gRPC
// thread; nothing blocks.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_ACTIONS_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_ACTIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "arrow/flight.pb.h"
#include "server/state/server_state.h"

namespace eris::server {

// Errors: as DoAction in flight.proto.
absl::Status DoFlightAction(ServerState& server, Permit& permit,
                            const arrow::flight::protocol::Action& action,
                            std::vector<arrow::flight::protocol::Result>* results);

absl::Status ListFlightActions(ServerState& server, Permit& permit,
                               const arrow::flight::protocol::Empty& request,
                               std::vector<arrow::flight::protocol::ActionType>* types);

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_ACTIONS_H_
