#include "storage/query/step_task.h"

#include <utility>

#include "base/lean_status.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "storage/query/envelope_step.h"
#include "storage/query/part_tasks.h"

namespace eris::storage {

StepTask::StepTask(StageTasks& all, size_t step, uint32_t aeu) : all_(all), step_(step) {
  query = all.query();
  scheduling = all.scheduling();
  home = aeu;
}

bool StepTask::Advance(tasks::Worker& worker) {
  // relaxed: advice.
  if (all_.parts().stop.load(std::memory_order_relaxed)) return false;
  absl::StatusOr<bool> more =
      base::OrNoMemory("no memory for a query", [&] { return Work(worker); });
  if (more.ok()) return *more;
  PartOf(worker).tasks().Fail(std::move(more).status());
  all_.parts().stop.store(true, std::memory_order_relaxed);
  return false;
}

absl::StatusOr<bool> StepTask::Work(tasks::Worker& worker) {
  QueryPart& part = PartOf(worker);
  if (!part.entered()) {
    memory::LocalCache* const cache = worker.CacheOf(part.manager());
    if (cache == nullptr) {
      return base::LeanError(ErrorReason::kMemoryLimit,
                             "an AEU has no memory for a task of a query");
    }
    part.Enter(*cache);
  }
  return list_ != nullptr ? WorkOnList(part) : WorkOnEnvelope(part);
}

absl::StatusOr<bool> StepTask::WorkOnEnvelope(QueryPart& part) {
  PartTasks& tasks = part.tasks();
  ERIS_ASSIGN_OR_RETURN(EnvelopeStep* const step, tasks.StepOf(all_, part, step_));
  if (!begun_) {
    // The AEU's own table has the same rows if all refer to them, and it is on its NumaNode.
    const auto* join = std::get_if<JoinTask>(&all_.stage().tasks[step_]);
    if (join != nullptr && join->shared && tasks.built(step_) != nullptr) {
      build_ = tasks.built(step_);
    }
    ERIS_RETURN_IF_ERROR(step->Begin(*envelope_, build_));
    begun_ = true;
    if (part.self() != home) part.CountCrossed(*envelope_);
  }
  step->SetPieceRows(tasks.piece_rows().rows());
  ERIS_ASSIGN_OR_RETURN(const bool more, step->Advance());
  ERIS_RETURN_IF_ERROR(tasks.AddFollowers(all_, part, step_));
  return more;
}

absl::StatusOr<bool> StepTask::WorkOnList(QueryPart& part) {
  if (run_ == nullptr) {
    const auto& map = std::get<MapTask>(all_.stage().tasks[step_]);
    ERIS_ASSIGN_OR_RETURN(auto step, NewEnvelopeStep(WorldOf(part), map, part.OutputOnce(map.to)));
    run_ = NewListRun(std::move(step), list_);
  }
  // A piece at a time; each envelope takes at least one.
  constexpr uint32_t kCountedAtOnce = 64;
  for (uint32_t n = 0; part.self() != home && n < kCountedAtOnce && crossed_ < list_->size(); ++n) {
    part.CountCrossed((*list_)[crossed_++]);
  }
  run_->SetPieceRows(part.tasks().piece_rows().rows());
  return run_->Advance();
}

void StepTask::Took(tasks::Worker& worker, uint64_t ns) {
  QueryPart& part = PartOf(worker);
  part.CountTime(ns);
  part.tasks().piece_rows().Took(ns);
}

void StepTask::End(tasks::Worker&) {
  run_.reset();
  all_.TakeAway(step_);
}

}  // namespace eris::storage
