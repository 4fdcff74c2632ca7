#include "aeu/state/load_board.h"

#include <memory>
#include <utility>

#include "aeu/state/reserve_more.h"
#include "base/check.h"

namespace eris::aeu {

LoadBoard::Entry& LoadBoard::EntryOf(const ObjectSlot& slot) {
  const auto [entry, added] = entries_.try_emplace(slot.object());
  if (added) entry->second = {{slot.object(), 0, {}, slot.accesses()}, &slot.cache()};
  return entry->second;
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
  entries_.erase(object);
}

std::vector<ObjectLoad> LoadBoard::All() const {
  base::MutexLock lock(&mu_);
  std::vector<ObjectLoad> loads;
  for (const auto& [object, entry] : entries_) {
    loads.push_back(entry.load);
    loads.back().memory_bytes = entry.cache->used_bytes();
  }
  return loads;
}

std::optional<ObjectLoad> LoadBoard::Of(ObjectId object) const {
  base::MutexLock lock(&mu_);
  const auto entry = entries_.find(object);
  if (entry == entries_.end()) return std::nullopt;
  ObjectLoad load = entry->second.load;
  load.memory_bytes = entry->second.cache->used_bytes();
  return load;
}

ObjectTotals LoadBoard::TotalsOf(const Entry& entry) {
  ObjectTotals totals{.object = entry.load.object, .memory_bytes = entry.cache->used_bytes()};
  for (const auto& partition : entry.load.partitions) totals.rows += partition->rows();
  return totals;
}

std::vector<ObjectTotals> LoadBoard::Totals() const {
  base::MutexLock lock(&mu_);
  std::vector<ObjectTotals> totals;
  totals.reserve(entries_.size());
  for (const auto& [object, entry] : entries_) totals.push_back(TotalsOf(entry));
  return totals;
}

std::optional<ObjectTotals> LoadBoard::TotalsOf(ObjectId object) const {
  base::MutexLock lock(&mu_);
  const auto entry = entries_.find(object);
  if (entry == entries_.end()) return std::nullopt;
  return TotalsOf(entry->second);
}

uint64_t LoadBoard::RowsOf(ObjectId object) const {
  base::MutexLock lock(&mu_);
  const auto entry = entries_.find(object);
  if (entry == entries_.end()) return 0;
  uint64_t rows = 0;
  for (const auto& partition : entry->second.load.partitions) rows += partition->rows();
  return rows;
}

uint64_t LoadBoard::KeysOf(ObjectId object) const {
  std::shared_ptr<const AccessSample> accesses;
  {
    base::MutexLock lock(&mu_);
    const auto entry = entries_.find(object);
    if (entry == entries_.end()) return 0;
    accesses = entry->second.load.accesses;
  }
  return accesses->keys();
}

}  // namespace eris::aeu
