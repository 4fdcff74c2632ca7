// Which AEU owns which key range of a data object: the range partition table. A version is
// immutable; a new one is published by pointer, and readers keep using the one they hold. Paper:
// ERIS 3.2 (partition tables), 3.3.2.
#ifndef ERIS_ROUTING_PARTITION_TABLE_H_
#define ERIS_ROUTING_PARTITION_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/types.h"
#include "storage/key.h"

namespace eris::routing {

class RangeTable {
 public:
  // Partition i owns [starts[i], starts[i+1]); the last one goes to the end of the key space.
  // REQUIRES: equal, non-zero lengths; starts ascending strictly, starts[0] == 0.
  RangeTable(uint64_t version, std::vector<uint64_t> starts, std::vector<AeuId> owners);

  uint64_t version() const { return version_; }
  size_t size() const { return starts_.size(); }
  const std::vector<uint64_t>& starts() const { return starts_; }
  const std::vector<AeuId>& owners() const { return owners_; }

  // The index of the partition that owns `key`. O(log size).
  size_t PartitionOf(uint64_t key) const;
  AeuId OwnerOf(uint64_t key) const { return owners_[PartitionOf(key)]; }
  storage::Range RangeOf(size_t partition) const;

  // owners_out[i] is the AEU of keys[i]; equal lengths. Step 1 of the paper's Figure 4.
  void OwnersOf(std::span<const uint64_t> keys, std::span<AeuId> owners_out) const;

 private:
  const uint64_t version_;
  const std::vector<uint64_t> starts_;
  const std::vector<AeuId> owners_;
};

// How commands for one data object find their way: its slot at every AEU, its id, and the table in
// force. Shared by Ports (readers) and the one publisher of the object.
class ObjectRoute {
 public:
  ObjectRoute(uint32_t slot, ObjectId object, std::unique_ptr<const RangeTable> first);
  ObjectRoute(const ObjectRoute&) = delete;
  ObjectRoute& operator=(const ObjectRoute&) = delete;

  uint32_t slot() const { return slot_; }
  ObjectId object() const { return object_; }
  // Valid as long as the route. acquire: pairs with the release in Publish.
  const RangeTable& table() const { return *current_.load(std::memory_order_acquire); }

  // REQUIRES: a version above the current one's. Superseded versions are kept as long as the route:
  // a Port may hold one at any time, and a table is 12 bytes a partition.
  void Publish(std::unique_ptr<const RangeTable> next);

 private:
  // Immutable after construction.
  const uint32_t slot_;
  const ObjectId object_;

  // Guarded by mu_; no reader takes it.
  base::Mutex mu_;
  std::vector<std::unique_ptr<const RangeTable>> versions_ ABSL_GUARDED_BY(mu_);

  // Shared: written by the publisher, read by Ports.
  std::atomic<const RangeTable*> current_;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_PARTITION_TABLE_H_
