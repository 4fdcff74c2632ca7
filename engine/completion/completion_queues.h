// The completion queues of an engine, one for each NumaNode, and what a thread defers for all of
// them.
#ifndef ERIS_ENGINE_COMPLETION_COMPLETION_QUEUES_H_
#define ERIS_ENGINE_COMPLETION_COMPLETION_QUEUES_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "engine/completion/completion_queue.h"

namespace eris::engine {

class CompletionQueues {
 public:
  explicit CompletionQueues(const std::vector<CompletionThreadOptions>& threads);

  size_t size() const { return queues_.size(); }
  CompletionQueue& operator[](size_t number) { return *queues_[number]; }

  // Between Defer and RunDeferred, tasks that the calling thread pushes wait for RunDeferred. It
  // runs all tasks pushed to their queues on this thread, unless the completion thread is running
  // them. For a thread that holds no lock that a callback may need, and waits for no callback in
  // between. Must not be nested, also not for several engines. RunDeferred does nothing if this
  // thread does not defer.
  void Defer();
  void RunDeferred() noexcept;
  // Before a thread that may defer waits: what it has deferred so far is run by the completion
  // threads. While a session's task waits to be run, nobody else is told of the session's answers.
  void GiveDeferred();
  // Whether the calling thread defers the tasks of these queues; then it has noted that it has
  // pushed one to queue `number`.
  bool Deferred(size_t number) const;

  // As those of each queue.
  void Stop();
  bool OnCompletionThread() const;
  absl::Status binding_status() const;

 private:
  std::vector<std::unique_ptr<CompletionQueue>> queues_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_COMPLETION_QUEUES_H_
