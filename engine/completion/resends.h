// The thread that sends requests again after keys have moved (send_order.h). It never runs a
// callback, and waits for no lock that is held during one: so it makes progress whatever a caller's
// code waits for. Any thread pushes, latch-free.
#ifndef ERIS_ENGINE_COMPLETION_RESENDS_H_
#define ERIS_ENGINE_COMPLETION_RESENDS_H_

#include <chrono>
#include <thread>
#include <utility>

#include "engine/completion/completion_queue.h"

namespace eris::engine {

class Resends {
 public:
  Resends() : again_(*this) {}

  // As CompletionQueue::Push.
  void Push(CompletionTask* task) { queue_.Push(task); }
  // Runs the task again after a moment, when its condition may be met. Call it from a task.
  void Later(CompletionTask* task) {
    task->next_ = later_;
    if (std::exchange(later_, task) == nullptr) queue_.Push(&again_);
  }
  // As CompletionQueue::Stop. REQUIRES: no request is running.
  void Stop() { queue_.Stop(); }

 private:
  static constexpr std::chrono::microseconds kMoment{100};

  // One pause for all waiting tasks.
  class Again final : public CompletionTask {
   public:
    explicit Again(Resends& resends) : resends_(resends) {}
    void Complete() override {
      std::this_thread::sleep_for(kMoment);
      CompletionTask* task = std::exchange(resends_.later_, nullptr);
      while (task != nullptr) {
        CompletionTask* const next = std::exchange(task->next_, nullptr);
        task->Complete();
        task = next;
      }
    }

   private:
    Resends& resends_;
  };

  // Owned by the thread.
  CompletionTask* later_ = nullptr;
  Again again_;
  CompletionQueue queue_{{.name = "eris-resends"}};  // last: its thread uses everything above
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_RESENDS_H_
