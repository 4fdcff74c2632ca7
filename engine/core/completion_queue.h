// Where completions are posted: AEUs push, one thread at a time runs them, the queue's own or one
// that has deferred; that is "the completion thread". So no callback ever runs in an AEU's turn.
// Pushing is latch-free and never blocks. Paper: ERIS 3.2 (callback functions).
#ifndef ERIS_ENGINE_CORE_COMPLETION_QUEUE_H_
#define ERIS_ENGINE_CORE_COMPLETION_QUEUE_H_

#include <atomic>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "routing/waker.h"

namespace eris::engine {

class Resends;

// Something that the completion thread will run once. Stands inside what it completes, so that
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

  // Any thread. The task must not be in the queue already, and lives until its Complete. After Stop
  // it runs at once, on the caller's thread: handles may be let go between the close and the end of
  // an engine.
  void Push(CompletionTask* task);
  // Between the two, what the calling thread pushes waits for the second, which runs what has been
  // pushed on this thread, unless the completion thread is at it. For a thread that holds no lock a
  // callback may want, and waits for none between the two. Not nested, of several queues neither.
  // RunDeferred does nothing where this thread does not defer.
  void Defer();
  void RunDeferred() noexcept;
  // Runs what has been pushed, then ends the thread. Blocks; not from the completion thread.
  // Idempotent.
  void Stop();
  // Whether the calling thread is running what has been pushed.
  bool OnCompletionThread() const {
    // relaxed: a thread reads what it has written itself, or what is another one's.
    return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  void Run();
  // What a task throws ends the process, whichever thread runs it.
  bool RunPushed() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(running_);
  bool RunPushedHere();

  // Shared: pushed by anyone, taken as a whole by the thread (so there is no ABA).
  std::atomic<CompletionTask*> pushed_{nullptr};
  routing::Waker waker_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};  // the thread has gone; seq_cst, see Push
  base::Mutex running_;             // held by who runs what has been pushed
  std::atomic<std::thread::id> runner_{};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_COMPLETION_QUEUE_H_
