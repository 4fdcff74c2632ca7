// Wakes an AEU that sleeps. A sender makes its work visible, then calls Wake. The AEU announces
// that it is about to sleep, then looks for work once more. Both sides are sequentially consistent,
// so one of the two sees the other: no wake-up is lost, and a running AEU costs its senders one
// load.
#ifndef ERIS_ROUTING_WAKER_H_
#define ERIS_ROUTING_WAKER_H_

#include <atomic>
#include <cstdint>

#include "base/cache_line.h"
#include "base/memory_ops.h"

namespace eris::routing {

template <class Memory>
class BasicWaker {
 public:
  // Call it after the work has been published with a seq_cst operation. Never blocks. Any thread.
  // True: the AEU slept, or was being woken, and this call made the system call.
  bool Wake() {
    // seq_cst: pairs with the store in PrepareToSleep (store, then look for work).
    uint32_t seen = state_.load(std::memory_order_seq_cst);
    if (seen == kAwake) return false;
    // relaxed: the load above is sufficient, and the kernel compares the word again.
    if (seen == kSleeping &&
        !state_.compare_exchange_strong(seen, kBeingWoken, std::memory_order_relaxed) &&
        seen == kAwake) {
      return false;
    }
    // A thread that finds the AEU being woken wakes it too: the other thread may lose its core
    // before its call.
    Memory::FutexWakeAll(state_);
    return true;
  }

  // For the AEU: PrepareToSleep, look for work with seq_cst loads, then Sleep or CancelSleep.
  void PrepareToSleep() {
    state_.store(kSleeping, std::memory_order_seq_cst);  // pairs with the load in Wake
  }
  void CancelSleep() {
    // relaxed: only the owner continues from here, and it looks for all work anyway.
    state_.store(kAwake, std::memory_order_relaxed);
  }
  // Blocks until Wake; may also return without one.
  void Sleep() {
    Memory::FutexWait(state_, kSleeping);
    CancelSleep();
  }

 private:
  static constexpr uint32_t kAwake = 0;
  static constexpr uint32_t kSleeping = 1;
  static constexpr uint32_t kBeingWoken = 2;
  // Shared: written by the AEU and by senders that wake it.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<uint32_t> state_{kAwake};
};

using Waker = BasicWaker<base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_WAKER_H_
