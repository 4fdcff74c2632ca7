// Free tasks: threads that add them to a queue, threads that take them, and AEUs that sleep when
// there is none, as tasks/task_scheduler.h does. A task that is lost, or an AEU that nobody wakes,
// is a deadlock.
#ifndef ERIS_TESTS_EXPLORE_TASK_SCENARIOS_H_
#define ERIS_TESTS_EXPLORE_TASK_SCENARIOS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "routing/waker.h"
#include "tasks/sleepers.h"
#include "tasks/task_queue.h"
#include "tests/explore/explorer.h"

namespace eris::explore {

using ModelTaskQueue = tasks::BasicTaskQueue<ModelMemory>;

// A task with some work in it, which its maker has written.
struct WorkTask : tasks::TaskLinks {
  uint64_t work = 0;
  bool taken = false;
};

// The tasks of a scenario, and the queue in which they are.
class TasksUnderWay {
 public:
  static constexpr uint32_t kTasksMax = 8;
  static constexpr std::array kEnds = {
      tasks::TaskEnd::kYoungest, tasks::TaskEnd::kOldest, tasks::TaskEnd::kYoungestOfOldestQuery,
      tasks::TaskEnd::kOldestOfSecondQuery, tasks::TaskEnd::kYoungestOfNextQuery};

  void Push(uint32_t number) {
    WorkTask& task = tasks_[number];
    task.query = number % 2;
    ModelMemory::WillWrite(&task.work, sizeof task.work);
    task.work = number;
    queue_.Push(&task);
  }
  // By another end each time.
  bool Take(uint32_t thread) {
    auto* const task = static_cast<WorkTask*>(queue_.TryTake(kEnds[++takes_[thread] % 5]));
    if (task == nullptr) return false;
    ModelMemory::WillRead(&task->work, sizeof task->work);
    if (task->taken) Fail("a task is taken twice");
    task->taken = true;
    // relaxed: no data comes with it.
    taken_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  bool MayHave() const { return !queue_.Empty(); }
  // Nobody pushes or takes any more.
  void ExpectTaken(uint32_t tasks) {
    if (!queue_.Empty()) Fail("a queue without tasks is not empty");
    for (uint32_t i = 0; i < tasks; ++i) {
      if (!tasks_[i].taken) Fail("a task is lost");
    }
  }
  uint32_t taken() { return taken_.load(std::memory_order_relaxed); }

 private:
  ModelTaskQueue queue_;
  std::array<WorkTask, kTasksMax> tasks_;
  std::array<uint32_t, kThreadsMax> takes_{};
  ModelAtomic<uint32_t> taken_{0};
};

// Threads 1 .. pushers push `tasks` each, and then take until all are taken, as AEUs do; the
// `takers` after them only take.
class TaskQueueScenario : public Scenario {
 public:
  TaskQueueScenario(uint32_t pushers, uint32_t tasks, uint32_t takers)
      : pushers_(pushers), tasks_(tasks), all_(pushers * tasks), takers_(takers) {}

  void Run(uint32_t thread) override {
    if (thread <= pushers_) {
      for (uint32_t i = 0; i < tasks_; ++i) under_way_.Push((thread - 1) * tasks_ + i);
      if (takers_ > 0) return;
    }
    while (under_way_.taken() < all_) {
      if (!under_way_.Take(thread)) GiveWay();
    }
  }
  void Finish() override { under_way_.ExpectTaken(all_); }

 private:
  const uint32_t pushers_;
  const uint32_t tasks_;
  const uint32_t all_;
  const uint32_t takers_;
  TasksUnderWay under_way_;
};

// Threads 1 .. pushers push `tasks` each and wake an AEU for each. The threads after them are the
// `aeus` of a group: they take tasks, and sleep as aeu/aeu_thread.cc does. If `meet`, a task ends
// when all have begun, so none of the AEUs may stay asleep: as many tasks as AEUs.
class TaskSleepScenario : public Scenario {
 public:
  TaskSleepScenario(uint32_t pushers, uint32_t tasks, uint32_t aeus, bool meet)
      : pushers_(pushers), tasks_(tasks), aeus_(aeus), meet_(meet), sleepers_(aeus) {}

  void Run(uint32_t thread) override {
    if (thread <= pushers_) return Push(thread);
    const uint32_t member = thread - pushers_ - 1;
    while (!stop_.load(std::memory_order_seq_cst)) {
      if (under_way_.Take(thread)) {
        TaskTaken();
      } else if (under_way_.MayHave()) {
        GiveWay();
      } else {
        SleepUnlessThereIsATask(member);
      }
    }
  }
  void Finish() override { under_way_.ExpectTaken(pushers_ * tasks_); }

 private:
  static constexpr uint32_t kAeusMax = 3;

  void Push(uint32_t thread) {
    for (uint32_t i = 0; i < tasks_; ++i) {
      under_way_.Push((thread - 1) * tasks_ + i);
      WakeOne();
    }
  }
  void WakeOne() {
    const std::optional<uint32_t> member = sleepers_.TakeOne();
    if (member) wakers_[*member].Wake();
  }
  void TaskTaken() {
    const uint32_t all = pushers_ * tasks_;
    if (meet_) {
      while (under_way_.taken() < all) GiveWay();
    }
    if (under_way_.taken() < all) return;
    stop_.store(true, std::memory_order_seq_cst);
    for (uint32_t member = 0; member < aeus_; ++member) wakers_[member].Wake();
  }
  void SleepUnlessThereIsATask(uint32_t member) {
    wakers_[member].PrepareToSleep();
    sleepers_.Add(member);
    if (under_way_.MayHave() || stop_.load(std::memory_order_seq_cst)) {
      wakers_[member].CancelSleep();
    } else {
      wakers_[member].Sleep();
    }
    sleepers_.Remove(member);
  }

  const uint32_t pushers_;
  const uint32_t tasks_;
  const uint32_t aeus_;
  const bool meet_;
  TasksUnderWay under_way_;
  tasks::BasicSleepers<ModelMemory> sleepers_;
  std::array<routing::BasicWaker<ModelMemory>, kAeusMax> wakers_;
  ModelAtomic<bool> stop_{false};
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_TASK_SCENARIOS_H_
