// Whether transfers may continue: stopped by an operator's pause, the end of the engine, a
// deadline, or a caller that gives up. Checked between chunks; wakes threads that wait there. Any
// thread.
#ifndef ERIS_ENGINE_CORE_TRANSFER_STOP_H_
#define ERIS_ENGINE_CORE_TRANSFER_STOP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "eris/move_stop.h"

namespace eris::engine {

class TransferStop {
 public:
  // Set by the caller.
  struct Limits {
    absl::Time deadline = absl::InfiniteFuture();
    MoveStop* stop = nullptr;  // outlives the call; nullptr: the caller will not give up
  };
  // The conditions that end one call's transfers. A pause after its beginning ends them, even if
  // the pause has ended since.
  struct Ticket : Limits {
    uint64_t pauses = 0;
  };
  Ticket Begin(const Limits& limits) const {
    base::MutexLock lock(&mu_);
    return {limits, pauses_};
  }
  // One call, which its caller's stop can wake as long as this exists.
  class Call {
   public:
    Call(TransferStop& stop, const Limits& limits) : ticket_(stop.Begin(limits)) {
      if (limits.stop != nullptr) limits.stop->SetWake([&stop] { stop.Look(); });
    }
    ~Call() {
      if (ticket_.stop != nullptr) ticket_.stop->SetWake(nullptr);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    const Ticket& ticket() const { return ticket_; }

   private:
    const Ticket ticket_;
  };

  void Pause() {
    base::MutexLock lock(&mu_);
    if (paused_) return;
    paused_ = true;
    ++pauses_;
    Changed();
  }
  void Resume() {
    base::MutexLock lock(&mu_);
    paused_ = false;
    Changed();
  }
  bool paused() const {
    base::MutexLock lock(&mu_);
    return paused_;
  }
  void Close() {
    base::MutexLock lock(&mu_);
    closed_ = true;
    Changed();
  }
  bool closed() const {
    base::MutexLock lock(&mu_);
    return closed_;
  }
  // Wakes waiting threads to check again: after a drop or a change of options.
  void Look() {
    base::MutexLock lock(&mu_);
    Changed();
  }

  // OK: continue. Errors: the status of the caller's stop, Unavailable (closing),
  // FailedPrecondition (paused), DeadlineExceeded.
  absl::Status Check(const Ticket& ticket) const {
    // Not under mu_, which MoveStop::Stop takes under its own mutex.
    if (ticket.stop != nullptr) ERIS_RETURN_IF_ERROR(ticket.stop->why());
    base::MutexLock lock(&mu_);
    if (closed_) return EngineClosing();
    if (paused_ || pauses_ != ticket.pauses) {
      return absl::FailedPreconditionError("the balancer is paused");
    }
    if (absl::Now() >= ticket.deadline) {
      return absl::DeadlineExceededError("the caller gave up: its deadline has passed");
    }
    return absl::OkStatus();
  }

  // For Wait: read it before checking a condition.
  uint64_t changes() const {
    base::MutexLock lock(&mu_);
    return changes_;
  }
  // Blocks until `until`, or until a change after `seen`.
  void Wait(uint64_t seen, absl::Time until) {
    base::MutexLock lock(&mu_);
    while (changes_ == seen && !changed_.WaitWithDeadline(&mu_, until)) {
    }
  }

 private:
  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++changes_;
    changed_.SignalAll();
  }

  mutable base::Mutex mu_;
  base::CondVar changed_;
  bool paused_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t pauses_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t changes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_TRANSFER_STOP_H_
