// Ends a call that moves ranges before everything has moved: for a caller that no longer wants it.
// Paper: ERIS 3.3.
#ifndef ERIS_MOVE_STOP_H_
#define ERIS_MOVE_STOP_H_

#include <functional>
#include <mutex>
#include <utility>

#include "absl/status/status.h"

namespace eris {

// Belongs to one call of Engine (Rebalance, Presplit, MoveRange), and outlives it. Any thread.
class MoveStop {
 public:
  // The call ends at a chunk boundary, or does not begin, and returns `why`, unless everything has
  // moved already. The transfer history shows `why` too. The first reason counts. REQUIRES:
  // !why.ok().
  void Stop(absl::Status why) {
    const std::lock_guard lock(mu_);
    if (!why_.ok()) return;
    why_ = std::move(why);
    if (wake_) wake_();
  }
  // OK: it has not been stopped.
  absl::Status why() const {
    const std::lock_guard lock(mu_);
    return why_;
  }

  // For the engine: the function that Stop calls to wake it; nullptr: none. `wake` must not call
  // this object.
  void SetWake(std::function<void()> wake) {
    const std::lock_guard lock(mu_);
    wake_ = std::move(wake);
  }

 private:
  mutable std::mutex mu_;
  absl::Status why_;            // guarded by mu_
  std::function<void()> wake_;  // guarded by mu_
};

}  // namespace eris

#endif  // ERIS_MOVE_STOP_H_
