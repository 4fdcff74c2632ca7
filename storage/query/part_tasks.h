// What an AEU has for the free tasks of a stage: its own steps, which it runs for tasks of all
// AEUs, and the tasks that it has made. Used by the AEU's thread. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_PART_TASKS_H_
#define ERIS_STORAGE_QUERY_PART_TASKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "storage/query/envelope_step.h"
#include "storage/query/join_build.h"
#include "storage/query/query_part.h"
#include "storage/query/stage_tasks.h"
#include "storage/query/step_task.h"

namespace eris::storage {

class PartTasks {
 public:
  explicit PartTasks(size_t steps) : steps_(steps) {}

  // The AEU's own step of a divided task of the stage, which makes its rows; made at the first
  // call. Errors: as NewEnvelopeStep. Throws std::bad_alloc.
  absl::StatusOr<EnvelopeStep*> StepOf(StageTasks& all, QueryPart& part, size_t step);
  void EndStep(size_t step) { steps_[step].run.reset(); }

  // Adds the tasks for what the step has made since the last call, if another one follows it.
  // Errors: ResourceExhausted. Throws std::bad_alloc.
  absl::Status AddFollowers(StageTasks& all, QueryPart& part, size_t step);

  // A task that the AEU makes. nullptr: no memory. Throws std::bad_alloc.
  StepTask* New(StageTasks& all, QueryPart& part, size_t step);
  // Frees a piece of the memory of the AEU's tasks, none of which is left. False: all is free.
  bool FreeSome(QueryMemory& memory);

  // The AEU has made all of its tasks of the step; or, if it has not, it never will.
  void Arrive(StageTasks& all, size_t step);

  // The AEU's own table for a join of the stage, once it is made; nullptr: it is not made.
  const JoinBuild* built(size_t step) const { return steps_[step].built; }
  void SetBuilt(size_t step, const JoinBuild* built) { steps_[step].built = built; }

  // A task that the AEU has run has failed: the first one counts.
  void Fail(absl::Status status) {
    if (error_.ok()) error_ = std::move(status);
  }
  const absl::Status& error() const { return error_; }

  PieceRows& piece_rows() { return piece_rows_; }

 private:
  struct Step {
    std::unique_ptr<EnvelopeStep> run;
    const JoinBuild* built = nullptr;
    uint32_t followed = 0;  // envelopes of its rows whose tasks have been added
    bool arrived = false;
  };
  static constexpr size_t kTasksAtOnce = 32;  // in one block of memory
  static constexpr size_t kFreedAtOnce = 16;  // blocks

  std::vector<Step> steps_;  // by task of the stage
  std::vector<StepTask*> tasks_;
  size_t made_ = 0;
  absl::Status error_;
  PieceRows piece_rows_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_PART_TASKS_H_
