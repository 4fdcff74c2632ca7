#include "aeu/state/range_walk.h"

#include <algorithm>

#include "storage/key.h"
#include "storage/ordered_partition.h"

namespace eris::aeu {

using storage::Range;

bool RangeWalk::GoOn(ObjectSlot& slot, storage::HomeWork& work, std::optional<uint64_t> end) {
  for (OwnedRange& owned : slot.ranges()) {
    const Range& range = owned.partition->range();
    if (range.Empty() || (range.hi && range.hi->head <= next_key)) continue;
    if (end && range.lo.head >= *end) break;
    work.next_key = std::max(next_key, range.lo.head);
    work.next_second = work.next_key == next_key ? next_second : 0;
    work.resumes = next_key > range.lo.head || work.next_second > 0;
    const bool complete = owned.partition->ordered()->BringHome(work);
    if (work.refused) return true;
    next_key = complete ? range.hi.value_or(storage::Key{}).head : work.next_key;
    next_second = complete ? 0 : work.next_second;
    if (complete && !range.hi) return true;
    if (end && next_key >= *end) return true;
    if (!complete || work.Spent()) return false;
  }
  return true;
}

}  // namespace eris::aeu
