// An AEU, autonomous execution unit: the sole owner of its partitions, and one loop turn over the
// data commands that have come for them. No thread of its own: AeuThread steps it, tests step many
// of them by hand. Step never blocks. Paper: ERIS 3.1, Figure 3.
#ifndef ERIS_AEU_AEU_H_
#define ERIS_AEU_AEU_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aeu/batch_builder.h"
#include "aeu/command_groups.h"
#include "aeu/recollection.h"
#include "aeu/runners/join_runner.h"
#include "aeu/runners/runner.h"
#include "aeu/runners/scan_runner.h"
#include "aeu/runners/table_scan_runner.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/clock.h"
#include "aeu/state/load_board.h"
#include "aeu/state/load_counters.h"
#include "aeu/state/object_load.h"
#include "aeu/state/object_slot.h"
#include "aeu/transfers/transfer_runner.h"
#include "base/mutex.h"
#include "base/thread_role.h"
#include "eris/stats.h"
#include "eris/types.h"
#include "routing/endpoint.h"
#include "routing/port.h"
#include "routing/snapshot_registry.h"
#include "storage/snapshot_view.h"

namespace eris::aeu {

// Work that an AEU does when a turn has found nothing else: bounded by the deadline it is given.
class IdleWork {
 public:
  virtual ~IdleWork() = default;
  // True when there is more to do. Must not block.
  virtual bool Run(uint64_t deadline_ns) = 0;
};

// What bounds a turn:
//
//   commands            blocks of `ingress_bytes`, one half of the incoming buffer; of byte strings
//                       and tables as many blocks as copy `copied_bytes`
//   appends of rows     a command has 4096 rows or 1 MiB (storage/table/rows/append_pieces.h)
//   scans, joins        `scan_ns`, looked at after each run of rows or versions, or some blocks
//   steps of transfers  a link is O(depth); a chunk storage::ChunkLimit, from max_pause_us
//   what follows them   a WorkPace for each object and kind of work, in turns without a step
//   old rows, segments  the same; and half of max_pause_us for all objects together
//   memory from others  LocalCache::Collect's bound for each object; the same for all together
//   drops               no row and no version is touched
//   snapshots' limits   O(snapshots): 1024
//
// What one block of commands may copy is bounded by the lengths of its keys' values alone: erases
// of long byte strings under a snapshot copy each of them, and their turn may be long.
struct StepBudget {
  // One turn's slice of scans, joins and table scans together.
  uint64_t scan_ns = 100'000;
  uint64_t idle_ns = 200'000;  // idle work
  // Of blocks from outside that one turn executes; at least one block.
  size_t ingress_bytes = 1 << 20;
  // Of byte strings and of rows of tables that one turn copies in and out, before it leaves further
  // blocks to the next.
  uint64_t copied_bytes = 1 << 20;
};

class Aeu final : private TransferHost {
 public:
  // `directory` holds this AEU's own endpoint at index `id`, and outlives it. Of `port` the sizes
  // count.
  Aeu(AeuId id, const routing::EndpointDirectory& directory, const routing::PortOptions& port);
  ~Aeu();
  Aeu(const Aeu&) = delete;
  Aeu& operator=(const Aeu&) = delete;

  AeuId id() const { return id_; }

  // One loop turn: take in the memory that others have freed, take the incoming buffer and the
  // ingress, group, execute each group as one batch, advance scans and joins, acknowledge, do idle
  // work if there was nothing else, copy outgoing buffers over. One thread at a time. True when it
  // found anything to do.
  bool Step(const StepBudget& budget);
  // Whether Step would find something: to be asked between Waker::PrepareToSleep and Sleep.
  bool HasWork() const;

  // The owner's thread, before it steps. Not owned; nullptr: none.
  void SetIdleWork(IdleWork* work) { idle_work_ = work; }
  // In place of the clocks that background work is paced by.
  void SetWorkClock(WorkClock clock) {
    work_clock_ = clock;
    transfers_.SetWorkClock(clock);
  }

  const LoadCounters& counters() const { return counters_; }
  LoadCounters& counters() { return counters_; }
  // Any thread.
  RoutingStats Routing() const;
  // The owner's thread.
  size_t scans_running() const { return scans_.running(); }
  size_t joins_running() const { return joins_.running(); }
  size_t table_scans_running() const { return table_scans_.running(); }
  // Any thread reads it.
  const LoadBoard& loads() const { return loads_; }

 private:
  friend struct AeuTestPeer;  // tests move ranges between AEUs by hand

  // Cuts all sources of commands, and then reads the epoch: what comes later is the next turn's.
  // True: there is something.
  bool TakeCommands(const StepBudget& budget);
  // After the cut, before anything is executed; once a turn.
  void ReadSnapshots();
  ObjectSlot* SlotOf(uint32_t slot, ObjectId object) override;
  void SettleVersions(OwnedRange& owned) override;
  void ReleaseVersions(OwnedRange& owned) override;
  void RangesChanged(ObjectSlot& slot) override;
  LoadBoard& load_board() override { return loads_; }
  void MemoryFreed(ObjectSlot& slot) override;
  // Gives up what the limits of memory and age do not allow. The age also where no old rows are
  // kept: a scan at that snapshot shall end.
  void EnforceSnapshotLimits(uint64_t now_ns);

