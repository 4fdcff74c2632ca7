#include "memory/memory_keeper.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace eris::memory {

MemoryKeeper::MemoryKeeper(std::vector<NumaNodePool*> pools, absl::Duration tick)
    : pools_(std::move(pools)), tick_(tick), thread_([this] { Run(); }) {
  for (NumaNodePool* pool : pools_) pool->SetKeeper(this);
}

MemoryKeeper::~MemoryKeeper() {
  for (NumaNodePool* pool : pools_) pool->SetKeeper(nullptr);
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    woken_cv_.SignalAll();
  }
  thread_.join();
}

void MemoryKeeper::Wake(bool now) {
  base::MutexLock lock(&mu_);
  if (woken_ || (!now && ticking_)) return;
  woken_ = true;
  woken_cv_.Signal();
}

void MemoryKeeper::Run() {
  pthread_setname_np(pthread_self(), "eris-memory");
  // A monotonic clock.
  auto last_tick = std::chrono::steady_clock::now();
  NumaNodePool::Work work = NumaNodePool::Work::kNone;
  while (true) {
    {
      base::MutexLock lock(&mu_);
      ticking_ = work == NumaNodePool::Work::kWithTheNextTick;
      while (!stop_ && !woken_ && work != NumaNodePool::Work::kNow) {
        const absl::Duration left =
            tick_ - absl::FromChrono(std::chrono::steady_clock::now() - last_tick);
        if (!ticking_) {
          woken_cv_.Wait(&mu_);
        } else if (left <= absl::ZeroDuration() || woken_cv_.WaitWithTimeout(&mu_, left)) {
          break;
        }
      }
      if (stop_) return;
      woken_ = false;
      ticking_ = false;  // a request that arrives while pools are processed asks for another round
    }
    const auto now = std::chrono::steady_clock::now();
    const bool tick = absl::FromChrono(now - last_tick) >= tick_;
    if (tick) last_tick = now;
    work = NumaNodePool::Work::kNone;
    for (NumaNodePool* pool : pools_) work = std::max(work, pool->Maintain(tick));
  }
}

}  // namespace eris::memory
