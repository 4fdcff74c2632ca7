#include "tests/sim/aeu_peer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "memory/memory_manager.h"
#include "storage/ordered_partition.h"
#include "tests/support/extract.h"

namespace eris::aeu {
namespace {

using storage::Key;
using storage::Range;

const Range& RangeOf(const OwnedRange& owned) { return owned.partition->range(); }

void Insert(ObjectSlot& slot, std::unique_ptr<storage::Partition> partition) {
  const Range& range = partition->range();
  auto load = std::make_shared<PartitionLoad>(range);
  load->SetSize(partition->size());
  auto& ranges = slot.ranges();
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), range.lo,
                       [](const Key& key, const OwnedRange& o) { return key < RangeOf(o).lo; });
  ranges.insert(after, OwnedRange{std::move(partition), std::move(load)});
}

// As the AEU makes them. Tables alone look at snapshots by themselves.
std::unique_ptr<storage::Partition> NewPartition(const Range& range, ObjectSlot& slot) {
  static const storage::SnapshotView kNoSnapshots;
  auto partition = slot.MakePartition(range, kNoSnapshots);
  ERIS_CHECK(partition.ok());
  return *std::move(partition);
}

std::unique_ptr<storage::Partition> Split(storage::Partition& partition, const Key& key) {
  auto upper = partition.ordered()->SplitAt(key);
  ERIS_CHECK(upper.ok());
  return *std::move(upper);
}

}  // namespace

ObjectSlot* AeuTestPeer::SlotOf(Aeu& aeu, const routing::ObjectRoute& route) {
  ObjectSlot* slot = AnySlot(aeu, route.slot());
  return slot != nullptr && slot->object() == route.object() ? slot : nullptr;
}

ObjectSlot& AeuTestPeer::MakeSlot(Aeu& aeu, const routing::InstallSegment& install) {
  const routing::ObjectRoute& route = *install.route;
  if (aeu.slots_.size() <= route.slot()) aeu.slots_.resize(route.slot() + 1);
  auto& slot = aeu.slots_[route.slot()];
  if (slot == nullptr) {
    const bool copies_bytes = IsByteString(install.value_type);
    slot = std::make_unique<ObjectSlot>(route.object(), route, *install.manager->NewCache(),
                                        copies_bytes, PartitionSpec(install));
    aeu.byte_objects_ += copies_bytes;
  }
  ERIS_CHECK(slot->object() == route.object());
  return *slot;
}

bool AeuTestPeer::TakeRange(ObjectSlot& slot, const Range& range, bool leave_empty, bool leave_rows,
                            storage::ExchangeChunk& rows) {
  auto& ranges = slot.ranges();
  const auto owner = std::find_if(ranges.begin(), ranges.end(), [&](const OwnedRange& owned) {
    const Range& whole = RangeOf(owned);
    return whole.Contains(range.lo) && (!whole.hi || (range.hi && *range.hi <= *whole.hi));
  });
  if (owner == ranges.end() || range.Empty()) return false;
  storage::Partition& partition = *owner->partition;
  const Range whole = partition.range();
  const bool cut_below = whole.lo < range.lo;
  const bool cut_above = whole.hi != range.hi;
  std::unique_ptr<storage::Partition> above, piece;
  if (cut_above) above = Split(partition, *range.hi);
  if (cut_below) piece = Split(partition, range.lo);
  storage::Partition& given = cut_below ? *piece : partition;
  ERIS_CHECK(test::Extract(given, ~uint32_t{0}, rows).ok());
  ERIS_CHECK(rows.covers == range);
  if (leave_rows) {
    ERIS_CHECK(given.Ingest(rows).ok());
    if (cut_below) Insert(slot, std::move(piece));
  } else if (!cut_below && (!leave_empty || cut_above)) {
    ranges.erase(owner);
  }
  if (above != nullptr) Insert(slot, std::move(above));
  return true;
}

void AeuTestPeer::GiveRange(ObjectSlot& slot, const storage::ExchangeChunk& rows, bool join) {
  auto& ranges = slot.ranges();
  const Range& covers = rows.covers;
  // An empty range inside or at the ends of another would hide it from ObjectSlot::Find.
  std::erase_if(ranges, [&](const OwnedRange& owned) {
    const Range& range = RangeOf(owned);
    return range.Empty() && range.lo >= covers.lo && (!covers.hi || range.lo <= *covers.hi);
  });
  if (join) {
    for (OwnedRange& owned : ranges) {
      const Range& range = RangeOf(owned);
      if (range.hi != covers.lo && covers.hi != range.lo) continue;
      ERIS_CHECK(owned.partition->Ingest(rows).ok());
      owned.load = std::make_shared<PartitionLoad>(range);
      owned.load->SetSize(owned.partition->size());
      return;
    }
  }
  auto partition = NewPartition(Range{covers.lo, covers.lo}, slot);
  ERIS_CHECK(partition->Ingest(rows).ok());
  Insert(slot, std::move(partition));
}

bool AeuTestPeer::AddEmptyRange(ObjectSlot& slot, uint64_t key) {
  const Key at = Key::FromU64(key);
  for (const OwnedRange& owned : slot.ranges()) {
    const Range& range = RangeOf(owned);
    if (range.lo == at || range.Contains(at) || range.hi == at) return false;
  }
  Insert(slot, NewPartition(Range{at, at}, slot));
  return true;
}

bool AeuTestPeer::SplitRange(ObjectSlot& slot, size_t index, uint64_t key) {
  storage::Partition& partition = *slot.ranges()[index].partition;
  const Key at = Key::FromU64(key);
  if (at <= partition.range().lo || !partition.range().Contains(at)) return false;
  Insert(slot, Split(partition, at));
  return true;
}

bool AeuTestPeer::MergeRanges(ObjectSlot& slot, size_t index) {
  auto& ranges = slot.ranges();
  if (index + 1 >= ranges.size()) return false;
  storage::Partition& low = *ranges[index].partition;
  storage::Partition& high = *ranges[index + 1].partition;
  if (low.range().Empty() || high.range().Empty() || low.range().hi != high.range().lo)
    return false;
  ERIS_CHECK(low.ordered()->Absorb(*high.ordered()).ok());
  ranges.erase(ranges.begin() + static_cast<ptrdiff_t>(index) + 1);
  return true;
}

void AeuTestPeer::FailAllocationsFrom(ObjectSlot& slot, uint64_t nth) {
  slot.cache().FailAllocationsFrom(nth);
}

}  // namespace eris::aeu
