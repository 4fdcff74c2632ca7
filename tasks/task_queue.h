// A queue of free tasks that nobody waits for: one CAS adds a task, and who wants to take one while
// another thread does so finds the queue empty. It keeps the tasks in the order in which they came,
// and those of each query apart. Paper: locality-aware scheduling in Bobox, 4.1 (immediate queues,
// of one AEU; deferred queues, of a core group).
#ifndef ERIS_TASKS_TASK_QUEUE_H_
#define ERIS_TASKS_TASK_QUEUE_H_

#include <atomic>
#include <cstdint>

#include "base/cache_line.h"
#include "base/memory_ops.h"
#include "tasks/task.h"

namespace eris::tasks {

// Which task of a queue is taken.
enum class TaskEnd : uint8_t {
  kYoungest,               // of all
  kOldest,                 // of all
  kYoungestOfOldestQuery,  // rule 3
  kOldestOfSecondQuery,    // rule 4; of the only one if there is no other
  kYoungestOfNextQuery,    // of the query after the one that this end has been taken from last
};

template <class Memory>
class BasicTaskQueue {
 public:
  BasicTaskQueue() = default;
  BasicTaskQueue(const BasicTaskQueue&) = delete;
  BasicTaskQueue& operator=(const BasicTaskQueue&) = delete;

  // Any thread. The task is the queue's until it is taken.
  void Push(TaskLinks* task) {
    // seq_cst: pairs with the load in Empty, of an AEU that is about to sleep. Before the task is
    // there, so that the count is never below what can be taken.
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    TaskLinks* head = nullptr;
    do {
      Memory::WillWrite(&task->below_, sizeof task->below_);
      task->below_ = head;
      // release: pairs with the exchange in SortIn.
    } while (!inbox_.compare_exchange_weak(head, task, std::memory_order_release,
                                           std::memory_order_relaxed));
  }

  // Any thread. nullptr: there is none, or another thread is taking one.
  TaskLinks* TryTake(TaskEnd end) {
    // relaxed: a hint.
    if (waiting_.load(std::memory_order_relaxed) == 0) return nullptr;
    // relaxed: a hint, so that those who find it in use do not fetch the line for writing.
    if (in_use_.load(std::memory_order_relaxed)) return nullptr;
    // acquire: pairs with the store below, of the thread that was here before.
    if (in_use_.exchange(true, std::memory_order_acquire)) return nullptr;
    Memory::WillWrite(&oldest_, sizeof oldest_);  // for the whole order
    SortIn();
    TaskLinks* const task = Choose(end);
    if (task != nullptr) Remove(task);
    in_use_.store(false, std::memory_order_release);  // pairs with the exchange above
    // relaxed: too large a number keeps nobody from work.
    if (task != nullptr) waiting_.fetch_sub(1, std::memory_order_relaxed);
    return task;
  }

  // Any thread. False: a task is there, or is being added, or has just been taken. seq_cst: pairs
  // with Push; see routing::Waker.
  bool Empty() const { return waiting_.load(std::memory_order_seq_cst) == 0; }

 private:
  // Takes in what has been pushed since.
  void SortIn() {
    // acquire: pairs with the CAS in Push.
    TaskLinks* pushed = inbox_.exchange(nullptr, std::memory_order_acquire);
    TaskLinks* oldest = nullptr;
    while (pushed != nullptr) {
      Memory::WillRead(&pushed->below_, sizeof pushed->below_);
      TaskLinks* const below = pushed->below_;
      pushed->below_ = oldest;
      oldest = pushed;
      pushed = below;
    }
    while (oldest != nullptr) {
      TaskLinks* const next = oldest->below_;
      Insert(oldest);
      oldest = next;
    }
  }

