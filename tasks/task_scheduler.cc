#include "tasks/task_scheduler.h"

#include <optional>
#include <utility>

#include "base/check.h"

namespace eris::tasks {

TaskScheduler::TaskScheduler(CoreGroups groups, TaskScheduling scheduling,
                             std::function<void(uint32_t)> wake)
    : groups_(std::move(groups)),
      wake_(std::move(wake)),
      locality_aware_(groups_),
      blind_(groups_.aeus()),
      counters_(groups_.aeus()),
      scheduling_(scheduling) {
  for (const CoreGroup& group : groups_.groups) {
    sleepers_.push_back(std::make_unique<Sleepers>(static_cast<uint32_t>(group.members.size())));
  }
}

void TaskScheduler::Push(uint32_t self, TaskKind kind, Task* task) {
  const TaskScheduling scheduling = task->scheduling;  // the task may be gone when it is there
  ERIS_DCHECK(scheduling != TaskScheduling::kOwn);
  if (scheduling == TaskScheduling::kBlind) {
    // relaxed: once it is set it stays.
    if (!blind_used_.load(std::memory_order_relaxed)) {
      blind_used_.store(true, std::memory_order_seq_cst);  // pairs with the load in MayHave
    }
    blind_.Push(self, kind, task);
  } else {
    locality_aware_.Push(self, kind, task);
  }
  WakeFor(self, kind, scheduling);
}

bool TaskScheduler::WakeOne(uint32_t self, uint32_t group) {
  const std::optional<uint32_t> sleeper = sleepers_[group]->TakeOne();
  if (!sleeper) return false;
  Count(counters_[self].wakes);
  wake_(groups_.groups[group].members[*sleeper]);
  return true;
}

void TaskScheduler::WakeFor(uint32_t self, TaskKind kind, TaskScheduling scheduling) {
  if (scheduling == TaskScheduling::kBlind) {
    for (uint32_t group = 0; group < groups_.groups.size(); ++group) {
      if (WakeOne(self, group)) return;
    }
    return;
  }
  const uint32_t own = groups_.group_of[self];
  if (WakeOne(self, own)) return;
  const CoreGroup& group = groups_.groups[own];
  // An immediate task does not leave the NumaNode.
  const size_t others = kind == TaskKind::kImmediate ? group.near : group.others.size();
  for (size_t i = 0; i < others; ++i) {
    if (WakeOne(self, group.others[i])) return;
  }
}

Task* TaskScheduler::Take(uint32_t self, TaskTurn turn) {
  FoundTask found = locality_aware_.Take(self, turn);
  // relaxed: a hint, as in BasicTaskQueue::TryTake.
  if (found.task == nullptr && blind_used_.load(std::memory_order_relaxed)) {
    found = blind_.Take(self, turn);
  }
  if (found.task == nullptr) return nullptr;
  Count(counters_[self].taken[static_cast<size_t>(found.rule)]);
  if (groups_.NumaNodeOf(self) != groups_.NumaNodeOf(found.task->home)) {
    Count(counters_[self].far);
  }
  return found.task;
}

bool TaskScheduler::MayHave(uint32_t self, TaskTurn turn) const {
  // seq_cst: pairs with the store in Push.
  return locality_aware_.MayHave(self, turn) ||
         (blind_used_.load(std::memory_order_seq_cst) && blind_.MayHave(self, turn));
}

TaskStats TaskScheduler::Stats(uint32_t aeu) const {
  const Counters& counters = counters_[aeu];
  TaskStats stats;
  for (size_t rule = 0; rule < kTaskRules; ++rule) {
    stats.taken[rule] = counters.taken[rule].load(std::memory_order_relaxed);
  }
  stats.far = counters.far.load(std::memory_order_relaxed);
  stats.wakes = counters.wakes.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace eris::tasks
