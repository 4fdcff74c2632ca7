#include "engine/completion/completion_queue.h"

#include "engine/completion/completion_queues.h"

namespace eris::engine {

CompletionQueue::CompletionQueue(const CompletionThreadOptions& thread,
                                 const CompletionQueues* queues, size_t number)
    : queues_(queues),
      number_(number),
      thread_(thread.name, thread.cpus, thread.numa_node, [this] { Run(); }) {}

CompletionQueue::~CompletionQueue() { Stop(); }

void CompletionQueue::Push(CompletionTask* task) {
  CompletionTask* head = pushed_.load(std::memory_order_relaxed);  // the CAS decides
  do {
    task->next_ = head;
    // release: the thread sees the task's contents (acquire in RunPushed). seq_cst: see Waker.
  } while (!pushed_.compare_exchange_weak(head, task, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
  // seq_cst: pairs with the store in End. Either the task is seen after it, or the flag here.
  if (ended_.load(std::memory_order_seq_cst)) [[unlikely]] {
    if (queues_ != nullptr) return queues_->RunEnded();
    // The thread that runs pushed tasks continues until there are none.
    while (!OnCompletionThread() && RunPushedHere()) {
    }
  } else if (queues_ != nullptr && queues_->Deferred(number_)) {
    // This thread runs it later.
  } else if (OnCompletionThread()) {
    NotePushedInside();  // this thread holds running_
  } else {
    waker_.Wake();
  }
}

void CompletionQueue::RunHereOrWake() noexcept {
  if (!running_.TryLock()) {
    waker_.Wake();
    return;
  }
  RunPushed();
  // For later tasks, their pusher has woken the completion thread.
  running_.Unlock();
}

bool CompletionQueue::RunPushedHere() {
  base::MutexLock lock(&running_);
  return RunPushed();
}

void CompletionQueue::Join() {
  stop_.store(true, std::memory_order_seq_cst);  // pairs with the load in Run, before it sleeps
  waker_.Wake();
  if (joined_) return;
  joined_ = true;
  thread_.Join();
}

void CompletionQueue::Stop() {
  Join();
  End();
  while (RunPushedHere()) {
  }
}

bool CompletionQueue::RunPushed() noexcept {
  // Pairs with the CAS in Push. seq_cst, for Stop: after its store of ended_.
  CompletionTask* newest = pushed_.exchange(nullptr, std::memory_order_seq_cst);
  if (newest == nullptr) return false;
  runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);  // see OnCompletionThread
  for (int round = 0; newest != nullptr; ++round) {
    pushed_inside_ = false;
    RunAll(newest);
    newest = pushed_inside_ && round < kRounds
                 ? pushed_.exchange(nullptr, std::memory_order_seq_cst)
                 : nullptr;
  }
  runner_.store({}, std::memory_order_relaxed);
  if (pushed_inside_) waker_.Wake();
  return true;
}

void CompletionQueue::RunAll(CompletionTask* newest) {
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
}

void CompletionQueue::Run() {
  for (;;) {
    if (RunPushedHere()) continue;
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
