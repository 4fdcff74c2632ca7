// Scheduling that does not look at the machine (NLS), to compare with: a queue of immediate tasks
// for each AEU, one of deferred tasks for all, and three rules. Paper: locality-aware scheduling in
// Bobox, 6.1.
//
//   1  the AEU's own immediate queue: the youngest task
//   2  the deferred queue: the oldest task
//   3  the immediate queues of the others: the oldest task
#ifndef ERIS_TASKS_BLIND_POOL_H_
#define ERIS_TASKS_BLIND_POOL_H_

#include <cstdint>
#include <vector>

#include "tasks/task_pool.h"
#include "tasks/task_queue.h"

namespace eris::tasks {

class BlindPool final : public TaskPool {
 public:
  explicit BlindPool(uint32_t aeus) : immediate_(aeus) {}

  void Push(uint32_t self, TaskKind kind, Task* task) override;
  FoundTask Take(uint32_t self, TaskTurn turn) override;
  bool MayHave(uint32_t self, TaskTurn turn) const override;

 private:
  std::vector<TaskQueue> immediate_;  // by AEU
  TaskQueue deferred_;
};

}  // namespace eris::tasks

#endif  // ERIS_TASKS_BLIND_POOL_H_
