#include "aeu/state/range_walk.h"

#include <algorithm>

#include "storage/key.h"

namespace eris::aeu {

using storage::Range;

bool RangeWalk::GoOnByNumber(ObjectSlot& slot, storage::HomeWork& work,
                             std::optional<uint64_t> end) {
  if (slot.ranges().empty()) return true;
  work.next_key = next_key;
  work.next_second = next_second;
  const bool complete = slot.ranges().front().partition->BringHome(work);
  if (complete) return true;
  next_key = work.next_key;
  next_second = work.next_second;
  return end && next_key >= *end;
}

bool RangeWalk::GoOn(ObjectSlot& slot, storage::HomeWork& work, std::optional<uint64_t> end) {
  if (!slot.has_keys()) return GoOnByNumber(slot, work, end);
  for (OwnedRange& owned : slot.ranges()) {
    const Range& range = owned.partition->range();
    if (range.Empty() || (range.hi && range.hi->head <= next_key)) continue;
    if (end && range.lo.head >= *end) break;
    work.next_key = std::max(next_key, range.lo.head);
    work.next_second = work.next_key == next_key ? next_second : 0;
    work.resumes = next_key > range.lo.head || work.next_second > 0;
    const bool complete = owned.partition->BringHome(work);
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
