// Where the reader of something that AEUs fill waits: a thread that sleeps, or a callback that a
// task runs. AEUs notify; notifying never blocks. All of it is sequentially consistent: either the
// reader sees what was published before a notification, or the notification sees the reader.
#ifndef ERIS_ENGINE_CORE_READER_SIGNAL_H_
#define ERIS_ENGINE_CORE_READER_SIGNAL_H_

#include <atomic>
#include <cstdint>

#include "base/futex.h"

namespace eris::engine {

class ReaderSignal {
 public:
  // Any thread, after it has published something. True: a callback waits, and the caller pushes the
  // task that looks again.
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

  // The reader: before it looks for something.
  uint32_t events() const { return events_.load(std::memory_order_seq_cst); }
  // The reader, that has found nothing: sleeps until a notification after `events` was read; may
  // return without one. -1: no timeout.
  void AwaitThread(uint32_t events, int64_t timeout_ns) {
    waiting_.store(kSleeping, std::memory_order_seq_cst);
    base::FutexWait(events_, events, timeout_ns);
    waiting_.store(kNobody, std::memory_order_seq_cst);
  }
  // The same for a callback. True: the next notification pushes the task. False: there has been one
  // since, and the caller looks again.
  [[nodiscard]] bool AwaitCallback(uint32_t events) {
    uint32_t waiting = kCallback;
    waiting_.store(kCallback, std::memory_order_seq_cst);
    if (events_.load(std::memory_order_seq_cst) == events) return true;
    // Whoever takes the mark goes on.
    return !waiting_.compare_exchange_strong(waiting, kNobody, std::memory_order_seq_cst);
  }

 private:
  enum Waiting : uint32_t { kNobody, kSleeping, kCallback };
  // Shared: written by AEUs and the reader.
  std::atomic<uint32_t> events_{0};
  std::atomic<uint32_t> waiting_{kNobody};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_READER_SIGNAL_H_
