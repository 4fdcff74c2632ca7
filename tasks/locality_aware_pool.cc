#include "tasks/locality_aware_pool.h"

namespace eris::tasks {

void LocalityAwarePool::Push(uint32_t self, TaskKind kind, Task* task) {
  TaskQueue& queue =
      kind == TaskKind::kImmediate ? aeus_[self].immediate : deferred_[groups_.group_of[self]];
  queue.Push(task);
}

FoundTask LocalityAwarePool::Take(uint32_t self, TaskTurn turn) {
  // Rule 1.
  if (Task* const own = Taken(aeus_[self].immediate, TaskEnd::kYoungest); own != nullptr) {
    return {own, TaskRule::kOwnImmediate};
  }
  if (turn == TaskTurn::kIdle) {
    if (Task* const found = TakeOfGroup(self); found != nullptr) {
      return {found, TaskRule::kGroupImmediate};
    }
  }
#ifdef ERIS_PLANTED_OTHER_GROUP_FIRST
  if (Task* const found = TakeOfOtherGroup(self)) return {found, TaskRule::kOtherDeferred};
#endif
  // Rule 3.
  const TaskEnd end =
      turn == TaskTurn::kShare ? TaskEnd::kYoungestOfNextQuery : TaskEnd::kYoungestOfOldestQuery;
  if (Task* const found = Taken(deferred_[groups_.group_of[self]], end); found != nullptr) {
    return {found, TaskRule::kGroupDeferred};
  }
  if (turn != TaskTurn::kIdle) return {};
  if (Task* const found = TakeOfOtherGroup(self); found != nullptr) {
    return {found, TaskRule::kOtherDeferred};
  }
  return {TakeNear(self), TaskRule::kNearImmediate};
}

// Rule 2.
Task* LocalityAwarePool::TakeOfGroup(uint32_t self) {
  for (const uint32_t other : groups_.near[self]) {
    if (Task* const found = Taken(aeus_[other].immediate, TaskEnd::kOldest)) return found;
  }
  return nullptr;
}

// Rule 4.
Task* LocalityAwarePool::TakeOfOtherGroup(uint32_t self) {
  for (const uint32_t other : groups_.groups[groups_.group_of[self]].others) {
    if (Task* const found = Taken(deferred_[other], TaskEnd::kOldestOfSecondQuery)) return found;
  }
  return nullptr;
}

// Rule 5.
Task* LocalityAwarePool::TakeNear(uint32_t self) {
  const CoreGroup& group = groups_.groups[groups_.group_of[self]];
  uint32_t near = group.near;
#ifdef ERIS_PLANTED_IMMEDIATE_TAKEN_FAR
  near = static_cast<uint32_t>(group.others.size());
#endif
  uint32_t queues = 0;
  for (uint32_t g = 0; g < near; ++g) {
    queues += static_cast<uint32_t>(groups_.groups[group.others[g]].members.size());
  }
  uint32_t& at = aeus_[self].found_at;
  for (uint32_t looked = 0; looked < queues; ++looked) {
    // From the one behind the last one in which it has found a task.
    uint32_t place = (at + 1 + looked) % queues;
    const uint32_t chosen = place;
    uint32_t g = 0;
    while (place >= groups_.groups[group.others[g]].members.size()) {
      place -= static_cast<uint32_t>(groups_.groups[group.others[g++]].members.size());
    }
    const uint32_t other = groups_.groups[group.others[g]].members[place];
    if (Task* const found = Taken(aeus_[other].immediate, TaskEnd::kOldest)) {
      at = chosen;
      return found;
    }
  }
  return nullptr;
}

bool LocalityAwarePool::MayHave(uint32_t self, TaskTurn turn) const {
  const uint32_t own = groups_.group_of[self];
  if (!aeus_[self].immediate.Empty() || !deferred_[own].Empty()) return true;
  if (turn != TaskTurn::kIdle) return false;
  const CoreGroup& group = groups_.groups[own];
  for (const uint32_t other : groups_.near[self]) {
    if (!aeus_[other].immediate.Empty()) return true;
  }
  for (uint32_t g = 0; g < group.others.size(); ++g) {
    if (!deferred_[group.others[g]].Empty()) return true;
    if (g >= group.near) continue;
    for (const uint32_t other : groups_.groups[group.others[g]].members) {
      if (!aeus_[other].immediate.Empty()) return true;
    }
  }
  return false;
}

}  // namespace eris::tasks
