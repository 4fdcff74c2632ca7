// A free task of a query: an envelope of a divided step, or all that an AEU has of it. In the
// memory of the AEU that has made it. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_STEP_TASK_H_
#define ERIS_STORAGE_QUERY_STEP_TASK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "storage/query/join_build.h"
#include "storage/query/query_part.h"
#include "storage/query/rows/envelope.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/stage_tasks.h"
#include "storage/query/step_run.h"
#include "tasks/task.h"

namespace eris::storage {

class StepTask final : public tasks::Task {
 public:
  // Made by that AEU.
  StepTask(StageTasks& all, size_t step, uint32_t aeu);

  // What it is about; before it is handed out. An envelope, with what it is joined with; or a list,
  // for which the AEU that runs the task makes a step of its own.
  void SetEnvelope(const Envelope* envelope, const JoinBuild* build) {
    envelope_ = envelope;
    build_ = build;
  }
  void SetList(const EnvelopeList* list) { list_ = list; }

  bool Advance(tasks::Worker& worker) override;
  void Took(tasks::Worker& worker, uint64_t ns) override;
  void End(tasks::Worker& worker) override;

 private:
  QueryPart& PartOf(tasks::Worker& worker) const { return *all_.parts().parts[worker.aeu()]; }
  absl::StatusOr<bool> Work(tasks::Worker& worker);
  absl::StatusOr<bool> WorkOnEnvelope(QueryPart& part);
  absl::StatusOr<bool> WorkOnList(QueryPart& part);

  StageTasks& all_;
  const size_t step_;
  const Envelope* envelope_ = nullptr;
  const JoinBuild* build_ = nullptr;
  const EnvelopeList* list_ = nullptr;
  std::unique_ptr<StepRun> run_;  // for a list
  uint32_t crossed_ = 0;          // envelopes of the list that have been counted
  bool begun_ = false;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_STEP_TASK_H_
