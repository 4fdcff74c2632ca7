#include "engine/async_call.h"

#include <utility>

namespace eris::engine {

AsyncCall::AsyncCall(Core& core, Request* request, absl::Span<const uint64_t> keys,
                     absl::Span<const uint64_t> values, Session::Callback done)
    : core_(core),
      request_(request),
      keys_(keys.begin(), keys.end()),
      values_(values.begin(), values.end()),
      done_(std::move(done)) {}

AsyncCall::~AsyncCall() { request_->Unref(); }

routing::KeyedCommand AsyncCall::Command() const {
  return {.type = request_->type(),
          .keys = keys_,
          .values = values_,
          .complete = &Request::Answered,
          .context = request_};
}

void AsyncCall::Start(routing::Port& port) {
  self_ = shared_from_this();
  request_->OnAnswered(&core_.completions, this);
  request_->Expect(request_->count());
  SendKeyed(port, request_->object()->route, Command());
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
  if (!done_called_ && !request_->cancelled()) {
    const std::vector<uint32_t> moved = request_->MovedPositions();
    if (!moved.empty() && resends_++ < kResendsMax) {
      Resend(moved);
      return;
    }
  }
  const std::shared_ptr<AsyncCall> kept = std::move(self_);
  request_->Settle();
  ended_.store(true, std::memory_order_release);  // pairs with Cancel
  if (done_called_) return;
  BatchResult result;
  result.count = request_->count();
  result.status = request_->Outcome(core_.limits, result.refused);
  result.present = request_->PackPresence();
  result.values = request_->TakeValueBytes();
  RunCallback(std::move(result));
}

void AsyncCall::Resend(const std::vector<uint32_t>& positions) {
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;
  keys.reserve(positions.size());
  for (const uint32_t position : positions) {
    keys.push_back(keys_[position]);
    if (!values_.empty()) values.push_back(values_[position]);
  }
  routing::KeyedCommand command = Command();
  command.keys = keys;
  command.values = values;
  command.positions = positions;
  request_->Expect(static_cast<uint32_t>(positions.size()));
  core_.control->Send(request_->object()->route, command);
}

void AsyncCall::RunCallback(BatchResult result) {
  if (std::exchange(done_called_, true)) return;
  std::move(done_)(std::move(result));
  done_ = nullptr;  // what it holds is let go here, not with the last handle
}

}  // namespace eris::engine
