// Where free tasks wait, and by which rules AEUs take them. Each kind of scheduling is a TaskPool:
// locality_aware_pool.h, blind_pool.h. All calls: the thread of the AEU `self`, which is never made
// to wait. Paper: locality-aware scheduling in Bobox, 4 and 6.1.
#ifndef ERIS_TASKS_TASK_POOL_H_
#define ERIS_TASKS_TASK_POOL_H_

#include <cstdint>

#include "eris/task_scheduling.h"
#include "tasks/task.h"
#include "tasks/task_queue.h"

namespace eris::tasks {

enum class TaskKind : uint8_t {
  kImmediate,  // the next step on rows that the AEU has just made, which its cache still has
  kDeferred,   // the first step on rows: any AEU may as well do it
};

// When an AEU asks for a task.
enum class TaskTurn : uint8_t {
  kSlice,  // in the time that it has for queries: immediate tasks of its own, deferred ones of its
           // group (nls: of all)
  kShare,  // the same, but deferred ones of each query in turn
  kIdle,   // it has nothing else to do: by all rules
};

struct FoundTask {
  Task* task = nullptr;  // nullptr: there is none, or all queues with some are in use
  TaskRule rule{};
};

inline Task* Taken(TaskQueue& queue, TaskEnd end) { return static_cast<Task*>(queue.TryTake(end)); }

class TaskPool {
 public:
  virtual ~TaskPool() = default;

  virtual void Push(uint32_t self, TaskKind kind, Task* task) = 0;
  virtual FoundTask Take(uint32_t self, TaskTurn turn) = 0;
  // Whether there may be a task that the AEU can take. False only if there is none: what is pushed
  // afterwards looks for sleepers.
  virtual bool MayHave(uint32_t self, TaskTurn turn) const = 0;
};

}  // namespace eris::tasks

#endif  // ERIS_TASKS_TASK_POOL_H_
