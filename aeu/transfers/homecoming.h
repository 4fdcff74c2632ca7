// What follows a leap: the memory of a range comes to the NumaNode of its new owner. That one alone
// writes the range from the leap on, so it moves the memory itself: block by block in key order, a
// bounded piece a turn. What finds no memory on the NumaNode stays where it is. Owned by the AEU.
// Paper: page leap, 3; ERIS 3.3.2.
#ifndef ERIS_AEU_HOMECOMING_H_
#define ERIS_AEU_HOMECOMING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "aeu/state/load_counters.h"
#include "aeu/state/object_slot.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"
#include "storage/home_work.h"
#include "storage/key.h"

namespace eris::aeu {

class Homecoming {
 public:
  // Bytes that a turn copies at most, with and without other work.
  static constexpr uint32_t kBroughtPerTurn = 256 << 10;
  static constexpr uint32_t kBroughtPerIdleTurn = 2 << 20;

  // All outlive it.
  Homecoming(TransferHost& host, const TransferTurn& turn, LoadCounters& counters)
      : host_(host), turn_(turn), counters_(counters) {}

  // So that Begin needs no memory for a step that is out, nor for one that is taken in meanwhile.
  // Throws std::bad_alloc.
  void Reserve();
  // Memory of the slot's rows in `range` may lie elsewhere.
  void Begin(ObjectSlot& slot, const storage::Range& range);
  // Whether some of the range's memory may still be elsewhere.
  bool IsUnderWay(const ObjectSlot& slot, const storage::Range& range) const;
  // The object is being dropped: its memory need not come home.
  void EndAll(const ObjectSlot* slot);

  bool HasWork() const { return !walks_.empty(); }
  // Moves a piece, bounded in bytes and in time.
  void GoOn(uint32_t bytes_max);

 private:
  // Over the ranges of a slot, in key order, from one key to another.
  struct Walk {
    ObjectSlot* slot;
    uint64_t next_key;
    uint64_t next_second;
    std::optional<uint64_t> end;  // nullopt: that of the key space
  };

  // Whether the walk has come to its end.
  static bool GoOn(Walk& walk, storage::HomeWork& work);

  TransferHost& host_;
  const TransferTurn& turn_;
  LoadCounters& counters_;
  std::vector<Walk> walks_;  // at most one a slot; oldest first
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_HOMECOMING_H_
