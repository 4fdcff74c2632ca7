// The free tasks of all AEUs: puts them where their kind of scheduling says, finds one for an AEU
// that asks, and wakes an AEU that sleeps when there is work for it. One for the engine. Paper:
// locality-aware scheduling in Bobox, 4.
#ifndef ERIS_TASKS_TASK_SCHEDULER_H_
#define ERIS_TASKS_TASK_SCHEDULER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/cache_line.h"
#include "eris/task_scheduling.h"
#include "tasks/blind_pool.h"
#include "tasks/core_groups.h"
#include "tasks/locality_aware_pool.h"
#include "tasks/sleepers.h"
#include "tasks/task_pool.h"

namespace eris::tasks {

class TaskScheduler {
 public:
  // `wake` wakes an AEU if it sleeps; any thread calls it; it does not block.
  TaskScheduler(CoreGroups groups, TaskScheduling scheduling, std::function<void(uint32_t)> wake);

  // How the queries that begin from now on are scheduled. Any thread.
  TaskScheduling scheduling() const { return scheduling_.load(std::memory_order_relaxed); }
  void SetScheduling(TaskScheduling scheduling) {
    scheduling_.store(scheduling, std::memory_order_relaxed);  // no data comes with it
  }

  // The rest, except Stats and Wake: the thread of the AEU `self`.

  // REQUIRES: Task::scheduling is not kOwn.
  void Push(uint32_t self, TaskKind kind, Task* task);
  // nullptr: there is none that the AEU can have now.
  Task* Take(uint32_t self, TaskTurn turn);
  // As TaskPool::MayHave.
  bool MayHave(uint32_t self, TaskTurn turn) const;

  // Between PrepareToSleep and Awake the AEU may be woken for a task. It looks at MayHave before it
  // sleeps.
  void PrepareToSleep(uint32_t self) {
    sleepers_[groups_.group_of[self]]->Add(groups_.member_of[self]);
  }
  void Awake(uint32_t self) { sleepers_[groups_.group_of[self]]->Remove(groups_.member_of[self]); }

  // Wakes it for something that is no task.
  void Wake(uint32_t aeu) const { wake_(aeu); }

  const CoreGroups& groups() const { return groups_; }
  TaskStats Stats(uint32_t aeu) const;

 private:
  struct alignas(base::kNoSharingBytes) Counters {
    std::array<std::atomic<uint64_t>, kTaskRules> taken{};
    std::atomic<uint64_t> far{0};
    std::atomic<uint64_t> wakes{0};
  };
  static void Count(std::atomic<uint64_t>& counter) {
    // relaxed: one thread writes it, others read a number.
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Wakes one AEU of the group that sleeps. False: none does.
  bool WakeOne(uint32_t self, uint32_t group);
  void WakeFor(uint32_t self, TaskKind kind, TaskScheduling scheduling);

  const CoreGroups groups_;
  const std::function<void(uint32_t)> wake_;
  LocalityAwarePool locality_aware_;
  BlindPool blind_;
  // Shared: set by the first task of blind_, so that AEUs without work do not look through it.
  // seq_cst: as the counts of queues, see BasicTaskQueue::Push and Empty.
  std::atomic<bool> blind_used_{false};
  std::vector<std::unique_ptr<Sleepers>> sleepers_;  // by group
  // Shared: written by each AEU for itself, read by anyone.
  std::vector<Counters> counters_;  // by AEU
  // Shared: written by anyone. relaxed: a setting, it publishes nothing.
  std::atomic<TaskScheduling> scheduling_;
};

}  // namespace eris::tasks

#endif  // ERIS_TASKS_TASK_SCHEDULER_H_
