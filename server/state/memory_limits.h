// What a server makes of its share of the process's memory. Pure functions, but for TuneAllocator.
#ifndef ERIS_SERVER_STATE_MEMORY_LIMITS_H_
#define ERIS_SERVER_STATE_MEMORY_LIMITS_H_

#include <cstdint>

#include "eris/memory_plan.h"
#include "server/state/config.h"

namespace eris::server {

// `config` without the zeros that stand for a share of `plan`, and with stream_bytes_max within
// what one stream may have of in_flight_bytes_max. A plan of zeros leaves 1 GiB in flight.
ServerConfig WithShares(ServerConfig config, const MemoryPlan& plan);

// How many requests may arrive at once, by ArrivalGate: messages of the largest size fill a third
// of receive_bytes with writes and a sixth with reads, two or more are for calls of the catalogue
// and of operators; the rest is for streams, for what arrives of
// calls that wait, and for messages that are too large, which gRPC refuses when it has them whole.
// At least two for each thread that runs callbacks, so that none of them waits for small requests.
struct ArrivalPlaces {
  uint32_t reads = 1024;
  uint32_t writes = 1024;
  uint32_t control = 16;
};
ArrivalPlaces PlacesFor(const ServerConfig& config, const MemoryPlan& plan,
                        uint32_t callback_threads);

// The part of in_flight_bytes_max that writes may hold. The rest is kept for reads.
inline uint64_t WriteBytesMax(uint64_t in_flight_bytes_max) { return in_flight_bytes_max / 4 * 3; }

// How the general heap of a process with `process_bytes` keeps what has been freed: much where
// there is much memory, since keeping saves page faults, and little where there is little. Before
// the first thread is started.
struct AllocatorTuning {
  int map_threshold_bytes = 0;   // larger blocks go back to the system at once
  int trim_threshold_bytes = 0;  // what an arena keeps at its end
  int arenas_max = 0;            // each fragments on its own
};
AllocatorTuning TuningFor(uint64_t process_bytes);
void TuneAllocator(const AllocatorTuning& tuning);

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_MEMORY_LIMITS_H_
