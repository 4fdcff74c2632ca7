// Snapshots as an AEU's turn sees them: the epoch of its writes, and which snapshots are held. Read
// once per turn, after all sources of commands have been cut. Plain data; belongs to the AEU.
// Paper: ERIS 3.1 (MVCC).
//
// A snapshot S shows the writes stamped with S or less. So a write stamped e keeps the value it
// replaces if some held snapshot s < e has no kept value of that key.
#ifndef ERIS_STORAGE_SNAPSHOT_VIEW_H_
#define ERIS_STORAGE_SNAPSHOT_VIEW_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace eris::storage {

struct SnapshotView {
  uint64_t epoch = 1;              // of this turn's writes
  std::vector<uint64_t> active{};  // ascending; all were held, and not aborted, when read

  // Whether some held snapshot s has from <= s < end: a version that was valid from `from` and was
  // replaced at `end` is still needed.
  bool Needs(uint64_t from, uint64_t end) const {
    const auto first = std::lower_bound(active.begin(), active.end(), from);
    return first != active.end() && *first < end;
  }
  // Whether a held snapshot is older than this turn's writes.
  bool AnyBefore(uint64_t end) const { return !active.empty() && active.front() < end; }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_SNAPSHOT_VIEW_H_
