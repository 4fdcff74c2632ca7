// Sending the rows of a table call, and an asynchronous one under way: the request and the caller's
// callback, which runs once, on the completion thread.
#ifndef ERIS_ENGINE_SESSIONS_TABLE_CALL_H_
#define ERIS_ENGINE_SESSIONS_TABLE_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "engine/core/completion_queue.h"
#include "engine/core/core.h"
#include "engine/core/request.h"
#include "engine/core/send_order.h"
#include "eris/engine.h"

namespace eris::engine {

// Sends a table request: in `order`, or, of an append, its pieces to the AEUs that hold a part of
// the table in turn, from number `next_holder` on. From here on its last answer is owed. May block
// for the Port's bound. Throws std::bad_alloc; nothing has happened then.
void SendTable(SessionPort& port, std::shared_ptr<SendOrder> order, Request& request,
               uint64_t next_holder);

// What the states of an append say. `refused` counts rows.
absl::Status AppendOutcome(const Request& request, const RequestLimits& limits, uint32_t& refused);

class TableCall final : public Pending,
                        public CompletionTask,
                        public std::enable_shared_from_this<TableCall> {
 public:
  // Takes over the caller's reference to `request`.
  TableCall(Core& core, Request* request, Session::RowsCallback done);
  ~TableCall() override;

  // As SendTable; from here on the callback is owed. Errors: ResourceExhausted; nothing has
  // happened then.
  absl::Status Start(SessionPort& port, std::shared_ptr<SendOrder> order, uint64_t next_holder);

  void Cancel(absl::Status status) override;
  void Complete() override;  // all answers are in; on the completion thread

 private:
  class CancelTask final : public CompletionTask {
   public:
    void Complete() override;
    std::shared_ptr<TableCall> call;
    absl::Status status;
  };

  bool appends() const { return request_->type() == routing::CommandType::kAppendRows; }
  // Throws std::bad_alloc.
  void TakeResult(BatchResult& result, std::vector<ColumnBuffers>& columns);
  void RunCallback(BatchResult result, std::vector<ColumnBuffers> columns);

  // Immutable after construction.
  Core& core_;
  Request* const request_;

  // Owned by the completion thread, after Start.
  Session::RowsCallback done_;
  bool done_called_ = false;
  std::shared_ptr<TableCall> self_;  // until the last answer is in

  // Shared: written by whoever cancels first. acq_rel: that one owns cancel_.
  std::atomic<bool> cancel_asked_{false};
  std::atomic<bool> ended_{false};
  CancelTask cancel_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_TABLE_CALL_H_
