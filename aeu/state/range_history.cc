#include "aeu/state/range_history.h"

#include <algorithm>

#include "base/check.h"

namespace eris::aeu {

void RangeHistory::TookIn(const storage::Range& range, uint64_t version) {
  if (range.Empty()) return;
  ERIS_DCHECK(version >= newest_ && taken_.capacity() >= kRangesMax);
  newest_ = version;
  if (taken_.size() == kRangesMax) {
    oldest_ = taken_.front().version;
    taken_.erase(taken_.begin());
  }
  taken_.push_back({range.lo.head, range.hi ? range.hi->head - 1 : ~uint64_t{0}, version});
}

bool RangeHistory::TooOld(uint64_t key, uint64_t version) const {
  if (Knows(version)) return false;
  if (version < oldest_) return true;
  return std::any_of(taken_.rbegin(), taken_.rend(), [&](const Taken& taken) {
    return version < taken.version && key >= taken.first && key <= taken.last;
  });
}

}  // namespace eris::aeu
