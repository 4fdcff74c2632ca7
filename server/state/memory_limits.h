// How a server uses its share of the process's memory. Pure functions, except TuneAllocator.
#ifndef ERIS_SERVER_STATE_MEMORY_LIMITS_H_
#define ERIS_SERVER_STATE_MEMORY_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "eris/memory_plan.h"
#include "server/state/config.h"

namespace eris::server {

// `config` with the shares of `plan` instead of zeros, and with stream_bytes_max limited to one
// stream's part of in_flight_bytes_max. A plan of zeros gives 1 GiB in flight.
ServerConfig WithShares(ServerConfig config, const MemoryPlan& plan);

// How many requests may arrive at the same time, for ArrivalGate. Messages of the largest size fill
// a third of receive_bytes with writes and a sixth with reads; two or more are for calls of the
// catalogue and of operators. The rest is for streams, for the first packets of waiting calls, and
// for too large messages, which gRPC refuses only after it has received them. At least two for each
// thread that runs callbacks: then one client alone, which gets half, has one for each of them, and
// none of them waits for small requests.
struct ArrivalPlaces {
  uint32_t reads = 1024;
  uint32_t writes = 1024;
  uint32_t control = 16;
};
ArrivalPlaces PlacesFor(const ServerConfig& config, const MemoryPlan& plan,
                        uint32_t callback_threads);

// The part of in_flight_bytes_max for writes. The rest is kept for reads.
inline uint64_t WriteBytesMax(uint64_t in_flight_bytes_max) { return in_flight_bytes_max / 4 * 3; }

// Memory of an idle stream: gRPC's call, its window and the session.
inline constexpr uint64_t kStreamBytes = 32 << 10;
// How many streams there may be: together half of in_flight_bytes_max, so a single client's, which
// get half of them, a quarter. One in any case.
inline size_t StreamsMax(uint64_t in_flight_bytes_max) {
  return std::max<size_t>(in_flight_bytes_max / 2 / kStreamBytes, 1);
}

// How many scans of groups may keep their chunks, usually 2 MiB of the plan's scan_bytes, while
// their clients do not read: together about a quarter of the chunks of tables, and two in any case,
// for two clients.
size_t UnreadGroupsMax(const MemoryPlan& plan);

// How much freed memory the general heap of a process with `process_bytes` keeps: more if there is
// much memory, because keeping it saves page faults. Call it before the first thread is started.
struct AllocatorTuning {
  int map_threshold_bytes = 0;   // larger blocks are returned to the system at once
  int trim_threshold_bytes = 0;  // how much an arena keeps at its end
  int arenas_max = 0;            // each arena fragments separately
};
AllocatorTuning TuningFor(uint64_t process_bytes);
void TuneAllocator(const AllocatorTuning& tuning);

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_MEMORY_LIMITS_H_
