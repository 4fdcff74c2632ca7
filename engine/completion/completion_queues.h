// The completion queues of an engine, one for each NumaNode, and what a thread defers for all of
// them.
#ifndef ERIS_ENGINE_COMPLETION_COMPLETION_QUEUES_H_
#define ERIS_ENGINE_COMPLETION_COMPLETION_QUEUES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "engine/completion/completion_queue.h"

namespace eris::engine {

class CompletionQueues {
 public:
  explicit CompletionQueues(const std::vector<CompletionThreadOptions>& threads);

  size_t size() const { return queues_.size(); }
  CompletionQueue& operator[](size_t number) { return *queues_[number]; }

  // Between Defer and RunDeferred, tasks that the calling thread pushes wait for RunDeferred. It
  // runs all tasks pushed to one of their queues on this thread, unless the completion thread is
  // running them; those of other queues are left to their threads, so that queues never wait for
  // each other. For a thread that holds no lock that a callback may need, and waits for no callback
  // in between. Must not be nested, also not for several engines. RunDeferred does nothing if this
  // thread does not defer.
  void Defer();
  void RunDeferred() noexcept;
  // Before a thread that may defer waits: what it has deferred so far is run by the completion
  // threads. While a session's task waits to be run, nobody else is told of the session's answers.
  void GiveDeferred();
  // Whether the calling thread defers the tasks of these queues; then it has noted that it has
  // pushed one to queue `number`.
  bool Deferred(size_t number) const;

  // Runs all pushed tasks, then ends the threads. After that tasks run where they are pushed, in
  // all queues one at a time. Blocks; not from a completion thread. Idempotent.
  void Stop();
  // For a queue that has ended: runs what has been pushed to any of them, unless the calling thread
  // is doing that further up.
  void RunEnded() const;
  bool OnCompletionThread() const;
  absl::Status binding_status() const;

 private:
  // Notes with bit i modulo 64 that queue i has deferred tasks.
  void WakeNoted(uint64_t noted, size_t from) const;

  std::vector<std::unique_ptr<CompletionQueue>> queues_;
  mutable base::Mutex ended_mu_;    // held by the thread that runs tasks of ended queues
  std::atomic<bool> ended_{false};  // relaxed: those who come later know of Stop
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_COMPLETION_QUEUES_H_
