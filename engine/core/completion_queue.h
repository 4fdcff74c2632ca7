// Runs completions: AEUs and those who take answers home push tasks, and one thread at a time runs
// them, the queue's own or one that has deferred. That thread is "the completion thread". So no
// callback ever runs in an AEU's turn. Pushing is latch-free and never blocks. Paper: ERIS 3.2
// (callback functions).
#ifndef ERIS_ENGINE_CORE_COMPLETION_QUEUE_H_
#define ERIS_ENGINE_CORE_COMPLETION_QUEUE_H_

#include <atomic>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "routing/waker.h"

namespace eris::engine {

class Resends;

// A task that the completion thread runs once. It is a member of the object that it completes, so
// pushing needs no memory.
class CompletionTask {
 public:
  virtual ~CompletionTask() = default;
  virtual void Complete() = 0;

 private:
  friend class CompletionQueue;
  friend class Resends;
  CompletionTask* next_ = nullptr;
};

class CompletionQueue {
 public:
  CompletionQueue();
  ~CompletionQueue();  // as Stop

  // Any thread. The task must not be in the queue already, and must exist until its Complete. After
  // Stop it runs at once, on the caller's thread: handles may be released between the close and the
  // end of an engine.
  void Push(CompletionTask* task);
  // Between Defer and RunDeferred, tasks that the calling thread pushes wait for RunDeferred. It
  // runs all pushed tasks on this thread, unless the completion thread is running them. For a
  // thread that holds no lock that a callback may need, and waits for no callback in between. Must
  // not be nested, also not for several queues. RunDeferred does nothing if this thread does not
  // defer.
  void Defer();
  void RunDeferred() noexcept;
  // Before a thread that may defer waits: what it has deferred so far is run by the completion
  // thread. While a session's task waits to be run, nobody else is told of the session's answers.
  void GiveDeferred();
  // Runs all pushed tasks, then ends the thread. Blocks; not from the completion thread.
  // Idempotent.
  void Stop();
  // Whether the calling thread is running pushed tasks.
  bool OnCompletionThread() const {
    // relaxed: a thread reads either its own value or another thread's.
    return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  void Run();
  // An exception in a task ends the process, whichever thread runs it.
  bool RunPushed() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(running_);
  // Runs a list of them, oldest first.
  void RunAll(CompletionTask* newest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(running_);
  void NotePushedInside() ABSL_NO_THREAD_SAFETY_ANALYSIS { pushed_inside_ = true; }
  bool RunPushedHere();

  // Tasks that tasks push are run with them, so many times; then by the completion thread.
  static constexpr int kRounds = 4;

  // Shared: pushed by any thread, taken as a whole list by the completion thread (so there is no
  // ABA).
  std::atomic<CompletionTask*> pushed_{nullptr};
  routing::Waker waker_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};  // the thread has ended; seq_cst, see Push
  base::Mutex running_;             // held by the thread that runs pushed tasks
  bool pushed_inside_ ABSL_GUARDED_BY(running_) = false;  // a running task has pushed another one
  std::atomic<std::thread::id> runner_{};
  std::thread thread_;  // last: it uses everything above
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_COMPLETION_QUEUE_H_
