// Ends a call that moves ranges before it has moved everything: for whoever has begun one and gives
// it up. Paper: ERIS 3.3.
#ifndef ERIS_MOVE_STOP_H_
#define ERIS_MOVE_STOP_H_

#include <functional>
#include <mutex>
#include <utility>

#include "absl/status/status.h"

namespace eris {

// Of one call of Engine (Rebalance, Presplit, MoveRange), which it outlives. Any thread.
class MoveStop {
 public:
  // The call ends at the border of a chunk, or does not begin, and returns `why`, unless all has
  // moved by then. So it stands in the history. The first reason counts. REQUIRES: !why.ok().
  void Stop(absl::Status why) {
    const std::lock_guard lock(mu_);
    if (!why_.ok()) return;
    why_ = std::move(why);
    if (wake_) wake_();
  }
  // OK: nobody has stopped it.
  absl::Status why() const {
    const std::lock_guard lock(mu_);
    return why_;
  }

  // For the engine: whom Stop wakes; nullptr: nobody any more. `wake` must not call this object.
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
