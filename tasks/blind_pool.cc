#include "tasks/blind_pool.h"

namespace eris::tasks {

void BlindPool::Push(uint32_t self, TaskKind kind, Task* task) {
  (kind == TaskKind::kImmediate ? immediate_[self] : deferred_).Push(task);
}

FoundTask BlindPool::Take(uint32_t self, TaskTurn turn) {
  if (Task* const own = Taken(immediate_[self], TaskEnd::kYoungest); own != nullptr) {
    return {own, TaskRule::kBlindImmediate};
  }
  const TaskEnd end = turn == TaskTurn::kShare ? TaskEnd::kYoungestOfNextQuery : TaskEnd::kOldest;
  if (Task* const found = Taken(deferred_, end); found != nullptr) {
    return {found, TaskRule::kBlindDeferred};
  }
  if (turn != TaskTurn::kIdle) return {};
  const auto aeus = static_cast<uint32_t>(immediate_.size());
  for (uint32_t next = 1; next < aeus; ++next) {
    Task* const found = Taken(immediate_[(self + next) % aeus], TaskEnd::kOldest);
    if (found != nullptr) return {found, TaskRule::kBlindOtherImmediate};
  }
  return {};
}

bool BlindPool::MayHave(uint32_t self, TaskTurn turn) const {
  if (!immediate_[self].Empty() || !deferred_.Empty()) return true;
  if (turn != TaskTurn::kIdle) return false;
  for (const TaskQueue& queue : immediate_) {
    if (!queue.Empty()) return true;
  }
  return false;
}

}  // namespace eris::tasks
