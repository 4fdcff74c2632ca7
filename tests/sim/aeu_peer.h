// What the simulation does to an AEU behind its back, between two of its turns: ranges change hands
// at once, split and merge, and allocations fail. It stands in for the transfers that AEUs will
// negotiate by commands.
#ifndef ERIS_TESTS_SIM_AEU_PEER_H_
#define ERIS_TESTS_SIM_AEU_PEER_H_

#include <cstdint>
#include <vector>

#include "aeu/aeu.h"
#include "storage/partition.h"

namespace eris::aeu {

struct AeuTestPeer {
  // nullptr: the AEU holds nothing of this generation of the slot.
  static ObjectSlot* SlotOf(Aeu& aeu, const routing::ObjectRoute& route);
  // The slot, whatever its generation.
  static ObjectSlot* AnySlot(Aeu& aeu, uint32_t slot) {
    return slot < aeu.slots_.size() ? aeu.slots_[slot].get() : nullptr;
  }
  static bool HasBuffered(const Aeu& aeu) { return aeu.port_.HasBuffered(); }
  // As SlotOf, made where there is none.
  static ObjectSlot& MakeSlot(Aeu& aeu, const routing::InstallSegment& install);

  // Takes [lo, hi) out of the AEU's ranges, cutting them at its ends; false: it does not own all of
  // it in one range, nothing has changed. `leave_empty`: a range given whole leaves an empty one.
  // `leave_rows`: as a source that forgets to stop serving would do it.
  static bool TakeRange(ObjectSlot& slot, const storage::Range& range, bool leave_empty,
                        bool leave_rows, storage::ExchangeChunk& rows);
  // Adds rows and range, to an adjacent range where there is one and `join`.
  static void GiveRange(ObjectSlot& slot, const storage::ExchangeChunk& rows, bool join);
  // Adds an empty range at `key`, where it hides nothing. False: it would.
  static bool AddEmptyRange(ObjectSlot& slot, uint64_t key);
  static bool SplitRange(ObjectSlot& slot, size_t index, uint64_t key);
  // Merges range `index` with the next, if they touch.
  static bool MergeRanges(ObjectSlot& slot, size_t index);

  // What the AEU's turn knows of snapshots, and of when.
  static storage::SnapshotView& SnapshotsOf(Aeu& aeu) { return aeu.snapshots_; }
  static routing::SnapshotRegistry::Mark& MarkOf(Aeu& aeu) { return aeu.snapshots_mark_; }
  // A second drain of the turn that is under way.
  static void DrainAgain(Aeu& aeu) { aeu.TakeCommands({}); }

  // As a drop of the slot's object does it.
  static void EndTransfers(Aeu& aeu, const ObjectSlot& slot) { aeu.transfers_.EndAll(&slot); }

  // From the n-th on all of the AEU's allocations for the object fail; 0: none.
  static void FailAllocationsFrom(ObjectSlot& slot, uint64_t nth);
};

}  // namespace eris::aeu

#endif  // ERIS_TESTS_SIM_AEU_PEER_H_
