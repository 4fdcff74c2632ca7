// Ends a call whose client does not read. An answer that waits for flow control would wait for
// ever, and its status after it. So the call is cut. gRPC then sends a status that overtakes the
// written data, and the write here fails. Any thread; the call and the watches on it hold it by
// shared_ptr.
#ifndef ERIS_SERVER_GUARD_CALL_CUTTER_H_
#define ERIS_SERVER_GUARD_CALL_CUTTER_H_

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "eris/errors.h"
#include "server/guard/expiry_queue.h"
#include "server/metrics/refusals.h"

namespace eris::server {

// The status of a call whose client has not read for `limit`.
inline absl::Status StalledStatus(std::chrono::milliseconds limit) {
  return Error(ErrorReason::kAnswerUnread,
               absl::StrCat("the client has not read its answer for server.stall_ms_max, ",
                            limit.count(), " ms"));
}

class CallCutter final : public ExpiryQueue::Owner {
 public:
  // `queue`, whose limit is told, outlives it.
  CallCutter(grpc::CallbackServerContext& context, const ExpiryQueue* queue)
      : queue_(*queue), call_(context.c_call()) {}

  void OnExpired(uint64_t) override {
    grpc_call* call = nullptr;
    bool first = false;
    {
      base::MutexLock lock(&mu_);
      if (call_ == nullptr) return;
      call = call_;
      grpc_call_ref(call);
      first = !std::exchange(cut_, true);  // its end may be watched, too
    }
    const absl::Status status = StalledStatus(queue_.limit());
    // gRPC sends it, so ToRpcStatus does not count it.
    if (first) Refusals::OfProcess().Count(ErrorDetailsOf(status).reason);
    // Outside the lock: the call's reactions may run in here.
    grpc_call_cancel_with_status(call, static_cast<grpc_status_code>(status.code()),
                                 std::string(status.message()).c_str(), nullptr);
    grpc_call_unref(call);
  }

  // gRPC releases the call: OnDone.
  void Detach() {
    base::MutexLock lock(&mu_);
    call_ = nullptr;
  }

 private:
  const ExpiryQueue& queue_;
  base::Mutex mu_;
  grpc_call* call_ ABSL_GUARDED_BY(mu_);
  bool cut_ ABSL_GUARDED_BY(mu_) = false;
};

// The call's side: what the call waits for the client to read, one thing at a time.
class StallWatch {
 public:
  StallWatch(grpc::CallbackServerContext& context, ExpiryQueue* queue)
      : queue_(*queue), cutter_(std::make_shared<CallCutter>(context, queue)) {}
  // The call has ended: destroy it in OnDone, before gRPC releases the call.
  ~StallWatch() { cutter_->Detach(); }

  // Before StartWrite and Finish.
  void Begin() { watch_.Begin(queue_, cutter_); }
  // In OnWriteDone.
  void End() { watch_.End(); }

 private:
  ExpiryQueue& queue_;
  const std::shared_ptr<CallCutter> cutter_;
  ExpiryQueue::Watch watch_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_CALL_CUTTER_H_
