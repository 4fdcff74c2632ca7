// The hand-over between one call's engine request and whoever answers the call. Three parties race
// to give the answer: the engine's completion thread, a gRPC thread that learns that the client has
// gone or its deadline has passed, and the control thread when draining has taken too long. Exactly
// one wins; only the winner may touch the call's reactor, which lives until it has been finished.
// Any thread; never blocks; knows no gRPC. Held by shared_ptr by each of the three.
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

  // The engine has taken the request; `pending` cancels it. May come after the answer, since the
  // engine may complete before the starter gets on: a request whose call was cancelled meanwhile is
  // cancelled here.
  void Attach(std::shared_ptr<Pending> pending);

  // The engine has completed (or refused) the request. True: the caller answers the call, now.
  // False: it has been answered; touch nothing.
  [[nodiscard]] bool TryComplete();

  // The call ends without the engine. True: the caller answers the call with `status`; the engine's
  // part is cancelled and goes on by itself until its last writer has ended.
  [[nodiscard]] bool TryCancel(const absl::Status& status);

 private:
  base::Mutex mu_;
  bool answered_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status cancelled_ ABSL_GUARDED_BY(mu_);  // not OK: TryCancel has won
  std::shared_ptr<Pending> pending_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_CALL_STATE_H_
