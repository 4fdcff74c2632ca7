// How many requests may arrive at once. gRPC reads a message whole as soon as it is asked for, and
// nobody knows before how large it is; so no more calls ask than there is room for messages of the
// largest size. A call that waits costs what its first packets cost, which its connection's window
// bounds. A request that is small has arrived when its turn comes: it is read at once, and the turn
// passes on. Any thread; never blocks.
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
    // Begins to read; Leave follows when the read has ended. False: it wants to read no more. Any
    // thread, once at most.
    virtual bool OnTurn() = 0;
    // False: OnTurn would return false. Must not call the gate.
    virtual bool Wanted() const = 0;
  };

  explicit ArrivalGate(uint32_t places) : free_(places) {}
  ArrivalGate(const ArrivalGate&) = delete;
  ArrivalGate& operator=(const ArrivalGate&) = delete;

  // It is its turn at once, or in the order of arrival.
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

  // One that may be waiting is not wanted any more. When half of those that wait may be like this
  // they are let go, so that calls that come and go leave nothing behind.
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

  // Those that wait, wanted or not. For tests.
  size_t waiting() const {
    base::MutexLock lock(&mu_);
    return waiting_.size();
  }

 private:
  mutable base::Mutex mu_;
  uint32_t free_ ABSL_GUARDED_BY(mu_);
  std::deque<std::shared_ptr<Waiter>> waiting_ ABSL_GUARDED_BY(mu_);
  size_t unwanted_ ABSL_GUARDED_BY(mu_) = 0;  // of them, at most
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_ARRIVAL_GATE_H_
