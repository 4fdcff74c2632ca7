// The ticket of an endpoint: which rows of which object, as of which snapshot, sealed by this
// server's process (token_seal.h). Any thread, no state.
//
//   0      1           9        13      17      18   26   34          42          50
//   +------+-----------+--------+-------+-------+----+----+-----------+-----------+------+----------+
//   | form | server id | object | place | hi is | lo | hi | lo_second | hi_second | scan | checksum
//   |
//   +------+-----------+--------+-------+-------+----+----+-----------+-----------+------+----------+
//     u8     u64         u32      u32     u8      u64 each: the range of keys        bytes  u64
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_TICKET_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_TICKET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/types.h"
#include "eris/v1/data.pb.h"
#include "server/state/token_seal.h"

namespace eris::server {

struct FlightTicket {
  ObjectId object{};
  uint32_t place = 0;      // among the tickets of its snapshot
  KeyRange range{};        // of an index; encoded, as partitions have it
  v1::ScanRequest scan{};  // without range; snapshot 0: the scan takes its own
};

std::string WriteTicket(const TokenSeal& seal, const FlightTicket& ticket);
// Errors: InvalidArgument (too short, of another server, damaged).
absl::StatusOr<FlightTicket> ReadTicket(const TokenSeal& seal, absl::string_view bytes);

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_TICKET_H_
