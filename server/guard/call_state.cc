#include "server/guard/call_state.h"

#include <utility>

#include "base/check.h"

namespace eris::server {

void CallState::Attach(std::shared_ptr<Pending> pending) {
  absl::Status cancelled;
  {
    base::MutexLock lock(&mu_);
    if (!answered_) {
      pending_ = std::move(pending);
      return;
    }
    cancelled = cancelled_;
  }
  // Outside the lock: the engine may run its own code.
  if (!cancelled.ok()) pending->Cancel(std::move(cancelled));
}

bool CallState::TryComplete() {
  std::shared_ptr<Pending> dropped;  // destroyed outside the lock
  base::MutexLock lock(&mu_);
  if (answered_) return false;
  answered_ = true;
  dropped.swap(pending_);
  return true;
}

bool CallState::TryCancel(const absl::Status& status) {
  ERIS_CHECK(!status.ok());
  std::shared_ptr<Pending> pending;
  {
    base::MutexLock lock(&mu_);
    if (answered_) return false;
    answered_ = true;
    cancelled_ = status;
    pending.swap(pending_);
  }
  if (pending != nullptr) pending->Cancel(status);
  return true;
}

}  // namespace eris::server
