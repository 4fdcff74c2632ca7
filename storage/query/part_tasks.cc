#include "storage/query/part_tasks.h"

#include <new>
#include <utility>

#include "base/status_macros.h"

namespace eris::storage {
namespace {

RowSet RowsOf(const StageTask& task) {
  if (const auto* join = std::get_if<JoinTask>(&task)) return join->to;
  return std::get<MapTask>(task).to;
}

}  // namespace

absl::StatusOr<EnvelopeStep*> PartTasks::StepOf(StageTasks& all, QueryPart& part, size_t step) {
  std::unique_ptr<EnvelopeStep>& run = steps_[step].run;
  if (run != nullptr) return run.get();
  const StageTask& task = all.stage().tasks[step];
  absl::StatusOr<std::unique_ptr<EnvelopeStep>> made;
  if (const auto* send = std::get_if<SendTask>(&task)) {
    made = NewEnvelopeStep(part, *send);
  } else if (const auto* join = std::get_if<JoinTask>(&task)) {
    made = NewEnvelopeStep(WorldOf(part), *join, part.OutputOnce(join->to));
  } else {
    const auto& map = std::get<MapTask>(task);
    made = NewEnvelopeStep(WorldOf(part), map, part.OutputOnce(map.to));
  }
  ERIS_RETURN_IF_ERROR(made.status());
  run = *std::move(made);
  return run.get();
}

absl::Status PartTasks::AddFollowers(StageTasks& all, QueryPart& part, size_t step) {
  const Stage& stage = all.stage();
  if (step + 1 == stage.tasks.size() || !FollowsLast(stage.tasks[step + 1])) {
    return absl::OkStatus();
  }
  const EnvelopeList& rows = *part.list(RowsOf(stage.tasks[step]));
  for (uint32_t& at = steps_[step].followed; at < rows.size(); ++at) {
    StepTask* const task = New(all, part, step + 1);
    if (task == nullptr) return part.memory().Refusal("tasks");
    task->SetEnvelope(&rows[at], nullptr);
    all.Add(step + 1, 1);
    all.scheduler().Push(part.self(), tasks::TaskKind::kImmediate, task);
  }
  return absl::OkStatus();
}

StepTask* PartTasks::New(StageTasks& all, QueryPart& part, size_t step) {
  if (made_ == tasks_.size() * kTasksAtOnce) {
    if (tasks_.size() == tasks_.capacity()) tasks_.reserve(2 * tasks_.size() + 1);
    void* const block = part.memory().Allocate(kTasksAtOnce * sizeof(StepTask));
    if (block == nullptr) return nullptr;
    tasks_.push_back(static_cast<StepTask*>(block));
  }
  StepTask* const place = tasks_.back() + made_++ % kTasksAtOnce;
  return new (place) StepTask(all, step, part.self());
}

bool PartTasks::FreeSome(QueryMemory& memory) {
  for (size_t freed = 0; !tasks_.empty(); ++freed) {
    if (freed == kFreedAtOnce) return true;
    StepTask* const block = tasks_.back();
    const size_t before = (tasks_.size() - 1) * kTasksAtOnce;
    for (; made_ > before; --made_) block[made_ - 1 - before].~StepTask();
    memory.Free(block, kTasksAtOnce * sizeof(StepTask));
    tasks_.pop_back();
  }
  return false;
}

void PartTasks::Arrive(StageTasks& all, size_t step) {
  if (std::exchange(steps_[step].arrived, true)) return;
  all.TakeAway(step);
}

}  // namespace eris::storage
