// A free task: a piece of a query's work whose input is complete and whose output is the runner's
// own, so that any AEU may run it. Made by the query, queued until an AEU takes it, then that AEU's
// until it has ended. Paper: locality-aware scheduling in Bobox, 2.3 and 4.
#ifndef ERIS_TASKS_TASK_H_
#define ERIS_TASKS_TASK_H_

#include <cstdint>

#include "eris/task_scheduling.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"

namespace eris::tasks {

template <class Memory>
class BasicTaskQueue;

// The AEU that runs tasks, for them.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual uint32_t aeu() const = 0;
  // The AEU's cache of the memory of queries; nullptr: no memory.
  virtual memory::LocalCache* CacheOf(memory::MemoryManager& manager) = 0;
};

// Where a task waits. Its links belong to the queue that it is in.
class TaskLinks {
 public:
  // The age of the query that it belongs to: a query that came later has a larger number.
  uint64_t query = 0;

 private:
  template <class Memory>
  friend class BasicTaskQueue;

  TaskLinks* below_ = nullptr;  // in the inbox
  // All tasks of a queue, in the order in which they came.
  TaskLinks* older_ = nullptr;
  TaskLinks* younger_ = nullptr;
  // Those of the query.
  TaskLinks* query_older_ = nullptr;
  TaskLinks* query_younger_ = nullptr;
  // Valid in the oldest task of a query: its youngest one, and the oldest ones of the queries
  // before and after it.
  TaskLinks* youngest_ = nullptr;
  TaskLinks* query_before_ = nullptr;
  TaskLinks* query_after_ = nullptr;
};

class Task : public TaskLinks {
 public:
  virtual ~Task() = default;

  TaskScheduling scheduling = TaskScheduling::kLocalityAware;
  uint32_t home = 0;  // the AEU whose memory its input is in

  // A piece of it, some 20 us. False: it has ended. Does not throw, does not block.
  virtual bool Advance(Worker& worker) = 0;
  // The last piece took so long.
  virtual void Took(Worker& worker, uint64_t ns) = 0;
  // After its last piece; the task is not touched any more afterwards.
  virtual void End(Worker& worker) = 0;
};

}  // namespace eris::tasks

#endif  // ERIS_TASKS_TASK_H_
