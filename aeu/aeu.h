// An AEU, autonomous execution unit: the sole owner of its partitions. Step runs one loop turn over
// the data commands that have arrived for them. It has no thread of its own: AeuThread steps it,
// and tests step many of them by hand. Step never blocks. Paper: ERIS 3.1, Figure 3.
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
#include "aeu/runners/measure_runner.h"
#include "aeu/runners/query_runner.h"
#include "aeu/runners/runner.h"
#include "aeu/runners/scan_runner.h"
#include "aeu/runners/table_scan_runner.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/clock.h"
#include "aeu/state/idle_work.h"
#include "aeu/state/load_board.h"
#include "aeu/state/load_counters.h"
#include "aeu/state/object_load.h"
#include "aeu/state/object_slot.h"
#include "aeu/state/query_cache.h"
#include "aeu/transfers/transfer_runner.h"
#include "base/mutex.h"
#include "base/thread_role.h"
#include "eris/stats.h"
#include "eris/types.h"
#include "routing/endpoint.h"
#include "routing/port.h"
#include "routing/snapshot_registry.h"
#include "storage/snapshot_view.h"
#include "tasks/task_scheduler.h"

namespace eris::aeu {

// The limit of each part of a turn:
//
//   commands            blocks of `ingress_bytes`, one half of the incoming buffer; for byte
//                       strings and tables as many blocks as copy `copied_bytes`
//   appends of rows     a command has 4096 rows or 1 MiB (storage/table/rows/append_pieces.h)
//   scans, joins        `scan_ns`, checked after each run of rows or versions, or some blocks
//   queries             the same, checked after each piece of a stage or of a free task
//   tasks of others     `idle_ns`, likewise; only in turns with nothing else
//   steps of transfers  a link is O(depth); a chunk storage::ChunkLimit, from max_pause_us
//   work after steps    a WorkPace for each object and kind of work, in turns without a step
//   old rows, segments  the same; and half of max_pause_us for all objects together
//   memory from others  LocalCache::Collect's bound for each object; the same for all together
//   drops               no row and no version is touched
//   snapshots' limits   O(snapshots): 1024
//
// Only the lengths of its values limit what one block of commands copies: erases of long byte
// strings under a snapshot copy each of them, and such a turn may be long.
struct StepBudget {
  // Time of one turn for scans, joins, table scans and queries together.
  uint64_t scan_ns = 100'000;
  uint64_t idle_ns = 200'000;  // time of idle work; 0: none
  // Bytes of blocks from the ingress that one turn executes; at least one block.
  size_t ingress_bytes = 1 << 20;
  // Bytes of byte strings and table rows that one turn copies in and out before it leaves further
  // blocks to the next turn.
  uint64_t copied_bytes = 1 << 20;
};

class Aeu final : private TransferHost {
 public:
  // `directory` has this AEU's own endpoint at index `id`, and outlives it, as does `tasks`
  // (nullptr: queries have no free tasks). Only the sizes of `port` are used.
  Aeu(AeuId id, const routing::EndpointDirectory& directory, const routing::PortOptions& port,
      tasks::TaskScheduler* tasks = nullptr);
  ~Aeu();
  Aeu(const Aeu&) = delete;
  Aeu& operator=(const Aeu&) = delete;

  AeuId id() const { return id_; }

  // One loop turn: take in memory that others have freed, take the incoming buffer and the ingress,
  // group the commands, execute each group as one batch, advance scans and joins, acknowledge, do
  // idle work if there was nothing else, send the outgoing buffers. One thread at a time. True if
  // it found anything to do.
  bool Step(const StepBudget& budget);
  // Whether Step would find work: call it between Waker::PrepareToSleep and Sleep.
  bool HasWork() const;
  // Nanoseconds until Step finds work that nobody wakes the AEU for; 0: there is none such. Ask it
  // before HasWork: a clock goes on between the two.
  uint64_t WaitNs() const { return transfers_.WaitNs(); }
  // Between the two it may be woken for a free task of another AEU. Before it asks HasWork for the
  // last time, and when it is awake.
  void PrepareToSleep() {
    if (tasks_ != nullptr) tasks_->PrepareToSleep(id_.value);
  }
  void Awake() {
    if (tasks_ != nullptr) tasks_->Awake(id_.value);
  }

  // Instead of free tasks; nullptr: these again. Called by the owner's thread before it steps. Not
  // owned.
  void SetIdleWork(IdleWork* work) { idle_work_ = work == nullptr ? &queries_ : work; }
  // Replaces the clocks that pace background work.
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

