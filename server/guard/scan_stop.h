// The reason to stop a scan, if there is one, and how to tell the engine: shared by the call, the
// thread that cancels it, and the drain. Any thread.
#ifndef ERIS_SERVER_GUARD_SCAN_STOP_H_
#define ERIS_SERVER_GUARD_SCAN_STOP_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/guard/drain_gate.h"

namespace eris::server {

class ScanStop final : public Drainable {
 public:
  // The first reason counts. The running step ends soon, and the next one sees the reason.
  void Stop(const absl::Status& reason) {
    base::MutexLock lock(&mu_);
    if (reason_) return;
    reason_ = reason;
    // Under the lock, so that Detach waits for it; it does not block.
    if (cancel_) cancel_();
  }
  void EndNow(const absl::Status& status) override { Stop(status); }

  // `scan` has Cancel(), which does not block; it is called now if there is already a reason.
  template <class AnyScan>
  void Attach(AnyScan* scan) {
    base::MutexLock lock(&mu_);
    cancel_ = [scan] { scan->Cancel(); };
    if (reason_) cancel_();
  }
  // The scan may be destroyed afterwards.
  void Detach() {
    base::MutexLock lock(&mu_);
    cancel_ = nullptr;
  }
  std::optional<absl::Status> reason() const {
    base::MutexLock lock(&mu_);
    return reason_;
  }

 private:
  mutable base::Mutex mu_;
  std::function<void()> cancel_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> reason_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_SCAN_STOP_H_
