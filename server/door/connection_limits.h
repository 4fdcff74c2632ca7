// How many connections the door lets in. Pure; no gRPC.
#ifndef ERIS_SERVER_DOOR_CONNECTION_LIMITS_H_
#define ERIS_SERVER_DOOR_CONNECTION_LIMITS_H_

#include <cstdint>
#include <optional>

#include "server/door/door_stats.h"
#include "server/overload/client_shares.h"

namespace eris::server {

struct ConnectionLimits {
  uint64_t connections_max = 1;
  // The most of one owner (Peer::owner): an address, network or user. 0: its share
  // (client_shares.h), so that a new owner finds a place while others hold many.
  uint64_t per_owner_max = 0;

  // Why one more connection is closed, if `all` are open and `own` of them have its owner. nullopt:
  // it may come in.
  std::optional<DoorCause> Refuse(uint64_t all, uint64_t own) const {
    if (all >= connections_max) return DoorCause::kConnections;
    const bool may = per_owner_max > 0 ? own < per_owner_max : HasShare(own, all, connections_max);
    return may ? std::nullopt : std::optional(DoorCause::kAddress);
  }
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_CONNECTION_LIMITS_H_
