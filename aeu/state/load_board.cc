#include "aeu/state/load_board.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "aeu/state/reserve_more.h"
#include "base/check.h"
#include "base/prefetch.h"

namespace eris::aeu {
namespace {

// The first of `entries` whose object is not before `object`.
template <class Entries>
auto Place(Entries& entries, ObjectId object) {
  return std::lower_bound(
      entries.begin(), entries.end(), object,
      [](const auto& entry, ObjectId wanted) { return entry.load.object < wanted; });
}

uint64_t RowsIn(const ObjectLoad& load) {
  uint64_t rows = 0;
  for (const auto& partition : load.partitions) rows += partition->rows();
  return rows;
}

}  // namespace

LoadBoard::Entry& LoadBoard::EntryOf(const ObjectSlot& slot) {
  const auto place = Place(entries_, slot.object());
  if (place != entries_.end() && place->load.object == slot.object()) return *place;
  return *entries_.insert(place, Entry{{slot.object(), 0, {}, slot.accesses()}, &slot.cache()});
}

const LoadBoard::Entry* LoadBoard::Find(ObjectId object) const {
  const auto place = Place(entries_, object);
  return place != entries_.end() && place->load.object == object ? &*place : nullptr;
}

void LoadBoard::Add(ObjectSlot& slot, const OwnedRange& owned) {
  base::MutexLock lock(&mu_);
  auto& partitions = EntryOf(slot).load.partitions;
  owned.load->place = partitions.size();
  partitions.push_back(owned.load);
}

void LoadBoard::Remove(ObjectSlot& slot, const OwnedRange& owned) {
  const size_t place = std::exchange(owned.load->place, PartitionLoad::kNowhere);
  if (place == PartitionLoad::kNowhere) return;
  base::MutexLock lock(&mu_);
  auto& partitions = EntryOf(slot).load.partitions;
  ERIS_DCHECK(partitions[place] == owned.load);
  // The last one takes its place.
  if (place + 1 < partitions.size()) {
    partitions[place] = std::move(partitions.back());
    partitions[place]->place = place;
  }
  partitions.pop_back();
}

void LoadBoard::Reserve(ObjectSlot& slot, size_t more) {
  base::MutexLock lock(&mu_);
  ReserveMore(EntryOf(slot).load.partitions, more);
}

void LoadBoard::Erase(ObjectId object) {
  base::MutexLock lock(&mu_);
  const auto place = Place(entries_, object);
  if (place != entries_.end() && place->load.object == object) entries_.erase(place);
}

std::vector<ObjectLoad> LoadBoard::All() const {
  base::MutexLock lock(&mu_);
  std::vector<ObjectLoad> loads;
  for (const Entry& entry : entries_) {
    loads.push_back(entry.load);
    loads.back().memory_bytes = entry.cache->used_bytes();
  }
  return loads;
}

std::optional<ObjectLoad> LoadBoard::Of(ObjectId object) const {
  base::MutexLock lock(&mu_);
  const Entry* const entry = Find(object);
  if (entry == nullptr) return std::nullopt;
  ObjectLoad load = entry->load;
  load.memory_bytes = entry->cache->used_bytes();
  return load;
}

ObjectTotals LoadBoard::TotalsOf(const Entry& entry) {
  return {.object = entry.load.object,
          .memory_bytes = entry.cache->used_bytes(),
          .rows = RowsIn(entry.load)};
}

std::vector<ObjectTotals> LoadBoard::Totals() const {
  base::MutexLock lock(&mu_);
  std::vector<ObjectTotals> totals;
  totals.reserve(entries_.size());
  // An object's figures are in three places, none of them in a cache: they are fetched ahead.
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (i + 2 * kAhead < entries_.size()) {
      const Entry& later = entries_[i + 2 * kAhead];
      later.cache->PrefetchUsed();
      base::Prefetch(later.load.partitions.data());
    }
    if (i + kAhead < entries_.size() && !entries_[i + kAhead].load.partitions.empty()) {
      base::Prefetch(entries_[i + kAhead].load.partitions.front().get());
    }
    totals.push_back(TotalsOf(entries_[i]));
  }
  return totals;
}

std::optional<ObjectTotals> LoadBoard::TotalsOf(ObjectId object) const {
  base::MutexLock lock(&mu_);
  const Entry* const entry = Find(object);
  if (entry == nullptr) return std::nullopt;
  return TotalsOf(*entry);
}

uint64_t LoadBoard::RowsOf(ObjectId object) const {
  base::MutexLock lock(&mu_);
  const Entry* const entry = Find(object);
  return entry == nullptr ? 0 : RowsIn(entry->load);
}

uint64_t LoadBoard::KeysOf(ObjectId object) const {
  std::shared_ptr<const AccessSample> accesses;
  {
    base::MutexLock lock(&mu_);
    const Entry* const entry = Find(object);
    if (entry == nullptr) return 0;
    accesses = entry->load.accesses;
  }
  return accesses->keys();
}

}  // namespace eris::aeu
