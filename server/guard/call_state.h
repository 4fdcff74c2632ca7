// Coordinates one call's engine request with the thread that answers the call. Three parties race
// to give the answer: a completion thread of the engine, a gRPC thread that learns of a
// disconnected client or a passed deadline, and the control thread when draining has taken too
// long. Exactly one wins; only the winner may use the call's reactor, which exists until it has
// been finished. Any thread; never blocks; independent of gRPC. Each of the three holds it by
// shared_ptr.
#ifndef ERIS_SERVER_GUARD_CALL_STATE_H_
#define ERIS_SERVER_GUARD_CALL_STATE_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "eris/engine.h"

namespace eris::server {

class CallState {
 public:
  CallState() = default;
  CallState(const CallState&) = delete;
  CallState& operator=(const CallState&) = delete;

  // The engine has accepted the request; `pending` cancels it. May be called after the answer,
  // since the engine may complete first: a request whose call was cancelled meanwhile is cancelled
  // here.
  void Attach(std::shared_ptr<Pending> pending);

  // The engine has completed (or refused) the request. True: the caller must answer the call now.
  // False: it has been answered; use nothing of it.
  [[nodiscard]] bool TryComplete();

  // The call ends without the engine. True: the caller must answer the call with `status`; the
  // engine's request is cancelled and continues by itself until its last writer has ended.
  [[nodiscard]] bool TryCancel(const absl::Status& status);

 private:
  base::Mutex mu_;
  bool answered_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status cancelled_ ABSL_GUARDED_BY(mu_);  // not OK: TryCancel has won
  std::shared_ptr<Pending> pending_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_CALL_STATE_H_
