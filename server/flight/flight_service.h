// arrow.flight.protocol.FlightService: passes each call to its class. gRPC's threads accept the
// calls; those that may block in the engine run on threads of ServerState::flights.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_SERVICE_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_SERVICE_H_

#include "arrow/flight.grpc.pb.h"
#include "server/calls/raw_service.h"
#include "server/state/server_state.h"

namespace eris::server {

class FlightService final : public RawService<arrow::flight::protocol::FlightService> {
 public:
  // `server` outlives the service.
  explicit FlightService(ServerState* server);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_SERVICE_H_
