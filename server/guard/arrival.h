// The arrival of a call with one request: it waits for its turn (arrival_gate.h), and is read. The
// client, the drain or the server's time limit may end it meanwhile; exactly one of them, or the
// request, comes first. Any thread; never blocks; independent of gRPC. The call, the drain, the
// watch on its time and the gate each hold it by shared_ptr.
#ifndef ERIS_SERVER_GUARD_ARRIVAL_H_
#define ERIS_SERVER_GUARD_ARRIVAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/guard/arrival_gate.h"
#include "server/guard/drain_gate.h"
#include "server/guard/expiry_queue.h"

namespace eris::server {

class Arrival final : public Drainable, public ExpiryQueue::Owner, public ArrivalGate::Waiter {
 public:
  class Call {
   public:
    // Asks gRPC for the request.
    virtual void BeginRead() = 0;
    // Answers the call with `why`: no request will arrive. The call may no longer exist when it
    // returns.
    virtual void OnNoRequest(const absl::Status& why) = 0;

   protected:
    ~Call() = default;
  };

  // The status of a call that takes longer than the server allows.
  struct Limit {
    std::function<absl::Status()> too_long;
    bool whole_call = false;  // otherwise only the arrival is limited
  };

  // The arrival of a request of `client` uses `call` until the wait for the request has ended,
  // once. `inside`, the call's own part, is notified of later events.
  Arrival(Call* call, ArrivalGate* gate, std::string client, std::shared_ptr<Drainable> inside,
          Limit limit)
      : Waiter(std::move(client)),
        call_(*call),
        gate_(*gate),
        inside_(std::move(inside)),
        limit_(std::move(limit)) {}

  // The read has ended. True: the caller continues with the call. False: it has been answered.
  [[nodiscard]] bool TryArrive() {
    base::MutexLock lock(&mu_);
    if (state_ == State::kEnded) return false;
    state_ = State::kArrived;
    return true;
  }

  bool OnTurn() override {
    base::MutexLock lock(&mu_);
    if (state_ == State::kEnded) return false;
    state_ = State::kReading;
    call_.BeginRead();
    return true;
  }
  bool Wanted() const override {
    base::MutexLock lock(&mu_);
    return state_ != State::kEnded;
  }
  // A partly received message does not delay the drain.
  void OnDrain() override {
    if (TryEnd(DrainGate::RefusedStatus()) == State::kArrived) inside_->OnDrain();
  }
  void EndNow(const absl::Status& why) override {
    if (TryEnd(why) == State::kArrived) inside_->EndNow(why);
  }
  void OnExpired(uint64_t) override {
    const absl::Status why = limit_.too_long();
    if (TryEnd(why) == State::kArrived && limit_.whole_call) inside_->EndNow(why);
  }

 private:
  enum class State : uint8_t { kWaiting, kReading, kArrived, kEnded };

  // Returns the previous state. The call is answered here, unless it has a request or has been
  // answered.
  State TryEnd(const absl::Status& why) {
    State before;
    {
      base::MutexLock lock(&mu_);
      before = state_;
      if (before == State::kArrived || before == State::kEnded) return before;
      state_ = State::kEnded;
    }
    if (before == State::kWaiting) gate_.Forget();
    call_.OnNoRequest(why);
    return before;
  }

  Call& call_;
  ArrivalGate& gate_;  // outlives it
  const std::shared_ptr<Drainable> inside_;
  const Limit limit_;
  // held while a read begins: gRPC's reaction runs on another thread, or later
  mutable base::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kWaiting;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_ARRIVAL_H_
