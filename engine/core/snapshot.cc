#include "engine/core/snapshot.h"

#include <new>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "aeu/state/clock.h"
#include "engine/core/closing.h"
#include "eris/errors.h"

namespace eris::engine {

namespace {

// Wakes AEUs that keep old rows: they may be able to free some, and may be asleep.
void WakeForOldRows(const Core& core) {
  if (core.directory.snapshots().version_bytes() <= 0) return;
  for (uint32_t i = 0; i < core.directory.size(); ++i) core.directory[AeuId{i}].waker.Wake();
}

}  // namespace

SnapshotImpl::~SnapshotImpl() {
  core_.directory.snapshots().End(held_.slot);
  WakeForOldRows(core_);
}

bool SnapshotImpl::aborted() const {
  routing::SnapshotRegistry& registry = core_.directory.snapshots();
  if (registry.aborted(held_.slot)) return true;
  if (aeu::NowNs() - begun_ns_ <= registry.age_ns_max()) return false;
  registry.Abort(held_.slot);
  return true;
}

bool GiveUpAged(Core& core, uint64_t now_ns) {
  routing::SnapshotRegistry& registry = core.directory.snapshots();
  const uint64_t age_ns = registry.age_ns_max();
  if (now_ns <= age_ns || !registry.AbortBegunBefore(now_ns - age_ns)) return false;
  WakeForOldRows(core);
  return true;
}

absl::StatusOr<std::shared_ptr<SnapshotImpl>> TakeSnapshot(Core& core) {
  if (core.in_flight.closed()) return EngineClosing();
  const uint64_t now_ns = aeu::NowNs();
  const std::optional<routing::SnapshotRegistry::Held> held =
      core.directory.snapshots().Begin(now_ns);
  if (!held) {
    return Error(ErrorReason::kSnapshotsHeld,
                 absl::StrCat("all ", routing::SnapshotRegistry::kSlots,
                              " snapshots are held, by scans and by users"));
  }
  try {
    return std::make_shared<SnapshotImpl>(core, *held, now_ns);
  } catch (const std::bad_alloc&) {
    core.directory.snapshots().End(held->slot);
    return Error(ErrorReason::kSystemMemory, "the system has no memory for a snapshot");
  }
}

absl::StatusOr<std::shared_ptr<Snapshot>> SnapshotFor(Core& core,
                                                      const std::shared_ptr<Snapshot>& given) {
  if (given == nullptr) return TakeSnapshot(core);
  if (given->aborted()) return SnapshotAborted(core, given->epoch(), given.get());
  return given;
}

absl::Status SnapshotAborted(const Core& core, uint64_t epoch, const Snapshot* snapshot) {
  const std::string what = absl::StrCat("snapshot ", epoch, " was given up: ");
  const std::string age =
      absl::StrCat("snapshot_age_ms_max (", core.options.snapshot_age_ms_max, " ms)");
  const std::string memory =
      absl::StrCat("version_bytes_max (", core.options.version_bytes_max, " bytes)");
  // No reason is stored when one is given up; but a young one was not given up because of its age.
  const bool young = snapshot != nullptr &&
                     aeu::NowNs() - static_cast<const SnapshotImpl*>(snapshot)->begun_ns() <=
                         core.directory.snapshots().age_ns_max();
  if (!young) {
    return Error(ErrorReason::kSnapshotGivenUp,
                 absl::StrCat(what, "it got older than ", age,
                              ", or the old rows kept for snapshots took more than ", memory));
  }
  return Error(ErrorReason::kSnapshotGivenUp,
               absl::StrCat(what, "the old rows kept for snapshots took more than ", memory,
                            ", or an erase found no memory to keep one"));
}

}  // namespace eris::engine
