// Limits how many requests arrive at the same time. gRPC reads a message completely as soon as a
// call asks for it, and its size is not known before. So only as many calls ask as there is room
// for messages of the largest size. A waiting call costs only its first packets, which its
// connection's window limits. A small request has arrived when its turn comes: it is read at once,
// and the turn passes on. Any thread; never blocks.
#ifndef ERIS_SERVER_GUARD_ARRIVAL_GATE_H_
#define ERIS_SERVER_GUARD_ARRIVAL_GATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace eris::server {

class ArrivalGate {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Begins to read; Leave follows when the read has ended. False: it no longer wants to read. Any
    // thread, at most once.
    virtual bool OnTurn() = 0;
    // False: OnTurn would return false. Must not call the gate.
    virtual bool Wanted() const = 0;
  };

  explicit ArrivalGate(uint32_t places) : free_(places) {}
  ArrivalGate(const ArrivalGate&) = delete;
  ArrivalGate& operator=(const ArrivalGate&) = delete;

  // Its turn comes at once, or in the order of arrival.
  void Enter(std::shared_ptr<Waiter> waiter) {
    {
      base::MutexLock lock(&mu_);
      if (free_ == 0) {
        waiting_.push_back(std::move(waiter));
        return;
      }
      --free_;
    }
    if (!waiter->OnTurn()) Leave();
  }

  void Leave() {
    for (;;) {
      std::shared_ptr<Waiter> next;
      {
        base::MutexLock lock(&mu_);
        if (waiting_.empty()) {
          ++free_;
          return;
        }
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      if (next->OnTurn()) return;  // outside the lock: it calls gRPC
    }
  }

  // Reports that a waiting one is no longer wanted. When that may be true of half of the waiting
  // ones they are removed, so that calls that come and go leave nothing behind.
  void Forget() {
    std::deque<std::shared_ptr<Waiter>> gone;  // destroyed outside the lock
    base::MutexLock lock(&mu_);
    if (++unwanted_ <= waiting_.size() / 2) return;
    unwanted_ = 0;
    std::deque<std::shared_ptr<Waiter>> kept;
    for (std::shared_ptr<Waiter>& waiter : waiting_) {
      (waiter->Wanted() ? kept : gone).push_back(std::move(waiter));
    }
    waiting_.swap(kept);
  }

  // Number of waiting ones, wanted or not. For tests.
  size_t waiting() const {
    base::MutexLock lock(&mu_);
    return waiting_.size();
  }

 private:
  mutable base::Mutex mu_;
  uint32_t free_ ABSL_GUARDED_BY(mu_);
  std::deque<std::shared_ptr<Waiter>> waiting_ ABSL_GUARDED_BY(mu_);
  size_t unwanted_ ABSL_GUARDED_BY(mu_) = 0;  // upper limit of the unwanted ones among them
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_ARRIVAL_GATE_H_