  // Cuts all sources of commands, and then reads the epoch: commands that come later belong to the
  // next turn.
  // True: there are commands.
  bool TakeCommands(const StepBudget& budget);
  // After the cut, before any command is executed; once per turn.
  void ReadSnapshots();
  ObjectSlot* SlotOf(uint32_t slot, ObjectId object) override;
  void SettleVersions(OwnedRange& owned) override;
  void ReleaseVersions(OwnedRange& owned) override;
  void RangesChanged(ObjectSlot& slot) override;
  LoadBoard& load_board() override { return loads_; }
  void MemoryFreed(ObjectSlot& slot) override;
  // Gives up snapshots beyond the limits of memory and age. The age limit applies even if no old
  // rows are kept: a scan at such a snapshot must end.
  void EnforceSnapshotLimits(uint64_t now_ns);

  // A round of background work over all ranges, a few per turn: where it continues, and how many
  // slots must still be visited since the last request.
  struct Round {
    uint32_t slot = 0;
    size_t range = 0;
    size_t slots_left = 0;
  };
  // If the round is in the middle of a slot, that slot is visited again at the end, for the ranges
  // before.
  void Want(Round& round) const { round.slots_left = slots_.size() + (round.range > 0); }
  // The next range of slots_[round.slot]; nullptr: all have been visited.
  OwnedRange* NextOf(Round& round);
  // Whether background work that began at that time has used half of what a turn may spend: with
  // many objects that each have little work, this limits a round.
  bool ShareIsSpent(uint64_t began_ns) const;
  // Frees old rows that no snapshot needs: a piece of one range, or of several ranges if they have
  // nothing to free, within the turn's share.
  void FreeVersions(uint32_t records_max);
  // The same for the background work of partitions that were written to.
  void Maintain(uint32_t rows_max);
  // Groups a run of records; executes immediately those that cannot be grouped.
  void Execute(std::span<const std::byte> records);
  // False: no memory, and the command has been answered accordingly.
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
  // False: no memory. Throws std::bad_alloc; then no range has been added either.
  bool TryInstall(const routing::CommandHeader* command, const routing::InstallSegment& install);
  void Drop(const routing::CommandHeader* command);
  void ComeHome(const routing::CommandHeader* command);
  // Removes all that it has of the command's object.
  void RemoveSlot(const routing::CommandHeader* command);
  void AppendRows(const routing::CommandHeader* command);
  ObjectSlot* SlotOf(const routing::CommandHeader* command) {
    return SlotOf(command->slot, command->object);
  }
  void Answer(const routing::CommandHeader* command, storage::KeyState state);
  // Takes a bounded number of blocks out of the bins of all objects.
  bool CollectMemory();
  // What pieces of queries have freed may be trimmed.
  void EndQueryPieces();
  // Trims one object that has shrunk, or the memory of queries, in a turn without other work.
  void TrimMemory();

  // Immutable after construction.
  const AeuId id_;
  const routing::EndpointDirectory& directory_;
  routing::AeuEndpoint& endpoint_;
  routing::SnapshotRegistry& registry_;
  tasks::TaskScheduler* const tasks_;  // nullptr: none

  // Shared: written by the AEU, read by anyone.
  LoadCounters counters_;
  Recollection recollection_;

  // Owned by the AEU thread.
  base::ThreadRole thread_;
  routing::Port port_;
  // Blocks from the ingress, oldest first: those of this turn, then those for later turns.
  routing::Block* blocks_ = nullptr;
  routing::Block* blocks_end_ = nullptr;  // the last one
  CommandGroups groups_;
  BatchBuilder builder_;
  std::vector<const routing::CommandHeader*> runnable_;  // scratch: the commands of one group
  Acknowledgements acknowledgements_;
  ScanRunner scans_;
  JoinRunner joins_;
  QueryCache query_cache_;
  TableScanRunner table_scans_;
  MeasureRunner measures_;
  QueryRunner queries_;
  Runners runners_;  // all kinds
  TransferRunner transfers_;
  std::vector<std::unique_ptr<ObjectSlot>> slots_;  // by object slot; nullptr: not here
  IdleWork* idle_work_ = &queries_;
  WorkClock work_clock_ = NowNs;
  uint32_t byte_objects_ = 0;  // number of slots whose values are byte strings
  bool copies_bytes_ = false;  // groups_ has a command for one of them
  uint64_t bytes_copied_ = 0;  // bytes of byte strings, in this turn
  // This turn's view of snapshots, and when it was read.
  storage::SnapshotView snapshots_;
  routing::SnapshotRegistry::Mark snapshots_mark_;
  uint64_t ages_checked_ns_ = 0;
  uint64_t version_bytes_ = 0;  // of all ranges, as last reported
  Round free_versions_;
  Round maintain_;
  bool maintains_ = false;   // this turn, or the last one that could
  size_t collect_slot_ = 0;  // slot of the last CollectMemory
  bool trim_worthwhile_ = false;
  bool collect_again_ = false;

  // Shared: written by the AEU, read by anyone.
  LoadBoard loads_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_AEU_H_
