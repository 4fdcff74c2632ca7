// One AEU's part of one data object: its ranges, each with a partition; the memory cache they
// allocate from; their loads; and the range that it has just given away, as long as the partition
// table still shows it here. Owned by the AEU thread, except figures that others read. Paper: ERIS
// 3.1, Figure 3; 3.3.2.
#ifndef ERIS_AEU_OBJECT_SLOT_H_
#define ERIS_AEU_OBJECT_SLOT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aeu/state/access_sample.h"
#include "aeu/state/partition_load.h"
#include "aeu/state/partition_spec.h"
#include "aeu/state/range_history.h"
#include "aeu/state/work_pace.h"
#include "eris/types.h"
#include "memory/local_cache.h"
#include "routing/ranges/object_route.h"
#include "storage/partition.h"

namespace eris::aeu {

// Unique among all ranges of the process, for ever, and above those of earlier ranges.
uint64_t NextRangeId();

struct OwnedRange {
  std::unique_ptr<storage::Partition> partition;
  std::shared_ptr<PartitionLoad> load;  // its rows, as other threads see them
  uint64_t version_bytes = 0;  // of the partition, as last reported to the registry of snapshots
  bool lends = false;          // another AEU has still to install some of its rows
  bool forgets = false;        // it still frees rows that it has given away
  // Identifies it for table scans, because its range may change.
  uint64_t id = NextRangeId();

  // Whether it may take in a range, or be joined with another one.
  bool settled() const { return !lends && !forgets; }
};

// A range that was given away while every table still shows its old owner. The target will own it
// by `version`; commands of older tables are forwarded to it immediately: after the range, in the
// same stream.
struct Stub {
  storage::Range range;
  AeuId target;
  uint64_t version = 0;
  // A command had no room: all that follow it are refused too.
  bool broken = false;
};

// The rows that a hash has prepared to leave, for transfers.
struct PreparedRows {
  const storage::Partition* partition = nullptr;
  storage::Range leaving;
  bool ready = false;  // the walk is complete
};

class ObjectSlot {
 public:
  // `cache` belongs to the AEU and, like all caches, to its manager: it outlives the slot.
  // `copies_bytes`: the values are byte strings, so its commands copy more bytes than they contain.
  ObjectSlot(ObjectId object, const routing::ObjectRoute& route, memory::LocalCache& cache,
             bool copies_bytes = false, PartitionSpec spec = {})
      : object_(object),
        route_(route),
        cache_(cache),
        copies_bytes_(copies_bytes),
        spec_(std::move(spec)) {}
  // Touches no row: the memory is freed with the manager, in O(superblocks).
  ~ObjectSlot() {
    for (OwnedRange& owned : ranges_) owned.partition->Abandon();
  }

  ObjectId object() const { return object_; }
  const routing::ObjectRoute& route() const { return route_; }
  memory::LocalCache& cache() const { return cache_; }
  bool copies_bytes() const { return copies_bytes_; }
  const PartitionSpec& spec() const { return spec_; }
  // A heap table has none: no AEU owns its keys.
  bool has_keys() const { return spec_.kind != ObjectKind::kHeapTable; }
  // This AEU's work for the object, whichever ranges it has; shared with the balancer's sampler.
  const std::shared_ptr<AccessSample>& accesses() const { return accesses_; }
  // Ordered by range, disjoint. Usually one. Some may be empty: they keep old rows for a while.
  std::vector<OwnedRange>& ranges() { return ranges_; }

  const std::vector<OwnedRange>& ranges() const { return ranges_; }

  // The owned range that contains `key`, or nullptr. O(log ranges).
  OwnedRange* Find(uint64_t key);
  // The range with that partition, or nullptr. O(ranges).
  OwnedRange* Find(const storage::Partition* partition);
  // Inserts it in order; returns its index.
  size_t Insert(OwnedRange owned);
  // The load of a range that will be inserted.
  std::shared_ptr<PartitionLoad> NewLoad(const storage::Range& range);
  // After it, `more` ranges can be added, with their loads, without memory. Throws std::bad_alloc.
  void ReserveRanges(size_t more);
  // The range at `index` now begins elsewhere: moves it to its place in the order, past empty
  // ranges in between; returns its index.
  size_t Reorder(size_t index);
  // An empty partition of the object. Errors: ResourceExhausted.
  absl::StatusOr<std::unique_ptr<storage::Partition>> MakePartition(
      const storage::Range& range, const storage::SnapshotView& snapshots) {
    return aeu::MakePartition(spec_, range, cache_, snapshots, partitions_made_++);
  }

  // Counts the segments that table scans reached recently, and how many of them a filter excluded
  // without reading. Many exclusions mean that the scans need only a part of the rows.
  void RecordSegment(bool pruned) {
    if (++segments_ >= 256) {
      segments_ /= 2;
      pruned_ /= 2;
    }
    pruned_ += pruned;
  }
  bool ScansArePruned() const { return pruned_ * 8 > segments_; }

  // The amount that a turn does of each kind of background work on the object.
  struct Paces {
    WorkPace forget;         // rows that were given away
    WorkPace walk;           // rows that a hash prepares to leave, or takes back
    WorkPace maintain;       // rows to be compacted, or freed
    WorkPace free_versions;  // old rows
    WorkPace bring;          // memory to be brought home, in HomeWork::kVisitBytes
    WorkPace census;         // the same, which is only noted
  };
  Paces& paces() { return paces_; }

  // Every slot has its own, so that transfers of several objects do not disturb each other.
  PreparedRows& prepared() { return prepared_; }

  const std::optional<Stub>& stub() const { return stub_; }
  void SetStub(std::optional<Stub> stub) { stub_ = std::move(stub); }
  // Scans wait at such a key: its new owner is known when the step has ended.
  bool UnderStub(uint64_t key) const { return stub_ && stub_->range.ContainsU64(key); }
  // Whether a command of table `version` on an absent key is forwarded.
  bool SendsOn(uint64_t key, uint64_t version) const {
    return UnderStub(key) && version < stub_->version && !history_.TooOld(key, version);
  }
  // The ranges that the slot has taken in from others.
  RangeHistory& history() { return history_; }
  const RangeHistory& history() const { return history_; }
  void BreakStub() {
    if (stub_) stub_->broken = true;
  }

 private:
  const ObjectId object_;
  const routing::ObjectRoute& route_;
  memory::LocalCache& cache_;
  const bool copies_bytes_;
  const PartitionSpec spec_;
  uint64_t partitions_made_ = 0;
  const std::shared_ptr<AccessSample> accesses_ = std::make_shared<AccessSample>();
  std::vector<OwnedRange> ranges_;
  std::vector<std::shared_ptr<PartitionLoad>> spare_loads_;
  std::optional<Stub> stub_;
  RangeHistory history_;
  PreparedRows prepared_;
  Paces paces_;
  uint32_t segments_ = 0;
  uint32_t pruned_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_OBJECT_SLOT_H_
