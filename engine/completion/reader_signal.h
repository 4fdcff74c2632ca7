// The reader of results that AEUs produce waits here: a sleeping thread, or a callback that a task
// runs. AEUs notify it; notifying never blocks. All operations are sequentially consistent: either
// the reader sees what was published before a notification, or the notification sees the reader.
#ifndef ERIS_ENGINE_COMPLETION_READER_SIGNAL_H_
#define ERIS_ENGINE_COMPLETION_READER_SIGNAL_H_

#include <atomic>
#include <cstdint>

#include "base/futex.h"

namespace eris::engine {

class ReaderSignal {
 public:
  // Any thread, after it has published a result. True: a callback waits, and the caller must push
  // the task that checks again.
  [[nodiscard]] bool Notify() {
    events_.fetch_add(1, std::memory_order_seq_cst);  // pairs with the loads in events and Await...
    uint32_t waiting = waiting_.load(std::memory_order_seq_cst);  // pairs with the stores there
    if (waiting == kSleeping) {
      base::FutexWakeAll(events_);
      return false;
    }
    return waiting == kCallback &&
           waiting_.compare_exchange_strong(waiting, kNobody, std::memory_order_seq_cst);
  }

  // For the reader, before it looks for results.
  uint32_t events() const { return events_.load(std::memory_order_seq_cst); }
  // For the reader, after it has found nothing: sleeps until a notification after `events` was
  // read; may return without one. -1: no timeout.
  void AwaitThread(uint32_t events, int64_t timeout_ns) {
    waiting_.store(kSleeping, std::memory_order_seq_cst);
    base::FutexWait(events_, events, timeout_ns);
    waiting_.store(kNobody, std::memory_order_seq_cst);
  }
  // The same for a callback. True: the next notification pushes the task. False: there has been one
  // since, and the caller must look again.
  [[nodiscard]] bool AwaitCallback(uint32_t events) {
    uint32_t waiting = kCallback;
    waiting_.store(kCallback, std::memory_order_seq_cst);
    if (events_.load(std::memory_order_seq_cst) == events) return true;
    // The thread that clears the mark continues.
    return !waiting_.compare_exchange_strong(waiting, kNobody, std::memory_order_seq_cst);
  }

 private:
  enum Waiting : uint32_t { kNobody, kSleeping, kCallback };
  // Shared: written by AEUs and the reader.
  std::atomic<uint32_t> events_{0};
  std::atomic<uint32_t> waiting_{kNobody};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_READER_SIGNAL_H_
