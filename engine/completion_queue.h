// Where completions are posted: AEUs push, one thread runs them, so that no callback ever runs on
// an AEU. Pushing is latch-free and never blocks. Paper: ERIS 3.2 (callback functions).
#ifndef ERIS_ENGINE_COMPLETION_QUEUE_H_
#define ERIS_ENGINE_COMPLETION_QUEUE_H_

#include <atomic>
#include <thread>

#include "routing/waker.h"

namespace eris::engine {

// Something that the completion thread will run once. Stands inside what it completes, so that
// pushing needs no memory.
class CompletionTask {
 public:
  virtual ~CompletionTask() = default;
  virtual void Complete() = 0;

 private:
  friend class CompletionQueue;
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
  // Runs what has been pushed, then ends the thread. Blocks; not from the completion thread.
  // Idempotent.
  void Stop();
  bool OnCompletionThread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void Run();
  bool RunPushed();

  // Shared: pushed by anyone, taken as a whole by the thread (so there is no ABA).
  std::atomic<CompletionTask*> pushed_{nullptr};
  routing::Waker waker_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};  // the thread has gone; seq_cst, see Push
  std::thread thread_;              // last: it uses all of the above
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_QUEUE_H_
