#include "aeu/transfers/homecoming.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"
#include "storage/ordered_partition.h"

namespace eris::aeu {

using memory::LocalCache;
using memory::SuperblockCensus;
using storage::HomeWork;
using storage::Range;

namespace {

constexpr auto kUnit = static_cast<uint32_t>(HomeWork::kVisitBytes);
// How long the keeper may take to prepare memory. Then the AEU takes its pages from the system.
constexpr uint64_t kWaitNs = 20'000'000;

}  // namespace

bool Homecoming::Walk::Waits() const {
  return stage == Stage::kPages && !cache().HasToBring() && cache().ClaimsAreOut();
}

void Homecoming::Walk::BeginAt(Stage stage_begun, uint64_t key) {
  stage = stage_begun;
  next_key = key;
  next_second = 0;
}

void Homecoming::Reserve() { ReserveMore(walks_, 2); }

void Homecoming::Begin(ObjectSlot& slot, const Range& range) {
  const uint64_t begin = range.lo.head;
  const std::optional<uint64_t> end = range.hi ? std::optional(range.hi->head) : std::nullopt;
  const auto found = std::find_if(walks_.begin(), walks_.end(),
                                  [&](const Walk& walk) { return walk.slot == &slot; });
  if (found == walks_.end()) {
    walks_.push_back(Walk{.slot = &slot, .next_key = begin, .end = end, .begin = begin});
    counters_.homecomings.Set(walks_.size());
    return;
  }
  // What is between the two is at home, and only visited.
  if (begin <= found->next_key) {
    found->begin = begin;
    found->stop = std::nullopt;
    found->census = nullptr;
    found->BeginAt(Stage::kCensus, begin);
  }
  // A census that is over has not met it.
  if (found->stage != Stage::kCensus && (!found->stop || begin < *found->stop)) found->stop = begin;
  found->end = end && found->end ? std::optional(std::max(*end, *found->end)) : std::nullopt;
}

bool Homecoming::IsUnderWay(const ObjectSlot& slot, const Range& range) const {
  return std::any_of(walks_.begin(), walks_.end(), [&](const Walk& walk) {
    const uint64_t from = walk.stage == Stage::kBlocks ? walk.next_key : walk.begin;
    return walk.slot == &slot && (!range.hi || range.hi->head > from) &&
           (!walk.end || range.lo.head < *walk.end);
  });
}

void Homecoming::EndAll(const ObjectSlot* slot) {
  std::erase_if(walks_, [&](const Walk& walk) { return walk.slot == slot; });
  counters_.homecomings.Set(walks_.size());
}

bool Homecoming::HasWork() const {
  return std::any_of(walks_.begin(), walks_.end(), [](const Walk& walk) { return !walk.Waits(); });
}

void Homecoming::GoOn(uint32_t bytes_max) {
  if (turn_.stepped) return;
  const auto found =
      std::find_if(walks_.begin(), walks_.end(), [](const Walk& walk) { return !walk.Waits(); });
  if (found == walks_.end()) return;
  Walk walk = std::move(*found);
  // Objects take turns.
  walks_.erase(found);
  bool ended = false;
  switch (walk.stage) {
    case Stage::kCensus:
      ended = TakeCensus(walk, bytes_max);
      break;
    case Stage::kPages:
      ended = BringPages(walk);
      break;
    case Stage::kBlocks:
      ended = BringBlocks(walk, bytes_max);
      break;
  }
  if (!ended) walks_.push_back(std::move(walk));
  counters_.homecomings.Set(walks_.size());
}

bool Homecoming::TakeCensus(Walk& walk, uint32_t bytes_max) {
  LocalCache& cache = walk.cache();
  if (walk.census == nullptr) {
    walk.given_away = cache.given_away();
    walk.left_remote = cache.left_remote();
    try {
      walk.census = std::make_unique<SuperblockCensus>(cache);
    } catch (const std::bad_alloc&) {  // the general heap has none: block by block, then
      walk.BeginAt(Stage::kBlocks, walk.begin);
      return false;
    }
  }
  WorkPace& pace = walk.slot->paces().census;
  const uint32_t units = pace.Rows(turn_.cpu_ns_max, bytes_max / kUnit);
  const uint64_t began_ns = turn_.clock();
  HomeWork work{.bytes_left = int64_t{units} * kUnit, .census = walk.census.get()};
  const bool complete = GoOn(walk, work, walk.end);
  pace.Learn(units, turn_.clock() - began_ns, complete);
  SuperblockCensus& census = *walk.census;
  const bool worthwhile = census.Worthwhile();
  if (!complete && !census.Full() && worthwhile) return false;
  walk.stop = complete || !worthwhile || walk.next_key <= walk.begin ? std::nullopt
                                                                     : std::optional(walk.next_key);
  walk.looks_again = census.has_extents() || census.Full();
  const bool none = complete && census.superblocks().empty() && !census.Full();
  const bool claims = worthwhile && !none && cache.Claim(std::move(census));
  walk.census = nullptr;
  walk.BeginAt(claims ? Stage::kPages : Stage::kBlocks, walk.begin);
  return none && !walk.looks_again;
}

bool Homecoming::BringPages(Walk& walk) {
  LocalCache& cache = walk.cache();
  if (walk.given_away != cache.given_away()) {
    // Superblocks that were this AEU's alone may now hold rows of others, too.
    walk.BeginAt(Stage::kCensus, walk.begin);
    return false;
  }
  if (!cache.HasToBring()) {
    if (cache.left_remote() == walk.left_remote && !walk.looks_again) return EndStages(walk);
    walk.BeginAt(Stage::kBlocks, walk.begin);
    return false;
  }
  const bool wait = walk.waits_since_ns == 0 || NowNs() - walk.waits_since_ns < kWaitNs;
  uint64_t bytes = 0;
  switch (cache.BringSuperblock(wait, bytes)) {
    case LocalCache::Brought::kYes:
      counters_.bytes_brought_home.Add(bytes);
      counters_.bytes_remapped.Add(bytes);
      walk.waits_since_ns = 0;
      break;
    case LocalCache::Brought::kLater:
      if (walk.waits_since_ns == 0) walk.waits_since_ns = NowNs();
      break;
    case LocalCache::Brought::kNone:
    case LocalCache::Brought::kChecked:
      walk.waits_since_ns = 0;
      break;
    case LocalCache::Brought::kEnded:
      walk.waits_since_ns = 0;
      counters_.homecomings_refused.Add(1);
      break;
  }
  return false;
}

bool Homecoming::BringBlocks(Walk& walk, uint32_t bytes_max) {
  WorkPace& pace = walk.slot->paces().bring;
  const uint32_t units = pace.Rows(turn_.cpu_ns_max, bytes_max / kUnit);
  const uint64_t began_ns = turn_.clock();
  HomeWork work{.bytes_left = int64_t{units} * kUnit};
  const bool complete = GoOn(walk, work, walk.stop ? walk.stop : walk.end);
  host_.MemoryFreed(*walk.slot);
  pace.Learn(units, turn_.clock() - began_ns, complete);
  counters_.bytes_brought_home.Add(work.moved_bytes);
  if (work.refused) {
    counters_.homecomings_refused.Add(1);
    return true;
  }
  return complete && EndStages(walk);
}

bool Homecoming::EndStages(Walk& walk) {
  if (!walk.stop) return true;
  walk.begin = *walk.stop;
  walk.stop = std::nullopt;
  walk.BeginAt(Stage::kCensus, walk.begin);
  return false;
}

bool Homecoming::GoOn(Walk& walk, HomeWork& work, std::optional<uint64_t> end) {
  for (OwnedRange& owned : walk.slot->ranges()) {
    const Range& range = owned.partition->range();
    if (range.Empty() || (range.hi && range.hi->head <= walk.next_key)) continue;
    if (end && range.lo.head >= *end) break;
    work.next_key = std::max(walk.next_key, range.lo.head);
    work.next_second = work.next_key == walk.next_key ? walk.next_second : 0;
    const bool complete = owned.partition->ordered()->BringHome(work);
    if (work.refused) return true;
    walk.next_key = complete ? range.hi.value_or(storage::Key{}).head : work.next_key;
    walk.next_second = complete ? 0 : work.next_second;
    if (complete && !range.hi) return true;
    if (end && walk.next_key >= *end) return true;
    if (!complete || work.Spent()) return false;
  }
  return true;
}

}  // namespace eris::aeu
