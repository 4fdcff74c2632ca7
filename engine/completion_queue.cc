#include "engine/completion_queue.h"

#include "base/check.h"

namespace eris::engine {

CompletionQueue::CompletionQueue() : thread_([this] { Run(); }) {}

CompletionQueue::~CompletionQueue() { Stop(); }

void CompletionQueue::Push(CompletionTask* task) {
  CompletionTask* head = pushed_.load(std::memory_order_relaxed);  // the CAS decides
  do {
    task->next_ = head;
    // release: the thread sees the task's contents (acquire in RunPushed). seq_cst: see Waker.
  } while (!pushed_.compare_exchange_weak(head, task, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
  // seq_cst: pairs with the store in Stop. Either the task is seen there, or the flag here.
  if (ended_.load(std::memory_order_seq_cst)) [[unlikely]] {
    RunPushed();
  } else {
    waker_.Wake();
  }
}

void CompletionQueue::Stop() {
  stop_.store(true, std::memory_order_seq_cst);  // pairs with the load in Run, before it sleeps
  waker_.Wake();
  if (!thread_.joinable()) return;
  thread_.join();
  ended_.store(true, std::memory_order_seq_cst);
  while (RunPushed()) {
  }
}

bool CompletionQueue::RunPushed() {
  // Pairs with the CAS in Push. seq_cst, for Stop: after its store of ended_.
  CompletionTask* newest = pushed_.exchange(nullptr, std::memory_order_seq_cst);
  if (newest == nullptr) return false;
  // Oldest first.
  CompletionTask* oldest = nullptr;
  while (newest != nullptr) {
    CompletionTask* next = newest->next_;
    newest->next_ = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    CompletionTask* task = oldest;
    oldest = oldest->next_;
    task->next_ = nullptr;
    task->Complete();  // may free it, or push it again
  }
  return true;
}

void CompletionQueue::Run() {
  for (;;) {
    if (RunPushed()) continue;
    waker_.PrepareToSleep();
    if (pushed_.load(std::memory_order_seq_cst) != nullptr) {
      waker_.CancelSleep();
      continue;
    }
    if (stop_.load(std::memory_order_seq_cst)) return;
    waker_.Sleep();
  }
}

}  // namespace eris::engine
