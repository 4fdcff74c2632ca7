#include "aeu/transfers/homecoming.h"

#include <algorithm>

#include "aeu/state/reserve_more.h"
#include "storage/ordered_partition.h"

namespace eris::aeu {

using storage::HomeWork;
using storage::Range;

void Homecoming::Reserve() { ReserveMore(walks_, 2); }

void Homecoming::Begin(ObjectSlot& slot, const Range& range) {
  const uint64_t begin = range.lo.head;
  const std::optional<uint64_t> end = range.hi ? std::optional(range.hi->head) : std::nullopt;
  const auto found = std::find_if(walks_.begin(), walks_.end(),
                                  [&](const Walk& walk) { return walk.slot == &slot; });
  if (found == walks_.end()) {
    walks_.push_back({&slot, begin, 0, end});
    counters_.homecomings.Set(walks_.size());
    return;
  }
  // What is between the two is at home, and only visited.
  if (begin <= found->next_key) {
    found->next_key = begin;
    found->next_second = 0;
  }
  found->end = end && found->end ? std::optional(std::max(*end, *found->end)) : std::nullopt;
}

bool Homecoming::IsUnderWay(const ObjectSlot& slot, const Range& range) const {
  return std::any_of(walks_.begin(), walks_.end(), [&](const Walk& walk) {
    return walk.slot == &slot && (!range.hi || range.hi->head > walk.next_key) &&
           (!walk.end || range.lo.head < *walk.end);
  });
}

void Homecoming::EndAll(const ObjectSlot* slot) {
  std::erase_if(walks_, [&](const Walk& walk) { return walk.slot == slot; });
  counters_.homecomings.Set(walks_.size());
}

void Homecoming::GoOn(uint32_t bytes_max) {
  if (turn_.stepped || walks_.empty()) return;
  Walk walk = walks_.front();
  WorkPace& pace = walk.slot->paces().bring;
  constexpr auto kUnit = static_cast<uint32_t>(HomeWork::kVisitBytes);
  const uint32_t units = pace.Rows(turn_.cpu_ns_max, bytes_max / kUnit);
  const uint64_t began_ns = turn_.clock();
  HomeWork work{.bytes_left = int64_t{units} * kUnit};
  const bool complete = GoOn(walk, work);
  host_.MemoryFreed(*walk.slot);
  pace.Learn(units, turn_.clock() - began_ns, complete);
  counters_.bytes_brought_home.Add(work.moved_bytes);
  if (work.refused) counters_.homecomings_refused.Add(1);
  // Objects take turns.
  walks_.erase(walks_.begin());
  if (!complete) walks_.push_back(walk);
  counters_.homecomings.Set(walks_.size());
}

bool Homecoming::GoOn(Walk& walk, HomeWork& work) {
  for (OwnedRange& owned : walk.slot->ranges()) {
    const Range& range = owned.partition->range();
    if (range.Empty() || (range.hi && range.hi->head <= walk.next_key)) continue;
    if (walk.end && range.lo.head >= *walk.end) break;
    work.next_key = std::max(walk.next_key, range.lo.head);
    work.next_second = work.next_key == walk.next_key ? walk.next_second : 0;
    const bool complete = owned.partition->ordered()->BringHome(work);
    if (work.refused) return true;
    walk.next_key = complete ? range.hi.value_or(storage::Key{}).head : work.next_key;
    walk.next_second = complete ? 0 : work.next_second;
    if (complete && !range.hi) return true;
    if (walk.end && walk.next_key >= *walk.end) return true;
    if (!complete || work.Spent()) return false;
  }
  return true;
}

}  // namespace eris::aeu
