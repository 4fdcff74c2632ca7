// What GetFlightInfo, GetSchema and ListFlights answer. On a thread that may block.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_INFO_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_INFO_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "arrow/flight.pb.h"
#include "eris/types.h"
#include "server/state/server_state.h"

namespace eris::server {

// When an endpoint's snapshot ends if nobody uses it from now on.
void SetExpiration(const ServerState& server, arrow::flight::protocol::FlightEndpoint* endpoint);
// All tickets of an answer together.
inline constexpr uint64_t kFlightTicketsBytesMax = 16 << 20;

// Adds what a client can do to the error of a ticket's lease.
absl::Status OfTicket(const absl::Status& status);

// An endpoint for all rows, or one for each share as of one snapshot. Blocks until AEUs have told
// their shares, or `deadline` has passed. The snapshot counts for `client`. Errors: as flight.proto
// says; DeadlineExceeded.
absl::Status FillFlightInfo(ServerState& server, const std::string& client, Permit& permit,
                            absl::Time deadline,
                            const arrow::flight::protocol::FlightDescriptor& descriptor,
                            arrow::flight::protocol::FlightInfo* info);
absl::Status FillSchemaResult(ServerState& server, Permit& permit,
                              const arrow::flight::protocol::FlightDescriptor& descriptor,
                              arrow::flight::protocol::SchemaResult* result);
// The entry of a list: an endpoint for all rows. REQUIRES: not a hash.
void FillListedFlight(const ServerState& server, const ObjectInfo& object,
                      arrow::flight::protocol::FlightInfo* info);

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_INFO_H_
