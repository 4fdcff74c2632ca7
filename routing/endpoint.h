// How an AEU is reached: its incoming buffers (for other AEUs), its ingress (for Ports outside the
// engine) and its waker. The directory of all of them is fixed when the engine opens.
#ifndef ERIS_ROUTING_ENDPOINT_H_
#define ERIS_ROUTING_ENDPOINT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/byte_rate.h"
#include "base/cache_line.h"
#include "eris/types.h"
#include "routing/block_pool.h"
#include "routing/incoming_buffer.h"
#include "routing/port_registry.h"
#include "routing/ranges/table_reader.h"
#include "routing/snapshot_registry.h"
#include "routing/turn_door.h"
#include "routing/waker.h"

namespace eris::routing {

struct AeuEndpoint {
  AeuEndpoint(std::byte* memory, size_t half_bytes, NumaNodeId node = NumaNodeId{0})
      : numa_node(node), incoming(memory, half_bytes) {}

  const NumaNodeId numa_node;  // of the AEU
  IncomingBuffer incoming;
  alignas(base::kNoSharingBytes) BlockQueue ingress;
  Waker waker;
  TurnDoor door;
};

class EndpointDirectory {
 public:
  EndpointDirectory() = default;
  EndpointDirectory(const EndpointDirectory&) = delete;
  EndpointDirectory& operator=(const EndpointDirectory&) = delete;

  // Adds the endpoint of the next AeuId. Before any Port is made.
  void Add(std::unique_ptr<AeuEndpoint> endpoint) {
    numa_nodes_ = std::max(numa_nodes_, endpoint->numa_node.value + 1);
    endpoints_.push_back(std::move(endpoint));
  }

  size_t size() const { return endpoints_.size(); }
  // The AEUs' NumaNodes have numbers below it.
  uint32_t numa_nodes() const { return numa_nodes_; }
  AeuEndpoint& operator[](AeuId aeu) const { return *endpoints_[aeu.value]; }
  // The Ports that use this directory, and the partition tables that they hold.
  PortRegistry& ports() const { return ports_; }
  TableReaders& table_readers() const { return table_readers_; }
  // The engine's epoch, which all AEUs and scans share.
  SnapshotRegistry& snapshots() const { return snapshots_; }
  // What transfers may move, all together (BalancerOptions::max_bytes_per_s).
  base::ByteRate& transfer_rate() const { return transfer_rate_; }

 private:
  std::vector<std::unique_ptr<AeuEndpoint>> endpoints_;  // by AeuId
  uint32_t numa_nodes_ = 0;
  mutable PortRegistry ports_;
  mutable TableReaders table_readers_;
  mutable SnapshotRegistry snapshots_;
  mutable base::ByteRate transfer_rate_;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_ENDPOINT_H_
