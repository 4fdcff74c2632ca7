#include "engine/sessions/async_call.h"

#include <new>
#include <utility>
#include <vector>

#include "base/lean_status.h"
#include "engine/sessions/batch_checks.h"

namespace eris::engine {

AsyncCall::AsyncCall(Core& core, Request* request, const BatchColumns& columns,
                     Session::Callback done)
    : core_(core), request_(request), columns_(columns), done_(std::move(done)) {}

AsyncCall::~AsyncCall() { request_->Unref(); }

absl::Status AsyncCall::Start(std::shared_ptr<SendOrder> order) {
  SendOrder& sends = *order;
  request_->OnAnswered(&core_.completions, this);
  request_->PutIn(std::move(order), columns_.view());
  self_ = shared_from_this();
  try {
    sends.Send(*request_);
  } catch (const std::bad_alloc&) {
    self_.reset();
    return NoMemoryFor(request_->count());
  }
  return absl::OkStatus();
}

void AsyncCall::Cancel(absl::Status status) {
  if (ended_.load(std::memory_order_acquire))
    return;  // pairs with Complete; nothing is owed any more
  if (cancel_asked_.exchange(true, std::memory_order_acq_rel)) return;
  request_->SetCancelled();
  cancel_.call = shared_from_this();
  cancel_.status = std::move(status);
  core_.completions.Push(&cancel_);
}

void AsyncCall::CancelTask::Complete() {
  const std::shared_ptr<AsyncCall> kept = std::move(call);
  BatchResult result;
  result.status = std::move(status);
  result.count = result.refused = kept->request_->count();
  kept->RunCallback(std::move(result));
}

void AsyncCall::Complete() {
  request_->Unref();  // the AEUs' reference; this call has its own
  const std::shared_ptr<AsyncCall> kept = std::move(self_);
  ended_.store(true, std::memory_order_release);  // pairs with Cancel
  if (done_called_) {
    request_->FreeBytes();
    request_->Settle();
    return;
  }
  BatchResult result;
  try {
    TakeResult(result);
  } catch (const std::bad_alloc&) {
    const auto refused = result.refused;
    result = BatchResult();
    result.status = base::NoMemory(
        "the system has no memory for the answers; what was to be written has been, but for the "
        "keys that were refused");
    result.count = request_->count();
    result.refused = refused;
  }
  request_->FreeBytes();
  request_->Settle();
  RunCallback(std::move(result));
}

void AsyncCall::TakeResult(BatchResult& result) {
  result.count = request_->count();
  result.status = request_->Outcome(core_.limits, result.refused);
  result.present = request_->PackPresence();
  if (storage::IsConditional(routing::OperationOf(request_->type()))) {
    result.applied = request_->PackApplied();
    result.executed = request_->PackExecuted();
  }
  if (request_->answers_bytes()) {
    TakeBytes(result);
  } else {
    result.values = request_->TakeValueBytes();
  }
}

void AsyncCall::TakeBytes(BatchResult& result) {
  result.executed = request_->PackExecuted();
  try {
    std::vector<uint32_t> offsets(size_t{request_->count()} + 1);
    request_->CopyBytes(offsets.data(), result.values);
    result.offsets.assign(reinterpret_cast<const char*>(offsets.data()),
                          offsets.size() * sizeof(uint32_t));
  } catch (const std::bad_alloc&) {
    result.values.clear();
    result.offsets.clear();
    result.status =
        base::NoMemory("the system has no memory for the answers; what was to be written has been");
  }
}

void AsyncCall::RunCallback(BatchResult result) {
  if (std::exchange(done_called_, true)) return;
  std::move(done_)(std::move(result));
  done_ = nullptr;  // what it holds is let go here, not with the last handle
}

}  // namespace eris::engine
