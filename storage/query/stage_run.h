// A stage at one AEU: does its tasks one after the other, in pieces. Used by the AEU's thread. Not
// from the papers.
#ifndef ERIS_STORAGE_QUERY_STAGE_RUN_H_
#define ERIS_STORAGE_QUERY_STAGE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/query/query_part.h"
#include "storage/query/stage.h"
#include "storage/query/stage_tasks.h"
#include "storage/query/step_run.h"

namespace eris::storage {

class StageRun {
 public:
  // Both outlive it. The part has been entered.
  StageRun(QueryPart& part, const Stage& stage) : part_(part), stage_(stage) {}
  StageRun(const StageRun&) = delete;
  StageRun& operator=(const StageRun&) = delete;

  // A piece of work, some 20 us if Took is told how long pieces take. Longer is the end of a run in
  // the middle of a join or a sort, whose memory is freed at once. False: all is done. Errors: as
  // StepRun::Advance. Does not throw.
  absl::StatusOr<bool> Advance();
  // The query is to stop, for that reason: Advance ends with it, as soon as no AEU is at work on
  // what this one has.
  void Stop(absl::Status reason);
  // Whether Advance has nothing to do until other AEUs have done what it waits for. seq_cst, as
  // StepRun::Waits.
  bool Waits() const;
  // The last piece took so long.
  void Took(uint64_t ns) { piece_rows_.Took(ns); }

 private:
  // True: the task has more to do.
  absl::StatusOr<bool> Do(const FreeTask& task);
  absl::StatusOr<bool> Do(const FilterTask& task);
  absl::StatusOr<bool> Do(const CopyTask& task);
  absl::StatusOr<bool> Do(const ShareTask& task);
  absl::StatusOr<bool> Do(const SpreadTask& task);
  absl::StatusOr<bool> Do(const SendTask& task);
  absl::StatusOr<bool> Do(const ReceiveTask& task);
  absl::StatusOr<bool> Do(const MapTask& task);
  absl::StatusOr<bool> Do(const GroupsTask& task);
  absl::StatusOr<bool> Do(const JoinTask& task);
  absl::StatusOr<bool> Do(const SortTask& task);
  absl::StatusOr<bool> Do(const UnionTask& task);
  absl::StatusOr<bool> Do(const ValuesTask& task);
  absl::StatusOr<bool> Do(const LeaveTask& task);
  // Refers to envelopes of all parts: to those whose number, over all parts, has the remainder
  // `share` of `of`.
  absl::StatusOr<bool> Refer(RowSet from, RowSet to, uint32_t share, uint32_t of);
  // Refers to those of the own NumaNode's parts. `copies`: they are copies of others.
  absl::StatusOr<bool> ReferToNear(RowSet from, RowSet to, bool copies);
  // Adds to far_ envelopes of other NumaNodes' AEUs that this one copies. True: there may be more.
  bool CollectToCopy(const CopyTask& task);
  bool CollectSent(RowSet set);
  absl::Status Add(EnvelopeList& list, Envelope* envelope) const;
  StepWorld world() const { return WorldOf(part_); }
  // nullptr: this one is not divided.
  StageTasks* Divided(size_t task) const;
  // The next piece of the task, and what comes after its last one.
  absl::StatusOr<bool> Work();
  void BeginNext();
  // After all tasks, or after an error: frees a piece of what it has had for free tasks. False: it
  // has nothing of them any more.
  bool EndTasks();

  QueryPart& part_;
  const Stage& stage_;
  size_t task_ = 0;
  std::unique_ptr<StepRun> run_;  // of the task, if it needs one
  PieceRows piece_rows_;
  absl::Status error_;   // why it ends early
  bool ending_ = false;  // no task is left
  // Where the task goes on, unless it has a run.
  uint32_t at_ = 0;
  uint32_t envelope_ = 0;
  uint64_t count_ = 0;
  bool copies_ = false;               // of ShareTask: now come the copies
  std::vector<const Envelope*> far_;  // what is copied
  uint32_t far_at_ = 0;               // where CollectSent goes on: the AEU
  const Envelope* chain_ = nullptr;   // and the envelope; nullptr: its first one
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_STAGE_RUN_H_
