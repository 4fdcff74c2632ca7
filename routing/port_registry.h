// The existing Ports, and the counters of those that have ended. Control plane: a Port takes the
// mutex when it is made and when it ends.
#ifndef ERIS_ROUTING_PORT_REGISTRY_H_
#define ERIS_ROUTING_PORT_REGISTRY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/cache_line.h"
#include "base/counter.h"
#include "base/mutex.h"
#include "eris/types.h"

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

// A row by source of keys sent, by their target's NumaNode.
using SentBetween = std::vector<std::vector<uint64_t>>;

// Written by the Port's thread, read by anyone.
struct alignas(base::kNoSharingBytes) PortCounters {
  // `source`: where the Port's thread belongs. Throws std::bad_alloc.
  PortCounters(NumaNodeId source, uint32_t targets)
      : source_node(source), target_nodes(targets), sent_to_(targets / kPerLine + 1) {}

  // The part of `sent` that went to AEUs of `target`, which is below target_nodes.
  base::Counter& SentTo(NumaNodeId target) {
    return sent_to_[target.value / kPerLine].counters[target.value % kPerLine];
  }
  PortFigures Read() const { return {sent.Read(), refused.Read(), wakes.Read()}; }
  void AddSentTo(std::vector<uint64_t>& sums) const {
    for (uint32_t node = 0; node < target_nodes; ++node) {
      sums[node] += sent_to_[node / kPerLine].counters[node % kPerLine].Read();
    }
  }

  base::Counter sent;
  base::Counter refused;
  base::Counter wakes;
  const NumaNodeId source_node;
  const uint32_t target_nodes;

 private:
  static constexpr uint32_t kPerLine = base::kNoSharingBytes / sizeof(base::Counter);
  // So that no other Port's thread writes to the same cache line.
  struct alignas(base::kNoSharingBytes) Line {
    std::array<base::Counter, kPerLine> counters;
  };
  std::vector<Line> sent_to_;
};

class PortRegistry {
 public:
  // `counters` are read until Remove. Returns the Port's lane, which every 256th Port shares.
  // Throws std::bad_alloc.
  uint8_t Add(const PortCounters* counters) {
    base::MutexLock lock(&mu_);
    RowOf(ended_sent_, *counters);  // so that Remove needs no memory
    alive_.push_back(counters);
    return next_lane_++;
  }
  void Remove(const PortCounters* counters) {
    base::MutexLock lock(&mu_);
    ended_.Add(counters->Read());
    counters->AddSentTo(RowOf(ended_sent_, *counters));
    std::erase(alive_, counters);
  }
  // Sums of all Ports, including ended ones.
  PortFigures Total() const {
    base::MutexLock lock(&mu_);
    PortFigures total = ended_;
    for (const PortCounters* counters : alive_) total.Add(counters->Read());
    return total;
  }
  // The same for the keys sent; their sum is Total().sent while the engine is idle.
  SentBetween Sent() const {
    base::MutexLock lock(&mu_);
    SentBetween total = ended_sent_;
    for (const PortCounters* counters : alive_) counters->AddSentTo(RowOf(total, *counters));
    return total;
  }

 private:
  // With room for the figures of `counters`.
  static std::vector<uint64_t>& RowOf(SentBetween& sums, const PortCounters& counters) {
    const uint32_t source = counters.source_node.value;
    if (sums.size() <= source) sums.resize(source + 1);
    if (sums[source].size() < counters.target_nodes) sums[source].resize(counters.target_nodes);
    return sums[source];
  }

  mutable base::Mutex mu_;
  std::vector<const PortCounters*> alive_ ABSL_GUARDED_BY(mu_);
  PortFigures ended_ ABSL_GUARDED_BY(mu_);
  SentBetween ended_sent_ ABSL_GUARDED_BY(mu_);
  uint8_t next_lane_ ABSL_GUARDED_BY(mu_) = 0;  // modulo 256
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_PORT_REGISTRY_H_
