#include "engine/snapshot.h"

#include <new>
#include <optional>

#include "absl/strings/str_cat.h"
#include "aeu/clock.h"

namespace eris::engine {

SnapshotImpl::~SnapshotImpl() {
  routing::SnapshotRegistry& registry = core_.directory.snapshots();
  registry.End(held_.slot);
  if (registry.version_bytes() <= 0) return;
  for (uint32_t i = 0; i < core_.directory.size(); ++i) core_.directory[AeuId{i}].waker.Wake();
}

bool SnapshotImpl::aborted() const {
  routing::SnapshotRegistry& registry = core_.directory.snapshots();
  if (registry.aborted(held_.slot)) return true;
  if (aeu::NowNs() - begun_ns_ <= registry.age_ns_max()) return false;
  registry.Abort(held_.slot);
  return true;
}

absl::StatusOr<std::shared_ptr<SnapshotImpl>> TakeSnapshot(Core& core) {
  if (core.in_flight.closed()) return absl::UnavailableError("the engine is closing");
  const uint64_t now_ns = aeu::NowNs();
  const std::optional<routing::SnapshotRegistry::Held> held =
      core.directory.snapshots().Begin(now_ns);
  if (!held) {
    return absl::ResourceExhaustedError(absl::StrCat("all ", routing::SnapshotRegistry::kSlots,
                                                     " snapshots are held, by scans and by users"));
  }
  try {
    return std::make_shared<SnapshotImpl>(core, *held, now_ns);
  } catch (const std::bad_alloc&) {
    core.directory.snapshots().End(held->slot);
    return absl::ResourceExhaustedError("the system has no memory for a snapshot");
  }
}

absl::StatusOr<std::shared_ptr<Snapshot>> SnapshotFor(Core& core,
                                                      const std::shared_ptr<Snapshot>& given) {
  if (given == nullptr) return TakeSnapshot(core);
  if (given->aborted()) return SnapshotAborted(given->epoch());
  return given;
}

absl::Status SnapshotAborted(uint64_t epoch) {
  return absl::AbortedError(absl::StrCat(
      "snapshot ", epoch,
      " was given up: it got too old, or the rows kept for snapshots took too much memory"));
}

}  // namespace eris::engine
