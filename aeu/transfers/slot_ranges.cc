#include "aeu/transfers/slot_ranges.h"

#include <utility>

#include "storage/ordered_partition.h"

namespace eris::aeu {

using storage::Partition;
using storage::Range;

size_t SlotRanges::Add(ObjectSlot& slot, std::unique_ptr<Partition> partition) {
  auto load = slot.NewLoad(partition->range());
  load->SetSize(partition->size());
  const size_t index = slot.Insert({std::move(partition), std::move(load)});
  host_.load_board().Add(slot, slot.ranges()[index]);
  host_.SettleVersions(slot.ranges()[index]);
  return index;
}

void SlotRanges::Remove(ObjectSlot& slot, OwnedRange& owned) {
  if (slot.prepared().partition == owned.partition.get()) slot.prepared() = {};
  host_.ReleaseVersions(owned);
  host_.load_board().Remove(slot, owned);
  slot.ranges().erase(slot.ranges().begin() + static_cast<ptrdiff_t>(IndexOf(slot, owned)));
}

void SlotRanges::Join(ObjectSlot& slot, size_t index) {
  if (slot.ranges()[index].partition->ordered() == nullptr) return;
  JoinWithNext(slot, index);
  if (index > 0) JoinWithNext(slot, index - 1);
}

bool SlotRanges::JoinWithNext(ObjectSlot& slot, size_t index) {
  auto& ranges = slot.ranges();
  if (index + 1 >= ranges.size()) return false;
  OwnedRange& low = ranges[index];
  OwnedRange& high = ranges[index + 1];
  const Range& range = low.partition->range();
  if (range.Empty() || high.partition->range().Empty()) return false;
  if (range.hi != high.partition->range().lo || !low.settled() || !high.settled()) return false;
  // Without memory there are two ranges, which is also correct.
  if (!low.partition->ordered()->Absorb(*high.partition->ordered()).ok()) return false;
  Remove(slot, high);
  host_.SettleVersions(low);
  low.load->SetSize(low.partition->size());
  return true;
}

void SlotRanges::RemoveEmpty(ObjectSlot& slot) {
  auto& ranges = slot.ranges();
  bool removed = false;
  for (size_t i = ranges.size(); i-- > 0;) {
    const Partition& partition = *ranges[i].partition;
    if (!ranges[i].settled() || !partition.CanGo(snapshots_)) continue;
    Remove(slot, ranges[i]);
    removed = true;
  }
  if (removed) host_.RangesChanged(slot);
}

}  // namespace eris::aeu