  void Insert(TaskLinks* task) {
    task->older_ = youngest_;
    task->younger_ = nullptr;
    (youngest_ == nullptr ? oldest_ : youngest_->younger_) = task;
    youngest_ = task;
    // The oldest task of its query, or of the last query before it. From the youngest query on:
    // most tasks are of a young one.
    TaskLinks* head = last_query_;
    while (head != nullptr && head->query > task->query) head = head->query_before_;
    if (head != nullptr && head->query == task->query) {
      task->query_older_ = head->youngest_;
      task->query_younger_ = nullptr;
      head->youngest_->query_younger_ = task;
      head->youngest_ = task;
      return;
    }
    task->query_older_ = nullptr;
    task->query_younger_ = nullptr;
    task->youngest_ = task;
    task->query_before_ = head;
    task->query_after_ = head == nullptr ? first_query_ : head->query_after_;
    Link(task);
  }

  // Makes `head` the neighbour of the queries before and after it.
  void Link(TaskLinks* head) {
    (head->query_before_ == nullptr ? first_query_ : head->query_before_->query_after_) = head;
    (head->query_after_ == nullptr ? last_query_ : head->query_after_->query_before_) = head;
  }

  TaskLinks* Choose(TaskEnd end) {
    if (first_query_ == nullptr) return nullptr;
    switch (end) {
      case TaskEnd::kYoungest:
        return youngest_;
      case TaskEnd::kOldest:
        return oldest_;
      case TaskEnd::kYoungestOfOldestQuery:
        return first_query_->youngest_;
      case TaskEnd::kOldestOfSecondQuery:
        return first_query_->query_after_ == nullptr ? first_query_ : first_query_->query_after_;
      case TaskEnd::kYoungestOfNextQuery:
        break;
    }
    TaskLinks* next = first_query_;
    while (next != nullptr && next->query <= served_) next = next->query_after_;
    if (next == nullptr) next = first_query_;
    served_ = next->query;
    return next->youngest_;
  }

  void Remove(TaskLinks* task) {
    (task->older_ == nullptr ? oldest_ : task->older_->younger_) = task->younger_;
    (task->younger_ == nullptr ? youngest_ : task->younger_->older_) = task->older_;
    if (task->query_older_ == nullptr) return RemoveHead(task);
    TaskLinks* const younger = task->query_younger_;
    task->query_older_->query_younger_ = younger;
    if (younger != nullptr) {
      younger->query_older_ = task->query_older_;
    } else {
      HeadOf(task->query)->youngest_ = task->query_older_;
    }
  }

  // Its query goes on with the next one, or is gone.
  void RemoveHead(TaskLinks* task) {
    TaskLinks* const heir = task->query_younger_;
    if (heir != nullptr) {
      heir->query_older_ = nullptr;
      heir->youngest_ = task->youngest_;
      heir->query_before_ = task->query_before_;
      heir->query_after_ = task->query_after_;
      return Link(heir);
    }
    TaskLinks* const before = task->query_before_;
    TaskLinks* const after = task->query_after_;
    (before == nullptr ? first_query_ : before->query_after_) = after;
    (after == nullptr ? last_query_ : after->query_before_) = before;
  }

  TaskLinks* HeadOf(uint64_t query) const {
    TaskLinks* head = first_query_;
    while (head->query != query) head = head->query_after_;
    return head;
  }

  template <class T>
  using Atomic = typename Memory::template Atomic<T>;

  // Shared: written by those who push and those who take.
  alignas(base::kNoSharingBytes) Atomic<TaskLinks*> inbox_{nullptr};
  Atomic<uint32_t> waiting_{0};  // tasks that are here or about to be
  Atomic<bool> in_use_{false};
  // Owned by the thread that has set in_use_.
  TaskLinks* oldest_ = nullptr;
  TaskLinks* youngest_ = nullptr;
  TaskLinks* first_query_ = nullptr;  // the oldest task of the oldest query
  TaskLinks* last_query_ = nullptr;
  uint64_t served_ = 0;  // kYoungestOfNextQuery: the query that was served last
};

using TaskQueue = BasicTaskQueue<base::RealMemory>;

}  // namespace eris::tasks

#endif  // ERIS_TASKS_TASK_QUEUE_H_
