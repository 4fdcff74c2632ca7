// The thread that sends requests again whose keys have moved (send_order.h). It never runs a
// callback, and waits for no lock that is held while one runs: whatever a caller's code waits for,
// this goes on. Any thread pushes, latch-free.
#ifndef ERIS_ENGINE_CORE_RESENDS_H_
#define ERIS_ENGINE_CORE_RESENDS_H_

#include <chrono>
#include <thread>
#include <utility>

#include "engine/core/completion_queue.h"

namespace eris::engine {

class Resends {
 public:
  Resends() : again_(*this) {}

  // As CompletionQueue::Push.
  void Push(CompletionTask* task) { queue_.Push(task); }
  // The task is run again in a moment, when what it waits for may have come. From a task.
  void Later(CompletionTask* task) {
    task->next_ = later_;
    if (std::exchange(later_, task) == nullptr) queue_.Push(&again_);
  }
  // As CompletionQueue::Stop. REQUIRES: no request is under way.
  void Stop() { queue_.Stop(); }

 private:
  static constexpr std::chrono::microseconds kMoment{100};

  // One pause for all that wait.
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
  CompletionQueue queue_;  // last: its thread uses the above
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_RESENDS_H_
