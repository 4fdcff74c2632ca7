// A running batch: sending its request, computing its result, and the call with a callback.
#ifndef ERIS_ENGINE_SESSIONS_BATCH_CALL_H_
#define ERIS_ENGINE_SESSIONS_BATCH_CALL_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "engine/completion/call.h"
#include "engine/core/core.h"
#include "engine/core/request.h"
#include "engine/core/send_order.h"
#include "eris/batch.h"

namespace eris::engine {

// The result of a batch that was not begun, or was given up: no row of it counts.
BatchResult Refused(absl::Status status, uint64_t rows);
absl::Status NoMemoryFor(uint64_t rows) noexcept;
// Rows in the request's batch.
uint32_t RowCountOf(const Request& request);

// Sends a filled request: in `order`; or for an append, its pieces round robin to the AEUs that
// hold a part of the table, from number `next_holder` on. From here on its last answer is owed. May
// block for the Port's time limit. Throws std::bad_alloc; then nothing has happened.
void Send(SessionPort& port, std::shared_ptr<SendOrder> order, Request& request,
          uint64_t next_holder);

// After the last answer. Once.
BatchResult ResultOf(Request& request, const RequestLimits& limits);

class BatchCall final : public Call<BatchResult> {
 public:
  BatchCall(Core& core, SessionNode& node, RequestPtr request, Callback done);

  // As Send; from here on the callback is owed.
  void Start(SessionPort& port, std::shared_ptr<SendOrder> order, uint64_t next_holder);
  void Complete() override;  // all answers have arrived

 private:
  void StopWork() override { request_->SetCancelled(); }
  BatchResult CancelledResult(absl::Status status) const override;

  Core& core_;
  const RequestPtr request_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_BATCH_CALL_H_
