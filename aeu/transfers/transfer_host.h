// The services of an AEU for the transfers that it takes part in. Owned by the AEU.
#ifndef ERIS_AEU_TRANSFER_HOST_H_
#define ERIS_AEU_TRANSFER_HOST_H_

#include <cstdint>

#include "aeu/state/load_board.h"
#include "aeu/state/object_slot.h"
#include "eris/types.h"

namespace eris::aeu {

class TransferHost {
 public:
  // nullptr: it has no part of that object.
  virtual ObjectSlot* SlotOf(uint32_t slot, ObjectId object) = 0;
  // Reports to the registry of snapshots the old rows that the partition keeps now.
  virtual void SettleVersions(OwnedRange& owned) = 0;
  // Reports that it keeps none any more: it leaves, or is destroyed.
  virtual void ReleaseVersions(OwnedRange& owned) = 0;
  // The slot's ranges have changed: there may be rows to free or to compact.
  virtual void RangesChanged(ObjectSlot& slot) = 0;
  // Where other threads read the loads of its ranges.
  virtual LoadBoard& load_board() = 0;
  // Memory of the slot has been freed.
  virtual void MemoryFreed(ObjectSlot& slot) = 0;

 protected:
  ~TransferHost() = default;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_TRANSFER_HOST_H_
