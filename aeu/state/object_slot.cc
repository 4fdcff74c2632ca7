#include "aeu/state/object_slot.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "aeu/state/reserve_more.h"

namespace eris::aeu {

uint64_t NextRangeId() {
  // relaxed: only uniqueness matters, and that ids ascend on one thread.
  static std::atomic<uint64_t> ids{0};
  return ids.fetch_add(1, std::memory_order_relaxed) + 1;
}

OwnedRange* ObjectSlot::Find(uint64_t key) {
  // The last range that begins at or before the key.
  auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), key,
      [](uint64_t k, const OwnedRange& owned) { return k < owned.partition->range().lo.head; });
  while (after != ranges_.begin()) {
    OwnedRange& owned = *--after;
    if (owned.partition->range().ContainsU64(key)) return &owned;
    // An empty range may have the same beginning as the one that contains the key.
    if (!owned.partition->range().Empty()) return nullptr;
  }
  return nullptr;
}

OwnedRange* ObjectSlot::Find(const storage::Partition* partition) {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), [&](const OwnedRange& owned) {
    return owned.partition.get() == partition;
  });
  return found == ranges_.end() ? nullptr : &*found;
}

size_t ObjectSlot::Insert(OwnedRange owned) {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), owned.partition->range().lo,
                                      [](const storage::Key& key, const OwnedRange& other) {
                                        return key < other.partition->range().lo;
                                      });
  const auto index = static_cast<size_t>(after - ranges_.begin());
  ranges_.insert(after, std::move(owned));
  return index;
}

std::shared_ptr<PartitionLoad> ObjectSlot::NewLoad(const storage::Range& range) {
  if (spare_loads_.empty()) return std::make_shared<PartitionLoad>(range);
  std::shared_ptr<PartitionLoad> load = std::move(spare_loads_.back());
  spare_loads_.pop_back();
  load->SetRange(range);
  return load;
}

void ObjectSlot::ReserveRanges(size_t more) {
  ReserveMore(ranges_, more);
  spare_loads_.reserve(more);
  while (spare_loads_.size() < more) {
    spare_loads_.push_back(std::make_shared<PartitionLoad>(storage::Range{}));
  }
}

size_t ObjectSlot::Reorder(size_t index) {
  const auto lo = [this](size_t i) -> const storage::Key& {
    return ranges_[i].partition->range().lo;
  };
  for (; index > 0 && lo(index) < lo(index - 1); --index) {
    std::swap(ranges_[index], ranges_[index - 1]);
  }
  for (; index + 1 < ranges_.size() && lo(index + 1) < lo(index); ++index) {
    std::swap(ranges_[index], ranges_[index + 1]);
  }
  return index;
}

}  // namespace eris::aeu
