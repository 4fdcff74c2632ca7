#include "engine/reads/ended_part.h"

#include "absl/strings/str_cat.h"
#include "engine/core/snapshot.h"
#include "eris/errors.h"

namespace eris::engine {

using routing::PartOutcome;

absl::Status MovedAgain(uint64_t key) {
  return Error(ErrorReason::kKeysMoving,
               absl::StrCat("key ", key, " was moved again and again between AEUs"));
}

absl::Status NoRoom(const Core& core) {
  return Error(ErrorReason::kBufferFull, absl::StrCat("no outgoing buffer came back for ",
                                                      core.limits.send_wait_ms_max, " ms"));
}

absl::Status Dropped(const ObjectEntry& object) {
  return Error(ErrorReason::kObjectDropped,
               absl::StrCat("object \"", object.name, "\" has been dropped"));
}

absl::Status StatusOf(PartOutcome outcome, const Core& core, const ObjectEntry& object,
                      absl::string_view what, uint64_t snapshot_epoch, const Snapshot* snapshot) {
  switch (outcome) {
    case PartOutcome::kNoObject:
      return Dropped(object);
    case PartOutcome::kRefused:
      return NoRoom(core);
    case PartOutcome::kNoMemory:
      return Error(ErrorReason::kMemoryLimit,
                   absl::StrCat("an AEU has no memory for its part of the ", what));
    case PartOutcome::kAborted:
      if (snapshot_epoch != 0) return SnapshotAborted(core, snapshot_epoch, snapshot);
      break;
    case PartOutcome::kAnswered:
    case PartOutcome::kMoved:
    case PartOutcome::kCancelled:
    case PartOutcome::kRunning:
      break;
  }
  return absl::CancelledError(absl::StrCat("the ", what, " was cancelled"));
}

}  // namespace eris::engine
