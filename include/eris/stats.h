// What a running engine tells about itself. Counters are read without stopping anything: each is
// exact as of some moment near the call, and they only grow unless said otherwise.
#ifndef ERIS_STATS_H_
#define ERIS_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "eris/types.h"

namespace eris {

// What routing has moved, in keys; a command without keys counts one. At rest, and summed up over
// all AEUs and the sessions: sent == delivered, and delivered == answered + forwarded.
struct RoutingStats {
  uint64_t sent = 0;        // by the AEU: passed on, or looked up for a join
  uint64_t delivered = 0;   // taken from its incoming buffers
  uint64_t answered = 0;    // executed here, or answered "moved" or "no such object"
  uint64_t forwarded = 0;   // belong to another AEU, and were sent on to it
  uint64_t redirected = 0;  // of those answered: went back to the sender as moved
  uint64_t refused = 0;     // found no room in an outgoing buffer
  uint64_t wakes = 0;       // system calls to wake other AEUs
  // Turns that found another AEU in the middle of its copy to here: many, where AEUs lose their
  // cores to other threads.
  uint64_t writer_waits = 0;
};

struct AeuStats {
  AeuId id;
  NumaNodeId numa_node;
  int32_t cpu = -1;       // operating-system number; -1: not pinned
  uint64_t turns = 0;     // loop turns that found work
  uint64_t parks = 0;     // times it went to sleep
  uint64_t busy_ns = 0;   // time in turns that found work
  uint64_t commands = 0;  // data commands executed
  uint64_t keys = 0;      // keys looked up, upserted or erased
  uint64_t rows_scanned = 0;
  RoutingStats routing;
  uint64_t memory_bytes = 0;  // allocated by it now (falls, too)
  uint64_t rows = 0;          // held by it now (falls, too)
};

struct NumaNodeStats {
  NumaNodeId id;
  uint64_t reserved_bytes = 0;  // superblocks taken from the system now
  uint64_t used_bytes = 0;      // allocated to data objects now
  bool bound = false;           // the kernel accepted the binding
};

struct EngineStats {
  std::vector<AeuStats> aeus;
  std::vector<NumaNodeStats> numa_nodes;
  std::vector<ObjectInfo> objects;
  uint64_t memory_limit_bytes = 0;
  uint64_t scans_open = 0;
  uint64_t scan_chunks_in_use = 0;
  uint64_t requests_in_flight = 0;
  // By sessions and the engine's own Port, ended ones included; only sent, refused and wakes.
  RoutingStats sessions_routing;
};

}  // namespace eris

#endif  // ERIS_STATS_H_
