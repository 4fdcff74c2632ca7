// One AEU's part in transfers. As the source it gives a range away in one turn, after the turn's
// commands: it reserves room for the message, cuts the range off, leaves a stub and sends the range
// to its new owner. Until it hears how that ended it gives nothing else. As the target it takes in
// what arrives, or refuses it with nothing changed. Copied rows are forgotten afterwards, piece by
// piece. Never waits. Owned by the AEU.
// Paper: ERIS 3.3.2; docs/internals/balancing.md.
#ifndef ERIS_AEU_TRANSFER_RUNNER_H_
#define ERIS_AEU_TRANSFER_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/clock.h"
#include "aeu/state/load_counters.h"
#include "aeu/state/object_slot.h"
#include "aeu/transfers/copy_method.h"
#include "aeu/transfers/homecoming.h"
#include "aeu/transfers/link_method.h"
#include "aeu/transfers/segment_method.h"
#include "aeu/transfers/slot_ranges.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"
#include "base/byte_rate.h"
#include "base/check.h"
#include "eris/transfer_kind.h"
#include "routing/data_command.h"
#include "routing/port.h"
#include "routing/transfer_step.h"
#include "storage/key.h"
#include "storage/partition.h"
#include "storage/snapshot_view.h"

namespace eris::aeu {

class TransferRunner {
 public:
  // The most ranges that a slot may get by a step: the part cut off above, the part cut off to be
  // lent or coming in, and the part that comes back to a source.
  static constexpr size_t kRangesAddedMax = 3;

  // All outlive it. `snapshots` is the turn's view.
  TransferRunner(TransferHost& host, routing::Port& port, Acknowledgements& acknowledgements,
                 LoadCounters& counters, const storage::SnapshotView& snapshots,
                 base::ByteRate& rate)
      : host_(host),
        port_(port),
        acknowledgements_(acknowledgements),
        counters_(counters),
        snapshots_(snapshots),
        ranges_(host, snapshots),
        link_(host, ranges_, snapshots),
        segments_(host, snapshots),
        copy_(host, ranges_, snapshots, turn_),
        homecoming_(host, turn_, counters, rate) {}

  // The three commands (transfer_step.h). Their content may be out of date: then it is refused.
  void Give(const routing::CommandHeader* command);
  void TakeIn(const routing::CommandHeader* command);
  void Conclude(const routing::CommandHeader* command);
  // There is room on the NumaNode: begins to bring the object's memory that is left on other
  // NumaNodes. False: there is none. Throws std::bad_alloc; then nothing has begun.
  bool BringWhatIsLeft(ObjectSlot& slot) { return homecoming_.BringWhatIsLeft(slot); }
  // The object is being dropped: stops giving its ranges and forgetting its rows.
  void EndAll(const ObjectSlot* slot);

  // Once per turn, after its commands: continues the step to be given. True: it has advanced.
  bool Advance();
  // A bounded piece of the work after earlier steps; the last of a turn. `busy`: there is other
  // work. False: there is none.
  bool GoOnAfterSteps(bool busy);
  // The same for memory that follows leaps. True: there is some.
  bool BringHome(bool busy);
  // Removes ranges that kept only old rows, and no longer have any.
  void RemoveEmpty(ObjectSlot& slot) { ranges_.RemoveEmpty(slot); }
  // Whether this turn has done a piece of a step: other background work waits for another turn.
  bool stepped() const { return turn_.stepped; }
  // Call it at the beginning of a turn.
  void BeginTurn() { turn_.stepped = false; }
  // The CPU time that a turn may spend, as the last step set it.
  uint64_t turn_cpu_ns_max() const { return turn_.cpu_ns_max; }
  // Replaces the CPU clock that paces the work after a step.
  void SetWorkClock(WorkClock clock) { turn_.clock = clock; }
  // Whether the next turn would find work. A step in transit needs none.
  bool HasWork() const {
    return (giving_.step != nullptr && !giving_.out) || copy_.forgets() || copy_.releases() ||
           homecoming_.HasWork();
  }
  // Nanoseconds until there is some without anybody waking the AEU; 0: there is none to wait for.
  uint64_t WaitNs() const { return homecoming_.WaitNs(); }

 private:
  // The step that this AEU is the source of.
  struct Giving {
    routing::TransferStep* step = nullptr;  // nullptr: none
    ObjectSlot* slot = nullptr;             // nullptr: the object has been dropped
    routing::CompletionFunction complete = nullptr;
    routing::Reply* context = nullptr;
    bool out = false;                      // given away, and not concluded
    bool coming_home = false;              // ... with memory that was on its way here
    storage::Partition* lender = nullptr;  // for a copy in transit
  };

  TransferMethod& MethodOf(const ObjectSlot& slot, const routing::TransferStep& step) {
    switch (step.kind) {
      case TransferKind::kLink:
      case TransferKind::kLeap:
        if (slot.spec().kind == ObjectKind::kHeapTable) return segments_;
        return link_;
      case TransferKind::kCopy:
        return copy_;
    }
    ERIS_CHECK(false);  // the engine sends no other kind
    return copy_;
  }
  // Before a step changes anything: the ranges that it may add will ask for no memory, here or when
  // it is concluded. Errors: ResourceExhausted.
  absl::Status MakeRoom(ObjectSlot& slot, std::optional<AeuId> target);
  // The range of the slot with the near end of the leaving range, and in `given` their common part.
  // nullptr: the AEU does not own it.
  OwnedRange* FindGiven(storage::Range& given);
  // True: the step may be given in this turn. False: later, or it has been refused.
  bool Prepare(OwnedRange& owned, const storage::Range& given);
  // The range is in the message to its target.
  void HasLeft(ObjectSlot& slot, routing::TransferStep& step);
  void Refuse(const absl::Status& status);

  TransferHost& host_;
  routing::Port& port_;
  Acknowledgements& acknowledgements_;
  LoadCounters& counters_;
  const storage::SnapshotView& snapshots_;
  TransferTurn turn_;
  SlotRanges ranges_;
  LinkMethod link_;
  SegmentMethod segments_;
  CopyMethod copy_;
  Homecoming homecoming_;
  Giving giving_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_TRANSFER_RUNNER_H_
