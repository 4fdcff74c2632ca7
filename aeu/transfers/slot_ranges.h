// Adds, joins and removes the ranges of a slot, with all dependent state: their loads, the old rows
// reported to the registry of snapshots, and rows prepared to leave. Owned by the AEU.
#ifndef ERIS_AEU_SLOT_RANGES_H_
#define ERIS_AEU_SLOT_RANGES_H_

#include <cstddef>
#include <memory>

#include "aeu/state/object_slot.h"
#include "aeu/transfers/transfer_host.h"
#include "storage/partition.h"
#include "storage/snapshot_view.h"

namespace eris::aeu {

class SlotRanges {
 public:
  // Both outlive it. `snapshots` is the turn's view.
  SlotRanges(TransferHost& host, const storage::SnapshotView& snapshots)
      : host_(host), snapshots_(snapshots) {}

  // Adds a partition to the slot's ranges; returns its index. Needs no memory
  // (ObjectSlot::ReserveRanges, LoadBoard::Reserve).
  size_t Add(ObjectSlot& slot, std::unique_ptr<storage::Partition> partition);
  void Remove(ObjectSlot& slot, OwnedRange& owned);
  // Joins the range at `index` with its neighbours, if their kind can.
  void Join(ObjectSlot& slot, size_t index);
  // Removes ranges that kept only old rows, and no longer have any.
  void RemoveEmpty(ObjectSlot& slot);

  // Updates the range's load after its partition has changed.
  static void SettleLoad(const OwnedRange& owned) {
    owned.load->SetRange(owned.partition->range());
    owned.load->SetSize(owned.partition->size());
  }
  static size_t IndexOf(ObjectSlot& slot, const OwnedRange& owned) {
    return static_cast<size_t>(&owned - slot.ranges().data());
  }

 private:
  bool JoinWithNext(ObjectSlot& slot, size_t index);

  TransferHost& host_;
  const storage::SnapshotView& snapshots_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_SLOT_RANGES_H_
