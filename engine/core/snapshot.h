// A snapshot as its holders see it: the user, and the scans that read at it, each with a
// reference; the last one to go lets the registry's slot go. So a slot is held until every part of
// every scan has been answered. Any thread. Paper: ERIS 3.1 (MVCC).
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
  // Wakes AEUs where old rows are kept: they may be free now.
  ~SnapshotImpl() override;

  // S: what is read at it goes out with commands.
  uint64_t epoch() const override { return held_.epoch; }
  // Gives it up itself when it has got too old. AEUs do, too, in turns with work, and GiveUpAged.
  bool aborted() const override;
  uint64_t begun_ns() const { return begun_ns_; }

 private:
  Core& core_;
  const routing::SnapshotRegistry::Held held_;
  const uint64_t begun_ns_;
};

// One moment of all objects: every write acknowledged before the call is in it, none that begins
// after the call. Never blocks. Errors: ResourceExhausted (as many are held as there can be),
// Unavailable (closing).
absl::StatusOr<std::shared_ptr<SnapshotImpl>> TakeSnapshot(Core& core);

// Gives up the snapshots that are older at `now_ns` than snapshot_age_ms_max, whether or not old
// rows are kept for them. Any thread; O(snapshots). True: there were some.
bool GiveUpAged(Core& core, uint64_t now_ns);

// What a scan reads at: `given`, or one that is taken for it. Errors: as TakeSnapshot; Aborted
// (`given` has been given up).
absl::StatusOr<std::shared_ptr<Snapshot>> SnapshotFor(Core& core,
                                                      const std::shared_ptr<Snapshot>& given);

// What a scan ends with whose snapshot was given up: which limit it was. `snapshot` may be null,
// where it has been let go.
absl::Status SnapshotAborted(const Core& core, uint64_t epoch, const Snapshot* snapshot);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_SNAPSHOT_H_
