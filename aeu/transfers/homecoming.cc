#include "aeu/transfers/homecoming.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"
#include "memory/memory_manager.h"

namespace eris::aeu {

using memory::LocalCache;
using memory::SuperblockCensus;
using storage::HomeWork;
using storage::Range;

namespace {

constexpr auto kUnit = static_cast<uint32_t>(HomeWork::kVisitBytes);
// How long an AEU sleeps because of the rate, which may have changed meanwhile.
constexpr uint64_t kWaitNs = 20'000'000;
// How long the keeper may take to prepare memory. Then the AEU takes its pages from the system.
constexpr uint64_t kPreparedWaitNs = 100'000'000;
constexpr uint64_t kLookAgainNs = 100'000;  // whether it is there
// How long an AEU counts as busy after a turn with other work, and how much longer than a piece it
// then does nothing of this kind.
constexpr uint64_t kBusyForNs = 2'000'000;
constexpr uint64_t kRestsFor = 3;

}  // namespace

bool Homecoming::Walk::WaitsForAnswers() const {
  return stage == Stage::kPages && !cache().HasToBring() && cache().ClaimsAreOut();
}

bool Homecoming::Walk::BringsNext() const {
  return stage == Stage::kBlocks || (stage == Stage::kPages && cache().HasToBring());
}

void Homecoming::Walk::BeginAt(Stage stage_begun, uint64_t key) {
  stage = stage_begun;
  waits_since_ns = 0;
  at.BeginAt(key);
}

void Homecoming::Reserve() {
  ReserveMore(walks_, 2);
  // Those that the history has forgotten.
  std::erase_if(notes_, [](const Note& note) { return note.note.use_count() == 1; });
  ReserveMore(notes_, 2);
  ReserveMore(left_, walks_.size() + 2);
}

void Homecoming::Begin(ObjectSlot& slot, const Range& range,
                       const std::shared_ptr<routing::HomeNote>& note) {
  const auto is_it = [&](const Note& one) { return one.note == note; };
  if (note != nullptr) {
    note->Begin();
    // A transfer may have several steps.
    if (std::none_of(notes_.begin(), notes_.end(), is_it)) notes_.push_back({&slot, note});
  }
  const uint64_t begin = range.lo.head;
  const std::optional<uint64_t> end = range.hi ? std::optional(range.hi->head) : std::nullopt;
  const auto found = std::find_if(walks_.begin(), walks_.end(),
                                  [&](const Walk& walk) { return walk.slot == &slot; });
  if (found == walks_.end()) {
    walks_.push_back(Walk{.slot = &slot, .at = {begin}, .end = end, .begin = begin});
    counters_.homecomings.Set(walks_.size());
    return;
  }
  found->of_others = true;
  // What is between the two is at home, and only visited.
  if (begin <= found->at.next_key) {
    // Until blocks are copied, what is behind the walk has been counted, and not brought.
    if (found->stage == Stage::kBlocks || begin < found->begin) found->begin = begin;
    found->stop = std::nullopt;
    found->census = nullptr;
    found->BeginAt(Stage::kCensus, found->begin);
  }
  // A census that is over has not met it.
  if (found->stage != Stage::kCensus && (!found->stop || begin < *found->stop)) found->stop = begin;
  found->end = end && found->end ? std::optional(std::max(*end, *found->end)) : std::nullopt;
}

bool Homecoming::BringWhatIsLeft(ObjectSlot& slot) {
  // One under way finds it, or leaves it for the next call.
  if (HasWalk(&slot)) return true;
  if (!IsLeft(&slot)) {
    slot.cache().Trim();  // free blocks may be all that keeps a superblock
    if (slot.cache().manager().spilled_bytes() == 0) return false;
  }
  Reserve();
  SetLeft(&slot, false);
  Begin(slot, Range{});
  walks_.back().of_others = false;
  return true;
}

bool Homecoming::HasWalk(const ObjectSlot* slot) const {
  return std::any_of(walks_.begin(), walks_.end(),
                     [&](const Walk& walk) { return walk.slot == slot; });
}

bool Homecoming::IsLeft(const ObjectSlot* slot) const {
  return std::find(left_.begin(), left_.end(), slot) != left_.end();
}

void Homecoming::SetLeft(const ObjectSlot* slot, bool left) {
  std::erase(left_, slot);
  if (left) left_.push_back(slot);
  counters_.objects_left.Set(left_.size());
}

bool Homecoming::IsUnderWay(const ObjectSlot& slot, const Range& range) const {
  return IsLeft(&slot) || std::any_of(walks_.begin(), walks_.end(), [&](const Walk& walk) {
           const uint64_t from = walk.stage == Stage::kBlocks ? walk.at.next_key : walk.begin;
           return walk.slot == &slot && (!range.hi || range.hi->head > from) &&
                  (!walk.end || range.lo.head < *walk.end);
         });
}

void Homecoming::EndAll(const ObjectSlot* slot) {
  std::erase_if(walks_, [&](const Walk& walk) { return walk.slot == slot; });
  counters_.homecomings.Set(walks_.size());
  End(slot, MemoryFollows::kNothing);
  SetLeft(slot, false);
}

void Homecoming::End(const ObjectSlot* slot, MemoryFollows state) {
  std::erase_if(notes_, [&](Note& note) {
    if (note.slot != slot) return false;
    note.note->End(state, NowNs());
    return true;
  });
}

bool Homecoming::Waits(const Walk& walk) const {
  return walk.WaitsForAnswers() ||
         (walk.BringsNext() && rate_.IsLimited() && rate_.WaitNs(NowNs()) > 0);
}

void Homecoming::NoteTurn(bool busy) {
  if (busy && !walks_.empty()) busy_until_ns_ = NowNs() + kBusyForNs;
}

bool Homecoming::HasWork() const {
  if (walks_.empty() || NowNs() < rests_until_ns_) return false;
  return std::any_of(walks_.begin(), walks_.end(), [&](const Walk& walk) { return !Waits(walk); });
}

uint64_t Homecoming::WaitNs() const {
  if (walks_.empty()) return 0;
  const bool waits =
      std::any_of(walks_.begin(), walks_.end(), [](const Walk& walk) { return walk.BringsNext(); });
  const uint64_t now_ns = NowNs();
  const uint64_t rests_ns = std::max(rests_until_ns_, now_ns) - now_ns;
  const uint64_t rate_ns = waits ? std::clamp(rate_.WaitNs(now_ns), uint64_t{1}, kWaitNs) : 0;
  return std::max(rests_ns, rate_ns);
}

void Homecoming::GoOn(uint32_t bytes_max) {
  if (turn_.stepped) return;
  const auto found =
      std::find_if(walks_.begin(), walks_.end(), [&](const Walk& walk) { return !Waits(walk); });
  if (found == walks_.end()) return;
  Walk walk = std::move(*found);
  // Objects take turns.
  walks_.erase(found);
  const uint64_t began_ns = turn_.clock();
  const uint64_t bytes_before = counters_.bytes_brought_home.Read();
  const uint64_t remapped_before = counters_.bytes_remapped.Read();
  const bool ended = GoOnWith(walk, PieceBytes(walk, bytes_max));
  const uint64_t cpu_ns = turn_.clock() - began_ns;
  const uint64_t now_ns = NowNs();
  rests_until_ns_ = now_ns < busy_until_ns_ ? now_ns + kRestsFor * cpu_ns : 0;
  if (walk.waits_since_ns != 0) rests_until_ns_ = std::max(rests_until_ns_, now_ns + kLookAgainNs);
  const uint64_t bytes = counters_.bytes_brought_home.Read() - bytes_before;
  if (bytes > 0 && rate_.IsLimited()) rate_.Add(bytes, NowNs());
  Brought(walk.slot, bytes, counters_.bytes_remapped.Read() - remapped_before, cpu_ns);
  if (ended) {
    End(walk.slot, walk.stays ? MemoryFollows::kStays : MemoryFollows::kHome);
    if (walk.stays) SetLeft(walk.slot, true);
  } else {
    walks_.push_back(std::move(walk));
  }
  counters_.homecomings.Set(walks_.size());
}

uint32_t Homecoming::PieceBytes(const Walk& walk, uint32_t bytes_max) const {
  if (!walk.BringsNext()) return bytes_max;
  return static_cast<uint32_t>(std::max<uint64_t>(kUnit, rate_.BytesIn(kWaitNs, bytes_max)));
}

bool Homecoming::GoOnWith(Walk& walk, uint32_t bytes_max) {
  switch (walk.stage) {
    case Stage::kCensus:
      return TakeCensus(walk, bytes_max);
    case Stage::kPages:
      return BringPages(walk);
    case Stage::kBlocks:
      return BringBlocks(walk, bytes_max);
  }
  return true;
}

void Homecoming::Brought(const ObjectSlot* slot, uint64_t bytes, uint64_t bytes_remapped,
                         uint64_t cpu_ns) {
  for (const Note& note : notes_) {
    if (note.slot == slot) note.note->AddPiece(bytes, bytes_remapped, cpu_ns);
  }
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
  const bool complete = walk.at.GoOn(*walk.slot, work, walk.end);
  pace.Learn(units, turn_.clock() - began_ns, complete);
  SuperblockCensus& census = *walk.census;
  const bool worthwhile = !walk.of_others || census.Worthwhile();
  if (!complete && !census.Full() && worthwhile) return false;
  walk.stop = complete || !worthwhile || walk.at.next_key <= walk.begin
                  ? std::nullopt
                  : std::optional(walk.at.next_key);
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
  const bool wait = walk.waits_since_ns == 0 || NowNs() - walk.waits_since_ns < kPreparedWaitNs;
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
  const bool complete = walk.at.GoOn(*walk.slot, work, walk.stop ? walk.stop : walk.end);
  host_.MemoryFreed(*walk.slot);
  pace.Learn(units, turn_.clock() - began_ns, complete);
  counters_.bytes_brought_home.Add(work.moved_bytes);
  walk.stays |= work.refused || work.spilled_stays;
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

}  // namespace eris::aeu
