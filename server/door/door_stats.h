// What the door counts (door.h).
#ifndef ERIS_SERVER_DOOR_DOOR_STATS_H_
#define ERIS_SERVER_DOOR_DOOR_STATS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace eris::server {

// Why the door has closed a connection. The first three are closed before gRPC sees them.
enum class DoorCause : uint8_t {
  kDescriptors,     // the process, or the system, has no file descriptor left
  kConnections,     // server.connections_max
  kAddress,         // server.connections_per_address_max, or the share
  kNoCall,          // server.first_call_ms_max
  kUnusedBytes,     // server.unused_bytes_max
  kCancelledCalls,  // server.cancelled_calls_max
};
inline constexpr size_t kDoorCauses = 6;

// For the log and for metrics: the option that sets the limit, or "descriptors".
inline constexpr std::array<absl::string_view, kDoorCauses> kDoorCauseNames = {
    "descriptors",       "connections_max",  "connections_per_address_max",
    "first_call_ms_max", "unused_bytes_max", "cancelled_calls_max"};

struct DoorStats {
  uint64_t open = 0;                           // connections now
  uint64_t connections_max = 0;                // in force
  uint64_t accepted = 0;                       // handed to gRPC so far
  std::array<uint64_t, kDoorCauses> closed{};  // by DoorCause, so far

  uint64_t closed_for(DoorCause cause) const { return closed[static_cast<size_t>(cause)]; }
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_DOOR_STATS_H_
