// An asynchronous batch under way: the request, its columns, and the caller's callback, which runs
// once, on the completion thread.
#ifndef ERIS_ENGINE_SESSIONS_ASYNC_CALL_H_
#define ERIS_ENGINE_SESSIONS_ASYNC_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "engine/core/batch_columns.h"
#include "engine/core/completion_queue.h"
#include "engine/core/core.h"
#include "engine/core/request.h"
#include "engine/core/send_order.h"
#include "eris/engine.h"

namespace eris::engine {

class AsyncCall final : public Pending,
                        public CompletionTask,
                        public std::enable_shared_from_this<AsyncCall> {
 public:
  // Takes over the caller's reference to `request`. Copies the columns.
  AsyncCall(Core& core, Request* request, const BatchColumns& columns, Session::Callback done);
  ~AsyncCall() override;

  // Sends the keys in their order; from here on the callback is owed. Errors: ResourceExhausted;
  // nothing has happened then.
  absl::Status Start(std::shared_ptr<SendOrder> order);

  void Cancel(absl::Status status) override;
  void Complete() override;  // all answers are in; on the completion thread

 private:
  class CancelTask final : public CompletionTask {
   public:
    void Complete() override;
    std::shared_ptr<AsyncCall> call;
    absl::Status status;
  };

  // Throws std::bad_alloc.
  void TakeResult(BatchResult& result);
  void TakeBytes(BatchResult& result);
  void RunCallback(BatchResult result);

  // Immutable after construction.
  Core& core_;
  Request* const request_;
  const ColumnCopies columns_;

  // Owned by the completion thread, after Start.
  Session::Callback done_;
  bool done_called_ = false;
  std::shared_ptr<AsyncCall> self_;  // until the last answer is in

  // Shared: written by whoever cancels first. acq_rel: that one owns cancel_.
  std::atomic<bool> cancel_asked_{false};
  std::atomic<bool> ended_{false};
  CancelTask cancel_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_ASYNC_CALL_H_
