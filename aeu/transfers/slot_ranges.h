// How the ranges of a slot come and go, with all that depends on it: their loads, what the registry
// of snapshots knows of their old rows, what has been made ready to leave. Owned by the AEU.
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

  // Adds a partition to the slot's ranges; its index. Asks for no memory
  // (ObjectSlot::ReserveRanges, LoadBoard::Reserve).
  size_t Add(ObjectSlot& slot, std::unique_ptr<storage::Partition> partition);
  void Remove(ObjectSlot& slot, OwnedRange& owned);
  // The range at `index` becomes one with its neighbours where their kind can.
  void Join(ObjectSlot& slot, size_t index);
  // Ranges that have kept old rows alone, and none any more.
  void RemoveEmpty(ObjectSlot& slot);

  // What the range's load has to say after its partition has changed.
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
