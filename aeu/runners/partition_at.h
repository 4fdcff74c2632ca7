// Which partition of an object a pass over a table is in. Used by the AEU's thread. Paper: ERIS 3.1
// (scan sharing).
#ifndef ERIS_AEU_PARTITION_AT_H_
#define ERIS_AEU_PARTITION_AT_H_

#include "aeu/state/object_slot.h"
#include "routing/table_scan_part.h"

namespace eris::aeu {

// The partition of `at`, or the one with the next number; nullptr: there is none. Passes follow
// numbers, not keys, because a partition may have no keys left. A newly added partition has the
// highest number and no rows for older snapshots, so it does not matter whether a scan visits it. A
// removed partition had nothing left for them.
inline const OwnedRange* PartitionAt(const ObjectSlot& slot, const routing::TablePlace& at) {
  const bool behind = at.segment == routing::TablePlace::kBehindPartition;
  const OwnedRange* next = nullptr;
  for (const OwnedRange& owned : slot.ranges()) {
    if (owned.id < at.partition || (behind && owned.id == at.partition)) continue;
    if (next == nullptr || owned.id < next->id) next = &owned;
  }
  return next;
}

}  // namespace eris::aeu

#endif  // ERIS_AEU_PARTITION_AT_H_