  // Background work on all ranges, some in each turn: where it goes on, and how many slots are
  // still to be looked at since somebody wanted it.
  struct Round {
    uint32_t slot = 0;
    size_t range = 0;
    size_t slots_left = 0;
  };
  // A slot that it stands within comes once more at the end, for the ranges before.
  void Want(Round& round) const { round.slots_left = slots_.size() + (round.range > 0); }
  // Of slots_[round.slot]; nullptr: each has been looked at.
  OwnedRange* NextOf(Round& round);
  // Whether background work that began then has taken half of what a turn may spend: with many
  // objects each of which has little to do, their number is what bounds a round.
  bool ShareIsSpent(uint64_t began_ns) const;
  // Frees old rows that no snapshot needs: a piece of one range, or as many ranges as have nothing
  // to free and fit the turn's share.
  void FreeVersions(uint32_t records_max);
  // The same of background work of partitions that have been written to.
  void Maintain(uint32_t rows_max);
  // Groups a run of records; what cannot be grouped is executed at once.
  void Execute(std::span<const std::byte> records);
  // False: no memory, and the command is answered so.
  bool TryGroup(const routing::CommandHeader* command);
  void RunGroups();
  void RunGroup(const CommandGroup& group);
  // Puts the commands that can run into runnable_, and answers the others. A slot's commands may be
  // for different objects, one after the other: only those for the present object run. nullptr:
  // none.
  ObjectSlot* TakeRunnable(const CommandGroup& group, uint64_t& keys);
  // Executes what builder_ has for the range. `group_keys`: how many keys the whole group has.
  void RunOnRange(ObjectSlot& slot, uint32_t range, routing::CommandType type, uint64_t group_keys);
  // Keys that are sent on are answered by the AEU that executes them, the others here.
  void AnswerRunnable(ObjectSlot& slot);
  // How many of the keys are on their way to another AEU; the others have been answered kMoved.
  uint32_t SendOn(ObjectSlot& slot, const OtherKeys& keys);
  void RunControl(const routing::CommandHeader* command);
  void Install(const routing::CommandHeader* command);
  // False: no memory. Throws std::bad_alloc, with no range added either.
  bool TryInstall(const routing::CommandHeader* command, const routing::InstallSegment& install);
  void Drop(const routing::CommandHeader* command);
  // Whatever it has of the command's object.
  void RemoveSlot(const routing::CommandHeader* command);
  void AppendRows(const routing::CommandHeader* command);
  ObjectSlot* SlotOf(const routing::CommandHeader* command) {
    return SlotOf(command->slot, command->object);
  }
  void Answer(const routing::CommandHeader* command, storage::KeyState state);
  // A bounded piece out of the bins of all objects.
  bool CollectMemory();
  // Of one object that has shrunk, in a turn without other work.
  void TrimMemory();

  // Immutable after construction.
  const AeuId id_;
  const routing::EndpointDirectory& directory_;
  routing::AeuEndpoint& endpoint_;
  routing::SnapshotRegistry& registry_;

  // Shared: written by the AEU, read by anyone.
  LoadCounters counters_;
  Recollection recollection_;

  // Owned by the AEU thread.
  base::ThreadRole thread_;
  routing::Port port_;
  // Blocks from the ingress, oldest first: those of this turn, then those for the next ones.
  routing::Block* blocks_ = nullptr;
  routing::Block* blocks_end_ = nullptr;  // the last one
  CommandGroups groups_;
  BatchBuilder builder_;
  std::vector<const routing::CommandHeader*> runnable_;  // scratch: of one group
  Acknowledgements acknowledgements_;
  ScanRunner scans_;
  JoinRunner joins_;
  TableScanRunner table_scans_;
  Runners runners_;  // the three
  TransferRunner transfers_;
  std::vector<std::unique_ptr<ObjectSlot>> slots_;  // by object slot; nullptr: none here
  IdleWork* idle_work_ = nullptr;
  WorkClock work_clock_ = NowNs;
  bool idle_work_left_ = false;
  uint32_t byte_objects_ = 0;  // slots whose values are byte strings
  bool copies_bytes_ = false;  // a command for one of them is in groups_
  uint64_t bytes_copied_ = 0;  // of byte strings, in this turn
  // What this turn knows of snapshots, and of when.
  storage::SnapshotView snapshots_;
  routing::SnapshotRegistry::Mark snapshots_mark_;
  uint64_t ages_checked_ns_ = 0;
  uint64_t version_bytes_ = 0;  // of all ranges, as settled
  Round free_versions_;
  Round maintain_;
  size_t collect_slot_ = 0;  // that CollectMemory looked at last
  bool trim_worthwhile_ = false;
  bool collect_again_ = false;

  // Shared: written by the AEU, read by anyone.
  LoadBoard loads_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_AEU_H_
