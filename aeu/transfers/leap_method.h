// Leap: the subtree moves to another AEU as by a link, also to another NumaNode, and its memory
// follows. The new owner is the only one that writes the range from then on, so it brings the
// memory home itself: block by block in key order, a bounded piece a turn, behind everything else
// that the turn does. What finds no memory on the NumaNode stays where it is. For indexes. Owned by
// the AEU. Paper: page leap, 3; ERIS 3.3.2.
#ifndef ERIS_AEU_LEAP_METHOD_H_
#define ERIS_AEU_LEAP_METHOD_H_

#include <cstdint>
#include <vector>

#include "aeu/state/load_counters.h"
#include "aeu/transfers/link_method.h"
#include "aeu/transfers/slot_ranges.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"
#include "storage/home_work.h"

namespace eris::aeu {

class LeapMethod final : public LinkMethod {
 public:
  // Bytes that a turn copies at most, with and without other work.
  static constexpr uint32_t kBroughtPerTurn = 256 << 10;
  static constexpr uint32_t kBroughtPerIdleTurn = 2 << 20;

  // All outlive it.
  LeapMethod(TransferHost& host, SlotRanges& ranges, TransferTurn& turn, LoadCounters& counters)
      : LinkMethod(host, ranges), host_(host), turn_(turn), counters_(counters) {}

  absl::Status TakeIn(ObjectSlot& slot, routing::TransferStep& step) override;

  // The object is being dropped: its memory need not come home.
  void EndAll(const ObjectSlot* slot);
  // So that TakeIn needs no memory for what follows it. Throws std::bad_alloc.
  void Reserve();
  // Whether a walk has not come to its end.
  bool brings() const { return !walks_.empty(); }
  // Moves a piece, bounded in bytes and in time.
  void Bring(uint32_t bytes_max);

 private:
  // The ranges of a slot, in key order.
  struct Walk {
    ObjectSlot* slot;
    uint64_t next_key;
    uint64_t next_second;
  };

  // Whether the walk has come to its end.
  static bool GoOn(Walk& walk, storage::HomeWork& work);

  TransferHost& host_;
  TransferTurn& turn_;
  LoadCounters& counters_;
  std::vector<Walk> walks_;  // at most one a slot; oldest first
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LEAP_METHOD_H_
