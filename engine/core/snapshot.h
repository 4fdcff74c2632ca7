// A snapshot as its holders see it: the user, and the scans that read at it, each with a reference.
// The last reference releases the registry's slot. So a slot is held until every part of every scan
// has been answered. Any thread. Paper: ERIS 3.1 (MVCC).
#ifndef ERIS_ENGINE_CORE_SNAPSHOT_H_
#define ERIS_ENGINE_CORE_SNAPSHOT_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "eris/query.h"
#include "routing/snapshot_registry.h"

namespace eris::engine {

class SnapshotImpl final : public Snapshot {
 public:
  SnapshotImpl(Core& core, const routing::SnapshotRegistry::Held& held, uint64_t begun_ns)
      : core_(core), held_(held), begun_ns_(begun_ns) {}
  // Wakes AEUs that keep old rows: they may now free them.
  ~SnapshotImpl() override;

  // S, which commands that read at it carry.
  uint64_t epoch() const override { return held_.epoch; }
  // Also gives it up when it has become too old. AEUs do so too, in turns with work, and
  // GiveUpAged.
  bool aborted() const override;
  uint64_t begun_ns() const { return begun_ns_; }

 private:
  Core& core_;
  const routing::SnapshotRegistry::Held held_;
  const uint64_t begun_ns_;
};

// One moment of all objects: includes every write acknowledged before the call, and none that
// begins after it. Never blocks. Errors: ResourceExhausted (the maximum number is held),
// Unavailable (closing).
absl::StatusOr<std::shared_ptr<SnapshotImpl>> TakeSnapshot(Core& core);

// Gives up the snapshots that are older than snapshot_age_ms_max at `now_ns`, whether or not old
// rows are kept for them. Any thread; O(snapshots). True: there were some.
bool GiveUpAged(Core& core, uint64_t now_ns);

// The snapshot of a scan: `given`, or a new one. Errors: as TakeSnapshot; Aborted (`given` has been
// given up).
absl::StatusOr<std::shared_ptr<Snapshot>> SnapshotFor(Core& core,
                                                      const std::shared_ptr<Snapshot>& given);

// The status of a scan whose snapshot was given up, with the limit that caused it. `snapshot` may
// be null, if it has been released.
absl::Status SnapshotAborted(const Core& core, uint64_t epoch, const Snapshot* snapshot);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_SNAPSHOT_H_
