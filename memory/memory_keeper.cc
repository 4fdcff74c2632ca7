#include "memory/memory_keeper.h"

#include <pthread.h>

#include <utility>

#include "absl/time/clock.h"

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
  absl::Time last_tick = absl::Now();
  bool more = false;
  while (true) {
    {
      base::MutexLock lock(&mu_);
      ticking_ = more;
      while (!stop_ && !woken_) {
        if (!more) {
          woken_cv_.Wait(&mu_);
        } else if (woken_cv_.WaitWithDeadline(&mu_, last_tick + tick_)) {
          break;
        }
      }
      if (stop_) return;
      woken_ = false;
      ticking_ = false;  // whatever comes while pools are looked after asks for another round
    }
    const absl::Time now = absl::Now();
    const bool tick = now - last_tick >= tick_;
    if (tick) last_tick = now;
    more = false;
    for (NumaNodePool* pool : pools_) more |= pool->Maintain(tick);
  }
}

}  // namespace eris::memory
