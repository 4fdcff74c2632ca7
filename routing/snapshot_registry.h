// The epoch of the engine and the snapshots that are held: how scans see one moment of all
// partitions while AEUs go on writing, without either waiting for the other. Paper: ERIS 3.1
// (MVCC). docs/snapshots.md has the rule and its proof; tests/models/snapshot.pml the model.
//
//   an AEU's turn:  cut all sources of commands -> epoch() -> Read, if anything has changed
//   a scan:         Begin: slot = E, E: S -> S + 1 in one CAS -> the partition table -> send
//                   ... all its parts have answered -> End
//
// Cost: Begin O(1) but for finding a slot, Read O(slots ever used at once).
#ifndef ERIS_ROUTING_SNAPSHOT_REGISTRY_H_
#define ERIS_ROUTING_SNAPSHOT_REGISTRY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/cache_line.h"
#include "storage/snapshot_view.h"

namespace eris::routing {

class SnapshotRegistry {
 public:
  // Snapshots that can be held at once.
  static constexpr uint32_t kSlots = 1024;

  struct Held {
    uint32_t slot = 0;
    uint64_t epoch = 0;  // S: shows the writes stamped with S or less
  };
  // Any thread; latch-free. nullopt: all slots are taken.
  std::optional<Held> Begin();
  // When nobody will read at it any more. Any thread, once.
  void End(uint32_t slot);
  // Gives it up: AEUs stop keeping rows for it, and answer its scans "aborted". Any thread.
  void Abort(uint32_t slot);
  bool aborted(uint32_t slot) const;

  // What changes when a snapshot begins, ends or is given up. An AEU asks once a turn, after it has
  // cut its sources of commands, and calls Read if it is not what it was.
  struct Mark {
    uint64_t epoch = 0;
    uint64_t releases = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  Mark Now() const;
  // Those held and not aborted, and the epoch of `mark`. Allocates when there are more than ever
  // before.
  void Read(const Mark& mark, storage::SnapshotView& view) const;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_SNAPSHOT_REGISTRY_H_
