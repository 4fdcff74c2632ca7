// Decides when memory that other threads may still be reading can be reused. Every thread announces
// now and then that it holds no reference (Announce). Blocks removed from the structure before are
// free once all threads have done so. Reading writes nothing shared: a thread's word is on its own
// line, and other threads read it only when they have something to free.
//
// A registered thread that is idle delays the freeing of all others.
#ifndef ERIS_BENCH_SHARED_EPOCHS_H_
#define ERIS_BENCH_SHARED_EPOCHS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

#include "base/cache_line.h"

namespace eris::bench {

class Epochs {
 public:
  static constexpr size_t kThreadsMax = 1024;
  static constexpr size_t kNone = kThreadsMax;

  // A thread's number, kNone if there are kThreadsMax.
  size_t Register() {
    const std::lock_guard lock(mu_);
    for (size_t i = 0; i < kThreadsMax; ++i) {
      // Relaxed, both: a freeing thread reads under the same lock.
      if (threads_[i].epoch.load(std::memory_order_relaxed) != kAbsent) continue;
      threads_[i].epoch.store(now_.load(std::memory_order_acquire), std::memory_order_relaxed);
      used_ = std::max(used_, i + 1);
      return i;
    }
    return kNone;
  }
  void Leave(size_t thread) {
    const std::lock_guard lock(mu_);
    // Release: pairs with the acquire in Reached.
    threads_[thread].epoch.store(kAbsent, std::memory_order_release);
  }

  // The thread holds no reference now.
  void Announce(size_t thread) {
    // Acquire: pairs with Begin; blocks removed before that epoch began are not reached any more.
    // Release: pairs with Reached; everything that this thread has read so far comes before it.
    threads_[thread].epoch.store(now_.load(std::memory_order_acquire), std::memory_order_release);
  }

  // Begins an epoch: blocks that the calling thread has removed so far are free when all have
  // reached it.
  uint64_t Begin() { return now_.fetch_add(1, std::memory_order_acq_rel) + 1; }

  // The epoch that all threads have reached.
  uint64_t Reached() {
    const std::lock_guard lock(mu_);  // against a thread that is just registering
    uint64_t reached = kAbsent;
    for (size_t i = 0; i < used_; ++i) {
      // Acquire: pairs with Announce.
      reached = std::min(reached, threads_[i].epoch.load(std::memory_order_acquire));
    }
    return reached;
  }

 private:
  static constexpr uint64_t kAbsent = std::numeric_limits<uint64_t>::max();
  struct alignas(base::kNoSharingBytes) Thread {
    std::atomic<uint64_t> epoch{kAbsent};
  };

  alignas(base::kNoSharingBytes) std::atomic<uint64_t> now_{0};
  std::array<Thread, kThreadsMax> threads_;
  std::mutex mu_;
  size_t used_ = 0;  // guarded by mu_: numbers below it may be in use
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_SHARED_EPOCHS_H_
