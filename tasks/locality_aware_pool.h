// Locality-aware scheduling (LAS): a queue of immediate tasks for each AEU, one of deferred tasks
// for each core group, and five rules in order. Paper: locality-aware scheduling in Bobox, 4.2.
//
//   1  the AEU's own immediate queue: the youngest task, whose rows are in its cache
//   2  those of the others of its group, the nearest cache first: the oldest task
//   3  the group's deferred queue: the youngest task of the oldest query
//   4  the deferred queues of other groups, the nearest NumaNode first: the oldest task of the
//      second oldest query, since the group is at work on the oldest one; of that, if it is alone
//   5  immediate queues of other groups of the NumaNode, in turn: the oldest task
//
// An immediate task does not leave its NumaNode.
#ifndef ERIS_TASKS_LOCALITY_AWARE_POOL_H_
#define ERIS_TASKS_LOCALITY_AWARE_POOL_H_

#include <cstdint>
#include <vector>

#include "base/cache_line.h"
#include "tasks/core_groups.h"
#include "tasks/task_pool.h"
#include "tasks/task_queue.h"

namespace eris::tasks {

class LocalityAwarePool final : public TaskPool {
 public:
  // `groups` outlives it.
  explicit LocalityAwarePool(const CoreGroups& groups)
      : groups_(groups), aeus_(groups.aeus()), deferred_(groups.groups.size()) {}

  void Push(uint32_t self, TaskKind kind, Task* task) override;
  FoundTask Take(uint32_t self, TaskTurn turn) override;
  bool MayHave(uint32_t self, TaskTurn turn) const override;

 private:
  struct alignas(base::kNoSharingBytes) OfAeu {
    TaskQueue immediate;
    // Owned by the AEU's thread: where rule 5 has found a task last, in the order in which it
    // looks.
    uint32_t found_at = 0;
  };

  Task* TakeOfGroup(uint32_t self);
  Task* TakeOfOtherGroup(uint32_t self);
  Task* TakeNear(uint32_t self);

  const CoreGroups& groups_;
  std::vector<OfAeu> aeus_;          // by AEU
  std::vector<TaskQueue> deferred_;  // by group
};

}  // namespace eris::tasks

#endif  // ERIS_TASKS_LOCALITY_AWARE_POOL_H_
