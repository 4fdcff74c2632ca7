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
    uint32_t seen = word_.load(std::memory_order_seq_cst);
    if (!NeedsCall(seen)) return false;
    // relaxed: the load above is sufficient, and the kernel compares the word again.
    if (StateOf(seen) == kSleeping) {
      const uint32_t being_woken = With(seen, kBeingWoken);
      if (word_.compare_exchange_strong(seen, being_woken, std::memory_order_relaxed)) {
        seen = being_woken;
      } else if (!NeedsCall(seen)) {
        return false;
      }
    }
    // A thread that finds the AEU being woken wakes it too: the other thread may lose its core
    // before its call.
    Memory::FutexWakeAll(word_);
    // From here on nobody needs to, until the AEU sleeps again: the generation tells. relaxed: the
    // call has been made, whoever reads this.
    if (StateOf(seen) == kBeingWoken) {
      word_.compare_exchange_strong(seen, With(seen, kWoken), std::memory_order_relaxed);
    }
    return true;
  }

  // For the AEU: PrepareToSleep, look for work with seq_cst loads, then Sleep or CancelSleep.
  void PrepareToSleep() {
    generation_ += kGeneration;                                       // modulo 2^32
    word_.store(generation_ | kSleeping, std::memory_order_seq_cst);  // pairs with the load in Wake
  }
  void CancelSleep() {
    // relaxed: only the owner continues from here, and it looks for all work anyway.
    word_.store(generation_ | kAwake, std::memory_order_relaxed);
  }
  // Blocks until Wake, or for so long; negative: without a limit. May also return without either.
  void Sleep(int64_t timeout_ns = -1) {
    Memory::FutexWaitFor(word_, generation_ | kSleeping, timeout_ns);
    CancelSleep();
  }

 private:
  // The state in the low bits, the number of the sleep above.
  static constexpr uint32_t kAwake = 0;
  static constexpr uint32_t kSleeping = 1;
  static constexpr uint32_t kBeingWoken = 2;  // somebody is about to make the call
  static constexpr uint32_t kWoken = 3;       // the call has been made; the AEU gets up
  static constexpr uint32_t kGeneration = 4;

  static uint32_t StateOf(uint32_t word) { return word % kGeneration; }
  static uint32_t With(uint32_t word, uint32_t state) { return word - StateOf(word) + state; }
  static bool NeedsCall(uint32_t word) {
    return StateOf(word) == kSleeping || StateOf(word) == kBeingWoken;
  }

  // Shared: written by the AEU and by senders that wake it.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<uint32_t> word_{kAwake};
  // Owned by the AEU.
  uint32_t generation_ = 0;
};

using Waker = BasicWaker<base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_WAKER_H_
