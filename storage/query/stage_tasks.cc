#include "storage/query/stage_tasks.h"

#include <algorithm>

#include "storage/query/part_tasks.h"

namespace eris::storage {

Division DivisionOf(const StageTask& task) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.division; }) {
          return one.division;
        } else {
          return Division::kNone;
        }
      },
      task);
}

bool FollowsLast(const StageTask& task) {
  const auto* map = std::get_if<MapTask>(&task);
  return map != nullptr && map->follows;
}

std::unique_ptr<StageTasks> StageTasks::Create(QueryParts& parts, const Stage& stage,
                                               tasks::TaskScheduler& scheduler,
                                               TaskScheduling scheduling, uint64_t query) {
  const auto divided = [](const StageTask& task) { return DivisionOf(task) != Division::kNone; };
  if (scheduling == TaskScheduling::kOwn ||
      std::none_of(stage.tasks.begin(), stage.tasks.end(), divided)) {
    return nullptr;
  }
  return std::unique_ptr<StageTasks>(new StageTasks(parts, stage, scheduler, scheduling, query));
}

StageTasks::StageTasks(QueryParts& parts, const Stage& stage, tasks::TaskScheduler& scheduler,
                       TaskScheduling scheduling, uint64_t query)
    : parts_(parts),
      stage_(stage),
      scheduler_(scheduler),
      scheduling_(scheduling),
      query_(query),
      left_(new Left[stage.tasks.size()]) {
  for (size_t step = 0; step < stage.tasks.size(); ++step) {
    // relaxed: the command of the stage publishes it.
    if (DivisionOf(stage.tasks[step]) != Division::kNone) {
      left_[step].count.store(parts.aeus(), std::memory_order_relaxed);
    }
  }
  for (uint32_t aeu = 0; aeu < parts.aeus(); ++aeu) {
    parts.parts[aeu]->BeginTasks(stage.tasks.size());
  }
}

void StageTasks::TakeAway(size_t step) {
  // What is needed afterwards: the one that sees the end may free the rest.
  const uint32_t aeus = parts_.aeus();
  const tasks::TaskScheduler& scheduler = scheduler_;
  // seq_cst: pairs with the load in HasEnded, and makes it see all that the task has made.
  if (left_[step].count.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  // Not by a chain of AEUs that wake others: one that has failed would break it.
  for (uint32_t aeu = 0; aeu < aeus; ++aeu) scheduler.Wake(aeu);
}

void StageTasks::Absent() {
  parts_.stop.store(true, std::memory_order_relaxed);  // advice, it publishes nothing
  for (size_t step = 0; step < stage_.tasks.size(); ++step) {
    if (DivisionOf(stage_.tasks[step]) != Division::kNone) TakeAway(step);
  }
}

}  // namespace eris::storage
