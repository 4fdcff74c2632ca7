// Keeps the epoch from advancing while a range of a table changes hands: its rows are dead at the
// source and born at the target in one epoch, so that a snapshot finds each at one of them. Passed
// by whoever begins a snapshot, on a client's thread; held by transfers of tables, for one chunk at
// a time. AEUs have nothing to do with it. Any thread. Paper: ERIS 3.3.2; docs/balancing.md.
#ifndef ERIS_ENGINE_EPOCH_GATE_H_
#define ERIS_ENGINE_EPOCH_GATE_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace eris::engine {

class EpochGate {
 public:
  // Runs `begin` while nobody holds the gate; it must not block. Blocks until the AEUs of a step
  // that is under way have ended it: one chunk, whose length max_pause_us says (eris/balancer.h).
  template <class Begin>
  auto Pass(Begin begin) {
    base::MutexLock lock(&mu_);
    if (holders_ > 0) {
      ++waiting_;
      while (holders_ > 0) changed_.Wait(&mu_);
      --waiting_;
      changed_.SignalAll();
    }
    return begin();
  }

  // While one lives no `begin` runs. Those who have waited pass before the next one holds the gate,
  // so that a snapshot waits for one chunk however many there are.
  class Hold {
   public:
    explicit Hold(EpochGate& gate) : gate_(gate) {
      base::MutexLock lock(&gate_.mu_);
      while (gate_.waiting_ > 0) gate_.changed_.Wait(&gate_.mu_);
      ++gate_.holders_;
    }
    ~Hold() {
      base::MutexLock lock(&gate_.mu_);
      if (--gate_.holders_ == 0) gate_.changed_.SignalAll();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    EpochGate& gate_;
  };

  // Begins that wait. For tests.
  uint32_t waiting() const {
    base::MutexLock lock(&mu_);
    return waiting_;
  }

 private:
  mutable base::Mutex mu_;
  base::CondVar changed_;
  uint32_t holders_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_EPOCH_GATE_H_
