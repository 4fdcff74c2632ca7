// The status of a read whose part has ended, and how often a read retries. Shared by scans,
// aggregates and joins. Any thread, no state.
#ifndef ERIS_ENGINE_READS_ENDED_PART_H_
#define ERIS_ENGINE_READS_ENDED_PART_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/core/core.h"
#include "engine/objects/object_entry.h"
#include "eris/query.h"
#include "routing/part.h"

namespace eris::engine {

// How often in a row a read may find its ranges moved, with no part answered in between, before it
// gives up. Each time means a transfer that has not been published, and costs one message to an
// AEU, which holds the part while the range is moving.
class MovedCount {
 public:
  static constexpr uint32_t kMax = 10'000;
  // False: too often.
  [[nodiscard]] bool Count(bool progress) {
    count_ = progress ? 0 : count_ + 1;
    return count_ <= kMax;
  }

 private:
  uint32_t count_ = 0;
};
absl::Status MovedAgain(uint64_t key);

absl::Status NoRoom(const Core& core);  // AEUs accepted nothing
absl::Status Dropped(const ObjectEntry& object);

// The status of a part that has neither been answered nor found its range moved. `what`: e.g.
// "scan". `snapshot`: the one it read at, nullptr if that was released; snapshot_epoch 0: none.
absl::Status StatusOf(routing::PartOutcome outcome, const Core& core, const ObjectEntry& object,
                      absl::string_view what, uint64_t snapshot_epoch = 0,
                      const Snapshot* snapshot = nullptr);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_ENDED_PART_H_
