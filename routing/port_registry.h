// The existing Ports, and the counters of those that have ended. Control plane: a Port takes the
// mutex when it is made and when it ends.
#ifndef ERIS_ROUTING_PORT_REGISTRY_H_
#define ERIS_ROUTING_PORT_REGISTRY_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/cache_line.h"
#include "base/counter.h"
#include "base/mutex.h"

namespace eris::routing {

// In keys; a command without keys counts as one. When the engine is idle, these equations hold with
// the AEUs' counters:
//   sent, of all Ports == delivered, of all AEUs
//   delivered, of one AEU == its answered + forwarded + redirected
struct PortFigures {
  uint64_t sent = 0;     // put into outgoing buffers
  uint64_t refused = 0;  // had no room
  uint64_t wakes = 0;    // system calls to wake AEUs
  void Add(const PortFigures& other) {
    sent += other.sent;
    refused += other.refused;
    wakes += other.wakes;
  }
};

// Written by the Port's thread, read by anyone.
struct alignas(base::kNoSharingBytes) PortCounters {
  base::Counter sent;
  base::Counter refused;
  base::Counter wakes;
  PortFigures Read() const { return {sent.Read(), refused.Read(), wakes.Read()}; }
};

class PortRegistry {
 public:
  // `counters` are read until Remove. Returns the Port's lane, which every 256th Port shares.
  uint8_t Add(const PortCounters* counters) {
    base::MutexLock lock(&mu_);
    alive_.push_back(counters);
    return next_lane_++;
  }
  void Remove(const PortCounters* counters) {
    base::MutexLock lock(&mu_);
    ended_.Add(counters->Read());
    std::erase(alive_, counters);
  }
  // Sums of all Ports, including ended ones.
  PortFigures Total() const {
    base::MutexLock lock(&mu_);
    PortFigures total = ended_;
    for (const PortCounters* counters : alive_) total.Add(counters->Read());
    return total;
  }

 private:
  mutable base::Mutex mu_;
  std::vector<const PortCounters*> alive_ ABSL_GUARDED_BY(mu_);
  PortFigures ended_ ABSL_GUARDED_BY(mu_);
  uint8_t next_lane_ ABSL_GUARDED_BY(mu_) = 0;  // modulo 256
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_PORT_REGISTRY_H_
