// The free tasks of a stage: steps that are divided among AEUs by the envelopes of their input, or
// by the parts of it. Each AEU makes tasks of what it has; any AEU takes them (tasks/), and its
// rows are its own. Not from the papers; free tasks are those of locality-aware scheduling in
// Bobox, 4.
//
// A divided step has ended when all AEUs have made their tasks and all tasks have ended. That is a
// count: it begins with one for each AEU; an AEU adds its tasks before it hands them out, then
// takes its one away; a task that has ended takes one away. The AEU that takes the last one wakes
// all. Each AEU waits for that in its own stage, also if it has failed: so nothing that a task
// reads is freed before, and no task runs after the stage.
//
// A step may follow another one, whose rows it reads: an AEU that has filled an envelope adds the
// task for it, an immediate one, while the rows are in its cache.
#ifndef ERIS_STORAGE_QUERY_STAGE_TASKS_H_
#define ERIS_STORAGE_QUERY_STAGE_TASKS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/cache_line.h"
#include "storage/query/query_part.h"
#include "storage/query/stage.h"
#include "tasks/task_scheduler.h"

namespace eris::storage {

// One for a stage of all AEUs, made before it is sent, outlives it.
class StageTasks {
 public:
  // `query`: as Task::query. All outlive it. nullptr: no task of the stage is divided, or none is
  // to be (kOwn). Throws std::bad_alloc.
  static std::unique_ptr<StageTasks> Create(QueryParts& parts, const Stage& stage,
                                            tasks::TaskScheduler& scheduler,
                                            TaskScheduling scheduling, uint64_t query);
  QueryParts& parts() const { return parts_; }
  const Stage& stage() const { return stage_; }
  tasks::TaskScheduler& scheduler() const { return scheduler_; }
  TaskScheduling scheduling() const { return scheduling_; }
  uint64_t query() const { return query_; }

  // The rest: by number of the stage's task, which is divided.

  // So many tasks more; before they are handed out.
  void Add(size_t step, uint64_t tasks) {
    // relaxed: the queue of the tasks publishes it. It is not 0 before, except that the count of a
    // step that follows another one may be when the query has been stopped: then the other one's is
    // not, and AEUs look at them in order.
    left_[step].count.fetch_add(tasks, std::memory_order_relaxed);
  }
  // One less: a task has ended, or an AEU has made its tasks. The last one wakes all AEUs: one load
  // for each that is awake, a system call for each that sleeps.
  void TakeAway(size_t step);
  // Whether all have. seq_cst: an AEU that sleeps is woken, see routing::Waker; and then all that
  // the tasks have made is here (pairs with TakeAway).
  bool HasEnded(size_t step) const {
    return left_[step].count.load(std::memory_order_seq_cst) == 0;
  }
  // An AEU has no part in the stage: the query is to stop.
  void Absent();

 private:
  StageTasks(QueryParts& parts, const Stage& stage, tasks::TaskScheduler& scheduler,
             TaskScheduling scheduling, uint64_t query);
  struct alignas(base::kNoSharingBytes) Left {
    std::atomic<uint64_t> count{0};
  };

  QueryParts& parts_;
  const Stage& stage_;
  tasks::TaskScheduler& scheduler_;
  const TaskScheduling scheduling_;
  const uint64_t query_;
  // Shared: counted by all AEUs of the stage.
  const std::unique_ptr<Left[]> left_;
};

// Whether, and how, the task of a stage is divided.
Division DivisionOf(const StageTask& task);
// Whether it takes the rows of the one before it as they are made.
bool FollowsLast(const StageTask& task);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_STAGE_TASKS_H_
