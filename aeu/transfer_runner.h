// What one AEU has to do when ranges change hands. As the source it gives a range away in one turn,
// after the turn's commands: first it takes the room for the message, then it cuts the range off,
// leaves a stub and sends the range to its new owner. Until it hears how that ended it gives
// nothing else. As the target it takes what arrives in, or refuses it with nothing changed. Rows
// that have been copied are forgotten afterwards, a piece a turn. Never waits. Owned by the AEU.
// Paper: ERIS 3.3.2; docs/balancing.md.
#ifndef ERIS_AEU_TRANSFER_RUNNER_H_
#define ERIS_AEU_TRANSFER_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "aeu/acknowledgements.h"
#include "aeu/clock.h"
#include "aeu/load_board.h"
#include "aeu/load_counters.h"
#include "aeu/object_slot.h"
#include "routing/data_command.h"
#include "routing/port.h"
#include "routing/transfer_step.h"
#include "storage/key.h"
#include "storage/partition.h"
#include "storage/snapshot_view.h"

namespace eris::aeu {

// What the AEU does for its transfers.
class TransferHost {
 public:
  // nullptr: it has nothing of that object.
  virtual ObjectSlot* SlotOf(uint32_t slot, ObjectId object) = 0;
  // Tells the registry of snapshots what the partition keeps of old rows by now.
  virtual void SettleVersions(OwnedRange& owned) = 0;
  // ... that it keeps none any more: it leaves, or is gone.
  virtual void ReleaseVersions(OwnedRange& owned) = 0;
  // The slot's ranges are others, or have been cut: there may be something to free, or to compact.
  virtual void RangesChanged(ObjectSlot& slot) = 0;
  // Where others see the loads of its ranges.
  virtual LoadBoard& load_board() = 0;
  // Memory of the slot has been freed.
  virtual void MemoryFreed(ObjectSlot& slot) = 0;

 protected:
  ~TransferHost() = default;
};

class TransferRunner {
 public:
  // Rows that a turn forgets, beside other work and without any: whole blocks, mostly.
  static constexpr uint32_t kForgottenPerTurn = 1024;
  static constexpr uint32_t kForgottenPerIdleTurn = 8192;
  static constexpr uint64_t kTurnCpuNsMax = 200'000;  // where no step has said
  // Rows that a turn looks through at most while a hash makes those ready that are going to leave.
  static constexpr uint32_t kWalkedPerTurn = 8192;
  // Ranges that a slot may get by a step: what is cut off above, what is cut off to be lent or
  // comes in, and what comes back to a source.
  static constexpr size_t kRangesAddedMax = 3;

  // All outlive it. `snapshots` is the turn's view.
  TransferRunner(TransferHost& host, routing::Port& port, Acknowledgements& acknowledgements,
                 LoadCounters& counters, const storage::SnapshotView& snapshots)
      : host_(host),
        port_(port),
        acknowledgements_(acknowledgements),
        counters_(counters),
        snapshots_(snapshots) {}

  // The three commands (transfer_step.h). What they say may be out of date: that is refused.
  void Give(const routing::CommandHeader* command);
  void TakeIn(const routing::CommandHeader* command);
  void Conclude(const routing::CommandHeader* command);
  // The object is being dropped: nothing more is given of it or forgotten in it.
  void EndAll(const ObjectSlot* slot);

  // Once a turn, after its commands: goes on with the step that is to be given. True: it has moved.
  bool Advance();
  // A bounded piece of the rows that have been given away, in rows and in time; the last of a turn.
  void Forget(uint32_t rows_max);
  // The same for rows that were made ready to leave, and stay.
  void Release();
  bool releases() const { return !releasing_.empty(); }
  // Ranges that have kept old rows alone, and none any more.
  void RemoveEmpty(ObjectSlot& slot);
  // Whether there are any to forget. None of a range that lends: chunks wait for that.
  bool forgets() const { return !forgetting_.empty(); }
  // Whether this turn has done a piece of a step: other background work is another turn's.
  bool stepped() const { return stepped_; }
  // The next turn begins.
  void BeginTurn() { stepped_ = false; }
  // What a turn may spend, in CPU time, as the last step said.
  uint64_t turn_cpu_ns_max() const { return turn_cpu_ns_max_; }
  // In place of the CPU time by which what follows a step is paced.
  void SetWorkClock(WorkClock clock) { work_clock_ = clock; }
  // Whether the next turn would find something to do. A step that is out needs nothing.
  bool HasWork() const {
    return (giving_.step != nullptr && !giving_.out) || forgets() || releases();
  }

 private:
  // The step that this AEU is the source of.
  struct Giving {
    routing::TransferStep* step = nullptr;  // nullptr: none
    ObjectSlot* slot = nullptr;             // nullptr: the object is gone
    routing::CompletionFunction complete = nullptr;
    routing::Reply* context = nullptr;
    bool out = false;                      // given away, and not concluded
    storage::Partition* lender = nullptr;  // of a copy that is out
  };
  struct Forgetting {
    ObjectSlot* slot;
    storage::Partition* partition;
  };

  // Before a step changes anything: the ranges that it may add will ask for no memory, here or when
  // it is concluded. Errors: ResourceExhausted.
  absl::Status MakeRoom(ObjectSlot& slot, std::optional<AeuId> target);
  // The range of the slot that has the near end of what is to leave, and what of that lies in it.
  // nullptr: the AEU does not own it.
  OwnedRange* FindGiven(storage::Range& given) const;
  // True: the step may be given in this turn. False: later, or it has been refused.
  bool Prepare(OwnedRange& owned, const storage::Range& given);
  absl::StatusOr<bool> PrepareRows(storage::Partition& partition, const storage::Range& given);
  // From now on what was made ready is served as before again. Errors: ResourceExhausted.
  absl::Status BeginReleasing(ObjectSlot& slot);
  absl::Status SplitOff(OwnedRange& owned, const storage::Range& given);
  absl::Status Lend(OwnedRange& owned, const storage::Range& given);
  void Refuse(const absl::Status& status);

  absl::Status Link(ObjectSlot& slot, routing::TransferStep& step);
  absl::Status Ingest(ObjectSlot& slot, const routing::TransferStep& step);
  // Into a range that there is; its index. Nothing: none touches the chunk.
  absl::StatusOr<std::optional<size_t>> IngestBeside(ObjectSlot& slot,
                                                     const storage::ExchangeChunk& chunk);

  // Adds a partition to the slot's ranges; its index.
  size_t Add(ObjectSlot& slot, std::unique_ptr<storage::Partition> partition);
  void Remove(ObjectSlot& slot, OwnedRange& owned);
  // The range at `index` becomes one with its neighbours where their kind can.
  void Join(ObjectSlot& slot, size_t index);
  bool JoinWithNext(ObjectSlot& slot, size_t index);
  void BeginForgetting(ObjectSlot& slot, OwnedRange& owned);
  void EndForgetting(ObjectSlot& slot, OwnedRange& owned);

  TransferHost& host_;
  routing::Port& port_;
  Acknowledgements& acknowledgements_;
  LoadCounters& counters_;
  const storage::SnapshotView& snapshots_;
  Giving giving_;
  std::vector<Forgetting> forgetting_;  // oldest first
  std::vector<ObjectSlot*> releasing_;  // likewise
  bool stepped_ = false;
  WorkClock work_clock_ = ThreadCpuNs;
  uint64_t turn_cpu_ns_max_ = kTurnCpuNsMax;  // as the last step said
  uint64_t forget_cpu_ns_ = 0;                // the dearest slice since the last conclusion
  uint64_t forget_wall_ns_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_TRANSFER_RUNNER_H_
