// What one AEU holds of one data object: its ranges, each with a partition, the memory cache they
// allocate from, and the load they have seen. Owned by the AEU thread but for the figures that
// others read. Paper: ERIS 3.1, Figure 3.
#ifndef ERIS_AEU_OBJECT_SLOT_H_
#define ERIS_AEU_OBJECT_SLOT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "aeu/partition_load.h"
#include "eris/types.h"
#include "memory/local_cache.h"
#include "routing/object_route.h"
#include "storage/partition.h"

namespace eris::aeu {

struct OwnedRange {
  std::unique_ptr<storage::Partition> partition;
  std::shared_ptr<PartitionLoad> load;  // shared with the balancer's sampler
  uint64_t version_bytes = 0;  // of the partition, as far as the registry of snapshots knows
};

class ObjectSlot {
 public:
  // `cache` is the AEU's own and, as all caches, its manager's: it outlives the slot.
  // `copies_bytes`: its values are byte strings, so that its commands copy more than they hold.
  ObjectSlot(ObjectId object, const routing::ObjectRoute& route, memory::LocalCache& cache,
             bool copies_bytes = false)
      : object_(object), route_(route), cache_(cache), copies_bytes_(copies_bytes) {}
  // No row is touched: the memory goes back with the manager, in O(superblocks).
  ~ObjectSlot() {
    for (OwnedRange& owned : ranges_) owned.partition->Abandon();
  }

  ObjectId object() const { return object_; }
  const routing::ObjectRoute& route() const { return route_; }
  memory::LocalCache& cache() const { return cache_; }
  bool copies_bytes() const { return copies_bytes_; }
  // Ordered by range, disjoint. Usually one.
  std::vector<OwnedRange>& ranges() { return ranges_; }

  const std::vector<OwnedRange>& ranges() const { return ranges_; }

  // The owned range that holds `key`, or nullptr. O(log ranges).
  OwnedRange* Find(uint64_t key);

 private:
  const ObjectId object_;
  const routing::ObjectRoute& route_;
  memory::LocalCache& cache_;
  const bool copies_bytes_;
  std::vector<OwnedRange> ranges_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_OBJECT_SLOT_H_
