// Runs completions: AEUs and those who take answers home push tasks, and one thread at a time runs
// them, the queue's own or one that has deferred (completion_queues.h). That thread is "the
// completion thread". So no callback ever runs in an AEU's turn. Pushing is latch-free and never
// blocks. Paper: ERIS 3.2 (callback functions).
#ifndef ERIS_ENGINE_COMPLETION_COMPLETION_QUEUE_H_
#define ERIS_ENGINE_COMPLETION_COMPLETION_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "routing/waker.h"
#include "topology/pinned_thread.h"
#include "topology/topology.h"

namespace eris::engine {

class CompletionQueues;
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

// The queue's thread, as topology::PinnedThread.
struct CompletionThreadOptions {
  std::string name = "eris-answers";
  std::vector<uint32_t> cpus{};                   // none: anywhere
  std::optional<topology::NumaNode> numa_node{};  // where its stack is placed
};

class CompletionQueue {
 public:
  // `queues`: the group that this queue belongs to, as number `number`. nullptr: it has no group,
  // and no thread defers its tasks.
  explicit CompletionQueue(const CompletionThreadOptions& thread = {},
                           const CompletionQueues* queues = nullptr, size_t number = 0);
  ~CompletionQueue();  // as Stop

  // Any thread. The task must not be in the queue already, and must exist until its Complete. After
  // Stop it runs at once, on the caller's thread: handles may be released between the close and the
  // end of an engine.
  void Push(CompletionTask* task);
  // Runs all pushed tasks, then ends the thread. Blocks; not from the completion thread.
  // Idempotent.
  void Stop();
  // Whether the calling thread is running pushed tasks.
  bool OnCompletionThread() const {
    // relaxed: a thread reads either its own value or another thread's.
    return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // Whether the system has pinned the thread.
  const absl::Status& binding_status() const { return thread_.binding_status(); }

 private:
  friend class CompletionQueues;

  void Run();
  // Runs what has been pushed on this thread, or lets the thread do it that is running tasks.
  void RunHereOrWake() noexcept;
  void Wake() { waker_.Wake(); }
  // The two steps of Stop: all pushed tasks run and the thread ends; then tasks run where they are
  // pushed.
  void Join();
  void End() { ended_.store(true, std::memory_order_seq_cst); }
  // An exception in a task ends the process, whichever thread runs it.
  bool RunPushed() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(running_);
  // Runs a list of them, oldest first.
  void RunAll(CompletionTask* newest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(running_);
  void NotePushedInside() ABSL_NO_THREAD_SAFETY_ANALYSIS { pushed_inside_ = true; }
  bool RunPushedHere();

  // Tasks that tasks push are run with them, so many times; then by the completion thread.
  static constexpr int kRounds = 4;

  // Immutable after construction.
  const CompletionQueues* const queues_;
  const size_t number_;

  // Shared: pushed by any thread, taken as a whole list by the completion thread (so there is no
  // ABA).
  std::atomic<CompletionTask*> pushed_{nullptr};
  routing::Waker waker_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};  // nobody waits for tasks any more; seq_cst, see Push
  base::Mutex running_;             // held by the thread that runs pushed tasks
  bool pushed_inside_ ABSL_GUARDED_BY(running_) = false;  // a running task has pushed another one
  std::atomic<std::thread::id> runner_{};
  bool joined_ = false;
  topology::PinnedThread thread_;  // last: it uses everything above
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_COMPLETION_QUEUE_H_
